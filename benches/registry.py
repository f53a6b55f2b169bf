#!/usr/bin/env python3
"""Benchmark of `bumpwright policy`: 50 repositories with 2,500 tags each, scanned from the real registry.

Beside it go-containerregistry, which Flux uses, with the same number of requests at a time. The registry (built by
tests/tools/prepare) shares the machine; its folder lies on tmpfs when there is room. Every measured run must choose the
newest tag of every repository. Prints a Markdown table of medians."""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

from update import binary, scratch_folder, tool

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORIES, TAGS = 50, 2500
# As in crates/flow/scan/src/batch.rs.
AT_A_TIME = 16
RANGE = ">=1.0.0"
CONFIG, MANIFEST = "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.manifest.v1+json"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright policy")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if not shutil.which("go"):
        sys.exit("go is not installed: there is nothing to compare with")
    command = options.command.split() if options.command else [binary(), "policy"]
    with scratch_folder() as folder, Registry(folder) as registry:
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

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "access.log"

    def __enter__(self):
        root = self.folder / "registry"
        manifest = image(root / "docker/registry/v2/blobs")
        for number in range(REPOSITORIES):
            tagged(root / f"docker/registry/v2/repositories/bench/app-{number}", manifest, tags(number))
        config = {
            "version": "0.1", "log": {"level": "info"}, "http": {"addr": "127.0.0.1:0", "secret": "bench"},
            "storage": {"filesystem": {"rootdirectory": str(root)}},
        }
        (self.folder / "config.yml").write_text(json.dumps(config))
        with self.log.open("w") as access, (self.folder / "registry.log").open("w") as log:
            self.server = subprocess.Popen([tool("registry"), "serve", str(self.folder / "config.yml")], stdout=access,
                                           stderr=log, env={**os.environ, "OTEL_TRACES_EXPORTER": "none"})
        self.port = self.await_port()
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def await_port(self):
        """It takes a free port and says which."""
        end = time.monotonic() + 30
        while time.monotonic() < end and self.server.poll() is None:
            said = (self.folder / "registry.log").read_text().partition("listening on 127.0.0.1:")[2]
            if '"' in said:
                return said.split('"')[0]
            time.sleep(0.02)
        sys.exit("the registry does not start: " + (self.folder / "registry.log").read_text())

    def images(self):
        return [f"localhost:{self.port}/bench/app-{number}" for number in range(REPOSITORIES)]

    def measured(self, command):
        """Wall and CPU time in ms, peak memory in MB, requests."""
        before, output, report = self.requests(), self.folder / "output", self.folder / "rusage"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "BUMPWRIGHT_CACHE": str(self.folder / "cache")}
        with output.open("w") as out:
            subprocess.run([sys.executable, "-I", "-S", str(HERE / "rusage.py"), str(report), *command], check=True,
                           stdout=out, stderr=subprocess.STDOUT, env=env, cwd=self.folder)
        wall, cpu, kilobytes, code = report.read_text().split()
        text = output.read_text()
        chosen = set(re.findall(r"[0-9]+\.4242\.[0-9]+", text))
        missing = [number for number in range(REPOSITORIES) if newest(number) not in chosen]
        if code != "0" or missing:
            sys.exit(f"{' '.join(command)} ended with {code} and did not choose for {missing}:\n{text[:2000]}")
        return float(wall) * 1000, float(cpu) * 1000, int(kilobytes) / 1024, self.requests() - before

    def requests(self):
        return self.log.read_text().count("\n")


def tags(number):
    """Half releases, half builds."""
    releases = [f"{number}.{n // 50}.{n % 50}" for n in range(TAGS // 2 - 1)]
    builds = [f"main-{n * 7919:08x}-{1600000000 + n}" for n in range(TAGS // 2)]
    return [*releases, newest(number), *builds]


def newest(number):
    return f"{number + 1}.4242.{number}"


def image(blobs):
    """An image without layers below the registry's blobs; gives its digest."""
    config = {"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": []}}
    digest, size = stored(blobs, json.dumps(config))
    described = {"mediaType": CONFIG, "digest": digest, "size": size}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": []}
    return stored(blobs, json.dumps(manifest))[0]


def stored(blobs, text):
    """Digest and size."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    folder = blobs / "sha256" / digest[:2] / digest
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").write_text(text)
    return f"sha256:{digest}", len(text)


def tagged(repository, digest, names):
    """Tags as the registry keeps them (distribution, registry/storage/paths.go)."""
    revision = repository / "_manifests/revisions" / digest.replace(":", "/")
    revision.mkdir(parents=True)
    (revision / "link").write_text(digest)
    for name in names:
        folder = repository / "_manifests/tags" / name / "current"
        os.makedirs(folder)
        # The files say the same, so they can be one.
        os.link(revision / "link", folder / "link")


if __name__ == "__main__":
    main()
