"""Members of a container of modules: how they are called is known only where their class is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorlint.cli import main

BLOCK = """
from torch import nn
class Block(nn.Module):
    def forward(self, x):
        return x
"""
OWN_CALL = BLOCK + "    def __call__(self, x):\n        return self.forward(x) + 1\n"
MODEL = """
from torch.nn import Module, ModuleList
from .block import Block
class Model(Module):
    def __init__(self, many):
        super().__init__()
        self.blocks = ModuleList([Block() for _ in range(many)])
    def forward(self, x):
        y = self.blocks[0].forward(x)
        for block in self.blocks[1:]:
            y = block.forward(y)
        return y
"""
LOCAL = MODEL.replace("from .block import Block", "{block}")


def reported(folder: Path, capsys: pytest.CaptureFixture[str], *paths: str) -> int:
    main(["check", "--no-cache", "--output-format", "concise", *(str(folder / path) for path in paths)])
    return capsys.readouterr().out.count("TSR301")


@pytest.mark.parametrize(("block", "findings"), [(BLOCK, 2), (OWN_CALL, 0)])
def test_of_another_file_that_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], block: str, findings: int
) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "block.py").write_text(block)
    (tmp_path / "model.py").write_text(MODEL)
    assert reported(tmp_path, capsys, ".") == findings


@pytest.mark.parametrize(("block", "findings"), [(BLOCK, 2), (OWN_CALL, 0)])
def test_of_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], block: str, findings: int) -> None:
    (tmp_path / "model.py").write_text(LOCAL.replace("{block}", block))
    assert reported(tmp_path, capsys, "model.py") == findings


def test_of_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "model.py").write_text(MODEL)
    assert reported(tmp_path, capsys, "model.py") == 0


# Following it would take more work than there is for a file.
DOCUMENTS = (
    "def documented(made):\n" + "    made.__doc__ += notes(made)\n" * 4000 + "    return registry.get(made, made)\n"
)
DOCUMENTED = """
from .block import Block
from .docs import documented
@documented
class Base(Block):
    pass
@documented
class Model(Base):
    def features(self, x):
        return self.forward(x)
"""


def test_a_decorator_of_another_file_gives_the_class_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "block.py").write_text(BLOCK)
    (tmp_path / "docs.py").write_text(DOCUMENTS)
    (tmp_path / "model.py").write_text(DOCUMENTED)
    assert reported(tmp_path, capsys, ".") == 1


CHOSEN = """
import torch
from torch import nn


class Wide(nn.Module):
    def forward(self, x):
        return x


class Deep(Wide):
    def forward(self, x):
        return 2 * x


class Other(nn.Module):
    {call}

    def forward(self, x):
        return 3 * x


class Plain:
    def forward(self, x):
        return 4 * x


MODELS = {models}


def evaluate(model, x):
    return model.forward(x)


def main(name, words):
    model = MODELS[name]({given})
    return evaluate(model, torch.rand(3))


main(input(), {})
"""


@pytest.mark.parametrize("given", ["", "**words"])
@pytest.mark.parametrize(
    ("models", "call", "findings"),
    [
        ('{"wide": Wide, "deep": Deep}', "", 1),
        ('{"wide": Wide, "deep": Deep, "other": Other, "linear": nn.Identity}', "", 1),
        ('{"a": nn.Identity, "b": nn.ReLU}', "", 1),
        ('{"wide": Wide, "plain": Plain}', "", 0),
        ('{"wide": Wide, "other": Other}', "def __call__(self, x):\n        return self.forward(x) + 1", 0),
        ('{"wide": Wide, "function": torch.relu}', "", 0),
    ],
)
def test_one_of_several_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], models: str, call: str, findings: int, given: str
) -> None:
    source = CHOSEN.replace("{models}", models).replace("{call}", call or "kind = 1").replace("{given}", given)
    (tmp_path / "model.py").write_text(source)
    assert reported(tmp_path, capsys, "model.py") == findings
