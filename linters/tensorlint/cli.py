"""The command `tensorlint`: options, exit codes, and nothing imported before it is needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

DESCRIPTION = "Finds silent bugs of PyTorch and NumPy code: shapes, strides, modules, dataset caches."
EXIT_CODES = "exit codes: 0 nothing found, 1 findings, 2 a file, an option or the configuration cannot be used"
OUTPUT_FORMATS = ("text", "concise", "json", "github", "gitlab", "sarif")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line: the usage above it would hide what is wrong."""
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


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
    running.add_argument("--jobs", type=_jobs, default=0, metavar="N", help="processes (default: one per processor)")
    running.add_argument("--no-cache", action="store_true", help="neither read nor write .tensorlint_cache")
    running.add_argument("--stdin-filename", metavar="FILE", help="the name of what is read from standard input")


def _jobs(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (1 or more)")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tensorlint", description=DESCRIPTION, epilog=EXIT_CODES)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    check = commands.add_parser("check", help="report (and fix) what is wrong", epilog=EXIT_CODES)
    _check_options(check)
    shapes = commands.add_parser("shapes", help="show the shape of every tensor beside the line that makes it")
    shapes.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: this folder)")
    shapes.add_argument("--output-format", choices=("text", "json"), default="text")
    rule = commands.add_parser("rule", help="explain a rule, list the rules, or test the rules of a file")
    rule.add_argument("rule", nargs="?", metavar="CODE", help="a code or a name; without it, the list of rules")
    rule.add_argument("--test", metavar="FILE", help="run the examples of the rules that FILE defines")
    return parser


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


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("tensorlint: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
