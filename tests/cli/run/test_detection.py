"""Without --path: the directories among the command's arguments, but never the user's code."""

import pytest

from origin import settle


@pytest.fixture
def folders(scratch):
    """data/ and other/ hold a file each; code/ a script that reads what it is given."""
    for name in ("data", "other", "code", "home/data"):
        (scratch / name).mkdir(parents=True)
        (scratch / name / "file").write_text(name)
    (scratch / "code" / "train.sh").write_text("""#!/bin/sh
        for argument; do
            directory=${argument#*=}
            [ ! -d "$directory" ] || cat "$directory/file" "$directory/file"
        done""")
    (scratch / "code" / "train.sh").chmod(0o755)
    return scratch


@pytest.fixture
def covered(jobs, folders):
    """The paths that stoker run finds for a command in `folders`."""

    def find(command, cwd=".", env=None):
        ran = jobs.run(command, cwd=folders / cwd, env={"HOME": folders / "home", **(env or {})},
                       check=False)
        if ran.json is None:
            assert "nothing to serve" in ran.stderr
            return []
        assert "(from the command's arguments)" in ran.stderr
        return [path.removeprefix(f"{folders}/") for path in ran.paths]

    return find


def test_ways_to_name_a_directory(covered, folders):
    train = "code/train.sh"
    assert covered([train, "data"]) == ["data"]
    assert covered([train, f"{folders}/data/"]) == ["data"]
    assert covered([train, "--data", "data"]) == ["data"]
    assert covered([train, "--data=data"]) == ["data"]
    assert covered([train, f"data.root={folders}/data"]) == ["data"]
    assert covered([train, "--train=data", "--val=other", "data"]) == ["data", "other"]
    assert covered(["sh", train, "data"]) == ["data"]
    assert covered([train, "./data"]) == ["data"]
    assert covered([train, "--number=3", "data/file", "data"]) == []  # data/file is in data
    assert covered([train, "../" + folders.name + "/data"]) == ["data"]


def test_what_is_found_is_served(jobs, folders):
    settle()
    ran = jobs.run(["code/train.sh", "--data=data", "other"], cwd=folders)
    assert ran.stdout == "datadataotherother"
    assert (ran.fills, ran.hits) == (2, 2)


@pytest.mark.parametrize("never", [".", "..", "/", "/proc", "/dev", "/dev/shm", "/dev/shm/",
                                   "/usr", "/tmp", "code", "code/../code", "home", "", "--",
                                   "-", "=", "--x=", "missing"])
def test_what_is_never_covered(covered, never):
    assert covered(["code/train.sh", never]) == []
    assert covered(["code/train.sh", never, "data"]) == ["data"]


def test_the_script_s_directory_is_not_data(covered):
    assert covered(["sh", "code/train.sh", "code"]) == []
    assert covered(["sh", "train.sh", "../code"], cwd="code") == []
    assert covered(["sh", "code/train.sh", "--out=code", "--data=data"]) == ["data"]


def test_where_one_stands_is_not_data(covered):
    assert covered(["../code/train.sh", "../data"], cwd="data") == []
    assert covered(["../../code/train.sh", ".."], cwd="home/data") == []


def test_home_is_not_data_but_what_lies_below_is(covered, folders):
    assert covered(["code/train.sh", "home/data"]) == ["home/data"]
    assert covered(["code/train.sh", "home"]) == []
    assert covered(["code/train.sh", folders]) == []


def test_a_link_to_a_directory(covered, folders):
    (folders / "link").symlink_to("data")
    assert covered(["code/train.sh", "link"]) == ["link"]


def test_a_path_that_is_given_ends_the_search(jobs, folders):
    ran = jobs.run(["code/train.sh", "data"], path=folders / "other", cwd=folders)
    assert ran.paths == [str(folders / "other")]
    ran = jobs.run(["code/train.sh", "data"], cwd=folders, env={"STOKER_PATHS": "other"})
    assert ran.paths == [str(folders / "other")]
