"""Functions that scipy's solvers call, and those that `functools.reduce` does, with what they are given."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is the oracle")
pytest.importorskip("scipy", reason="scipy is the oracle")

from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import BroadcastHazard, DirectForwardHazard

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAM = """import numpy as np
from functools import partial, reduce
from scipy import integrate, optimize
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = {y}
def part(w, X, y):
    r = X @ w - y
    return {gives}
def later(t, w):
    r = X @ w - y
    return np.full(3, np.mean(r ** 2))
def row(w, t):
    r = X @ w - y
    return np.full(3, np.mean(r ** 2))
class Fit:
    def __init__(self, X, y):
        self.X, self.y = X, y
    def objective(self, w):
        r = self.X @ w - self.y
        return np.mean(r ** 2)
    def run(self):
        return optimize.minimize(self.objective, np.zeros(3), options={{"maxiter": 2}})
def fit(X, y):
    def inner(w):
        r = X @ w - y
        return np.mean(r ** 2)
    return optimize.minimize(inner, [0.1, 0.2, 0.3], method="BFGS", options={{"maxiter": 2}})
{call}
"""
CALLS = {
    "args": ("np.mean(r ** 2)", "s = optimize.minimize(part, np.zeros(3), args=(X, y), options={'maxiter': 2})"),
    "args by place": ("np.mean(r ** 2)", "s = optimize.minimize(part, np.zeros(3), (X, y), options={'maxiter': 2})"),
    "a list to start with": ("np.mean(r ** 2)", "s = optimize.minimize(fun=part, x0=[0, 0, 0], args=(X, y), method='Nelder-Mead', options={'maxiter': 2})"),
    "a lambda": ("np.mean(r ** 2)", "s = optimize.minimize(lambda w: part(w, X, y), np.zeros(3), options={'maxiter': 2})"),
    "partial": ("np.mean(r ** 2)", "s = optimize.minimize(partial(part, X=X, y=y), np.zeros(3), options={'maxiter': 2})"),
    "residuals": ("r.ravel()[:30]", "s = optimize.least_squares(part, np.zeros(3), args=(X, y), max_nfev=2)"),
    "a root": ("np.full(3, np.mean(r ** 2))", "s = optimize.root(part, np.zeros(3), args=(X, y), method='df-sane', options={'maxfev': 2})"),
    "fsolve": ("np.full(3, np.mean(r ** 2))", "s = optimize.fsolve(part, np.zeros(3), (X, y), maxfev=2)"),
    "fmin_bfgs": ("np.mean(r ** 2)", "s = optimize.fmin_bfgs(part, np.zeros(3), None, (X, y), maxiter=2, disp=0)"),
    "a method": ("0", "s = Fit(X, y).run()"),
    "a closure": ("0", "s = fit(X, y)"),
    "solve_ivp": ("0", "s = integrate.solve_ivp(later, (0, 0.1), np.zeros(3))"),
    "odeint": ("0", "s = integrate.odeint(row, np.zeros(3), np.linspace(0, 0.1, 4))"),
}  # fmt: skip


def shown(source: str) -> list[type]:
    found = analyse(ast.parse(source), source).hazards
    return [type(each) for each in found if isinstance(each, (BroadcastHazard, DirectForwardHazard))]


@pytest.mark.parametrize("name", CALLS)
def test_what_a_solver_calls_is_followed(name: str, tmp_path: Path) -> None:
    gives, call = CALLS[name]
    wrong = PROGRAM.format(y="rng.normal(size=(30, 1))", gives=gives, call=call)
    right = PROGRAM.format(y="rng.normal(size=30)", gives=gives, call=call)
    assert shown(wrong) == [BroadcastHazard]
    assert shown(right) == []
    for source in (wrong, right):
        assert wrong_claims(tmp_path / "solved.py", source) == {}


@pytest.mark.parametrize(
    "call",
    [
        "s = optimize.minimize(part, np.zeros(3), args=(X, y), method=lambda fun, x0, args, **k: optimize.OptimizeResult(x=x0, fun=fun(np.zeros((3, 1)), *args)))",
        "s = optimize.minimize(part, start(), args=given())",
        "s = integrate.solve_ivp(later, (0, 0.1), np.zeros(3), vectorized=True, method='Radau')",
        "s = integrate.odeint(later, np.zeros(3), np.linspace(0, 0.1, 4), tfirst=True)",
    ],
)
def test_what_is_called_otherwise_is_not(call: str) -> None:
    source = PROGRAM.format(y="rng.normal(size=(30, 1))", gives="np.mean(r ** 2)", call=call)
    assert shown(source) == []


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("odeint(f, [0.1, 0.2], t)", (11, 2)),
        ("odeint(f, np.zeros(4), t, (), None)", None),
        ("odeint(f, 1.0, t)", (11, 1)),
        ("odeint(func=f, y0=np.zeros(3), t=t)", (11, 3)),
        ("odeint(lambda t, y: -y, [1.0], t, tfirst=True)", (11, 1)),
        ("odeint(f, [0.1, 0.2], t, full_output=True)[0]", None),
    ],
)
def test_odeint_gives_a_row_for_each_time(call: str, shape: tuple[int, ...] | None, tmp_path: Path) -> None:
    source = f"import numpy as np\nfrom scipy.integrate import odeint\nf = lambda y, t: -y\nt = np.linspace(0, 1, 11)\nv = {call}\n"
    assert wrong_claims(tmp_path / "odes.py", source) == {}
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}.get("v") == shape


@pytest.mark.parametrize(
    ("layers", "direct"),
    [
        ("nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)])", True),
        ("nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))", True),
        ("[nn.Linear(4, 4), nn.Linear(4, 2)]", True),
        ("nn.ModuleList([nn.Linear(4, 4) for _ in range(many())])", True),
        ("[Plain(), Plain()]", False),
    ],
)
def test_reduce_goes_through_layers(layers: str, direct: bool, tmp_path: Path) -> None:
    source = (
        "from functools import reduce\nimport torch\nfrom torch import nn\n\n\nclass Plain:\n    def forward(self, x):\n        return x\n"
        f"\n\ndef many():\n    return len(str(torch.initial_seed())) * 0 + 2\n\n\nlayers = {layers}\n"
        "v = reduce(lambda h, layer: layer.forward(h), layers, torch.randn(3, 4))\n"
    )
    assert wrong_claims(tmp_path / "reduced.py", source) == {}
    assert shown(source) == [DirectForwardHazard] * direct


MODEL = """import numpy as np
from scipy import optimize
t = np.linspace(0, 4, 25).reshape(-1, 1)
y = {y}
def model(p, t):
    return p[0] * np.exp(-p[1] * t) + p[2]
