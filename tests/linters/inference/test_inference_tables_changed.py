"""Tables, estimators and scipy's objects, changed in every way, in every place and by every name: running says what is there."""

from __future__ import annotations

import ast
import contextlib
import io
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the tests that trace a program need it")
pytest.importorskip("pandas", reason="pandas is the oracle")
pytest.importorskip("sklearn", reason="scikit-learn is the oracle")

from table_programs import KINDS, chosen, made
from test_inference_adversaries import wrong_claims

from tensorlint.inference.analysis import analyse

_PART = 15
pytestmark = pytest.mark.filterwarnings("ignore")


def _judge(path: Path, source: str) -> dict[object, str]:
    with contextlib.redirect_stdout(io.StringIO()):
        return wrong_claims(path, source)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_no_program_is_told_what_was_there_before(kind: str, part: int, tmp_path: Path) -> None:
    chance, judged = random.Random(f"{kind} {part}"), 0
    while judged < _PART:
        found = chosen(kind, chance)
        if found is not None:
            judged += 1
            assert _judge(tmp_path / "program.py", found[0]) == {}, f"{found[1]}\n{found[0]}"


@pytest.mark.parametrize("kind", KINDS)
def test_ways_in_the_plainest_places(kind: str, tmp_path: Path) -> None:
    chance, judged = random.Random(kind), 0
    for way in chance.sample(KINDS[kind].ways, 10):
        for place, holder in (("a statement", "a function"), ("a function that takes it", "functions of a module")):
            source = made(kind, way, place, holder)
            if source is not None:
                judged += 1
                assert _judge(tmp_path / "program.py", source) == {}, f"{way} | {place} | {holder}\n{source}"
    assert judged > 8


