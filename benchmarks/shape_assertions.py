"""What one shape assertion costs, beside the peers. Prints a table; `--out FILE` writes it as markdown.

usage: shape_assertions.py [--out FILE]. Peers that are not installed are left out and said to be.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import timeit
from typing import Any

import numpy
import torch

from pytest_tensorcheck.shapes import ShapeChecker, assert_shape, shapes

NUMBER, REPEAT = 20_000, 15


def best(statement: Any, number: int = NUMBER) -> float:
    """Microseconds for one call: the fastest of the repeats, which is the one least disturbed."""
    return min(timeit.repeat(statement, number=number, repeat=REPEAT)) / number * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="write the table here")
    arguments = parser.parse_args()
    rows: list[tuple[str, float | None, float | None]] = []
    missing: list[str] = []
    tensors = {"torch": torch.zeros(4, 8, 16), "numpy": numpy.zeros((4, 8, 16))}
    seconds = {"torch": torch.zeros(4, 16, 32), "numpy": numpy.zeros((4, 16, 32))}

    def add(name: str, make: Any) -> None:
        rows.append((name, *(best(make(tensors[each], seconds[each], each)) for each in ("torch", "numpy"))))

    checker = ShapeChecker()
    checker(tensors["torch"], "b t c")
    add("x.shape == (4, 8, 16)", lambda x, y, _: lambda: x.shape == (4, 8, 16))
    add('assert_shape(x, "b t c")', lambda x, y, _: lambda: assert_shape(x, "b t c"))
    add('fixture: assert_shape(x, "b t c"), names bound', lambda x, y, _: lambda: checker(x, "b t c"))
    add('assert_shape(x, "b t c", y, "b c d")', lambda x, y, _: lambda: assert_shape(x, "b t c", y, "b c d"))
    add('assert_shape(x, "b t c", dtype="float")', lambda x, y, _: lambda: assert_shape(x, "b t c", dtype="float"))
    add('assert_shape(x, "b ... 2*c", names bound)', lambda x, y, _: lambda: checker(x, "b ... 2*t"))
    with shapes():
        add('in with shapes(): assert_shape(x, "b t c")', lambda x, y, _: lambda: assert_shape(x, "b t c"))

    if importlib.util.find_spec("jaxtyping") and importlib.util.find_spec("beartype"):
        import beartype
        import jaxtyping

        def annotated(x: Any, y: Any, library: str) -> Any:
            kind = torch.Tensor if library == "torch" else numpy.ndarray

            def function(x: Any) -> None: ...

            function.__annotations__ = {"x": jaxtyping.Float[kind, "b t c"]}
            checked = jaxtyping.jaxtyped(function, typechecker=beartype.beartype)
            return lambda: checked(x)

        def isinstance_check(x: Any, y: Any, library: str) -> Any:
            hint = jaxtyping.Float[torch.Tensor if library == "torch" else numpy.ndarray, "b t c"]
            return lambda: isinstance(x, hint)

        add("jaxtyping + beartype, one argument", annotated)
        add('isinstance(x, Float[Tensor, "b t c"])', isinstance_check)
    else:
        missing.append("jaxtyping with beartype")
    if importlib.util.find_spec("einops"):
        import einops

        add('einops.parse_shape(x, "b t c")', lambda x, y, _: lambda: einops.parse_shape(x, "b t c"))
    else:
        missing.append("einops")
    if importlib.util.find_spec("chex"):
        import chex
        import jax

        x = jax.numpy.zeros((4, 8, 16))
        rows.append(
            ("chex.assert_shape(x, (4, 8, 16)), jax", None, best(lambda: chex.assert_shape(x, (4, 8, 16)), 2000))
        )
        rows.append(('assert_shape(x, "b t c"), jax', None, best(lambda: assert_shape(x, "b t c"))))
    else:
        missing.append("chex")

    lines = [
        f"python {platform.python_version()}, torch {torch.__version__}, numpy {numpy.__version__}; µs for a call,",
        "",
    ]
    lines[0] += f" best of {REPEAT}"
    lines += ["| check | torch | numpy or jax |", "|---|---|---|"]
    lines += [
        f"| `{name}` | " + " | ".join("" if each is None else f"{each:.2f}" for each in figures) + " |"
        for name, *figures in rows
    ]
    if missing:
        lines += ["", "Not installed here, so not measured: " + ", ".join(missing)]
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
