"""Lists every finding of TSR401 to TSR403 below a folder of unpacked packages, for the reader of the verdicts.

usage: read_map_findings.py FOLDER     (pip download --no-deps PACKAGE; unpack into FOLDER/PACKAGE-VERSION)
"""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

from tensorlint.inference.fingerprints import find_hazards


def main(folder: Path) -> None:
    """One line for each finding: place, trigger, path, reason; then the size and the time."""
    files = lines = 0
    spent = 0.0
    for path in sorted(folder.rglob("*.py")):
        try:
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        files, lines = files + 1, lines + source.count("\n")
        start = time.perf_counter()
        hazards = find_hazards(tree, source)
        spent += time.perf_counter() - start
        for hazard in hazards:
            if not getattr(hazard, "strict", False):
                words = [getattr(hazard, name, "") for name in ("trigger", "method", "path", "reason")]
                print(f"{path.relative_to(folder)}:{getattr(hazard.node, 'lineno', 0)}", *filter(None, words))
    print(f"{files} files, {lines:,} lines, {spent:.1f} s in find_hazards")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
