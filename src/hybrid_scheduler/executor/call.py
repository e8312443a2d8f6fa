"""A call of a function as work for a lane, and what a lane remembers of functions.

A function travels to a lane once, under the digest of its pickle; later calls name the digest. A closure over a large
table is not sent, and not read, thousands of times.
"""

from __future__ import annotations

import math
import pickle
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, Work, WorkResult
from hybrid_scheduler.hardware.nodes.pickling import RemoteTraceback, dumps, portable

Arguments = tuple[tuple[Any, ...], dict[str, Any] | None]
"""Positional ones and keywords; None for no keywords."""
Answer = tuple[Any, bytes | None, str]
"""What became of a call of a bundle: its value, or that as a pickle, or what it raised as a pickle and a traceback."""
PLAIN = (type(None), bool, int, float, str, bytes)
"""What can be pickled and read anywhere."""

REMEMBERED = 128
"""Functions a lane keeps at hand; one that was forgotten is sent again."""

_known: OrderedDict[bytes, Callable[..., Any]] = OrderedDict()
"""Of this process, when it is a lane: functions by digest, the latest used last."""


class UnknownFunctionError(Exception):
    """A lane was given a digest alone and does not know it, or not any more; the call has not begun."""


@dataclass(frozen=True, slots=True)
class Code:
    """A function as it travels.

    Attributes:
        digest: Of the pickle; empty for one that travels with every call.
        pickled: Its pickle; empty where only the digest is said.
        function: The function itself, where there is no digest.
    """

    digest: bytes
    pickled: bytes = b""
    function: Callable[..., Any] | None = None

    def load(self) -> Callable[..., Any]:
        """The function, in a lane.

        Raises:
            UnknownFunctionError: Only the digest came, and it says nothing here.
        """
        if not self.digest:
            assert self.function is not None
            return self.function
        function = _known.get(self.digest)
        if function is None:
            if not self.pickled:
                raise UnknownFunctionError(self.digest.hex())
            function = pickle.loads(self.pickled)
            _known[self.digest] = function
            if len(_known) > REMEMBERED:
                _known.popitem(last=False)
        else:
            _known.move_to_end(self.digest)
        return function


class SentCall(WholeWork):
    """A call on its way to one lane.

    Args:
        digest: The function's; see `Code`.
        pickled: See `Code`.
        function: See `Code`.
        arguments: Positional ones.
        keywords: The others; None for none.
    """

    __slots__ = ("arguments", "code", "keywords")

    def __init__(
        self,
        digest: bytes,
        pickled: bytes,
        function: Callable[..., Any] | None,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any] | None,
    ) -> None:
        self.code, self.arguments, self.keywords = Code(digest, pickled, function), arguments, keywords

    def __reduce__(self) -> tuple[Any, ...]:
        code = self.code
        return SentCall, (code.digest, code.pickled, code.function, self.arguments, self.keywords)

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Call the function; on an accelerator wait until that has done what the function started."""
        value = self.code.load()(*self.arguments, **(self.keywords or {}))
        if place.accelerator is None:
            return WorkResult(value)
        return WorkResult(value, memory_mb=_wait_for(place.accelerator))


class Call(WholeWork):
    """A call as the node knows it: it runs on CPUs, and on accelerators where it has a form for them.

    Args:
        cpu: The function.
        gpu: Its form for accelerators.
        arguments: Positional ones.
        keywords: The others.
    """

    __slots__ = ("_cpu", "_gpu", "arguments", "keywords")

    def __init__(
        self, cpu: Code, gpu: Code | None, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None
    ) -> None:
        self._cpu, self._gpu, self.arguments, self.keywords = cpu, gpu, arguments, keywords

    def runs_on(self, kind: str) -> bool:
        """On CPUs, and on accelerators if it has a form for them."""
        return kind == "cpu" or self._gpu is not None

    @property
    def bundled_by(self) -> bytes:
        """What calls have in common that may travel together; empty for one that travels alone."""
        return self._cpu.digest if self._gpu is None else b""

    @property
    def arguments_and_keywords(self) -> Arguments:
        """As a bundle has them."""
        return self.arguments, self.keywords

    def code(self, kind: str) -> Code:
        """The form for a kind of device it runs on."""
        return self._cpu if kind == "cpu" or self._gpu is None else self._gpu

    @property
    def count(self) -> int:
        """How many calls it holds."""
        return 1

    def sent(self, kind: str, *, known: bool) -> Work:
        """As it travels to a device of this kind, which may know the function."""
        code = self.code(kind)
        return SentCall(code.digest, b"" if known else code.pickled, code.function, self.arguments, self.keywords)

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Run it here, as a lane would."""
        return self.sent(place.kind, known=False).run(place, begin, share)


class SentBundle(WholeWork):
    """Several calls of one function on their way to one lane, which does them one after the other.

    Args:
        code: The function.
        calls: Positional arguments and keywords of each.
    """

    __slots__ = ("calls", "code")

    def __init__(self, code: Code, calls: Sequence[Arguments]) -> None:
        self.code, self.calls = code, calls

    def __reduce__(self) -> tuple[Any, ...]:
        return SentBundle, (self.code, self.calls)

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Call the function with each; what became of each call (`Answer`)."""
        function, answers = self.code.load(), list[Answer]()
        for arguments, keywords in self.calls:
            try:
                value = function(*arguments, **(keywords or {}))
                answers.append((value, None, "") if type(value) in PLAIN else (None, dumps(value), ""))
            except BaseException as error:  # noqa: BLE001 (it is the answer to this call alone)
                pickled, text = portable(error)
                traceback.clear_frames(error.__traceback__)
                answers.append((None, pickled, text))
        return WorkResult(answers)


class Bundle(Call):
    """Calls of one function that are so short that they travel together.

    Args:
        cpu: The function.
        calls: Positional arguments and keywords of each.
    """

    __slots__ = ("calls",)

    def __init__(self, cpu: Code, calls: list[Arguments]) -> None:
        super().__init__(cpu, None, ())
        self.calls = calls

    @property
    def count(self) -> int:
        """How many calls it holds."""
        return len(self.calls)

    def sent(self, kind: str, *, known: bool) -> Work:
        """See `Call.sent`."""
        code = self.code(kind)
        return SentBundle(Code(code.digest) if known else code, self.calls)


def read_answer(answer: Answer) -> tuple[Any, BaseException | None]:
    """The value a call of a bundle returned, or what it raised."""
    value, pickled, text = answer
    if pickled is None:
        return value, None
    try:
        read = pickle.loads(pickled)
    except Exception as error:  # noqa: BLE001 (the classes of a result may raise anything; it is reported)
        return None, error
    if not text:
        return read, None
    read.__cause__ = RemoteTraceback(text)
    return None, read


WARM_UP = Call(Code(b"", function=len), None, ((),))
"""What a lane runs before it is up: it loads this module, so that no call pays for that."""


def _wait_for(accelerator: str) -> float:
    """Wait until an accelerator is done; the most memory PyTorch held there in MB, where it was used and tells."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return math.nan
    if accelerator == "cuda" and torch.cuda.is_initialized():
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() / 1e6
        torch.cuda.reset_peak_memory_stats()
        return float(peak)
    if accelerator == "mps":
        torch.mps.synchronize()
    return math.nan
