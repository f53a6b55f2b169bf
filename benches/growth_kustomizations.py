"""Kustomizations by the hundred and by the thousand: first apply, nothing changed, a commit that touches one object in a hundred, a
restart, one applied object in a hundred deleted by hand, one Kustomization in a hundred deleted.

Each namespace has one source and its Kustomizations; the archives are served from memory, so that only the applying is measured.
Every size and program has an API server of its own."""

import functools
import hashlib
import http.server
import io
import pathlib
import tarfile
import threading

import apply
from measured import Measuring, Process, Server, Statuses, is_ready_status
from programs import tool
from servers import Servers

# Without addresses, whose allocation takes the API server longer than anything else.
MANIFESTS = [text.replace("spec:\n  selector:\n    app: {name}\n  ports", "spec:\n  clusterIP: None\n  selector:\n    app: {name}\n  ports")
             for text in apply.MANIFESTS]
PROJECT = pathlib.Path(__file__).resolve().parent.parent
GIT_REPOSITORIES = "/apis/source.toolkit.fluxcd.io/v1"
KUSTOMIZATIONS = "/apis/kustomize.toolkit.fluxcd.io/v1"
MERGE = "application/merge-patch+json"
COLLECTIONS = ["/api/v1/namespaces/{}/configmaps", "/api/v1/namespaces/{}/services", "/apis/apps/v1/namespaces/{}/deployments",
               "/api/v1/namespaces/{}/serviceaccounts"]


def measured(folder, options, program, count):
    """The phases of a program with so many Kustomizations."""
    definitions = folder / "crds"
    definitions.mkdir(parents=True)
    flux = pathlib.Path(tool("flux-crds")).glob("source.*.yaml")
    for file in [*flux, *(PROJECT / "crds").glob("kustomize.*.yaml")]:
        (definitions / file.name).symlink_to(file)
    with Servers(f"cluster={definitions}") as servers:
        return World(folder, servers, options, count).measured(program)


