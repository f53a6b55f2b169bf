"""Image automation by the thousand: repositories of Git with automations each, policies, image repositories with a thousand tags each.
From nothing until all is ready, a scan of all, a new tag of one image in a hundred until its commits have landed, a restart; and many
automations on one branch.

The registry is a list of tags in memory; Git is `git http-backend`."""

import collections
import functools
import http.server
import json
import pathlib
import subprocess
import threading
import urllib.parse

from measured import Measuring, Process, Server, Statuses, is_ready_status
from servers import Servers
from sources import COMMIT

PROJECT = pathlib.Path(__file__).resolve().parent.parent
IMAGES, SOURCES = "/apis/image.toolkit.fluxcd.io/v1", "/apis/source.toolkit.fluxcd.io/v1"
MERGE = "application/merge-patch+json"


def measured(folder, options, program, shape):
    """The phases with so many Git repositories, automations, policies (as many image repositories) and tags of each."""
    git = folder / "git"
    git.mkdir(parents=True)
    with Servers(f"cluster={PROJECT / 'crds'}", f"git={git}") as servers:
        return World(folder, servers, options, shape).measured(program)


class World:
    def __init__(self, folder, servers, options, shape):
        self.folder, self.servers, self.server, self.options = folder, servers, Server(servers), options
        self.repositories, self.automations, self.policies, tags = shape
        self.registry = Registry(tags)
        self.cluster = servers.cluster
        for namespace in range(self.repositories):
            servers.namespace(f"team-{namespace}")
            self.repository(namespace)
        watched = lambda plural, picked: Statuses(self.cluster, f"{IMAGES}/{plural}", picked)
        self.scans = watched("imagerepositories", lambda status: (is_ready_status(status), status.get("lastHandledReconcileAt"),
                                                                  status.get("lastScanResult", {}).get("scanTime")))
        self.choices = watched("imagepolicies", lambda status: (is_ready_status(status), status.get("latestRef", {}).get("tag")))
        self.runs = watched("imageupdateautomations", lambda status: (is_ready_status(status), status.get("lastAutomationRunTime"),
                                                                      status.get("lastHandledReconcileAt")))

    def of(self, count, namespace):
        """Those of so many that are of this namespace."""
        return range(namespace, count, self.repositories)

    def repository(self, namespace):
        """Each automation has a folder with the fields of its policies."""
        bare, stream = self.folder / f"git/team-{namespace}.git", []
        automations = list(self.of(self.automations, namespace))
        for place, policy in enumerate(self.of(self.policies, namespace)):
            text = f'image: {self.registry.host}/app-{policy}:1.0.0 # {{"$imagepolicy": "team-{namespace}:p{policy}"}}\n'
            own = automations[place % len(automations)] if automations else 0
            stream.append(f"M 100644 inline a{own}/p{policy}.yaml\ndata {len(text)}\n{text}")
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
        subprocess.run(["git", "-C", str(bare), "config", "http.receivepack", "true"], check=True)
        head = "commit refs/heads/main\ncommitter bench <bench@example.com> 1767225600 +0000\ndata 5\nfirst\n"
        subprocess.run(["git", "-C", str(bare), *COMMIT, "fast-import", "--quiet"], input=(head + "".join(stream)).encode(), check=True)

    def measured(self, program):
        command, flags = program
        flags = [flag.format(storage=self.folder / "data") for flag in flags]
        process = Process(self.folder / "process", command, self.servers.kubeconfig, ["--events-addr=", "--log-level=error", *flags])
        process.start()
        measuring = Measuring(self.server, process, self.options.rest, self.other)
        try:
            measuring.phase("all ready", self.create, self.is_ready)
            measuring.phase("a scan of all", lambda: self.request("imagerepositories", self.policies, "app", "a"),
                            lambda: self.scans.all(self.policies, lambda status: status[1] == "a"))
            self.registry.new.update(range(0, self.policies, 100))
            measuring.phase("1 % new tags", self.scan_new, self.is_landed)
            turns = measuring.process
            measuring.phase("restart", process.start, lambda: restarted(turns, self.automations), starts=True)
            return measuring.phases
        finally:
            process.stop()

    def other(self):
        return collections.Counter(git=self.servers.requests("git"), registry=self.registry.asked)

    def create(self):
        self.server.all(self.objects())

    def objects(self):
        for namespace in range(self.repositories):
            url = f"{self.servers.git}/team-{namespace}.git"
            yield self.object(SOURCES, "GitRepository", namespace, "fleet", {"interval": "1h", "url": url, "ref": {"branch": "main"}})
            for number in self.of(self.policies, namespace):
                image = f"{self.registry.host}/app-{number}"
                yield self.object(IMAGES, "ImageRepository", namespace, f"app-{number}", {"image": image, "interval": "1h", "insecure": True})
                policy = {"imageRepositoryRef": {"name": f"app-{number}"}, "policy": {"semver": {"range": ">=1.0.0"}}}
                yield self.object(IMAGES, "ImagePolicy", namespace, f"p{number}", policy)
            for number in self.of(self.automations, namespace):
                yield self.object(IMAGES, "ImageUpdateAutomation", namespace, f"a{number}", {
                    "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "update": {"path": f"./a{number}"},
                    "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}})

    def object(self, root, kind, namespace, name, spec):
        version, plural = root.removeprefix("/apis/"), kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
        return "POST", f"{root}/namespaces/team-{namespace}/{plural}", body

    def request(self, plural, count, prefix, at, step=1):
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}
        self.server.all(("PATCH", f"{IMAGES}/namespaces/team-{number % self.repositories}/{plural}/{prefix}-{number}", patch, MERGE)
                        for number in range(0, count, step))

    def scan_new(self):
        self.request("imagerepositories", self.policies, "app", "b", step=100)

    def is_ready(self):
        ready = lambda status: status[0]
        parts = [(self.scans, self.policies), (self.choices, self.policies), (self.runs, self.automations)]
        return all(part.all(count, ready) for part, count in parts) and self.has(self.registry.newest())

    def is_landed(self):
        return self.has("2.0.0", step=100)

    def has(self, tag, step=1):
        """Whether the branches have this tag in the fields of these policies; asked of those that did not have it before."""
        missing = getattr(self, "missing", {}).get((tag, step))
        missing = set(range(0, self.policies, step)) if missing is None else missing
        for namespace in {number % self.repositories for number in missing}:
            bare = self.folder / f"git/team-{namespace}.git"
            found = subprocess.run(["git", "-C", str(bare), "grep", "-h", "-F", f":{tag} ", "main"], capture_output=True, text=True)
            missing -= {int(line.split("/app-")[1].split(":")[0]) for line in found.stdout.splitlines()}
        self.missing = {(tag, step): missing}
        return not missing


def restarted(process, automations):
    """Whether each automation has had its first run since the start, by the metrics: its status need not change."""
    import urllib.request
    import time
    time.sleep(0.5)
    text = urllib.request.urlopen(f"{process.metrics}/metrics").read().decode()
    lines = (line for line in text.splitlines() if line.startswith('gotk_reconcile_duration_seconds_count{kind="ImageUpdateAutomation"'))
    return sum(1 for line in lines if float(line.rsplit(" ", 1)[1]) > 0) >= automations


class Registry:
    """A registry with so many tags of each repository; those of `new` have one more."""

    def __init__(self, tags):
        self.asked, self.tags, self.new = 0, [f"1.{number // 100}.{number % 100}" for number in range(tags)], set()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{server.server_port}"

    def newest(self):
        return self.tags[-1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits for the acknowledgement of its head.
    wbufsize = 1 << 16

    def __init__(self, registry, *arguments):
        self.registry = registry
        super().__init__(*arguments)

    def do_GET(self):
        self.registry.asked += 1
        path = urllib.parse.urlsplit(self.path).path
        body, status = b"{}", 200
        if path.endswith("/tags/list"):
            name = path.removeprefix("/v2/").removesuffix("/tags/list")
            tags = self.registry.tags + (["2.0.0"] if int(name.removeprefix("app-")) in self.registry.new else [])
            body = json.dumps({"name": name, "tags": tags}).encode()
        elif path != "/v2/":
            status = 404
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
