"""What scikit-learn parts at random: the places of items are others in each run, the labels among them often the same."""

from __future__ import annotations

import pytest
from fingerprint_programs import codes

TOP = """\
import numpy as np
from datasets import Dataset
from sklearn.model_selection import train_test_split

big = Dataset.from_dict({"n": list(range(40)), "y": [0, 1] * 20})
"""
MOVING = {
    "a range": "train, test = train_test_split(range(40), test_size=0.2)\nout = big.select(train).map(lambda r: {'m': r['n']})\n",
    "a list": "train, test = train_test_split(list(range(len(big))))\nout = big.select(test).map(lambda r: {'m': r['n']})\n",
    "an array": "train, test = train_test_split(np.arange(40), random_state=None)\nout = big.select(train).map(lambda r: {'m': r['n']})\n",
}
STAYING = {
    "with a seed": "train, test = train_test_split(range(40), random_state=3)\nout = big.select(train).map(lambda r: {'m': r['n']})\n",
    "after a seed": "np.random.seed(3)\ntrain, test = train_test_split(range(40))\nout = big.select(train).map(lambda r: {'m': r['n']})\n",
    "in their order": "train, test = train_test_split(range(40), shuffle=False)\nout = big.select(train).map(lambda r: {'m': r['n']})\n",
    "how many there are": "train, test = train_test_split(range(40))\nn = len(train)\nout = big.map(lambda r: {'m': n})\n",
    "the labels": "train, test = train_test_split(big['y'])\nlabels = sorted(set(train))\nout = big.map(lambda r: {'m': labels[0]})\n",
}


@pytest.mark.parametrize("name", MOVING)
def test_places_that_move(name: str) -> None:
    assert codes(TOP + MOVING[name]) == ["TSR403"]


@pytest.mark.parametrize("name", STAYING)
def test_what_stays(name: str) -> None:
    assert codes(TOP + STAYING[name]) == []
