#!/usr/bin/env python3
"""Benchmark of `bumpwright policy`: 50 repositories with 2,500 tags each, scanned from the real registry.

Beside it go-containerregistry, which Flux uses, with the same number of requests at a time. The registry (built by
tests/tools/prepare) shares the machine; its folder is on tmpfs. Every measured run must choose the
newest tag of every repository. Prints a Markdown table of medians."""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from programs import binary, measured, scratch_folder
from servers import Servers

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORIES, TAGS = 50, 2500
# As in crates/flow/scan/src/batch.rs.
AT_A_TIME = 16
RANGE = ">=1.0.0"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright policy")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if not shutil.which("go"):
        sys.exit("go is not installed: there is nothing to compare with")
    command = options.command.split() if options.command else [binary(), "policy"]
    with scratch_folder() as folder, Servers("registry") as servers:
        registry = Registry(folder, servers)
        peer = folder / "gotags"
        subprocess.run(["go", "build", "-o", peer, "."], cwd=HERE / "gotags", check=True)
        (folder / "images.json").write_text(json.dumps({"range": RANGE, "images": registry.images()}))
        (folder / "manifests.yaml").write_text("".join(map(manifests, registry.images())))
        table(registry, options.rounds, {
            "bumpwright": [*command, "-f", str(folder / "manifests.yaml"), "--output", "json"],
            "go-containerregistry": [str(peer), str(folder / "images.json"), str(AT_A_TIME)],
        })


def table(registry, rounds, programs):
    work = f"{REPOSITORIES} repositories × {TAGS:,} tags, {AT_A_TIME} at a time"
    print(f"{os.cpu_count()} cores, {work}, median of {rounds}\n")
    print("| program | wall ms | × Go | CPU ms | peak MB | requests |")
    print("|---|--:|--:|--:|--:|--:|")
    # Programs inside, rounds outside: what slows the machine down for a while slows all rows down.
    measures = {name: [] for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            measures[name].append(registry.measured(command))
    medians = {name: [statistics.median(column) for column in zip(*taken)] for name, taken in measures.items()}
    go_wall = medians["go-containerregistry"][0]
    for name, (wall, cpu, memory, requests) in medians.items():
        print(f"| {name} | {wall:.0f} | {wall / go_wall:.2f} | {cpu:.0f} | {memory:.0f} | {requests:.0f} |")


def manifests(image):
    name = image.rsplit("/", 1)[1]
    objects = {
        "ImageRepository": {"image": image, "interval": "5m", "insecure": True},
        "ImagePolicy": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": RANGE}}},
    }
    head = {"apiVersion": "image.toolkit.fluxcd.io/v1", "metadata": {"name": name, "namespace": "bench"}}
    return "".join(f"---\n{json.dumps({**head, 'kind': kind, 'spec': spec})}\n" for kind, spec in objects.items())


class Registry:
    """The real registry with repositories `bench/app-0` and so on; the newest tag of `app-7` is `8.4242.7`."""

    def __init__(self, folder, servers):
        self.folder, self.servers = folder, servers
        for number in range(REPOSITORIES):
            servers.tags(f"bench/app-{number}", tags(number))

    def images(self):
        return [f"{self.servers.registry}/bench/app-{number}" for number in range(REPOSITORIES)]

    def measured(self, command):
        """Wall and CPU time in ms, peak memory in MB, requests."""
        before, output = self.servers.requests("registry"), self.folder / "output"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "BUMPWRIGHT_CACHE": str(self.folder / "cache")}
        wall, cpu, memory = measured(self.folder, command, output, env)
        text = output.read_text()
        chosen = set(re.findall(r"[0-9]+\.4242\.[0-9]+", text))
        missing = [number for number in range(REPOSITORIES) if newest(number) not in chosen]
        if missing:
            sys.exit(f"{' '.join(command)} did not choose for {missing}:\n{text[:2000]}")
        return wall * 1000, cpu * 1000, memory, self.servers.requests("registry") - before


def tags(number):
    """Half releases, half builds."""
    releases = [f"{number}.{n // 50}.{n % 50}" for n in range(TAGS // 2 - 1)]
    builds = [f"main-{n * 7919:08x}-{1600000000 + n}" for n in range(TAGS // 2)]
    return [*releases, newest(number), *builds]


def newest(number):
    return f"{number + 1}.4242.{number}"


if __name__ == "__main__":
    main()
