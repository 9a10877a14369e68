"""How much the inference knows: on random programs (where torch says what is right) and on real packages.

    python benchmarks/inference_coverage.py --programs 1000
    python benchmarks/inference_coverage.py --packages timm==1.0.31 lightning==2.6.6 --store

Random programs need torch. Packages are downloaded with pip (sources only, nothing is installed or imported).
Prints Markdown; `--store` also writes benchmarks/results/inference_coverage.md.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import platform
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "benchmarks" / "packages"
RESULT = ROOT / "benchmarks" / "results" / "inference_coverage.md"
PACKAGES = ("timm==1.0.31", "lightning==2.6.6", "torchvision==0.29.2", "transformers==5.23.0")


def programs(count: int) -> str:
    """The share of assignments of random straight-line programs with a full shape, with strides, and wrong claims."""
    sys.path.insert(0, str(ROOT / "tests" / "linters" / "inference"))
    warnings.filterwarnings("ignore")
    import torch
    from program_generator import make
    from test_inference_programs import wrong_claims

    rows = [
        f"Random programs of 14 statements, run by torch {torch.__version__}.",
        "",
        "| sizes | programs | assignments | full shape | strides | wrong claims |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for symbolic, name in ((False, "numbers"), (True, "names")):
        wrong, total, shapes, strides = 0, 0, 0, 0
        for seed in range(100_000, 100_000 + count):
            found, made, full, laid = wrong_claims(make(seed, 14, symbolic))
            wrong, total, shapes, strides = wrong + len(found), total + made, shapes + full, strides + laid
            for line in found:
                print(line, file=sys.stderr)
        rows.append(f"| {name} | {count} | {total} | {shapes / total:.1%} | {strides / total:.1%} | {wrong} |")
    return "\n".join(rows)


def sources_of(requirement: str) -> Path:
    """The folder with a package's Python files."""
    folder = CACHE / requirement
    if folder.exists():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:  # whole or not at all: a download may fail
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", temporary]
        subprocess.run([*command, requirement], check=True)
        unpacked = Path(temporary) / "unpacked"
        for wheel in Path(temporary).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked, [name for name in archive.namelist() if name.endswith(".py")])
        unpacked.rename(folder)
    return folder


def package(requirement: str, whole: bool) -> str:
    """One row: what is known of the tensors that the package's code gives a name, without one annotation added.

    `whole` lets each file see what the others of the package define, as `tensorlint check PACKAGE` does.
    """
    from tensorlint.inference.analysis import analyse
    from tensorlint.project import Project

    project = Project() if whole else None

    lines = rows = ranks = full = strides = axes = failed = 0
    parsing = analysing = 0.0
    for path in sorted(sources_of(requirement).rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        start = time.process_time()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        parsed = time.process_time()
        try:
            if project is not None:
                project.begin(str(path))
            analysis = analyse(tree, text, path=str(path), project=project)
        except Exception as error:
            failed += 1
            print(f"{path}: {error!r}", file=sys.stderr)
            continue
        analysing += time.process_time() - parsed
        parsing += parsed - start
        lines += text.count("\n")
        for row in analysis.bindings:
            rows += 1
            if row.shape is not None:
                ranks += 1
                full += "?" not in row.shape
                strides += row.strides is not None
            axes += row.axes is not None
    share = (lambda part: f"{part / rows:.0%}") if rows else (lambda part: "–")
    ratio = (parsing + analysing) / parsing if parsing else 0
    return f"| {requirement} | {'package' if whole else 'file'} | {lines:,} | {rows:,} | {share(ranks)} | {share(full)} | {share(strides)} | {share(axes)} | {failed} | {ratio:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, metavar="N", help="random programs of each kind")
    parser.add_argument("--packages", nargs="*", metavar="NAME==VERSION", help=f"default: {' '.join(PACKAGES)}")
    parser.add_argument(
        "--seen", choices=("file", "package", "both"), default="both", help="what a file sees of others"
    )
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    parts = []
    if arguments.programs:
        parts.append(programs(arguments.programs))
    if arguments.packages is not None or not arguments.programs:
        modes = {"file": (False,), "package": (True,), "both": (False, True)}[arguments.seen]
        head = [
            "Assignments of a tensor or array to a name, each file by itself; time in parses of the same files (`ast.parse`).",
            "",
            "| package | seen | lines | assignments | rank | full shape | strides | a size, no rank | failures | time |",
            "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        parts.append(
            "\n".join(head + [package(each, whole) for each in arguments.packages or PACKAGES for whole in modes])
        )
    text = "\n\n".join(parts)
    print(text)
    if arguments.store:
        command = "python benchmarks/inference_coverage.py " + " ".join(sys.argv[1:])
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, `{command}`"
        RESULT.write_text(f"# What the inference knows\n\n{stamp}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