_TOP = """import contextlib
import copy
import functools
import operator
import random
import numpy as np
import pandas as pd
import scipy.optimize
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, LabelBinarizer, StandardScaler
X = np.random.default_rng(0).random((12, 3))
y = X @ np.ones(3)
Y = X @ np.ones((3, 2))
Xb, yb = make_moons(12, random_state=0)
df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
m = LinearRegression().fit(X, y)


class Box:
    def __init__(self):
        self.df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
        self.m = LinearRegression().fit(X, y)
        self.pca = PCA(2).fit(X)
        self.pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
        self.data = load_iris()
        self.found = scipy.optimize.minimize(lambda v: (v ** 2).sum(), np.ones(2))
        self.rows = np.ones((3, 4))

    def frame(self):
        return self.df

    def read(self):
        a = self.df["a"].values
        b = self.df.values
        c = self.m.predict(X)
        d = self.m.coef_
        e = self.pca.transform(X)
        f = self.pipe.predict(X)
        g = self.data.data
        h = self.found.x * 2
        i = self.rows * 2


box = Box()
"""
_OTHERS = """
class Node:
    def __init__(self, box):
        self.box = box

    def __neg__(self):
        m = self.box.m
        m.fit(X, Y)
        return 1

    def __float__(self):
        getattr(self.box.m, "fit")(X, Y)
        return 1.0

    def __index__(self):
        words = {"inplace": True}
        self.box.df.drop(0, **words)
        return 1

    def __invert__(self):
        functools.partial(pd.DataFrame.drop, inplace=True)(self.box.df, 0)
        return 1

    def __pos__(self):
        operator.attrgetter("fit")(self.box.m)(X, Y)
        return 1


class Wrapper:
    def __init__(self, box):
        object.__setattr__(self, "box", box)

    def __setattr__(self, name, value):
        b = self.box
        b.fit(X, Y)
"""
# What other code does to what methods read, by the object that holds it or by another name.
HELD = """
box.df.drop(0, inplace=True)
box.df["c"] = 1.0
box.df.loc[9] = 0.0
box.df.insert(0, "c", 1.0)
del box.df["b"]
box.df.columns = ["a", "a"]
box.df.pop("b")
pd.DataFrame.drop(box.df, 0, inplace=True)
d = box.df; d["c"] = 1.0
d = box.frame(); d.drop(0, inplace=True)
for d in [box.df]: d.drop(0, inplace=True)
drop = box.df.drop; drop(0, inplace=True)
place = box.df.loc; place[9] = 0.0
list(map(lambda d: d.drop(0, inplace=True), [box.df]))
setattr(box.df, "a", "x")
getattr(box, "df").drop(0, inplace=True)
for k in ("df",): getattr(box, k).drop(0, inplace=True)
with contextlib.nullcontext(box) as b: b.df.drop(0, inplace=True)
box.m.fit(X, Y)
box.m.coef_ = np.ones((2, 3))
box.m.__setstate__(LinearRegression().fit(X, Y).__getstate__())
fit = box.m.fit; fit(X, Y)
list(map(box.m.fit, [X], [Y]))
make_pipeline(box.m).fit(X, Y)
for each in (box.m,): each.fit(X, Y)
-Node(box)
float(Node(box))
[1, 2][Node(box)]
~Node(box)
+Node(box)
box.pca.set_params(n_components=1).fit(X)
box.pca.n_components = 1; box.pca.fit(X)
box.pipe.fit(X, Y)
box.pipe[-1].fit(X, Y)
box.pipe.named_steps["linearregression"].fit(X, Y)
for step in box.pipe: step.fit(X, Y)
box.pipe.steps[-1] = ("last", LinearRegression().fit(X, Y))
box.data["data"] = np.zeros((2, 2))
box.data.update(data=np.zeros((2, 2)))
box.found["x"] = np.ones((2, 2))
box.found.update(x=np.ones(5))
setattr(box.rows, "shape", (4, 3))
rows = np.asarray(box.rows); rows.shape = (4, 3)
np.ndarray.resize(box.rows, (2, 2), refcheck=False)
""".strip().splitlines()
DIRECT = {
    "a method of the class": "pd.DataFrame.insert(df, 0, 'c', 1.0)\nx = df.values\n",
    "a method of the class, later": "functools.partial(pd.DataFrame.drop, inplace=True)(df, 0)\nx = df['a'].values\n",
    "the columns behind the last": "q = df.iloc[:, 0].to_frame()\nx = q.iloc[:, 1:].to_numpy()\n",
    "settings": "m.set_params(fit_intercept=False)\nm.fit(X, y)\nx = m.intercept_\n",
    "a setting that is assigned": "m.fit_intercept = False\nm.fit(X, y)\nx = m.intercept_\n",
    "neighbours that were set": "n = NearestNeighbors(n_neighbors=2).fit(X)\nn.set_params(n_neighbors=3)\nx, z = n.kneighbors(X)\n",
    "clusters of one of two": "k = KMeans(2, n_init=1)\nif random.random() < 2:\n    k = KMeans(3, n_init=1)\nk.fit(X)\nx = k.transform(X)\n",
    "neighbours of one of two": "n = NearestNeighbors(n_neighbors=2)\nif random.random() < 2:\n    n = NearestNeighbors()\nn.fit(X)\nx, z = n.kneighbors(X)\n",
    "lists": "m.fit(X.tolist(), Y.tolist())\nx = m.predict(X)\n",
    "a step": "p = make_pipeline(m)\np[-1].fit(X, Y)\nx = m.predict(X)\n",
    "a step by its name": "p = make_pipeline(StandardScaler(), m)\np.named_steps['linearregression'].fit(X, Y)\nx = m.predict(X)\n",
    "a step's settings": "p = make_pipeline(m)\np.set_params(linearregression__fit_intercept=False)\np.fit(X, y)\nx = m.intercept_\n",
    "a first step": "s = StandardScaler().fit(X)\np = make_pipeline(s, m)\np.fit(X[:, :2], y)\nx = s.mean_\n",
    "a step of what is not followed": "p = Pipeline([('f', FunctionTransformer()), ('m', m)])\nm.fit(X, y)\np.fit(X, Y)\nx = m.predict(X)\n",
    "other steps": "p = make_pipeline(StandardScaler(), m)\np.steps = [('m', LinearRegression().fit(X, Y))]\nx = p.predict(X)\n",
    "a copy": "c = copy.copy(m)\nc.coef_ = np.ones((2, 3))\nx = c.coef_\nz = m.coef_\n",
    "a bound method": "list(map(m.fit, [X], [Y]))\nx = m.predict(X)\n",
    "a setter": "Wrapper(m).name = 1\nx = m.predict(X)\n",
    "a method of what a list of nodes holds": (
        "class Link:\n    def __init__(self, next, held): self.next, self.held = next, held\n"
        "def walk(n):\n    while n is not None:\n        if n.held is not None:\n            b = n.held\n"
        "            f = b.drop; f(0, inplace=True)\n        n = n.next\n"
        "walk(Link(Link(None, df), None))\nx = df.values\n"
    ),
    "sparse labels": "x = LabelBinarizer(sparse_output=True).fit_transform(yb)\n",
    "another class by put": "np.put(yb, 0, 2)\nx = LogisticRegression().fit(Xb, yb).predict_proba(Xb)\n",
    "another class by out": "np.add(yb, np.arange(12) % 2, out=yb)\nx = LogisticRegression().fit(Xb, yb).coef_\n",
    "another class by addition": "yb += np.arange(12) % 2\nx = LogisticRegression().fit(Xb, yb).coef_\n",
    "a learned array": "m.coef_.shape = (1, 3)\nx = m.predict(X)\n",
    "parameters of a distribution": "n = norm(loc=0.0)\nn.kwds.update(loc=np.zeros((2, 1)))\nx = n.pdf(np.zeros(3))\n",
    "a method of a distribution": "n = norm(loc=0.0)\nn.dist.pdf = lambda x, **words: x[:1]\nx = n.pdf(np.zeros(3))\n",
    "what a search found": "f = scipy.optimize.minimize(lambda v: (v ** 2).sum(), np.ones(2))\nf['x'] = np.ones((2, 2))\nx = f.x * 2\n",
}  # fmt: skip


