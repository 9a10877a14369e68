"""How much the operation tables know, and whether any of it is wrong: PyTorch's OpInfo samples, all of them.

    python benchmarks/inference_opinfo.py [--most 40] [--only NAME] [--verbose]

Prints, for every operator that the tables know, the share of results with known rank, shape, strides and dtype, and
every wrong claim; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "linters" / "ops"))

from ops_opinfo import database, known, sweep
from ops_oracle import Tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=40, help="samples of each operator and dtype")
    parser.add_argument("--only", default=None, help="operators whose name contains this")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    started = time.time()
    total = Tally()
    operators = 0
    for info in database():
        if (options.only is not None and options.only not in info.name) or not known(info):
            continue
        operators += 1
        tally = Tally()
        sweep(info, tally, most=options.most)
        if options.verbose or tally.wrong:
            print(f"{info.name:44} {tally.line()}", flush=True)
        for text in tally.wrong[: 3 if not options.only else 30]:
            print("    " + text)
        for name in ("results", "ranks", "shapes", "strides", "dtypes"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.wrong += tally.wrong
    print(f"{operators} of {len(database())} operators; {total.line()}; {time.time() - started:.0f} s")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
