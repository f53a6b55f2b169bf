#!/usr/bin/env python3
"""Benchmark of a fleet in use: from a new tag to the applied object without webhooks, and the costs at rest, by `bumpwright controller` and
beside it by Flux's four controllers (built by tests/tools/prepare).

13 Kustomizations with 381 objects of one Git repository, half of them depending on the first one, and an automation; all intervals are a minute,
as are those of `flux create`. A real kube-apiserver, etcd and `git http-backend` share the machine; each has a cluster of its own, leases as when
installed. Prints a Markdown table: seconds from a tag to its commit and to the applied object (a scan is asked for, nothing else; median and
largest), then requests to the API server by verb, CPU seconds and memory in a time at rest. Requests of the API server to itself are subtracted."""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from growth_images import Registry
from measured import Process, Server, Statuses
from programs import tool
from servers import Servers
from sources import PROJECT, Git, free_port

KUSTOMIZATIONS, OBJECTS = 13, 381
FLUX = ["source-controller", "kustomize-controller", "image-reflector-controller", "image-automation-controller"]
SOURCES, IMAGES, BUILDS = (f"/apis/{group}.toolkit.fluxcd.io/v1" for group in ("source", "image", "kustomize"))
MERGE = "application/merge-patch+json"
NAMESPACE = "flux-system"
INTERVAL = "1m"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--tags", type=int, default=5)
    parser.add_argument("--rest", type=int, default=150, help="seconds at rest")
    parser.add_argument("--quick", action="store_true", help="one tag, a minute at rest")
    options = parser.parse_args()
    if options.quick:
        options.tags, options.rest = 1, 60
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {options.tags} tags, {options.rest} s at rest\n")
    print("| program | tag → commit s | tag → applied s | requests at rest | by verb | CPU s | MiB |")
    print("|---|--:|--:|--:|---|--:|--:|")
    for name in ("bumpwright", "Flux"):
        with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
            row(name, options, *World(pathlib.Path(folder), options, name).measured())


def row(name, options, tags, requests, cpu, memory):
    times = [f"{statistics.median(column):.1f} ({max(column):.1f})" for column in zip(*tags)]
    verbs = ", ".join(f"{verb} {count}" for verb, count in sorted(requests.items(), key=lambda one: -one[1]) if count > 0)
    print(f"| {name} | {times[0]} | {times[1]} | {sum(requests.values())} | {verbs} | {cpu:.2f} | {memory:.0f} |", flush=True)


