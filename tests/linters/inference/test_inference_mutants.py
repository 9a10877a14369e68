"""Sources of this repository, mutated: the interpreter neither fails nor takes out of proportion long.

`python benchmarks/inference_mutants.py` does the same with the files of packages for as long as it is given.
"""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from mutated_programs import mutated

from tensorlint.inference.analysis import analyse
from tensorlint.inference.frames import SourceFile
from tensorlint.inference.interpreter import Interpreter
from tensorlint.inference.names import collect

_DATA = Path(__file__).parent / "data" / "adversaries.py.txt"
_PARTS = [part.split("\n", 1)[1] for part in _DATA.read_text(encoding="utf-8").split("# --- ")[1:]]
# Several programs in one, so that there is something to exchange.
SOURCES = ["\n".join(_PARTS[at : at + 6]) for at in range(0, len(_PARTS), 6)]


@pytest.mark.parametrize("part", range(8))
def test_no_mutant_makes_the_interpreter_fail(part: int) -> None:
    followed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for seed in range(part, 400, 8):
            source = mutated(SOURCES[seed % len(SOURCES)], seed)
            if source is not None:
                analyse(ast.parse(source), source)
                followed += 1
    assert followed > 15


DEEP = {
    "blocks": "".join("    " * depth + f"if a{depth}:\n" for depth in range(90)) + "    " * 90 + "x = 1\n",
    "attributes": "import torch\nx = torch.zeros(2)" + ".T" * 2000 + "\n",
    "sums": "import torch\nx = " + " + ".join(["torch.zeros(2)"] * 2000) + "\n",
    "a long list": "import torch\nx = torch.tensor([" + "[1.0, 2.0], " * 20_000 + "])\n",
    "a large dictionary": "x = {" + ", ".join(f"'k{at}': {at}" for at in range(20_000)) + "}\n",
    "functions in functions": "".join("    " * depth + f"def f{depth}(x):\n" for depth in range(60)) + "    " * 60 + "return x\n",
    "many branches": "import torch\ndef f(x):\n" + "".join(f"    if x > {at}:\n        x = x + torch.zeros({at})\n" for at in range(2000)),
    "many names": "".join(f"x{at} = x{max(at - 1, 0)}\n" for at in range(20_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_programs_out_of_all_proportion(name: str) -> None:
    source = DEEP[name]
    tree = ast.parse(source)
    interpreter = Interpreter(SourceFile("<string>", source, tree, collect(tree)))
    interpreter.run()
    # Work is bounded by the length of the file; a statement is followed a fixed number of times.
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    assert interpreter.steps <= 2_000 + 30 * statements
