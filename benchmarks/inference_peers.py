"""The shapes of module-level names, beside pyrefly with its shape-aware torch stubs, and both beside the truth.

    python benchmarks/inference_peers.py --programs 100

Programs: random straight-line ones, and the examples of the rules that torch or numpy runs to the end. Each is run; for
every name that holds a tensor or array at the end, a claim is the whole shape, a part of it, wrong, or none. Needs
torch; installs the peer into .cache/benchmarks. Prints Markdown; `--store` writes benchmarks/results/inference_peers.md.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import io
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PEER = ROOT / ".cache" / "benchmarks" / "pyrefly"
RESULT = ROOT / "benchmarks" / "results" / "inference_peers.md"
VERSIONS = ("pyrefly==1.4.1", "pyrefly-torch-stubs==1.4.0")
Truth = dict[str, tuple[int, ...]]


def peer() -> Path:
    """The folder of an environment with the peer (and the CPU build of torch and numpy, which its stubs refer to)."""
    if not (PEER / "bin" / "pyrefly").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True)
        pip = [str(PEER / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), "torch", "numpy", *VERSIONS], check=True)
    return PEER


def programs(count: int) -> list[str]:
    sys.path.insert(0, str(ROOT / "tests" / "linters" / "inference"))
    from program_generator import make

    from tensorlint.rules.registry import load

    sources = [make(seed, 14, False).source()[0] for seed in range(500_000, 500_000 + count)]
    for rule in load():
        for example in (*rule.flagged, *rule.silent):
            if "datasets" not in example.code and "reveal_shape" not in example.code:
                sources.append(example.code)
    return sources


def truth_of(source: str) -> Truth:
    """The shapes of the tensors and arrays that the program leaves; of none if it does not run to its end."""
    import numpy
    import torch

    scope: dict[str, Any] = {"__name__": "program"}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(source, "program.py", "exec"), scope)
    except Exception:
        return {}
    return {
        name: tuple(value.shape)
        for name, value in scope.items()
        if isinstance(value, torch.Tensor | numpy.ndarray) and re.search(rf"(?m)^{name}\b.*=|^.*, {name} =", source)
    }


def ours(source: str) -> dict[str, list[int | None]]:
    from tensorlint.inference.analysis import analyse

    found: dict[str, list[int | None]] = {}
    for row in analyse(ast.parse(source), source).bindings:
        if row.column == 0 or source.splitlines()[row.line - 1][0] not in " \t":
            found[row.name] = None if row.shape is None else [s if isinstance(s, int) else None for s in row.shape]  # type: ignore[assignment]
    return {name: shape for name, shape in found.items() if shape is not None}


def theirs(sources: list[str], truths: list[Truth]) -> list[dict[str, list[int | None]]]:
    """What pyrefly reveals at the end of each program."""
    answers: list[dict[str, list[int | None]]] = []
    with tempfile.TemporaryDirectory() as folder:
        names: dict[tuple[str, int], str] = {}
        for at, (source, truth) in enumerate(zip(sources, truths, strict=True)):
            lines = source.rstrip("\n").split("\n")
            for name in truth:
                lines.append(f"reveal_type({name})")
                names[f"p{at}.py", len(lines)] = name
            Path(folder, f"p{at}.py").write_text("\n".join(lines) + "\n")
            answers.append({})
        Path(folder, "pyrefly.toml").write_text('preset = "default"\n')
        python = peer() / "bin" / "python"
        command = [str(peer() / "bin" / "pyrefly"), "check", "--min-severity", "info", "--output-format", "json"]
        done = subprocess.run(
            [*command, "--python-interpreter-path", str(python)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        for error in json.loads(done.stdout)["errors"]:
            file = Path(error["path"]).name
            name = names.get((file, error["line"]))
            match = re.search(
                r"revealed type: (?:Tensor|ndarray)\[\[(.*)\]\]|revealed type: Tensor\[\[\]\]", error["description"]
            )
            if name is not None and match is not None:
                parts = [part.strip() for part in (match[1] or "").split(",") if part.strip()]
                if not any("*" in part or "..." in part for part in parts):
                    sizes = [int(part) if part.isdigit() else None for part in parts]
                    answers[int(file[1:-3])][name] = sizes
    return answers


def score(claims: list[dict[str, list[int | None]]], truths: list[Truth]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for claim, truth in zip(claims, truths, strict=True):
        for name, shape in truth.items():
            counted["names"] += 1
            said = claim.get(name)
            if said is None:
                counted["none"] += 1
            elif len(said) != len(shape) or any(a is not None and a != b for a, b in zip(said, shape, strict=True)):
                counted["wrong"] += 1
            else:
                counted["part" if None in said else "exact"] += 1
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    sources = programs(arguments.programs)
    truths = [truth_of(source) for source in sources]
    claims = [ours(source) for source in sources]
    answers = theirs(sources, truths)
    rows = ["| tool | names | exact shape | part of it | wrong | none |", "|---|---:|---:|---:|---:|---:|"]
    for tool, said in (("tensorlint", claims), (" ".join(VERSIONS), answers)):
        got = score(said, truths)
        rows.append(f"| {tool} | {got['names']} | {got['exact']} | {got['part']} | {got['wrong']} | {got['none']} |")
    text = "\n".join(rows)
    print(text)
    for source, truth, said, other in zip(sources, truths, claims, answers, strict=True):
        for name, shape in truth.items():
            for tool, claim in (("tensorlint", said.get(name)), ("pyrefly", other.get(name))):
                if claim is not None and (
                    len(claim) != len(shape) or any(a not in (None, b) for a, b in zip(claim, shape, strict=True))
                ):
                    print(f"wrong: {tool} says {name} {claim}, is {shape}\n{source}", file=sys.stderr)
    if arguments.store:
        stamp = f"{datetime.date.today()}, `python benchmarks/inference_peers.py --programs {arguments.programs}`"
        RESULT.write_text(f"# Shapes beside the peer\n\n{stamp}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
