"""Bases that are one of several: a module's class if every binding of the name is one."""

from __future__ import annotations

import pytest
from forward_programs import forwards

NET = """

class Net(Base):
    def forward(self, x):
        return x

    def predict(self, x):
        return self.forward(x)
"""
TWO = "try:\n    from lightning.pytorch import LightningModule as Base\nexcept ImportError:\n    from torch.nn import Module as Base\n"


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (TWO, True),
        (TWO + "from layers import *\n", False),
        (TWO.replace("from torch.nn import Module", "from layers import Module"), False),
        (TWO.replace("from torch.nn import Module as Base", "Base = object"), False),
        (TWO.replace("from torch.nn import Module as Base", "Base = None"), True),
        (TWO + "\n\ndef choose():\n    global Base\n    Base = object\n", False),
        (TWO + "for Base in (object,):\n    pass\n", False),
        ("import torch\nfrom torch import nn\nBase = nn.Module if torch.cuda.is_available() else object\n", False),
        (
            "import torch\nfrom torch import nn\nBase = nn.Module if torch.cuda.is_available() else torch.nn.Module\n",
            True,
        ),
    ],
)
def test_a_base_that_is_one_of_several(head: str, known: bool) -> None:
    source = "import torch\n" + head + NET
    assert bool(forwards(source)) is known
    assert not forwards(source.replace("self.forward(", "self("))
