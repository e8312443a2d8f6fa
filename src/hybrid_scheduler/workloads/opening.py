"""Opening the files of workloads, compressed or not; what prevents reading becomes one clear error."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from hybrid_scheduler.model import InvalidInputError

GZIP = b"\x1f\x8b"
"""How every gzip file begins."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file; gzip, by its name or by its first bytes, is unpacked while it is read.

    Raises:
        InvalidInputError: There is no such file, it cannot be read, or a gzip file is damaged or cut off.
    """
    if path.is_dir():
        raise InvalidInputError(f"{path}: this is a directory; name a file")
    try:
        with path.open("rb") as raw:
            packed = path.suffix == ".gz" or raw.peek(len(GZIP)).startswith(GZIP)
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: there is no such file") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{path}: the file is not a complete gzip file: {error}") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be read: {error.strerror or error}") from error


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    with opened(path) as raw:
        return raw.read(size)
