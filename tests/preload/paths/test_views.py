"""One path means different files to different processes: by mount namespaces and changed root
directories. The volumes are as alike as can be, and in use at one time on one cache."""

import contextlib
import os
import pathlib
import platform
import subprocess

import pytest

import matrix
import tree
from origin import settle

FILES = 6
IMAGE_BYTES = 4 << 20
MARK = b"content of the volume "  # in every file, followed by the volume's letter


def make_image(scratch, letter):
    """An image with files of the same names, sizes, mtimes and inode numbers as the others'."""
    source, image = scratch / f"source{letter}", scratch / f"{letter}.img"
    (source / "sub").mkdir(parents=True)
    for number in range(FILES):
        path = source / f"sub/file{number}"
        path.write_bytes((MARK + letter.encode() + b"%03d" % number) * 200)
        os.utime(path, (1000, 1000))
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-I", "256", "-d", source, image,
                    str(IMAGE_BYTES >> 10)], check=True, capture_output=True)
    return image


def doctored(scratch, image):
    """Makes a copy with the files' bytes changed and nothing else: no time shows it."""
    copy = scratch / "copy.img"
    copy.write_bytes(image.read_bytes().replace(MARK + b"A", MARK + b"B"))
    return copy


def mounted(image, path, then=()):
    """A command that mounts an image in a mount namespace of its own, and goes on there."""
    script = f'mount -o loop,ro {image} {path} && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, "sh", *then]


