"""Programs that change pandas' tables, scikit-learn's estimators, and numpy's and scipy's objects, in every place, and read them.

`F` stands for a frame, `S` for a series, `M` for an estimator.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from change_programs import HOLDERS, LATER, PLACES, Subject, program

_TABLES = "import numpy as np\nimport pandas as pd\n"
OF_FRAMES = """
F['z'] = 1.0
F['a'] = F['b'] * 2
F['a'] = ['x'] * len(F)
F['a'] = 'x'
F['a'] = pd.Series([1.0, 2.0])
F['a'] = pd.array([1] * len(F), dtype='Int64')
F['a'] = F['a'].astype('category')
F['a'] = F['a'].astype(str)
F['a'] = [np.ones(2)] * len(F)
F['a'] = pd.to_datetime(F['a'])
F['a'] = F['a'].dt.tz_localize('UTC') if 0 else pd.date_range('2024', periods=len(F), tz='UTC')
F['a'] = F['a'].map(lambda v: 'x')
F['a'] = F['a'].apply(lambda v: np.ones(2))
F[['a', 'b']] = 0.0
F[['d', 'e']] = np.zeros((len(F), 2))
F.loc[9] = 0.0
F.loc[len(F)] = [1.0] * F.shape[1]
F.loc[0, 'a'] = 5.0
F.loc[0, 'a'] = 'x'
F.loc[:, 'z'] = 1.0
F.loc[F['a'] > 2, 'a'] = np.nan
F.loc[F['a'] > 2] = 0.0
F.loc[9, 'a'] = 1.0
F.loc[0, 'z'] = 1.0
F.iloc[0, 0] = 9.0
F.at[9, 'a'] = 1.0
F.at[0, 'a'] = 3.0
F.at[0, 'z'] = 3.0
F.iat[0, 0] = 2.0
F.drop(index=[0], inplace=True)
F.drop(0, inplace=True)
F.drop(columns=['a'], inplace=True)
F.drop('b', axis=1, inplace=True)
F.drop(['b'], axis=1, inplace=len(F) > 0)
F.drop(F[F['a'] > 2].index, inplace=True)
F.insert(0, 'z', 1.0)
F.insert(0, 'a', 1.0, True)
F.insert(0, 'a', 1.0, allow_duplicates=True)
F.insert(len(F.columns), column='z', value='x')
F.pop('a')
del F['a']
del F['b'], F['c']
F.columns = ['x', 'y', 'w']
F.columns = ['a', 'a', 'b']
F.columns = ['b', 'c', 'a']
F.columns = [each.upper() for each in F.columns]
F.columns = F.columns.str.upper()
F.columns = pd.MultiIndex.from_product([['a'], ['p', 'q', 'r']])
F.columns = [['a', 'a', 'b'], ['p', 'q', 'r']]
F.index = [0, 0, 1, 1][:len(F)]
F.index += 1
F.index = pd.date_range('2024', periods=len(F))
F.index.name = 'i'
F.set_index('a', inplace=True)
F.reset_index(inplace=True)
F.reset_index(drop=True, inplace=True)
F.set_axis(['x', 'y', 'w'], axis=1)
F.sort_values('a', ascending=False, inplace=True)
F.sort_index(ascending=False, inplace=True)
F.loc[0, 'a'] = np.nan; F.dropna(inplace=True)
F.loc[0, 'a'] = np.nan; F.dropna(axis=1, inplace=True)
F.loc[0, 'a'] = np.nan; F.fillna(0, inplace=True)
F.dropna(how='all', inplace=True)
F.rename(columns={'a': 'b'}, inplace=True)
F.rename(columns={'a': 'z'}, inplace=True)
F.rename(index={0: 1}, inplace=True)
F.rename(str.upper, axis=1, inplace=True)
F.rename(columns=str.upper, inplace=True)
F.replace(1.0, 2.0, inplace=True)
F.replace(1.0, 'x', inplace=True)
F.drop_duplicates(inplace=True)
F.drop_duplicates('b', inplace=True)
F.query('a > 2', inplace=True)
F.eval('z = a + b', inplace=True)
F.eval('a = a > 2', inplace=True)
F.update(pd.DataFrame({'a': [9.0]}))
F.where(F > 2, inplace=True)
F.mask(F > 2, 'x', inplace=True)
F.clip(0, 2, inplace=True)
F.interpolate(inplace=True)
F.ffill(inplace=True)
F.rename_axis('i', inplace=True)
F.isetitem(0, 'x')
F.isetitem(0, np.zeros(len(F)))
F.__setitem__('z', 1.0)
F.__delitem__('a')
F.__iadd__(1)
F.__init__({'a': [1.0]})
operator.setitem(F, 'z', 1.0)
operator.delitem(F, 'a')
operator.iadd(F, 1)
setattr(F, 'columns', ['x', 'y', 'w'])
setattr(F, 'index', range(5, 5 + len(F)))
setattr(F, 'a', 'x')
F.a = 'x'
F.a = [1.0] * len(F)
F.a += 1
F.loc[:, 'a'] += 1
F.attrs['k'] = 1
for k in F.columns: F[k + '_n'] = F[k]
for k in list(F): F[k] = F[k].astype(str)
for k in ['a', 'b']: F.drop(columns=k, inplace=True)
for k in ['a', 'b']: F.pop(k)
for k in ['p', 'q']: F[k] = 1.0
for i, r in F.iterrows(): F.loc[i, 'z'] = r['a']
for i, r in F.iterrows(): F.at[i, 'a'] = 0.0
for i, r in F.iterrows(): F.drop(i, inplace=True) if i else None
for r in F.itertuples(): F.loc[r.Index, 'z'] = 1.0
for k, c in F.items(): F[k] = c.astype(str)
for i in range(len(F), 7): F.loc[i] = 0.0
while len(F) < 6: F.loc[len(F)] = 1.0
F['a'].fillna(0, inplace=True)
F['a'].replace(1.0, 0.0, inplace=True)
F['a'].update(pd.Series([9.0]))
F['a'].drop(0, inplace=True)
F[['a', 'b']].dropna(inplace=True)
F.copy().drop(0, inplace=True)
F.pipe(lambda d: d.drop(0, inplace=True))
F.pipe(pd.DataFrame.drop, 0, inplace=True)
F.apply(lambda c: F.pop(c.name) is None)
d = F; d['z'] = 1.0
d = F; d.drop(0, inplace=True)
d = e = F; e.loc[9] = 0.0
d = F.copy(deep=False); d['z'] = 1.0
d = F[:]; d.drop(0, inplace=True)
(F if True else None).insert(0, 'z', 1.0)
[F][0].drop(0, inplace=True)
{'f': F}['f'].drop(0, inplace=True)
(lambda d: d.drop(0, inplace=True))(F)
(d := F).drop(0, inplace=True)
[each.drop(0, inplace=True) for each in (F,)]
[each.pop('a') for each in [F, F.copy()]]
for each in [F]: each['z'] = 1.0
for each in (F, F.copy()): each.drop(0, inplace=True)
for k, each in {'f': F}.items(): each.drop(0, inplace=True)
for k, each in enumerate([F]): each.loc[9] = 0.0
for d, k in zip([F], [1]): d.drop(k, inplace=True)
getattr(F, 'drop')(0, inplace=True)
f = F.drop; f(0, inplace=True)
f = F.pop; f('a')
f = F.loc; f[9] = 0.0
f = F.at; f[9, 'a'] = 0.0
functools.partial(F.drop, 0, inplace=True)()
functools.partial(pd.DataFrame.drop, inplace=True)(F, 0)
pd.DataFrame.drop(F, 0, inplace=True)
pd.DataFrame.insert(F, 0, 'z', 1.0)
pd.DataFrame.__setitem__(F, 'z', 1.0)
type(F).drop(F, 0, inplace=True)
list(map(F.pop, ['a']))
list(map(lambda d: d.drop(0, inplace=True), [F]))
operator.methodcaller('pop', 'a')(F)
operator.methodcaller('drop', 0, inplace=True)(F)
operator.attrgetter('drop')(F)(0, inplace=True)
k = {'inplace': True}; F.drop(0, **k)
k = [0]; F.drop(*k, inplace=True)
F.drop(0, inplace=bool(1))
F += 1
F *= F
F -= F.mean()
F /= 'x' if 0 else 2
F['a'] += 1
F['z'] = F.groupby('b')['a'].transform('sum')
F['a'] = F.groupby('b')['a'].cumsum()
F['a'] = F.pop('b')
F['z'] = F.pop('a')
F[F['a'] > 2] = 0.0
F[F > 2] = np.nan
F[0:2] = 0.0
F[F['a'] > 99] = 'x'
F['a'], F['b'] = F['b'], F['a']
F['z'], _ = 1.0, 2
[F['z'], *_] = 1.0, 2
for F['z'] in [1.0]: pass
for F.loc[9] in [1.0]: pass
with contextlib.nullcontext(1.0) as F['z']: pass
with pd.option_context('mode.copy_on_write', True): F.drop(0, inplace=True)
F = F.dropna()
F = F.drop(0)
F = F.drop(columns='a')
F = F.drop([0, 1])
F = pd.concat([F, F])
F = pd.concat([F, F], axis=1)
F = pd.concat([F, F], ignore_index=True)
F = F.merge(F, on='c')
F = pd.merge(F, F, on='c', how='left')
F = F.groupby('c').mean()
F = F.groupby('c', as_index=False).sum()
F = F.groupby('c').agg(a=('a', 'sum'), b=('b', 'mean'))
F = F.groupby('c').head(1)
F = F.groupby('c').apply(lambda g: g.head(1))
F = F.groupby('c').filter(lambda g: len(g) > 9)
F = F.groupby('c', group_keys=False)[['a', 'b']].transform('mean')
F = F.groupby('c').get_group(1.0)
F = F.assign(a=[[1, 2]] * len(F)).explode('a')
F = F.T
F = F.melt()
F = F.pivot_table(index='c', values='a')
F = F.sample(2)
F = F.sample(frac=2.0, replace=True)
F = F.head(2)
F = F.tail()
F = F.query('a > 2')
F = F.nlargest(2, 'a')
F = F.reset_index()
F = F.set_index('a')
F = F.set_index('a', drop=False)
F = F.set_index('a').reset_index()
F = F.sort_values('a')
F = F.describe()
F = F.corr()
F = F.iloc[::2]
F = F.iloc[1:3]
F = F.iloc[:, ::-1]
F = F.loc[:, ['b', 'a']]
F = F[['a', 'a', 'b']]
F = F[['b', 'a']]
F = F[F['a'] > 2]
F = F[F.columns[1:]]
F = F.loc[:, F.columns != 'a']
F = F.iloc[[0, 0, 1]]
F = F.assign(z=1)
F = F.assign(a=lambda d: d['b'].astype(str))
F = F.select_dtypes('number')
F = F.join(F, rsuffix='_r')
F = F.join(F.set_index('c'), on='c', rsuffix='_r')
F = F.reindex(range(7))
F = F.reindex(columns=['a', 'z'])
F = F.apply(np.sqrt)
F = F.apply(lambda r: r * 2, axis=1)
F = F.map(lambda v: str(v))
F = F.agg(['mean', 'std'])
F = F.rolling(2).mean()
F = F.rolling(2).agg(['mean', 'std'])
F = F.astype(str)
F = F.astype('float32')
F = F.astype({'a': 'Int64'})
F = F.convert_dtypes()
F = F.where(F > 2)
F = F.shift([1, 2])
F = F.shift(1)
F = F.diff().dropna()
F = F.stack().reset_index()
F = F.stack().to_frame()
F = F.reset_index().melt(id_vars='c')
F = F.value_counts().reset_index()
F = F.isin([1.0])
F = F.isna()
F = F.quantile([0.1, 0.5])
F = F.mode()
F = F.cumsum()
F = F.add_prefix('p_')
F = F.rename(columns={'a': 'b'})
F = F.rename(columns=str.upper)
F = F.add(1).sub(F).fillna(0)
F = F.combine_first(pd.DataFrame({'a': [1.0] * 9}))
F = F.align(F.head(2))[0]
F = F.truncate(1, 2)
F = F.drop_duplicates('c')
F = F.resample('D').mean() if 0 else F.head(1)
F = F.copy()
F = F.eval('z = a + b')
F = F.transform(lambda c: c - c.mean())
F = F.transform(['sqrt', 'exp'])
F = F.squeeze()
F = F.iloc[:, 0].to_frame()
F = F['a']
F = F.sum()
F = F * F['a']
F = F + F.iloc[0]
F = F - F.mean()
F = F.sub(F['a'], axis=0)
F = F + F.head(2)
F = F == F.iloc[0]
F = F @ np.ones((3, 4))
F = F.dot(F.T)
F = pd.get_dummies(F['a'])
F = pd.get_dummies(F, columns=['c'])
F = pd.cut(F['a'], 2).to_frame()
F = pd.crosstab(F['a'], F['c'])
F = pd.DataFrame(F.values)
F = pd.DataFrame(F.to_dict())
F = pd.DataFrame(F.to_dict('records'))
F = pd.DataFrame([dict(r) for _, r in F.iterrows()])
F = pd.DataFrame(F, columns=['a'])
F = pd.DataFrame(F, index=[0, 1])
F = pd.DataFrame(F['a'])
F = pd.DataFrame({'a': F['a'], 'b': F['b'].head(2)})
F = pd.DataFrame({'a': F['a'], 'b': 1})
F = pd.DataFrame({'a': F['a'].values, 'b': 1})
F = pd.DataFrame(dict(a=[1.0, 2.0], b=[3, 4]))
F = pd.DataFrame(list(zip(F['a'], F['b'])), columns=['a', 'b'])
F = pd.json_normalize([{'a': 1.0}])
F = copy.deepcopy(F)
F = copy.copy(F)
F = {k: g for k, g in F.groupby('c')}[1.0]
F = [g for _, g in F.groupby('c')][0]
F = next(iter(F.groupby('c')))[1]
F = functools.reduce(lambda l, r: pd.merge(l, r, on='c'), [F, F])
F = sorted([F], key=len)[0]
""".strip().splitlines()
OF_SERIES = """
S[9] = 1.0
S.loc[9] = 1.0
S.at[9] = 1.0
S.iloc[0] = 1.0
S[0] = 2.0
S[0] = 'x'
S['x'] = 1.0
S[0:2] = 2.0
S[S > 2] = 2.0
S.loc[S > 2] = np.nan
S[:] = 0.0
S.drop(0, inplace=True)
S.drop(index=[0], inplace=True)
S.loc[0] = np.nan; S.dropna(inplace=True)
S.fillna(0, inplace=True)
S.pop(0)
del S[0]
S.update(pd.Series([9.0]))
S.index = range(5, 5 + len(S))
S.index = [0] * len(S)
S.name = 'b'
S.reset_index(drop=True, inplace=True)
S.sort_values(inplace=True, ascending=False)
S.sort_index(inplace=True, ascending=False)
S.replace(1.0, 2.0, inplace=True)
S.replace(1.0, 'x', inplace=True)
S.clip(0, 2, inplace=True)
S.drop_duplicates(inplace=True)
S.rename('z', inplace=True)
S.rename({0: 7}, inplace=True)
S.where(S > 2, 'x', inplace=True)
S.__setitem__(9, 1.0)
S.__delitem__(0)
operator.setitem(S, 9, 1.0)
operator.delitem(S, 0)
setattr(S, 'index', range(5, 5 + len(S)))
s = S; s[9] = 1.0
s = S; s.drop(0, inplace=True)
s = S[:]; s[9] = 1.0
f = S.drop; f(0, inplace=True)
f = S.pop; f(0)
f = S.loc; f[9] = 0.0
pd.Series.drop(S, 0, inplace=True)
type(S).pop(S, 0)
[each.drop(0, inplace=True) for each in (S,)]
for each in [S]: each[9] = 1.0
for i in range(len(S), 7): S.loc[i] = 0.0
for i, v in S.items(): S[i + 10] = v
for S[9] in [1.0]: pass
S[9], _ = 1.0, 2
list(map(S.pop, [0]))
S += 1
S += S.head(2)
S -= S.iloc[::-1]
S *= np.ones(len(S))
S /= 2
S **= 2
S //= S
S %= 2
S &= S > 1
S = S.dropna()
S = S.drop(0)
S = S.head(2)
S = S.tail(1)
S = S.sample(2)
S = S.reset_index()
S = S.reset_index(drop=True)
S = S.explode()
S = S.map({1.0: 'x'})
S = S.map(str)
S = S.map(lambda v: [v])
S = S.apply(np.sqrt)
S = S.apply(lambda v: 'x')
S = S.apply(lambda v: pd.Series([v, v]))
S = S.apply([np.sqrt, np.exp])
S = S.value_counts()
S = S.unique()
S = pd.Series(S.unique())
S = S.groupby(S).sum()
S = S.groupby(S).transform('sum')
S = S.groupby(S).head(1)
S = S.astype('category')
S = S.astype(str)
S = S.astype('Int64')
S = S.astype('float32')
S = S.convert_dtypes()
S = S.to_frame()
S = S.to_frame().T
S = S.quantile([0.1, 0.5])
S = S.mode()
S = S.rename('z')
S = S.rename({0: 7})
S = S.shift(1)
S = S.shift([1, 2])
S = S.diff()
S = S.cumsum()
S = S.rank()
S = S.T
S = S.sort_values()
S = S.iloc[::-1]
S = S.iloc[[0, 0, 1]]
S = S.iloc[1:]
S = S[1:]
S = S[S > 2]
S = S[[0, 1]]
S = S.loc[1:]
S = S.reindex(range(7))
S = S.add(1)
S = S.add(S.head(2))
S = S + S.head(2)
S = S + S.iloc[::-1]
S = S + S.sort_values(ascending=False).reset_index(drop=True)
S = S > 2
S = ~(S > 2)
S = -S
S = S == S
S = S.isin([1.0])
S = S.between(1, 2)
S = S.isna()
S = S.rolling(2).mean()
S = S.rolling(2).agg(['mean', 'std'])
S = S.rolling(2, step=2).mean()
S = S.expanding().sum()
S = S.ewm(span=2).mean()
S = S.agg(['mean', 'std'])
S = S.describe()
S = S.clip(0, 2)
S = S.where(S > 2)
S = S.where(S > 2, 'x')
S = S.mask(S > 2)
S = S.replace(1.0, 'x')
S = S.fillna(0)
S = S.nlargest(2)
S = S.drop_duplicates()
S = S.combine_first(pd.Series([1.0] * 9))
S = S.align(S.head(2))[0]
S = S.to_list()
S = S.values
S = S.to_numpy()
S = S.array
S = S.index
S = S.repeat(2)
S = S.dot(S)
S = S.sum()
S = S.searchsorted([1.0, 2.0])
S = S.str.len() if 0 else S.astype(str).str.len()
S = S.astype(str).str.split('.')
S = S.astype(str).str.split('.', expand=True)
S = pd.to_datetime(S).dt.year
S = pd.to_numeric(S)
S = pd.cut(S, 2)
S = pd.concat([S, S])
S = pd.concat([S, S], axis=1)
S = pd.Series(S, index=[0, 1])
S = pd.Series(S.values)
S = pd.Series(list(S))
S = pd.Series(dict(S))
S = pd.Series({'a': 1.0, 'b': 2.0})
S = pd.Series(1.0, index=[0, 1])
S = pd.Series(range(3))
S = pd.Series(np.ones(3), name='z')
S = pd.get_dummies(S)
S = copy.deepcopy(S)
S = np.log(S)
S = np.add(S, 1)
S = np.where(S > 2, 1.0, 0.0)
S = np.clip(S, 0, 1)
S = np.sqrt(S) + S.iloc[::2]
S = np.diff(S)
S = np.append(S, 1.0)
S = np.concatenate([S, S])
S = np.stack([S, S])
S = np.unique(S)
S = np.asarray(S)[:, None]
S = S.values[:, None]
S = S.values.reshape(-1, 1)
""".strip().splitlines()
_FRAME_READ = """
a = F['a'].values
b_ = F.values
c = F[['a', 'b']].to_numpy()
e = np.zeros(len(F))
f_ = (F['a'] - F['b']).values
g_ = F.drop(columns=['a']).values
h_ = F.iloc[:, -1].values
j = np.zeros(F.shape)
l = F.mean().values
m_ = F.a.values
o_ = torch.tensor(F['b'].values)
p_ = np.zeros((9, 1)) * F['b'].sum()
q_ = F.T.values
r_ = (F - F.mean()).values
s_ = F['b'].rolling(2).mean().values
t_ = F.groupby('c')['a'].transform('mean').values
u_ = F[F['b'] > 2].values
v_ = F.iloc[0].values
w_ = F[['a']].values
x = np.array(F['a'])
y = np.zeros(len(F['a']))
z = F.iloc[:, 1:].to_numpy()
aa = np.asarray(F)
ab = F.a.to_numpy()
ac = F.columns.values
ad = F.iloc[:, 0].to_numpy()
ae = F.loc[:, ['b', 'c']].values
af = F.sum(axis=1).values
ag = F['b'].values * F['b'].mean()
ah = np.zeros(len(F.columns))
ai = F.index.values
aj = F.head(2).values
ak = np.array([row for row in F.values])
al = F.size
am = np.ones(F.shape[0]) * 2
an = np.column_stack([F['a'], F['b']])
ao = F[['a', 'b']].mean(axis=1).values
ap = F['a'].to_frame().values
aq = np.log(F['b'] + 1).values
ar = (F['a'] > 1).values
at = torch.from_numpy(F[['b']].to_numpy())
au = F.sort_values('b').values
av = F.rename(columns={'a': 'k'}).values
""".strip()
_SERIES_READ = """
a = S.values
b_ = S.to_numpy()
c = (S + 1).values
e = np.zeros(len(S))
f_ = (S - S.shift(1)).values
g_ = np.array(S)
h_ = S[S > 1].values
j = np.zeros(S.shape)
l = S.rolling(2).mean().values
m_ = torch.tensor(S.values)
o_ = np.zeros((9, 1)) * S.sum()
p_ = (S - S.mean()).values
q_ = np.log(S).values
r_ = (S > 1).values
s_ = S.values[:, None]
t_ = S.to_frame().values
u_ = (S + F['a']).values
v_ = (S * F['b']).to_numpy()
w_ = S.iloc[1:].values
""".strip()
_FRAME = "pd.DataFrame({'a': [1.0, 2.0, 3.0, 4.0], 'b': [5.0, 6.0, 7.0, 8.0], 'c': [0.0, 1.0, 0.0, 1.0]})"
_READ_FRAME = "pd.read_csv(io.StringIO('a,b,c\\n1,5,0\\n2,6,1\\n3,7,0\\n4,8,1\\n'))"
_OF_ARRAY = "pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=['a', 'b', 'c'])"
_OF_RECORDS = (
    "pd.DataFrame([{'a': 1.0, 'b': 5.0, 'c': 0.0}, {'a': 2.0, 'b': 6.0, 'c': 1.0}, {'a': 3.0, 'b': 7.0, 'c': 1.0}])"
)
_OF_TEXT = "pd.DataFrame({'a': [1.0, 2.0, 3.0], 'b': [1, 2, 3], 'c': ['p', 'q', 'p']})"
_SERIES = "pd.Series([1.0, 2.0, 3.0, 4.0])"

_FIT = """import numpy as np
from sklearn.base import clone, BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, MinMaxScaler, StandardScaler
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, OneHotEncoder
from sklearn.datasets import load_iris, make_moons, make_regression
X = np.random.default_rng(0).random((12, 3))
y = X @ np.ones(3)
Y2 = X @ np.ones((3, 2))
y3 = np.arange(12) % 3
Xb, yb = make_moons(12, random_state=0)
"""
OF_REGRESSORS = """
M.fit(X, Y2)
M.fit(X, y[:, None])
M.fit(X[:, :2], y)
M.fit(X=X, y=Y2)
M.fit(X, Y2).score(X, Y2)
M.fit(X, Y2, np.ones(12))
M.fit(X, y, sample_weight=np.ones(12))
M.set_params(fit_intercept=False).fit(X, Y2)
M.set_params(fit_intercept=False); M.fit(X, y)
M.fit_intercept = False; M.fit(X, y)
M.coef_ = np.ones((2, 3))
M.coef_ = M.coef_[None]
M.coef_.resize((1, 3), refcheck=False)
M.coef_.shape = (1, 3)
M.coef_ = M.coef_[:2]
M.intercept_ = np.zeros(2)
M.coef_, M.intercept_ = np.ones((2, 3)), np.zeros(2)
setattr(M, 'coef_', np.ones((2, 3)))
M.__dict__['coef_'] = np.ones((2, 3))
M.__dict__.update(coef_=np.ones((2, 3)))
vars(M)['coef_'] = np.ones((2, 3))
vars(M).update(intercept_=np.ones(2))
M.__setattr__('coef_', np.ones((2, 3)))
object.__setattr__(M, 'coef_', np.ones((2, 3)))
M.__setstate__({'coef_': np.ones((2, 3)), 'intercept_': np.zeros(2)})
M.__setstate__(LinearRegression().fit(X, Y2).__getstate__())
M.__dict__.update(LinearRegression().fit(X, Y2).__dict__)
M.__dict__ = LinearRegression().fit(X, Y2).__dict__
M.predict = lambda X: np.zeros((len(X), 2))
setattr(M, 'predict', lambda X: np.zeros(3))
M.__init__(fit_intercept=False); M.fit(X, Y2)
M.__class__ = type('Mine', (LinearRegression,), {'predict': lambda self, X: np.zeros(2)})
for M.coef_ in [np.ones((2, 3))]: pass
with contextlib.nullcontext(np.ones((2, 3))) as M.coef_: pass
del M.coef_; M.coef_ = np.ones((2, 3))
for k in ('coef_',): setattr(M, k, np.ones((2, 3)))
for k, v in {'coef_': np.ones((2, 3))}.items(): setattr(M, k, v)
m = M; m.fit(X, Y2)
m = M; m.coef_ = np.ones((2, 3))
(m := M).fit(X, Y2)
f = M.fit; f(X, Y2)
getattr(M, 'fit')(X, Y2)
functools.partial(M.fit, X)(Y2)
LinearRegression.fit(M, X, Y2)
type(M).fit(M, X, Y2)
M.__class__.fit(M, X, Y2)
list(map(M.fit, [X], [Y2]))
operator.methodcaller('fit', X, Y2)(M)
operator.attrgetter('fit')(M)(X, Y2)
[each.fit(X, Y2) for each in (M,)]
for each in [M, LinearRegression()]: each.fit(X, Y2)
for k, each in {'m': M}.items(): each.fit(X, Y2)
for k, each in [('m', M)]: each.fit(X, Y2)
for each, k in zip([M], [1]): each.fit(X, Y2)
for t in (y, Y2): M.fit(X, t)
{'m': M}['m'].fit(X, Y2)
[M][0].fit(X, Y2)
(M if X is not None else None).fit(X, Y2)
(lambda m: m.fit(X, Y2))(M)
make_pipeline(M).fit(X, Y2)
make_pipeline(StandardScaler(), M).fit(X, Y2)
Pipeline([('s', StandardScaler()), ('m', M)]).fit(X, Y2)
p = Pipeline([('m', M)]); p.fit(X, Y2)
p = Pipeline(steps=[('m', M)]); p.fit(X, Y2)
p = make_pipeline(M); p[-1].fit(X, Y2)
p = make_pipeline(M); p.named_steps['linearregression'].fit(X, Y2)
p = make_pipeline(M); p.steps[0][1].fit(X, Y2)
p = make_pipeline(M); p.set_params(linearregression__fit_intercept=False).fit(X, Y2)
cross_val_score(M, X, Y2, cv=2)
cross_val_predict(M, X, Y2, cv=2)
GridSearchCV(M, {'fit_intercept': [True]}, cv=2).fit(X, Y2)
g = GridSearchCV(M, {'fit_intercept': [True]}, cv=2).fit(X, Y2); M = g.best_estimator_
TransformedTargetRegressor(M).fit(X, Y2)
clone(M).fit(X, Y2)
copy.copy(M).fit(X, Y2)
copy.deepcopy(M).fit(X, Y2)
c = copy.copy(M); c.coef_ = np.ones((2, 3))
c = copy.copy(M); c.coef_.shape = (1, 3)
M = clone(M).fit(X, Y2)
M = LinearRegression().fit(X, Y2)
M = Ridge().fit(X, y)
M = LinearRegression(); M.fit(X, Y2)
M = copy.copy(M).fit(X, Y2)
M = M.fit(X, Y2)
M = make_pipeline(M).fit(X, Y2)[-1]
M = make_pipeline(StandardScaler(), PolynomialFeatures(), LinearRegression()).fit(X, y)[-1]
M = GridSearchCV(Ridge(), {'alpha': [1.0]}, cv=2).fit(X, Y2)
M = GridSearchCV(Ridge(), {'alpha': [1.0]}, cv=2).fit(X, Y2).best_estimator_
M = TransformedTargetRegressor(LinearRegression()).fit(X, y)
M = [LinearRegression().fit(X, t) for t in (y, Y2)][-1]
M = {'m': LinearRegression().fit(X, Y2)}['m']
M = [M, LinearRegression().fit(X, Y2)][int('1')]
M = random.choice([LinearRegression().fit(X, Y2)])
M = M if random.random() > 2 else LinearRegression().fit(X, Y2)
M.fit(*(X, Y2))
M.fit(**{'X': X, 'y': Y2})
M.fit(*[X, Y2])
M.set_params(**{'fit_intercept': False}).fit(X, Y2)
M.get_params()
M.get_params()['x'] = 1
M.score(X, y)
M.n_features_in_ = 5
M.fit(X.tolist(), Y2.tolist())
M.fit(X, list(map(list, Y2)))
M.fit(np.vstack([X, X]), np.vstack([Y2, Y2]))
M.fit(X, np.column_stack([y, y]))
M.fit(np.c_[X, X], y)
M.positive = True; M.fit(X, y)
""".strip().splitlines()
_REGRESSOR_READ = """
a = M.predict(X)
b_ = M.coef_
c = M.intercept_
e = M.predict(X[:2])
f_ = M.coef_ * 2
g_ = X[:, :2] @ np.ones(2)
h_ = M.predict(X) - y
j = M.coef_.T
l = np.abs(M.coef_)
m_ = M.coef_[0]
o_ = M.predict(X[:, :2])
p_ = M.intercept_ + X[:, 0]
""".strip()
_MODELS = """
class Box(BASE):
    def __init__(self):
        self.sc = StandardScaler().fit(X)
        self.pca = PCA(2).fit(X)
        self.pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
        self.km = KMeans(2, n_init=1).fit(X)
        self.clf = LogisticRegression().fit(Xb, yb)
        self.nn = NearestNeighbors(n_neighbors=2).fit(X)
        self.kn = KNeighborsClassifier(2).fit(Xb, yb)
        self.lb = LabelBinarizer()
        self.data = load_iris()
