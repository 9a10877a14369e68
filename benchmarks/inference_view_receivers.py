"""What is known of x in `x.view(...)` and `x.reshape(...)`, in files of released packages: ours, and pyrefly with its stubs.

    python benchmarks/inference_view_receivers.py --store
    python benchmarks/inference_view_receivers.py --no-pyrefly

Counted are all calls of these methods in the files, whatever x turns out to be (an array, or no tensor at all): the
share whose receiver's rank is known (a partial shape), every size, the strides. Ours is asked by giving each receiver
a name where it stands, pyrefly by `reveal_type` around it. The files are not run. Prints Markdown; `--store` also
writes benchmarks/results/inference_view_receivers.md.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import platform
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from inference_coverage import sources_of
from inference_peers import PYREFLY, revealed, sizes_of

RESULT = Path(__file__).parent / "results" / "inference_view_receivers.md"
PACKAGES = ("timm==1.0.31", "torchvision==0.29.2", "transformers==5.23.0")
_TYPE = re.compile(r"revealed type: (?:Tensor|Parameter)\[\[(.*?)\]\]")


class Receivers(ast.NodeTransformer):
    """Asks for each receiver: `(receiver_0 := x).view(...)`, or `reveal_type(x).view(...)`."""

    def __init__(self, naming: bool) -> None:
        self.naming = naming
        self.count = 0
        self.barred = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_view = isinstance(node.func, ast.Attribute) and node.func.attr in ("view", "reshape")
        if is_view and not self.barred:
            assert isinstance(node.func, ast.Attribute)
            number, self.count = self.count, self.count + 1
            receiver = self.visit(node.func.value)
            if self.naming:
                node.func.value = ast.NamedExpr(ast.Name(f"receiver_{number}", ast.Store()), receiver)
            else:
                node.func.value = ast.Call(ast.Name("reveal_type", ast.Load()), [receiver], [])
            node.args = [self.visit(each) for each in node.args]
            node.keywords = [self.visit(each) for each in node.keywords]
            return node
        return self.generic_visit(node)

    def _without(self, node: ast.AST) -> ast.AST:
        """A comprehension: a name may not be given everywhere in it."""
        self.barred += 1
        self.generic_visit(node)
        self.barred -= 1
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_Lambda = _without


def chosen(requirement: str, count: int) -> list[Path]:
    """Every n-th file that calls `.view` or `.reshape` and imports torch."""
    fitting = [
        path
        for path in sorted(sources_of(requirement).rglob("*.py"))
        if re.search(r"\.(view|reshape)\(", text := path.read_text(encoding="utf-8", errors="replace"))
        and "torch" in text
    ]
    return fitting if not count else fitting[:: max(len(fitting) // count, 1)][:count]


def ours(text: str) -> tuple[int, Counter[str]]:
    from tensorlint.inference.analysis import analyse

    asking = Receivers(True)
    source = ast.unparse(ast.fix_missing_locations(asking.visit(ast.parse(text))))
    found: Counter[str] = Counter()
    for row in analyse(ast.parse(source), source).bindings:
        if row.name.startswith("receiver_") and row.shape is not None:
            found["rank"] += 1
            found["full"] += "?" not in row.shape
            found["strides"] += row.strides is not None
            found["all strides"] += row.strides is not None and "?" not in row.strides
    return asking.count, found


def theirs(texts: list[str], requirement: str) -> Counter[str]:
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for at, text in enumerate(texts):
            source = ast.unparse(ast.fix_missing_locations(Receivers(False).visit(ast.parse(text))))
            Path(folder, f"f{at}.py").write_text(source)
        for said in revealed(folder, sources_of(requirement)).values():
            match = _TYPE.match(said)
            if match is not None and sizes_of(match[1]) is not None:
                found["rank"] += 1
                found["full"] += re.search(r"\b(Any|Unknown|int)\b", match[1]) is None
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", metavar="NAME==VERSION", default=list(PACKAGES))
    parser.add_argument("--files", type=int, default=40, help="of each package; 0: all")
    parser.add_argument("--no-pyrefly", action="store_true")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    rows = [
        "| package | files | receivers | tool | rank | every size | strides (some size) | strides (every size) |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for requirement in arguments.packages:
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in chosen(requirement, arguments.files)]
        total, mine = 0, Counter[str]()
        for text in texts:
            count, found = ours(text)
            total, mine = total + count, mine + found
        tools = {"tensorlint": mine}
        if not arguments.no_pyrefly:
            tools[" ".join(PYREFLY)] = theirs(texts, requirement)
        for tool, counted in tools.items():
            ranked, full, laid, settled = (
                f"{counted[key] / max(total, 1):.0%}" for key in ("rank", "full", "strides", "all strides")
            )
            if tool != "tensorlint":
                laid = settled = "–"
            rows.append(f"| {requirement} | {len(texts)} | {total} | {tool} | {ranked} | {full} | {laid} | {settled} |")
    text = "\n".join(rows)
    print(text)
    if arguments.store:
        command = "python benchmarks/inference_view_receivers.py " + " ".join(sys.argv[1:])
        stamp = f"{datetime.date.today()}, Python {platform.python_version()}, `{command}`"
        RESULT.write_text(
            f"# The receivers of `.view` and `.reshape`\n\n{stamp}\n\nEach file by itself, not run.\n\n{text}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
