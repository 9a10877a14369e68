"""scipy's products, densities, solvers and interpolators, and numpy's methods of universal functions: as the libraries give them.

Each expression is run: what is known of it has to be so, and of the first list it has to be known.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest

from tensorlint.inference.analysis import analyse

TOP = """import numpy as np
import scipy
from scipy import fft, interpolate, linalg, ndimage, optimize, signal, spatial, special, stats
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import norm, multivariate_normal

rng = np.random.default_rng(0)
x, y, m = np.linspace(0.1, 0.9, 20), np.random.rand(20), np.random.rand(20, 4)
spd, stack = np.eye(4) * 2 + 0.1, np.stack([np.eye(4), np.eye(4)])
four, seven = np.ones(4), np.random.rand(7)


def square(p):
    return ((p - 1) ** 2).sum()


"""
KNOWN = """
linalg.solve(spd, four)
linalg.solve(spd, four[:, None], assume_a="pos")
linalg.solve(spd, [1.0, 2.0, 3.0, 4.0])
linalg.cho_solve(linalg.cho_factor(spd), four)
linalg.lu_solve(linalg.lu_factor(spd), m.T)
linalg.solve_triangular(linalg.cholesky(spd, lower=True), four, lower=True)
linalg.cholesky(spd)
linalg.inv(spd)
linalg.expm(spd)
linalg.eigh(spd)[0]
linalg.eigh(spd)[1]
linalg.eigvalsh(spd)
linalg.svd(m)[0]
linalg.svd(m, full_matrices=False)[0]
linalg.svd(m, compute_uv=False)
linalg.qr(m)[0]
linalg.qr(m, mode="economic")[0]
linalg.pinv(m)
linalg.norm(m, axis=1)
linalg.norm(m, axis=1, keepdims=True)
linalg.lstsq(m, y)[0]
linalg.lstsq(m, y[:, None])[0]
linalg.block_diag(spd, m)
linalg.toeplitz(four)
linalg.toeplitz(four, seven)
cdist(m, m)
cdist(m, m[:1])
cdist(m, m[:3], "cosine")
cdist(m, m[:3], metric="minkowski", p=3)
spatial.distance_matrix(m, m[:5])
pdist(m)
squareform(pdist(m))
spatial.KDTree(m).query(m)[0]
spatial.cKDTree(m).query(m, k=3)[1]
spatial.KDTree(m).query(m[0], 2)[0]
stats.norm.pdf(x)
norm.pdf(x, 0, 1)
norm.logpdf(x[:, None], loc=y, scale=1.0)
norm.cdf(m, loc=four)
norm.ppf(x)
norm(0, 1).pdf(x)
norm(loc=y, scale=0.5).logpdf(x)
norm.rvs(size=10)
norm.rvs(0, 1, 10)
norm(0, 1).rvs(size=(3, 1))
norm.rvs(size=y.shape)
stats.beta.pdf(x, 2, 2)
stats.gamma(2.0).sf(x)
stats.t.ppf(x, df=5)
stats.poisson.pmf(np.arange(5), 2)
stats.poisson.rvs(2, size=5)
stats.poisson.rvs(2, 0, 5)
stats.bernoulli.rvs(0.5, size=(2, 3))
multivariate_normal.pdf(m, np.zeros(4), np.eye(4))
multivariate_normal(np.zeros(4), np.eye(4)).logpdf(m)
multivariate_normal.rvs(np.zeros(4), np.eye(4), size=5)
multivariate_normal(mean=np.zeros(4)).rvs(6)
stats.gaussian_kde(x)(y)
stats.gaussian_kde(x).evaluate(seven)
stats.gaussian_kde(m.T)(m.T)
stats.rankdata(x)
stats.linregress(x, y).slope * x
stats.linregress(x, y)[1] + x
stats.norm.fit(y)[0] * x
special.logsumexp(m, axis=1)
special.logsumexp(m, axis=1, keepdims=True)
special.xlogy(x, y)
special.rel_entr(x[:, None], four)
special.ndtri(x)
fft.fft(x)
fft.rfft(m, axis=0)
fft.ifft2(spd)
fft.dct(x)
fft.fftfreq(20)
interpolate.interp1d(x, y)(x)
interpolate.interp1d(x, m.T)(x[:5])
interpolate.CubicSpline(x, y)(seven)
interpolate.CubicSpline(x, m)(seven)
interpolate.PchipInterpolator(x, y)(m)
interpolate.UnivariateSpline(x, y, s=0)(seven)
interpolate.griddata(m[:, :2], y, m[:6, :2])
optimize.minimize(square, np.zeros(3)).x
optimize.minimize(square, [0.0, 1.0], method="BFGS").x
optimize.minimize(square, 0.5).x
optimize.least_squares(lambda p: p - 1, np.zeros(3)).x
optimize.root(lambda p: p - 1, np.zeros(3)).x
optimize.fsolve(lambda p: p - 1, np.zeros(3))
optimize.fsolve(lambda p: p - 1, 0.5)
optimize.nnls(m, y)[0]
optimize.linear_sum_assignment(m)[0]
optimize.linear_sum_assignment(spd)[1]
signal.convolve(x, np.ones(3), mode="same")
signal.fftconvolve(x, np.ones(3))
signal.correlate(x, y, "full")
signal.convolve2d(m, np.ones((3, 2)), mode="same")
signal.hilbert(x)
signal.resample(m, 5)
ndimage.sobel(m)
ndimage.convolve(m, np.ones((3, 3)))
ndimage.maximum_filter(m, size=3)
ndimage.distance_transform_edt(m > 0.5)
ndimage.binary_fill_holes(m > 0.5)
np.polyfit(x, y, 1)[0] * x
np.linalg.eig(spd)[0][0] * x
np.unwrap(x)
np.ediff1d(x)
np.r_[x, y]
np.r_[0.0, x, 1]
np.insert(m, 0, 1, axis=1)
np.insert(m, 0, y, axis=1)
np.insert(x, 2, 5.0)
np.delete(x, 0)
np.piecewise(x, [x < 0.5, x >= 0.5], [0.0, 1.0])
np.resize(x, (3, 4))
np.maximum.accumulate(x)
np.minimum.accumulate(m, axis=1)
np.add.reduce(m)
np.add.reduce(m, axis=1, keepdims=True)
np.add.outer(x, four)
np.subtract.outer(m, four)
np.mgrid[0:3, 0:4]
np.mgrid[2:20, 0:4][1]
np.ogrid[0:3, 0:4][0]
np.lib.stride_tricks.sliding_window_view(x, 3)
np.lib.stride_tricks.sliding_window_view(m, (2, 4))
np.polynomial.polynomial.polyvander(x, 2)
np.linalg.multi_dot([m.T, m, four])
np.linalg.multi_dot([m.T, m, m.T])
""".strip().splitlines()
# What gives another shape, a number, a pair, or nothing: known or not, but never wrong.
NOT_WRONG = """
linalg.solve(stack, four)
linalg.solve(stack, m.T)
linalg.expm(stack)
linalg.inv(stack)
linalg.eigh(spd, eigvals_only=True)
linalg.eigh(spd, subset_by_index=[0, 1])[0]
linalg.eigh(spd, np.eye(4))[0]
linalg.svd(m, False)[0]
linalg.qr(m, mode="r")[0]
linalg.qr(m, pivoting=True)[0]
linalg.pinv(m, return_rank=True)[0]
linalg.norm(m)
linalg.det(spd)
linalg.block_diag(spd, four)
linalg.toeplitz(m)
linalg.lstsq(m, y)[1]
cdist(m, m, out=np.zeros((20, 20)))
pdist(m[:1])
squareform(spd * 0)
spatial.KDTree(m).query(m[0])[0]
spatial.KDTree(m).query(m, k=[1])[0]
spatial.KDTree(m).query(m, k=[1, 2])[0]
norm.pdf(0.5)
norm.pdf(x, m[:, 0])
norm.fit(x, floc=0)[0]
norm.rvs()
norm.rvs(x, 1)
norm(x, 1).rvs()
norm(0, 1).rvs()
norm.rvs(size=())
norm.interval(0.9)[0]
norm.stats(moments="mv")[0]
stats.uniform.rvs(0, 1, (2, 2), 5)
stats.poisson.rvs(x)
multivariate_normal.pdf(m[:1], np.zeros(4), np.eye(4))
multivariate_normal.pdf(four, np.zeros(4), np.eye(4))
multivariate_normal.pdf(x, 0.0, 1.0)
multivariate_normal.pdf(x[:, None], 0.0, 1.0)
multivariate_normal.rvs(np.zeros(4), np.eye(4))
multivariate_normal.rvs(np.zeros(4), np.eye(4), 1)
multivariate_normal.rvs([0.0], [[1.0]], size=5)
multivariate_normal.rvs(np.zeros(4), np.eye(4), size=(2, 3))
stats.gaussian_kde(m.T)(four)
stats.gaussian_kde(x)(0.5)
stats.gaussian_kde(x).resample(5)
stats.rankdata(m)
stats.rankdata(m, axis=1)
stats.linregress(x, y).intercept_stderr
special.logsumexp(m)
special.logsumexp(m, 1)
special.logsumexp(m, 1, None, True)
special.logsumexp(m, axis=1, return_sign=True)[0]
special.xlogy(2.0, 3.0)
fft.fft(x, 8)
fft.fft(m, 8, 0)
fft.fft2(spd, s=(2, 2))
fft.rfft2(spd)
fft.dct(x, 2, 8)
fft.dct(x, n=8)
fft.dctn(m)
interpolate.interp1d(x, m, axis=0)(y)
interpolate.interp1d(x, m, 1, 0)(y)
interpolate.interp1d(x, y)(0.5)
interpolate.interp1d(x, y)([0.2, 0.3])
interpolate.CubicSpline(x, y)(0.5)
interpolate.CubicSpline(x, m.T, axis=1)(seven)
interpolate.CubicSpline(x, y)(seven, 1)
interpolate.CubicSpline(x, y).derivative()(seven)
interpolate.UnivariateSpline(x, y).get_coeffs()
interpolate.make_interp_spline(x, y)(seven)
interpolate.griddata(x, y, seven)
interpolate.griddata(m[:, :2], y, (x, x))
interpolate.griddata(m[:, :2], m, m[:6, :2])
optimize.minimize(square, np.zeros(3)).fun
optimize.minimize(square, np.zeros(3)).jac
optimize.minimize(square, np.zeros((1, 3))).x
optimize.minimize(square, np.zeros(3), method=lambda fun, x0, args=(), **kw: optimize.OptimizeResult(x=np.zeros(9))).x
optimize.fsolve(lambda p: p - 1, np.zeros(3), full_output=True)[0]
optimize.root(lambda p: p - 1, 0.5).x
optimize.root(lambda p: p - 1, np.zeros((2, 2))).x
optimize.linear_sum_assignment(m, maximize=True)[0]
signal.convolve(x, np.ones(3), mode="valid")
signal.correlate(np.ones(3), x, mode="same")
signal.fftconvolve(m, np.ones((3, 3)), axes=0)
signal.resample(x, 5, x)[0]
signal.hilbert(x, 30)
signal.hilbert(m, N=30, axis=0)
signal.find_peaks(x)[0]
ndimage.distance_transform_edt(m > 0.5, return_indices=True)[0]
ndimage.distance_transform_edt(m > 0.5, None, False, True)
ndimage.sobel(m, 0, np.zeros((20, 4)))
np.polyfit(x, y, 1).astype(object)[0]
np.polyfit(x, m, 1)[0]
np.ediff1d(x, to_end=5)
np.insert(x, [1, 2], 5.0)
np.insert(m, 0, 1)
np.insert(m, 1, m[:2], axis=0)
np.insert(m, 1, m[:, :1], axis=1)
np.delete(x, [0, 1])
np.delete(m, 0)
np.resize(x, 5)
np.resize(x, (2, -1))
np.add.reduce(x)
np.add.reduce(m, axis=(0, 1))
np.add.reduce(m, None)
np.add.outer(2, 3)
np.mgrid[0:3]
np.mgrid[0:3,]
np.mgrid[0:1:5j, 0:4]
np.mgrid[0:1.5, 0:4]
np.ogrid[0:3]
np.mgrid[3:0, 0:4]
np.r_["0,2", x, y]
np.r_[0:5, x]
np.r_[m, m]
np.r_["c", x, y]
np.lib.stride_tricks.sliding_window_view(m, 3, axis=0)
np.linalg.multi_dot([four, spd, four])
""".strip().splitlines()


def shown(expression: str) -> Any:
    code = f"{TOP}v = {expression}\n"
    return next((row.shape for row in analyse(ast.parse(code), code).bindings if row.name == "v"), None)


def given(expression: str) -> Any:
    pytest.importorskip("scipy", reason="scipy is the oracle")
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(TOP, scope)
        return eval(expression, scope)


@pytest.mark.parametrize("expression", KNOWN)
def test_what_scipy_and_numpy_give(expression: str) -> None:
    found = shown(expression)
    assert found is not None
    assert tuple(found) == given(expression).shape


@pytest.mark.parametrize("expression", NOT_WRONG)
def test_other_forms_are_not_claimed_wrongly(expression: str) -> None:
    found = shown(expression)
    try:
        value = given(expression)
    except (TypeError, ValueError):
        assert found is None, "a claim of what is refused"
        return
    if found is None:
        return
    shape = getattr(value, "shape", None)
    assert shape is not None, "a claim of what is no array"
    assert len(found) == len(shape)
    assert all(not isinstance(size, int) or size == real for size, real in zip(found, shape, strict=True))


def test_objects_that_change_are_forgotten() -> None:
    code = TOP + (
        "f = interpolate.interp1d(x, y)\nf.y = m\na = f(x)\n"
        "res = optimize.minimize(square, np.zeros(3))\nb = res.x\nres.x = x\nc = res.x\n"
    )
    found = {row.name: row.shape for row in analyse(ast.parse(code), code).bindings}
    assert (found.get("a"), found["b"], found["c"]) == (None, (3,), (20,))


def test_numbers_of_a_table_are_multiplied_with_its_columns() -> None:
    code = (
        "import numpy as np\nimport pandas as pd\nfrom scipy import stats\n\ntable = pd.read_csv('a.csv')\n"
        "x, y = table['x'].to_numpy(), table[['y']].to_numpy()\nslope, start = np.polyfit(x, y.ravel(), 1)\n"
        "line = slope * x + start\nfit = stats.linregress(x, y.ravel())\nsame = fit.slope * x\nfirst = x[0]\n"
    )
    found = {row.name: row.shape for row in analyse(ast.parse(code), code).bindings}
    assert len(found["line"]) == len(found["same"]) == 1
    assert "first" not in found  # of a table, it may be anything


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "complex128", "bool"])
def test_other_types_are_not_claimed_wrongly(kind: str) -> None:
    pytest.importorskip("scipy", reason="scipy is the oracle")
    top = (
        f"{TOP}x, y, m = (10 * x).astype('{kind}'), (10 * y).astype('{kind}'), (10 * m).astype('{kind}')\n"
        f"spd, four, seven = (10 * spd).astype('{kind}'), four.astype('{kind}'), seven.astype('{kind}')\n"
    )
    expressions = [*KNOWN, *NOT_WRONG]
    code = top + "".join(f"v{at} = {expression}\n" for at, expression in enumerate(expressions))
    rows = {row.name: row for row in analyse(ast.parse(code), code).bindings}
    scope: dict[str, Any] = {}
    compared, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(top, scope)
        for at, expression in enumerate(expressions):
            row = rows.get(f"v{at}")
            try:
                value = eval(expression, scope)
            except Exception:
                continue
            if row is None or row.shape is None:
                continue
            compared += 1
            real = getattr(value, "shape", None)
            sizes = real is not None and len(real) == len(row.shape)
            sizes = sizes and all(not isinstance(a, int) or a == b for a, b in zip(row.shape, real, strict=True))
            if not sizes or row.dtype not in (None, str(getattr(value, "dtype", None))):
                wrong.append((expression, row.shape, row.dtype, value))
    assert compared > 40
    assert wrong == []
