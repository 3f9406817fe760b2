"""The table of older names in docs/json.md."""

import re

from checkout import ROOT

PAGE = (ROOT / "docs/json.md").read_text()


def older_names():
    """Rows of the object that the names are in (empty: any), a name, and the older one."""
    rows = re.findall(r"^\| (.*) \| (.*) \|$", PAGE.partition("## Older names")[2], re.MULTILINE)[2:]
    names = [re.match(r"(?:`(\w+)`: )?`(\w+)`", new).groups("") + re.match(r"`(\w+)`", older).groups()
             for new, older in rows]
    assert len(names) > 20
    return names
