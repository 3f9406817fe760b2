"""The one list of what is installed, which packages are made of: nothing is missing from it."""

import os
import pathlib
import re
import subprocess

import pytest

from checkout import ROOT


@pytest.fixture
def manifest(build):
    """Returns the installed files: destination to file."""
    said = subprocess.run(["make", "-s", "-C", ROOT, f"B={build}", "manifest"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {to: ROOT / file for _, file, to in (line.split() for line in said.splitlines())}


def test_it_names_all_of_the_package(manifest, build):
    if not (build / "python/stoker/_core.abi3.so").exists():
        pytest.skip("the package is not built: python3-dev")
    package = ROOT / "wrappers/python/stoker"
    sources = {path.relative_to(package) for path in package.rglob("*")
               if path.suffix in (".py", ".pyi", ".bin") or path.name == "py.typed"}
    made = {pathlib.Path(name) for name in ("_core.abi3.so", "_gpu_core.abi3.so", "site.zip")}
    assert {f"lib/stoker/python/stoker/{path}" for path in sources | made} <= set(manifest)


def test_it_names_the_command_the_pages_and_the_completion(manifest):
    pages = {f"share/man/man{page.suffix[1:]}/{page.name}" for page in (ROOT / "docs/man").iterdir()}
    assert pages | {"bin/stoker", "lib/libstoker.so",
                    "share/bash-completion/completions/stoker"} <= set(manifest)


def test_links_of_the_readme_lead_to_installed_pages(manifest):
    links = set(re.findall(r"]\((docs/[^)#]+)", (ROOT / "README.md").read_text()))
    assert len(links) > 10 and {f"share/doc/stoker/{link}" for link in links} <= set(manifest)


def test_all_that_it_names_is_there(manifest):
    assert [file for file in manifest.values() if not file.is_file()] == []


def test_what_is_installed_is_stripped(build, tmp_path):
    """The command and all libraries, of which one is preloaded."""
    subprocess.run(["make", "-s", "-C", ROOT, f"B={build}", f"DESTDIR={tmp_path}", "PREFIX=/usr", "install"], check=True)
    programs = [tmp_path / "usr/bin/stoker", *tmp_path.rglob("*.so")]
    assert [path.name for path in programs].count("libstoker.so") == 1
    for path in programs:
        sections = subprocess.run(["readelf", "-SW", path], check=True, text=True, stdout=subprocess.PIPE).stdout
        assert ".dynsym" in sections and ".symtab" not in sections, path


def test_packages_are_installed_as_they_were_made(tmp_path):
    """`make install` builds nothing once more after `make packages`, unless with flags of the user's."""
    (tmp_path / "stoker").touch()

    def installs(*flags):
        said = subprocess.run(["make", "-n", "-C", ROOT, f"RELEASE={tmp_path}", "install", *flags], check=True, text=True,
                              stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}).stdout
        return f"B={tmp_path}" in said
    assert installs() and not installs("CFLAGS=-O1") and not installs("B=build/other")
    (tmp_path / "stoker").unlink()
    assert not installs()


def test_one_version_everywhere():
    """In the command, the package and its metadata."""
    said = {}
    for name, before in [("pyproject.toml", 'version = "'), ("cli/help/help.h", 'STK_VERSION "'),
                         ("wrappers/python/stoker/__init__.py", '__version__ = "'),
                         ("wrappers/python/files_only.py", '__version__ = "')]:
        said[name] = (ROOT / name).read_text().split(before)[1].split('"')[0]
    assert len(set(said.values())) == 1, said


def test_each_part_that_is_linked_has_its_licence():
    """As the bill of materials names them."""
    parts = [line.split('"')[1] for line in (ROOT / "packaging/sbom.py").read_text().splitlines()
             if line.startswith('    ("')]
    assert {f"{name}.txt" for name in parts} == {
        path.name for path in (ROOT / "packaging/licenses").iterdir()}


def test_nothing_of_ours_speaks_to_a_network():
    """As SECURITY.md says."""
    folders = "base", "cache", "cli", "decode", "gpu", "preload", "ring", "store", "wrappers"
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".c", ".h", ".py"):
                text = path.read_text()
                assert not re.search(r"AF_INET|getaddrinfo|netinet/|"
                                     r"^ *(import|from) (urllib|http|ssl|requests)\b", text, re.M), path