INIT
METHODS
    def read(self):
        a = self.sc.transform(X)
        b = self.pca.transform(X)
        c = self.pipe.predict(X)
        e = self.km.predict(X)
        f = self.clf.predict_proba(Xb)
        g = self.clf.decision_function(Xb)
        h, i = self.nn.kneighbors(X)
        j = self.kn.predict_proba(Xb)
        k = self.data.data
        l = self.sc.mean_
        m = self.pca.components_
        n = self.km.cluster_centers_
        o = self.clf.coef_
        p = self.data["target"]
"""
_MODELS_READ = """
a = BOX.sc.transform(X)
b_ = BOX.sc.mean_
c = BOX.pca.transform(X)
e = BOX.pca.components_
f_ = BOX.pipe.predict(X)
g_ = BOX.km.predict(X)
h_ = BOX.km.cluster_centers_
j = BOX.clf.predict_proba(Xb)
l = BOX.clf.decision_function(Xb)
m_ = BOX.clf.coef_
o_, p_ = BOX.nn.kneighbors(X)
q_ = BOX.kn.predict_proba(Xb)
r_ = BOX.lb.fit_transform(yb)
s_ = BOX.data.data
t_ = BOX.data["target"]
u_ = BOX.pipe[-1].coef_
v_ = BOX.pipe.named_steps["linearregression"].coef_
w_ = BOX.pca.explained_variance_
aa = BOX.km.labels_
ab = BOX.sc.scale_
ac = BOX.clf.intercept_
ad = BOX.sc.inverse_transform(X)
ae = BOX.pca.mean_
af = BOX.km.transform(X)
ag = BOX.clf.predict(Xb)
ah = BOX.pca.transform(X[:, :2])
ai = BOX.sc.transform(X[:, :2])
aj = BOX.km.fit_predict(X)
BOX.read()
""".strip()
OF_MODELS = """
BOX.sc.fit(X[:, :2])
BOX.sc.fit_transform(X[:, :2])
BOX.sc.partial_fit(X)
BOX.sc.set_params(with_mean=False).fit(X)
BOX.sc.set_params(with_std=False, with_mean=False).fit(X)
BOX.sc.with_mean = False; BOX.sc.with_std = False; BOX.sc.fit(X)
BOX.sc.mean_ = np.zeros((1, 3))
BOX.sc.mean_ = None
BOX.sc.set_output(transform='pandas')
BOX.sc.transform = lambda X: X[:2]
BOX.sc.__dict__.update(mean_=np.zeros((1, 3)))
setattr(BOX.sc, 'mean_', np.zeros((1, 3)))
BOX.sc = MinMaxScaler().fit(X)
BOX.sc = FunctionTransformer(lambda x: x[:, :1])
BOX.sc = ColumnTransformer([('k', StandardScaler(), [0])]).fit(X)
BOX.sc = PolynomialFeatures(2).fit(X)
BOX.sc = make_pipeline(StandardScaler(), PCA(1)).fit(X)
BOX.sc = OneHotEncoder().fit(X)
BOX.pca.fit(X[:, :2])
BOX.pca.set_params(n_components=1).fit(X)
BOX.pca.n_components = 1; BOX.pca.fit(X)
setattr(BOX.pca, 'n_components', 1); BOX.pca.fit(X)
BOX.pca.__init__(1); BOX.pca.fit(X)
BOX.pca.__dict__['n_components'] = 1; BOX.pca.fit(X)
vars(BOX.pca).update(n_components=1); BOX.pca.fit(X)
for k, v in {'n_components': 1}.items(): setattr(BOX.pca, k, v); BOX.pca.fit(X)
BOX.pca.set_params(**{'n_components': 1}); BOX.pca.fit(X)
p = BOX.pca; p.set_params(n_components=1); p.fit(X)
p = BOX.pca; p.n_components = 1; p.fit(X)
BOX.pca.components_ = BOX.pca.components_[:1]
BOX.pca.n_components_ = 1
BOX.pca.mean_ = None
BOX.pca = PCA(1).fit(X)
BOX.pca = PCA(n_components=0.5).fit(X)
BOX.pca = PCA('mle').fit(X)
BOX.pca = PCA().set_params(n_components=1).fit(X)
BOX.pca = clone(BOX.pca).set_params(n_components=1).fit(X)
BOX.pipe.fit(X, Y2)
BOX.pipe[-1].fit(X, Y2)
BOX.pipe.named_steps['linearregression'].fit(X, Y2)
BOX.pipe.named_steps.linearregression.fit(X, Y2)
BOX.pipe.steps[-1][1].fit(X, Y2)
BOX.pipe.steps[-1] = ('linearregression', LinearRegression().fit(X, Y2))
BOX.pipe.steps[-1:] = [('linearregression', LinearRegression().fit(X, Y2))]
BOX.pipe.steps.append(('last', LinearRegression())); BOX.pipe.fit(X, Y2)
BOX.pipe.steps = [('linearregression', LinearRegression().fit(X, Y2))]
BOX.pipe.steps.pop(0); BOX.pipe.fit(X, Y2)
s = BOX.pipe.steps; s[-1] = ('linearregression', LinearRegression().fit(X, Y2))
BOX.pipe.set_params(linearregression=LinearRegression().fit(X, Y2))
BOX.pipe.set_params(linearregression=KMeans(2)).fit(X)
BOX.pipe.set_params(standardscaler='passthrough').fit(X, Y2)
BOX.pipe.set_params(linearregression__fit_intercept=False).fit(X, Y2)
BOX.pipe.steps[0] = ('standardscaler', PolynomialFeatures()); BOX.pipe.fit(X, y)
BOX.pipe.predict = lambda X: np.zeros((2, 2))
BOX.pipe = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y2)
BOX.pipe = Pipeline([('s', PCA(1)), ('linearregression', LinearRegression())]).fit(X, y)
BOX.pipe = GridSearchCV(BOX.pipe, {'linearregression__fit_intercept': [True]}, cv=2).fit(X, Y2)
BOX.pipe = clone(BOX.pipe).fit(X, Y2)
BOX.pipe.fit(X[:, :2], y)
m = BOX.pipe[-1]; m.fit(X, Y2)
m = BOX.pipe[1]; m.coef_ = np.ones((1, 3))
for k, m in BOX.pipe.steps: m.fit(X, Y2)
for m in BOX.pipe: m.fit(X, Y2)
BOX.km.fit(X[:, :2])
BOX.km.set_params(n_clusters=3).fit(X)
BOX.km.n_clusters = 3; BOX.km.fit(X)
BOX.km.fit(X[:6])
BOX.km.fit_predict(X[:6])
BOX.km.cluster_centers_ = BOX.km.cluster_centers_[:1]
BOX.km.labels_ = BOX.km.labels_[:3]
BOX.km = KMeans(3, n_init=1).fit(X)
BOX.km = KMeans(n_clusters=int('3'), n_init=1).fit(X)
BOX.clf.fit(X, y3)
BOX.clf.fit(Xb, np.arange(12) % 3)
BOX.clf.classes_ = np.arange(3)
BOX.clf.coef_ = np.ones((3, 2)); BOX.clf.intercept_ = np.ones(3)
BOX.clf.coef_ = BOX.clf.coef_[0]
BOX.clf.fit(Xb, yb, sample_weight=np.ones(12))
BOX.clf = SGDClassifier(loss='log_loss').partial_fit(Xb, yb, classes=[0, 1, 2])
BOX.clf = SGDClassifier(loss='log_loss').partial_fit(Xb, yb, [0, 1, 2])
BOX.clf = RandomForestClassifier(2).fit(Xb, yb)
BOX.clf = LogisticRegression(warm_start=True).fit(Xb, np.arange(12) % 3)
BOX.clf = GridSearchCV(LogisticRegression(), {'C': [1.0]}, cv=2).fit(Xb, np.arange(12) % 3)
BOX.clf = LogisticRegression().fit(Xb, yb.astype(str))
BOX.clf = LogisticRegression().fit(Xb, yb > 0)
yb[0] = 2; BOX.clf.fit(Xb, yb)
np.put(yb, 0, 2); BOX.clf.fit(Xb, yb)
yb.put(0, 2); BOX.clf.fit(Xb, yb)
yb += np.arange(12); BOX.clf.fit(Xb, yb)
yb.fill(0); yb[3:] = 1; yb[5:] = 2; BOX.clf.fit(Xb, yb)
np.copyto(yb, np.arange(12) % 3); BOX.clf.fit(Xb, yb)
np.add(yb, np.arange(12) % 2, out=yb); BOX.clf.fit(Xb, yb)
np.place(yb, Xb[:, 0] > 1, 2); BOX.clf.fit(Xb, yb)
BOX.nn.set_params(n_neighbors=3)
BOX.nn.n_neighbors = 3
setattr(BOX.nn, 'n_neighbors', 3)
BOX.nn.__dict__.update(n_neighbors=3)
vars(BOX.nn)['n_neighbors'] = 3
BOX.nn.__init__(n_neighbors=3); BOX.nn.fit(X)
BOX.nn.kneighbors = lambda X: (np.zeros(1), np.zeros(2))
BOX.nn = NearestNeighbors(n_neighbors=3).fit(X)
BOX.kn.fit(Xb, np.arange(12) % 3)
BOX.kn.fit(Xb, np.column_stack([yb, yb]))
BOX.lb.fit_transform = lambda y: np.zeros(2)
BOX.lb.sparse_output = True
BOX.lb.set_params(neg_label=-1)
BOX.data.data = BOX.data.data[:5]
BOX.data['data'] = BOX.data['data'][:5]
BOX.data.update(data=np.zeros((2, 2)), target=np.zeros((2, 2)))
setattr(BOX.data, 'data', np.zeros(2))
BOX.data.__setattr__('target', np.zeros((2, 2)))
BOX.data.data.shape = (300, 2)
BOX.data.target = BOX.data.target[:, None]
BOX.data.target.resize((5, 30), refcheck=False)
BOX.data = load_iris(as_frame=True)
d = BOX.data; d.data = d.data[:5]
d = BOX.data.data; d.shape = (300, 2)
for k in ('data', 'target'): BOX.data[k] = np.zeros((2, 2))
for k in list(BOX.data): BOX.data[k] = np.zeros((2, 2))
operator.setitem(BOX.data, 'data', np.zeros(2))
dict.update(BOX.data, data=np.zeros(2))
BOX.data.pop('data'); BOX.data.setdefault('data', np.zeros(2))
BOX.data |= {'data': np.zeros(2)}
for each in (BOX.sc, BOX.pca, BOX.km): each.fit(X[:, :2])
[each.fit(X[:, :2]) for each in (BOX.sc, BOX.pca)]
for k in ('sc', 'pca'): getattr(BOX, k).fit(X[:, :2])
for k in list(vars(BOX)): vars(BOX)[k] = PCA(1).fit(X)
""".strip().splitlines()

_ARRAYS_HEAD = """import numpy as np
import scipy.interpolate, scipy.optimize, scipy.sparse, scipy.spatial, scipy.stats
from scipy.interpolate import CubicSpline, interp1d
from scipy.spatial import KDTree
from scipy.stats import gaussian_kde, norm
"""
_ARRAYS = """
class Box(BASE):
    def __init__(self):
        self.a = np.arange(12.0)
        self.m = np.ones((3, 4))
        self.r = np.zeros(3, dtype=[("x", float), ("p", float, (2,))])
        self.ma = np.ma.masked_array(np.ones(4), [0, 1, 0, 1])
        self.sp = scipy.sparse.csr_matrix(np.eye(3))
        self.f = interp1d([0.0, 1.0], [1.0, 2.0])
        self.n = norm(loc=0.0)
        self.k = gaussian_kde(np.arange(5.0))
        self.t = KDTree(np.random.rand(5, 2))
        self.o = scipy.optimize.minimize(lambda v: (v ** 2).sum(), np.ones(2))
        self.g = np.random.default_rng(0)
        self.q = np.poly1d([1.0, 2.0])