@pytest.fixture
def image(scratch, as_root):
    (scratch / "data").mkdir()
    try:
        made = make_image(scratch, "A")
        subprocess.run(mounted(made, scratch / "data", ["true"]), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no loop mounts: {error}")
    settle()
    return made


@pytest.fixture
def images(scratch, image):
    """Two volumes that differ in nothing but their bytes."""
    return [image, doctored(scratch, image)]


@pytest.fixture
def as_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


def letters(agent, path):
    """Returns the volume's letters, as all its files show them."""
    seen = {agent.text(path / f"sub/file{number}")[len(MARK):len(MARK) + 1]
            for number in range(FILES)}
    return b"".join(sorted(seen))


def identity(agent, path):
    """Returns the fields that distinguish versions: inode, size, mtime, ctime of all files."""
    return [agent.see(path / f"sub/file{number}")["stat"][i] for number in range(FILES)
            for i in (1, 6, 7, 8)]


@pytest.mark.parametrize("how", ["run", "preload"])
def test_two_namespaces_with_volumes_alike(agents, scratch, images, how):
    path = scratch / "data"
    with contextlib.ExitStack() as stack:
        def start(image):
            wrapper = mounted(image, path)
            make = agents.shim if how == "run" else agents.preloaded
            return stack.enter_context(make(path, wrapper=wrapper))

        shims = [start(image) for image in images]
        plains = [stack.enter_context(agents.plain(mounted(image, path))) for image in images]
        assert identity(plains[0], path) == identity(plains[1], path)
        for _ in range(3):
            for shim, plain, letter in zip(shims, plains, [b"A", b"B"]):
                assert letters(shim, path) == letters(plain, path) == letter
        fds = [shim.open(path / "sub/file0", os.O_RDONLY) for shim in shims]
        assert all(shim.served(fd) for shim, fd in zip(shims, fds))
    if how == "run":
        assert all(shim.summary["hits"] >= FILES for shim in shims)
    matrix.record("Paths", f"two mount namespaces, volumes alike on one path ({how})", "",
                  f"{FILES} files of equal size, times and inode number, at once", "same")


def check_one_after_another(agents, path, images):
    """In a namespace of its own each, one run after the other on the cache that is kept."""
    for image, letter in [*zip(images, [b"A", b"B"])] * 2:
        with agents.shim(path, wrapper=mounted(image, path)) as shim:
            assert [letters(shim, path) for _ in range(2)] == [letter] * 2
        assert shim.summary["hits"] >= FILES


def test_one_volume_after_another(agents, scratch, image):
    """On the same device; their files have the same sizes, mtimes, inode numbers, and often the
    same ctimes, of which mke2fs keeps the seconds only."""
    check_one_after_another(agents, scratch / "data", [image, make_image(scratch, "B")])
    matrix.record("Paths", "one volume after another on one path and device", "",
                  f"{FILES} files of equal size, mtime and inode number", "same")


def test_one_volume_after_its_copy_at_another_path(agents, scratch, images):
    """A loop device says nothing of what it had before: only the mount points differ."""
    for image, letter in zip(images, [b"A", b"B"]):
        path = scratch / f"at{letter.decode()}"
        path.mkdir()
        with agents.shim(path, wrapper=mounted(image, path)) as shim:
            assert [letters(shim, path) for _ in range(2)] == [letter] * 2
        assert shim.summary["hits"] >= FILES


SEALED = {
    "squashfs": "mksquashfs {source} {image} -noappend -all-time 1000 -mkfs-time 1000 -quiet "
                "-no-progress",
    "erofs": "mkfs.erofs -T1000 -U 00000000-0000-0000-0000-000000000001 {image} {source}",
    "squashfuse": "mksquashfs {source} {image} -noappend -all-time 1000 -mkfs-time 1000 -quiet "
                  "-no-progress",
}


def make_sealed(scratch, kind, letter):
    """An image without a number of its own, as every build of the same files makes it."""
    source, image = scratch / f"source{letter}", scratch / f"{letter}.img"
    (source / "sub").mkdir(parents=True)
    for number in range(FILES):
        (source / f"sub/file{number}").write_bytes((MARK + letter.encode() + b"%03d" % number) * 200)
    for path in [source, source / "sub", *(source / "sub").iterdir()]:
        os.utime(path, (1000, 1000))
    try:
        subprocess.run(SEALED[kind].format(source=source, image=image).split(), check=True,
                       capture_output=True)
    except FileNotFoundError as error:
        pytest.skip(f"no {error.filename}")
    return image


@pytest.mark.parametrize("kind", SEALED)
def test_one_sealed_volume_after_another(agents, scratch, as_root, kind):
    """The volumes agree in type, source and superblock; their files in sizes, inode numbers and
    times."""
    path = scratch / "data"
    path.mkdir()
    images = [make_sealed(scratch, kind, letter) for letter in "AB"]
    mount = "squashfuse" if kind == "squashfuse" else f"mount -t {kind} -o loop,ro"

    def inside(image, then=()):
        return ["unshare", "-m", "sh", "-c", f'{mount} {image} {path} && exec "$@"', "sh", *then]

    if subprocess.run(inside(images[0], ["true"]), capture_output=True, check=False).returncode:
        pytest.skip(f"no mounts of {kind}")
    with agents.plain(inside(images[0])) as one:
        seen = identity(one, path)
    with agents.plain(inside(images[1])) as other:
        assert identity(other, path) == seen
    for image, letter in [*zip(images, [b"A", b"B"])] * 2:
        with agents.shim(path, wrapper=inside(image)) as shim:
            assert [letters(shim, path) for _ in range(2)] == [letter] * 2
        assert shim.summary["hits"] >= FILES
    with contextlib.ExitStack() as stack:  # for as long as it stays mounted it is one volume
        holder = stack.enter_context(agents.plain(inside(images[0])))
        enter = ["nsenter", "-t", str(holder.getpid()), "-m"]
        for touch in range(2):
            with agents.shim(path, wrapper=enter) as shim:
                assert [letters(shim, path) for _ in range(2)] == [b"A"] * 2
            assert shim.summary["fills"] == (0 if touch else FILES)
    matrix.record("Paths", f"one volume after another on one path: {kind}", "",
                  f"{FILES} files of equal size, times and inode number", "same")


# Each of these makes a file of a volume on {beyond} the root's file "link", without a root of its
# own.
BEYOND = {
    "link": "ln -sfn {beyond}/sub/file0 {path}/link",
    "bound": "rm -f {path}/link; touch {path}/link; mount --bind {beyond}/sub/file0 {path}/link",
    "many": "for i in $(seq 40); do mkdir -p {path}/$i; mount -t tmpfs t {path}/$i; done;"
            "mkdir -p {path}/z; mount --move {beyond} {path}/z; ln -sfn z/sub/file0 {path}/link",
}


@pytest.mark.parametrize("how", BEYOND)
def test_one_volume_after_another_within_a_root(agents, scratch, as_root, how):
    """On another device than the root's, which both have."""
    path, beyond = scratch / "data", scratch / "beyond"
    path.mkdir()
    beyond.mkdir()
    images = [make_sealed(scratch, "squashfs", letter) for letter in "AB"]

    def inside(image, then=()):
        script = f"mount -o loop,ro {image} {beyond} || exit 77; " + BEYOND[how].format(
            path=path, beyond=beyond)
        return ["unshare", "-m", "sh", "-c", f'{script}; exec "$@"', "sh", *then]

    if subprocess.run(inside(images[0], ["true"]), capture_output=True, check=False).returncode:
        pytest.skip("no loop mounts")
    settle()
    for image, letter in [*zip(images, [b"A", b"B"])] * 2:
        with agents.shim(path, wrapper=inside(image)) as shim:
            for _ in range(2):
                assert shim.text(path / "link")[len(MARK):len(MARK) + 1] == letter
                assert shim.see(path / "link").served["open"]
    matrix.record("Paths", f"one volume after another within a root ({how})", "", "a file", "same")


@pytest.mark.xfail(strict=True, reason="volumes with the same source and number whose files "
                   "have the same size, times and inode number are one to the design: a "
                   "block-level copy that was changed with all its times kept")
def test_one_volume_after_its_copy(agents, scratch, images):
    check_one_after_another(agents, scratch / "data", images)


def test_a_link_out_of_a_root_that_two_namespaces_share(agents, scratch, as_root):
    """The root is one and the same; what a link in it leads to is mounted differently."""
    path, beyond = scratch / "data", scratch / "beyond"
    path.mkdir()
    beyond.mkdir()
    (path / "link").symlink_to(beyond / "file")
    (path / "directory").symlink_to(beyond)
    for letter in "AB":
        tree.write(scratch / letter / "file", 5000)
    settle()
    with contextlib.ExitStack() as stack:
        def both(make, *arguments):
            return [stack.enter_context(make(*arguments, wrapper=[
                "unshare", "-m", "sh", "-c", f'mount --bind {scratch}/{letter} {beyond}; exec "$@"',
                "sh"])) for letter in "AB"]

        shims, plains = both(agents.preloaded, path), both(agents.plain)
        for _ in range(3):
            for shim, plain in zip(shims, plains):
                for name in "link", "directory/file":
                    assert shim.see(path / name) == plain.see(path / name)
                    assert shim.see(path / name).served["open"]
        assert shims[0].see(path / "link") != shims[1].see(path / "link")


def test_one_namespace_seen_twice_shares_its_entries(agents, place, scratch):
    """Two namespaces see one directory: a file that one has filled the other does not copy."""
    path = scratch / "data"
    tree.write(path / "file", 5000)
    settle()
    for visit in range(2):
        with agents.shim(path, wrapper=["unshare", "-m"]) as shim:
            assert shim.see(path / "file").served["open"]
        assert shim.summary["fills"] == (1 if visit == 0 else 0)


# ---- changed roots ----


@pytest.fixture
def jails(place, scratch, as_root):
    """Two directories with everything of / in them, but another /srv each."""
    found = []
    for letter in "AB":
        jail, srv = scratch / f"jail{letter}", scratch / f"srv{letter}"
        (srv / "data/sub").mkdir(parents=True)
        jail.mkdir()
        for number in range(FILES):
            file = srv / f"data/sub/file{number}"
            file.write_bytes((MARK + letter.encode() + b"%03d" % number) * 200)
            os.utime(file, (1000, 1000))
        place.run(["mount", "--rbind", "/", jail])
        place.run(["mount", "--bind", srv, jail / "srv"])
        found.append(jail)
    settle()
    return found


@pytest.mark.parametrize("how", ["run", "preload"])
def test_two_root_directories(agents, jails, how):
    path = pathlib.Path("/srv/data")
    with contextlib.ExitStack() as stack:
        make = agents.shim if how == "run" else agents.preloaded
        shims = [stack.enter_context(make(path, wrapper=["chroot", jail])) for jail in jails]
        plains = [stack.enter_context(agents.plain(["chroot", jail])) for jail in jails]
        for _ in range(3):
            for shim, plain, letter in zip(shims, plains, [b"A", b"B"]):
                assert letters(shim, path) == letters(plain, path) == letter
                for number in range(FILES):
                    file = path / f"sub/file{number}"
                    assert shim.see(file) == plain.see(file)
                    assert shim.see(file).served["open"]
    matrix.record("Paths", f"two root directories (chroot) with other files on one path ({how})",
                  "", f"{FILES} files", "same")


def enter_namespace(agent, pid):
    """Enters the mount namespace of a process, and that process's root directory. setns alone leaves the root
    directory behind, as these tests may run in a chroot. The library sees a chroot by syscall(), too."""
    root = agent.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY)
    agent.libc("setns", agent.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0x20000)
    agent.fchdir(root)
    agent.libc("syscall", {"x86_64": 161, "aarch64": 51}[platform.machine()], b".")


