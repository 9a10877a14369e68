"""The dispatch mode that writes down what a run does: about 7 µs for a small operation.

Everything on the path of an operation is written for speed: plain tuples, code offsets instead of lines, hashes by
address.
"""

from __future__ import annotations

import math
import os
import sys
import weakref
from types import FrameType
from typing import Any

import torch
import torch._dynamo  # torch loads it (1 s) at the first operation under a mode: not in the time of a test with a deadline
from torch.utils._python_dispatch import TorchDispatchMode  # seen in torch 2.6 to 2.13

from pytest_tensorcheck.determinism.autograd_nodes import current_node, sequence_counter, sequence_of
from pytest_tensorcheck.determinism.compiled_lines import traced_line
from pytest_tensorcheck.determinism.hashing import hash_memory, hash_other_layout, hash_tensor, physical_layout
from pytest_tensorcheck.determinism.kernels import read_kernel
from pytest_tensorcheck.determinism.operations import (
    BackwardNode,
    External,
    GeneratorState,
    Kernel,
    Operand,
    Operation,
    Place,
    Recording,
)
from pytest_tensorcheck.graph_tracing import writes_a_graph
from pytest_tensorcheck.operator_calls import operator_call
from pytest_tensorcheck.own_reads import own_reads
from pytest_tensorcheck.torch_warnings import WarnsInPlace
from pytest_tensorcheck.user_line import is_user_file

_MARK = "_tensorcheck_mark"  # the attribute on a storage's Python object
_CACHED_FROM = 1024  # bytes: hashing fewer is as fast as looking the hash up
_POISONED_UP_TO = 64 << 20  # bytes: filling more would commit memory that the program may never touch
_SAMPLE = 64
_SCALARS = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
_OF_COMPILERS = ("FakeTensor", "FunctionalTensor")
_new = tuple.__new__
_Tensor, _strided = torch.Tensor, torch.strided  # looked up often
_forked = False


def _after_fork() -> None:
    """A forked worker inherits the mode on its stack; nobody will read what it records."""
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)


class _Mark:
    """What a recorder knows of a storage; lives as long as the storage does."""

    __slots__ = ("__weakref__", "empty", "hashes", "recorder", "storage", "version", "written", "written_by")

    def __init__(self, recorder: Recorder, storage: int) -> None:
        self.recorder = recorder
        self.storage = storage
        self.version = 0
        self.hashes: dict[Any, Any] | None = None
        self.empty: Place | None = None  # the `empty` whose memory still shows somewhere
        self.written = 0  # bytes written since then
        self.written_by: tuple[str, Place | None] | None = None


