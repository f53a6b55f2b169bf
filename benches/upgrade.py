#!/usr/bin/env python3
"""Upgrades and downgrades: an earlier release, this one, the earlier one again, and this one once more after a crash, one after the
other with the same cluster, storage and leases. Not a benchmark: it passes or fails.

After each change of the program everything is reconciled once. Nothing may be applied, pruned, committed or stored again by that: every
applied object keeps its uid and resourceVersion, every branch its commit, every artifact its time. Then the loop has to turn: a new
tag is committed and applied, and what left the repository is deleted.

`--before` is the earlier program, or a revision of this repository, which is built below `target/before`."""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from programs import binary, target
from servers import PATHS, Servers
from sources import PROJECT, Git, free_port, is_ready

NS = "flux-system"
PATHS |= {
    "ConfigMap": ("/api/v1", "configmaps"),
    "ImageRepository": ("/apis/image.toolkit.fluxcd.io/v1", "imagerepositories"),
    "ImagePolicy": ("/apis/image.toolkit.fluxcd.io/v1", "imagepolicies"),
    "ImageUpdateAutomation": ("/apis/image.toolkit.fluxcd.io/v1", "imageupdateautomations"),
}
KINDS = ["ImageRepository", "ImagePolicy", "GitRepository", "ImageUpdateAutomation", "Kustomization"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="this release (default: target/dist/bumpwright)")
    parser.add_argument("--before", required=True, help="the earlier release: a program, or a revision to build")
    options = parser.parse_args()
    after = Release("after", options.binary or binary(), PROJECT / "crds")
    before = earlier(options.before)
    with tempfile.TemporaryDirectory(prefix="bumpwright-upgrade-") as folder:
        folder = pathlib.Path(folder)
        git = Git(folder / "git")
        with Servers(f"cluster={before.crds}", f"git={git.root}", "registry") as servers:
            World(folder, servers, git).turn(before, after)


class Release:
    """A program with its definitions of kinds."""

    def __init__(self, name, program, crds):
        self.name, self.program, self.crds = name, str(pathlib.Path(program).resolve()), crds


def earlier(before):
    if os.access(before, os.X_OK):
        return Release("before", before, PROJECT / "crds")
    commit = subprocess.check_output(["git", "-C", PROJECT, "rev-parse", f"{before}^{{commit}}"], text=True).strip()
    tree = target() / "before" / commit[:12]
    if not tree.exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", PROJECT, tree], check=True)
        subprocess.run(["git", "-C", tree, "checkout", "--quiet", commit], check=True)
    built = tree / "target"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(built)}
    subprocess.run(["cargo", "build", "--locked", "--quiet", "--bin", "bumpwright"], check=True, cwd=tree, env=environment)
    return Release(f"before ({commit[:12]})", built / "debug/bumpwright", tree / "crds")


