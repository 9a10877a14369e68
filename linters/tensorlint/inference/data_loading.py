"""Batches of a DataLoader and samples of a data set: what torch's default collation makes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tensorlint.inference import sizes as S
from tensorlint.inference import unset
from tensorlint.inference.class_order import method_order
from tensorlint.inference.values import (
    NONE,
    UNKNOWN,
    Const,
    Dictionary,
    Function,
    Instance,
    Library,
    LibraryObject,
    Number,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Tensor,
    Value,
    is_none,
    size_of,
)
from tensorlint.inference.variants import made_anew
from tensorlint.inference.walking import walk

if TYPE_CHECKING:
    from tensorlint.inference.state import State

DATA_LOADERS = frozenset({"torch.utils.data.DataLoader"})
# Those that are given by their places; the rest are named only, or seldom given at all.
LOADER_PARAMETERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")
# Words that decide what a batch is, beside `batch_size`.
DECIDES = frozenset({"dataset", "sampler", "batch_sampler", "collate_fn", "in_order"})
SUBSET = "torch.utils.data.Subset"
_ITERATED = frozenset({"IterableDataset", "ChainDataset", "IterDataPipe"})


def iterate_object(interp: State, value: LibraryObject) -> Sequence:
    """What iterating over a library's object gives: batches of a DataLoader, samples of a data set."""
    if value.path in DATA_LOADERS:
        dataset = value.arguments.get("dataset")
        whole, _ = _whole(dataset)
        if _may_have_changed(interp, value) or (isinstance(whole, LibraryObject) and "tensors" in whole.fields):
            return Sequence("iterator")  # changed since they were made
        if isinstance(whole, Instance) and interp.find_in_class(whole.cls, "__getitems__") is not None:
            return Sequence("iterator")  # a batch at once, by a method of its own
        collate = value.arguments.get("collate_fn", NONE)
        batch = _batch(interp, dataset, value) if is_none(collate) else _own_batch(interp, dataset, collate, value)
        if batch is not None:
            return Sequence("iterator", None, batch)
    if value.path == SUBSET:
        whole, _ = _whole(value)
        return iterate_object(interp, whole) if isinstance(whole, LibraryObject) else Sequence("iterator")
    if value.path == "torch.utils.data.TensorDataset":
        items = [interp.item(tensor, Opaque(None), value.made or ast.Constant(0)) for tensor in value.positional]
        return Sequence("iterator", None, Sequence("tuple", items))
    return Sequence("iterator")


def attribute(loader: LibraryObject, name: str) -> Value | None:
    """`loader.dataset`: what is changed of it is changed of the loader's samples."""
    found = loader.arguments.get(name) if name == "dataset" and loader.path in DATA_LOADERS else None
    return found if isinstance(found, (Instance, Sequence)) else None


def _whole(dataset: Value | None) -> tuple[Value | None, bool]:
    """The data set that a subset takes its samples from, and whether it is a subset."""
    part = False
    while isinstance(dataset, LibraryObject) and dataset.path == SUBSET:
        dataset, part = dataset.fields.get("dataset"), True
    return dataset, part


def _own_batch(interp: State, dataset: Value | None, collate: Value, loader: LibraryObject) -> Value | None:
    """One batch as a function of the program's own, or an object that is called, makes it of a list of samples."""
    called: Value | None = collate
    if isinstance(collate, Instance):
        called = interp.find_in_class(collate.cls, "__call__") if _stays(interp, collate) else None
    if not isinstance(called, (Function, Partial)) or dataset is None or may_be_unbatched(interp, loader):
        return None
    dataset, _ = _whole(dataset)
    if _iterates(dataset):
        return None
    start = S.symbol_serial()
    if isinstance(dataset, LibraryObject) and dataset.path == "torch.utils.data.TensorDataset":
        sample: Value = interp.any_item(iterate_object(interp, dataset))
    elif isinstance(dataset, Instance):
        sample = interp.call_method(dataset, "__getitem__", [Number(S.symbol())], {}, loader.made)
    elif isinstance(dataset, Sequence):
        sample = interp.any_item(dataset)
    else:
        return None
    length = S.of_symbol(S.Symbol(None, variant=True, plural=True))
    anew = _made_by(interp.find_in_class(dataset.cls, "__getitem__")) if isinstance(dataset, Instance) else None
    each = interp.varying(sample, start) if anew is None else made_anew(sample, start, anew)
    samples = Sequence("list", None, each, length, shared=True)
    batch = interp.call(collate, [samples], {}, loader.made)
    if (anew := _made_by(called)) is not None:
        batch = made_anew(batch, start, anew)
    return None if batch is UNKNOWN else batch


