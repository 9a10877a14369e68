"""Mutated files of packages, analysed for as long as is given: nothing may fail, nothing may take out of proportion long.

    python benchmarks/inference_mutants.py --seconds 600 --packages timm==1.0.31 scikit-learn==1.7.2

Prints what failed with the mutant's seed, and the time of an analysis in parses of the same mutant.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "linters" / "inference")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="+", metavar="NAME==VERSION", default=["timm==1.0.31"])
    arguments = parser.parse_args()
    os.environ["TENSORLINT_DEBUG"] = "1"
    warnings.filterwarnings("ignore")
    from inference_coverage import sources_of
    from mutated_programs import mutated

    from tensorlint.inference.analysis import analyse

    paths = [
        path
        for each in arguments.packages
        for path in sorted(sources_of(each).rglob("*.py"))
        if 500 < path.stat().st_size < 100_000
    ]
    chance = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    followed = failed = 0
    times: list[float] = []
    while time.monotonic() < end:
        path, seed = chance.choice(paths), chance.randrange(1 << 30)
        source = mutated(path.read_text(encoding="utf-8", errors="replace"), seed)
        if source is None:
            continue
        start = time.process_time()
        tree = ast.parse(source)
        parsed = time.process_time()
        try:
            analyse(tree, source, path=str(path))
        except Exception as error:
            failed += 1
            print(f"{path} seed {seed}: {error!r}", file=sys.stderr)
        followed += 1
        times.append((time.process_time() - parsed) / max(parsed - start, 1e-3))
    times.sort()
    print(
        f"{followed} mutants, {failed} failures; parses a mutant's analysis takes: {times[len(times) // 2]:.1f} in the "
        f"middle, {times[-1]:.0f} at most"
    )
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
