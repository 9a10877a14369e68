"""What is said of pandas' frames and series, and of numpy's text files, holds of the installed libraries."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tensorlint.inference import tables
from tensorlint.inference.analysis import analyse

pytest.importorskip("torch", reason="the lines give tensors")
np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas", reason="pandas is the oracle")

TOP = """import io
import numpy as np
import pandas as pd
import torch

df = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [5.0, 6.0, 7.0, 8.0], "c": [0.0, 1.0, 0.0, 1.0]})
wide = pd.DataFrame(np.random.rand(6, 4), columns=["a", "b", "c", "y"])
read = pd.read_csv(io.StringIO("a,b,y\\n1,2,3\\n4,5,6\\n7,8,10\\n"))
s = df["a"]
"""
# Each line binds `x` to an array or a tensor whose rank is known, with the sizes that are given.
KNOWN = """
x = df["a"].values | 4
x = df[["a"]].values | 4 1
x = df[["a", "b"]].to_numpy() | 4 2
x = df.values | 4 3
x = df.to_numpy(dtype="float32") | 4 3
x = df.drop(columns=["c"]).values | 4 2
x = df.drop("c", axis=1).values | 4 2
x = df.drop(["b", "c"], axis="columns").values | 4 1
x = df.drop(columns="c").drop(columns=["a"]).values | 4 1
x = df.iloc[:, 0].values | 4
x = df.iloc[-3:, 0].values | 3
x = s.iloc[1:].values | 3
x = s.iloc[:-3].values | 1
x = s.iloc[9:].values | ?
x = df[f"{'a'}"].values | 4
x = df[[f"{c}" for c in "ab"]].values | 4 ?
names = [f"{c}" for c in "ab"]; x = df[names].values | ? ?
df[f"lag_{1}"] = df["a"].shift(1); x = df["a"].values | 4
df["lag_" + str(1)] = 0.0; x = df[["a"]].values | 4 1
for k in range(1, 12): df[f"lag_{k}"] = df["a"].shift(k); x = df["b"].values | 4
df[["p", "q"]] = np.zeros((4, 2)); x = df["a"].values | 4
x = df.iloc[:, -1].values | 4
x = df.iloc[:, [0]].values | 4 1
x = df.iloc[:, :-1].values | 4 2
x = df.iloc[:, 0:2].values | 4 2
x = df.iloc[:, 1:2].values | 4 1
x = df.iloc[:, 2:9].values | 4 1
x = df.iloc[:, ::2].values | 4 ?
x = df.iloc[1:3, -1:].values | 2 1
m = pd.DataFrame({"p": ["u", "v"], "q": [1, 2], "r": [0.5, 1.5]}); x = m.iloc[:, -1].values | 2
m = pd.DataFrame({"p": ["u", "v"], "q": [1, 2], "r": [0.5, 1.5]}); x = m.iloc[:, 1].to_numpy() | 2
m = pd.DataFrame({"p": ["u", "v"], "q": [1, 2], "r": [0.5, 1.5]}); x = m.drop(columns=["p"]).iloc[:, 0].values | 2
m = pd.DataFrame({"p": ["u", "v"], "q": [1, 2], "r": [0.5, 1.5]}); x = m[["q", "p"]].iloc[:, 0].values | 2
m = pd.DataFrame({"p": ["u", "v"], "q": [1, 2], "r": [0.5, 1.5]}); x = m.iloc[:, 1:].values | 2 2
x = df.iloc[1].values | 3
x = df.iloc[1, :].values | 3
x = df.iloc[1:3].values | 2 3
x = df.loc[:, "b"].values | 4
x = df.loc[:, ["b"]].values | 4 1
x = df.loc[:, "a":"b"].values | 4 ?
x = df.loc[df["a"] > 2, "b"].values | ?
x = df.loc[df["c"] == 1].values | ? 3
x = df[df["a"] > 2].values | ? 3
x = df[df["a"] > 2]["b"].values | ?
x = df[1:3].values | ? 3
x = df.a.values | 4
x = df["a"].astype("float32").values | 4
x = df["a"].fillna(0).to_numpy() | 4
x = (df["a"] > 2).values | 4
x = (df["a"] / 2).values | 4
x = (df["a"] - df["b"]).values | 4
x = (1 - df["c"]).to_numpy() | 4
x = df["a"].map({1.0: 0}).values | 4
x = ((s - s.mean()) / s.std()).values | 4
x = s.values - s.mean() | 4
x = s.values / s.max() | 4
x = (read["y"].values - read["y"].mean()) / read["y"].std() | ?
x = ((read["y"] - read["y"].min()) / (read["y"].max() - read["y"].min())).values | ?
x = (-s).values | 4
x = (~(s > s.median())).values | 4
x = np.log(s / s.shift(1)).values | 4
x = s.apply(np.sqrt).clip(0, 1).round(2).abs().values | 4
x = df.a.values * df.a.sum() | 4
x = ((df - df.mean()) / df.std()).values | 4 3
x = ((df - df.min()) / (df.max() - df.min())).values | 4 3
x = ((read - read.mean()) / read.std())["y"].values | ?
x = ((read - read.mean(axis=0)) / read.std(ddof=0)).values | ? ?
x = (df / 2).values | 4 3
x = np.exp(df).values | 4 3
x = (df[["a", "b"]] - df[["a", "b"]].mean()).values | 4 2
x = df.mean().values | 3
x = df.mean(axis=1).values | 4
x = (df["a"] - df.mean(axis=1)).values | 4
x = torch.tensor((s - s.mean()).values) | 4
x = df["a"].to_frame().values | 4 1
x = df["a"].head(2).values | ?
x = df["a"][1:].values | ?
x = df.T.values | 3 4
x = df.head(2).values | ? 3
x = df.dropna().values | ? 3
x = df.sample(frac=1).values | ? 3
x = df.astype("float32").values | 4 3
x = df.copy().values | 4 3
x = df.sort_values("a").values | 4 3
x = df.rename(columns={"a": "d"}).values | 4 3
x = df.rename(columns={"a": "d"})["d"].values | 4
x = read.rename(columns={"a": "d"})["y"].values | ?
x = df.reset_index(drop=True).values | 4 3
x = read[["y"]].dropna().reset_index(drop=True).values | ? 1
x = df.select_dtypes("number").values | 4 ?
x = df.assign(d=1).values | 4 ?
x = pd.get_dummies(df).values | 4 ?
x = wide.values | 6 4
x = wide[["a", "b", "c"]].values | 6 3
x = wide["y"].values.reshape(-1, 1) | 6 1
x = wide["y"].values.astype("float32") | 6
x = wide["y"].values[:, None] | 6 1
x = read.values | ? ?
x = read["y"].values | ?
x = read[["y"]].values | ? 1
x = read.drop(columns=["y"]).values | ? ?
x = read.iloc[:, :-1].values | ? ?
x = read.iloc[:, -1:].values | ? 1
x = read.iloc[:, 1:2].values | ? 1
x = read.iloc[:, :1].values | ? 1
x = read.iloc[:, -2:-1].values | ? 1
x = read.iloc[:, -1:0].values | ? ?
x = read.iloc[:, 0:2].values | ? ?
x = pd.read_csv(io.StringIO("1,2\\n3,4"), header=None).values | ? ?
x = pd.Series([1.0, 2.0]).values | 2
x = pd.Series(np.zeros(5)).to_numpy() | 5
x = pd.DataFrame(np.zeros((5, 2))).values | 5 2
x = pd.DataFrame(np.zeros(5)).values | 5 1
x = pd.DataFrame(s).values | ? ?
x = np.array(df["a"]) | 4
x = np.asarray(df) | 4 3
x = np.array(df[["a", "b"]]) | 4 2
x = torch.tensor(df["a"]) | 4
x = torch.tensor(df["a"].values).unsqueeze(1) | 4 1
x = torch.tensor(df[["a", "b"]].values, dtype=torch.float32) | 4 2
x = torch.from_numpy(df["a"].to_numpy()) | 4
x = np.loadtxt(io.StringIO("1 2"), ndmin=2) | ? ?
read["t"] = ["p", "q", "r"]; x = read["y"].values | ?
read["t"] = np.zeros(3); x = read["t"].values | ?
df["c"] = df["c"].map(str); df["c"] = df["c"].astype(float); x = df["c"].values | 4
df.rename(columns={"a": "d"}, inplace=True); x = df["b"].values | ?
df.fillna(0, inplace=True); x = df["b"].values | ?
df.loc[df["a"] > 2, "c"] = df["c"].mean(); x = df["b"].values | ?
df["n"] = 1; x = df["b"].values | 4
x = df[df["a"] > 2].reset_index(drop=True)["b"].values | ?
x = (df["a"] - pd.Series([1.0, 2.0, 3.0, 4.0])).values | 4
x = (df["a"] - df.head(2)["a"]).values | ?
x = (df["a"] - df.loc[:, "b"] * df.iloc[:, 0].abs()).values | 4
x = (df[["a", "b"]]["a"] - df.copy()["b"].fillna(0)).values | 4
x = pd.DataFrame([{"a": 1}, {"a": 2}])["a"].to_numpy() | ?
x = s.rolling(2).mean().values | 4
x = s.rolling(2, min_periods=1, center=True).std().to_numpy() | 4
x = df["a"].rolling(window=3).apply(np.max).values | 4
x = (df["a"] - df["a"].rolling(2).mean()).values | 4
x = s.expanding().max().values | 4
x = s.ewm(span=3).mean().values | 4
x = df.rolling(2)["a"].sum().values | 4
x = df.rolling(2).mean().values | 4 ?
x = read["y"].rolling(2).mean().values | ?
x = df.groupby("c")["a"].transform("mean").values | 4
x = (df["a"] - df.groupby("c")["a"].transform("mean")).values | 4
x = df["a"].groupby(df["c"]).transform(lambda v: v - v.mean()).to_numpy() | 4
x = df.groupby(["c", "b"], sort=False)["a"].cumsum().values | 4
x = df.groupby("c")[["a", "b"]].transform("std").values | 4 ?
x = df.groupby(by="c")["a"].rank().values | 4
x = (df["a"] - np.ones(4)).values | 4
x = (np.ones(4) / df["a"]).to_numpy() | 4
x = (df["a"] > np.zeros(4)).values | 4
x = (np.ones(4) == df["a"]).values | 4
x = (df["a"] * np.float64(2)).values | 4
x = (df["a"] ** np.arange(4) % 3 // np.full(4, 2)).values | 4
x = (df - np.ones(3)).values | 4 3
x = (np.ones((4, 1)) * df[["a", "b"]]).values | 4 2
x = (df > np.zeros((1, 3))).values | 4 3
x = (read["y"] - np.zeros(3)).values | ?
x = np.exp(df["a"] - np.ones(4)).values | 4
x = s.values - (s + np.ones(4)).mean() | 4
df["n"] = 2 * df["a"] + np.random.randn(4); x = df["n"].values.reshape(-1, 1) | 4 1
df["a"] += np.ones(4); x = df["a"].values | 4
df["k"] = range(4); x = df["k"].values | 4
x = pd.DataFrame({"p": range(3), "q": np.zeros(3)})["p"].values | 3
x = np.zeros(len(df)) | 4
x = np.ones((len(df[["a"]]), 2)) | 4 2
x = np.zeros(len(df["a"])) | 4
x = np.zeros(len(read)) | ?
""".strip().splitlines()
# Nothing wrong may be said after these.
ADVERSARIES = {
    "windows that leave rows out": "x = s.rolling(2, step=2).mean().values\n",
    "windows of two series": "x = s.rolling(2).corr(pd.Series([1.0] * 9)).values\n",
    "windows of groups": "x = df.groupby('c')['a'].rolling(2).mean().values\n",
    "a number of each group": "x = df.groupby('c')['a'].mean().values\ny = df.groupby('c')['a'].size().values\n",
    "groups of a frame": "x = df.groupby('c').cumsum().values\ny = df.groupby('c').transform('mean').values\n",
    "groups of times": "t = pd.DataFrame({'t': pd.to_datetime(['2024-01-02', None, '2024-01-01']), 'v': [1.0, 2.0, 3.0]})\n"
    "x = t.groupby(pd.Grouper(key='t', freq='D'))['v'].transform('sum').values\n",
    "rows without a group": "n = pd.DataFrame({'g': ['p', None, 'q'], 'v': [1.0, 2.0, 3.0]})\nx = n.groupby('g')['v'].transform('mean').values\n"
    "y = n.groupby('g')['v'].cumsum().values\n",
    "groups that give text": "x = df.groupby('c')['a'].transform(lambda v: 'p').values\ny = df.groupby('c')['a'].agg(['mean', 'std']).values\n",
    "windows of a frame with a column of times": "t = pd.DataFrame({'t': pd.to_datetime(['2024-01-01', '2024-01-02']), 'v': [1.0, 2.0]})\n"
    "x = t.rolling('1D', on='t').mean().to_numpy()\ny = t.rolling('1D', on='t')['v'].sum().values\n",
    "the length of a frame that loses rows": "x = np.zeros(len(df))\ndf.drop(index=0, inplace=True)\ny = np.zeros(len(df))\n"
    "z = np.zeros(len(df.query('a > 2')))\n",
    "text beside an array": "t = pd.DataFrame({'t': ['p', 'q']})\nx = (t['t'] + np.array(['u', 'v'])).values\ny = (t['t'] == np.array(['p', 'v'])).values\n",
    "nullable numbers beside an array": "t = pd.Series(pd.array([1, 2, None]))\nx = (t + np.ones(3)).values\ny = (t > np.ones(3)).values\n",
    "times beside an array": "t = pd.Series(pd.to_datetime(['2024-01-01', '2024-01-02']).tz_localize('UTC'))\n"
    "x = (t - np.array([1, 2]).astype('timedelta64[D]')).values\n",
    "an array of arrays": "o = np.empty(4, dtype=object)\nfor k in range(4):\n    o[k] = np.ones(2)\nx = df['a'] * o\ny = np.asarray(x.sum())\n",
    "an array that writes": "x = np.ones(4)\nx += df['a']\ny = x * 2\n",
    "a product with an array": "x = df['a'] @ np.ones(4)\ny = df @ np.ones((3, 2))\nz = np.ones((2, 4)) @ df\n",
    "a new column": "df['d'] = 0.0\nx = df.values\n",
    "a column is taken out": "y = df.pop('a')\nx = df.values\n",
    "a column is deleted": "del df['a']\nx = df.values\n",
    "rows dropped in place": "df.loc[0, 'a'] = np.nan\ny = df['a'].values\ndf.dropna(inplace=True)\nx = df['a'].values\n",
    "columns dropped in place": "df.drop(columns=['a'], inplace=True)\nx = df.values\n",
    "a row is added": "df.loc[99] = 0.0\nx = df['a'].values\n",
    "two columns of one name": "two = pd.DataFrame(np.zeros((3, 2)), columns=['a', 'a'])\nx = two['a'].values\n",
    "two columns of one name twice": "two = pd.DataFrame(np.zeros((3, 2)), columns=['a', 'a'])\nx = two[['a']].values\n",
    "a header of two rows": "h = pd.read_csv(io.StringIO('a,a\\nu,v\\n1,2\\n'), header=[0, 1])\nx = h['a'].values\n",
    "chunks of a file": "for c in pd.read_csv(io.StringIO('a,b\\n1,2\\n3,4\\n'), chunksize=1):\n    x = c['a'].values\n",
    "a column called like a method": "q = pd.DataFrame({'size': [1, 2], 'rank': [3, 4]})\nx = np.array(q.size)\n",
    "an index and data of other rows": "q = pd.DataFrame({'a': pd.Series([1, 2]), 'b': pd.Series([1, 2, 3])})\nx = q['a'].values\n",
    "a scalar beside a column": "q = pd.DataFrame({'a': 1, 'b': [1, 2, 3]})\nx = q['a'].values\n",
    "columns chosen of a dictionary": "q = pd.DataFrame({'a': [1], 'b': [2]}, columns=['a'])\nx = q.values\n",
    "an index of its own": "q = pd.DataFrame({'a': pd.Series([1, 2])}, index=[0, 1, 2])\nx = q['a'].values\n",
    "a label that stands for two rows": "df.index = ['p', 'p', 'q', 'r']\nx = df.loc['p'].values\n",
    "a list of truth values": "x = df[[True, False, True, False]].values\ny = df.iloc[[True, False, True, False]].values\n",
    "a function changes the frame": "def f(d):\n    d['z'] = 1.0\n\n\nf(df)\nx = df.values\n",
    "a frame that changes in a loop": "for k in range(3):\n    df['n%d' % k] = k\n    x = df.values\n    df = df[df['a'] > k]\n    y = df['a'].values\n",
    "one of two frames": "import random\nq = df if random.random() < 2 else wide\nx = q.values\ny = q['a'].values\n",
    "rows dropped along the other axis": "n = pd.DataFrame({'a': [1.0, np.nan], 'b': [1.0, 2.0]})\nq = n.dropna(axis=1)\nx = q.values\nq = n.dropna(axis='columns')\ny = q.values\n",
    "columns of other names": "x = (df[['a', 'b']] - df[['b', 'c']].mean()).values\ny = (df - df[['a']].mean()).values\n",
    "columns that were renamed": "q = df.copy()\nq.columns = ['x', 'y', 'z']\nx = (q - df.mean()).values\ny = q.drop(columns=['x']).values\n",
    "columns that were renamed along an axis": "q = df.rename({'a': 'd'}, axis=1)\nx = (q - df.mean()).values\ny = q.drop(columns=['d']).values\n",
    "a number of each column meets a column": "q = pd.DataFrame(np.zeros((3, 3)), columns=['a', 'b', 'c'])\nx = (q['a'] - q.mean()).values\n"
    "y = (q['a'] - q.mean().abs()).values\n",
    "the sum of arrays": "q = pd.DataFrame({'e': [np.zeros(5), np.ones(5)]})\nx = np.zeros((3, 1)) * q['e'].sum()\ny = q['e'].values - q['e'].sum()[:2]\n"
    "z = np.zeros((3, 1)) * pd.Series([np.zeros(5)]).sum()\n",
    "a column of arrays that is added": "df['e'] = [np.zeros(5)] * 4\nx = np.zeros((3, 1)) * df['e'].sum()\n",
    "a column of arrays that is computed": "q = df['a'].map(lambda v: np.zeros(5))\nx = np.zeros((3, 1)) * q.sum()\n",
    "a frame that a function reads": "q = pd.read_csv(io.StringIO('a\\n1\\n2\\n'), converters={'a': lambda v: np.zeros(5)})\n"
    "x = np.zeros((3, 1)) * q['a'].sum()\n",
    "a column of arrays by its place": "q = pd.DataFrame({'a': [1, 2], 'e': [np.zeros(5)] * 2})\nx = np.zeros((2, 1)) * q.iloc[:, -1].sum()\n"
    "y = np.zeros((2, 1)) * q[['e', 'a']].iloc[:, 0].sum()\nq.insert(0, 'z', [1, 2])\nz = np.zeros((2, 1)) * q.iloc[:, 2].sum()\n",
    "a column of arrays that got its place later": "q = pd.DataFrame({'a': [1, 2], 'b': [3, 4]})\nq['a'] = [np.zeros(5)] * 2\nx = np.zeros((2, 1)) * q.iloc[:, 0].sum()\n"
    "q = q.rename(columns={'a': 'b', 'b': 'a'})\ny = np.zeros((2, 1)) * q.iloc[:, 0].sum()\nq.columns = ['b', 'a']\nz = np.zeros((2, 1)) * q.iloc[:, 0].sum()\n",
    "a mean of everything": "x = np.zeros(3) * df.mean(axis=None)\ny = np.asarray(df.mean(axis=None))\n",
    "columns of one name less their means": "two = pd.DataFrame(np.ones((3, 2)), columns=['a', 'a'])\nx = (two - 1).values\n",
    "one row of text": "x = np.loadtxt(io.StringIO('1 2 3'))\ny = x * 2\n",
    "one column of text": "x = np.loadtxt(io.StringIO('1\\n2\\n3'))\ny = x[:2]\n",
    "a table that is indexed in a branch": "x = np.loadtxt(io.StringIO('1\\n2\\n3'))\nif x.ndim == 2:\n    y = x[:, 0]\nz = x[1:]\n",
    "a text that is indexed with a new axis": "x = np.loadtxt(io.StringIO('1\\n2\\n3'))\ny = x[:, None]\nz = x[..., 0]\n",
    "a text that gets its axis in a branch": "x = np.loadtxt(io.StringIO('1\\n2\\n3'))\nw = x * 1\nif x.ndim == 1:\n    x = x[:, None]\n"
    "y = x[:, 0]\n",
    "a text that is replaced first": "x = np.loadtxt(io.StringIO('1 2'))\nx = x.reshape(2, 1, 1)\ny = x[:, 0]\n",
}  # fmt: skip


def _scope(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope


@pytest.mark.parametrize("line", KNOWN)
def test_the_shape_is_known_and_right(line: str) -> None:
    code, _, sizes = line.rpartition(" | ")
    real = tuple(_scope(TOP + code)["x"].shape)
    rows = [row for row in analyse(ast.parse(TOP + code + "\n"), TOP + code + "\n").bindings if row.name == "x"]
    assert rows, "nothing is said of x"
    shape = rows[-1].shape
    assert shape is not None
    assert ["?" if not isinstance(size, int) else str(size) for size in shape] == sizes.split()
    assert len(shape) == len(real)
    assert all(isinstance(said, int) is False or said == size for said, size in zip(shape, real, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ADVERSARIES)
def test_nothing_wrong_is_said(name: str) -> None:
    source = TOP + ADVERSARIES[name]
    scope = _scope(source)
    last = {row.name: row for row in analyse(ast.parse(source), source).bindings if row.name in scope}
    for variable, row in last.items():
        if row.shape is not None:
            real = np.shape(scope[variable])
            assert len(row.shape) == len(real), variable
            assert [size for size in row.shape if isinstance(size, int)] == [
                size for size, said in zip(real, row.shape, strict=True) if isinstance(said, int)
            ], variable


def test_a_frame_has_no_other_attributes() -> None:
    """A name that a frame has of its own is no column; a later pandas may have more of them."""
    own = {name for name in dir(pd.DataFrame({0: [1]})) if not name.startswith("_")}
    assert own - tables._ATTRIBUTES == set()