def objective(p):
    seen.append(p)
    r = model(p, t) - y
    return {gives}
seen = []
{call}
"""


@pytest.mark.parametrize(
    ("gives", "call"),
    [
        ("np.sum(r ** 2)", "optimize.minimize(objective, x0=[1.0, 1.0, 0.0], options={'maxiter': 2})"),
        (
            "np.sum(r ** 2)",
            "optimize.minimize(objective, np.ones(3), method='L-BFGS-B', jac='3-point', options={'maxiter': 2})",
        ),
        (
            "np.full(3, np.sum(r ** 2))",
            "optimize.root(objective, [1.0, 1.0, 0.0], method='df-sane', options={'maxfev': 2})",
        ),
        ("np.full(3, np.sum(r ** 2))", "optimize.least_squares(objective, np.ones(3), max_nfev=2)"),
    ],
)
def test_parameters_by_place_are_numbers(gives: str, call: str, tmp_path: Path) -> None:
    wrong = MODEL.format(y="np.exp(-t).ravel()", gives=gives, call=call)
    assert shown(wrong) == [BroadcastHazard]
    assert shown(wrong.replace(".ravel()", "")) == []
    assert wrong_claims(tmp_path / "solved.py", wrong) == {}


@pytest.mark.parametrize("call", ["optimize.least_squares(objective, np.ones(3), 'cs', max_nfev=2)", "optimize.least_squares(objective, np.ones(3), jac='cs', max_nfev=2)",
                                  "optimize.fsolve(objective, [1, 1, 0], maxfev=2)"])  # fmt: skip
def test_parameters_that_need_not_be_floats(call: str, tmp_path: Path) -> None:
    source = MODEL.format(y="np.exp(-t)", gives="np.full(3, np.sum(r ** 2))", call=call)
    scope: dict[str, object] = {}
    exec(source + "kinds = {str(p.dtype) for p in seen}\n", scope)
    assert scope["kinds"] != {"float64"}
    assert wrong_claims(tmp_path / "solved.py", source + "q = seen[0]\n") == {}
