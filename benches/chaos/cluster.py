"""etcd and kube-apiserver, which can be killed, stopped and filled, and a client that lives with that."""

import base64
import http.client
import json
import pathlib
import ssl
import threading
import time

from chaos.world import Authority, Program, disk, free_port
from programs import tool

ADMIN = "chaos-admin"
#: Each process of the controller is another user, so that the audit log tells them apart.
PROCESSES = 2000
GROUPS = {"source": "source.toolkit.fluxcd.io", "image": "image.toolkit.fluxcd.io", "kustomize": "kustomize.toolkit.fluxcd.io"}
KINDS = {
    "Namespace": ("/api/v1", "namespaces"), "Secret": ("/api/v1", "secrets"), "ConfigMap": ("/api/v1", "configmaps"),
    "Event": ("/api/v1", "events"), "Deployment": ("/apis/apps/v1", "deployments"),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "GitRepository": (f"/apis/{GROUPS['source']}/v1", "gitrepositories"),
    "ImageRepository": (f"/apis/{GROUPS['image']}/v1", "imagerepositories"),
    "ImagePolicy": (f"/apis/{GROUPS['image']}/v1", "imagepolicies"),
    "ImageUpdateAutomation": (f"/apis/{GROUPS['image']}/v1", "imageupdateautomations"),
    "Kustomization": (f"/apis/{GROUPS['kustomize']}/v1", "kustomizations"),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
    {"level": "None", "verbs": ["get", "list", "watch"]},
    {"level": "Request", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
    {"level": "Metadata", "userGroups": ["replicas"]},
    {"level": "None"}]}


class Unavailable(Exception):
    """The API server did not do it; maybe later."""


class Cluster:
    def __init__(self, folder):
        self.folder = folder / "cluster"
        self.disk = disk(self.folder / "etcd", "1G")
        self.authority = Authority(self.folder / "tls", "localhost")
        self.client, peer, self.port = free_port(), free_port(), free_port()
        self.url, self.audit = f"https://localhost:{self.port}", self.folder / "audit.log"
        lines = [f"{ADMIN},admin,admin,system:masters"]
        lines += [f'process-{n:04},process-{n:04},process-{n:04},"system:masters,replicas"' for n in range(PROCESSES)]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "audit.json").write_text(json.dumps(AUDIT))
        self.etcd = Program([tool("etcd"), *etcd(self.client, peer)], self.folder / "etcd.log", self.folder)
        arguments = apiserver(self.client, self.port, self.authority)
        self.server = Program([tool("kube-apiserver"), *arguments], self.folder / "apiserver.log", self.folder)
        self.local = threading.local()
        self.trust = ssl.create_default_context(cadata=self.authority.ca)

    def start(self):
        self.etcd.start()
        self.server.start()
        self.wait(300)

    def wait(self, seconds):
        """Until it answers; starts again what has ended of itself."""
        end = time.time() + seconds
        while not self.answers():
            self.tend()
            if time.time() > end:
                raise SystemExit(f"the API server does not start; see {self.folder}")
            time.sleep(0.3)

    def tend(self):
        """Starts what has ended: kube-apiserver exits when it cannot reach etcd at its start."""
        for program in (self.etcd, self.server):
            if not program.runs():
                program.start()

    def answers(self):
        try:
            return self.call("GET", "/readyz")[0] == 200 and self.call("GET", "/api/v1/namespaces/default")[0] == 200
        except Unavailable:
            return False

    def kubeconfig(self, file, token):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "clusters": [{"name": "c", "cluster": {"server": self.url,
                                                         "certificate-authority-data": base64.b64encode(self.authority.ca.encode()).decode()}}],
                  "users": [{"name": "c", "user": {"token": token}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}
        file.write_text(json.dumps(config))

    def call(self, method, path, body=None, kind="application/json"):
        """Status and body."""
        connection = getattr(self.local, "connection", None)
        for is_last in (False, True):
            if connection is None:
                connection = http.client.HTTPSConnection("localhost", self.port, context=self.trust, timeout=10)
            try:
                text = body and (body if isinstance(body, str) else json.dumps(body)).encode()
                connection.request(method, path, text, {"Authorization": f"Bearer {ADMIN}", "Content-Type": kind})
                answer = connection.getresponse()
                data = answer.read()
                self.local.connection = connection
                return answer.status, parsed(data)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                connection = self.local.connection = None
                if is_last:
                    raise Unavailable(str(error)) from error

    def done(self, method, path, body=None, kind="application/json", fine=()):
        """The body of an answer that is a success or has one of the `fine` statuses."""
        status, answer = self.call(method, path, body, kind)
        # A text with a 404 says that the kind is not served.
        if status >= 300 and (status not in fine or isinstance(answer, str)):
            raise Unavailable(f"{method} {path}: {status} {str(answer)[:300]}")
        return answer

    def list(self, kind, namespace=None, query=""):
        return self.done("GET", path(kind, namespace) + query)["items"]

    def create(self, namespace, thing):
        return self.done("POST", path(thing["kind"], namespace), thing, fine=(409,))

    def patch(self, kind, namespace, name, change):
        return self.done("PATCH", path(kind, namespace, name), change, "application/merge-patch+json")

    def define(self, folder):
        for file in sorted(pathlib.Path(folder).glob("*.yaml")):
            self.done("POST", path("CustomResourceDefinition"), file.read_text(), "application/yaml", fine=(409,))

    def alarm(self, action):
        """etcd's alarm NOSPACE, which it raises when its quota is used up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.client, timeout=5)
        try:
            connection.request("POST", "/v3/maintenance/alarm", json.dumps({"action": action, "memberID": "0", "alarm": "NOSPACE"}))
            connection.getresponse().read()
            return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def path(kind, namespace=None, name=""):
    root, plural = KINDS[kind]
    between = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{between}/{plural}/{name}".rstrip("/")


def parsed(data):
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


def etcd(client, peer):
    client, peer = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return ["--data-dir=etcd/data", "--unsafe-no-fsync", "--log-level=error", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}", "--auto-compaction-mode=periodic", "--auto-compaction-retention=10m"]


def apiserver(client, port, authority):
    return [
        f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={port}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
        f"--tls-cert-file={authority.certificate}", f"--tls-private-key-file={authority.key}", "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC", f"--service-account-issuer=https://localhost:{port}",
        f"--service-account-key-file={authority.certificate}", f"--service-account-signing-key-file={authority.key}",
        "--service-cluster-ip-range=10.0.0.0/16", "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount",
        # In MB: by default the log is turned over at 100 MB, and what was written since the last look would be missed.
        "--audit-policy-file=audit.json", "--audit-log-path=audit.log", "--audit-log-maxsize=100000",
    ]
