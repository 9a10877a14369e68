"""What the user's modules draw while they are imported does not depend on who imports them first."""

from __future__ import annotations

import pytest


def run(pytester, *args: str):
    result = pytester.runpytest_inprocess(
        "-p", "pytest_tensorcheck.plugin", "-p", "no:cacheprovider", "--tensorcheck", "-s", "-q", *args
    )
    assert result.ret == 0
    return result


@pytest.fixture(autouse=True)
def pytest_and_nobody_else(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_shared_modules_draw_the_same_whoever_imports_them(pytester, monkeypatch, mode):
    monkeypatch.syspath_prepend(pytester.path)
    pytester.makepyfile(
        **{
            "shared": "import random\nVALUE = random.random()",
            "lazy": "import random\nVALUE = random.random()",
            "pack/__init__": "import random\nVALUE = random.random()",
            "sub/conftest": "import random\nimport pytest\nVALUE = random.random()\n"
            "@pytest.fixture\ndef drawn(): return VALUE",
            "test_a": "import random\nimport shared, pack\nB = random.random()\n"
            "def test_a(): import lazy; print('\\nD a', shared.VALUE, pack.VALUE, B, lazy.VALUE, random.random())",
            "test_b": "import random\nimport shared, pack\nB = random.random()\n"
            "def test_b(): import lazy; print('\\nD b', shared.VALUE, pack.VALUE, B, lazy.VALUE, random.random())",
            "sub/test_c": "import random\n"
            "def test_c(drawn): import lazy; print('\\nD c', drawn, lazy.VALUE, random.random())",
        }
    )

    def drawn(*args: str) -> list[str]:
        lines = run(pytester, f"--import-mode={mode}", *args).outlines
        return sorted(line for line in lines if line.startswith("D "))

    full = drawn()
    assert len(full) == 3
    a, b, c = full
    assert a.split()[2:4] == b.split()[2:4]  # the modules that both import
    assert a.split()[5] == b.split()[5] == c.split()[3]
    drawn_by_somebody = {*a.split()[2:], *b.split()[2:], *c.split()[2:]}
    assert len(drawn_by_somebody) == 9  # shared, pack, lazy, the conftest, two modules, three tests
    assert [*drawn("test_a.py"), *drawn("test_b.py"), *drawn("sub")] == full


def test_the_import_is_otherwise_as_it_was(pytester):
    """Loaders, specs, warnings that count frames, failures."""
    pytester.makepyfile(
        old="import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)",
        broken="raise RuntimeError('no such luck')",
        test_x="""
            import importlib.util, sys, traceback, warnings
            import pytest

            def test_warning():
                with pytest.warns(DeprecationWarning) as told:
                    import old
                assert told[0].filename == __file__

            def test_failure():
                with pytest.raises(RuntimeError) as caught:
                    import broken
                files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
                assert not any("tensorcheck" in file and "user_imports" in file for file in files)
                assert "broken" not in sys.modules

            def test_loader():
                spec = importlib.util.find_spec("broken")
                assert type(spec.loader).__name__ == "SourceFileLoader"
                assert "no such luck" in spec.loader.get_source("broken")
                import old
                assert "exec_module" not in vars(old.__spec__.loader)
            """,
    )
    import sys

    before = list(sys.meta_path)
    run(pytester).assert_outcomes(passed=3)
    assert sys.meta_path == before
