"""Servers for the benchmarks, started by the code that starts those of the tests (crates/app/testkit/src/bin/servers.rs), and a
client of the API server."""

import http.client
import json
import ssl
import subprocess
import sys
import urllib.parse

from programs import binary

PATHS = {
    "GitRepository": ("/apis/source.toolkit.fluxcd.io/v1", "gitrepositories"),
    "Kustomization": ("/apis/kustomize.toolkit.fluxcd.io/v1", "kustomizations"),
    "Secret": ("/api/v1", "secrets"),
}


class Servers:
    """Those that are wanted, such as `git=FOLDER`; they run until `stop`, or as long as this process."""

    def __init__(self, *wanted):
        command = [binary("servers"), *wanted]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started = self.answer()
        self.git, self.registry = started["git"], started["registry"]
        if cluster := started["cluster"]:
            self.cluster, self.kube, self.kubeconfig = cluster, Kube(cluster), cluster["kubeconfig"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
            # What is missing.
            print(line, end="", file=sys.stderr)
        sys.exit("the servers have ended")

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def requests(self, server):
        """Requests to `git` or `registry` so far."""
        return self.order("")[server]

    def tags(self, repository, tags):
        """Tags of one small image in the registry."""
        self.order(json.dumps({"repository": repository, "tags": tags}))

    def namespace(self, name):
        self.kube.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


class Kube:
    """A client that sends one request each time it is called."""

    def __init__(self, cluster):
        trust = ssl.create_default_context(cadata=cluster["ca"])
        self.connection = http.client.HTTPSConnection(urllib.parse.urlsplit(cluster["url"]).netloc, context=trust, timeout=60)
        self.token = cluster["token"]

    def request(self, method, path, body=None, kind="application/json"):
        """The body of the answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        for is_last in (False, True):
            try:
                self.connection.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body), headers)
                answer = self.connection.getresponse()
                break
            except (OSError, http.client.HTTPException):
                # The server closes a connection that was idle for long.
                self.connection.close()
                if is_last:
                    raise
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {text.decode()}")
        return text

    def path(self, kind, namespace, name=""):
        root, plural = PATHS[kind]
        return f"{root}/namespaces/{namespace}/{plural}/{name}".rstrip("/")

    def get(self, kind, namespace, name=""):
        """An object, or a list of all."""
        return json.loads(self.request("GET", self.path(kind, namespace, name)))

    def create(self, kind, namespace, name, **fields):
        root, _ = PATHS[kind]
        version = root.removeprefix("/apis/").removeprefix("/api/")
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}
        self.request("POST", self.path(kind, namespace), body)

    def reconcile(self, kind, namespace, name, at):
        """Asks its controller for a reconciliation."""
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}
        self.request("PATCH", self.path(kind, namespace, name), patch, "application/merge-patch+json")
