"""A real browser for tests of pages: Chromium, driven over a pipe. No library is needed, and no port is opened."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

FOUND = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
_PATIENCE = 60  # seconds for one answer
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--hide-scrollbars",
)


class Page:
    """One page of the browser, with the width of a screen."""

    def __init__(self, send, path, width, height=900):
        self._send = send
        target = send("Target.createTarget", url="about:blank")["targetId"]
        self._session = send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.enable")
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        end = time.monotonic() + _PATIENCE
        while self.value("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end
            time.sleep(0.05)

    def call(self, method, **arguments):
        return self._send(method, self._session, **arguments)

    def value(self, expression):
        """What an expression of JavaScript is."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, selector, key, times=1):
        """Press a key where the focus is moved to, as somebody at a keyboard does."""
        self.value(f"document.querySelector({selector!r}).focus()")
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}
        for kind in ("rawKeyDown", "keyUp") * times:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def drag(self, selector, share):
        """Press the mouse on a slider at a share of its width."""
        box = self.value(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))"
            f"(document.querySelector({selector!r}).getBoundingClientRect())")  # fmt: skip
        place = {"x": box["x"] + share * box["width"], "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browser():
    """Give a function (path, width, height) -> `Page`."""
    theirs_in, ours_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in os.pipe())
    ours_in, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in os.pipe())
    profile = tempfile.mkdtemp()

    def connect():  # no other file is inherited: Python's close when a program starts
        os.dup2(theirs_in, 3)
        os.dup2(theirs_out, 4)

    process = subprocess.Popen(
        [FOUND, *_FLAGS, f"--user-data-dir={profile}", "about:blank"], close_fds=False, preexec_fn=connect,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    state = {"id": 0, "left": b""}

    def send(method, session=None, **arguments):
        state["id"] += 1
        message = {"id": state["id"], "method": method, "params": arguments}
        os.write(ours_out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            while b"\0" not in state["left"]:
                assert select.select([ours_in], [], [], _PATIENCE)[0], f"no answer to {method}"
                read = os.read(ours_in, 1 << 20)
                assert read, "the browser ended"
                state["left"] += read
            line, _, state["left"] = state["left"].partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == state["id"]:
                assert "error" not in answer, answer
                return answer["result"]

    try:
        yield lambda path, width, height=900: Page(send, path, width, height)
    finally:
        process.kill()
        process.wait()
        os.close(ours_in)
        os.close(ours_out)
        shutil.rmtree(profile, ignore_errors=True)
