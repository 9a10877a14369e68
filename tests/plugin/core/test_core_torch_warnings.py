"""What torch warns of while a check watches: the same line, and the same filters, as without the check."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="torch warns")

# A module filter beside "error": what is not attributed as without the plugin fails.
INI = r"""
[pytest]
filterwarnings =
    error
    ignore::UserWarning:torch\.nn\.modules\..*
    ignore::UserWarning:quiet$
    default:.*asyncio.*
"""
TESTS = """
    import re
    import warnings
    import pytest
    import torch
    import torch.nn.functional as F
    from torch import nn
    import quiet

    def sizes(): F.mse_loss(torch.zeros(3, 3), torch.zeros(1, 3))  # Python code of torch's: stacklevel=2
    def dim(): F.softmax(torch.zeros(3))  # stacklevel=3
    def transposed(): torch.zeros(2, 3, 4).T  # C++ code
    def copied(): torch.tensor(torch.ones(2))
    def imaginary(): torch.zeros(2, dtype=torch.complex64).to(torch.float32)
    def backward():
        x = torch.ones(2, requires_grad=True) * 2
        x.sum().backward()
        x.grad

    @pytest.mark.parametrize("warn", [sizes, dim, transposed, copied, imaginary, backward])
    def test_it_names_the_line(warn):
        with pytest.warns(UserWarning) as caught:
            warn()
        last = {line for *_, line in warn.__code__.co_lines() if line}
        assert [(one.filename, one.lineno in last) for one in caught] == [(__file__, True)]

    def test_it_meets_the_filters():
        nn.MSELoss()(torch.zeros(3, 3), torch.zeros(1, 3))
        quiet.transposed()
        with pytest.raises(UserWarning):
            sizes()

    def test_filters_of_the_test_itself():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sizes()
        with warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", module=re.escape(__name__))
            sizes()
        with warnings.catch_warnings(record=True) as once:
            warnings.simplefilter("once")
            sizes(), sizes()
        assert len(caught) == len(once) == 1

    def test_an_operator_that_the_user_calls():
        torch.ops.aten.add(torch.ones(2), 1)

"""


@pytest.fixture(autouse=True)
def every_time():
    """C++ code of torch's warns once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--tensorcheck",),
        ("--tensorcheck-sync", "report"),
        ("--tensorcheck-device", "shadow"),
        ("--tensorcheck-numerics", "report"),
    ],
    ids=" ".join,
)
def test_a_warning_is_what_it_is_without_the_check(pytester, options):
    pytester.makefile(".ini", pytest=INI)
    pytester.makepyfile(test_it=TESTS, quiet="import torch\n\ndef transposed(): torch.zeros(2, 3, 4).T")
    before = list(warnings.filters), getattr(warnings, "_showwarnmsg", None)
    result = pytester.runpytest_inprocess("-p", "no:randomly", *options)
    result.assert_outcomes(passed=9)
    assert (list(warnings.filters), getattr(warnings, "_showwarnmsg", None)) == before


def test_the_summary_names_the_line(pytester):
    pytester.makepyfile("import torch\n\ndef test_it():\n    torch.zeros(2, 3, 4).T\n")
    result = pytester.runpytest_inprocess("-p", "no:randomly", "--tensorcheck")
    result.stdout.fnmatch_lines(["*test_the_summary_names_the_line.py:4: UserWarning: The use of `x.T`*"])


def test_blocks_of_every_check_leave_the_filters_and_the_way_they_were_shown():
    from pytest_tensorcheck import deterministic, no_broadcast, no_nonfinite, no_sync

    before = list(warnings.filters), getattr(warnings, "_showwarnmsg", None)
    for block in (no_broadcast, no_nonfinite, no_sync):
        with pytest.warns(UserWarning, match="The use of `x.T`") as caught, block(), block():
            torch.zeros(2, 3, 4).T
        assert [one.filename for one in caught] == [__file__]
    with pytest.warns(UserWarning, match="The use of `x.T`") as caught:
        deterministic(lambda: torch.zeros(2, 3, 4).T)
    assert {one.filename for one in caught} == {__file__}
    assert (list(warnings.filters), getattr(warnings, "_showwarnmsg", None)) == before
