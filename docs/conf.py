"""The site: Sphinx over the Markdown pages beside this file, the docstrings, and the scripts in examples/.

``make docs`` builds it, warnings as errors, without the network.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import dsekl

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "pictures")]
sys.path.append(str(HERE.parent / "benchmarks"))  # last: one of them is called as a package of Dask

import headline  # noqa: E402
import logo  # noqa: E402

project = "dsekl"
author = "the dsekl developers"
version = release = dsekl.__version__
html_title = f"dsekl {version}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "closing_lines",
    "foreign_references",
    "pictures",
    "source_pages",
    "units",
    "word_tables",
]
templates_path = ["_templates"]
exclude_patterns = ["pictures"]
smartquotes = False  # the quotes of "rbf" are code

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {**headline.everything(), "version": version}

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
autosummary_ignore_module_all = False
numpydoc_show_class_members = False  # the template lists them, with their docstrings on the same page
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"  # the list on the right has no room for DSEKLClassifier.decision_function

SECTIONS = ("tables", "uncertainty", "models", "streams", "clusters", "time", "objects", "paper")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "ignore_pattern": r"__init__\.py|(^|/)demo\.py$",  # make demo has its own way of showing things
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10**6,  # seconds differ from machine to machine; the benchmarks page has those that matter
    "image_srcset": ["2x"],
    "thumbnail_size": (700, 350),
    "doc_module": ("dsekl",),
    "backreferences_dir": "gallery/backreferences",
    "reset_modules": ("matplotlib", "gallery_style.apply"),
}

urls = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"].get("urls", {})
logo.write(HERE / "_static" / "logo.svg")

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["dsekl.css"]
html_favicon = "_static/logo.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False  # a list of modules helps nobody; the API pages have them
html_math_renderer = "mathml"
html_search_scorer = str(HERE / "_static" / "search_scores.js")
html_sidebars = {
    page: []
    for page in (
        "index", "install", "getting-started", "command-line", "reproduction", "faq", "coming-from", "release-notes",
        "citing",
    )
}  # fmt: skip
html_theme_options = {
    "logo": {"text": "dsekl", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [
        {"name": name, "url": url, "icon": "fa-solid fa-code-branch"}
        for name, url in urls.items()
        if name == "Repository"
    ],  # none where pyproject.toml has no [project.urls]
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["version", "theme-switcher", "navbar-icon-links"],
    "header_links_before_dropdown": 6,  # the others are under "More": all would not fit 1,000 pixels
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "the dsekl developers. BSD 3-Clause"