class World:
    def __init__(self, folder, servers, options, count):
        self.folder, self.servers, self.server, self.options = folder, servers, Server(servers), options
        self.names = [(f"team-{number // options.per_namespace}", f"app-{number}") for number in range(count)]
        self.namespaces = sorted({namespace for namespace, _ in self.names})
        self.archives = Archives()
        self.values, self.revision = {}, 0
        for namespace in self.namespaces:
            servers.namespace(namespace)
        self.publish("POST")
        self.statuses = Statuses(servers.cluster, f"{KUSTOMIZATIONS}/kustomizations", picked)

    def measured(self, program):
        command, flags = program
        flags = [flag.format(storage=self.folder / "data") for flag in flags]
        process = Process(self.folder / "process", command, self.servers.kubeconfig, ["--events-addr=", "--log-level=error", *flags])
        process.start()
        measuring = Measuring(self.server, process, self.options.rest)
        count = len(self.names)
        try:
            measuring.phase("first apply", self.create, lambda: self.is_applied(count))
            measuring.phase("nothing changed", lambda: self.request("a"), lambda: self.is_handled("a"))
            measuring.phase("1 % changed", self.change, lambda: self.is_applied(count))
            turns = dict(self.statuses.known)
            is_done = lambda: all(status["turns"] > turns[name]["turns"] for name, status in list(self.statuses.known.items()))
            measuring.phase("restart", process.start, is_done, starts=True)
            measuring.phase("1 % of objects deleted", self.remove_objects, lambda: self.is_handled("b") and self.has_objects())
            gone = self.names[:: 100]
            measuring.phase("1 % deleted", lambda: self.delete(gone), lambda: len(self.statuses.known) == count - len(gone))
            return measuring.phases
        finally:
            process.stop()

    def manifest(self, namespace, name, number):
        value = self.values.get((name, number), "first")
        return MANIFESTS[number % len(MANIFESTS)].format(name=f"{name}-{number}", namespace=namespace, value=value)

    def publish(self, method):
        """A revision of each namespace's source."""
        self.revision += 1
        revision = f"main@sha1:{self.revision:040x}"
        spec = {"interval": "1h", "url": "https://git.example.com/fleet.git", "ref": {"branch": "main"}}
        body = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "fleet"}, "spec": spec}
        artifacts = {}
        for namespace in self.namespaces:
            names = [name for own, name in self.names if own == namespace]
            files = {f"{name}/{number}.yaml": self.manifest(namespace, name, number)
                     for name in names for number in range(self.options.objects)}
            artifacts[namespace] = self.archives.put(f"{namespace}-{self.revision}.tar.gz", files, revision)
        if method == "POST":
            self.server.all((method, f"{GIT_REPOSITORIES}/namespaces/{namespace}/gitrepositories", body) for namespace in self.namespaces)
        patches = (("PATCH", f"{GIT_REPOSITORIES}/namespaces/{namespace}/gitrepositories/fleet/status", {"status": {"artifact": artifact}}, MERGE)
                   for namespace, artifact in artifacts.items())
        self.server.all(patches)

    def create(self):
        def body(name):
            spec = {"interval": "1h", "retryInterval": "30s", "path": f"./{name}", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}}
            return {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}, "spec": spec}
        self.server.all(("POST", f"{KUSTOMIZATIONS}/namespaces/{namespace}/kustomizations", body(name)) for namespace, name in self.names)

    def change(self):
        places = [(name, number) for _, name in self.names for number in range(self.options.objects)]
        self.values.update({place: "second" for place in places[::100]})
        self.publish("PATCH")

    def remove_objects(self):
        self.server.all(("DELETE", path) for path in self.hundredth())
        self.request("b")

    def hundredth(self):
        places = [(namespace, name, number) for namespace, name in self.names for number in range(self.options.objects)]
        return [f"{COLLECTIONS[number % len(COLLECTIONS)].format(namespace)}/{name}-{number}" for namespace, name, number in places[::100]]

    def has_objects(self):
        # It ends the process otherwise.
        self.server.all(("GET", path) for path in self.hundredth())
        return True

    def request(self, at):
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}
        self.server.all(("PATCH", path, patch, MERGE) for path in map(self.path, self.names))

    def delete(self, names):
        self.server.all(("DELETE", self.path(name)) for name in names)

    def path(self, name):
        return f"{KUSTOMIZATIONS}/namespaces/{name[0]}/kustomizations/{name[1]}"

    def is_applied(self, count):
        revision = f"main@sha1:{self.revision:040x}"
        return self.statuses.all(count, lambda status: status["applied"] == revision and status["ready"])

    def is_handled(self, at):
        return self.statuses.all(len(self.names), lambda status: status["handled"] == at)


def picked(status):
    return {"applied": status.get("lastAppliedRevision"), "handled": status.get("lastHandledReconcileAt"), "ready": is_ready_status(status),
            "turns": sum(entry.get("totalReconciliations", 0) for entry in status.get("history", []))}


class Archives:
    """Archives in memory, and their server."""

    def __init__(self):
        self.files = {}
        handler = functools.partial(Handler, self.files)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_port}"

    def put(self, path, files, revision):
        """The artifact of these files."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
            for name, text in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        bytes_ = out.getvalue()
        self.files[f"/{path}"] = bytes_
        return {"path": path, "url": f"{self.address}/{path}", "revision": revision, "size": len(bytes_),
                "digest": f"sha256:{hashlib.sha256(bytes_).hexdigest()}", "lastUpdateTime": "2026-01-02T03:04:05Z"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, files, *arguments):
        self.files = files
        super().__init__(*arguments)

    def do_GET(self):
        body = self.files.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def do_HEAD(self):
        self.send_response(200 if self.path in self.files else 404)
        self.send_header("Content-Length", str(len(self.files.get(self.path, b""))))
        self.end_headers()

    def log_message(self, *_):
        pass
