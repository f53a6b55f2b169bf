"""GitRepositories by the hundred, from nothing until all have an artifact, with nothing new, a commit in one of a hundred, a restart;
and one with very many commits and files. With several servers the repositories are dealt to as many addresses."""

import asyncio
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import urllib.parse

from measured import Measuring, Process, Server, Statuses
from programs import tool
from servers import Servers
from sources import COMMIT, free_port

ROOT = "/apis/source.toolkit.fluxcd.io/v1"
MERGE = "application/merge-patch+json"


def measured(folder, options, program, shape):
    """The phases with so many small repositories, and one with so many commits and files if there are any."""
    (folder / "git").mkdir(parents=True)
    with Servers(f"cluster={tool('flux-crds')}", f"git={folder / 'git'}") as servers:
        return World(folder, servers, options, shape).measured(program)


class World:
    def __init__(self, folder, servers, options, shape):
        self.folder, self.servers, self.server, self.options = folder, servers, Server(servers), options
        self.small, commits, files = shape
        self.names = [f"small-{number}" for number in range(self.small)]
        self.hosts = Hosts(servers.git, options.servers).urls if options.servers > 1 else [servers.git]
        for name in self.names:
            self.write(name, stream(1, 20, options.bytes))
        if commits:
            self.names.append("large")
            self.write("large", stream(commits, files))
        servers.namespace("bench")
        self.statuses = Statuses(servers.cluster, f"{ROOT}/gitrepositories", lambda status: (
            status.get("artifact", {}).get("revision"), status.get("lastHandledReconcileAt")))

    def write(self, name, commits):
        bare = self.folder / f"git/{name}.git"
        if not bare.exists():
            subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
        # What does not compress is not tried to, and goes into a pack as it comes.
        quick = ["-c", "core.compression=0", "-c", "fastimport.unpackLimit=0"] if self.options.bytes else []
        importing = subprocess.Popen(["git", "-C", str(bare), *COMMIT, *quick, "fast-import", "--quiet"], stdin=subprocess.PIPE)
        for part in commits:
            importing.stdin.write(part)
        importing.stdin.close()
        if importing.wait():
            raise SystemExit(f"{bare}: fast-import has failed")

    def measured(self, program):
        command, flags = program
        address = f"127.0.0.1:{free_port()}"
        flags = [*(flag.format(storage=self.folder / "data") for flag in flags), f"--storage-addr={address}", f"--storage-adv-addr={address}"]
        (self.folder / "data").mkdir()
        process = Process(self.folder / "process", command, self.servers.kubeconfig, ["--events-addr=", "--log-level=error", *flags])
        process.start()
        measuring = Measuring(self.server, process, self.options.rest, self.other)
        try:
            measuring.phase("all have artifacts", self.create, lambda: self.is_at_heads(self.names))
            measuring.phase("nothing new", lambda: self.request(self.names, "a"), lambda: self.is_handled(self.names, "a"))
            changed = self.names[::100] + self.names[-1:]
            for name in set(changed):
                self.write(name, later(name))
            measuring.phase("1 % changed", lambda: self.request(changed, "b"), lambda: self.is_at_heads(changed))
            if self.options.bytes:
                self.retain(measuring)
            measuring.phase("restart", process.start, lambda: reconciled(process, len(self.names)), starts=True)
            return measuring.phases
        finally:
            process.stop()

    def retain(self, measuring):
        """Revision after revision of artifacts that do not compress, each in a new history: what stays of them is bounded by the retention."""
        for number in range(3):
            for name in self.names:
                shutil.rmtree(self.folder / f"git/{name}.git")
                self.write(name, stream(1, 20, self.options.bytes))
            measuring.phase(f"all changed, {number + 1}", lambda at=f"c{number}": self.request(self.names, at), lambda: self.is_at_heads(self.names))
            files = [path.stat() for path in (self.folder / "data").rglob("*.tar.gz")]
            print(f"  {len(files)} artifacts at rest, {sum(file.st_size for file in files) >> 20} MiB", file=sys.stderr, flush=True)

    def other(self):
        return collections.Counter(git=self.servers.requests("git"))

    def create(self):
        def body(name):
            spec = {"interval": "1h", "timeout": "30m", "url": f"{self.host(name)}/{name}.git", "ref": {"branch": "main"}}
            return {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name}, "spec": spec}
        self.server.all(("POST", f"{ROOT}/namespaces/bench/gitrepositories", body(name)) for name in self.names)

    def host(self, name):
        return self.hosts[self.names.index(name) % len(self.hosts)]

    def request(self, names, at):
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}
        self.server.all(("PATCH", f"{ROOT}/namespaces/bench/gitrepositories/{name}", patch, MERGE) for name in names)

    def is_at_heads(self, names):
        known = self.statuses.known
        return all((known.get(("bench", name)) or [None])[0] == f"main@sha1:{self.head(name)}" for name in names)

    def is_handled(self, names, at):
        return all(self.statuses.known[("bench", name)][1] == at for name in names)

    def head(self, name):
        return pathlib.Path(self.folder / f"git/{name}.git/refs/heads/main").read_text().strip()


class Hosts:
    """Addresses of this machine that all lead to one server."""

    def __init__(self, url, count):
        server = urllib.parse.urlsplit(url)
        self.place, self.path, self.urls = (server.hostname, server.port), server.path, []
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(count, ready)), daemon=True).start()
        ready.wait()

    async def serve(self, count, ready):
        for number in range(count):
            listening = await asyncio.start_server(self.forward, f"127.0.1.{number + 1}", 0)
            address, port = listening.sockets[0].getsockname()
            self.urls.append(f"http://{address}:{port}{self.path}")
        ready.set()
        await asyncio.Event().wait()

    async def forward(self, reader, writer):
        try:
            inner = await asyncio.open_connection(*self.place)
            await asyncio.gather(self.copy(reader, inner[1]), self.copy(inner[0], writer))
        except OSError:
            writer.close()

    @staticmethod
    async def copy(reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()


def reconciled(process, count):
    import time
    import urllib.request
    time.sleep(0.5)
    text = urllib.request.urlopen(f"{process.metrics}/metrics").read().decode()
    lines = (line for line in text.splitlines() if line.startswith('gotk_reconcile_duration_seconds_count{kind="GitRepository"'))
    return sum(1 for line in lines if float(line.rsplit(" ", 1)[1]) > 0) >= count


def head_of(number, parent=""):
    return f"commit refs/heads/main\ncommitter bench <bench@example.com> {1767225600 + number} +0000\ndata 4\nmore\n{parent}".encode()


def stream(commits, files, random=0):
    """All files in the first commit, one of random bytes among them, then a change of one in each."""
    yield head_of(0) + noise(random)
    for number in range(files):
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{number}\ndata:\n  key: first\n"
        yield f"M 100644 inline apps/{number // 1000}/{number % 1000 // 20}/{number}.yaml\ndata {len(text)}\n{text}".encode()
    for commit in range(1, commits):
        number, text = commit * 7919 % files, f"key: {commit}\n"
        yield head_of(commit) + f"M 100644 inline apps/{number // 1000}/{number % 1000 // 20}/{number}.yaml\ndata {len(text)}\n{text}".encode()


def later(name):
    text = f"of: {name}\n"
    yield head_of(10_000_000, "from refs/heads/main^0\n") + f"M 100644 inline apps/0/0/0.yaml\ndata {len(text)}\n{text}".encode()


def noise(random):
    return f"M 100644 inline noise\ndata {random}\n".encode() + os.urandom(random) if random else b""
