"""The documentation says all there is: every public name, every parameter, every fitted attribute."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_moons

import dsekl
from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.expansions import Empirical
from dsekl.kernels import ObjectKernel
from dsekl.parts import LocalUpdates

NumpyDocString = pytest.importorskip("numpydoc.docscrape", reason="needs dsekl[docs]").NumpyDocString

DOCS = Path(__file__).parent.parent / "docs"
INTERNAL = {"cli", "data", "metric", "persistence", "search"}
"""Packages whose ``__all__`` is for the other packages of dsekl, not for users."""


def public_modules() -> Iterator[str]:
    """Find dsekl and all its packages and modules that list their names, those aside that are internal."""
    yield "dsekl"
    for found in iter_modules(dsekl.__path__, "dsekl."):
        name = found.name.partition(".")[2]
        if name not in {"__main__", *INTERNAL} and hasattr(import_module(found.name), "__all__"):
            yield found.name


PUBLIC = list(public_modules())
NAMES = [(module, name) for module in PUBLIC for name in import_module(module).__all__ if not name.startswith("_")]
OBJECTS = {name: getattr(import_module(module), name) for module, name in NAMES if name != "resolve"}
SETTINGS = [thing for thing in OBJECTS.values() if inspect.isclass(thing) and issubclass(thing, BaseEstimator)]
ESTIMATORS = [DSEKLClassifier, DSEKLRegressor]

OF_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}
UNDOCUMENTED = {"model_"}
"""Fitted attributes that are internal."""


def listed() -> Iterator[Any]:
    """What the tables of the API pages list, each name within the module that stands above it."""
    for page in sorted((DOCS / "api").glob("*.md")):
        module = None
        for line in page.read_text().splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = import_module(found[1])
            elif found := re.fullmatch(r"   (\w+)", line):
                yield getattr(module, found[1])


def described(thing: Any, section: str) -> dict[str, str]:
    """The entries of a section of a docstring, with what each says of its type."""
    entries = NumpyDocString(inspect.getdoc(thing))[section]
    return {name: entry.type for entry in entries for name in entry.name.split(", ")}


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_a_page(module: str, name: str) -> None:
    thing = getattr(import_module(module), name)
    assert any(thing is other for other in listed()), f"{module}.{name} is on no page of docs/api; list it there"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_a_docstring(module: str, name: str) -> None:
    assert getattr(import_module(module), name).__doc__


@pytest.mark.parametrize("thing", SETTINGS)
def test_every_parameter_is_described_in_order(thing: type) -> None:
    assert list(described(thing, "Parameters")) == list(inspect.signature(thing).parameters)


@pytest.mark.parametrize("thing", SETTINGS)
def test_defaults_are_those_of_the_signature(thing: type) -> None:
    parameters = inspect.signature(thing).parameters
    for name, words in described(thing, "Parameters").items():
        if "default=" in words:
            assert ast.literal_eval(words.split("default=")[1]) == parameters[name].default, name


@pytest.mark.parametrize("thing", SETTINGS)
def test_everything_that_is_set_has_an_example_and_what_is_like_it(thing: type) -> None:
    told = NumpyDocString(inspect.getdoc(thing))
    if thing not in (Empirical, ObjectKernel, LocalUpdates):  # the default, and two that the guide shows
        assert told["See Also"]
        assert told["Examples"] or thing.__module__.startswith("dsekl.dask")  # they need a cluster


@pytest.mark.parametrize("thing", ESTIMATORS)
def test_every_method_is_described(thing: type) -> None:
    for name, method in vars(thing).items():
        if not name.startswith("_") and callable(method):
            assert method.__doc__, name
    assert list(described(thing.fit, "Parameters")) == ["X", "y", "sample_weight"]


@pytest.mark.parametrize("thing", ESTIMATORS)
@pytest.mark.parametrize("gamma", ["learn", 1.0])
def test_every_fitted_attribute_is_described(thing: Any, gamma: Any) -> None:
    X, y = make_moons(120, noise=0.1, random_state=0)
    fitted = {
        name for name in vars(thing(gamma=gamma, random_state=0).fit(X, y)) if re.fullmatch(r"[a-zA-Z]\w*_", name)
    }
    assert fitted - OF_SCIKIT_LEARN - UNDOCUMENTED <= set(described(thing, "Attributes"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, named as GitHub and the site name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_to_a_heading_finds_it() -> None:
    root = DOCS.parent
    pages = [*DOCS.rglob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]
    links = [
        (page, target, anchor)
        for page in pages
        if "_build" not in page.parts
        for target, anchor in re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", page.read_text())
    ]
    assert len(links) > 10
    dead = [
        f"{page.relative_to(root)}: {target}#{anchor}"
        for page, target, anchor in links
        if anchor not in anchors((page.parent / target).resolve() if target else page)
    ]
    assert not dead


def test_every_extra_has_a_line_on_the_page_to_install() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    listed = set(re.findall(r"^\| `pip install '\.\[(\w+)\]'`", (DOCS / "install.md").read_text(), re.MULTILINE))
    assert listed == set(project["optional-dependencies"]) - {"suite"}  # which test has within it


def test_every_picture_is_on_a_page() -> None:
    scripts = {path.stem for path in (DOCS / "pictures").glob("*.py")} - {"logo"}
    pages = "".join(path.read_text() for path in DOCS.rglob("*.md") if "gallery" not in path.parts)
    assert set(re.findall(r"^```\{picture\} (\w+)$", pages, re.MULTILINE)) == scripts


def test_every_snippet_of_the_site_is_run() -> None:
    """Doctest runs what has prompts; README's snippets, which the home page includes, have a test of their own."""
    needs_a_cluster = {"clusters.md"}
    pages = [path for path in DOCS.rglob("*.md") if "gallery" not in path.parts and path.name not in needs_a_cluster]
    silent = [
        f"{path.relative_to(DOCS)}: {code.splitlines()[0]}"
        for path in pages
        for code in re.findall(r"^```(?:python|pycon)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
        if not code.startswith(">>>")
    ]
    assert not silent