def _stays(interp: State, value: Instance) -> bool:
    """Whether nothing of the object is another thing for a later batch: what it holds are no lists, dictionaries or objects,
    and no attribute is assigned but by its initialiser."""
    if value.generic or interp.may_differ(value) or not interp.rebound.attributes.isdisjoint(value.fields):
        return False
    return all(isinstance(each, (Const, Scalar, Number, Opaque, Function)) for each in value.fields.values())


def _made_by(method: Value | None) -> set[object] | None:
    """The keys of the dictionaries within the one that the function makes anew in each call, which nothing keeps; None
    where it makes none."""
    if not isinstance(method, Function) or isinstance(method.node, ast.Lambda):
        return None
    returns = [part.value for part in walk(method.node) if isinstance(part, (ast.Return, ast.Yield))]
    if returns and all(isinstance(value, ast.Dict) for value in returns):
        return set.intersection(*(_keys_within(value) for value in returns if isinstance(value, ast.Dict)))
    names = {value.id for value in returns if isinstance(value, ast.Name)}
    if len(names) != 1 or not all(isinstance(value, ast.Name) for value in returns):
        return None
    return _put_together(method.node, names.pop())


def _put_together(code: ast.AST, name: str) -> set[object] | None:
    """The same of a dictionary that the function begins with, `batch = {}`, and only stores items in until it returns it."""
    body: list[ast.stmt] = getattr(code, "body", [])
    begun = [
        each.value
        for each in body
        if isinstance(each, ast.Assign) and [ast.unparse(target) for target in each.targets] == [name]
    ]
    if len(begun) != 1 or not isinstance(begun[0], ast.Dict):
        return None
    parts = list(walk(code))
    stored = {id(part.value) for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)}
    items = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)]
    seen = {id(part.value) for part in items} | {id(part.value) for part in parts if isinstance(part, ast.Return)}
    uses = [part for part in parts if isinstance(part, ast.Name) and part.id == name]
    if sum(id(use) not in seen for use in uses) != 1 or any(
        isinstance(part, (ast.Global, ast.Nonlocal)) for part in parts
    ):
        return None
    alone = all(
        isinstance(part.ctx, ast.Store) or id(part) in stored
        for part in items
        if isinstance(part.value, ast.Name) and part.value.id == name
    )
    return _keys_within(begun[0]) if alone else set()


def _keys_within(node: ast.Dict) -> set[object]:
    """The keys by which a dictionary that is written out holds another one."""
    return {
        key.value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Dict)
    }


def _batch(interp: State, dataset: Value | None, loader: LibraryObject) -> Value | None:
    """One batch: each field of a sample stacked along a new first axis, whose size varies with the last batch."""
    if "batch_sampler" in loader.arguments or dataset is None:
        return None
    if may_be_unbatched(interp, loader):
        return None
    dataset, part = _whole(dataset)
    if _iterates(dataset):
        return None
    if isinstance(dataset, LibraryObject) and dataset.path == "torch.utils.data.TensorDataset":
        size: S.Size = S.of_symbol(S.Symbol(None, variant=True, plural=True))
        given = size_of(loader.arguments.get("batch_size", Const(1)))
        first = dataset.positional[0] if dataset.positional else None
        total = first.shape[0] if isinstance(first, Tensor) and first.shape and not part else None
        # A sampler may draw fewer samples than there are, or more.
        whole = is_none(loader.arguments.get("sampler", NONE))
        if whole and isinstance(given, int) and isinstance(total, int) and given > 0 and total % given == 0:
            size = given
        fields: list[Value] = []
        for tensor in dataset.positional:
            if not (isinstance(tensor, Tensor) and tensor.shape):
                return None
            shape = (size, *tensor.shape[1:])
            from tensorlint.inference.layout import contiguous

            fields.append(
                Tensor(
                    "torch",
                    shape,
                    contiguous(shape),
                    tensor.dtype,
                    tensor.device,
                    loader.made,
                    "a batch of the DataLoader",
                    tensor.marks & {"literal", "spelled", "kept", "reshaped", "column"},
                )
            )
        return Sequence("list", fields)
    if isinstance(dataset, Instance):
        sample = interp.call_method(dataset, "__getitem__", [Number(S.symbol())], {}, loader.made)
        return _collate(interp, sample, loader)
    if isinstance(dataset, Sequence):
        return _collate(interp, interp.any_item(dataset), loader)
    return None


