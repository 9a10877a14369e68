"""The command `tensorlint`: options, exit codes, and nothing imported before it is needed."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

DESCRIPTION = "Finds silent bugs of PyTorch and NumPy code: shapes, strides, modules, dataset caches."
EXIT_CODES = "exit codes: 0 nothing found, 1 findings, 2 a file, an option or the configuration cannot be used"
OUTPUT_FORMATS = ("text", "concise", "json", "github", "gitlab", "sarif")


COMMANDS = ("check", "shapes", "rule")


class _Parser(argparse.ArgumentParser):
    """Options are spelled out (`--stat` would mean another option in the next version), and errors are one line."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(allow_abbrev=False, **arguments)

    def error(self, message: str) -> NoReturn:
        """One line: the usage above it would hide what is wrong."""
        if choice := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
            message += nearest(choice[1], re.findall(r"[\w-]+", choice[2]))
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


def nearest(word: str, known: Iterable[str]) -> str:
    """What may have been meant, as the end of a sentence, or nothing. Dashes in front make no likeness."""
    import difflib

    bare = {each.lstrip("-"): each for each in known}
    close = difflib.get_close_matches(word.lstrip("-"), bare, n=1, cutoff=0.6)
    return f"; did you mean {bare[close[0]]}?" if close else ""


def _refuse_unknown_command(word: str, parser: argparse.ArgumentParser) -> None:
    """`tensorlint chek`, and `tensorlint model.py`, which other linters take."""
    if word in COMMANDS or word.startswith("-"):
        return
    if os.path.exists(word):
        parser.error(f"no command is given; did you mean `tensorlint check {word}`?")
    hint = nearest(word, COMMANDS) or f"; the commands are {', '.join(COMMANDS)}"
    parser.error(f"unknown command {word!r}{hint}")


def _refuse_unknown_options(words: Iterable[str], parser: argparse.ArgumentParser) -> None:
    known = re.findall(r"(?<![\w-])--[a-z][\w-]*", parser.format_help())
    for word in words:
        if word.startswith("-"):
            parser.error(f"unknown option {word}{nearest(word.partition('=')[0], known)}")
        parser.error(f"unexpected argument {word!r}")


class _Version(argparse.Action):
    """`--version`, asked for only when it is asked for: reading the distribution's metadata takes 20 ms."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tensorlint import version

        print(f"tensorlint {version()}")
        parser.exit(0)


def _check_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders; `-` is standard input (default: this folder)")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="only these rules: codes, names, prefixes such as TSR4, or ALL; separated by commas",
    )
    rules.add_argument("--ignore", action="append", default=[], metavar="CODES", help="not these rules")
    rules.add_argument("--strict", action="store_true", help="also the rules that speak about correct code")
    fixing = parser.add_argument_group("fixes")
    fixing.add_argument("--fix", action="store_true", help="make the safe fixes")
    fixing.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: also the unsafe ones")
    fixing.add_argument("--diff", action="store_true", help="show what --fix would do, as a diff; writes nothing")
    fixing.add_argument("--add-noqa", action="store_true", help="silence each finding by a `# noqa` comment")
    fixing.add_argument("--baseline", metavar="FILE", help="do not report the findings that FILE knows")
    fixing.add_argument("--write-baseline", action="store_true", help="write the current findings to the baseline")
    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=OUTPUT_FORMATS, help="default: text")
    output.add_argument("--output-file", metavar="FILE", help="write the findings there instead of to standard output")
    output.add_argument("--statistics", action="store_true", help="count the findings of each rule")
    running = parser.add_argument_group("running")
    running.add_argument("--jobs", type=_jobs, metavar="N", help="processes; 0, the default: one for each processor")
    running.add_argument("--no-cache", action="store_true", help="neither read nor write .tensorlint_cache")
    running.add_argument(
        "--force-exclude", action="store_true", help="leave out what `exclude` excludes also where it is named"
    )
    running.add_argument("--stdin-filename", metavar="FILE", help="the name of what is read from standard input")


def _jobs(text: str) -> int:
    if text.isdecimal() and text.isascii():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (0: one for each processor)")


def build_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser, and that of each command."""
    parser = _Parser(prog="tensorlint", description=DESCRIPTION, epilog=EXIT_CODES)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=parser.prog)
    check = commands.add_parser("check", help="report (and fix) what is wrong", epilog=EXIT_CODES)
    _check_options(check)
    shapes = commands.add_parser("shapes", help="show the shape of every tensor beside the line that makes it")
    shapes.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders; `-` is standard input (default: this folder)"
    )
    shapes.add_argument("--output-format", choices=("text", "json"), default="text")
    shapes.add_argument("--stdin-filename", metavar="FILE", help="the name of what is read from standard input")
    rule = commands.add_parser("rule", help="explain a rule, list the rules, or test the rules of a file")
    rule.add_argument("rule", nargs="?", metavar="CODE", help="a code or a name; without it, the list of rules")
    rule.add_argument("--test", metavar="FILE", help="run the examples of the rules that FILE defines")
    return parser, {"check": check, "shapes": shapes, "rule": rule}


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if arguments.command == "check":
        from tensorlint.check_command import check

        return check(arguments)
    if arguments.command == "shapes":
        from tensorlint.shapes_command import shapes

        return shapes(arguments)
    if arguments.command == "rule":
        from tensorlint.rule_command import rule

        return rule(arguments)
    parser.print_help()
    return 2


def _write_no_more() -> None:
    """What is still to be flushed goes nowhere, so that Python does not complain again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code."""
    parser, commands = build_parser()
    words = list(sys.argv[1:] if argv is None else argv)
    if words:
        _refuse_unknown_command(words[0], parser)
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        _refuse_unknown_options(unknown, commands.get(arguments.command, parser))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a message may hold what the terminal cannot show
    from tensorlint.config import ConfigError
    from tensorlint.source import SourceError

    try:
        code = _run(arguments, parser)
        sys.stdout.flush()
        return code
    except ConfigError as error:
        print(f"tensorlint: {error}", file=sys.stderr)
        return 2
    except SourceError as error:
        where = getattr(arguments, "output_file", None)
        print(f"tensorlint: {f'{where}: ' if where else ''}{error.message}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `tensorlint check | head`
        _write_no_more()
        return 1
    except OSError as error:  # what concerns one file is in the report; this is the output's
        _write_no_more()
        print(f"tensorlint: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tensorlint: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
