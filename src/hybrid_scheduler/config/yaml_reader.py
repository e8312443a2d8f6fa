"""Reading a YAML file nobody vouches for: bounded, plain values alone, errors of one line that say where."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.reader import ReaderError

from hybrid_scheduler.model.errors import InvalidInputError

MOST_BYTES: Final = 1_000_000
MOST_VALUES: Final = 100_000
"""Keys and values in a file; what an alias stands for counts each time."""
DEEPEST: Final = 20
LONGEST: Final = 1000
"""Characters of a key or a value."""
LONGEST_NUMBER: Final = 100
LONGEST_MESSAGE: Final = 300
PLAIN_TYPES: Final = ("null", "bool", "int", "float", "str", "seq", "map")
TAG: Final = "tag:yaml.org,2002:"
RESOLVERS: Final = {
    # Without dates: `seed: 2001-99-99` is a text, and the rule about seeds says the rest.
    sign: [(tag, form) for tag, form in forms if tag != f"{TAG}timestamp"]
    for sign, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
"""What values without quotes are taken for, by their first character."""


def read_yaml(path: Path) -> Any:
    """The content of a file: dictionaries with text as keys, lists, text, numbers, truth values and None.

    Raises:
        InvalidInputError: The file cannot be read, is too large, no text or no YAML; the message names file and line.
    """
    text = _text(path, _bytes(path))
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = "" if mark is None else f", line {mark.line + 1}"
        problem = shortened(", ".join(filter(None, (error.context, error.problem))), LONGEST_MESSAGE)
        raise InvalidInputError(f"{path}{line}: not readable as YAML: {problem}") from error
    except ReaderError as error:
        line = f"line {text.count(chr(10), 0, error.position) + 1}"
        sign = f"the character U+{ord(text[error.position]):04X}"
        raise InvalidInputError(f"{path}, {line}: not readable as YAML: {sign} is not allowed; remove it") from error


def shortened(text: str, most: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: there is no such file") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise InvalidInputError(f"{path}: the file has more than {MOST_BYTES} bytes; is it the right one?")
    return data


def _text(path: Path, data: bytes) -> str:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(
            f"{path}, line {line}: not readable as YAML: the file is no text in UTF-8; save it in that encoding"
        ) from error


class _Loader(yaml.SafeLoader):
    """Plain values, each key once, and no more of anything than a configuration can mean."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.yaml_implicit_resolvers = RESOLVERS
        self._depth = 0
        self._values = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Count what is read, what an alias stands for included, and how deep it is nested."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        is_alias = self.check_event(yaml.AliasEvent)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _wrong(f"it is nested deeper than {DEEPEST} levels", event.start_mark)
        before = self._values
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:
            raise _wrong(f"the alias {event.anchor!r} stands inside of what it stands for", event.start_mark)
        self._values += self._sizes[id(node)] if is_alias else 1
        self._sizes[id(node)] = self._sizes[id(node)] if is_alias else self._values - before
        if self._values > MOST_VALUES:
            raise _wrong(f"there are more than {MOST_VALUES} keys and values", event.start_mark)
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Refuse what is longer than any key or value."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        is_number = node.tag in (f"{TAG}int", f"{TAG}float")
        most = LONGEST_NUMBER if is_number else LONGEST
        if len(node.value) > most:
            what = f"a {'number' if is_number else 'text'} has at most {most}"
            shown = shortened(node.value, 23)
            raise _wrong(f"{shown!r} has {len(node.value)} characters, but {what}", node.start_mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Refuse keys that are no text, and a key that occurs twice, of which YAML would let the later win."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag.removeprefix(TAG) not in ("str", "merge"):
                shown = repr(key.value) if isinstance(key, yaml.ScalarNode) else "of several values"
                raise _wrong(f"the key {shown} must be a text; put it in quotes", key.start_mark)
            line = key.start_mark.line + 1
            if key.value in lines:
                first = lines[key.value]
                raise _wrong(f"key {key.value!r} occurs twice, in lines {first} and {line}", key.start_mark)
            lines[key.value] = line
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Refuse what is no plain value, and what is not what its tag says, like `!!int abc`."""
        kind = node.tag.removeprefix(TAG)
        if kind not in PLAIN_TYPES:
            known = ", ".join(PLAIN_TYPES)
            raise _wrong(f"the type {kind!r} means nothing here; remove the tag (known: {known})", node.start_mark)
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            raise _wrong(f"{node.value!r} is no value of the type {kind!r}; correct it", node.start_mark) from error


def _wrong(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