INIT
METHODS
    def read(self):
        a = self.a * 2
        b = self.m.T
        c = self.r["x"]
        d = self.ma * 2
        e = self.sp.toarray()
        f = self.f(np.zeros(3))
        g = self.n.pdf(np.zeros(3))
        h = self.o.x
        i = self.r["p"]
        j = self.g.normal(size=self.a.shape)
"""
_ARRAYS_READ = """
a = BOX.a * 2
b_ = BOX.m.T
c = BOX.r["x"]
e = BOX.r["p"]
f_ = BOX.ma * 2
g_ = BOX.sp.toarray()
h_ = BOX.sp @ np.ones(3)
j = BOX.f(np.zeros(3))
l = BOX.n.pdf(np.zeros(3))
m_ = BOX.n.rvs(3)
o_ = BOX.k(np.zeros(3))
p_, q_ = BOX.t.query(np.zeros((3, 2)))
r_ = BOX.o.x
s_ = BOX.g.normal(size=BOX.a.shape)
t_ = BOX.q(np.zeros(3))
u_ = BOX.m[0]
v_ = BOX.a[:, None]
w_ = BOX.m @ np.ones(4)
aa = np.zeros(BOX.a.size)
ab = BOX.n.cdf(np.zeros((2, 3)))
ac = BOX.o.x * 2
ad = BOX.ma.mask
BOX.read()
""".strip()
OF_ARRAYS = """
BOX.a.shape = (3, 4)
BOX.a.shape = -1, 1
BOX.a.resize((2, 3), refcheck=False)
BOX.a.resize(5, refcheck=False)
BOX.a = np.resize(BOX.a, (2, 2))
BOX.a.dtype = 'float32'
BOX.a.dtype = np.complex128
setattr(BOX.a, 'shape', (3, 4))
BOX.a.__setattr__('shape', (3, 4))
np.ndarray.resize(BOX.a, (2, 3), refcheck=False)
f = BOX.a.resize; f((2, 3), refcheck=False)
d = BOX.a; d.shape = (3, 4)
d = BOX.a; d.resize((2, 3), refcheck=False)
d = np.asarray(BOX.a); d.shape = (3, 4)
d = np.asanyarray(BOX.a); d.shape = (3, 4)
d = BOX.a.view(); d.shape = (3, 4)
d = BOX.a[:]; d.shape = (3, 4)
d = np.ascontiguousarray(BOX.a); d.shape = (3, 4)
d = np.require(BOX.a); d.shape = (3, 4)
d = np.array(BOX.a, copy=False); d.shape = (3, 4)
d = np.array(BOX.a, copy=None); d.shape = (3, 4)
d = BOX.a.astype(float, copy=False); d.shape = (3, 4)
d = np.nan_to_num(BOX.a, copy=False); d.shape = (3, 4)
d = np.atleast_1d(BOX.a); d.shape = (3, 4)
d = np.squeeze(BOX.a); d.shape = (3, 4)
d = np.add(BOX.a, 1, out=BOX.a); d.shape = (3, 4)
d = np.add(BOX.a, 1, BOX.a); d.shape = (3, 4)
d = BOX.a.sum(0, out=None); BOX.a.shape = (3, 4)
d = np.clip(BOX.a, 0, 1, out=BOX.a); d.shape = (3, 4)
d = BOX.a.clip(0, 1, BOX.a); d.shape = (3, 4)
d = BOX.a.__iadd__(1); d.shape = (3, 4)
d = operator.iadd(BOX.a, 1); d.shape = (3, 4)
d = BOX.a; d += 1; d.shape = (3, 4)
[d] = [BOX.a]; d.shape = (3, 4)
for d in [BOX.a]: d.shape = (3, 4)
for d in (BOX.a, BOX.m): d.shape = (2, 6)
for BOX.a.shape in [(3, 4)]: pass
BOX.a.shape, _ = (3, 4), 1
(BOX.a if BOX.a.any() else None).shape = (3, 4)
[setattr(d, 'shape', (3, 4)) for d in (BOX.a,)]
BOX.a = BOX.a.reshape(3, 4)
BOX.a = np.append(BOX.a, 1.0)
BOX.a = np.delete(BOX.a, 0)
BOX.a = np.insert(BOX.a, 0, 1.0)
BOX.a = BOX.a[BOX.a > 2]
BOX.a += np.ones(12)
np.place(BOX.a, BOX.a > 2, 0.0)
np.put(BOX.a, 0, 1.0)
np.copyto(BOX.a, 1.0)
BOX.a.sort()
BOX.a.fill(1)
BOX.a.partition(3)
BOX.a.setflags(write=False)
BOX.m.shape = 12
BOX.m.shape = (4, 3)
BOX.m.shape = BOX.m.shape[::-1]
BOX.m.shape += (1,)
BOX.m.resize((2, 2), refcheck=False)
BOX.m = np.asmatrix(BOX.m)
BOX.m = BOX.m[None]
BOX.m = np.matrix([[1.0, 2.0]])
BOX.m.dtype = 'float32'
BOX.r = BOX.r[:2]
BOX.r.dtype.names = ('p', 'x')
BOX.r.shape = (3, 1)
BOX.r.resize(5, refcheck=False)
BOX.r = np.zeros(3, dtype=[('x', float, (2,)), ('p', float)])
BOX.r = np.rec.array([(1.0, 2.0)], dtype=[('x', float), ('p', float)])
BOX.r = np.core.records.fromrecords([(1.0, 2.0)], names='x,p')
BOX.ma.shape = (2, 2)
BOX.ma = np.ma.compressed(BOX.ma)
BOX.ma = BOX.ma.compressed()
BOX.ma.mask = False
BOX.ma.resize((2, 2), refcheck=False)
BOX.sp.resize((5, 5))
BOX.sp.resize(5, 5)
BOX.sp = BOX.sp.reshape((9, 1))
BOX.sp = BOX.sp[:2]
BOX.sp = scipy.sparse.coo_array(np.ones(3))
BOX.sp = scipy.sparse.vstack([BOX.sp, BOX.sp])
BOX.sp = BOX.sp.T
BOX.f = interp1d([0.0, 1.0], np.ones((2, 2)))
BOX.f = CubicSpline([0.0, 1.0, 2.0], np.ones((3, 2)))
BOX.f = interp1d([0.0, 1.0], np.ones((2, 2)), axis=0)
BOX.f = interp1d([0.0, 1.0], [[1.0, 2.0]])
BOX.f.__init__([0.0, 1.0], np.ones((2, 2)), axis=0)
BOX.f.y = np.ones((2, 2))
BOX.f = lambda x: x[:1]
BOX.f._y = np.ones((2, 2))
BOX.f.fill_value = np.zeros(1)
BOX.f.__dict__.update(interp1d([0.0, 1.0], np.ones((2, 2)), axis=0).__dict__)
setattr(BOX.f, '_evaluate', lambda x: np.ones((3, 2)))
BOX.f._extra_dims = (2,)
BOX.n = norm(np.zeros((2, 1)), 1.0)
BOX.n = norm(loc=np.zeros((2, 1)))
BOX.n.args = (np.zeros((2, 1)), 1.0)
BOX.n.kwds.update(loc=np.zeros((2, 1)))
BOX.n.kwds["loc"] = np.zeros((2, 1))
BOX.n.kwds = {'loc': np.zeros((2, 1))}
BOX.n.kwds.update(loc=np.zeros((2, 1))); BOX.n.args = ()
BOX.n.__init__(norm, np.zeros((2, 1)), 1.0)
BOX.n.pdf = lambda x: x[:1]
BOX.n.dist.pdf = lambda x, *a, **k: x[:1]
BOX.n.rvs = lambda n: np.zeros(1)
setattr(BOX.n, 'args', (np.zeros((2, 1)), 1.0))
BOX.n.__dict__['args'] = (np.zeros((2, 1)), 1.0)
BOX.k = gaussian_kde(np.random.rand(2, 9))
BOX.k.dataset = np.random.rand(1, 9)
BOX.k.__init__(np.random.rand(2, 9))
BOX.k.set_bandwidth(0.5)
BOX.k.evaluate = lambda x: x[:1]
BOX.t = KDTree(np.random.rand(5, 3))
BOX.t.query = lambda x: (np.zeros(1), np.zeros(2))
BOX.o.x = np.ones((2, 2))
BOX.o['x'] = np.ones((2, 2))
BOX.o.update(x=np.ones(5))
setattr(BOX.o, 'x', np.ones(5))
BOX.o.x.shape = (2, 1)
BOX.o = scipy.optimize.minimize(lambda v: (v ** 2).sum(), np.ones(3))
BOX.o.x = BOX.o.x[None]
d = BOX.o; d.x = np.ones(5)
d = BOX.o.x; d.shape = (2, 1)
BOX.g = np.random.RandomState(0)
BOX.g.shuffle(BOX.a)
BOX.g.normal = lambda size: np.zeros(1)
BOX.q = np.poly1d([1.0])
BOX.q.coeffs = np.ones(3)
BOX.q[3] = 1.0
""".strip().splitlines()


def _box(made: str) -> str:
    return f"""
