"""That time and memory grow linearly with the length of a file, and that a run over many files keeps neither.

    python benchmarks/inference_growth.py                       # generated modules of tensor code, up to 100,000 lines
    python benchmarks/inference_growth.py --packages timm==1.0.31 transformers==5.23.0 --store

Each length runs in a process of its own, so that its peak is its own. Of the packages every file is analysed one after
the other in one process, with the project's other files in sight; what is measured is the process's memory as the
files go by, and the errors of the interpreter's own (there must be none). Prints Markdown; `--store` also writes
benchmarks/results/inference_growth.md.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import gc
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

RESULT = Path(__file__).parent / "results" / "inference_growth.md"
LENGTHS = (1_000, 10_000, 50_000, 100_000)
FUNCTION = """
def f{0}(x, n):
    B, T, C = x.shape
    q, k = torch.zeros(B, T, C), torch.ones(B, T, C)
    a = (q @ k.transpose(1, 2)).softmax(-1)
    for i in range(n):
        a = a + f{1}(x, i)
        if n > 3:
            a = a * 2
    return a.view(B, T * T)
"""


def peak() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def one_file(lines: int) -> dict[str, float]:
    """Analyse a generated file of so many lines."""
    from tensorlint.inference.analysis import analyse

    source = "import torch\n" + "".join(FUNCTION.format(at, max(at - 1, 0)) for at in range(lines // 10))
    start = time.process_time()
    tree = ast.parse(source)
    parsed = time.process_time()
    before = peak()
    analyse(tree, source)
    return {
        "parse": parsed - start,
        "analyse": time.process_time() - parsed,
        "parsed": before,
        "peak": peak(),
    }


def files_of(requirements: list[str]) -> dict[str, object]:
    """Analyse every file of the packages in this process; the peak after each quarter of them."""
    from inference_coverage import sources_of

    from tensorlint.inference.analysis import analyse
    from tensorlint.project import Project

    paths = [path for each in requirements for path in sorted(sources_of(each).rglob("*.py"))]
    project = Project()
    failures: list[Exception] = []
    quarters: list[float] = []
    gc.collect()
    lines = 0
    for number, path in enumerate(paths, 1):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        project.begin(str(path))
        analyse(tree, text, path=str(path), project=project, failures=failures)
        lines += text.count("\n")
        if number * 4 // len(paths) > len(quarters):
            quarters.append(peak())
    for failure in failures:
        print(repr(failure), file=sys.stderr)
    return {"files": len(paths), "lines": lines, "failures": len(failures), "quarters": quarters}


def measured(*arguments: str) -> dict[str, object]:
    """What this script prints in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="*", metavar="NAME==VERSION", default=[])
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--all", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_file(arguments.one)))
        return
    if arguments.all:
        print(json.dumps(files_of(arguments.all)))
        return
    rows = [
        "| lines | parse s | analyse s | analyse ms per 1,000 lines | memory with the tree MB | peak MB |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for lines in LENGTHS:
        found = {key: float(str(value)) for key, value in measured("--one", str(lines)).items()}
        rows.append(
            f"| {lines:,} | {found['parse']:.2f} | {found['analyse']:.2f} | {found['analyse'] / lines * 1e6:.0f} "
            f"| {found['parsed']:.0f} | {found['peak']:.0f} |"
        )
    if arguments.packages:
        found_files = measured("--all", *arguments.packages)
        quarters = " | ".join(f"{value:.0f}" for value in found_files["quarters"])  # type: ignore[attr-defined]
        rows += [
            "",
            f"Every file of {', '.join(arguments.packages)} in one process, with the package's other files in sight:",
            "",
            "| files | lines | errors of the interpreter | peak MB after a quarter | a half | three quarters | all |",
            "|---:|---:|---:|---:|---:|---:|---:|",
            f"| {found_files['files']:,} | {found_files['lines']:,} | {found_files['failures']} | {quarters} |",
        ]
    text = "\n".join(rows)
    print(text)
    if arguments.store:
        command = "python benchmarks/inference_growth.py " + " ".join(sys.argv[1:])
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, `{command}`"
        RESULT.write_text(f"# How time and memory grow\n\n{stamp}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
