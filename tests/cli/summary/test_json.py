"""The names in JSON: docs/json.md has all of them, and the older ones are still written."""

import json
import re

import pytest

from jobs import reading
from older_names import PAGE, older_names

# These objects have names of the job's own, or those of the report's page.
OPEN_ENDED = "transforms", "report", "series"


def objects_of(value, inside=""):
    """All objects, each with the name that it has."""
    if isinstance(value, dict):
        yield inside, value
        for name, member in value.items():
            yield from objects_of(member, name)
    for one in value if isinstance(value, list) else ():
        yield from objects_of(one, inside)


@pytest.fixture
def told(jobs, session_origin, scratch):
    """Returns the JSON of a run, of verify and of top, about files that changed recently."""
    mount = session_origin.files("json-names", 3, 1000)[1]
    verified = scratch / "verify.json"
    ran = jobs.run(reading(sorted(mount.iterdir()), 2), path=mount, flags=["--warm"],
                   env={"STOKER_MIN_AGE": "3600"})
    assert jobs.stoker("verify", "--json", verified, mount).returncode == 0
    looked = jobs.stoker("top", "--json").stdout
    return [ran.json, json.loads(verified.read_text()), json.loads(looked)]


def test_every_name_is_on_the_page(told):
    words = set(re.findall(r"`(\w+)`", PAGE))
    for inside, one in objects_of(told):
        if inside not in OPEN_ENDED:
            assert set(one) <= words, (inside, set(one) - words)


def test_older_names_mean_the_same(told):
    seen = set()
    for within, name, older in older_names():
        for inside, one in objects_of(told):
            if name in one and within in ("", inside) and older != "limit" and not name.startswith("not_cached"):
                assert one[name] == one[older], (name, older)
                seen.add(name)
    others = {name for _, name, _ in older_names() if name not in seen and not name.startswith(("stoker_", "not_cached"))}
    assert others == {"limited_by", "unpublished", "waiting_for_storage"}  # of shared tiers and live runs


def test_a_reason_has_one_name_in_an_object(told):
    ran = told[0]
    assert ran["not_cached"] == {"changed_recently": 6} and ran["bypassed"] == {"young": 6}
    assert ran["not_cached_bytes"] == {"changed_recently": ran["bypassed_bytes"]["young"]}
    assert ran["read_ahead"]["limited_by"] in ("none", "storage", "processors", "room")
