#!/usr/bin/env python3
"""Benchmark of sources: the artifact of a large GitRepository, fresh and one commit later, and many GitRepositories with nothing
new, by `bumpwright controller` and beside it by Flux's source-controller (built by tests/tools/prepare).

A real kube-apiserver, etcd and `git http-backend` share the machine; the two controllers run one after the other, each round in
a namespace and a process of its own. Prints a Markdown table of medians: seconds until the artifact is in the status, the
largest memory until then; for many, requests to the Git server, CPU seconds and memory of one look at all of them."""

import argparse
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import fleet
from programs import memory, tool
from servers import Servers

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
COMMIT = ["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--files", type=int, default=16000)
    parser.add_argument("--repositories", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="1,000 files, 20 repositories, one round")
    options = parser.parse_args()
    if options.quick:
        options.files, options.repositories, options.rounds = 1000, 20, 1
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        measure(pathlib.Path(folder), options)


def measure(folder, options):
    git = Git(folder / "git")
    with Servers(f"cluster={tool('flux-crds')}", f"git={git.root}") as servers:
        programs = {"bumpwright": ours(options.binary), "source-controller": [str(tool("source-controller"))]}
        git.large(options.files)
        for number in range(options.repositories):
            git.small(number)
        columns = {name: [] for name in programs}
        # Programs inside, rounds outside: what slows the machine down for a while slows all rows down.
        for number in range(options.rounds):
            for name, command in programs.items():
                columns[name].append(Round(folder, servers, git, f"{name}-{number}", command).measured(options))
        table(options, columns)


def ours(binary):
    return [str(pathlib.Path(binary).resolve()), "controller", "--controllers=source"]


def table(options, columns):
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} at the end, median of {options.rounds}\n")
    many = f"{options.repositories} with nothing new:"
    print(f"| program | {options.files:,} files: fresh s | peak MiB | one commit later s | {many} s | requests | CPU s | MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, rounds in columns.items():
        fresh, peak, later, look, requests, cpu, rest = (statistics.median(column) for column in zip(*rounds))
        print(f"| {name} | {fresh:.2f} | {peak:.0f} | {later:.2f} | {look:.1f} | {requests:.0f} | {cpu:.2f} | {rest:.0f} |")


class Git:
    """Repositories below a folder, which a server has."""

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def run(self, folder, *arguments):
        done = subprocess.run(["git", "-C", str(folder), *COMMIT, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def tried(self, folder, *arguments):
        """Whether it succeeds."""
        return subprocess.run(["git", "-C", str(folder), *COMMIT, *arguments], capture_output=True).returncode == 0

    def publish(self, work, name):
        self.run(work, "init", "--quiet", "--initial-branch=main")
        self.run(work, "add", "--all")
        self.run(work, "commit", "--quiet", "--message=first")
        subprocess.run(["git", "clone", "--quiet", "--bare", str(work), str(self.root / f"{name}.git")], check=True)

    def large(self, files):
        self.work = self.root.parent / "large"
        self.work.mkdir()
        # Four files for each app.
        fleet.write(self.work, files // 4)
        self.publish(self.work, "large")

    def small(self, number):
        work = self.root.parent / "small"
        work.mkdir()
        (work / "a.yaml").write_text(f"number: {number}\n")
        self.publish(work, f"small-{number}")
        shutil.rmtree(work)

    def commit(self):
        """One file of the large repository is another one; gives the commit."""
        path = next(self.work.glob("apps/*/*/configmap.yaml"))
        path.write_text(path.read_text() + f"# {time.time()}\n")
        self.run(self.work, "commit", "--quiet", "--all", "--message=next")
        self.run(self.work, "push", "--quiet", str(self.root / "large.git"), "main")
        return self.head()

    def head(self):
        return self.run(self.work, "rev-parse", "main")


class Round:
    """A controller with a namespace and a storage of its own."""

    def __init__(self, folder, servers, git, name, command):
        self.servers, self.kube, self.git, self.namespace = servers, servers.kube, git, name
        servers.namespace(name)
        self.storage = folder / name
        (self.storage / "tmp").mkdir(parents=True)
        ports = [free_port() for _ in range(3)]
        address = f"127.0.0.1:{ports[0]}"
        flags = [
            "--watch-all-namespaces=false", "--events-addr=", "--log-level=error", f"--storage-path={self.storage}",
            f"--storage-addr={address}", f"--storage-adv-addr={address}", f"--metrics-addr=127.0.0.1:{ports[1]}",
            f"--health-addr=127.0.0.1:{ports[2]}", "--concurrent=4",
        ]
        self.command = [*command, *flags]
        self.env = {**os.environ, "KUBECONFIG": servers.kubeconfig, "RUNTIME_NAMESPACE": name, "TMPDIR": str(self.storage / "tmp"),
                    "HOME": str(self.storage)}
        self.ready = f"http://127.0.0.1:{ports[2]}/readyz"

    def measured(self, options):
        log = open(self.storage / "log", "w")
        self.process = subprocess.Popen(self.command, env=self.env, stdout=log, stderr=log)
        try:
            self.wait(lambda: is_ready(self.ready))
            fresh = self.timed(lambda: self.add("large"), self.git.head())
            peak = self.memory("VmHWM")
            head = self.git.commit()
            later = self.timed(lambda: self.request("large", "later"), head)
            return [fresh, peak, later, *self.many(options.repositories)]
        finally:
            self.process.terminate()
            self.process.wait()

    def many(self, count):
        names = [f"small-{number}" for number in range(count)]
        for name in names:
            self.add(name)
        self.wait(lambda: sum("artifact" in status for status in self.statuses()) == count + 1)
        cpu, requests, began = self.cpu(), self.servers.requests("git"), time.time()
        for name in names:
            self.request(name, "again")
        self.wait(lambda: sum(status.get("lastHandledReconcileAt") == "again" for status in self.statuses()) == count)
        return [time.time() - began, self.servers.requests("git") - requests, self.cpu() - cpu, self.memory("VmRSS")]

    def timed(self, start, head):
        began = time.time()
        start()
        revision = f"main@sha1:{head}"
        self.wait(lambda: self.status("large").get("artifact", {}).get("revision") == revision)
        return time.time() - began

    def add(self, name):
        spec = {"interval": "1h", "timeout": "10m", "url": f"{self.servers.git}/{name}.git", "ref": {"branch": "main"}}
        self.kube.create("GitRepository", self.namespace, name, spec=spec)

    def request(self, name, at):
        self.kube.reconcile("GitRepository", self.namespace, name, at)

    def status(self, name):
        return self.kube.get("GitRepository", self.namespace, name).get("status", {})

    def statuses(self):
        return [item.get("status", {}) for item in self.kube.get("GitRepository", self.namespace)["items"]]

    def wait(self, done, limit=900):
        end = time.time() + limit
        while not done():
            if self.process.poll() is not None or time.time() > end:
                sys.exit(f"{self.namespace}: not done\n" + (self.storage / "log").read_text()[-2000:])
            time.sleep(0.02)

    def memory(self, field):
        return memory(self.process.pid, field)

    def cpu(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_ready(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status == 200
    except OSError:
        return False


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    main()
