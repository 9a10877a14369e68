"""A parameter of two axes, in a file that has matrices, may be one: its rows and sums are no vectors."""

from __future__ import annotations

import pytest
from rule_programs import codes, run

HEAD = """import numpy as np
{said}

def use(Y, mu):
    N, D = Y.shape
    c = np.ones((N, 1))
    mean = np.zeros((3, D))
    total = np.zeros((D, D))
    for i in range(N):
        {use}
    return total

use({given}, 0)
"""
# What is right of a matrix, and a mistake of an array.
USES = [
    "total += (Y[i] - mean[0]).T * (Y[i] - mean[0])", "total = total + 0.5 * (Y[i] - mean[0]).T * (Y[i] - mean[0])",
    "row = Y[i].T", "total += np.dot((Y[i] - mean[0]).T, Y[i] - mean[0])", "error = ((Y[:, 0] - c).A if 0 else Y[:, 0] - c).sum()",
    "error = np.power(np.sum(Y, 1) - c, 2).sum()", "row = np.transpose(Y[i] - mean[1])",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_of_a_matrix_it_is_right(use: str) -> None:
    for said in ("", "from scipy.sparse import csr_matrix\nassert csr_matrix is not None"):
        source = HEAD.format(said=said, use=use, given="np.matrix(np.ones((4, 2)))")
        run(source)
        assert codes(source) == []


@pytest.mark.parametrize("use", USES)
def test_of_an_array_it_is_reported(use: str) -> None:
    source = HEAD.format(said="", use=use, given="load()")
    assert codes(source) != []
