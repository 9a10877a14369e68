"""What each tool knows of the shapes in the same files, and which of its claims are wrong: ours and the published peers.

    python benchmarks/inference_peers.py --programs 60 --files 15 --store

Peers: pyrefly with its shape-aware torch stubs (a type checker), torchshapeflow (reads the source), torchtyc (runs
annotated functions on tensors without data; tells the shapes of a function's result, so each program becomes a
function that returns its names).

* Programs that torch or numpy runs, which are the judge: random ones and the examples of our rules (ours: a bias in
  our favour), and the programs of publicly reported bugs (tests/linters/rules/data: written by others).
* Files of released packages, not run: the share of names that ours or pyrefly takes for a tensor whose rank or whole
  shape each tool knows. Where two tools contradict each other, both claims are printed. (torchtyc needs annotations.)

Installs the peers into .cache/benchmarks; packages come from inference_coverage.py. Needs torch. Prints Markdown;
`--store` also writes benchmarks/results/inference_peers.md.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import datetime
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from inference_coverage import sources_of

ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "benchmarks"
RESULT = ROOT / "benchmarks" / "results" / "inference_peers.md"
PYREFLY = ("pyrefly==1.4.1", "pyrefly-torch-stubs==1.4.0")
OTHERS = ("torchshapeflow==0.7.3", "torchtyc==0.5.0")
OURS = "tensorlint"
# The disagreements of the stored run, each read and run.
READ = """Read, 2026-11-20 and 22: every wrong claim was judged by running the program. pyrefly's are `.t()` of a vector (rank 2), what follows
from it, and a result that broadcasts (`log_p`). torchshapeflow's: `x.max(-1)[0]` and `x.topk(1)[1]` read as if the pair were a
tensor, a slice with a step (`x[::2]`), `torch.stack` and `cat` along a negative axis, numpy's `axis=` and `keepdims=`. Both of
its contradictions with ours on package files are one tensor made by `torch.zeros((*x.shape[:-1], n))`, whose starred part it
counts as one axis (x has rank 3, so ours is right). Ours knows nothing of what comes out of a pandas frame, and lacks one size
where the parameters of a module are looped over. torchtyc is no inference: torch has run the program, on tensors without data."""
PACKAGES = ("timm==1.0.31", "torchvision==0.29.2", "transformers==5.23.0")
Truth = dict[str, tuple[int, ...]]
Claim = list[int | None]
Claims = dict[str, Claim]


def environment(name: str, requirements: tuple[str, ...]) -> Path:
    """A virtual environment with a peer, and the CPU build of torch and numpy, which they refer to."""
    folder = CACHE / name
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), "torch", "numpy", *requirements], check=True)
        (folder / "installed").touch()
    return folder / "bin"


# Programs.


def our_programs(count: int) -> list[str]:
    sys.path.insert(0, str(ROOT / "tests" / "linters" / "inference"))
    from program_generator import make

    from tensorlint.rules.registry import load

    sources = [make(seed, 14, False).source()[0] for seed in range(500_000, 500_000 + count)]
    for rule in load():
        for example in (*rule.flagged, *rule.silent):
            if "datasets" not in example.code and "reveal_shape" not in example.code:
                sources.append(example.code)
    return sources


def reported_programs() -> list[str]:
    """The programs of bugs that others reported in public, with the mistake and mended."""
    sources: list[str] = []
    for file in sorted((ROOT / "tests" / "linters" / "rules" / "data").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            sources += [record[key] for key in ("bad", "good", "code") if isinstance(record.get(key), str)]
    return [source for source in dict.fromkeys(sources) if "datasets" not in source]


def truth_of(source: str) -> Truth:
    """The shapes of the tensors and arrays that the program leaves under names that it assigns once, at its top level."""
    import numpy
    import torch

    scope: dict[str, Any] = {"__name__": "program"}
    with (
        contextlib.suppress(Exception),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        exec(compile(source, "program.py", "exec"), scope)
    stored = Counter(
        node.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    top = {
        target.id
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for target in ast.walk(statement)
        if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
    }
    return {
        name: tuple(value.shape)
        for name, value in scope.items()
        if isinstance(value, torch.Tensor | numpy.ndarray) and name in top and stored[name] == 1
    }


def ours(source: str) -> Claims:
    from tensorlint.inference.analysis import analyse

    found: Claims = {}
    for row in analyse(ast.parse(source), source).bindings:
        if row.shape is not None:
            found[row.name] = [size if isinstance(size, int) else None for size in row.shape]
    return found


def sizes_of(text: str) -> Claim | None:
    """`4, 5` or `B, 5` as sizes; None for a rank that is not known."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if any("*" in part or "..." in part for part in parts):
        return None
    return [int(part) if part.isdigit() else None for part in parts]


