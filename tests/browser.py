"""A headless chromium, driven over the pipe of its DevTools protocol: nothing but the standard library is needed.

Chromium reads commands from file descriptor 3 and answers on 4, each message being JSON that a zero byte ends.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""The browser of this machine, if it has one."""

FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # a container has no user namespaces, and the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--allow-file-access-from-files",
    # Pages that were left are not kept, nor processes for pages that may come: we never go back.
    "--disable-features=BackForwardCache,RenderDocument,Prerender2,SpareRendererForSitePerProcess,PaintHolding",
)
HEIGHT = 900

MOVE = """
import fcntl, os, sys
high = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(high, (3, 4)):
    os.dup2(end, place)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Moves the ends of the pipes to 3 and 4, whatever numbers they have here, and becomes chromium."""


class Page:
    """One tab, and what it complained of since the last page was opened."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        ours, commands = os.pipe()
        answers, theirs = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", MOVE, str(ours), str(theirs), CHROMIUM, *FLAGS, f"--user-data-dir={folder}"],
            pass_fds=(ours, theirs),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours)
        os.close(theirs)
        self._commands, self._answers = os.fdopen(commands, "wb", 0), os.fdopen(answers, "rb")
        self._n_sent, self._events = 0, deque[dict[str, Any]]()
        self._rest = b""
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        # Colours that fade into each other would be judged half-way.
        still = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        self.call("Emulation.setEmulatedMedia", features=still)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._commands.close()
        self._answers.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come before it are kept."""
        self._n_sent += 1
        message: dict[str, Any] = {"id": self._n_sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._n_sent:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not (more := os.read(self._answers.fileno(), 1 << 16)):
                raise RuntimeError("chromium ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, url: str) -> None:
        """Load a page, wait for its end, and forget what was said before it."""
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._read())

    def width(self, pixels: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=pixels, height=HEIGHT, deviceScaleFactor=1, mobile=False)

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors of the console, exceptions of scripts, and files that could not be loaded."""
        found = []
        for event in self._events:
            method, told = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(told["exceptionDetails"].get("exception", {}).get("description", "an exception")))
            elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
                found.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
            elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
                found.append(" ".join(str(part.get("value", part.get("description"))) for part in told["args"]))
            elif method == "Network.loadingFailed" and not told.get("canceled"):
                found.append(f"not loaded: {told['errorText']}")
        return found

    def requested(self) -> list[str]:
        """The addresses of all that the page asked for."""
        sent = [event["params"] for event in self._events if event.get("method") == "Network.requestWillBeSent"]
        return [told["request"]["url"] for told in sent if not told["request"]["url"].startswith("data:")]

    def picture(self, path: Path, whole: bool = True) -> None:
        """Write what the page looks like to a file."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(b64decode(data))