class World:
    """A repository whose folders are applied, with an image in each that an automation updates."""

    STACKS, OBJECTS, INTERVAL = 4, 10, "1h"

    def __init__(self, folder, servers, git):
        self.folder, self.servers, self.kube, self.git = folder, servers, servers.kube, git
        self.work, self.storage = folder / "work", folder / "storage"
        self.storage.mkdir()
        self.storage_port, self.process, self.asked, self.tag = free_port(), None, 0, 0
        for stack in range(self.STACKS):
            (self.work / f"stack-{stack}").mkdir(parents=True)
            for number in range(self.OBJECTS):
                self.write(stack, number)
        git.publish(self.work, "fleet")

    def write(self, stack, number):
        name = f"stack-{stack}-{number}"
        image = f'{self.servers.registry}/app-{stack}:1.0.0 # {{"$imagepolicy": "{NS}:stack-{stack}"}}'
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {NS}\ndata:\n  image: {image}\n"
        (self.work / f"stack-{stack}" / f"{name}.yaml").write_text(text)

    def turn(self, before, after):
        self.next_tag()
        self.start(before)
        self.create()
        self.reconciled("at first")
        self.loop(before)
        steps = [(after, self.end), (before, self.end), (after, self.crash), (before, self.crash), (after, self.end)]
        for release, leave in steps:
            state = self.state()
            leave()
            self.start(release)
            self.reconciled(f"by {release.name}")
            self.compare(state, release)
            self.loop(release)
        self.end()

    def start(self, release):
        for file in release.crds.glob("*.yaml"):
            for document in file.read_text().split("\n---\n"):
                self.kube.request("PATCH", crd_path(document), document.encode(), "application/apply-patch+yaml")
        *ports, self.ui_port = [free_port() for _ in range(3)]
        address = f"127.0.0.1:{self.storage_port}"
        command = [
            release.program, "controller", "--watch-all-namespaces=false", "--enable-leader-election", "--events-addr=",
            "--log-level=info", f"--storage-path={self.storage}", f"--storage-addr={address}", f"--storage-adv-addr={address}",
            f"--metrics-addr=127.0.0.1:{ports[0]}", f"--health-addr=127.0.0.1:{ports[1]}", *self.flags(),
        ]
        home = self.folder / "home"
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        env = {**os.environ, "KUBECONFIG": self.servers.kubeconfig, "RUNTIME_NAMESPACE": NS, "HOME": str(home), "TMPDIR": str(home / "tmp")}
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        self.wait(lambda: is_ready(f"http://127.0.0.1:{ports[1]}/readyz"), f"{release.name} is ready")

    def flags(self):
        """What this program is given besides."""
        return []

    def end(self):
        self.process.terminate()
        if code := self.process.wait(60):
            self.fail(f"ended with {code}")

    def crash(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def create(self):
        spec = {"interval": self.INTERVAL, "ref": {"branch": "main"}, "url": f"{self.servers.git}/fleet.git"}
        self.kube.create("GitRepository", NS, "fleet", spec=spec)
        for stack in range(self.STACKS):
            for kind, spec in self.specs(stack).items():
                self.kube.create(kind, NS, f"stack-{stack}", spec=spec)

    def specs(self, stack):
        """The spec of each object of a stack, by kind."""
        name, interval = f"stack-{stack}", {"interval": self.INTERVAL}
        commit = {"author": {"name": "bot", "email": "bot@example.com"}}
        source = {"sourceRef": {"kind": "GitRepository", "name": "fleet"}}
        update = {"path": f"./{name}", "strategy": "Setters"}
        return {
            "ImageRepository": {**interval, "image": f"{self.servers.registry}/app-{stack}", "insecure": True},
            "ImagePolicy": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": ">=1.0.0"}}},
            "ImageUpdateAutomation": {**interval, **source, "update": update, "git": {"commit": commit}},
            "Kustomization": {**interval, **source, "path": f"./{name}", "prune": True},
        }

    def next_tag(self):
        self.tag += 1
        for stack in range(self.STACKS):
            self.servers.tags(f"app-{stack}", [f"1.0.{self.tag}"])

    def reconciled(self, when):
        """Everything is reconciled once, in the order of the loop."""
        for kind in KINDS:
            self.asked += 1
            at = str(self.asked)
            items = self.kube.get(kind, NS)["items"]
            for item in items:
                self.kube.reconcile(kind, NS, item["metadata"]["name"], at)
            self.wait(lambda: all(self.is_done(item, at) for item in self.kube.get(kind, NS)["items"]), f"{kind} is reconciled {when}")

    def is_done(self, item, at):
        status = item.get("status", {})
        ready = [one["status"] for one in status.get("conditions", []) if one["type"] == "Ready"]
        handled = status.get("lastHandledReconcileAt") == at or item["kind"] == "ImagePolicy"
        return handled and ready == ["True"]

    def loop(self, release):
        """A new tag comes to the cluster, and a file that is gone leaves it."""
        gone = self.work / "stack-0" / f"stack-0-{self.OBJECTS - self.tag}.yaml"
        self.next_tag()
        self.pull()
        gone.unlink()
        self.git.run(self.work, "commit", "--quiet", "--all", "--message=one less")
        self.git.run(self.work, "push", "--quiet", str(self.git.root / "fleet.git"), "main")
        self.reconciled(f"with a new tag by {release.name}")
        self.reconciled(f"with its commit by {release.name}")
        images = {item["metadata"]["name"]: item["data"]["image"] for item in self.applied()}
        wrong = [name for name, image in images.items() if not image.endswith(f":1.0.{self.tag}")]
        if wrong or len(images) != self.STACKS * self.OBJECTS - self.tag + 1 or gone.stem in images:
            self.fail(f"{release.name} left {len(images)} objects, {wrong} with an old tag, {gone.stem in images=}")
        print(f"{release.name}: tag 1.0.{self.tag} is applied, {gone.stem} is gone", flush=True)

    def pull(self):
        self.git.run(self.work, "pull", "--quiet", "--ff-only", str(self.git.root / "fleet.git"), "main")

    def applied(self):
        objects = self.kube.get("ConfigMap", NS)["items"]
        return [item for item in objects if "kustomize.toolkit.fluxcd.io/name" in item["metadata"].get("labels", {})]

    def state(self):
        """What another program may not change by itself."""
        objects = {item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"]["resourceVersion"]) for item in self.applied()}
        source = self.kube.get("GitRepository", NS, "fleet")["status"]["artifact"]
        head = self.git.run(self.git.root / "fleet.git", "rev-parse", "main")
        chosen = {item["metadata"]["name"]: item["status"].get("latestRef") for item in self.kube.get("ImagePolicy", NS)["items"]}
        pushed = {item["metadata"]["name"]: item["status"].get("lastPushCommit") for item in self.kube.get("ImageUpdateAutomation", NS)["items"]}
        inventories = {item["metadata"]["name"]: item["status"]["inventory"] for item in self.kube.get("Kustomization", NS)["items"]}
        return {"objects": objects, "artifact": source, "head": head, "chosen": chosen, "pushed": pushed, "inventories": inventories}

    def compare(self, before, release):
        after = self.state()
        for what, was in before.items():
            if after[what] != was:
                self.fail(f"{release.name} changed {what}:\n{was}\n{after[what]}")

    def wait(self, is_done, what):
        end = time.time() + 120
        while not is_done():
            if self.process.poll() is not None or time.time() > end:
                self.fail(f"not so: {what}")
            time.sleep(0.1)

    def fail(self, why):
        lines = (self.folder / "log").read_text().splitlines()
        print(*(line[:300] for line in lines[-5:]), sep="\n", file=sys.stderr)
        sys.exit(why)


def crd_path(document):
    name = next(line.split()[1] for line in document.splitlines() if line.startswith("  name: "))
    return f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=upgrade&force=true"


if __name__ == "__main__":
    main()
