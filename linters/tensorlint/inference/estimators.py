"""scikit-learn: what estimators are given and give back, its data sets, and the split into two parts.

Estimators want a matrix `(n, features)` and refuse a vector; the tests run every class of these tables with the installed
scikit-learn (1.9 when they were written). The classes are listed by name, as others take vectors (LabelEncoder,
IsotonicRegression, what reads text).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tensorlint.inference import fitted_estimators, layer_changes, splitters, table_values, tables
from tensorlint.inference import sizes as S
from tensorlint.inference.fitted_estimators import BINARY, FITTED
from tensorlint.inference.ops import literals
from tensorlint.inference.ops.results import NO_MARKS
from tensorlint.inference.ops.table import STOPS
from tensorlint.inference.sizes import Size, show_shape
from tensorlint.inference.values import (
    NONE,
    SETTINGS,
    UNKNOWN,
    Const,
    LibraryObject,
    Number,
    Opaque,
    Scalar,
    Sequence,
    Tensor,
    Value,
    all_of,
    copy,
    integer,
    is_none,
    size_of,
)
from tensorlint.inference.words import has_word

if TYPE_CHECKING:
    from tensorlint.inference.state import State

# predict gives (n,) for targets (n,), and (n, k) for targets (n, k), a single column too.
_KEEPS_TARGETS = frozenset(
    [
        "LinearRegression",
        "KNeighborsRegressor",
        "RadiusNeighborsRegressor",
        "KernelRidge",
        "RANSACRegressor",
        "TransformedTargetRegressor",
    ]
)
# predict gives (n, k) for targets (n, k), a single column too; for targets (n,) it is a matter of the version.
_GIVES_COLUMNS = frozenset(["PLSRegression"])
# predict gives (n,) for targets (n,), and for a column too, but for those where that is a matter of the version.
_PREDICTORS = frozenset(
    [
        "Ridge",
        "RidgeCV",
        "Lasso",
        "ElasticNet",
        "SGDRegressor",
        "BayesianRidge",
        "HuberRegressor",
        "SVR",
        "DecisionTreeRegressor",
        "MLPRegressor",
        "RandomForestRegressor",
        "GradientBoostingRegressor",
        "GaussianProcessRegressor",
        "LogisticRegression",
        "SVC",
        "GaussianNB",
        "DecisionTreeClassifier",
        "RandomForestClassifier",
        "KNeighborsClassifier",
        "MLPClassifier",
        "LinearDiscriminantAnalysis",
        *[
            "ARDRegression",
            "AdaBoostRegressor",
            "BaggingRegressor",
            "ElasticNetCV",
            "ExtraTreeRegressor",
            "ExtraTreesRegressor",
            "GammaRegressor",
            "HistGradientBoostingRegressor",
            "Lars",
            "LarsCV",
            "LassoCV",
            "LassoLars",
            "LassoLarsCV",
            "LassoLarsIC",
            "LinearSVR",
            "NuSVR",
            "OrthogonalMatchingPursuit",
            "OrthogonalMatchingPursuitCV",
            "PoissonRegressor",
            "QuantileRegressor",
            "TheilSenRegressor",
            "TweedieRegressor",
            "AdaBoostClassifier",
            "BaggingClassifier",
            "BernoulliNB",
            "ComplementNB",
            "ExtraTreeClassifier",
            "ExtraTreesClassifier",
            "GaussianProcessClassifier",
            "GradientBoostingClassifier",
            "HistGradientBoostingClassifier",
            "LinearSVC",
            "LogisticRegressionCV",
            "MultinomialNB",
            "NearestCentroid",
            "NuSVC",
            "Perceptron",
            "QuadraticDiscriminantAnalysis",
            "RadiusNeighborsClassifier",
            "RidgeClassifier",
            "RidgeClassifierCV",
            "SGDClassifier",
        ],
    ]
)
# predict gives a pair with `return_std=True`, of which the second is one number for each row where the first is.
_HAVE_DEVIATIONS = frozenset({"ARDRegression", "BayesianRidge", "GaussianProcessRegressor"})
# A search over what an estimator is made with predicts as the estimator does.
_SEARCHES = frozenset({"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"})
# Of what was found nobody knows these settings.
_SEARCHED = {"fit_intercept": UNKNOWN, "n_neighbors": UNKNOWN}
_OF_THE_VERSION = frozenset(["Ridge", "RidgeCV", "GaussianProcessRegressor"])
# predict gives (n, k) for targets (n, k) of several columns.
_SEVERAL = frozenset(
    ["Ridge", "RidgeCV", "Lasso", "ElasticNet", "DecisionTreeRegressor", "RandomForestRegressor", "MLPRegressor"]
)
# transform gives the shape it is given.
_SCALERS = frozenset(
    ["StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "QuantileTransformer", "PowerTransformer"]
)
_TRANSFORMERS = frozenset(
    [
        "Normalizer",
        "PolynomialFeatures",
        "OneHotEncoder",
        "OrdinalEncoder",
        "KBinsDiscretizer",
        "Binarizer",
        "SplineTransformer",
        "PCA",
        "KMeans",
        "GaussianMixture",
        "DBSCAN",
        "NearestNeighbors",
    ]
)
# Functions that give a number for each pair of rows, of one matrix or of two.
_OF_PAIRS = frozenset(
    ["pairwise_distances", "pairwise_kernels", "euclidean_distances", "cosine_similarity", "cosine_distances",
     "manhattan_distances", "rbf_kernel", "linear_kernel", "polynomial_kernel", "sigmoid_kernel", "laplacian_kernel"]
)  # fmt: skip
# Functions that do as the scalers do, and encoders, which are given targets.
_SAME_SHAPE = frozenset(["scale", "minmax_scale", "maxabs_scale", "robust_scale", "normalize"])
_ENCODERS = frozenset(["LabelEncoder", "LabelBinarizer"])
_ROW_BY_ROW = _SCALERS | {
    "Normalizer",
    "PolynomialFeatures",
    "OneHotEncoder",
    "OrdinalEncoder",
    "KBinsDiscretizer",
    "PCA",
}
_ESTIMATORS = _KEEPS_TARGETS | _GIVES_COLUMNS | _PREDICTORS | _SCALERS | _TRANSFORMERS
_TAKES_FEATURES = frozenset(
    [
        "fit",
        "partial_fit",
        "fit_transform",
        "fit_predict",
        "transform",
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "score",
        "score_samples",
    ]
)
# Rows and columns of the data sets that scikit-learn ships, and the type of their targets.
_DATA_SETS = {
    "load_iris": (150, 4, "int64"),
    "load_wine": (178, 13, "int64"),
    "load_breast_cancer": (569, 30, "int64"),
    "load_diabetes": (442, 10, "float64"),
    "load_digits": (1797, 64, "int64"),
    "fetch_california_housing": (20640, 8, "float64"),
}
_MADE_DATA = {
    "make_regression": 100,
    "make_classification": 20,
    "make_blobs": 2,
    "make_moons": None,
    "make_circles": None,
}
# What may be given to a loader and leaves what it gives; anything else has to be off.
_LEAVES_SHAPES = frozenset({"return_X_y", "scaled", "data_home", "download_if_missing", "n_retries", "delay"})
# With these a generator gives more than the two, or a Bunch.
_GIVES_OTHERS = frozenset({"coef", "return_centers", "return_X_y", "return_distributions"})
BUNCH = "sklearn.Bunch"
_LAST = " last step"
# The steps of a pipeline, which it fits itself, or what a search was given, of which it fits copies.
_STEPS, _GIVEN = " steps", " given"
_COLUMN = " column"
_FITS = frozenset({"fit", "partial_fit", "fit_transform", "fit_predict"})


def is_known(path: str) -> bool:
    return path.startswith("sklearn.")


def make(interp: State, path: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """A call of scikit-learn's class or function; None for one that is not known here."""
    name = path.rpartition(".")[2]
    if name in _ESTIMATORS:
        return LibraryObject("sklearn." + name, kwargs, tuple(args), {}, node)
    if name in splitters.SPLITTERS or name in _ENCODERS:
        return LibraryObject("sklearn." + name, kwargs, tuple(args), {}, node)
    if path == "sklearn.utils.shuffle":
        return _shuffled(args, kwargs, node)
    if name in _SAME_SHAPE:
        return _scaled(args, kwargs, node)
    if name == "make_pipeline":
        return _pipeline(args, node)
    if name == "Pipeline":
        return _pipeline(_steps(args[0] if args else kwargs.get("steps")), node)
    if name in _SEARCHES or name == "cross_val_predict":
        given = args[0] if args else kwargs.get("estimator")
        if isinstance(given, LibraryObject) and given.path.removeprefix("sklearn.") in _KEEPS_TARGETS | _PREDICTORS:
            inner = LibraryObject(given.path, _SEARCHED, (), {}, node)
            if name in _SEARCHES:
                fields: dict[str, Value] = {_LAST: inner, _GIVEN: Sequence("list", [given])}
                return LibraryObject("sklearn.Pipeline", {}, (), fields, node)
            return _predicted_in_folds(inner, args[1:], kwargs, node)
        return None
    if name in _OF_PAIRS:
        return _pairs(args, kwargs, node)
    if name == "train_test_split":
        return _split(args, kwargs, node)
    if name == "confusion_matrix":
        classes = S.symbol()
        return Tensor("numpy", (classes, classes), None, None, None, node)
    if name in _DATA_SETS:
        return _loaded(name, kwargs, node)
    if name in _MADE_DATA:
        return _generated(name, args, kwargs, node)
    return None


