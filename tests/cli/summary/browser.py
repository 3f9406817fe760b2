"""A look at pages by a real browser: Chromium, without a window. One Chromium looks at all of them.

    with browser.Browser(scratch) as chromium:
        seen = chromium.look(page, "page => page.title", width=400, dark=True)

The function gets the page's document and its window. The caller gets the function's result. The page must have loaded
nothing. Commands reach Chromium by a pipe, in its DevTools Protocol.
"""

import itertools
import json
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")

LOOK = """(async () => {{
    if (document.readyState !== "complete") await new Promise(done => addEventListener("load", done));
    const told = ({function})(document, window);
    return {{told, loaded: performance.getEntriesByType("resource").map(one => one.name)}};
}})()"""


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, scratch):
        self._scratch, self._numbers, self._unread = scratch, itertools.count(1), b""

    def __enter__(self):
        # Chromium reads from descriptor 3, and writes to 4.
        line = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >&2', "sh", find(), "--headless", "--no-sandbox",
                "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self._scratch}/profile",
                "--remote-debugging-pipe"]
        self._process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         env={"PATH": "/usr/bin:/bin", "HOME": str(self._scratch)}, bufsize=0)
        return self

    def __exit__(self, *_):
        self._process.stdin.close()  # Chromium ends with it
        self._process.wait()
        self._process.stdout.close()

    def rendered(self, page):
        """Returns the page's elements as HTML, after its script has run."""
        return self.look(page, "page => page.documentElement.outerHTML")

    def look(self, page, function, width=1000, dark=False):
        """Returns the result of the function, in JavaScript, on the page's document and window."""
        file = self._scratch / f"page-{next(self._numbers)}.html"
        file.write_text(page)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", session, features=[scheme])
        self._ask("Emulation.setDeviceMetricsOverride", session, width=width, height=9000, deviceScaleFactor=1, mobile=False)
        self._ask("Page.navigate", session, url=file.as_uri())
        found = self._ask("Runtime.evaluate", session, expression=LOOK.format(function=function), awaitPromise=True,
                          returnByValue=True)
        assert "exceptionDetails" not in found, found
        self._ask("Target.closeTarget", targetId=target)
        assert found["result"]["value"]["loaded"] == [], found["result"]["value"]["loaded"]
        return found["result"]["value"]["told"]

    def _ask(self, method, session=None, **parameters):
        """Returns the result of a command, to Chromium or to the page of a session."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self._process.stdin.write(json.dumps(command).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            pass  # an event
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self):
        """Returns the next message: JSON, and a zero behind it."""
        while b"\0" not in self._unread:
            more = self._process.stdout.read(1 << 20)
            assert more, "Chromium has ended"
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)
