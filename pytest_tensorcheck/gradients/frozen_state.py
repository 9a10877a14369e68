"""The same state at every evaluation: random generators, buffers, hidden state of modules; all restored at the end.

A finite difference compares f(x + h) with f(x - h). That is only meaningful when dropout draws the same mask and batch
normalisation starts from the same running statistics both times.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import torch

from pytest_tensorcheck import frameworks

# Attributes that torch's Module keeps for itself; their contents are handled or never change during a call.
_MODULE_INTERNAL = {"_parameters", "_buffers", "_modules"}


class RandomState:
    """State of Python's, numpy's and torch's generators and of the generators among the arguments."""

    def __init__(self, devices: Iterable[torch.device], generators: Iterable[Any] = ()) -> None:
        self._cuda = sorted({d.index or 0 for d in devices if d.type == "cuda"})
        self._python = random.getstate()
        numpy = frameworks.loaded("numpy")
        self.numpy = NumpyState(numpy) if numpy is not None else None
        self._torch = torch.get_rng_state()
        self._cuda_states = [torch.cuda.get_rng_state(index) for index in self._cuda]
        self._generators = [(generator, generator_state(generator)) for generator in generators]

    def restore(self) -> None:
        random.setstate(self._python)
        if self.numpy is not None:
            self.numpy.restore()
        torch.set_rng_state(self._torch)
        for index, state in zip(self._cuda, self._cuda_states, strict=True):
            torch.cuda.set_rng_state(state, index)
        for generator, state in self._generators:
            set_generator_state(generator, state)


class NumpyState:
    """numpy's global generator. Reading or setting it takes as long as a small layer (25 microseconds), so once a whole
    evaluation was seen not to draw from it, it is left alone; `moved()` tells at the end whether a later one did."""

    def __init__(self, numpy: Any) -> None:
        self._random = numpy.random
        self._state = self._random.get_state()
        self._calls = 0
        self._insisting = False
        self.at_rest = False
        self.untouched = False  # seen to be as it was, and not drawn from since

    def restore(self) -> None:
        self._calls += 1
        self.untouched = False
        if self._calls == 2 and not self._insisting:  # the first evaluation lies between the first two calls
            self.at_rest = not self.moved()
        if not self.at_rest:
            self._random.set_state(self._state)

    def insist(self) -> None:
        """Set it at every call from now on."""
        self._insisting, self.at_rest = True, False

    def moved(self) -> bool:
        now = self._random.get_state()
        if not isinstance(now, tuple) or not isinstance(self._state, tuple):  # a bit generator of the user's
            return True
        (name, keys, *rest), (own_name, own_keys, *own_rest) = now, self._state
        return bool(name != own_name or rest != own_rest or keys.tobytes() != own_keys.tobytes())


def is_generator(value: Any) -> bool:
    """Whether `value` is a source of random numbers of Python, torch or numpy."""
    if isinstance(value, random.Random | torch.Generator):
        return True
    numpy = frameworks.loaded("numpy")
    return numpy is not None and isinstance(value, numpy.random.Generator | numpy.random.RandomState)


def generator_state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if hasattr(generator, "bit_generator"):
        return generator.bit_generator.state
    return generator.get_state()


def set_generator_state(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, torch.Generator) or not hasattr(generator, "bit_generator"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


class ModuleState:
    """Buffers, plain attributes and the contents of list, dict and set attributes of a module and its submodules."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._parts = [_ModulePart(part) for part in module.modules()]

    def restore(self) -> None:
        for part in self._parts:
            part.restore()


class _ModulePart:
    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._training = module.training
        self._attributes = {name: value for name, value in vars(module).items() if name not in _MODULE_INTERNAL}
        self._contents = [
            (value, value.copy())
            for name, value in self._attributes.items()
            if type(value) in (list, dict, set) and not name.startswith("_forward") and not name.startswith("_backward")
        ]
        self._generators = [
            (value, generator_state(value)) for value in self._attributes.values() if is_generator(value)
        ]
        self._buffers = dict(module._buffers)
        tensors = [*self._buffers.values(), *self._attributes.values()]
        for value in self._attributes.values():
            if type(value) in (list, tuple):
                tensors += value
            elif type(value) is dict:
                tensors += value.values()
        # Parameters are set before every evaluation by whoever moves them.
        self._tensors = [
            (tensor, tensor._version, tensor.detach().clone())
            for tensor in tensors
            if isinstance(tensor, torch.Tensor) and not isinstance(tensor, torch.nn.Parameter)
        ]

    def restore(self) -> None:
        own = vars(self._module)
        for name in [name for name in own if name not in self._attributes and name not in _MODULE_INTERNAL]:
            del own[name]
        own.update(self._attributes)
        for container, content in self._contents:
            if isinstance(container, list):
                container[:] = content
            else:
                container.clear()
                container.update(content)
        for generator, state in self._generators:
            set_generator_state(generator, state)
        buffers = self._module._buffers
        if (
            buffers != self._buffers
            if len(buffers) != len(self._buffers)
            else any(buffers.get(name) is not value for name, value in self._buffers.items())
        ):
            buffers.clear()
            buffers.update(self._buffers)
        for index, (tensor, version, value) in enumerate(self._tensors):
            if tensor._version != version:
                with torch.no_grad():
                    tensor.detach().copy_(value)
                self._tensors[index] = (tensor, tensor._version, value)


class Frozen:
    """A context in which `reset()` brings back the state of its beginning; leaving it does so one last time."""

    def __init__(
        self, modules: Iterable[torch.nn.Module], devices: Iterable[torch.device], generators: Iterable[Any] = ()
    ) -> None:
        self._modules = [ModuleState(module) for module in modules]
        self._random = RandomState(devices, generators)
        self._default_dtype = torch.get_default_dtype()

    def reset(self) -> None:
        for module in self._modules:
            module.restore()
        self._random.restore()

    def slipped(self) -> bool:
        """Whether numpy's generator, left alone because the first evaluation did not draw from it, moved later. From
        now on it is set every time."""
        numpy = self._random.numpy
        if numpy is None or not numpy.at_rest:
            return False
        numpy.untouched = not numpy.moved()
        if not numpy.untouched:
            numpy.insist()
        return not numpy.untouched

    def __enter__(self) -> Frozen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_default_dtype(self._default_dtype)
        if self._random.numpy is not None and not self._random.numpy.untouched:
            self._random.numpy.insist()
        self.reset()
