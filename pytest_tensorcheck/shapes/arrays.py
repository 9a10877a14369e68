"""What the checks ask an array: shape, dtype, device, layout. numpy, torch, jax and whatever else has `.shape`.

Nothing here imports a library: each question is put to the object, and an object that cannot answer says so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pytest_tensorcheck.frameworks import loaded


def is_array(value: object) -> bool:
    """Whether the value has a shape of sizes: an array, a tensor, a numpy scalar; a class is none."""
    return is_torch(value) or (hasattr(value, "shape") and not isinstance(value, type))


def is_torch(value: object) -> bool:
    torch = loaded("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_numpy(value: object) -> bool:
    numpy = loaded("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def is_jax(value: object) -> bool:
    jax = loaded("jax")
    return jax is not None and isinstance(value, jax.Array)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape as a tuple, None for what has none. Python numbers are scalars: `()`."""
    if isinstance(value, (bool, int, float, complex)):
        return ()
    try:
        return tuple(value.shape)
    except (AttributeError, TypeError):
        return None


@lru_cache(maxsize=512)
def dtype_name(dtype: Any) -> str:
    """`torch.float32`, `numpy.dtype("float32")`, `numpy.float32`, `float` and `"torch.float32"` by one name."""
    if isinstance(dtype, str):
        return _ALIASES.get(dtype.rpartition(".")[2], dtype.rpartition(".")[2])
    if isinstance(dtype, type):
        return _ALIASES.get(dtype.__name__, dtype.__name__)
    name = getattr(dtype, "name", None)  # numpy, jax, ml_dtypes
    text = name if isinstance(name, str) else str(dtype).rpartition(".")[2]
    return _ALIASES.get(text, text)


# The names by which one dtype goes in the libraries. Python's own types mean what numpy makes of them, except that
# nobody who writes dtype=float for a tensor means 64 bits: `matches_dtype` takes Python types as families.
_ALIASES = {
    "half": "float16",
    "float": "float",
    "double": "float64",
    "single": "float32",
    "short": "int16",
    "long": "int64",
    "bool_": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}

# A family of dtypes by the word people use for it; also what Python's types stand for.
FAMILIES: dict[str, tuple[str, ...]] = {
    "float": ("float", "bfloat"),
    "floating": ("float", "bfloat"),
    "int": ("int", "uint"),
    "integer": ("int", "uint"),
    "uint": ("uint",),
    "complex": ("complex",),
    "bool": ("bool",),
}


def matches_dtype(value: Any, wanted: Any) -> bool:
    """Whether the array's dtype is `wanted`: any library's dtype, its name, a family ("float"), or a tuple."""
    if isinstance(wanted, (tuple, list, set, frozenset)):
        return any(matches_dtype(value, each) for each in wanted)
    name = dtype_name(value.dtype) if hasattr(value, "dtype") else type(value).__name__
    return _fits(name, dtype_name(wanted))


@lru_cache(maxsize=512)
def _fits(name: str, target: str) -> bool:
    family = FAMILIES.get(target)
    if family is not None:
        return any(name == word or (name.startswith(word) and name[len(word) :][:1].isdigit()) for word in family)
    return name == target


def device_name(value: Any) -> str:
    """`cpu`, `cuda:0`; for numpy always `cpu`; for jax the platform and number."""
    if is_jax(value):
        devices = sorted(f"{device.platform}:{device.id}" for device in value.devices())
        return "+".join(devices)
    device = getattr(value, "device", None)
    return "cpu" if device is None else str(device)


def matches_device(value: Any, wanted: Any) -> bool:
    """`"cuda"` accepts every CUDA device, `"cuda:1"` that one."""
    have, want = device_name(value), str(wanted)
    if ":" not in want:
        return have.partition(":")[0] == want
    return have == want or (have == "cpu" and want == "cpu:0") or (have == "cpu:0" and want == "cpu")


def is_contiguous(value: Any) -> bool | None:
    """Row-major without gaps, as `.view` wants it; None where the library does not show its layout (jax)."""
    if is_torch(value):
        return bool(value.is_contiguous())
    flags = getattr(value, "flags", None)
    if flags is not None and hasattr(flags, "c_contiguous"):
        return bool(flags.c_contiguous)
    return None


def strides_of(value: Any) -> tuple[int, ...] | None:
    """Strides in elements, for messages."""
    if is_torch(value):
        return tuple(value.stride())
    strides, itemsize = getattr(value, "strides", None), getattr(value, "itemsize", None)
    if isinstance(strides, tuple) and itemsize:
        return tuple(stride // itemsize for stride in strides)
    return None


def refuse_misspelt_dtype(wanted: Any) -> None:
    """Raise ValueError for a name that no library has, where it is near one that they have. Others may be a library's own."""
    __tracebackhide__ = True
    if isinstance(wanted, (tuple, list, set, frozenset)):
        for each in wanted:
            refuse_misspelt_dtype(each)
    if not isinstance(wanted, str):
        return
    name = dtype_name(wanted)
    torch, numpy = loaded("torch"), loaded("numpy")
    of_torch = (
        [key for key, value in vars(torch).items() if isinstance(value, torch.dtype)] if torch is not None else []
    )
    known = {*_NAMES, *FAMILIES, *_ALIASES, *of_torch, *(map(str, numpy.sctypeDict) if numpy is not None else ())}
    if name in known or not name.isalnum():  # "float8_e4m3b11fnuz", "datetime64[ns]": there are always more of these
        return
    import difflib

    if nearest := difflib.get_close_matches(name, [*_NAMES, *sorted(known)], 1, cutoff=0.75):
        raise ValueError(f"unknown dtype {wanted!r}; did you mean {nearest[0]!r}?")


_NAMES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64, 2, 4)),
    *("float128", "complex256", "longdouble", "object", "str", "bytes", "datetime64", "timedelta64"),
)