def _collate(interp: State, sample: Value, loader: LibraryObject) -> Value | None:
    """torch's default collation: tensors are stacked, numbers become a tensor, tuples and dicts go field by field."""
    size: S.Size = S.of_symbol(S.Symbol(None, variant=True, plural=True))
    return _collated(sample, size, loader)


def _collated(sample: Value, size: S.Size, loader: LibraryObject) -> Value | None:
    from tensorlint.inference.layout import contiguous

    if isinstance(sample, Tensor):
        if sample.shape is None:
            return Tensor("torch")
        shape = (size, *sample.shape)
        return Tensor(
            "torch",
            shape,
            contiguous(shape),
            sample.dtype,
            None,
            loader.made,
            "a batch of the DataLoader",
            sample.marks & {"literal", "spelled", "kept", "reshaped", "column"},
        )
    if isinstance(sample, Opaque) and sample.integer:
        sample = Scalar("int")
    if isinstance(sample, (Scalar, Number)) or (isinstance(sample, Const) and isinstance(sample.value, (int, float))):
        kind = (
            sample.kind
            if isinstance(sample, Scalar)
            else "int"
            if isinstance(sample, Number)
            else type(sample.value).__name__
        )
        dtype = {"int": "int64", "float": "float64", "bool": "bool"}.get(kind)
        return Tensor("torch", (size,), (1,), dtype, None, loader.made, "a batch of the DataLoader")
    if isinstance(sample, Sequence) and sample.items is not None and sample.kind in ("tuple", "list"):
        return Sequence("list", [_collated(item, size, loader) or UNKNOWN for item in sample.items])
    if isinstance(sample, Dictionary) and sample.items is not None:
        batch = Dictionary({key: _collated(item, size, loader) or UNKNOWN for key, item in sample.items.items()})
        return made_anew(batch, S.symbol_serial(), batch.items or ())  # whatever the samples are
    return None


def may_be_unbatched(interp: State, loader: LibraryObject) -> bool:
    """Whether the batch size is None, or may be: a parameter's that is None where nothing else is given."""
    size = loader.arguments.get("batch_size", Const(1))
    if size is UNKNOWN or is_none(size):
        return True
    if not isinstance(size, Opaque):
        return False
    if size.optional:
        return True
    call = loader.made
    given = None
    if isinstance(call, ast.Call):
        named = (word.value for word in call.keywords if word.arg == "batch_size")
        given = next(named, call.args[1] if len(call.args) > 1 else None)
    return any(interp.may_be_none(name) for name in unset.names_of(size, given))


# What decides on the batches of a loader and can be assigned; its data set and batch size cannot.
_DECIDING = frozenset({"collate_fn", "batch_sampler", "_auto_collation", "tensors"})


def _may_have_changed(interp: State, loader: LibraryObject) -> bool:
    """Whether something was assigned to the loader or to its data set, here or anywhere in the file."""
    if loader.fields:
        return True
    file = interp.own_file
    if not (_DECIDING.isdisjoint(file.facts.foreign_attributes) and _DECIDING.isdisjoint(interp.rebound.attributes)):
        return True
    return ".batch_sampler." in file.text or (".tensors" in file.text and interp.reshapes(file))


def _iterates(dataset: Value | None) -> bool:
    """Whether a loader iterates over the data set, though it may have a `__getitem__`."""
    return isinstance(dataset, Instance) and any(
        isinstance(base, Library) and base.path.rpartition(".")[2] in _ITERATED for base in method_order(dataset.cls)
    )
