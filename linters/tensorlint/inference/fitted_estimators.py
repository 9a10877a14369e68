"""scikit-learn: what an estimator has learned of the data that it was fitted to, `model.coef_`, and its scores.

Only what holds whatever the data: how many features there were, and how many classes where the targets are true or false.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tensorlint.inference import sizes as S
from tensorlint.inference import tables
from tensorlint.inference.handling import last_name
from tensorlint.inference.ops.results import NUMERIC
from tensorlint.inference.sizes import Size
from tensorlint.inference.values import (
    SETTINGS,
    UNKNOWN,
    Const,
    LibraryObject,
    Sequence,
    Tensor,
    Value,
    integer,
    size_of,
)
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# The features and targets of the last fit; UNKNOWN where they may be others.
FITTED = " fitted"
# The mark of a data set's targets that are of two classes.
BINARY = "two classes"

# Targets (n,) give coefficients (features,), an intercept without axes; targets (n, k) of several columns (k, features), (k,).
_ONE_ROW = frozenset(
    ["ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "GammaRegressor", "HuberRegressor", "Lars", "LarsCV",
     "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "LinearRegression", "OrthogonalMatchingPursuit",
     "OrthogonalMatchingPursuitCV", "PoissonRegressor", "QuantileRegressor", "Ridge", "RidgeCV", "TheilSenRegressor",
     "TweedieRegressor"]
)  # fmt: skip
_ROW_FOR_EACH = frozenset(
    ["ElasticNet", "Lars", "Lasso", "LassoLars", "LinearRegression", "OrthogonalMatchingPursuit", "Ridge"]
)
# Classifiers whose coefficients are (1, features) of two classes, (classes, features) of several.
_LINEAR_CLASSIFIERS = frozenset(
    [
        "LinearDiscriminantAnalysis",
        "LinearSVC",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "SGDClassifier",
    ]
)
_SCORE = frozenset(
    ["AdaBoostClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier", "LinearDiscriminantAnalysis",
     "LinearSVC", "LogisticRegression", "LogisticRegressionCV", "NuSVC", "Perceptron", "QuadraticDiscriminantAnalysis",
     "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SVC"]
)  # fmt: skip
_WEIGH = frozenset(
    ["AdaBoostClassifier", "BaggingClassifier", "BernoulliNB", "ComplementNB", "DecisionTreeClassifier", "ExtraTreeClassifier",
     "ExtraTreesClassifier", "GaussianNB", "GaussianProcessClassifier", "GradientBoostingClassifier",
     "HistGradientBoostingClassifier", "KNeighborsClassifier", "LinearDiscriminantAnalysis", "LogisticRegression",
     "LogisticRegressionCV", "MLPClassifier", "MultinomialNB", "NuSVC", "QuadraticDiscriminantAnalysis",
     "RadiusNeighborsClassifier", "RandomForestClassifier", "SGDClassifier", "SVC"]
)  # fmt: skip
_IMPORTANCES = frozenset(
    f"{kind}{of}" for kind in ("AdaBoost", "DecisionTree", "ExtraTree", "ExtraTrees", "GradientBoosting", "RandomForest")
    for of in ("Classifier", "Regressor")
)  # fmt: skip
# One number for each feature, unless one of the words is given to the constructor.
_PER_FEATURE = {
    "StandardScaler": (("mean_", "var_", "scale_"), ("with_mean", "with_std")),
    "MinMaxScaler": (("data_min_", "data_max_", "data_range_", "min_", "scale_"), ()),
    "MaxAbsScaler": (("max_abs_", "scale_"), ()),
    "RobustScaler": (("center_", "scale_"), ("with_centering", "with_scaling")),
    "PowerTransformer": (("lambdas_",), ()),
    "PCA": (("mean_",), ()),
}
# One for each row of the data.
_PER_ROW = {"KMeans": "labels_", "DBSCAN": "labels_", "RANSACRegressor": "inlier_mask_", "HuberRegressor": "outliers_"}
_PER_COMPONENT = frozenset(["explained_variance_", "explained_variance_ratio_", "singular_values_"])
_COUNTS = {"KMeans": ("n_clusters", 8), "GaussianMixture": ("n_components", 1), "PCA": ("n_components", None)}
_SVMS = frozenset(["SVC", "SVR", "NuSVC", "NuSVR"])
GIVE_LABELS = frozenset(["KMeans", "DBSCAN", "GaussianMixture"])
_NEIGHBORS = frozenset(["KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"])


def is_as_made(receiver: LibraryObject) -> bool:
    """Whether it has the settings that it was made with, as far as is known."""
    return SETTINGS not in receiver.fields and not any(map(str.isidentifier, receiver.fields))


def fitted_to(receiver: LibraryObject) -> tuple[Value, Value]:
    """Features and targets."""
    known = receiver.fields.get(FITTED)
    items = known.items if isinstance(known, Sequence) else None
    return (items[0], items[1]) if items else (UNKNOWN, UNKNOWN)


def attribute(interp: State, receiver: LibraryObject, name: str, node: ast.AST | None) -> Value | None:
    """`model.coef_`, `scaler.mean_`; None for what is not known."""
    kind = receiver.path.removeprefix("sklearn.")
    features, targets = fitted_to(receiver)
    shape = features.shape if isinstance(features, Tensor) else None
    if shape is None or len(shape) != 2:
        return None
    found = _learned(interp, receiver, kind, name, shape, targets)
    # An item of it is a number, whatever the features are.
    return None if found is None else Tensor("numpy", found, None, None, None, node, f"{kind}.{name}", NUMERIC)


def _learned(
    interp: State, receiver: LibraryObject, kind: str, name: str, shape: tuple[Size, ...], targets: Value
) -> tuple[Size, ...] | None:
    rows, width = shape
    if kind in _PER_FEATURE:
        names, changing = _PER_FEATURE[kind]
        if name in names:
            as_made = not receiver.positional and receiver.arguments.keys().isdisjoint(changing)
            return (width,) if as_made and (not changing or is_as_made(receiver)) else None
    if _PER_ROW.get(kind) == name:
        return (rows,)
    if name == "feature_importances_" and kind in _IMPORTANCES:
        return (width,)
    if kind in ("PCA", "KMeans") and name in _PER_COMPONENT | {"components_", "cluster_centers_"}:
        count = _count(receiver, kind)
        if name in _PER_COMPONENT:
            return (count,) if kind == "PCA" else None
        return (count, width) if (kind == "PCA") == (name == "components_") else None
    if kind in _SVMS and name == "support_vectors_":
        return _some(), width
    given = targets.shape if isinstance(targets, Tensor) else None
    if given is None or name not in ("coef_", "intercept_"):
        return None
    if name == "intercept_" and (
        receiver.positional or "fit_intercept" in receiver.arguments or not is_as_made(receiver)
    ):
        return None
    if kind in _LINEAR_CLASSIFIERS and len(given) == 1:
        classes = 1 if _is_binary(interp, targets) else _some()
        return (classes, width) if name == "coef_" else (classes,)
    if kind in _ONE_ROW and len(given) == 1:
        return (width,) if name == "coef_" else ()
    if kind in _ROW_FOR_EACH and len(given) == 2:
        columns = given[1]
        if kind == "LinearRegression" or (isinstance(columns, int) and columns > 1):
            return (columns, width) if name == "coef_" else (columns,)
    return None


def scores(
    interp: State, receiver: LibraryObject, kind: str, name: str, features: tuple[Size, ...], node: ast.AST | None
) -> Value | None:
    """`predict_proba(X)`, `decision_function(X)` and other methods that are given nothing but rows."""
    rows = features[0]
    targets = fitted_to(receiver)[1]
    shape: tuple[Size, ...] | None = None
    one_target = isinstance(targets, Tensor) and targets.shape is not None and targets.shape[1:] in ((), (1,))
    if name in ("predict_proba", "predict_log_proba") and kind in _WEIGH and one_target:
        shape = rows, 2 if _is_binary(interp, targets) else _some()
    elif name == "decision_function" and kind in _SCORE and one_target and _is_binary(interp, targets):
        shape = (rows,)
    elif kind == "GaussianMixture" and name == "predict_proba":
        shape = rows, _count(receiver, kind)
    elif (name == "score_samples" and kind in ("GaussianMixture", "PCA")) or (
        name in ("predict", "fit_predict") and kind in GIVE_LABELS
    ):
        shape = (rows,)
    elif name in ("transform", "fit_transform") and kind in ("PCA", "KMeans"):
        shape = rows, _count(receiver, kind)
    return None if shape is None else Tensor("numpy", shape, None, None, None, node, f"{kind}.{name}", NUMERIC)


def neighbors(
    receiver: LibraryObject,
    kind: str,
    features: Value,
    args: list[Value],
    kwargs: dict[str, Value],
    node: ast.AST | None,
) -> Value:
    """`distances, indices = model.kneighbors(X)`: both (rows, neighbors)."""
    words = dict(zip(("X", "n_neighbors", "return_distance"), args, strict=False)) | kwargs
    flag = words.get("return_distance", Const(True))
    made = receiver.positional[0] if receiver.positional else receiver.arguments.get("n_neighbors", Const(5))
    count = size_of(words.get("n_neighbors", made if is_as_made(receiver) else UNKNOWN))
    if kind not in _NEIGHBORS or not isinstance(features, Tensor) or features.rank != 2 or count is None:
        return UNKNOWN
    shape = ((features.shape or ())[0], count)
    indices = Tensor("numpy", shape, None, "int64", None, node, "kneighbors")
    if isinstance(flag, Const) and flag.value is True:
        return Sequence("tuple", [Tensor("numpy", shape, None, None, None, node, "kneighbors"), indices])
    return indices if isinstance(flag, Const) and flag.value is False else UNKNOWN


def encoded(
    interp: State, receiver: LibraryObject, kind: str, name: str, args: list[Value], node: ast.AST | None
) -> Value:
    """What encoders of targets make of `y`: a number for each, or a row."""
    given = args[0] if len(args) == 1 else UNKNOWN
    given = tables.array_of(given, node) if isinstance(given, LibraryObject) else given
    shape = given.shape if isinstance(given, Tensor) else None
    if len(args) != 1 or (shape is not None and (len(shape) not in (1, 2) or shape[1:] not in ((), (1,)))):
        return UNKNOWN
    rows = shape[0] if shape else _some()  # whatever it is given, a list of texts or a column of a frame
    if kind == "LabelEncoder" and name in ("fit_transform", "transform"):
        return Tensor("numpy", (rows,), None, "int64" if shape else None, None, node, f"{kind}.{name}")
    as_made = not receiver.arguments and is_as_made(receiver)
    if kind == "LabelBinarizer" and name == "fit_transform" and shape and as_made:
        columns = 1 if _is_binary(interp, given) else _some()
        return Tensor("numpy", (rows, columns), None, None, None, node, f"{kind}.{name}")
    return UNKNOWN


def _some() -> Size:
    return S.symbol()


def _count(receiver: LibraryObject, kind: str) -> Size:
    """How many clusters or components it was made for."""
    word, default = _COUNTS[kind]
    given = receiver.positional[0] if receiver.positional else receiver.arguments.get(word, Const(default))
    known = integer(given) if is_as_made(receiver) else None
    return _some() if known is None else known


def _is_binary(interp: State, targets: Value) -> bool:
    if not isinstance(targets, Tensor):
        return False
    return targets.dtype == "bool" or (BINARY in targets.marks and not _stores_items(interp))


# Functions and methods that put numbers into an array.
_PUT = frozenset(["put", "place", "copyto", "putmask", "put_along_axis", "fill", "fill_diagonal", "itemset"])


def _stores_items(interp: State) -> bool:
    """Whether the file puts anything into an array, as a third class into the targets of two."""
    known: bool | None = interp.memory.get(_stores_items)
    if known is None:
        known = interp.memory[_stores_items] = any(
            map(
                _puts_anything,
                {interp.own_file.path: interp.own_file.tree, interp.file.path: interp.file.tree}.values(),
            )
        )
    return known


def _puts_anything(tree: ast.Module) -> bool:
    others: set[str] = set()  # names for what may have another name
    added: set[str] = set()
    for each in walk(tree):
        if _puts(each):
            return True
        if isinstance(each, ast.Assign) and isinstance(each.value, (ast.Name, ast.Attribute, ast.Subscript)):
            others.update([target.id for target in each.targets if isinstance(target, ast.Name)])
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            added.add(each.target.id)
    return not others.isdisjoint(added)


def _puts(node: Any) -> bool:
    if isinstance(node, ast.Subscript):
        key = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)  # of a table or a dictionary
        return not isinstance(node.ctx, ast.Load) and not key
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    if name in _PUT or any(word.arg == "out" for word in node.keywords):
        return True
    # `np.add(y, 1, y)`
    return (
        bool(node.args)
        and isinstance(node.args[-1], (ast.Name, ast.Attribute))
        and any(ast.dump(each) == ast.dump(node.args[-1]) for each in node.args[:-1])
    )