CHANGES_OF_VIEW = {
    "chroot": lambda agent, jails: (agent.chroot(str(jails[1])), agent.chdir("/")),
    "chroot-relative": lambda agent, jails: (agent.chdir(str(jails[1])), agent.chroot(".")),
    "setns": lambda agent, jails: enter_namespace(agent, agent.other),
    "unshare-and-mount": lambda agent, jails: (
        agent.libc("unshare", 0x20000),
        agent.libc("mount", b"none", b"/", None, 0x4000 | 0x40000, None),
        agent.libc("mount", os.fsencode(jails[1] / "srv"), b"/srv", None, 0x1000, None)),
}


@pytest.fixture
def chroot(place, scratch):
    """A command that goes on in another root directory with everything of / in it."""
    (scratch / "root").mkdir()
    place.run(["mount", "--rbind", "/", scratch / "root"])
    return ["chroot", scratch / "root"]


@pytest.mark.parametrize("changed_before", [False, True], ids=["", "in a chroot"])
@pytest.mark.parametrize("change", CHANGES_OF_VIEW)
def test_a_process_that_changes_its_own_view(agents, place, jails, change, changed_before, request):
    """Its knowledge of the path is true of another file."""
    path = pathlib.Path("/srv/data")
    place.run(["mount", "--bind", jails[0] / "srv", "/srv"])
    here = request.getfixturevalue("chroot") if changed_before else []
    other = [*here, "unshare", "-m", "sh", "-c", f'mount --bind {jails[1]}/srv /srv; exec "$@"',
             "sh"]
    with agents.shim(path, wrapper=here) as shim, agents.plain(here) as plain, \
            agents.plain(other) as third:
        for agent in shim, plain:
            agent.other = third.getpid()
            assert [letters(agent, path) for _ in range(2)] == [b"A"] * 2
        assert shim.see(path / "sub/file0").served["open"]
        for agent in plain, shim:
            CHANGES_OF_VIEW[change](agent, jails)
            assert [letters(agent, path) for _ in range(2)] == [b"B"] * 2
        for number in range(FILES):
            assert shim.see(path / f"sub/file{number}") == plain.see(path / f"sub/file{number}")


def test_a_descriptor_from_outside_of_the_root(agents, jails):
    """After a chroot the files outside are still reached through an open directory."""
    path = pathlib.Path("/srv/data")
    with agents.shim(jails[0] / "srv/data") as shim, agents.plain() as plain:
        for agent in shim, plain:
            agent.fd = agent.open(jails[0] / "srv/data/sub", os.O_RDONLY | os.O_DIRECTORY)
            agent.see(b"file0", agent.fd)
            agent.chroot(str(jails[1]))
        for number in range(FILES):
            name = b"file%d" % number
            assert shim.see(name, shim.fd) == plain.see(name, plain.fd)
            assert shim.see(path / "sub" / name.decode()) == plain.see(path / "sub" / name.decode())
