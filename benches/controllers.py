#!/usr/bin/env python3
"""Benchmark of `bumpwright controller`: 500 image policies, and 200 automations on one repository and on 200.

Runs in the harness of the recorded scenarios (real kube-apiserver, etcd, registry, git http-backend), which shares the
machine. For each set: until all policies and automations are ready, until the commits of a new tag of every image have
landed, requests to the API server meanwhile, CPU, memory at its peak and after half a minute of rest. Prints a Markdown
table. There is no peer in the same run: Flux's own figures for 20 automations are in the harness (bench_automations.py),
which `--race` runs too."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from programs import tool

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
CORPORA = pathlib.Path(os.environ.get("BUMPWRIGHT_CORPORA", PROJECT.parent / "shared"))
NS = "bench"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--policies", type=int, default=500)
    parser.add_argument("--automations", type=int, default=200)
    parser.add_argument("--rest", type=float, default=30, help="seconds before memory at rest is read")
    parser.add_argument("--race", action="store_true", help="20 automations on one branch, alone and with a rival, instead")
    options = parser.parse_args()
    harness = CORPORA / "harness"
    if not harness.exists():
        sys.exit(f"{harness} is not there")
    sys.path.insert(0, str(harness))
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        profile = prepare(pathlib.Path(folder), options.binary)
        if options.race:
            race(harness, profile, folder)
            return
        print(f"{os.cpu_count()} cores, {options.policies} policies, {options.automations} automations\n")
        print("| repositories | all ready s | new tags landed s | API requests | CPU s | peak MiB | at rest MiB |")
        print("|--:|--:|--:|--:|--:|--:|--:|")
        for repositories in (1, options.automations):
            print(measured(profile, folder, repositories, options), flush=True)


def prepare(folder, binary):
    """The profile of the harness, with the program that is measured and the real parts side by side."""
    (folder / "bin").mkdir()
    for name in ("etcd", "kube-apiserver", "registry"):
        (folder / "bin" / name).symlink_to(tool(name))
    (folder / "bin/bumpwright").symlink_to(pathlib.Path(binary).resolve())
    os.environ["FLUXBOX_BIN"] = str(folder / "bin")
    text = (PROJECT / "tests/harness/profile.yaml").read_text().replace("CRDS", str(PROJECT / "crds"))
    (folder / "profile.yaml").write_text(text.replace("--log-level=debug", "--log-level=error"))
    return folder / "profile.yaml"


def race(harness, profile, folder):
    for rival in ([], ["--rival", "0.2"]):
        print(f"\n20 automations on one branch {' '.join(rival)}", flush=True)
        subprocess.run([sys.executable, harness / "bench_automations.py", "--profile", profile, "--crds", PROJECT / "crds",
                        "--work", f"{folder}/race", *rival], check=True)


def measured(profile, folder, repositories, options):
    import fluxbox
    import yaml
    box = fluxbox.Box(yaml.safe_load(profile.read_text()), f"{folder}/work-{repositories}")
    box.start(registry=True)
    try:
        box.namespace(NS)
        cluster = Cluster(box, options, repositories)
        cluster.fill()
        box.controllers({"image", "reflector"})
        before, began = cluster.requests(), time.time()
        cluster.create()
        cluster.wait_ready()
        ready = time.time() - began
        cluster.tag("1.1.0")
        began = time.time()
        cluster.scan_again()
        cluster.wait_landed()
        landed = time.time() - began
        requests = cluster.requests() - before
        time.sleep(options.rest)
        rest, peak, cpu = box.usage()["bumpwright"]
        return f"| {repositories} | {ready:.1f} | {landed:.1f} | {requests:,} | {cpu:.1f} | {peak} | {rest} |"
    finally:
        box.stop()


class Cluster:
    """What is in the cluster, the registry and the repositories."""

    def __init__(self, box, options, repositories):
        self.box, self.repositories = box, repositories
        self.policies, self.automations = options.policies, options.automations
        self.images = max(1, self.policies // 10)

    def fill(self):
        for image in range(self.images):
            self.push(image, "1.0.0")
        for number in range(self.repositories):
            files = {}
            for automation in range(number, self.automations, self.repositories):
                for policy in range(automation, self.policies, self.automations):
                    image = self.image(policy)
                    mark = f'# {{"$imagepolicy": "{NS}:p{policy:03}"}}'
                    files[f"apps/a{automation:03}/p{policy:03}.yaml"] = ("100644", f"image: {image}:0.9.0 {mark}\n".encode())
            self.box.git.ensure(NS, f"fleet-{number}")
            self.box.git.commit(NS, f"fleet-{number}", files, "main", None, "init")

    def image(self, policy):
        return f"127.0.0.1:{self.box.ports['REGISTRY']}/app-{policy % self.images}"

    def push(self, image, tag):
        layer = self.box.tgz({"a": b"a"})
        self.box.push_oci(f"app-{image}", [tag], layer)

    def tag(self, tag):
        for image in range(self.images):
            self.push(image, tag)

    def create(self):
        reflector, automation = "image.toolkit.fluxcd.io/v1", "image.toolkit.fluxcd.io/v1"
        for image in range(self.images):
            self.apply(reflector, "ImageRepository", f"app-{image}", {"image": self.image(image), "interval": "1h", "insecure": True})
        for policy in range(self.policies):
            self.apply(reflector, "ImagePolicy", f"p{policy:03}", {
                "imageRepositoryRef": {"name": f"app-{policy % self.images}"}, "policy": {"semver": {"range": ">=1.0.0"}}})
        port = self.box.git.http
        for number in range(self.repositories):
            url = f"http://127.0.0.1:{port}/{NS}/fleet-{number}.git"
            self.apply("source.toolkit.fluxcd.io/v1", "GitRepository", f"fleet-{number}", {"interval": "1h", "url": url, "ref": {"branch": "main"}})
        for number in range(self.automations):
            self.apply(automation, "ImageUpdateAutomation", f"a{number:03}", {
                "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": f"fleet-{number % self.repositories}"},
                "update": {"path": f"./apps/a{number:03}", "strategy": "Setters"},
                "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}})

    def apply(self, version, kind, name, spec):
        self.box.kube.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}, NS)

    def wait_ready(self):
        self.wait("ready", lambda: self.all_ready("ImagePolicy", self.policies) and self.holds(b":1.0.0 "))

    def wait_landed(self):
        self.wait("landed", lambda: self.holds(b":1.1.0 "))

    def wait(self, what, done, limit=600):
        end = time.time() + limit
        while not done():
            if time.time() > end:
                raise SystemExit(f"not {what} after {limit} s")
            time.sleep(0.5)

    def all_ready(self, kind, count):
        items = self.box.kube.list(kind, NS)
        ready = [c for item in items for c in item.get("status", {}).get("conditions", []) if c["type"] == "Ready" and c["status"] == "True"]
        return len(ready) == count

    def holds(self, text):
        """Whether every marked file of every repository holds `text`."""
        found = 0
        for number in range(self.repositories):
            done = self.box.git.git(NS, f"fleet-{number}", "grep", "-c", "-F", text.decode(), "main", check=False)
            lines = done.decode().split() if isinstance(done, bytes) else done.stdout.decode().split()
            found += len(lines)
            if not lines:
                return False
        return found >= self.policies

    def scan_again(self):
        for image in range(self.images):
            patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": str(time.time())}}}
            path = self.box.kube.path("ImageRepository", NS, f"app-{image}")
            self.box.kube.req("PATCH", path, patch, ctype="application/merge-patch+json")

    def requests(self):
        """Requests of everybody but the API server itself and this script, as its metrics count them."""
        text = self.box.kube.req("GET", "/metrics", raw=True).decode()
        groups = ("image.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")
        lines = (line for line in text.splitlines() if line.startswith("apiserver_request_total"))
        total = 0
        for line in lines:
            group, verb = re.search(r'group="([^"]*)"', line), re.search(r'verb="([^"]*)"', line)
            resource, sub = re.search(r'resource="([^"]*)"', line), re.search(r'subresource="([^"]*)"', line)
            ours = group[1] in groups and (sub[1] == "status" or verb[1] in ("GET", "PATCH", "WATCH"))
            ours = ours or resource[1] in ("events", "secrets", "serviceaccounts")
            total += float(line.rsplit(" ", 1)[1]) if ours else 0
        return int(total)


if __name__ == "__main__":
    main()
