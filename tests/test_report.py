"""``dsekl reproduce``: the command, the files it leaves, and the report as a browser shows it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dsekl.cli import app
from dsekl.experiments.report import EXPERIMENTS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
WIDTHS = {"phone": 390, "wide": 1600}

PROBE = """<script>
addEventListener("load", () => {
  const page = document.documentElement, style = getComputedStyle(document.body);
  const ink = [...document.querySelectorAll("figure svg text")].map(text => getComputedStyle(text).fill);
  parent.postMessage({
    width: innerWidth, needed: page.scrollWidth, background: style.backgroundColor, color: style.color,
    inks: [...new Set(ink)], figures: document.querySelectorAll("figure svg").length,
    loaded: performance.getEntriesByType("resource").map(entry => entry.name),
    smallest: Math.min(...[...document.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect().width)),
  }, "*");
});
</script>"""

FRAME = """<!doctype html><meta name="color-scheme" content="{scheme}"><link rel="icon" href="data:,">
<body style="margin:0"><iframe src="probed.html" style="border:0;width:{width}px;height:3000px"></iframe>
<pre id="answer"></pre>
<script>
addEventListener("message", message => {{
  document.getElementById("answer").textContent = JSON.stringify(message.data);
}});
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run of some of the experiments."""
    folder = tmp_path_factory.mktemp("reproduction")
    names = ["xor", "table1", "speedup"]
    done = CliRunner().invoke(app, ["reproduce", *names, "--quick", "--output", str(folder), "--jobs", "2"])
    assert done.exit_code == 0, done.output
    assert str(folder / "report.html") in done.output
    for name in names:
        assert re.search(rf"^{name}: finished in \d+ s$", done.stderr, re.MULTILINE)
    return folder


def test_a_run_leaves_report_figures_and_numbers(folder: Path) -> None:
    for name in ("xor", "table1", "speedup"):
        assert (folder / f"{name}.csv").read_text().count("\n") > 2
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        ET.fromstring((folder / f"{name}.svg").read_text())
    assert not list(folder.glob("*.part"))
    page = (folder / "report.html").read_text()
    assert "quick run" in page
    assert "Not tested." in page
    assert "does not agree" not in page
    assert "± 0.000" not in page, "one repetition has no spread"
    assert "hollow" not in page, "the paper's figures are of other data"
    assert "diamonds" not in page
    assert "the paper (24" not in page
    assert "chosen by two-fold cross-validation on the paper's whole grids, by a rule of our own" in html.unescape(page)
    assert "covertype</strong>: has not been run" in page
    runs = json.loads((folder / "provenance.json").read_text())
    assert set(runs["xor"]) == {"command", "seconds", "python", "machine", "versions"}


def test_a_second_run_does_nothing_again(folder: Path) -> None:
    before = (folder / "xor.csv").stat().st_mtime_ns
    done = CliRunner().invoke(app, ["reproduce", "xor", "--quick", "--output", str(folder), "--jobs", "1"])
    assert done.exit_code == 0
    assert (folder / "xor.csv").stat().st_mtime_ns == before


class _Links(HTMLParser):
    """Collects what a page would load, and every name in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("src", "href", "xlink:href", "data", "poster"):
                self.loads.append(value or "")


def test_the_report_needs_no_other_file(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    links = _Links()
    links.feed(page)
    assert all(link.startswith(("#", "data:")) for link in links.loads)
    assert "<script" not in page
    assert not re.search(r"@import|url\((?!#|&#39;#)", page)
    assert len(links.ids) == len(set(links.ids))


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium (Debian's package chromium)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", list(WIDTHS))
def test_the_report_fits_phones_and_wide_screens_light_and_dark(
    folder: Path, tmp_path: Path, width: str, scheme: str
) -> None:
    seen = look(folder / "report.html", tmp_path, WIDTHS[width], scheme)
    assert seen["width"] == WIDTHS[width]
    assert seen["needed"] <= seen["width"], "the page is wider than the screen"
    assert seen["loaded"] == []
    assert seen["figures"] == 3
    assert seen["smallest"] > 300
    brightness = {name: sum(map(int, re.findall(r"\d+", seen[name])[:3])) for name in ("background", "color")}
    assert (brightness["background"] > 600) == (scheme == "light")
    assert (brightness["color"] > 600) == (scheme == "dark")
    assert seen["inks"] == [seen["color"]], "figures take the page's ink"


def look(report: Path, folder: Path, width: int, scheme: str) -> dict[str, Any]:
    """Open the report in a frame of some width, and return what a script inside it measures."""
    (folder / "probed.html").write_text(report.read_text().replace("</body>", PROBE + "</body>"))
    (folder / "frame.html").write_text(FRAME.format(width=width, scheme=scheme))
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}", f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
            "--window-size=1700,3100", "--virtual-time-budget=5000", "--dump-dom", (folder / "frame.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert ":CONSOLE" not in done.stderr, done.stderr
    found = re.search(r'<pre id="answer">(.+?)</pre>', done.stdout)
    assert found, done.stdout[-500:]
    return dict(json.loads(found[1]))


def test_bad_requests_end_with_one_line_that_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["reproduce", "table2", "--output", str(tmp_path)])
    assert done.exit_code == 2
    assert "'table2' is not known; choose from xor, figure2" in done.output
    (tmp_path / "settings.json").write_text('{"quick": true, "seed": 3}')
    done = runner.invoke(app, ["reproduce", "xor", "--output", str(tmp_path)])
    assert done.exit_code == 2
    assert "another folder with --output" in done.output
    monkeypatch.setattr("dsekl.cli.reproduce.find_spec", lambda name: None)
    done = runner.invoke(app, ["reproduce", "xor"])
    assert done.exit_code == 2
    assert "pip install 'dsekl[report]'" in done.output


def test_data_that_are_not_there_are_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dsekl.data import catalogue

    def not_here(name: str) -> Any:
        raise catalogue.DataNotFoundError(f"data set {name!r} could not be fetched; set DSEKL_DATA")

    monkeypatch.setattr(catalogue, "load", not_here)
    done = CliRunner().invoke(app, ["reproduce", "covertype", "--output", str(tmp_path)])
    assert done.exit_code == 0
    assert "covertype: left out" in done.output
    assert "DSEKL_DATA" in (tmp_path / "report.html").read_text()


def test_the_command_names_every_experiment() -> None:
    from dsekl.cli.reproduce import NAMES

    assert tuple(EXPERIMENTS) == NAMES


@pytest.mark.slow
def test_the_whole_quick_run_takes_a_few_minutes(tmp_path: Path) -> None:
    started = time.perf_counter()
    done = CliRunner().invoke(app, ["reproduce", "--quick", "--output", str(tmp_path), "--jobs", "2"])
    assert done.exit_code == 0, done.output
    assert time.perf_counter() - started < 240
    assert (tmp_path / "report.html").read_text().count("<section") == len(EXPERIMENTS)
