"""What is said of scikit-learn's estimators holds of the installed library, for every class of the tables."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is the oracle")

from sklearn.utils import all_estimators
from test_inference_adversaries import wrong_claims

from tensorlint.inference import estimators, fitted_estimators, splitters
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
    "lists": "p = m.fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]).predict([[1.5], [2.5], [3.5]])",
    "lists to scale": "p = m.fit_transform([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])",
    "scaled": "p = m.fit_transform(X)\nq = m.transform(new)\nr = m.inverse_transform(q)",
}

VECTORS = (
    "m.fit(column[:, 0], y)",
    "m.fit(column, y).score(column[:, 0], y)",
    "m.fit(column, y)\nm.predict(column[:, 0])",
    "m.fit(column, y)\nm.transform(column[:, 0])",
    "m.fit([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])",
    "m.fit(column, y)\nm.predict([0.5])",
)


@pytest.fixture(scope="module", autouse=True)
def _small_forests() -> Iterator[None]:
    """Three trees where the library would grow a hundred: the programs and the shapes are the same."""
    with pytest.MonkeyPatch.context() as patch:
        for init in {cls.__init__ for cls in CLASSES.values() if isinstance(cls.__init__, FunctionType)}:
            defaults = init.__defaults__ or ()
            names = init.__code__.co_varnames[: init.__code__.co_argcount][-len(defaults) :] if defaults else ()
            given = [3 if name == "n_estimators" else value for name, value in zip(names, defaults, strict=True)]
            patch.setattr(init, "__defaults__", tuple(given))
            if "n_estimators" in (init.__kwdefaults__ or {}):
                patch.setattr(init, "__kwdefaults__", init.__kwdefaults__ | {"n_estimators": 3})
        yield


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


def compare(source: str, shapes: dict[str, tuple[int | str, ...] | None]) -> None:
    """The shapes under the names are known so, `?` for a size that nobody knows, and the libraries give them."""
    rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    scope = run(source)
    assert scope is not None
    for name, shape in shapes.items():
        assert (rows[name].shape if name in rows else None) == shape
        real = getattr(scope[name], "shape", ())
        assert shape is None or all(size in ("?", there) for size, there in zip(shape, real, strict=True))


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
                shape = getattr(scope[row.name], "shape", ())
                assert len(row.shape) == len(shape), (title, row.name)
                assert all(x in (y, "?") for x, y in zip(row.shape, shape, strict=True)), (title, row.name)


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
    compare(f"{TOP}{top}{DATA}{code}\n", shapes)


TARGETS = {
    "two classes": "y",
    "three classes": "np.arange(40) % 3",
    "a column of two": "y[:, None]",
    "numbers": "np.random.rand(40) + 0.1",
    "a column of numbers": "column + 0.1",
    "columns of numbers": "np.random.rand(40, 3)",
    "columns of classes": "np.stack([y, ~y], 1)",
}
LEARNED = sorted(
    {"coef_", "intercept_", "feature_importances_", "support_vectors_", "components_", "cluster_centers_"}
    | {name for names, _ in fitted_estimators._PER_FEATURE.values() for name in names}
    | fitted_estimators._PER_COMPONENT
    | set(fitted_estimators._PER_ROW.values())
)
SCORES = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "transform",
    "kneighbors",
)
QUICK = {
    "HistGradientBoostingClassifier": "max_iter=2",
    "LogisticRegressionCV": "Cs=2, cv=2",
    "GaussianProcessRegressor": "optimizer=None",
}
SETTINGS = {
    "PCA": ("n_components=1",),
    "KMeans": ("n_clusters=3", "3"),
    "GaussianMixture": ("2",),
    "StandardScaler": ("with_std=False, with_mean=False",),
    "RobustScaler": ("with_centering=False",),
    "LinearRegression": ("fit_intercept=False",),
    "Lasso": ("fit_intercept=False",),
    "LogisticRegression": ("fit_intercept=False",),
    "SVC": ("probability=True, kernel='linear'",),
    "NearestNeighbors": ("2",),
    "KNeighborsClassifier": ("n_neighbors=1",),
}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_what_a_fitted_estimator_has_is_not_claimed_wrongly(name: str) -> None:
    parts = [*(f"m.{each}" for each in LEARNED), *(f"m.{each}(new)" for each in SCORES)]
    lines = "\n".join(f"v{at} = {part}" for at, part in enumerate(parts))
    for given in (QUICK.get(name, ""), *SETTINGS.get(name, ())):
        for title, targets in TARGETS.items():
            fit = source_of(name, f"m.fit(X, {targets})").replace(f"{name}()", f"{name}({given})")
            scope = run(fit)
            if scope is None:
                continue
            source = fit + lines + "\n"
            rows = {row.name: row for row in analyse(ast.parse(source), source).bindings}
            for at, part in enumerate(parts):
                row = rows.get(f"v{at}")
                if row is None or row.shape is None:
                    continue
                try:
                    real = eval(part, scope)
                except AttributeError:
                    continue  # the program ends there
                shape = getattr(real, "shape", ())
                assert len(row.shape) == len(shape), (title, given, part)
                for claimed, size in zip(row.shape, shape, strict=True):
                    assert claimed in (size, "?") or claimed == f"v{at}.shape[0]", (title, given, part)


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("v = LinearRegression().fit(X, y).coef_", {"v": (2,)}),
        ("v = LinearRegression().fit(X, column).coef_", {"v": (1, 2)}),
        ("v = Lasso().fit(X, y).coef_\nw = Lasso().fit(X, y).intercept_", {"v": (2,), "w": ()}),
        ("m = LogisticRegression().fit(X, y)\nv, w = m.coef_, m.intercept_", {"v": (1, 2), "w": (1,)}),
        (
            "m = LogisticRegression().fit(X, y)\nv, w = m.predict_proba(new), m.decision_function(new)",
            {"v": (7, 2), "w": (7,)},
        ),
        (
            "m = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)\nm.score(X, y)\nv = m.predict_proba(new)",
            {"v": (7, 2)},
        ),
        (
            "m = GridSearchCV(LinearRegression(), {'fit_intercept': [False]}).fit(X, column)\nv = m.best_estimator_.coef_",
            {"v": (1, 2)},
        ),
        (
            "m = GridSearchCV(LinearRegression(), {'fit_intercept': [False]}).fit(X, column)\nv = m.best_estimator_.intercept_",
            {"v": None},
        ),
        (
            "d, i = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(new)\nv = y[i]",
            {"d": (7, 1), "i": (7, 1), "v": (7, 1)},
        ),
        ("i = NearestNeighbors().fit(X).kneighbors(new, 3, return_distance=False)", {"i": (7, 3)}),
        ("m = StandardScaler().fit(X)\nv = (y - m.mean_[0]) / m.scale_[-1]", {"v": (40,)}),
        ("m = LinearRegression().fit(X, y)\nv = m.coef_[0] * X[:, 0] + m.coef_[1] * X[:, 1]", {"v": (40,)}),
        ("m = PCA(2).fit(X)\nv = y * m.explained_variance_ratio_[0]", {"v": (40,)}),
        ("p = LogisticRegression().fit(X, y).predict_proba(X)\nv = y - p[0, 1]", {"v": (40,)}),
        ("v = StandardScaler().fit(X).mean_\nw = MinMaxScaler().fit(X).data_range_", {"v": (2,), "w": (2,)}),
        ("m = KMeans(3).fit(X)\nv, w = m.labels_, m.cluster_centers_", {"v": (40,), "w": (3, 2)}),
        ("m = PCA(1)\nv = m.fit_transform(X)\nw = m.components_", {"v": (40, 1), "w": (1, 2)}),
        ("v = LabelEncoder().fit_transform(y)\nw = LabelBinarizer().fit_transform(y)", {"v": (40,), "w": (40, 1)}),
        (
            "v = LabelEncoder().fit_transform(['a', 'b', 'a'])\nw = LabelEncoder().fit_transform([len('ab'), 1])",
            {"v": ("?",), "w": ("?",)},
        ),
        ("v, w = shuffle(X, y, random_state=0)\nu = scale(X)", {"v": (40, 2), "w": (40,), "u": (40, 2)}),
        ("A, b = make_moons(50)\nv = LogisticRegression().fit(A, b).predict_proba(A)[:, 1:]", {"v": (50, 1)}),
        ("A, b = make_moons(50)\nb[:5] = 2\nv = LogisticRegression().fit(A, b).predict_proba(A)", {"v": (50, "?")}),
        ("A, b = make_blobs(50, 2, centers=2)\nv = LogisticRegression().fit(A, b).coef_", {"v": (1, 2)}),
        ("m = LinearRegression().fit(X, y)\nm.coef_ = np.ones((1, 2))\nv = m.coef_", {"v": (1, 2)}),
        ("m = SGDClassifier()\nm.partial_fit(X, y, classes=[0, 1, 2])\nv = m.coef_", {"v": None}),
        (
            "m = LinearRegression()\nif np.random.rand() > -1:\n    m.fit(X, column)\nelse:\n    m.fit(X, y)\nv = m.coef_",
            {"v": None},
        ),
    ],
)
def test_what_a_fitted_estimator_has(code: str, shapes: dict[str, tuple[int | str, ...] | None]) -> None:
    top = (
        "from sklearn.cluster import KMeans\nfrom sklearn.datasets import make_blobs, make_moons\n"
        "from sklearn.decomposition import PCA\nfrom sklearn.model_selection import GridSearchCV\n"
        "from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, SGDClassifier\n"
        "from sklearn.neighbors import NearestNeighbors\nfrom sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import LabelBinarizer, LabelEncoder, MinMaxScaler, StandardScaler, scale\n"
        "from sklearn.utils import shuffle\n"
    )
    compare(f"{TOP}{top}{DATA}{code}\n", shapes)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_vector_that_is_reported_is_refused(name: str) -> None:
    for use in VECTORS:
        source = source_of(name, use)
        if any(isinstance(each, RankOneVectorHazard) for each in analyse(ast.parse(source), source).hazards):
            assert run(source) is None, use


@pytest.mark.parametrize("use", ["m.fit(column[:, 0], y)", "m.fit([1, 2, 3], y)", "ages = [1, 2, 3]\nm.fit(ages, y)"])
@pytest.mark.parametrize("name", ["LinearRegression", "StandardScaler", "KMeans"])
def test_a_vector_is_reported(name: str, use: str) -> None:
    source = source_of(name, use)
    assert any(isinstance(each, RankOneVectorHazard) for each in analyse(ast.parse(source), source).hazards)


@pytest.mark.parametrize("use", ["m.fit(['a', 'b'], y)", "m.fit([[1, 2], [3, 4]], y)", "rows = []\nm.fit(rows, y)"])
def test_another_list_is_not(use: str) -> None:
    source = source_of("LinearRegression", use)
    assert not any(isinstance(each, RankOneVectorHazard) for each in analyse(ast.parse(source), source).hazards)


@pytest.mark.parametrize(
    "scaler",
    [
        "StandardScaler()",
        "MinMaxScaler()",
        "MaxAbsScaler()",
        "RobustScaler(with_centering=False, with_scaling=False)",
        "QuantileTransformer(n_quantiles=5)",
        "PowerTransformer()",
        "StandardScaler(with_mean=False, with_std=False)",
    ],
)
@pytest.mark.parametrize(
    "data", ["np.random.rand(9, 2) + 1", "np.arange(18).reshape(9, 2) + 1", "np.random.rand(9, 2).astype(np.float32)"]
)
def test_scalers_give_floats(scaler: str, data: str, tmp_path: Path) -> None:
    source = (
        f"import numpy as np\nfrom sklearn.preprocessing import *\nX = {data}\nm = {scaler}\nv = m.fit_transform(X)\nw = m.transform(X)\n"
        "u = m.inverse_transform(v)\nrows = [v[i + 1, 0] for i in range(5)]\nz = np.array(rows)\n"
    )
    assert wrong_claims(tmp_path / "scaled.py", source) == {}
    source = source.replace("import *", f"import {scaler.partition('(')[0]}")
    found = {row.name: row for row in analyse(ast.parse(source), source).bindings}
    wanted = None if "float32" in data else "float64"
    assert [found[name].dtype for name in "vwu"] == [wanted] * 3
    assert found["z"].shape == ((5,) if wanted else None)


_TWO = "X, y = np.random.rand(30, 4), np.random.rand(30)\na = LinearRegression().fit(X, y)\nb = LinearRegression().fit(X, y)\n"
REFITTED = {
    "in a function": "def f():\n    return a.fit(X, y[:, None])\nf()\np = a.predict(X)\n",
    "in a statement of a function": "def f():\n    a.fit(X, y[:, None])\nf()\np = a.predict(X)\n",
    "by a function that is given it": "def g(m): m.fit(X, y[:, None])\ndef f():\n    g(a)\nf()\np = a.predict(X)\n",
    "by another name": "m = a if random.random() < 2 else b\ndef f():\n    m.fit(X, y[:, None])\nf()\np = a.predict(X)\nq = m.predict(X)\n",
    "behind its settings": "def f():\n    for _ in range(2): a.set_params(fit_intercept=False).fit(X, y[:, None])\nf()\np = a.predict(X)\n",
    "in a method": (
        "class T:\n    def __init__(self): self.m = LinearRegression()\n    def train(self, X, y): self.m.fit(X, y)\n"
        "    def again(self, X, y): self.m.fit(X, y[:, None])\n    def see(self, X):\n        p = self.m.predict(X)\n        return p\n"
        "t = T()\nt.train(X, y)\nt.see(X)\nt.again(X, y)\nt.see(X)\n"
    ),
    "in a lambda": "f = lambda: a.fit(X, y[:, None])\nf()\np = a.predict(X)\n",
    "in a comprehension of a function": "def f():\n    return [each.fit(X, y[:, None]) for each in (a, b)]\nf()\np = a.predict(X)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", REFITTED)
def test_what_a_function_fits_anew_gives_something_else(name: str, tmp_path: Path) -> None:
    source = (
        f"import random\nimport numpy as np\nfrom sklearn.linear_model import LinearRegression\n{_TWO}{REFITTED[name]}"
    )
    assert wrong_claims(tmp_path / "program.py", source) == {}


def test_what_a_function_asks_of_an_estimator_leaves_it_known() -> None:
    source = f"import numpy as np\nfrom sklearn.linear_model import LinearRegression\n{_TWO}"
    source += "def f():\n    print(a.score(X, y), a.predict(X))\nf()\np = a.predict(X)\n"
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["p"] == (30,)
