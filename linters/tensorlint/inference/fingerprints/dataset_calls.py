"""What the functions and methods of `datasets` give: datasets, with what is drawn without a seed upstream."""

from __future__ import annotations

import ast
from dataclasses import replace

from tensorlint.inference.fingerprints import dataset_vocabulary as dataset_words
from tensorlint.inference.fingerprints.scopes import Scope
from tensorlint.inference.fingerprints.survey import constant, keyword
from tensorlint.inference.fingerprints.unset_parameters import UnsetParameters
from tensorlint.inference.fingerprints.values import (
    UNKNOWN,
    Elements,
    Parent,
    Value,
)

_DRAWS = {"shuffle": "it draws a new order in every run", "train_test_split": "it takes a new seed in every run"}


def of_first(node: ast.Call) -> ast.Call:
    """`Dataset.map(ds, f)` with its arguments as `ds.map(f)` has them."""
    return ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)


class DatasetCalls(UnsetParameters):
    """Calls of `datasets`."""

    def _dataset_call(self, dotted: str, last: str, node: ast.Call) -> Value | None:
        parts = dotted.split(".")
        if parts[0] != "datasets":
            return None
        if last in dataset_words.LOADERS and len(parts) <= 3:
            return self._loaded(last, node)
        owner = parts[-2] if len(parts) > 1 else ""
        if owner in ("Dataset", "DatasetDict") and node.args and last in dataset_words.METHODS:
            return self._dataset_method(self.value(node.args[0]), last, of_first(node))
        if last in dataset_words.CONSTRUCTORS and owner in ("Dataset", "DatasetDict"):
            return self._constructed(owner, last, node)
        if last == "DatasetDict":
            given = [self.value(argument) for argument in (*node.args, *(entry.value for entry in node.keywords))]
            inner = [part for value in given for part in ((value, *value.parts) if value.kind == "dict" else (value,))]
            inner = [value for value in inner if value.kind == "dataset"]
            parents = tuple(dict.fromkeys(parent for value in inner for parent in value.parents))
            memory = bool(inner) and all(value.memory for value in inner)
            return Value(
                "dataset",
                is_dict=True,
                parents=parents,
                stream=any(value.stream for value in inner),
                memory=memory,
                shown=any(value.shown for value in inner) or not inner,
            )
        if last == "Dataset":
            return Value("dataset", is_dict=False)
        if last in ("IterableDataset", "IterableDatasetDict") or owner in ("IterableDataset", "IterableDatasetDict"):
            return Value("dataset", stream=True)
        if last in ("load_dataset_builder",):
            return Value("external", dotted=dotted)
        return None

    def _loaded(self, last: str, node: ast.Call) -> Value:
        if last in ("concatenate_datasets", "interleave_datasets"):
            joined = self._joined(node.args[0] if node.args else keyword(node, "dsets") or keyword(node, "datasets"))
            inner = [value for value in joined if value.kind == "dataset"]
            parents = tuple(dict.fromkeys(parent for value in inner for parent in value.parents))
            if last == "interleave_datasets" and (keyword(node, "probabilities") or node.args[1:2]):
                seed = keyword(node, "seed") or (node.args[2] if len(node.args) > 2 else None)
                if seed is None or constant(seed) is None:
                    parents = (*parents, Parent("M10", last, node, "it draws the order without a seed"))
            return Value("dataset", is_dict=False, parents=parents, stream=any(value.stream for value in inner))
        streaming = keyword(node, "streaming")
        if constant(streaming) is True or any(
            given.arg is None and self.unpacked(given.value).get("streaming") is True for given in node.keywords
        ):
            return Value("dataset", stream=True)
        if any(given.arg is None and self.value(given.value).fields is None for given in node.keywords):
            return Value("external", dotted=f"datasets.{last}")  # whether it streams is in a dict made elsewhere
        split = keyword(node, "split") or (node.args[4] if len(node.args) > 4 else None)
        is_dict: bool | None = None
        if split is None and last == "load_dataset":
            is_dict = True
        elif isinstance(split, (ast.Constant, ast.JoinedStr)) and constant(split) is not None:
            is_dict = False
        return Value("dataset", is_dict=is_dict)

    def unpacked(self, node: ast.expr) -> dict[str, object]:
        """The literal entries of a `**kwargs` whose dict is in the file, or that are put there: `cfg["streaming"] = True`."""
        found: dict[str, object] = {}
        value = self.value(node)
        if isinstance(value.node, ast.Dict):
            for key, entry in zip(value.node.keys, value.node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found[key.value] = constant(entry)
        elif isinstance(value.node, ast.Call):
            found |= {given.arg: constant(given.value) for given in value.node.keywords if given.arg}
        if not isinstance(node, ast.Name):
            return found
        scope = self.names.resolve(node.id, self.names.scope_at[node])
        for store in (*self.stored_items.get(node.id, ()), *self.stored_fields.get(node.id, ())):
            if isinstance(store, ast.Assign) and self.names.resolve(node.id, self.names.scope_at[store]) is scope:
                target = store.targets[0]
                key_given = (
                    constant(target.slice) if isinstance(target, ast.Subscript) else getattr(target, "attr", None)
                )
                if isinstance(key_given, str):
                    found[key_given] = constant(store.value)
        return found

    def _joined(self, node: ast.expr | None) -> list[Value]:
        """The datasets of a list that is written out, made in a comprehension, or filled by its methods."""
        found = self._listed(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = ast.unparse(node)
            for call in (*self._by_callee.get("append", ()), *self._by_callee.get("extend", ())):
                if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
                    continue
                filled = call.func.value
                if ast.unparse(filled) == name and self._scope_of(filled) is self._scope_of(node):
                    given = call.args[0]
                    found += [self.value(given)] if call.func.attr == "append" else self._listed(given)
        return found

    def _listed(self, node: ast.expr | None) -> list[Value]:
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return [self.value(node.elt)]
        return list(self.value(node).parts)

    def _scope_of(self, node: ast.expr) -> Scope | None:
        return self.names.resolve(node.id, self.names.scope_at[node]) if isinstance(node, ast.Name) else None

    def _constructed(self, owner: str, last: str, node: ast.Call) -> Value:
        columns: list[tuple[str, Elements]] = []
        data = node.args[0] if node.args else None
        if last == "from_dict" and isinstance(data, ast.Dict):
            for key, column in zip(data.keys, data.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    columns.append((key.value, self.value(column).elements))
        memory = last in ("from_dict", "from_list", "from_pandas", "from_polars")
        known = tuple(columns) if isinstance(data, ast.Dict) and len(columns) == len(data.keys) else None
        given = data.values if isinstance(data, ast.Dict) else []
        shown = last == "from_dict" and any(not isinstance(column, ast.Name) for column in given)
        return Value("dataset", is_dict=owner == "DatasetDict", memory=memory, columns=known, shown=shown or not memory)

    def _dataset_method(self, base: Value, name: str, node: ast.Call) -> Value:
        if name == "to_iterable_dataset":
            return replace(base, stream=True)
        if name == "train_test_split":
            return replace(self._randomised(base, name, node), is_dict=True)
        if name == "shuffle":
            return self._randomised(base, name, node)
        if name in ("values", "items"):
            return Value("sequence", parts=(replace(base, is_dict=False),))
        if name == "pop" or name == "get":
            return replace(base, is_dict=False)
        if name == "unique":
            return Value("sequence")
        if name in ("keys",):
            return Value("sequence", elements="strings")
        if name in dataset_words.SAME_KIND:
            parents = (*base.parents, *self._argument_parents(base, name, node))
            columns = base.columns if name in ("shuffle", "filter", "select", "sort", "with_format", "take") else None
            return replace(base, parents=parents, columns=columns, memory=base.memory)
        return UNKNOWN

    def _argument_parents(self, base: Value, name: str, node: ast.Call) -> list[Parent]:
        """A transform with a moving argument: `select(random.sample(...))`, `remove_columns(list(set(...)))`."""
        if name in dataset_words.TRANSFORMS or base.stream:
            return []
        for argument in (*node.args, *(given.value for given in node.keywords if given.arg != "new_fingerprint")):
            for trait in self.value(argument).traits:
                if trait.trigger in ("M3", "M6") and keyword(node, "new_fingerprint") is None:
                    return [Parent("M10" if trait.trigger == "M6" else "M3", name, node, trait.reason)]
        return []

    def _randomised(self, base: Value, name: str, node: ast.Call) -> Value:
        if keyword(node, "buffer_size") is not None:
            return replace(base, stream=True)
        if base.stream or self.is_seeded("numpy") or any(given.arg is None for given in node.keywords):
            return base
        if keyword(node, "new_fingerprint") is not None or keyword(node, "train_new_fingerprint") is not None:
            return base
        seed = keyword(node, "seed") or keyword(node, "seeds")
        if seed is None and name == "shuffle" and node.args:
            seed = node.args[0]
        unset = None
        generator = keyword(node, "generator") or keyword(node, "generators")
        if generator is not None and not self.is_none(generator):
            moving = self.value(generator).traits
            reason = moving[0].reason if moving else ""
        elif seed is not None and not self.is_none(seed):
            moving = tuple(t for t in self.value(seed).traits if t.trigger in ("M6", "M3"))
            reason = moving[0].reason if moving else ""
            unset = self.unset_parameter(seed) if not moving else None
            if unset is not None:
                reason = _DRAWS[name]
            elif not moving and (option := self.unset_option(seed)) is not None:
                reason = f"without {option} {_DRAWS[name]}"
        elif isinstance(seed, (ast.Subscript, ast.Call, ast.Attribute)):
            reason = f"{ast.unparse(seed)} is None, and {_DRAWS[name]}"
        else:
            reason = _DRAWS[name]
        if not reason:
            return base
        return replace(base, parents=(*base.parents, Parent("M10", name, node, reason, unset)))
