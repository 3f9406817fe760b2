"""Every block of the documents is run, page by page and from above to below, as a reader would."""

import json
import os
import re
import subprocess

import pytest
import yaml

import blocks

SHELL = {"sh", "console", "sbatch"}
PAGES = [page for page in blocks.pages() if any(
    block.language in SHELL | {"python", "yaml"} for block in blocks.blocks(page))]

SLURM = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_JOB_NUM_NODES": "1", "SLURM_NNODES": "1", "SLURM_NODEID": "0",
         "SLURM_TMPDIR": "/scratch/tmp", "SLURM_CPUS_PER_TASK": "2", "SLURM_NTASKS_PER_NODE": "1"}
SBATCH = {"--job-name", "--nodes", "--ntasks-per-node", "--cpus-per-task", "--gpus-per-node", "--mem", "--time",
          "--array", "--exclusive", "--output", "--tmp"}


def script(block):
    """Returns the input of a shell. If the block is a console's, it is only what was typed."""
    if block.language != "console":
        return block.text
    return "".join(line[2:] + "\n" for line in block.text.splitlines() if line.startswith(("$ ", "> ")))


def allowed(block):
    return {0} | {int(status) for status in block.info.get("may", "0").split(",")}


def check(block, status, text):
    assert status in allowed(block), f"{block}: status {status}\n{script(block)}\n{text[-4000:]}"
    for words in filter(None, block.info.get("says", "").split(",")):
        assert words.replace("_", " ") in text, f"{block}: does not say {words}:\n{text[-4000:]}"
    # A command that runs and does nothing is not what the page says, either.
    assert "NOTHING WAS SERVED" not in text, f"{block}:\n{text[-4000:]}"


def run_shell(scene, block):
    env = SLURM if block.language == "sbatch" else {}
    check(block, *scene.run(["bash", "-e", "-u", "-o", "pipefail", "-c", script(block), "bash"], env))


def run_batch_job(scene, block):
    for line in re.findall(r"^#SBATCH +(\S+)", block.text, re.MULTILINE):
        assert line.split("=")[0] in SBATCH, f"{block}: {line}"
    run_shell(scene, block)


def run_python(scene, block):
    check(block, *scene.run(["python", "-c", block.text]))


def run_containers(scene, block):
    """Runs the containers' commands of each Pod. Memory is mounted; other volumes are the
    scene's."""
    for document in yaml.safe_load_all(block.text):
        spec = document["spec"]
        spec = spec["template"]["spec"] if "template" in spec else spec
        volumes, mounted = {volume["name"]: volume for volume in spec["volumes"]}, set()
        for container in spec.get("initContainers", []) + spec["containers"]:
            for mount in container["volumeMounts"]:
                memory = volumes[mount["name"]].get("emptyDir")
                if memory and mount["name"] not in mounted:
                    scene.mount(mount["mountPath"], memory["sizeLimit"].removesuffix("i"))
                    mounted.add(mount["name"])
            check(block, *scene.run(container["command"] + container.get("args", [])))


RUN = {"sh": run_shell, "console": run_shell, "sbatch": run_batch_job, "python": run_python,
       "yaml": run_containers}


@pytest.mark.parametrize("page", PAGES, ids=blocks.name)
def test_page(scene, page):
    for block in blocks.blocks(page):
        if "file" in block.info:
            scene.write(block.info["file"], block.text)
        elif "norun" not in block.info and block.language in RUN:
            RUN[block.language](scene, block)


# These need more than the scene has: runs that go on or have ended.
OF_OTHERS = {"top", "last", "report"}


def test_examples_of_the_manual(scene, build):
    """Those of `stoker help VERB`, from which the manual pages are made."""
    def say(*words):
        return subprocess.run([build / "stoker", "help", *words], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    found = 0
    for verb in set(re.findall(r"^  stoker ([a-z]+) ", say(), re.MULTILINE)) - OF_OTHERS:
        for example in re.findall(r"^  \$ (.*)", say(verb), re.MULTILINE):
            info = {"may": "1"} if verb == "doctor" else {}
            run_shell(scene, blocks.Block(blocks.ROOT / "cli/help/help.c", 0, "sh", info, example))
            found += 1
    assert found > 7


def every_block():
    return [block for page in blocks.pages() for block in blocks.blocks(page)]


def test_what_is_not_run_can_be_read():
    for block in every_block():
        if block.language in SHELL:
            done = subprocess.run(["bash", "-n", "-c", script(block)], text=True, check=False,
                                  stderr=subprocess.PIPE)
            assert done.returncode == 0, f"{block}: {done.stderr}"
        elif block.language == "python":
            compile(block.text, str(block), "exec")
        elif block.language == "yaml":
            list(yaml.safe_load_all(block.text))
        elif block.language == "json":
            json.loads(block.text)


def test_every_block_says_what_it_is():
    for block in every_block():
        known = {*RUN, "text", "json", "c"} | ({"dockerfile"} if "norun" in block.info else set())
        assert block.language in known, f"{block}: {block.language!r}"
        assert block.info.get("norun") != "", f"{block}: not run, without a reason"
        assert set(block.info) <= {"file", "may", "says", "norun"}, f"{block}: {block.info}"


def test_nearly_all_is_run():
    shell = [block for block in every_block() if block.language in {*SHELL, "python", "yaml"}]
    left = [block for block in shell if "norun" in block.info]
    assert len(left) <= 12, "\n".join(map(str, left))
