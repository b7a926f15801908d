"""The built site in a real browser: every page at three widths, light and dark. ``make site`` builds and tests it."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import CHROMIUM, Page

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "docs"
PAGES = sorted(
    path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.relative_to(SITE).parts
)
WIDTHS, THEMES = (400, 1000, 1400), ("light", "dark")
SCRIPT = (Path(__file__).parent / "site.js").read_text()
PARTS = 8
"""The pages are shared out among so many tests, each with a browser of its own, so that they run side by side."""

ANSWERS = {
    "hyperparameter": "guide/defaults",
    "categorical": "guide/first-table",
    "missing values": "guide/first-table",
    "dates": "guide/first-table",
    "multiclass": "guide/choosing-a-loss",
    "imbalanced": "guide/probabilities",
    "overfitting": "guide/metric",
    "probabilities": "guide/probabilities",
    "calibration": "guide/probabilities",
    "GPU": "faq",
    "online": "guide/streams",
    "Dask": "guide/clusters",
    "feature importance": "guide/metric",
    "installation": "install",
    "getting started": "getting-started",
    "grid search": "guide/choosing-a-kernel",
    "save model": "guide/saving",
    "sparse": "guide/choosing-a-kernel",
    "text": "guide/choosing-a-kernel",
    "early stopping": "guide/choosing-a-solver",
    "reproducible": "guide/reproducibility",
    "speed": "guide/memory",
    "memory": "guide/memory",
    "LightGBM": "coming-from",
    "DSEKLClassifier": "api/generated/dsekl.DSEKLClassifier",
}
"""Words that users type, and the page that answers each: one of the first three that are found."""

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
    pytest.mark.skipif(not PAGES, reason="the site is not built: make docs"),
]


class Quiet(SimpleHTTPRequestHandler):
    """Files that browsers may keep: the theme's scripts are large, and compiled once for all pages then."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_whole_at_every_width_in_both_themes(page: Page, address: str, part: int) -> None:
    wrong = []
    for name in PAGES[part::PARTS]:
        page.width(WIDTHS[-1])
        page.open(f"{address}/{name}")
        for width in reversed(WIDTHS):
            page.width(width)
            for theme in THEMES:
                page.run(f"document.documentElement.dataset.theme = {json.dumps(theme)}")
                wrong += [f"{name} at {width}, {theme}: {fault}" for fault in page.run(SCRIPT)]
        wrong += [f"{name}: {complaint}" for complaint in page.complaints()]
        wrong += [f"{name}: asks the network for {url}" for url in page.requested() if not url.startswith(address)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("words", "answer"), ANSWERS.items())
def test_the_search_finds_the_page_that_answers(page: Page, address: str, words: str, answer: str) -> None:
    page.width(WIDTHS[-1])
    page.open(f"{address}/search.html?q={words.replace(' ', '+')}")
    links: list[str] = []
    for _ in range(100):
        links = page.run("[...document.querySelectorAll('#search-results li a')].map((a) => a.href)")
        done = page.run("document.querySelector('#search-results .search-summary')?.textContent ?? ''")
        if re.search(r"\d", done):
            break
        time.sleep(0.05)
    first = list(dict.fromkeys(urlsplit(link).path for link in links))[:3]
    assert f"/{answer}.html" in first, first


def test_the_repository_is_linked_where_the_metadata_name_it() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    icons = re.findall(r'<a href="([^"]*)"[^>]*class="nav-link pst-navbar-icon"', (SITE / "index.html").read_text())
    assert set(icons) == {url for name, url in urls.items() if name == "Repository"}


def anchors(text: str) -> set[str]:
    return {unescape(name) for name in re.findall(r'\bid="([^"]+)"', text)}


def test_every_link_leads_to_a_page_and_a_place_on_it() -> None:
    texts = {name: (SITE / name).read_text() for name in PAGES}
    known = {name: anchors(text) for name, text in texts.items()}
    dead = []
    for name, text in texts.items():
        for link in {unescape(link) for link in re.findall(r'<a\b[^>]*\bhref="([^"]*)"', text)}:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (SITE / name).parent / unquote(url.path) if url.path else SITE / name
            found = target.resolve()
            places = known.get(found.relative_to(SITE.resolve()).as_posix(), set())
            if not found.is_file() or (url.fragment and unquote(url.fragment) not in places):
                dead.append(f"{name}: {link}")
    assert not dead, "\n".join(sorted(dead))