_REVEALED = re.compile(r"revealed type: (?:Tensor|ndarray|Parameter)\[\[(.*?)\]\]")


def revealed(folder: str, search: Path | None = None) -> dict[tuple[str, int, int], str]:
    """What pyrefly says at each `reveal_type` of the files of a folder, by file, line and column."""
    bin = environment("pyrefly", PYREFLY)
    lines = ['preset = "default"', *([f'search-path = ["{search}"]'] if search else [])]
    Path(folder, "pyrefly.toml").write_text("\n".join(lines) + "\n")
    command = [str(bin / "pyrefly"), "check", "--min-severity", "info", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--python-interpreter-path", str(bin / "python")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        (Path(error["path"]).name, error["line"], error["column"]): error["description"]
        for error in json.loads(done.stdout)["errors"]
        if error["description"].startswith("revealed type:")
    }


def pyrefly(sources: list[str], truths: list[Truth]) -> list[Claims]:
    """What pyrefly reveals at the end of each program."""
    answers: list[Claims] = [{} for _ in sources]
    with tempfile.TemporaryDirectory() as folder:
        names: dict[tuple[str, int], str] = {}
        for at, (source, truth) in enumerate(zip(sources, truths, strict=True)):
            lines = source.rstrip("\n").split("\n")
            for name in truth:
                lines.append(f"reveal_type({name})")
                names[f"p{at}.py", len(lines)] = name
            Path(folder, f"p{at}.py").write_text("\n".join(lines) + "\n")
        for (file, line, _column), said in revealed(folder).items():
            match = _REVEALED.match(said)
            name = names.get((file, line), "")
            sizes = None if match is None else sizes_of(match[1])
            if name and sizes is not None:
                answers[int(file[1:-3])][name] = sizes
    return answers


def as_function(source: str, head: str, result: str) -> str:
    """The program as the body of a function, its imports outside."""
    lines = source.rstrip("\n").split("\n")
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    body = [f"    {line}" for line in lines if line not in imports]
    return "\n".join([*imports, head, *body, f"    {result}", ""])


def torchshapeflow(sources: list[str], truths: list[Truth]) -> list[Claims]:
    """What it shows at each assignment; it reads functions only, so each program becomes one."""
    bin = environment("torchpeers", OTHERS)
    answers: list[Claims] = [{} for _ in sources]
    with tempfile.TemporaryDirectory() as folder:
        for at, source in enumerate(sources):
            Path(folder, f"p{at}.py").write_text(as_function(source, "def program():", "return"))
        done = subprocess.run(
            [str(bin / "tsf"), "check", "--json", folder], capture_output=True, text=True, check=False
        )
        for file in json.loads(done.stdout)["files"]:
            at = int(Path(file["path"]).stem[1:])
            for hover in file["hovers"]:
                sizes = sizes_of(hover["shape"].strip("[]")) if hover["shape"].startswith("[") else None
                if hover["kind"] == "value" and hover["name"] in truths[at] and sizes is not None:
                    answers[at][hover["name"]] = sizes
    return answers


_TRACE = """
import json, sys
from pathlib import Path
from torchtyc.config import Config
from torchtyc.engine import check_paths
print(json.dumps(check_paths(sys.argv[1:], Config(Path("."), python=sys.executable, timeout=900.0), hover=True).hovers))
"""


def torchtyc(sources: list[str], truths: list[Truth]) -> list[Claims]:
    """The shapes of a function that returns the program's names; torch itself has run it, on tensors without data."""
    bin = environment("torchpeers", OTHERS)
    answers: list[Claims] = [{} for _ in sources]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for at, (source, truth) in enumerate(zip(sources, truths, strict=True)):
            if not truth:
                continue
            kinds = ", ".join(["Shaped[Tensor, '...']"] * len(truth))
            head = f"from torch import Tensor\nfrom jaxtyping import Shaped\ndef program() -> tuple[{kinds}]:"
            files.append(f"p{at}.py")
            Path(folder, files[-1]).write_text(as_function(source, head, f"return ({', '.join(truth)},)"))
        done = subprocess.run(
            [str(bin / "python"), "-c", _TRACE, *files], cwd=folder, capture_output=True, text=True, check=False
        )
        for file, functions in json.loads(done.stdout.strip().split("\n")[-1]).items():
            at = int(Path(file).stem[1:])
            found = re.findall(r"\w+\[\((.*?)\)\]", functions.get("program", {}).get("return", ""))
            if len(found) == len(truths[at]):
                for name, text in zip(truths[at], found, strict=True):
                    sizes = sizes_of(text)
                    if sizes is not None:
                        answers[at][name] = sizes
    return answers


