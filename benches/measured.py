"""A controller that is measured beside an API server: its CPU and memory, the server's CPU and requests by verb, and the statuses of
objects as a watch tells them, so that waiting for them costs next to nothing."""

import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

from programs import memory
from servers import Kube
from sources import free_port, is_ready

# Requests of many at a time, as several people would send them.
CLIENTS = 4


class Process:
    """A controller, with a folder for its storage; it may be stopped and started again."""

    def __init__(self, folder, command, kubeconfig, flags):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        self.folder, self.command, self.flags = folder, command, flags
        self.env = {**os.environ, "KUBECONFIG": str(kubeconfig), "RUNTIME_NAMESPACE": "flux-system", "TMPDIR": str(folder / "tmp"),
                    "HOME": str(folder)}
        self.process = None

    def start(self):
        ports = [free_port() for _ in range(2)]
        addresses = [f"--metrics-addr=127.0.0.1:{ports[0]}", f"--health-addr=127.0.0.1:{ports[1]}"]
        log = open(self.folder / "log", "a")
        self.process = subprocess.Popen([*self.command, *self.flags, *addresses], env=self.env, stdout=log, stderr=log)
        self.metrics, self.ready = (f"http://127.0.0.1:{port}" for port in ports)
        self.wait("started", lambda: is_ready(f"{self.ready}/readyz"))

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def wait(self, what, is_done, limit=7200):
        end = time.time() + limit
        while not is_done():
            if self.process.poll() is not None or time.time() > end:
                sys.exit(f"not {what}: {self.folder}/log ends with\n" + (self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def cpu(self):
        """Seconds, of itself and of programs that it has run."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def memory(self, field):
        return memory(self.process.pid, field)

    def forget_peak(self):
        """The peak from now on; without rights it is the one since the start."""
        try:
            pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        except OSError:
            pass


class Server:
    """The API server: its CPU seconds and its requests by verb, without those of this benchmark."""

    LINE = re.compile(r'^apiserver_request_total\{(.*)\} (\S+)$', re.M)

    def __init__(self, servers):
        self.servers, self.kube, self.own = servers, servers.kube, collections.Counter()
        self.clients = threading.local()

    def request(self, method, path, body=None, kind="application/json"):
        verb = {"GET": "GET", "POST": "POST", "DELETE": "DELETE"}.get(method, "PATCH")
        self.own[verb] += 1
        # A connection for each thread.
        if not hasattr(self.clients, "kube"):
            self.clients.kube = Kube(self.servers.cluster)
        return self.clients.kube.request(method, path, body, kind)

    def all(self, requests):
        """Sends requests, some at a time."""
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda one: self.request(*one), requests))

    def counts(self):
        text = self.request("GET", "/metrics").decode()
        cpu = float(re.search(r"^process_cpu_seconds_total (\S+)$", text, re.M)[1])
        requests = collections.Counter()
        for labels, value in self.LINE.findall(text):
            verb, dry_run = (re.search(rf'\b{name}="([^"]*)"', labels)[1] for name in ("verb", "dry_run"))
            if verb != "WATCH":
                requests["DRY-RUN" if dry_run else verb] += int(float(value))
        requests.subtract(self.own)
        return cpu, requests


class Statuses(threading.Thread):
    """What `picked` takes of the status of each object of a kind, by namespace and name, as a watch tells it."""

    def __init__(self, cluster, path, picked):
        super().__init__(daemon=True)
        self.cluster, self.path, self.picked, self.known, self.changes = cluster, path, picked, {}, 0
        self.start()

    def run(self):
        trust = ssl.create_default_context(cadata=self.cluster["ca"])
        while True:
            try:
                connection = http.client.HTTPSConnection(urllib.parse.urlsplit(self.cluster["url"]).netloc, context=trust)
                connection.request("GET", f"{self.path}?watch=1", headers={"Authorization": f"Bearer {self.cluster['token']}"})
                answer = connection.getresponse()
                while line := answer.readline():
                    self.take(json.loads(line))
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.2)

    def take(self, event):
        metadata = event["object"].get("metadata", {})
        if "name" not in metadata:
            return
        name = (metadata["namespace"], metadata["name"])
        if event["type"] == "DELETED":
            self.known.pop(name, None)
        else:
            self.known[name] = self.picked(event["object"].get("status", {}))
        self.changes += 1

    def all(self, count, is_so):
        """Whether there are so many, and it is so for each."""
        known = list(self.known.values())
        return len(known) >= count and all(map(is_so, known))


def is_ready_status(status):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))


class Phase:
    """The costs of one phase."""

    def __init__(self, name, seconds, cpu, server_cpu, requests, peak, rest):
        self.name, self.seconds, self.cpu, self.server_cpu, self.requests = name, seconds, cpu, server_cpu, requests
        self.peak, self.rest = peak, rest

    def total(self):
        return sum(self.requests.values())


class Measuring:
    """Measures phases of a process."""

    def __init__(self, server, process, rest, other=None):
        """`other` counts requests to another server, by its name."""
        self.server, self.process, self.rest, self.phases = server, process, rest, []
        self.other = other or collections.Counter

    def phase(self, name, act, is_done, starts=False, rests=True):
        """`act` begins it, until `is_done`; `starts`: it starts the process anew."""
        if starts and self.process.process:
            self.process.stop()
        before, other, own = self.server.counts(), self.other(), 0.0
        if not starts:
            self.process.forget_peak()
            own = self.process.cpu()
        began = time.time()
        act()
        self.process.wait(name, is_done)
        took, cpu = time.time() - began, self.process.cpu() - own
        peak = self.process.memory("VmHWM")
        if rests:
            time.sleep(self.rest)
        after = self.server.counts()
        requests = after[1]
        requests.subtract(before[1])
        self.phases.append(Phase(name, took, cpu, after[0] - before[0], +requests, peak, self.process.memory("VmRSS")))
        self.phases[-1].other = self.other() - other
        print(f"  {name}: {took:.1f} s, CPU {cpu:.1f} s", file=sys.stderr, flush=True)