class World:
    """A cluster with the fleet, and the processes that serve it."""

    def __init__(self, folder, options, name):
        self.folder, self.options, self.name = folder, options, name
        self.git, self.registry = Git(folder / "git"), Registry(1)

    def measured(self):
        with Servers(f"cluster={self.definitions()}", f"git={self.git.root}") as servers:
            self.servers, self.server = servers, Server(servers)
            alone = self.at_rest([], self.options.rest / 5)[0]
            processes = list(self.processes())
            try:
                for process in processes:
                    process.start()
                self.fill()
                self.applied = Statuses(servers.cluster, f"{BUILDS}/kustomizations", lambda status: status.get("lastAppliedRevision"))
                self.wait("applied", self.is_applied, processes)
                tags = [self.tag(f"1.{number}.0", processes) for number in range(1, self.options.tags + 1)]
                # What follows a change is not rest.
                time.sleep(15)
                requests, cpu = self.at_rest(processes, self.options.rest)
                requests.subtract({verb: count * 5 for verb, count in alone.items()})
                return tags, +requests, cpu, sum(process.memory("VmRSS") for process in processes)
            finally:
                for process in processes:
                    process.stop()

    def definitions(self):
        """The definitions of all four controllers, in one folder."""
        folder = self.folder / "definitions"
        for part in ("flux-crds", "flux-neighbour-crds"):
            shutil.copytree(tool(part), folder, dirs_exist_ok=True)
        return folder

    def processes(self):
        storage = f"127.0.0.1:{free_port()}"
        served = [f"--storage-addr={storage}", f"--storage-adv-addr={storage}"]
        own = ["--enable-leader-election", "--events-addr=", "--log-level=error"]
        if self.name == "bumpwright":
            folder = self.folder / "ours"
            command = [str(pathlib.Path(self.options.binary).resolve()), "controller"]
            kinds = "--controllers=source,kustomize,image-reflector,image-automation"
            yield Process(folder, command, self.servers.kubeconfig, [kinds, f"--storage-path={folder / 'data'}", *own, *served])
            return
        for name in FLUX:
            folder = self.folder / name
            (folder / "data").mkdir(parents=True)
            flags = served if name == "source-controller" else []
            data = [f"--storage-path={folder / 'data'}"] if name in ("source-controller", "image-reflector-controller") else []
            yield Process(folder, [tool(name)], self.servers.kubeconfig, [*own, *flags, *data])

    def fill(self):
        work = self.folder / "work"
        for number in range(OBJECTS - 1):
            path = work / f"fleet/k{number % KUSTOMIZATIONS}/m{number}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(config_map(f"m{number}", "key: value"))
        image = f'image: {self.registry.host}/app-0:1.0.0 # {{"$imagepolicy": "{NAMESPACE}:app"}}'
        (work / "fleet/k0/web.yaml").write_text(config_map("web", image))
        self.git.publish(work, "fleet")
        self.git.run(self.git.root / "fleet.git", "config", "http.receivepack", "true")
        source = {"kind": "GitRepository", "name": "fleet"}
        self.create(SOURCES, "gitrepositories", "GitRepository", "fleet",
                    {"url": f"{self.servers.git}/fleet.git", "ref": {"branch": "main"}})
        self.create(IMAGES, "imagerepositories", "ImageRepository", "app", {"image": f"{self.registry.host}/app-0", "insecure": True})
        self.create(IMAGES, "imagepolicies", "ImagePolicy", "app",
                    {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": ">=1.0.0"}}})
        self.create(IMAGES, "imageupdateautomations", "ImageUpdateAutomation", "all", {
            "sourceRef": source, "update": {"path": "./fleet"}, "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}})
        for number in range(KUSTOMIZATIONS):
            self.create(BUILDS, "kustomizations", "Kustomization", f"k{number}", {
                "path": f"./fleet/k{number}", "prune": True, "wait": True, "timeout": "1m", "sourceRef": source,
                "dependsOn": [{"name": "k0"}] if number % 2 else []})

    def create(self, root, plural, kind, name, spec):
        # A policy has an interval only for its digests.
        spec = spec if kind == "ImagePolicy" else {"interval": INTERVAL, **spec}
        body = {"apiVersion": root.removeprefix("/apis/"), "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.server.request("POST", f"{root}/namespaces/{NAMESPACE}/{plural}", body)

    def head(self):
        return self.git.run(self.git.root / "fleet.git", "rev-parse", "main")

    def is_applied(self):
        revision = f"main@sha1:{self.head()}"
        return self.applied.all(KUSTOMIZATIONS, lambda applied: applied == revision)

    def tag(self, tag, processes):
        """Seconds until the commit, and until all Kustomizations have applied it."""
        before, began = self.head(), time.time()
        self.registry.tags.append(tag)
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": tag}}}
        self.server.request("PATCH", f"{IMAGES}/namespaces/{NAMESPACE}/imagerepositories/app", patch, MERGE)
        self.wait(f"{tag} committed", lambda: self.head() != before, processes)
        committed = time.time() - began
        self.wait(f"{tag} applied", self.is_applied, processes)
        return committed, time.time() - began

    def at_rest(self, processes, seconds):
        cpu, (_, before) = sum(process.cpu() for process in processes), self.server.counts()
        time.sleep(seconds)
        _, requests = self.server.counts()
        requests.subtract(before)
        return requests, sum(process.cpu() for process in processes) - cpu

    def wait(self, what, is_done, processes, limit=600):
        end = time.time() + limit
        while not is_done():
            ended = [process for process in processes if process.process.poll() is not None]
            if ended or time.time() > end:
                logs = "\n".join((process.folder / "log").read_text()[-2000:] for process in ended or processes)
                sys.exit(f"{self.name}: not {what}\n{logs}")
            time.sleep(0.05)


def config_map(name, data):
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {NAMESPACE}\ndata:\n  {data}\n"


if __name__ == "__main__":
    main()
