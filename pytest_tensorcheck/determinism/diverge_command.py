"""`tensorcheck-diverge A B`: the first operation at which two logged runs differ."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from pytest_tensorcheck.determinism.logs import LogError, compare_logs, read_log
from pytest_tensorcheck.determinism.messages import divergence_text


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 where all recordings agree, 1 where one differs, 2 where there is nothing to compare or a file
    cannot be read."""
    parser = argparse.ArgumentParser(
        prog="tensorcheck-diverge",
        description="Compare two logs written by pytest --tensorcheck-record, or by deterministic.record, operation by operation.",
    )
    parser.add_argument("first", metavar="A", help="the log of one machine or process")
    parser.add_argument("second", metavar="B", help="the log of the other")
    parser.add_argument(
        "--rtol",
        type=float,
        default=0.0,
        help="let numbers differ by this fraction of the largest in the tensor (default: bit for bit)",
    )
    options = parser.parse_args(arguments)
    for path in dict.fromkeys((options.first, options.second)):
        if not os.path.exists(path):
            print(
                f"{path}: no such file; expected is a log made with `pytest --tensorcheck-record {shlex.quote(path)}`",
                file=sys.stderr,
            )
            return 2
    try:
        names = read_log(options.first).recordings.keys(), read_log(options.second).recordings.keys()
        found = compare_logs(options.first, options.second, options.rtol)
    except LogError as error:
        print(error, file=sys.stderr)
        return 2
    if not found:
        print("nothing to compare: the logs hold no recording of the same name", file=sys.stderr)
        return 2
    differing = {name: divergence for name, divergence in found.items() if divergence is not None}
    for name, divergence in differing.items():
        print(divergence_text(divergence, name), end="\n\n")
    print(f"{len(found)} compared, {len(differing)} differ")
    for path, own, other in ((options.first, *names), (options.second, *names[::-1])):
        if only := [name for name in own if name not in other]:
            print(f"only in {path}: {', '.join(only[:5])}{' …' if len(only) > 5 else ''}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
