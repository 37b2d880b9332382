"""The hosted workflows call what exists. Their form is checked by `make lint`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_there_are_workflows() -> None:
    assert {one.stem for one in WORKFLOWS} == {"docs", "release", "test", "weekly"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_make_targets_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    for listed in re.findall(r"target: \[(.*)\]", text):
        called |= {one.strip(' "').split()[0] for one in listed.split(",")}
    assert called <= TARGETS, called - TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_oldest_versions_are_the_project_s(path: Path) -> None:
    text = path.read_text("utf-8")
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    pythons = re.findall(r'python-version: "([\d.]+)"', text)
    assert set(pythons) <= {least}
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert set(re.findall(r"rust-toolchain@([\d.]+)", text)) <= {
        cargo["workspace"]["package"]["rust-version"]
    }
    assert set(re.findall(r"--group (\w+)", text)) <= set(PROJECT["dependency-groups"])


def test_the_oldest_numpy_is_tested() -> None:
    (least,) = [one for one in PROJECT["project"]["dependencies"] if one.startswith("numpy")]
    assert f"oldest: numpy=={least.removeprefix('numpy>=')}.*" in (
        ROOT / ".github/workflows/test.yml"
    ).read_text("utf-8")
