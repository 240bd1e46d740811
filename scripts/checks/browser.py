"""Chromium without a window, for checks: opens pages, presses keys, and tells what a reader would see.

It takes Chromium's remote debugging over two pipes, for which it needs no library and no port.
"""

import base64
import fcntl
import functools
import http.server
import json
import os
import select
import subprocess
import tempfile
import threading
import time

SECONDS = 60   # until something that does not come counts as missing; a busy machine needs some


class Missing(Exception):
    pass


class Server:
    """Serves a folder on a port of its own."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def __init__(self, folder):
        handler = functools.partial(self.Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.buffer, self.number, self.session, self.problems = b"", 0, None, []
        theirs, self.output = os.pipe()
        self.input, also_theirs = os.pipe()

        def place():
            # Chromium reads from 3 and writes to 4.
            kept = [fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in (theirs, also_theirs)]
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=place,
            env=os.environ | {"HOME": self.folder.name, "TMPDIR": self.folder.name})
        os.close(theirs)
        os.close(also_theirs)
        try:
            pages = [each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
            self.session = self.ask("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.ask("Browser.close")
            self.process.wait(20)
        except (OSError, Missing, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.folder.cleanup()

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            rest = json.dumps(message).encode() + b"\0"
            while rest:
                rest = rest[os.write(self.output, rest):]
        except OSError:
            raise Missing("Chromium has ended") from None
        while (answer := self.receive()).get("id") != self.number:
            if answer.get("method") == "Runtime.exceptionThrown":
                self.problems.append(answer["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.problems.append(f"{answer['params']['entry']['text']} {answer['params']['entry'].get('url', '')}")
        if "error" in answer:
            raise Missing(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], SECONDS)
            more = os.read(self.input, 1 << 20) if ready else b""
            if not more:
                raise Missing("Chromium does not answer")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def value(self, script):
        """The value of an expression in the page's language."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Missing(f"{script}: {answer['exceptionDetails']['exception']['description']}")
        return answer["result"].get("value")

    def wait(self, script, what):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + SECONDS
        while not (value := self.value(script)):
            if time.monotonic() > end:
                raise Missing(f"{what}: {self.value('location.pathname + location.hash')} does not show it")
            time.sleep(0.05)
        return value

    def open(self, address):
        self.ask("Page.navigate", url=address)

    def show(self, width, height, phone=False, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def press(self, key):
        code = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Escape": 27, "/": 191}[key]
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def picture(self):
        """The page as it looks: the number of its colours, how bright it is on average, 0 to 1, and the picture itself (PNG)."""
        picture = self.ask("Page.captureScreenshot", format="png")["data"]
        colours, brightness = self.value("""(async () => {
            const image = new Image()
            image.src = "data:image/png;base64,%s"
            await image.decode()
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d")
            canvas.drawImage(image, 0, 0)
            const pixels = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer)
            const mean = pixels.reduce((sum, pixel) => sum + (pixel & 255) + (pixel >> 8 & 255) + (pixel >> 16 & 255), 0)
            return [new Set(pixels).size, mean / pixels.length / 765]
        })()""" % picture)
        return colours, brightness, base64.b64decode(picture)
