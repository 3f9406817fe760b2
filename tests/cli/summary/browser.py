"""A look at a page by a real browser: Chromium, without a window.

    seen = browser.look(page, scratch, "page => page.title", width=400, dark=True)

The page lies in a frame of that width, as a phone or a window has it. A headless window of
Chromium's is never narrower than 500. The function gets the frame's document. The caller gets the
function's result, with all that was loaded.
"""

import html
import json
import re
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")

FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe style="border:0;width:{width}px;height:9000px" srcdoc="{page}"></iframe><pre></pre><script>
onload = () => {{
    const frame = document.querySelector("iframe").contentWindow;
    const told = ({function})(frame.document, frame);
    const loaded = frame.performance.getEntriesByType("resource").map(one => one.name);
    document.querySelector("pre").textContent = JSON.stringify({{told, loaded}});
}};
</script>"""


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def rendered(page, scratch):
    """Returns the page's elements as HTML, after its script has run."""
    return look(page, scratch, "page => page.documentElement.outerHTML")


def look(page, scratch, function, width=1000, dark=False):
    """Returns the result of the function, in JavaScript, on the page's document and window."""
    frame = scratch / "frame.html"
    frame.write_text(FRAME.format(width=width, page=html.escape(page), function=function))
    done = subprocess.run(
        [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={scratch}/profile", "--window-size=1200,1000",
         f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", frame.as_uri()],
        text=True, capture_output=True, timeout=120, env={"PATH": "/usr/bin:/bin", "HOME": str(scratch)})
    found = re.search("<pre>(.+?)</pre>", done.stdout, re.S)
    assert done.returncode == 0 and found, done.stderr[-2000:]
    answer = json.loads(html.unescape(found[1]))
    assert answer["loaded"] == [], answer["loaded"]
    return answer["told"]