def contradicts(claim: Claim, shape: tuple[int | None, ...] | Claim) -> bool:
    """Whether both cannot be true: another rank, or two numbers for one axis."""
    return len(claim) != len(shape) or any(
        a is not None and b is not None and a != b for a, b in zip(claim, shape, strict=True)
    )


def score(claims: list[Claims], truths: list[Truth]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for claim, truth in zip(claims, truths, strict=True):
        for name, shape in truth.items():
            counted["names"] += 1
            said = claim.get(name)
            if said is None:
                counted["none"] += 1
            elif contradicts(said, shape):
                counted["wrong"] += 1
            else:
                counted["part" if None in said else "exact"] += 1
    return counted


def judged(title: str, sources: list[str], traced: int) -> list[str]:
    """A table over programs that are run; torchtyc, which starts a process for each, gets the first `traced`."""
    truths = [truth_of(source) for source in sources]
    first = [truth for truth in truths if truth][:traced]
    tools = {
        OURS: [ours(source) for source in sources],
        " ".join(PYREFLY): pyrefly(sources, truths),
        OTHERS[0]: torchshapeflow(sources, truths),
        OTHERS[1]: torchtyc(sources, [truth if truth in first else {} for truth in truths]),
    }
    rows = [title, "", "| tool | names | exact shape | part of it | wrong | none |", "|---|---:|---:|---:|---:|---:|"]
    for tool, said in tools.items():
        judge = truths if tool != OTHERS[1] else [truth if truth in first else {} for truth in truths]
        got = score(said, judge)
        rows.append(f"| {tool} | {got['names']} | {got['exact']} | {got['part']} | {got['wrong']} | {got['none']} |")
        for source, truth, claims in zip(sources, truths, said, strict=True):
            for name, shape in truth.items():
                if name in claims and contradicts(claims[name], shape):
                    print(f"wrong: {tool} says {name} {claims[name]}, is {shape}\n{source}", file=sys.stderr)
    return rows


# Files of packages.


def chosen(requirement: str, count: int) -> list[Path]:
    """Every n-th file that defines a `forward` and calls `.view`, `.reshape` or `.permute`."""
    folder = sources_of(requirement)
    fitting = [
        path
        for path in sorted(folder.rglob("*.py"))
        if "def forward(" in (text := path.read_text(encoding="utf-8", errors="replace"))
        and re.search(r"\.(view|reshape|permute)\(", text)
    ]
    return fitting[:: max(len(fitting) // count, 1)][:count]


def asked(text: str) -> tuple[str, dict[tuple[int, str], int]]:
    """The file with `reveal_type` after each assignment of one name that ends its line; where, by its line and name."""
    tree = ast.parse(text)
    after: dict[int, list[tuple[int, str]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            after.setdefault(node.end_lineno or node.lineno, []).append((node.col_offset, node.targets[0].id))
    shown: list[str] = []
    places: dict[tuple[int, str], int] = {}
    endings = ast_line_ends(tree)
    for number, line in enumerate(text.split("\n"), 1):
        shown.append(line)
        for column, name in after.get(number, []):
            if number in endings:
                shown.append(" " * column + f"reveal_type({name})")
                places[number, name] = len(shown)
    return "\n".join(shown), places


def ast_line_ends(tree: ast.Module) -> set[int]:
    """Lines after which a statement may be put: where an assignment ends, and nothing else follows."""
    ends = Counter(
        node.end_lineno for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")
    )
    return {line for line, count in ends.items() if line is not None and count == 1}


def real_files(requirement: str, count: int) -> list[str]:
    """Rows over files of a package that are not run: what each tool knows of the same names."""
    from tensorlint.inference.analysis import analyse

    files = chosen(requirement, count)
    counted: dict[str, Counter[str]] = {tool: Counter() for tool in (OURS, "pyrefly", "torchshapeflow")}
    names = 0
    bin = environment("torchpeers", OTHERS)
    with tempfile.TemporaryDirectory() as folder:
        places: dict[str, dict[tuple[int, str], int]] = {}
        for at, path in enumerate(files):
            text, places[f"f{at}.py"] = asked(path.read_text(encoding="utf-8"))
            Path(folder, f"f{at}.py").write_text(text)
        types = revealed(folder, sources_of(requirement))
        by_line = {(file, line): said for (file, line, _), said in types.items()}
        for at, path in enumerate(files):
            source = path.read_text(encoding="utf-8")
            rows = {(row.line, row.name): row for row in analyse(ast.parse(source), source, path=str(path)).bindings}
            flow: dict[tuple[int, str], str] = {}
            done = subprocess.run(
                [str(bin / "tsf"), "check", "--json", path], capture_output=True, text=True, check=False
            )
            with contextlib.suppress(json.JSONDecodeError):
                flow = {
                    (hover["line"], hover["name"]): hover["shape"]
                    for file in json.loads(done.stdout)["files"]
                    for hover in file["hovers"]
                    if hover["kind"] == "value"
                }
            ends = statement_lines(ast.parse(source))
            for (line, name), new in places[f"f{at}.py"].items():
                said = by_line.get((f"f{at}.py", new), "")
                own = rows.get((ends[line], name))
                shaped = _REVEALED.match(said)
                if own is None and not re.match(r"revealed type: (Tensor|Parameter)\b", said):
                    continue
                names += 1
                mine: Claim | None = None
                if own is not None and own.shape is not None:
                    mine = [size if isinstance(size, int) else None for size in own.shape]
                    counted[OURS]["full" if "?" not in own.shape else "rank"] += 1
                theirs = None if shaped is None else sizes_of(shaped[1])
                if shaped is not None and theirs is not None:
                    counted["pyrefly"]["rank" if re.search(r"\b(Any|Unknown|int)\b", shaped[1]) else "full"] += 1
                if (ends[line], name) in flow:
                    counted["torchshapeflow"]["rank" if "?" in flow[ends[line], name] else "full"] += 1
                other = sizes_of(flow.get((ends[line], name), "...").strip("[]"))
                for tool, claim in (("pyrefly", theirs), ("torchshapeflow", other)):
                    counted[tool]["both"] += mine is not None and claim is not None
                    if mine is not None and claim is not None and contradicts(mine, claim):
                        counted[tool]["contradicted"] += 1
                        print(f"{path}:{line}: {name}: ours {own and own.shape}, {tool} {claim}", file=sys.stderr)
    lines: list[str] = []
    for tool, got in counted.items():
        ranked, full = (f"{part / max(names, 1):.0%}" for part in (got["rank"] + got["full"], got["full"]))
        met = "| |" if tool == OURS else f"{got['both']} | {got['contradicted']} |"
        lines.append(f"| {requirement} | {len(files)} | {names} | {tool} | {ranked} | {full} | {met}")
    return lines


def statement_lines(tree: ast.Module) -> dict[int, int]:
    """The first line of the assignment that ends on a line."""
    return {node.end_lineno or node.lineno: node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assign)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--files", type=int, default=15, help="files of each package")
    parser.add_argument("--traced", type=int, default=20, help="programs that torchtyc gets, of each kind")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parts = []
    if arguments.programs:
        parts += judged(
            f"{arguments.programs} random programs and the examples of our rules (ours: a bias in our favour), run:",
            our_programs(arguments.programs),
            arguments.traced,
        )
        title = "Programs of publicly reported bugs, with the mistake and mended (written by others), run:"
        parts += ["", *judged(title, reported_programs(), arguments.traced)]
    if arguments.files:
        parts += [
            "",
            "Files of packages, not run: names that ours or pyrefly takes for a tensor, assigned alone on their line.",
            "",
            "| package | files | names | tool | rank | every size | ours and its both claim | contradictions |",
            "|---|---:|---:|---|---:|---:|---:|---:|",
        ]
        for requirement in PACKAGES:
            parts += real_files(requirement, arguments.files)
    text = "\n".join([*parts, "", READ])
    print(text)
    if arguments.store:
        command = f"python benchmarks/inference_peers.py {' '.join(sys.argv[1:])}"
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, `{command}`"
        RESULT.write_text(f"# Shapes beside the peers\n\n{stamp}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
