"""The working directory holds no modules for the Pythons that the command itself starts."""

import os
import pathlib
import sys

import pytest

from pythons import pythons

MINE = f"{sys.version_info[0]}.{sys.version_info[1]}"
NAMES = ("PIL", "stoker", "sitecustomize", "usercustomize", "linecache", "importlib", "encodings",
         "torch", "runpy", "os")
PYTHONS = {version: path for version, path in pythons().items() if version.startswith("3")}


@pytest.fixture
def trap(scratch):
    """A directory of modules that leave a mark when one of them is run."""
    directory = scratch / "trap"
    for name in NAMES:
        (directory / name).mkdir(parents=True)
        (directory / name / "__init__.py").write_text(
            f"open({str(scratch / 'mark')!r}, 'a').write({name!r} + ' ')\n")
        (directory / f"{name}.py").write_text((directory / name / "__init__.py").read_text())
    yield directory
    mark = scratch / "mark"
    assert not mark.exists(), mark.read_text()


@pytest.fixture
def there(jobs, trap):
    """Runs the command in the trap, by a Python of that version."""
    def run(*arguments, version=MINE, **env):
        (trap.parent / "bin").mkdir(exist_ok=True)
        python = trap.parent / "bin/python3"
        python.unlink(missing_ok=True)
        python.symlink_to(PYTHONS[version])
        env = {"PATH": f"{python.parent}:/usr/bin:/bin", "STOKER_MIN_AGE": "0.05", **env}
        return jobs.place.run(["env", "-C", trap, jobs.build / "stoker", *arguments], env=env, check=False)
    return run


@pytest.fixture
def photograph(origin):
    image = pytest.importorskip("PIL.Image")
    directory = pathlib.Path(origin.files("modules", 1, 10)[1])
    (directory / "file0000").unlink()
    image.effect_noise((200, 100), 60).convert("RGB").save(directory / "one.jpg", "JPEG")
    return directory


@pytest.mark.parametrize("version", PYTHONS)
def test_doctor(there, version):
    done = there("doctor", version=version)
    assert f"Python {version}." in done.stdout, done


@pytest.mark.parametrize("path", [":/none", "/none:", ".", "/none:.:trap/..", "::"])
def test_doctor_with_relative_places_of_modules(there, path):
    assert f"Python {MINE}." in there("doctor", PYTHONPATH=path).stdout


def test_the_doctor_knows_other_places_of_modules(there, scratch):
    """An absolute directory is the job's, too."""
    (scratch / "modules/PIL").mkdir(parents=True)
    (scratch / "modules/PIL/__init__.py").write_text("")
    (scratch / "modules/PIL/JpegImagePlugin.py").write_text("raise ImportError\n")
    done = there("doctor", PYTHONPATH=f"/none:{scratch}/modules")
    assert "no Pillow" in done.stdout, done


@pytest.mark.parametrize("version", PYTHONS)
def test_warm_and_verify(there, photograph, version):
    warm = there("warm", "--decoded", photograph, version=version)
    verify = there("verify", version=version)
    assert warm.returncode == 0 and "1 JPEG looked at" in warm.stderr, warm
    if tuple(map(int, version.split("."))) >= (3, 11) and "1 decoded copy kept" in warm.stderr:
        assert verify.returncode == 0, verify


def test_what_warm_makes_is_compared(there, photograph):
    assert "1 decoded copy kept" in there("warm", "--decoded", photograph).stderr
    assert "1 decoded copy right" in there("verify").stdout


def test_the_job_has_its_own_setting(jobs, photograph, there):
    """A job itself decides where it looks for modules."""
    script = "import os, sys; print(os.environ.get('PYTHONSAFEPATH'), sys.path[0] == '')"
    done = jobs.run([sys.executable, "-c", script], path=photograph)
    assert done.stdout == "None True\n"


@pytest.fixture
def customized(scratch):
    """A HOME whose modules leave a mark, of this user's own or of another one's."""
    def make(owner):
        home = scratch / f"home{owner}"
        site = home / f".local/lib/python{MINE}/site-packages"
        site.mkdir(parents=True)
        (site / "usercustomize.py").write_text(f"open({str(home / 'mark')!r}, 'a').write('x')\n")
        (site / "more.pth").write_text(f"import os; open({str(home / 'mark')!r}, 'a').write('y')\n")
        for path in home, home / ".local":
            os.chown(path, owner, owner)
        return home
    return make


@pytest.mark.usefixtures("as_root")
def test_a_home_of_another_user(there, customized, photograph):
    """Root's Pythons run nothing of it, whatever names it."""
    home = customized(15011)
    (home / "link").symlink_to(".local")
    for env in {"HOME": home}, {"HOME": "/root", "PYTHONUSERBASE": home / ".local"}, \
            {"HOME": "/root", "PYTHONUSERBASE": home / "link"}:
        assert f"Python {MINE}." in there("doctor", **env).stdout
        assert "1 JPEG looked at" in there("warm", "--decoded", photograph, **env).stderr
        there("verify", **env)
        assert not (home / "mark").exists(), env


@pytest.mark.usefixtures("as_root")
def test_a_home_of_ones_own(there, customized):
    """The job has these modules."""
    home = customized(0)
    assert f"Python {MINE}." in there("doctor", HOME=home).stdout
    assert (home / "mark").read_text() == "yx"
