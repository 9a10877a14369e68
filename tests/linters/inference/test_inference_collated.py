"""Batches that hold dictionaries within dictionaries, and collate functions that put their batch together line by line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

PROGRAM = """import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    kept = {}
    def __init__(self):
        self.pos, self.energy = torch.randn(48, 6, 3), torch.randn(48)
    def __len__(self):
        return len(self.pos)
    def __getitem__(self, index):
        return {"pos": self.pos[index], "targets": {"energy": self.energy[index]}}

{collate}
for batch in DataLoader(Rows(), batch_size=16{given}):
    pos = batch["pos"] * 2
    energy = batch["targets"]["energy"] * 2
"""
COLLATE = {
    "torch's": "",
    "in one display": """def collate(samples):
    return {"pos": torch.stack([s["pos"] for s in samples]), "targets": {"energy": torch.stack([s["targets"]["energy"] for s in samples])}}
""",
    "line by line": """def collate(samples):
    batch = {"pos": torch.stack([s["pos"] for s in samples]), "targets": {}}
    for key in samples[0]["targets"]:
        batch["targets"][key] = torch.stack([s["targets"][key] for s in samples])
    return batch
""",
    "by key": """def collate(samples):
    batch = {"targets": {}}
    batch["pos"] = torch.stack([s["pos"] for s in samples])
    batch["targets"]["energy"] = torch.stack([s["targets"]["energy"] for s in samples])
    return batch
""",
}
KEPT = {
    "in an attribute of the class": """def collate(samples):
    batch = {"pos": torch.stack([s["pos"] for s in samples]), "targets": {}}
    batch["targets"]["energy"] = torch.stack([s["targets"]["energy"] for s in samples])
    last = Rows.kept.get("last", batch)
    last["targets"]["energy"] = last["targets"]["energy"].unsqueeze(-1)
    Rows.kept["last"] = batch
    return last
""",
    "within another": """def collate(samples):
    batch = {"pos": torch.stack([s["pos"] for s in samples]), "targets": {}}
    batch["targets"]["energy"] = torch.stack([s["targets"]["energy"] for s in samples])
    Rows.kept["last"] = batch["targets"]
    Rows.kept["last"]["energy"] = torch.zeros(2, 2)
    return batch
""",
    "one for all": """shared = {"energy": torch.zeros(3)}
def collate(samples):
    batch = {"pos": torch.stack([s["pos"] for s in samples]), "targets": shared}
    shared["energy"] = shared["energy"].unsqueeze(0)
    return batch
""",
}


def source_of(collate: str) -> str:
    given = ", collate_fn=collate" if collate else ""
    return PROGRAM.replace("{collate}", collate).replace("{given}", given)


@pytest.mark.parametrize("name", COLLATE)
def test_each_field_is_known(name: str, tmp_path: Path) -> None:
    source = source_of(COLLATE[name])
    assert wrong_claims(tmp_path / "program.py", source) == {}
    rows = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}
    assert (rows["pos"], rows["energy"]) == (("?", 6, 3), ("pos.shape[0]",))


@pytest.mark.parametrize("name", KEPT)
def test_what_something_else_holds_may_change(name: str, tmp_path: Path) -> None:
    assert wrong_claims(tmp_path / "program.py", source_of(KEPT[name])) == {}