def _loaded(name: str, kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    if not all(_is_false(kwargs[flag]) for flag in kwargs.keys() - _LEAVES_SHAPES):
        return None
    data, target = _data(*_DATA_SETS[name], node, two=name == "load_breast_cancer")
    flag = kwargs.get("return_X_y", Const(False))
    if isinstance(flag, Const) and flag.value is True:
        return Sequence("tuple", [data, target])
    return LibraryObject(BUNCH, {}, (), {"data": data, "target": target}, node) if _is_false(flag) else None


def _generated(name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    rows = _count(args[0] if args else kwargs.get("n_samples"), 100)
    default = _MADE_DATA[name]
    columns = 2 if default is None else _count(args[1] if len(args) > 1 else kwargs.get("n_features"), default)
    if not is_none(kwargs.get("centers", NONE)) and integer(kwargs["centers"]) is None:
        columns = S.of_symbol(S.Symbol(None, plural=True))  # centers that are given have as many features as they have
    targets = integer(kwargs["n_targets"]) if "n_targets" in kwargs else 1
    if rows is None or columns is None or targets != 1 or kwargs.keys() & _GIVES_OTHERS:
        return None
    kind = "float64" if name == "make_regression" else "int64"
    return Sequence("tuple", list(_data(rows, columns, kind, node, two=_is_of_two(name, args, kwargs))))


def _is_of_two(name: str, args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether the generator makes two classes."""
    if name == "make_blobs":
        return integer(args[2] if len(args) > 2 else kwargs.get("centers", NONE)) == 2
    if name == "make_classification":
        return len(args) < 3 and integer(kwargs.get("n_classes", Const(2))) == 2
    return name in ("make_moons", "make_circles")


def _is_false(value: Value) -> bool:
    return isinstance(value, Const) and value.value is False


def _gives_arrays(interp: State) -> bool:
    """Whether nothing in the file asks transformers for frames: by their method, or for all of them."""
    texts = {interp.file.text, interp.own_file.text}
    return not any(word in text for text in texts for word in ("set_output", "set_config", "config_context"))


def _count(value: Value | None, default: int) -> Size | None:
    return default if value is None else size_of(value)


def _data(rows: Size, columns: Size, targets: str, node: ast.AST | None, *, two: bool) -> tuple[Tensor, Tensor]:
    return (
        Tensor("numpy", (rows, columns), None, "float64", None, node),
        Tensor("numpy", (rows,), (1,), targets, None, node, None, frozenset({BINARY}) if two else NO_MARKS),
    )


def _predicted_in_folds(
    inner: LibraryObject, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value | None:
    """`cross_val_predict(model, X, y)`: a prediction for each row, by a model that was fitted to others."""
    given = dict(zip(("X", "y"), args, strict=False)) | kwargs
    features, targets = (tables.array_of(given.get(name, UNKNOWN), node) for name in ("X", "y"))
    if "method" in given or len(args) > 2 or not isinstance(features, Tensor) or len(features.shape or ()) != 2:
        return None
    inner.fields[FITTED] = Sequence("tuple", [features, targets])
    return _predicted(inner, inner.path.removeprefix("sklearn."), (features.shape or ())[0], node)


def _steps(given: Value | None) -> list[Value]:
    """The estimators of `[("scale", StandardScaler()), ("fit", Ridge())]`."""
    pairs = given.items if isinstance(given, Sequence) else None
    return [
        pair.items[1] if isinstance(pair, Sequence) and pair.items and len(pair.items) == 2 else UNKNOWN
        for pair in pairs or ()
    ]


def _pipeline(steps: list[Value], node: ast.AST | None) -> Value | None:
    """Steps that leave as many rows as there were, and what predicts."""
    kinds = [step.path.removeprefix("sklearn.") if isinstance(step, LibraryObject) else "" for step in steps]
    if not kinds or kinds[-1] not in _KEEPS_TARGETS | _PREDICTORS or not _ROW_BY_ROW.issuperset(kinds[:-1]):
        return None
    return LibraryObject("sklearn.Pipeline", {}, (), {_LAST: steps[-1], _STEPS: Sequence("list", steps)}, node)


def _shuffled(args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`shuffle(X, y)`: the same rows in another order."""
    arrays = [copy(arg, strides=None, made=node, how=None, source=None) for arg in args if isinstance(arg, Tensor)]
    if (
        not arrays
        or len(arrays) < len(args)
        or kwargs.keys() - {"random_state"}
        or not all(each.shape for each in arrays)
    ):
        return None
    return Sequence("list", [*arrays]) if len(arrays) > 1 else arrays[0]


def _scaled(args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`scale(X)`: the shape it is given."""
    given = args[0] if len(args) == 1 else UNKNOWN
    if (
        not isinstance(given, Tensor)
        or given.shape is None
        or given.framework != "numpy"
        or kwargs.keys() - {"axis", "norm"}
    ):
        return None
    return Tensor("numpy", given.shape, None, None, None, node, None, given.marks & {"column"})


def _pairs(args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`cosine_similarity(X, Y)`: a row for each row of `X`, a column for each of `Y`, or of `X`."""
    given = dict(zip(("X", "Y"), args, strict=False)) | kwargs
    rows = tables.array_of(given.get("X", UNKNOWN), node)
    columns = rows if is_none(given.get("Y", NONE)) else tables.array_of(given["Y"], node)
    sizes: list[Size] = []
    for each in (rows, columns):
        shape = each.shape if isinstance(each, Tensor) and each.framework == "numpy" else None
        if shape is None or len(shape) != 2:
            return None
        sizes.append(shape[0])
    return Tensor("numpy", tuple(sizes), None, None, None, node)


def _split(args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value | None:
    """`train_test_split(X, y)`: the parts share their numbers of rows."""
    if not args or not all((isinstance(arg, Tensor) and arg.shape) or table_values.is_table(arg) for arg in args):
        return None
    train, test = (S.of_symbol(S.Symbol(None, plural=True)) for _ in range(2))
    items: list[Value] = []
    labels: dict[int, dict[object, Value]] = {0: {}, 1: {}}
    for arg in args:
        for part, rows in enumerate((train, test)):
            if isinstance(arg, Tensor) and arg.shape is not None:
                items.append(copy(arg, shape=(rows, *arg.shape[1:]), strides=None, made=node, how=None, source=None))
            else:
                items.append(tables.split(arg, rows, labels[part], node) or UNKNOWN)
    return Sequence("list", items)


def _of_numbers(features: Value) -> Value:
    """A list of numbers, or of rows of them, as the array that the estimator makes of it."""
    if not isinstance(features, Sequence) or features.kind not in ("list", "tuple") or not features.items:
        return features
    try:
        shape, leaves = literals.nested(features)
    except STOPS:
        return features
    if not leaves or not all(isinstance(leaf, (Const, Number, Scalar)) for leaf in leaves) or len(shape) > 2:
        return features
    return Tensor("numpy", shape, None)


_SCORING = frozenset(
    ["predict", "fit_predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform",
     "fit_transform", "inverse_transform"]
)  # fmt: skip
_GIVE_ITSELF = frozenset({"fit", "partial_fit", "set_params"})
# What changes it beside these, and methods that Python gives every object.
_CHANGES = re.compile(r"_|sparsify$")
# Fields of one that was changed in ways that nobody followed, and of a pipeline that has other steps.
_MADE_OTHERWISE = frozenset({layer_changes.CHANGED, "steps"})
_METHODS = _SCORING | {"fit", "split", "kneighbors"}


def _may_have_changed(interp: State, receiver: LibraryObject) -> bool:
    """Whether something was assigned to the estimator, here, or to what may be one anywhere in the file."""
    if any(map(_decides, receiver.fields)) or not _MADE_OTHERWISE.isdisjoint(receiver.fields):
        return True
    known: bool | None = interp.estimators_change
    if known is None:
        rebound = interp.rebound
        assigned = interp.own_file.facts.foreign_attributes | rebound.attributes
        known = rebound.everything or any(map(_decides, assigned)) or _reshapes_learned(interp.own_file.text)
        interp.estimators_change = known
    return known


# `model.coef_.shape = (1, 3)`, and names for what an estimator has learned.
_RESHAPED = re.compile(r"\b(\w+)\.(?:(?:shape|dtype|strides)\b[^\n=]*=(?!=)|resize\()")
_NAMED_LEARNED = re.compile(r"\b(\w+) = [\w.\[\]]+\.[a-z]\w*_\s*[;\n]")


def _reshapes_learned(text: str) -> bool:
    """Whether the file gives what an estimator has learned another shape in place."""
    if not has_word(text, "shape", "dtype", "strides", "resize"):
        return False
    reshaped = set(_RESHAPED.findall(text))
    if not reshaped:
        return False
    return any(name.endswith("_") for name in reshaped) or not reshaped.isdisjoint(_NAMED_LEARNED.findall(text))


def _decides(name: str) -> bool:
    """Whether it is a method, or called as what an estimator learns from its data: `model.coef_`."""
    return name in _METHODS or (name.endswith("_") and name[:1].isalpha())


def call(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A method of an estimator."""
    if name not in _GIVE_ITSELF and receiver.path != BUNCH and _may_have_changed(interp, receiver):
        interp.escape(args, kwargs, reads_tables=True)
        return UNKNOWN
    if receiver.path == BUNCH and name not in ("get", "keys", "values", "items", "copy"):
        forget_data(interp, receiver)
    kind = receiver.path.removeprefix("sklearn.")
    if _CHANGES.match(name):
        forget_estimator(interp, receiver)
    elif name == "set_params":
        forget_settings(interp, receiver)
    if kind in _ENCODERS:
        made = fitted_estimators.encoded(interp, receiver, kind, name, args, node)
        return receiver if name in _GIVE_ITSELF else made
    if kind in splitters.SPLITTERS:
        return splitters.split(kind, node) if name == "split" else UNKNOWN
    if kind == "Pipeline":
        return _call_pipeline(interp, receiver, name, args, kwargs, node)
    features = given = args[0] if args else kwargs.get("X")
    if features is not None:
        features = _of_numbers(tables.array_of(features, getattr(features, "made", None)))
    if name == "kneighbors" and features is not None:
        return fitted_estimators.neighbors(receiver, kind, features, args, kwargs, node)
    wants = name in _TAKES_FEATURES or (name == "inverse_transform" and kind in _SCALERS)
    if not wants or not isinstance(features, Tensor):
        if name in _FITS:
            forget_targets(interp, receiver)
        interp.escape(args, kwargs, reads_tables=True)
        return receiver if name in _GIVE_ITSELF else UNKNOWN
    if features.shape is not None and len(features.shape) == 1 and features.framework is not None:
        fitted, series = receiver.fields.get(_COLUMN), isinstance(given, LibraryObject)
        interp.report_bare_features(node, features, name, fitted, series=series)
        return UNKNOWN
    if name in _FITS:
        targets = args[1] if len(args) > 1 else kwargs.get("y", UNKNOWN)
        if isinstance(targets, LibraryObject):
            targets = tables.array_of(targets, targets.made)
        targets = _of_numbers(targets)
        known = receiver.fields.get(FITTED)
        forget_targets(interp, receiver)
        more = name == "partial_fit" and ("classes" in kwargs or len(args) > 2)  # than the targets show
        if not (interp.conditional or more) and (known is None or _are_same(known, features, targets)):
            # Arrays that get another shape afterwards had this one then.
            to = copy(targets) if isinstance(targets, Tensor) else targets
            receiver.fields[FITTED] = Sequence("tuple", [copy(features), to, targets])
        receiver.fields[_COLUMN] = features
    if name in ("fit", "partial_fit"):
        return receiver
    if features.shape is None or len(features.shape) != 2:
        return UNKNOWN
    if kind == "PCA" and not _gives_arrays(interp):
        return UNKNOWN
    if kind in _SCALERS and name in ("transform", "fit_transform", "inverse_transform"):
        if name != "inverse_transform" and not _gives_arrays(interp):
            return UNKNOWN
        # They compute with floats: whole numbers are made float64.
        dtype = "float64" if features.dtype in ("float64", "int64") else None
        return Tensor("numpy", features.shape, None, dtype, None, node, None, features.marks & {"column"})
    if kind == "OneHotEncoder" and name in ("transform", "fit_transform") and _gives_arrays(interp):
        dense = receiver.arguments.get("sparse_output", receiver.arguments.get("sparse"))
        if isinstance(dense, Const) and dense.value is False:
            return Tensor("numpy", (features.shape[0], table_values.any_size()), None, None, None, node)
    # `return_std`, `return_cov`: some give a pair instead.
    plain = len(args) <= 1 and kwargs.keys() <= {"X"}
    if name == "predict" and plain and kind in _KEEPS_TARGETS | _GIVES_COLUMNS | _PREDICTORS:
        return _predicted(receiver, kind, features.shape[0], node)
    if name in _SCORING and plain:
        if (scored := fitted_estimators.scores(interp, receiver, kind, name, features.shape, node)) is not None:
            return scored
    deviation = kwargs.get("return_std")
    if name == "predict" and kind in _HAVE_DEVIATIONS and len(args) <= 1 and kwargs.keys() <= {"X", "return_std"}:
        mean = _predicted(receiver, kind, features.shape[0], node)
        if isinstance(deviation, Const) and deviation.value is True and isinstance(mean, Tensor) and mean.rank == 1:
            return Sequence("tuple", [mean, copy(mean, how=f"{kind}.predict")])
    return UNKNOWN


def _are_same(known: Value, features: Tensor, targets: Value) -> bool:
    """Whether the estimator is fitted to what it was fitted to before."""
    if not isinstance(known, Sequence) or not known.items:
        return False
    before, to, given = known.items
    same = given is targets and isinstance(before, Tensor) and before.shape == features.shape
    return same and not (isinstance(to, Tensor) and isinstance(targets, Tensor) and to.shape != targets.shape)


def attribute(interp: State, receiver: LibraryObject, name: str, node: ast.AST | None) -> Value | None:
    """What the estimator learned from its data: `model.coef_`."""
    if receiver.path == "sklearn.Pipeline":
        if name == "best_estimator_":
            return receiver.fields.get(_LAST)
        if name in ("steps", "named_steps", "estimator"):
            return item(receiver)
    if FITTED not in receiver.fields or not name.endswith("_") or _may_have_changed(interp, receiver):
        return None
    return fitted_estimators.attribute(interp, receiver, name, node)


def item(receiver: LibraryObject) -> Value:
    """`pipeline[-1]`, `pipeline.steps`: nobody knows which step it is, but what is done to it is done to one of them."""
    parts = tuple(_steps_of(receiver, _STEPS, _GIVEN))
    return Opaque(None, parts=parts) if parts else UNKNOWN


def _steps_of(receiver: LibraryObject, *names: str) -> list[LibraryObject]:
    found: list[LibraryObject] = []
    for name in names or (_STEPS,):
        held = receiver.fields.get(name)
        if isinstance(held, Sequence):
            found += [each for each in held.items or () if isinstance(each, LibraryObject) and is_known(each.path)]
    return found


def forget_settings(interp: State, receiver: LibraryObject) -> None:
    """The estimator, or another that may be the same, has other settings than it was made with."""
    for each in all_of(receiver):
        if SETTINGS not in each.fields:
            each.fields[SETTINGS] = UNKNOWN
            interp.mutations.append((each, SETTINGS))


def forget_estimator(interp: State, receiver: LibraryObject) -> None:
    """Code that nobody knows had the estimator in hand, and what it is made of."""
    forget_targets(interp, receiver)
    if receiver.path == BUNCH:
        return
    forget_settings(interp, receiver)
    for each in all_of(receiver):
        if each.path == "sklearn.Pipeline" and each.fields.get(_LAST) is not UNKNOWN:
            each.fields[_LAST] = UNKNOWN
            interp.mutations.append((each, _LAST))
            _forget_steps(interp, each)


def _forget_steps(interp: State, receiver: LibraryObject) -> None:
    for step in _steps_of(receiver):
        forget_estimator(interp, step)


def forget_data(interp: State, receiver: LibraryObject) -> None:
    """A data set's entries are others now."""
    for each in all_of(receiver):
        for name in each.fields:
            if each.fields[name] is not UNKNOWN:
                each.fields[name] = UNKNOWN
                interp.mutations.append((each, name))


def forget_targets(interp: State, receiver: LibraryObject) -> None:
    """The estimator, or another that may be the same, is fitted to something else, and so are the steps of a pipeline."""
    if receiver.path == BUNCH:
        forget_data(interp, receiver)
    for each in all_of(receiver):
        if each.path == "sklearn.Pipeline":
            for step in (each.fields.get(_LAST), *_steps_of(each)):
                if isinstance(step, LibraryObject):
                    forget_targets(interp, step)
        if each.fields.get(FITTED) is not UNKNOWN:
            each.fields[FITTED] = UNKNOWN
            interp.mutations.append((each, FITTED))


# What a pipeline or a search has its last step do.
_LAST_ONE = frozenset(["fit", "predict", "predict_proba", "predict_log_proba", "decision_function"])
_ASKS = frozenset(["score", "get_params", "transform", "score_samples"])


def _call_pipeline(
    interp: State, receiver: LibraryObject, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
) -> Value:
    """A pipeline is fitted and predicts as its last step does, of as many rows."""
    last = receiver.fields.get(_LAST)
    features = args[0] if args else kwargs.get("X")
    features = None if features is None else tables.array_of(features, getattr(features, "made", None))
    matrix = isinstance(features, Tensor) and features.shape is not None and len(features.shape) == 2
    if name not in _LAST_ONE or not isinstance(last, LibraryObject) or not matrix:
        interp.escape(args, kwargs)
        if name not in _LAST_ONE - {"fit"} | _ASKS:
            receiver.fields[_LAST] = UNKNOWN
            interp.mutations.append((receiver, _LAST))
            _forget_steps(interp, receiver)
        return receiver if name in ("fit", "set_params") else UNKNOWN
    if name == "fit":
        for step in _steps_of(receiver)[:-1]:  # to what the steps before it give
            forget_targets(interp, step)
    result = call(interp, last, name, args, kwargs, node)
    return receiver if name == "fit" else result


def _predicted(receiver: LibraryObject, kind: str, rows: Size, node: ast.AST | None) -> Value:
    targets = fitted_estimators.fitted_to(receiver)[1]
    if not isinstance(targets, Tensor) or targets.shape is None:
        return UNKNOWN
    if len(targets.shape) == 1 and kind not in _GIVES_COLUMNS:
        return Tensor("numpy", (rows,), (1,), None, None, node, f"{kind}.predict")
    if len(targets.shape) != 2:
        return UNKNOWN
    columns = targets.shape[1]
    if columns == 1 and kind in _PREDICTORS - _OF_THE_VERSION:
        return Tensor("numpy", (rows,), (1,), None, None, node, f"{kind}.predict")
    if kind in _KEEPS_TARGETS | _GIVES_COLUMNS or (kind in _SEVERAL and isinstance(columns, int) and columns > 1):
        marks = frozenset({"column"}) if targets.shape[1] == 1 else frozenset()
        how = f"{kind} fitted on targets {show_shape(targets.shape)}"
        return Tensor("numpy", (rows, targets.shape[1]), None, None, None, node, how, marks)
    return UNKNOWN