class Box(BASE):
    def __init__(self):
        {made}
INIT
METHODS
    def read(self):
        READS
"""


def _of(text: str, *names: tuple[str, str]) -> str:
    for name, shown in names:
        text = re.sub(rf"(?<![\w.'\"]){name}(?![\w'\"])", shown, text)
    return text


def _whole(made: str, read: str, *names: tuple[str, str]) -> tuple[str, str]:
    """A class that holds what is changed, and the lines that read it, in a method too."""
    inner = _of(read, *((name, shown.replace("BOX", "self")) for name, shown in names))
    template = _box(made).replace("READS", inner.replace("\n", "\n        "))
    return template, _of(read, *names) + "\nBOX.read()"


@dataclass(frozen=True)
class Kind:
    subject: Subject
    ways: list[str]
    names: tuple[tuple[str, str], ...] = ()

    def way(self, way: str) -> str:
        return _of(way, *self.names)


def _held(made: str, read: str, ways: list[str], head: str, *names: tuple[str, str]) -> Kind:
    template, lines = _whole(made, read, *names)
    return Kind(Subject(template, lines, head=head), ways, names)


def _itself(made: str, read: str, ways: list[str], head: str, name: str) -> Kind:
    names = ((name, "BOX"),)
    return Kind(Subject("", _of(read, *names), made=made, head=head), ways, names)


_OWN_READ = _SERIES_READ.replace("\nu_ = (S + F['a']).values\nv_ = (S * F['b']).to_numpy()", "")
_F, _S = ("F", "BOX.df"), ("S", "BOX.s")
KINDS = {
    "a frame": _itself(_FRAME, _FRAME_READ, OF_FRAMES, _TABLES, "F"),
    "a frame of a file": _itself(_READ_FRAME, _FRAME_READ, OF_FRAMES, _TABLES, "F"),
    "a frame of an array": _itself(_OF_ARRAY, _FRAME_READ, OF_FRAMES, _TABLES, "F"),
    "a frame of records": _itself(_OF_RECORDS, _FRAME_READ, OF_FRAMES, _TABLES, "F"),
    "a frame with text": _itself(_OF_TEXT, _FRAME_READ, OF_FRAMES, _TABLES, "F"),
    "a series": _itself(_SERIES, _OWN_READ, OF_SERIES, _TABLES, "S"),
    "a column": _itself(f"{_FRAME}['a']", _OWN_READ, OF_SERIES, _TABLES, "S"),
    "an object's frame": _held(f"self.df = {_FRAME}", _FRAME_READ, OF_FRAMES, _TABLES, _F),
    "an object's frame of a file": _held(f"self.df = {_READ_FRAME}", _FRAME_READ, OF_FRAMES, _TABLES, _F),
    "an object's series": _held(f"self.s = {_SERIES}; self.df = {_FRAME}", _SERIES_READ, OF_SERIES, _TABLES, _S, _F),
    "a regressor": _itself("LinearRegression().fit(X, y)", _REGRESSOR_READ, OF_REGRESSORS, _FIT, "M"),
    "an object's regressor": _held("self.m = LinearRegression().fit(X, y)", _REGRESSOR_READ, OF_REGRESSORS, _FIT, ("M", "BOX.m")),
    "an object's models": Kind(Subject(_MODELS, _MODELS_READ, head=_FIT), OF_MODELS),
    "an object's arrays": Kind(Subject(_ARRAYS, _ARRAYS_READ, head=_ARRAYS_HEAD), OF_ARRAYS),
}  # fmt: skip


def chosen(kind: str, chance: random.Random) -> tuple[str, str] | None:
    """A program and what it is; None where the way has no place there, or ends in an error."""
    of_kind = KINDS[kind]
    way, place, holder = chance.choice(of_kind.ways), chance.choice(list(PLACES)), chance.choice([*HOLDERS, *LATER])
    source = made(kind, way, place, holder)
    return None if source is None else (source, f"{kind} | {way} | {place} | {holder}")


def made(kind: str, way: str, place: str, holder: str) -> str | None:
    of_kind = KINDS[kind]
    source = program(of_kind.way(way), PLACES[place], holder, of_kind.subject)
    return None if source is None else _that_runs("import copy, random\n" + source)


def _that_runs(source: str) -> str | None:
    """The program without those readings that end in an error; None where the change does."""
    guarded, readings = [], {}
    lines = source.split("\n")
    for at, line in enumerate(lines):
        margin = line[: len(line) - len(line.lstrip())]
        if _READING.match(line):
            readings[at] = True
            guarded += [f"{margin}try:", f"{margin}    {line.lstrip()}", f"{margin}except Exception:", f"{margin}    FAILED.add({at})"]  # fmt: skip
        else:
            guarded.append(line)
    failed: set[int] = set()
    try:
        exec(compile("\n".join(guarded), "program", "exec"), {"__name__": "program", "FAILED": failed})
    except Exception:
        return None
    return "\n".join(line for at, line in enumerate(lines) if at not in failed)


_READING = re.compile(r"\s*(?:[a-z]_?|[a-z]{2})(?:, [a-z]_?)? = .*(?:BOX|box|self|X\[)")
