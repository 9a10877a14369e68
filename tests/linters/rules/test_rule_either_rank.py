"""A transpose in a loop that goes through vectors and matrices is for the matrices; one that meets vectors alone is reported."""

from __future__ import annotations

import pytest
from rule_programs import findings

# `{}` is what is done with each `a`.
OVER_BOTH = [
    "for shape in [(5,), (3, 4), (2, 3, 4)]:\n    a = np.zeros(shape)\n    {}\n",
    "for a in (np.zeros((3, 4)), np.zeros(5)):\n    {}\n",
    "for a in (np.zeros(5), np.zeros((3, 4))):\n    {}\n",
    "for n in (1, 2, 3):\n    a = np.zeros((4,) * n)\n    {}\n",
    "for n in range(1, 4):\n    a = np.zeros((4,) * n)\n    {}\n",
    "for a in (np.zeros(5), load('other')):\n    {}\n",  # which may be a matrix
    "for part in [0, slice(2)]:\n    a = np.zeros((3, 4))[part]\n    {}\n",
    "for shape in [(5,), (3, 4)]:\n    a = np.arange(np.prod(shape)).reshape(shape)[picked]\n    for k in range(3):\n        {}\n",
    "def of_all(a):\n    {}\nfor a in (np.zeros(5), np.zeros((3, 4))):\n    of_all(a)\n",
    "for name, a in [('row', np.zeros(5)), ('all', np.zeros((3, 4)))]:\n    {}\n",
]
OF_VECTORS = [
    "for shape in [(5,), (3,), (2,)]:\n    a = np.zeros(shape)\n    {}\n",
    "for a in (np.zeros(3), np.zeros(5)):\n    {}\n",
    "for i in range(3):\n    a = np.zeros(4)\n    {}\n",
    "for name in ('row', 'all'):\n    a = np.zeros(4)\n    {}\n",
    "a = np.zeros(4)\nfor i in range(3):\n    if i == 0:\n        {}\n",
]
USES = {
    "b = a.T": "TSR101",
    "b = a.transpose()": "TSR101",
    "b = np.transpose(a)": "TSR101",
    "b = np.dot(a.T, a)": "TSR102",
    "b = a @ a.T": "TSR102",
}
HEAD = "import numpy as np\nfrom elsewhere import load, picked\n"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("loop", OVER_BOTH)
def test_a_transpose_for_either_rank_is_not_reported(loop: str, use: str) -> None:
    assert findings(HEAD + loop.format(use)) == []


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("loop", OF_VECTORS)
def test_a_transpose_of_vectors_alone_is(loop: str, use: str) -> None:
    (found,) = findings(HEAD + loop.format(use))
    assert found.code == USES[use]
    assert "of a rank-1 array does nothing" in found.message
