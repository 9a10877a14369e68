"""Whose a file is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pytest_tensorcheck.user_line import is_user_file


def test_the_standard_library_is_not_the_users():
    for module in (json, subprocess, sysconfig):
        assert module.__file__ is not None
        assert not is_user_file(module.__file__)
    for kind in ("stdlib", "platstdlib"):  # platstdlib names the virtual environment, unless told the base
        folder = sysconfig.get_path(kind, vars={"platbase": sys.base_exec_prefix})
        assert not is_user_file(os.path.join(folder, "x.py"))
    assert is_user_file(os.path.join(os.path.dirname(sysconfig.get_path("stdlib")), "project", "x.py"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has one folder for both")
def test_where_platform_files_have_a_folder_of_their_own(tmp_path):
    program = (
        "import sys, sysconfig\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from pytest_tensorcheck.user_line import is_user_file\n"
        "folders = sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')\n"
        "print(*folders, *[is_user_file(folder + '/x.py') for folder in folders])\n"
    )
    home = {"PYTHONHOME": f"{sys.base_prefix}:{tmp_path}"}
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program], env=os.environ | home, capture_output=True, text=True, check=False
    )
    pure, platform, *users = ran.stdout.split()
    assert platform.startswith(str(tmp_path))
    assert pure != platform
    assert users == ["False", "False"]


def test_folders_that_packages_were_installed_into_are_not_the_users(tmp_path):
    """`pip install --target`, a library that runs from a checkout; a project with a built distribution is the user's."""
    for folder in ("vendored/thing-1.0.dist-info", "project/own-1.0.dist-info", "torch", "plain"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").write_text("")
    (tmp_path / "torch" / "__init__.py").write_text("")
    program = (
        "import torch\n"
        "from pytest_tensorcheck.user_line import is_user_file\n"
        f"root = {str(tmp_path)!r}\n"
        "for name in ('vendored/thing.py', 'torch/nn/x.py', 'project/x.py', 'plain/x.py', 'test_torch.py'):\n"
        "    print(is_user_file(f'{root}/{name}'))\n"
    )
    folders = [Path(__file__).parents[3], *(tmp_path / name for name in ("vendored", "project", "plain")), tmp_path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.stdout.split() == ["False", "False", "True", "True", "True"], ran.stderr
