"""A headless Chromium, driven by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tests.rigs.processes.ending import end

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
"""No browser of ours asks for anything by itself."""
REACHING_US = (
    *QUIET,
    "--hide-scrollbars",
    # No name resolves; 127.0.0.1 is not a name.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_S = 300.0
"""A start takes a second or two of a processor: minutes, where others have the processors."""
ENDED_WITHIN_S = 180.0


def browser_path() -> str:
    """Where Chromium is."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, "no chromium; install the Debian package chromium"
    return found


@dataclass(slots=True)
class Tab:
    """One page of the browser. complaints: console errors and blocked requests since it began."""

    loop: asyncio.AbstractEventLoop
    socket: aiohttp.ClientWebSocketResponse
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _number: int = 0
    _seen: set[str] = field(default_factory=set)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer."""
        return self.loop.run_until_complete(self._call(method, parameters))

    def show(
        self, width: int, height: int = 900, *, dark: bool = False, still: bool = True
    ) -> None:
        """How large the screen is, and what its owner prefers. still: reduced motion."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 700,
        )
        wishes = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if still else "no-preference",
        }
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.call("Emulation.setEmulatedMedia", features=features)

    def scripts(self, *, run: bool) -> None:
        """Whether the pages' scripts run; ours do all the same."""
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def renew(self) -> None:
        """Be like a new tab on a wide screen."""
        self.scripts(run=True)
        self.show(1280)
        self.open("about:blank")
        self.complaints.clear()
        self.requests.clear()

    def open(self, address: str) -> None:
        """Go there and wait until all is loaded."""
        self._seen.clear()
        self.call("Page.navigate", url=address)
        self.wait_loaded()

    def wait_loaded(self) -> None:
        """Wait for a navigation that has begun."""
        self.loop.run_until_complete(self._until("Page.loadEventFired"))

    def ask(self, script: str) -> Any:
        """A script's value."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Wait until a script's value is true."""
        end_s = time.monotonic() + PATIENCE_S
        while not self.ask(script):
            assert time.monotonic() < end_s, f"never true: {script}"
            self.loop.run_until_complete(asyncio.sleep(0.05))

    def press(self, key: str, code: int) -> None:
        """One key, such as Tab, 9."""
        event = {"key": key, "windowsVirtualKeyCode": code}
        down = {"type": "keyDown", "text": "\r"} if key == "Enter" else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **event, **down)
        self.call("Input.dispatchKeyEvent", **event, type="keyUp")

    def write(self, text: str) -> None:
        """Text where the focus is."""
        self.call("Input.insertText", text=text)

    def picture(self, out: Path, *, height: int | None = None, only: str | None = None) -> None:
        """A PNG of the whole page, of its top, or only of a selector's element."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"]}
        if only is not None:
            box = f"document.querySelector({only!r}).getBoundingClientRect()"
            sides = {"x": "x + scrollX", "y": "y + scrollY", "width": "width", "height": "height"}
            clip = {side: self.ask(f"{box}.{what}") for side, what in sides.items()}
            clip["height"] = min(height or clip["height"], clip["height"])
        clip["scale"] = 1
        shot = self.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        out.write_bytes(base64.b64decode(shot["data"]))

    async def _call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        number = self._number
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE_S):
            while True:
                heard = await self.socket.receive_json()
                self._note(heard)
                if heard.get("id") == number:
                    assert "error" not in heard, f"{method}: {heard.get('error')}"
                    result: dict[str, Any] = heard["result"]
                    return result

    async def _until(self, event: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while event not in self._seen:
                self._note(await self.socket.receive_json())

    def _note(self, heard: dict[str, Any]) -> None:
        method, said = str(heard.get("method")), heard.get("params", {})
        self._seen.add(method)
        if method == "Log.entryAdded":
            self.complaints.append(said["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in {"error", "warning"}:
            self.complaints.append(str(said["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])


@contextmanager
def a_browser(folder: Path) -> Iterator[Tab]:
    """A browser with one tab. folder: for its profile."""
    words = [browser_path(), *REACHING_US, f"--user-data-dir={folder}", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    loop = asyncio.new_event_loop()
    try:
        port = _port(folder / "DevToolsActivePort", process)
        session = loop.run_until_complete(_session())
        try:
            socket = loop.run_until_complete(_socket(session, port))
            tab = Tab(loop, socket)
            for domain in ("Page", "Runtime", "Log", "Network"):
                tab.call(f"{domain}.enable")
            yield tab
        finally:
            loop.run_until_complete(session.close())
    finally:
        loop.close()
        end(process, ENDED_WITHIN_S)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        assert process.poll() is None, f"chromium ended at once: {process.returncode}"
        text = file.read_text() if file.exists() else ""
        if "\n" in text:
            return int(text.splitlines()[0])
        time.sleep(0.05)
    raise AssertionError("chromium took too long to start")


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()


async def _socket(session: aiohttp.ClientSession, port: int) -> aiohttp.ClientWebSocketResponse:
    async with session.get(f"http://127.0.0.1:{port}/json") as answer:
        tabs = await answer.json()
    address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
    return await session.ws_connect(address, max_msg_size=1 << 28)
