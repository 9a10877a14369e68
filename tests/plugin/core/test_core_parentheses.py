"""Context managers without their parentheses, and as decorators."""

from __future__ import annotations

import threading

import pytest

torch = pytest.importorskip("torch", reason="watches torch's operations")

from pytest_tensorcheck import BroadcastError, allow_sync, no_broadcast, no_sync  # noqa: E402


@pytest.mark.parametrize("manager", [allow_sync, no_broadcast, no_sync])
def test_without_parentheses_it_is_said(manager):
    name = manager.__name__
    with pytest.raises(TypeError, match=rf"`with {name}:` lacks its parentheses: write `with {name}\(\):`"), manager:
        pass
    with pytest.raises(TypeError, match=rf"`@{name}` lacks its parentheses: write `@{name}\(\)`"):

        @manager
        def decorated() -> None:
            pass


def test_a_decorated_function_in_two_threads_at_once():
    """The first to come in is the first to leave, while the second is inside."""
    second_inside, first_left = threading.Event(), threading.Event()
    found: list[type] = []

    @no_broadcast()
    def difference(come_second) -> None:
        come_second()
        torch.ones(3, 1) - torch.ones(3)

    def call(come_second) -> None:
        try:
            difference(come_second)
        except BaseException as error:
            found.append(type(error))

    def inside_second() -> None:
        second_inside.set()
        first_left.wait(20)

    second = threading.Thread(target=call, args=(inside_second,))

    def start_the_second() -> None:
        second.start()
        second_inside.wait(20)

    first = threading.Thread(target=call, args=(start_the_second,))
    first.start()
    first.join()
    first_left.set()
    second.join()
    assert found == [BroadcastError, BroadcastError]