@pytest.mark.parametrize("way", HELD)
def test_methods_are_not_told_what_was_there_before(way: str, tmp_path: Path) -> None:
    assert _judge(tmp_path / "program.py", f"{_TOP}{_OTHERS}{way}\nbox.read()\n") == {}


def test_a_lambda_of_the_initialiser_counts(tmp_path: Path) -> None:
    made = "        self.rows = np.ones((3, 4))\n"
    source = _TOP.replace(made, f"{made}        (lambda: self.m.fit(X, Y))()\n") + "box.read()\n"
    assert _judge(tmp_path / "program.py", source) == {}


@pytest.mark.parametrize("name", DIRECT)
def test_nothing_wrong_is_said_behind_a_change(name: str, tmp_path: Path) -> None:
    assert _judge(tmp_path / "program.py", _TOP + _OTHERS + DIRECT[name]) == {}


_SHAPES = {
    "a": (3,),
    "b": (3, 2),
    "c": (12,),
    "d": (3,),
    "e": (12, 2),
    "f": (12,),
    "g": (150, 4),
    "h": (2,),
    "i": (3, 4),
}
LEFT_ALONE = """
print(box.df, len(box.df), box.df.shape)
d = box.df.copy(); d["c"] = 1.0
d = box.df[["a"]]; d["c"] = 1.0
d = box.df.dropna(inplace=False)
d = pd.concat([box.df, box.df])
d = box.df.sort_values("a").reset_index(drop=True)
for i, row in box.df.iterrows(): print(row["a"])
s = cross_val_score(box.m, X, y, cv=2)
s = box.m.score(X, y)
n = LinearRegression(); n.fit(X, Y)
other = LinearRegression().fit(X, Y)
p = box.pipe.predict(X)
k = getattr(box.m, "coef_", None)
print(box.data.keys(), box.found.x.sum())
r = box.rows.reshape(4, 3)
r = np.asarray(box.rows) + 1
q = copy.deepcopy(box.m)
""".strip().splitlines()


@pytest.mark.parametrize("use", LEFT_ALONE)
def test_what_is_only_read_stays_known(use: str) -> None:
    source = f"{_TOP}{use}\nbox.read()\n"
    compile(source, "program", "exec")
    names = {row.name: row.shape for row in analyse(ast.parse(source), source).bindings if row.name in _SHAPES}
    assert names == _SHAPES


STAYS = {
    "a search for the best": (
        "p = make_pipeline(StandardScaler(), LinearRegression())\ncross_val_score(p, X, y, cv=2)\np.fit(X, y)\nx = p.predict(X)\n",
        (12,),
    ),
    "settings": ("m.set_params(positive=True)\nm.fit(X, y)\nx = m.predict(X)\n", (12,)),
    "one of two alike": ("k = KMeans(2)\nif random.random() < 2:\n    k = KMeans(2)\nk.fit(X)\nx = k.transform(X)\n", (12, 2)),
    "columns behind the first": ("x = df.iloc[:, 1:].to_numpy()\n", (3, 1)),
    "an item of a table": ("df['c'] = 1.0\nx = LogisticRegression().fit(Xb, yb).predict_proba(Xb)\n", (12, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_known(name: str) -> None:
    code, shape = STAYS[name]
    source = _TOP + code
    assert {row.name: row.shape for row in analyse(ast.parse(source), source).bindings}["x"] == shape
