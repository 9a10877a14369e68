"""Loaders as scripts make them: their options in dictionaries that a condition adds to, gone through by a progress bar."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from rule_programs import codes, findings, run

TOP = """\
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

cuda, size = bool(eval("1")), int(eval("8"))
data, net = TensorDataset(torch.rand(40, 3), torch.rand(40)), torch.nn.Linear(3, 1)


def others(batch):
    return torch.stack([x for x, _ in batch]), torch.stack([y for _, y in batch]).unsqueeze(1)


"""


class Bar:
    """What stands for `tqdm.tqdm`, which need not be installed."""

    def __init__(self, rows: Iterable[Any], **options: Any) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def set_postfix(self, **shown: Any) -> None:
        pass

    def update(self) -> None:
        pass


LOOP = "for x, y in loader:\n    d = net(x) - y\n    loss = (d ** 2).mean()\n"
FAULTS = {
    "updated": "options = {'batch_size': 8}\nif cuda:\n    options.update({'num_workers': 0, 'shuffle': True})\nloader = DataLoader(data, **options)\n",
    "by another": "options = {'batch_size': 8}\nmore = {'shuffle': True}\nif cuda:\n    options.update(more)\nloader = DataLoader(data, **options)\n",
    "one by one": "options = dict(batch_size=size)\nif cuda:\n    options['shuffle'] = True\nloader = DataLoader(data, **options)\n",
    "either": "options = {'num_workers': 0, 'pin_memory': False} if cuda else {}\nloader = DataLoader(data, batch_size=8, **options)\n",
    "one of two": "options = {'batch_size': 8}\nif cuda:\n    options = {'batch_size': 4, 'shuffle': True}\nloader = DataLoader(data, **options)\n",
    "joined": "options = {'batch_size': 8}\nif cuda:\n    options |= {'shuffle': True}\nloader = DataLoader(data, **{**options, 'drop_last': True})\n",
    "of the file": "options = {}\nif cuda:\n    options['shuffle'] = True\n\n\ndef make():\n    return DataLoader(data, 8, **options)\n\n\nloader = make()\n",
}
RIGHT = {
    "a column each": "options = {'batch_size': 8}\nif cuda:\n    options.update({'collate_fn': others})\nloader = DataLoader(data, **options)\n",
    "whatever is given": "def make(**options):\n    return DataLoader(data, **options)\n\n\nloader = make(batch_size=8, collate_fn=others)\n",
    "by a function": "def add(options):\n    options['collate_fn'] = others\n\n\noptions = {'batch_size': 8}\nif cuda:\n    add(options)\n"
    "loader = DataLoader(data, **options)\n",
    "by another name": "options = again = {'batch_size': 8}\nif cuda:\n    again['collate_fn'] = others\nloader = DataLoader(data, **options)\n",
    "by a computed name": "options = {'batch_size': 8}\nfor name in ['collate' + '_fn']:\n    options[name] = others\nloader = DataLoader(data, **options)\n",
    "from a list": "options = {'batch_size': 8}\nif cuda:\n    options.update([('collate_fn', others)])\nloader = DataLoader(data, **options)\n",
    "kept": "options = {'batch_size': 8}\nkept = [options]\nif cuda:\n    kept[0]['collate_fn'] = others\nloader = DataLoader(data, **options)\n",
    "one item each": "options = {'batch_size': None if cuda else 8}\nif cuda:\n    options['shuffle'] = True\nloader = DataLoader(data, **options)\n",
}
MADE = "from tqdm import tqdm\n\nloader = DataLoader(data, batch_size=8)\n"
BARS = {
    "named": "bar = tqdm(enumerate(loader), total=len(loader))\nfor i, (x, y) in bar:\n    d = net(x) - y\n    loss = (d ** 2).mean()\n"
    "    bar.set_postfix(loss=loss.item())\n",
    "entered": "with tqdm(loader, unit='batch') as bar:\n    for x, y in bar:\n        d = net(x) - y\n        loss = (d ** 2).mean()\n        bar.set_postfix(loss=loss)\n",
    "entered and numbered": "with tqdm(loader) as bar:\n    for i, (x, y) in enumerate(bar):\n        d = net(x) - y\n        loss = (d ** 2).mean()\n        bar.update()\n",
}
FLAT = {
    "named": BARS["named"].replace("net(x)", "net(x).squeeze(1)"),
    "what an object enters": "class Pairs:\n    def __enter__(self):\n        return [others([pair]) for pair in data]\n\n"
    "    def __exit__(self, *error):\n        pass\n\n\nwith Pairs() as bar:\n    for x, y in bar:\n        loss = F.mse_loss(net(x), y)\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_options_that_are_written_out_are_followed(name: str) -> None:
    (found,) = findings(TOP + FAULTS[name] + LOOP)
    assert found.code == "TSR112"
    assert "net(x) (" in found.message
    d = run(TOP + FAULTS[name] + LOOP)["d"]
    assert d.shape[0] == d.shape[1] > 1


@pytest.mark.parametrize("name", RIGHT)
def test_options_that_others_may_add_are_not(name: str) -> None:
    assert codes(TOP + RIGHT[name] + LOOP) == []
    run(TOP + RIGHT[name] + LOOP)


@pytest.fixture(autouse=True)
def bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BARS)
def test_what_a_progress_bar_goes_through_is_known(name: str) -> None:
    (found,) = findings(TOP + MADE + BARS[name])
    assert found.code == "TSR112"
    assert run(TOP + MADE + BARS[name])["d"].shape == (8, 8)


@pytest.mark.parametrize("name", FLAT)
def test_flat_outputs_in_a_progress_bar_are_left_alone(name: str) -> None:
    assert codes(TOP + MADE + FLAT[name]) == []
    run(TOP + MADE + FLAT[name])
