"""Gradient checks: `gradcheck` for functions and modules, `opcheck` for custom operators, `check_gradients_flow`.

Importing this package imports no torch; the functions do when they are called.
"""

from __future__ import annotations

from pytest_tensorcheck.gradients.check import check_gradients, gradcheck
from pytest_tensorcheck.gradients.flow import GradientFlow, check_gradients_flow
from pytest_tensorcheck.gradients.operators import OpcheckReport, check_operator, opcheck
from pytest_tensorcheck.gradients.verdicts import (
    GradcheckError,
    GradcheckWarning,
    GradientFlowError,
    GradientReport,
    OpcheckError,
    Problem,
    Verdict,
    WrongElement,
)

__all__ = [
    "GradcheckError",
    "GradcheckWarning",
    "GradientFlow",
    "GradientFlowError",
    "GradientReport",
    "OpcheckError",
    "OpcheckReport",
    "Problem",
    "Verdict",
    "WrongElement",
    "check_gradients",
    "check_gradients_flow",
    "check_operator",
    "gradcheck",
    "opcheck",
]
