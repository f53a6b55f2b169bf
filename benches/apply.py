#!/usr/bin/env python3
"""Benchmark of Kustomizations: first apply, nothing changed, one object in a hundred changed, by `bumpwright controller` and beside
it by Flux's kustomize-controller (built by tests/tools/prepare), from artifacts of the same source-controller.

A real kube-apiserver and etcd share the machine; the two controllers run one after the other, each round in a namespace and a
process of its own. Prints a Markdown table of medians: seconds, CPU seconds of the controller and of the API server, requests
to it (writes of statuses and events among them), and the largest memory."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from programs import memory, tool
from servers import Servers
from sources import PROJECT, Git, free_port, is_ready


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--shapes", type=shape, nargs="*", default=[(1, 100), (1, 500), (1, 2000), (100, 20)],
                        metavar="KxN", help="K Kustomizations of N objects each")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one Kustomization of 100 objects only")
    options = parser.parse_args()
    if options.quick:
        options.shapes = [(1, 100)]
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        measure(pathlib.Path(folder), options)


def shape(text):
    kustomizations, objects = text.split("x")
    return int(kustomizations), int(objects)


def measure(folder, options):
    git = Git(folder / "git")
    with started(folder, git) as servers:
        ours = [str(pathlib.Path(options.binary).resolve()), "controller", "--controllers=kustomize"]
        programs = {"bumpwright": ours, "kustomize-controller": [str(tool("kustomize-controller"))]}
        rows = {}
        for kustomizations, objects in options.shapes:
            # Programs inside, rounds outside: what slows the machine down for a while slows all rows down.
            for number in range(options.rounds):
                for name, command in programs.items():
                    label = f"{kustomizations} × {objects:,}"
                    one = Round(folder, servers, git, f"{name}-{kustomizations}-{objects}-{number}", command, kustomizations, objects)
                    rows.setdefault((label, name), []).append(one.measured())
        table(options, rows)


def started(folder, git):
    """Servers with Flux's own source-controller and definitions of sources, and our definition of the Kustomization."""
    definitions = folder / "crds"
    definitions.mkdir()
    flux = pathlib.Path(tool("flux-crds")).glob("source.*.yaml")
    for file in [*flux, *(PROJECT / "crds").glob("kustomize.*.yaml")]:
        (definitions / file.name).symlink_to(file)
    return Servers(f"cluster={definitions}", f"git={git.root}", f"source-controller={folder / 'source'}")


def table(options, rows):
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end, median of {options.rounds}\n")
    steps = ["first apply", "nothing changed", "1 % changed"]
    heads = [f"{step}: s | CPU s | server CPU s | requests" for step in steps]
    print("| Kustomizations × objects | program | " + " | ".join(heads) + " | peak MiB |")
    print("|--:|---|" + "--:|" * (4 * len(steps) + 1))
    for (label, name), rounds in rows.items():
        columns = [statistics.median(column) for column in zip(*rounds)]
        cells = [f"{value:.0f}" if index % 4 == 3 or index == 12 else f"{value:.2f}" for index, value in enumerate(columns)]
        print(f"| {label} | {name} | " + " | ".join(cells) + " |")


