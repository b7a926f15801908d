"""The site: Sphinx over the Markdown pages beside this file, the docstrings, and the scripts in examples/.

``make docs`` builds it, warnings as errors, without the network.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dsekl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "dsekl"
author = "the dsekl developers"
version = release = dsekl.__version__
html_title = "dsekl"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "closing_lines",
]
templates_path = ["_templates"]
smartquotes = False  # the quotes of "rbf" are code

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
autosummary_ignore_module_all = False
numpydoc_show_class_members = False  # the template lists them, with their docstrings on the same page
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"  # the list on the right has no room for DSEKLClassifier.decision_function

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
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
    "doc_module": ("dsekl",),
    "backreferences_dir": None,
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["dsekl.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_sidebars = {page: [] for page in ("index", "command-line", "benchmarks", "reproduction")}
html_theme_options = {
    "logo": {"text": "dsekl"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 5,  # the others are under "More": eight do not fit 1,000 pixels
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "the dsekl developers. BSD 3-Clause"
