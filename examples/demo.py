"""The main job, on the example project and on the same project with the mistakes people make.

Run by `make demo`. Exits 0 if the first is clean and the second is not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def show(folder: str, *command: str) -> int:
    """Run a command in an example's folder, output to the terminal; its exit code."""
    print(
        f"\n\033[1m{folder}$ {' '.join(command)}\033[0m" if sys.stdout.isatty() else f"\n{folder}$ {' '.join(command)}"
    )
    sys.stdout.flush()
    runner = (
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        if command[0] == "pytest"
        else [str(Path(sys.executable).with_name("tensorlint"))]
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    return subprocess.run([*runner, *command[1:]], cwd=HERE / folder, env=environment, check=False).returncode


def main() -> int:
    clean = show("charformer", "tensorlint", "check", "."), show("charformer", "pytest", "--tensorcheck")
    buggy = show("charformer_buggy", "tensorlint", "check", "."), show("charformer_buggy", "pytest", "--tensorcheck")
    print()
    if clean != (0, 0):
        print("demo: the example project should be clean, see above")
        return 1
    if buggy != (1, 1):
        print("demo: the mistakes should be found, see above")
        return 1
    print("demo: the example project is clean; in its twin every mistake was found.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