class Round:
    """A controller with a namespace and a repository of its own."""

    def __init__(self, folder, servers, git, name, command, kustomizations, objects):
        self.servers, self.kube, self.git, self.name, self.asked = servers, servers.kube, git, name, 0
        self.names = [f"bench-{number}" for number in range(kustomizations)]
        self.objects = objects
        servers.namespace(name)
        self.work = folder / f"work-{name}"
        for kustomization in self.names:
            (self.work / kustomization).mkdir(parents=True)
            for number in range(objects):
                self.write(kustomization, number, "first")
        git.publish(self.work, name)
        ports = [free_port() for _ in range(2)]
        self.folder = folder / name
        (self.folder / "tmp").mkdir(parents=True)
        self.command = [
            *command, "--watch-all-namespaces=false", "--events-addr=", "--log-level=error",
            f"--metrics-addr=127.0.0.1:{ports[0]}", f"--health-addr=127.0.0.1:{ports[1]}",
        ]
        if "controller" in command:
            self.command.append(f"--storage-path={self.folder}")
        self.env = {**os.environ, "KUBECONFIG": servers.kubeconfig, "RUNTIME_NAMESPACE": name, "TMPDIR": str(self.folder / "tmp")}
        self.ready = f"http://127.0.0.1:{ports[1]}/readyz"

    def write(self, kustomization, number, value):
        name = f"{kustomization}-{number}"
        text = MANIFESTS[number % len(MANIFESTS)].format(name=name, namespace=self.name, value=value)
        (self.work / kustomization / f"{name}.yaml").write_text(text)

    def measured(self):
        self.prepare()
        log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(self.command, env=self.env, stdout=log, stderr=log)
        try:
            self.wait(lambda: is_ready(self.ready))
            figures = [figure for act, is_done in self.steps() for figure in self.step(act, is_done)]
            return [*figures, self.memory("VmHWM")]
        finally:
            self.process.terminate()
            self.process.wait()

    def prepare(self):
        spec = {"interval": "1h", "url": f"{self.servers.git}/{self.name}.git", "ref": {"branch": "main"}}
        self.create("GitRepository", "bench", spec=spec)
        self.wait(lambda: "artifact" in self.statuses("GitRepository")["bench"])

    def steps(self):
        """What is measured: what begins it, and when it is done."""
        yield self.start, self.is_applied
        time.sleep(1)
        yield lambda: self.request("again"), lambda: self.is_handled("again")
        yield self.change, self.is_applied

    def step(self, act, is_done):
        before = [self.cpu(), *self.server()]
        began = time.time()
        act()
        self.wait(is_done)
        took = time.time() - began
        after = [self.cpu(), *self.server()]
        return [took, *(new - old for old, new in zip(before, after))]

    def start(self):
        for name in self.names:
            self.create("Kustomization", name, spec=self.spec(name))

    def spec(self, name):
        return {"interval": "1h", "path": f"./{name}", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "bench"}}

    def change(self):
        """One object in a hundred, in all Kustomizations taken together."""
        places = [(name, number) for name in self.names for number in range(self.objects)]
        for name, number in places[::100]:
            self.write(name, number, "second")
        self.git.run(self.work, "commit", "--quiet", "--all", "--message=next")
        self.git.run(self.work, "push", "--quiet", str(self.git.root / f"{self.name}.git"), "main")
        self.annotate("GitRepository", "bench", "next")

    def create(self, kind, name, **fields):
        self.asked += 1
        self.kube.create(kind, self.name, name, **fields)

    def statuses(self, kind):
        """The status of each object of a kind, in one request."""
        self.asked += 1
        return {item["metadata"]["name"]: item.get("status", {}) for item in self.kube.get(kind, self.name)["items"]}

    def is_applied(self):
        revision = f"main@sha1:{self.git.run(self.work, 'rev-parse', 'main')}"
        return all(status.get("lastAppliedRevision") == revision for status in self.statuses("Kustomization").values())

    def is_handled(self, at):
        return all(status.get("lastHandledReconcileAt") == at for status in self.statuses("Kustomization").values())

    def request(self, at):
        for name in self.names:
            self.annotate("Kustomization", name, at)

    def annotate(self, kind, name, at):
        self.asked += 1
        self.kube.reconcile(kind, self.name, name, at)

    def server(self):
        """CPU seconds of the API server, and requests to it without those of this benchmark."""
        self.asked += 1
        series = [line.rsplit(" ", 1) for line in self.kube.request("GET", "/metrics").decode().splitlines()]
        cpu = next(float(value) for name, value in series if name == "process_cpu_seconds_total")
        requests = sum(float(value) for name, value in series if name.startswith("apiserver_request_total{"))
        return cpu, requests - self.asked

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, field):
        return memory(self.process.pid, field)

    def wait(self, is_done):
        end = time.time() + 600
        while not is_done():
            if time.time() > end or (getattr(self, "process", None) and self.process.poll() is not None):
                sys.exit(f"{self.name}: gave up; see {self.folder}/log")
            time.sleep(0.05)


MANIFESTS = [
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {namespace}\ndata:\n  key: {value}\n",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  annotations:\n    value: {value}\n"
    "spec:\n  selector:\n    app: {name}\n  ports:\n  - name: http\n    port: 80\n    protocol: TCP\n    targetPort: 8080\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  annotations:\n    value: {value}\n"
    "spec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n      labels:\n        app: {name}\n"
    "    spec:\n      containers:\n      - name: app\n        image: ghcr.io/acme/app:1.0.0\n        ports:\n        - containerPort: 8080\n          protocol: TCP\n",
    "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  annotations:\n    value: {value}\n",
]


if __name__ == "__main__":
    main()
