"""What scipy's filters and fits give, as scipy gives it, and the numbers that a star hands over."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest

from tensorlint.inference import scipy_functions
from tensorlint.inference.analysis import analyse

TOP = (
    "import numpy as np\nimport scipy.ndimage, scipy.optimize, scipy.signal, scipy.special, scipy.stats\n\n"
    "x, y, m = np.linspace(0, 1, 20), np.random.rand(20), np.random.rand(20, 20)\n\n\n"
    "def f(t, a, b):\n    return a * np.exp(b * t)\n\n\n"
)
LEADING = {
    "filtfilt": "[1, 0.5], [1, 0.5], ",
    "lfilter": "[1], [1, 0.5], ",
    "sosfiltfilt": "scipy.signal.butter(2, 0.5, output='sos'), ",
    "sosfilt": "scipy.signal.butter(2, 0.5, output='sos'), ",
}
TRAILING = {"savgol_filter": ", 5, 2", "gaussian_filter": ", 2", "gaussian_filter1d": ", 2", "uniform_filter": ", 3",
            "uniform_filter1d": ", 3", "median_filter": ", 3", "maximum_filter": ", 3", "minimum_filter": ", 3",
            "gaussian_laplace": ", 1", "gaussian_gradient_magnitude": ", 1", "grey_dilation": ", 3", "grey_erosion": ", 3",
            "convolve": ", np.ones((3,) * v{at}.ndim)", "correlate": ", np.ones((3,) * v{at}.ndim)", "convolve1d": ", np.ones(3)",
            "correlate1d": ", np.ones(3)"}  # fmt: skip
CODE = {
    "c, d = scipy.optimize.curve_fit(f, x, y)": {"c": (2,), "d": (2, 2)},
    "c, d = scipy.optimize.curve_fit(lambda t, k: k * t, x, y, p0=[1.0])": {"c": (1,), "d": (1, 1)},
    "c, d = scipy.optimize.curve_fit(lambda t, *k: k[0] * t + k[1], x, y, [1.0, 2.0])": {"c": (2,), "d": (2, 2)},
    "c, d = scipy.optimize.curve_fit(lambda t, *k: k[0] * t, x, y, np.ones(1))": {"c": None, "d": None},
    "c = scipy.optimize.curve_fit(f, x, y, full_output=True)[0]": {"c": None},
    "p, q = scipy.optimize.curve_fit(f, x, y)\nc = f(x, *p)\nd = y[:, None] - c": {"c": (20,), "d": (20, 20)},
    "c = np.random.rand(*np.array([2, 3]))": {"c": (2, 3)},
    "c, d = scipy.signal.lfilter([1], [1, 0.5], y, zi=[0.0])": {"c": None, "d": None},
    "model = np.poly1d(np.polyfit(x, y, 3))\nc = model(x)\nd = model(m)": {"c": (20,), "d": (20, 20)},
    "model = np.poly1d([1, 2])\nc = model.deriv()\nd = model.coef": {"c": None, "d": None},
    "c = np.polyval(np.polyfit(x, y[:, None], 2), x)": {"c": (20,)},
    "c = np.polyval(np.polyfit(x, m, 2), x)": {"c": (20,)},
    "c = y * scipy.optimize.brentq(lambda t: t - 1, 0, 2)": {"c": (20,)},
    "c = y * scipy.optimize.bisect(lambda t: np.float32(t - 1), 0, 2)": {"c": (20,)},
    "c = y * scipy.optimize.ridder(lambda t: t - 1, 0, 2, full_output=True)[0]": {"c": None},
    "import scipy.integrate\nc = np.array([scipy.integrate.quad(lambda t: t, 0, k)[0] for k in range(4)])": {"c": (4,)},
    "import scipy.integrate\nc = y * scipy.integrate.quad(lambda t: t, 0, 1, full_output=1)[0]": {"c": None},
    "k = scipy.optimize.line_search(lambda t: t @ t, lambda t: 2 * t, x, -x)[0]\nc = x + k * y": {"c": (20,)},
    "k = scipy.optimize.line_search(lambda t: t @ t, lambda t: 2 * t, x, -x)[0]\nif k is None:\n    k = m\nc = x + k * y": {
        "c": None
    },
}


def shown(code: str) -> dict[str, Any]:
    return {row.name: row.shape for row in analyse(ast.parse(code), code).bindings}


def run(code: str) -> dict[str, Any]:
    pytest.importorskip("scipy", reason="scipy is the oracle")
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, scope)
    return scope


@pytest.mark.parametrize("path", sorted(scipy_functions._KEEP | scipy_functions._FILTERS))
def test_a_filter_keeps_the_shape(path: str) -> None:
    name = path.rpartition(".")[2]
    lines = [
        f"v{at} = {path}({LEADING.get(name, '')}{given}{TRAILING.get(name, '').replace('v{at}', given)})"
        for at, given in enumerate(("y", "m"))
    ]
    code = TOP + "\n".join(lines) + "\n"
    assert (shown(code)["v0"], shown(code)["v1"]) == ((20,), (20, 20))
    scope = run(code)
    assert (scope["v0"].shape, scope["v1"].shape) == ((20,), (20, 20))


@pytest.mark.parametrize("code", CODE)
def test_a_fit_has_a_number_for_each_parameter(code: str) -> None:
    found, scope = shown(f"{TOP}{code}\n"), run(f"{TOP}{code}\n")
    for name, shape in CODE[code].items():
        assert found.get(name) == shape
        assert shape is None or scope[name].shape == shape