class Recorder(WarnsInPlace, TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """Records the operations of the code inside its `with` into `.recording`.

    `run` counts from 0 and chooses the numbers that fill uninitialised memory: two runs get different ones, so that
    what depends on them differs for certain and not by chance. What the run before knew of a storage that lives on is
    on the storage itself.
    """

    supports_higher_order_operators = True  # flex_attention, cond: recorded as one operation each

    def __init__(self, run: int = 0, *, poison: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.run = run
        self.poison = poison
        self.recording = Recording()
        self._operations = self.recording.operations
        self._kernels: dict[int, tuple[Any, Kernel]] = {}
        self._plain: dict[type, bool] = {torch.Tensor: True, torch.nn.Parameter: True}
        self._user_file: dict[str, bool] = {}
        self._marked: list[weakref.ref[Any]] = []
        self._storages = 0
        self._current_node = current_node()
        self._sequence_counter = sequence_counter()
        self._fake = False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets torch.compile compile (since 2.9; it would skip its frames, or fail under fullgraph=True)."""
        return True

    def erase_marks(self) -> None:
        """Remove what the recorder attached to storages that are still alive."""
        for reference in self._marked:
            storage = reference()
            mark = getattr(storage, _MARK, None)
            if mark is not None and mark.recorder is self:
                delattr(storage, _MARK)
        self._marked.clear()

    def storage_of(self, tensor: Any) -> int | None:
        """The number of a tensor's storage in this run, None if the run never met it."""
        try:
            mark = getattr(tensor.untyped_storage(), _MARK, None)
        except (RuntimeError, NotImplementedError):
            return None
        return mark.storage if mark is not None and mark.recorder is self else None

    def unwritten(self, tensor: Any) -> Place | None:
        """The `empty` whose memory a tensor still shows."""
        mark = self._mark_of(tensor)
        return mark.empty if mark is not None else None

    # -- the path of every operation

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        known = self._kernels.get(id(func))
        if known is None:
            known = self._kernels[id(func)] = (func, read_kernel(func))
        kernel = known[1]
        if kernel.ignored:
            with operator_call(func, types):
                return func(*args, **kwargs) if kwargs else func(*args)
        if _forked or (kernel.unpacks and _comes_from_another_process(sys._getframe(1))) or writes_a_graph():
            return func(*args, **kwargs) if kwargs else func(*args)
        with operator_call(func, types):
            return self._run(kernel, func, args, kwargs)

    def _run(self, kernel: Kernel, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        scalars: list[Any] = []
        inputs: list[Operand] = []
        view = kernel.is_view
        overwrites = kernel.overwrites
        for position, value in enumerate(args):
            if isinstance(value, _Tensor):
                if not view:
                    inputs.append(self._operand(value, position in overwrites))
            elif value.__class__ is list or value.__class__ is tuple:
                self._take(value, scalars, inputs, view or position in overwrites)
            else:
                scalars.append(value if isinstance(value, _SCALARS) else type(value).__name__)
        generator = None
        if kwargs:
            for name, value in kwargs.items():
                if isinstance(value, _Tensor):
                    inputs.append(self._operand(value, name in overwrites))
                elif name == "generator" and value is not None:
                    generator = GeneratorState(True, _generator_hash(value), value)
                elif value.__class__ is list or value.__class__ is tuple:
                    self._take(value, scalars, inputs, name in overwrites)
                else:
                    scalars.append(value if isinstance(value, _SCALARS) else type(value).__name__)
        if kernel.is_random and generator is None:
            generator = self._default_generator(args, kwargs)

        node = self._current_node()
        place, in_engine = self._place(sys._getframe(1), node)
        counter = self._sequence_counter() - 1
        if node is None:
            backward = None
            if counter >= 0:  # the thread has made a node, maybe this operation's
                self.recording.forward_places.setdefault(counter, place)
        else:
            backward = BackwardNode(node.name(), sequence_of(node), in_engine)

        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except BaseException:
            self._operations.append(
                _new(Operation, (kernel, place, tuple(scalars), tuple(inputs), (), ("raised",), backward, generator))
            )
            raise

        outputs: list[Operand] = []
        values: list[Any] = []
        if kernel.writes and (kernel.writes_if is None or args[kernel.writes_if]):
            self._written(kernel, args, kwargs, place, outputs, inputs)
            if kernel.makes_results:
                self._results(result, outputs, values, view)
        elif isinstance(result, _Tensor):
            if kernel.is_empty:
                outputs.append(self._empty(result, place))
            elif not view:
                outputs.append(self._operand(result, made=True))
        elif result is not None:
            self._results(result, outputs, values, view)
        if self._fake:
            self._fake = False
            return result
        self._operations.append(
            _new(
                Operation,
                (kernel, place, tuple(scalars), tuple(inputs), tuple(outputs), tuple(values), backward, generator),
            )
        )
        return result

    def _place(self, frame: FrameType | None, node: Any) -> tuple[Any, bool]:
        """The nearest place in the user's code, and whether autograd's engine lies between it and the operation."""
        user_file = self._user_file
        in_engine = False
        while frame is not None:
            code = frame.f_code
            user = user_file.get(code.co_filename)
            if user is None:
                user = user_file[code.co_filename] = is_user_file(code.co_filename)
            if user:
                return _new(Place, (code, frame.f_lasti)), in_engine
            if node is not None and code.co_name == "_engine_run_backward":
                in_engine = True
            elif code.co_filename.startswith("<eval_with_key>") and (line := traced_line(frame)) is not None:
                return line, in_engine
            frame = frame.f_back
        return None, node is not None

    def _operand(self, tensor: Any, overwritten: bool = False, made: bool = False) -> Operand:
        """`made` where the operation that just ran made the tensor: an unknown storage is then its work and no external
        one."""
        plain = self._plain.get(tensor.__class__)
        if plain is None:
            plain = self._plain[tensor.__class__] = _is_plain(tensor.__class__)
        if not plain or tensor.layout is not _strided or tensor.is_meta or tensor.is_nested or tensor.is_quantized:
            return self._opaque(tensor)
        storage = tensor.untyped_storage()
        mark = getattr(storage, _MARK, None)
        if mark is None or mark.recorder is not self:
            mark = self._first_sight(tensor, storage, mark, made)
        shape = tensor.shape
        if overwritten:
            return _new(Operand, (mark.storage, None, shape, tensor.dtype, None))
        return _new(Operand, (mark.storage, self._content(tensor, storage, mark), shape, tensor.dtype, mark.empty))

    def _content(self, tensor: Any, storage: Any, mark: _Mark) -> Any:
        nbytes = tensor.nbytes
        contiguous = tensor.is_contiguous()
        if nbytes <= _CACHED_FROM:
            if contiguous and tensor.is_cpu:
                return hash_memory(tensor.data_ptr(), nbytes)
            return hash_tensor(tensor)
        if tensor.is_inference() or not storage.resizable():
            # No version to trust: numpy or another process may write to this memory unseen.
            return hash_tensor(tensor)
        # A tensor and its transpose share the hash of their memory.
        layout = None if contiguous else tensor.stride()
        key = (mark.version, tensor._version, tensor.storage_offset(), nbytes, layout)
        hashes = mark.hashes
        if hashes is not None:
            found = hashes.get(key)
            if found is not None:
                return found
            if not contiguous and (plain := hashes.get((*key[:4], None))) is not None:
                dense = physical_layout(tensor)
                if dense is not None:
                    return (plain, dense)
        if hashes is None or len(hashes) > 32:
            hashes = mark.hashes = {}
        content = hashes[key] = hash_tensor(tensor)
        return content

    # -- the rarer cases

    def _take(self, values: Any, scalars: list[Any], inputs: list[Operand], skipped: bool) -> None:
        for value in values:
            if isinstance(value, torch.Tensor):
                inputs.append(self._operand(value, skipped))
            elif value.__class__ is list or value.__class__ is tuple:
                self._take(value, scalars, inputs, skipped)
            else:
                scalars.append(value if isinstance(value, _SCALARS) else type(value).__name__)
        scalars.append(len(values))

    def _results(self, result: Any, outputs: list[Operand], values: list[Any], view: bool) -> None:
        if isinstance(result, torch.Tensor):
            if not view:
                outputs.append(self._operand(result, made=True))
        elif isinstance(result, (list, tuple)):
            for part in result:
                self._results(part, outputs, values, view)
        elif result is not None:
            values.append(result if isinstance(result, _SCALARS) else type(result).__name__)

    def _written(
        self,
        kernel: Kernel,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
        place: Place | None,
        outputs: list[Operand],
        before: list[Operand],
    ) -> None:
        if kernel.is_resize:
            outputs.append(self._resized(args[0], before, place))
            return
        for key in kernel.writes:
            if isinstance(key, str):
                written = (kwargs or {}).get(key)
            else:
                written = args[key] if key < len(args) else None
            for tensor in written if isinstance(written, (list, tuple)) else (written,):
                if not isinstance(tensor, torch.Tensor):
                    continue
                mark = self._mark_of(tensor)
                if mark is not None:
                    mark.version += 1
                    mark.written_by = (kernel.name, place)
                    if mark.empty is not None:
                        mark.written += tensor.nbytes
                        if mark.written >= tensor.untyped_storage().nbytes():
                            mark.empty = None
                outputs.append(self._operand(tensor))

    def _mark_of(self, tensor: Any) -> _Mark | None:
        try:
            mark = getattr(tensor.untyped_storage(), _MARK, None)
        except (RuntimeError, NotImplementedError):
            return None
        return mark if mark is not None and mark.recorder is self else None

    def _empty(self, tensor: Any, place: Place | None) -> Operand:
        """Note that the memory is nobody's yet, and fill it with this run's numbers."""
        operand = self._operand(tensor, overwritten=True, made=True)
        mark = self._mark_of(tensor)
        if mark is None or tensor.is_meta or tensor.numel() == 0:
            return operand._replace(content=None)
        mark.empty = place
        if self.poison and not _torch_fills_memory():
            self._fill(tensor)
        return operand

    def _resized(self, tensor: Any, before: list[Operand], place: Place | None) -> Operand:
        """What `resize_` adds is as uninitialised as what `empty` makes."""
        mark = self._mark_of(tensor)
        kept = math.prod(before[0].shape) if before else 0
        if mark is not None and tensor.numel() > kept:
            mark.version += 1
            mark.empty, mark.written = place, kept * tensor.itemsize
            if self.poison and tensor.is_contiguous() and not _torch_fills_memory():
                self._fill(tensor.detach().view(-1)[kept:])
        return self._operand(tensor, overwritten=True)

    def _fill(self, tensor: Any) -> None:
        """Fill memory that is nobody's with this run's numbers."""
        if tensor.nbytes > _POISONED_UP_TO:
            return
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            tensor.fill_((-1.0) ** self.run * (1.5 + self.run))
        else:
            tensor.fill_(self.run % 2)  # 0 and 1: garbage that would be used as an index stays inside

    def _first_sight(self, tensor: Any, storage: Any, before: _Mark | None, made: bool) -> _Mark:
        mark = _Mark(self, self._storages)
        self._storages += 1
        setattr(storage, _MARK, mark)
        self._marked.append(weakref.ref(storage))
        if not made:
            self._note_external(tensor, storage, mark, before)
        return mark

    def _note_external(self, tensor: Any, storage: Any, mark: _Mark, before: _Mark | None) -> None:
        foreign = not storage.resizable()
        external = External(foreign=foreign, shared=foreign and storage.is_shared())
        if before is not None and before.recorder.run == self.run - 1:
            external.previous = before.storage
            external.written_by = before.written_by
        if tensor.numel():
            flat = tensor.detach().reshape(-1)
            step = max(1, -(-flat.numel() // _SAMPLE))
            with own_reads:
                external.sample = tuple(flat[::step].tolist())
            external.samples_all = step == 1
        self.recording.externals[mark.storage] = external

    def _opaque(self, tensor: Any) -> Operand:
        if tensor.__class__.__name__ in _OF_COMPILERS:  # one is tracing: no numbers yet, and maybe symbols for sizes
            self._fake = True
        content = hash_other_layout(tensor) if self._plain.get(tensor.__class__) else None
        return Operand(-1, content, () if tensor.is_nested else tuple(tensor.shape), tensor.dtype)

    def _default_generator(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> GeneratorState | None:
        device: Any = (kwargs or {}).get("device")
        for value in args:
            if isinstance(value, torch.Tensor):
                device = value.device
                break
        kind = "cpu" if device is None else torch.device(device).type
        if kind == "cpu":
            return _new(GeneratorState, (False, _generator_hash(torch.default_generator), None))
        if kind == "cuda" and torch.cuda.is_initialized():  # type: ignore[no-untyped-call, unused-ignore]
            index: Any = torch.device(device).index
            generator = torch.cuda.default_generators[torch.cuda.current_device() if index is None else index]
            return GeneratorState(False, _generator_hash(generator), None)
        return None


def _comes_from_another_process(frame: FrameType | None) -> bool:
    """Whether a tensor that a worker sent is unpacked: when that happens is the workers' pace, not the program's order.
    It is met where it is used first. Between here and there may be frames of modes (seen in torch 2.6 to 2.13)."""
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_code.co_name == "_rebuild_tensor":
            above = frame.f_back
            return above is not None and above.f_globals.get("__name__") == "torch.multiprocessing.reductions"
        frame = frame.f_back
    return False


def _is_plain(kind: type) -> bool:
    """Whether tensors of this class hold their numbers themselves: no `__torch_dispatch__` of their own."""
    return getattr(kind, "__torch_dispatch__", None) is getattr(torch.Tensor, "__torch_dispatch__", None)


def _torch_fills_memory() -> bool:
    """Whether torch itself fills `empty`, as it does under deterministic algorithms."""
    if not torch.are_deterministic_algorithms_enabled():
        return False
    return bool(getattr(torch.utils.deterministic, "fill_uninitialized_memory", True))


def _generator_hash(generator: Any) -> int:
    state = generator.get_state()
    return hash_memory(state.data_ptr(), state.nbytes)
