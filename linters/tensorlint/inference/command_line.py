"""What argparse gives: the options of the command line that are numbers."""

from __future__ import annotations

from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Library,
    LibraryObject,
    Opaque,
    Sequence,
    Value,
)

PARSER = "argparse.ArgumentParser"
_PARSES = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"})
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
# Methods that leave what the options give as it is.
_ASKS = frozenset({"print_help", "print_usage", "format_help", "format_usage", "error", "exit"})
_NUMBERS = {"builtins.int": "int", "builtins.float": "real"}


def make(kwargs: dict[str, Value]) -> LibraryObject:
    """A parser; of what it has from its parents nothing is known."""
    known = not kwargs.keys() & {"parents", "argument_default"}
    return LibraryObject(PARSER, {}, (), {"options": Dictionary({} if known else None)})


def call(parser: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    options = parser.fields.get("options")
    known = options.items if isinstance(options, Dictionary) else None
    if name in _GROUPS:
        return parser  # what is added to a group is an option like the others
    if name == "add_argument" and known is not None:
        option = _name_of(args, kwargs)
        if option is None:
            parser.fields["options"] = Dictionary(None)
        else:
            # One of several options of one name decides.
            known[option] = Const(None if option in known else _number_of(kwargs))
        return UNKNOWN
    if name in _PARSES:
        given = Opaque(None)
        if known is not None and len(args) <= 1 and "namespace" not in kwargs:
            given.numbers = {
                option: number.value for option, number in known.items() if isinstance(number, Const) and number.value
            }
        return Sequence("tuple", [given, UNKNOWN]) if "known" in name else given
    if name not in _ASKS:
        parser.fields["options"] = Dictionary(None)
    return UNKNOWN


def _name_of(args: list[Value], kwargs: dict[str, Value]) -> str | None:
    """The attribute in which the option's value is found."""
    if "dest" in kwargs:
        given = kwargs["dest"]
        return given.value if isinstance(given, Const) and isinstance(given.value, str) else None
    names = [each.value if isinstance(each, Const) else None for each in args]
    written = [each for each in names if isinstance(each, str)]
    if not written or len(written) != len(names):
        return None
    long = next((each for each in written if each.startswith("--")), written[0])
    return long.lstrip("-").replace("-", "_") if long.startswith("-") else long


def _number_of(kwargs: dict[str, Value]) -> str | None:
    """Which kind of number the value is, where it is not None: a default that is no text is taken as it stands."""
    kind, default = kwargs.get("type"), kwargs.get("default", NONE)
    told = _NUMBERS.get(kind.path) if isinstance(kind, Library) else None
    if told is None or kwargs.keys() & {"nargs", "action", "const"} or not isinstance(default, Const):
        return None
    if told == "int" and isinstance(default.value, float):
        told = "real"
    return told if default.value is None or isinstance(default.value, (int, float, str)) else None
