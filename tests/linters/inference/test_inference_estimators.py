"""What is said of scikit-learn's estimators holds of the installed library, for every class of the tables."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is the oracle")

from sklearn.utils import all_estimators

from tensorlint.inference import estimators, splitters
from tensorlint.inference.analysis import analyse
from tensorlint.inference.hazards import RankOneVectorHazard

CLASSES = {name: cls for name, cls in all_estimators() if name in estimators._ESTIMATORS}
TOP = "import numpy as np\n"
DATA = """
X = np.random.rand(40, 2)
column = np.random.rand(40, 1)
new = np.random.rand(7, 2)
y = np.random.rand(40) > 0.5
"""
USES = {
    "a vector of targets": "p = m.fit(X, y).predict(new)",
    "a column of targets": "p = m.fit(X, y[:, None]).predict(new)",
    "two columns of targets": "p = m.fit(X, np.stack([y, ~y], 1)).predict(new)",
    "numbers in a column": "p = m.fit(X, np.random.rand(40, 1)).predict(new)",
    "in a pipeline": "from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\n"
    "m = make_pipeline(StandardScaler(), m)\np = m.fit(X, y).predict(new)\nq = m.fit(X, y[:, None]).predict(new)",
    "in a named pipeline": "from sklearn.pipeline import Pipeline\nfrom sklearn.decomposition import PCA\n"
    "m = Pipeline([('parts', PCA(1)), ('last', m)])\nm.fit(X, y)\np = m.predict(new)\nm.set_params(last=None)",
    "its own rows": "p = m.fit(X, y).predict(X)",
    "with a deviation": "p = m.fit(X, y).predict(new, return_std=True)",
    "scaled": "p = m.fit_transform(X)\nq = m.transform(new)\nr = m.inverse_transform(q)",
}

VECTORS = (
    "m.fit(column[:, 0], y)",
    "m.fit(column, y).score(column[:, 0], y)",
    "m.fit(column, y)\nm.predict(column[:, 0])",
    "m.fit(column, y)\nm.transform(column[:, 0])",
)


def _public(module: str) -> Iterator[str]:
    """`sklearn.linear_model`, then `sklearn.linear_model._base`: the shortest name that has the class is the public one."""
    parts = module.split(".")
    yield from (".".join(parts[: end + 1]) for end in range(1, len(parts)))


def source_of(name: str, use: str) -> str:
    module = next(part for part in _public(CLASSES[name].__module__) if hasattr(import_module(part), name))
    made = f"from {module} import {name}\n"
    return TOP + made + DATA + f"m = {name}()\n" + use + "\n"


def run(source: str) -> dict[str, Any] | None:
    """The names of the program after it ran, or None when the library refuses it."""
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, scope)
        except (ValueError, TypeError, AttributeError, IndexError):
            return None
    return scope


def test_every_class_of_the_tables_is_in_the_library() -> None:
    assert set(CLASSES) == set(estimators._ESTIMATORS)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_no_claimed_shape_is_wrong(name: str) -> None:
    for title, use in USES.items():
        source = source_of(name, use)
        scope = run(source)
        if scope is None:
            continue
        for row in analyse(ast.parse(source), source).bindings:
            if row.name in "pqr" and row.shape is not None:
                assert row.shape == getattr(scope[row.name], "shape", None), (title, row.name)


@pytest.mark.parametrize("name", sorted(splitters.SPLITTERS))
def test_what_a_splitter_gives_are_positions(name: str) -> None:
    given = {"LeavePOut": "p=39", "LeavePGroupsOut": "n_groups=2", "PredefinedSplit": "np.arange(40) % 4"}.get(name, "")
    source = (
        f"{TOP}from sklearn.model_selection import {name}\n{DATA}groups = np.arange(40) % 8\n"
        f"for tr, va in {name}({given}).split({'' if name == 'PredefinedSplit' else 'X, y, groups'}):\n"
        "    a, b, c = X[tr], y[va], column[tr]\n    both = a * c\n"
    )
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    scope = run(source)
    assert scope is not None
    for each in ("tr", "va"):
        assert rows[each].shape == ("?",)
        assert rows[each].dtype == "int64"
        assert rows[each].strides in ((1,), None)
        assert (scope[each].ndim, str(scope[each].dtype), scope[each].strides) == (1, "int64", (8,))
    tr, va = "tr.shape[0]", "va.shape[0]"
    assert [rows[each].shape for each in ("a", "b", "c", "both")] == [(tr, 2), (va,), (tr, 1), (tr, 2)]


@pytest.mark.parametrize(
    ("made", "targets", "shape"),
    [
        ("Lasso()", "column", (7,)),
        ("Lasso()", "np.random.rand(40, 3)", (7, 3)),
        ("LinearRegression()", "column", (7, 1)),
        ("make_pipeline(StandardScaler(), LinearRegression())", "column", (7, 1)),
        ("make_pipeline(StandardScaler(), LinearRegression())", "column[:, 0]", (7,)),
        ("Ridge()", "column", None),
        ("AdaBoostRegressor()", "column", (7,)),
        ("RANSACRegressor()", "column", (7, 1)),
        ("GridSearchCV(LinearRegression(), {'fit_intercept': [True, False]})", "column", (7, 1)),
        ("GridSearchCV(Lasso(), {'alpha': [0.1, 1]})", "column", (7,)),
        ("GridSearchCV(make_pipeline(StandardScaler(), Lasso()), {'lasso': [LinearRegression()]})", "column", None),
    ],
)
def test_what_is_predicted_is_known(made: str, targets: str, shape: tuple[int, ...] | None) -> None:
    top = (
        "from sklearn.ensemble import AdaBoostRegressor\nfrom sklearn.model_selection import GridSearchCV\n"
        "from sklearn.linear_model import Lasso, LinearRegression, RANSACRegressor, Ridge\n"
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\n"
    )
    source = f"{TOP}{top}{DATA}p = {made}.fit(X, {targets}).predict(new)\n"
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    assert (rows["p"].shape if "p" in rows else None) == shape
    scope = run(source)
    assert scope is not None
    assert shape is None or scope["p"].shape == shape


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("p = cross_val_predict(LinearRegression(), X, column)", {"p": (40, 1)}),
        ("p = cross_val_predict(estimator=Lasso(), X=X, y=column, cv=3)", {"p": (40,)}),
        ("p = cross_val_predict(Lasso(), X, y)", {"p": (40,)}),
        ("p = cross_val_predict(LogisticRegression(), X, y, method='predict_proba')", {"p": None}),
        ("p, q = BayesianRidge().fit(X, column).predict(new, return_std=True)", {"p": (7,), "q": (7,)}),
        ("p, q = GaussianProcessRegressor().fit(X, y).predict(new, return_std=True)", {"p": (7,), "q": (7,)}),
        ("p, q = GaussianProcessRegressor().fit(X, y).predict(new, return_cov=True)", {"p": None, "q": None}),
        ("m = LinearRegression()\nm.fit(X, y)\nGridSearchCV(m, {}).fit(X, column)\np = m.predict(new)", {"p": (7,)}),
    ],
)
def test_what_a_search_and_a_deviation_give(code: str, shapes: dict[str, tuple[int, ...] | None]) -> None:
    top = (
        "from sklearn.gaussian_process import GaussianProcessRegressor\n"
        "from sklearn.linear_model import BayesianRidge, Lasso, LinearRegression, LogisticRegression\n"
        "from sklearn.model_selection import GridSearchCV, cross_val_predict\n"
    )
    source = f"{TOP}{top}{DATA}{code}\n"
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    scope = run(source)
    assert scope is not None
    for name, shape in shapes.items():
        assert (rows[name].shape if name in rows else None) == shape
        assert shape is None or scope[name].shape == shape


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_vector_that_is_reported_is_refused(name: str) -> None:
    for use in VECTORS:
        source = source_of(name, use)
        if any(isinstance(each, RankOneVectorHazard) for each in analyse(ast.parse(source), source).hazards):
            assert run(source) is None, use


@pytest.mark.parametrize("name", ["LinearRegression", "StandardScaler", "KMeans"])
def test_a_vector_is_reported(name: str) -> None:
    source = source_of(name, "m.fit(column[:, 0], y)")
    assert any(isinstance(each, RankOneVectorHazard) for each in analyse(ast.parse(source), source).hazards)
