"""Which objects can be looked into: tensors, modules, arrays, generators, containers and objects of the user's own classes.

All by the type and never by isinstance, which asks the object: a proxy may fail, or begin to work, when it is asked.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from pytest_tensorcheck.frameworks import loaded
from pytest_tensorcheck.user_line import is_user_file

NEVER = (type, ModuleType, FunctionType, MethodType)
NUMBERS_AND_TEXTS = (bool, int, str, bytes, type(None), float, complex)
_MUTABLE = (list, tuple, dict, set, deque, bytearray, random.Random)


def may_change(value: object) -> bool:
    """Whether it is of a kind whose contents can be compared, and changed in place."""
    kind = type(value)
    if issubclass(kind, NEVER) or is_global_generator(value):
        return False
    return issubclass(kind, _MUTABLE) or _is_known(kind) or is_users(kind)


def is_constant(value: object) -> bool:
    """Whether no test can have changed it: numbers, texts, functions, classes, modules."""
    return issubclass(type(value), (*NUMBERS_AND_TEXTS, *NEVER, BuiltinFunctionType))


def _is_known(kind: type) -> bool:
    torch, numpy = loaded("torch"), loaded("numpy")
    if torch is not None and issubclass(kind, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.Generator)):
        return True
    return numpy is not None and issubclass(kind, (numpy.ndarray, numpy.random.Generator, numpy.random.RandomState))


def is_users(kind: type) -> bool:
    """A class of the user's, whose objects have ordinary attributes."""
    return kind.__dictoffset__ != 0 and is_users_class(kind)


def is_users_class(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and is_user_file(file)


def is_global_generator(value: object) -> bool:
    """One that every test finds seeded."""
    torch, numpy = loaded("torch"), loaded("numpy")
    return (
        value is getattr(random, "_inst", None)
        or (torch is not None and value is torch.default_generator)
        or (numpy is not None and value is getattr(numpy.random.mtrand, "_rand", None))
    )
