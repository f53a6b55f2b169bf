"""The fleet: what is in repositories, registry and cluster, and what follows from that. An automation and a Kustomization have the name
of their app, `a000`, and its folder `apps/a000`."""

import base64
import json
import re
import secrets
import threading
import time

from chaos.cluster import GROUPS, Unavailable, path
from chaos.world import Authority, run
from programs import tool

BOT = "bump@chaos.test"
IMAGE, SOURCE, KUSTOMIZE = f"{GROUPS['image']}/v1", f"{GROUPS['source']}/v1", f"{GROUPS['kustomize']}/v1"
RANGES = {">=1.0.0": lambda version: True, "1.x": lambda version: version[0] == 1, "~1.2": lambda version: version[:2] == (1, 2)}

#: The ways that people write: the values of marked fields are put in for {image} and {tag}.
DEPLOYMENT = """# {app}: written by people; fields with a marker by automations
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {app}, namespace: {namespace}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {app}}}}}
  template:
    metadata: {{labels: {{app: {app}}}}}
    spec:
      containers:
      - name: main
        image: {image}:{tag} # {{"$imagepolicy": "{namespace}:{app}"}}
      - image:   "{image}:{tag}"   # {{"$imagepolicy": "{namespace}:{app}"}}
        name: tools


      - name: fixed
        image: {image}:0.1.0
"""
VERSION = """apiVersion: v1
kind: ConfigMap
metadata: {{name: {app}-version, namespace: {namespace}}}
data:
  version: '{tag}' # {{"$imagepolicy": "{namespace}:{app}:tag"}}
  text: |
    image: {image}:0.0.1
"""
MARKED = re.compile(r'''^(?P<before>.*?:\s+["']?)(?P<value>[^"'\s]+)(?P<after>["']?\s+# \{"\$imagepolicy": "(?P<policy>[^":]+:[^":]+)(?P<tag>:tag)?"\}\s*)$''')


class App:
    def __init__(self, number, fleet):
        self.name, self.number = f"a{number:03}", number
        self.repository = number % fleet.repositories
        self.namespace = f"team-{self.repository % fleet.teams}"
        self.image = f"team-{self.repository % fleet.teams}/img-{number % 3}"
        self.range = list(RANGES)[number % len(RANGES)]
        #: A branch of its own, for review.
        self.branch = f"bump-{self.name}" if number % 10 == 7 else None
        self.digests, self.is_encrypted = number % 7 == 3, number % 5 == 0
        #: Every other one of a repository depends on the one before it.
        before = number - fleet.repositories
        self.depends = f"a{before:03}" if (number // fleet.repositories) % 2 else None
        self.folder = f"apps/{self.name}"

    def allows(self, tag):
        return RANGES[self.range](version(tag))


def version(tag):
    return tuple(int(number) for number in tag.split("."))


class Fleet:
    def __init__(self, options, folder, cluster, git, registry, report):
        self.repositories, self.interval = options.repositories, options.interval
        self.teams = min(5, options.repositories)
        self.cluster, self.git, self.registry, self.report, self.folder = cluster, git, registry, report, folder
        self.apps = [App(number, self) for number in range(options.automations)]
        self.by_name = {app.name: app for app in self.apps}
        self.images = {}
        #: Digest by image and tag, all that there ever were.
        self.digests, self.past_digests, self.false_digests = {}, {}, set()
        self.canaries, self.old_canaries, self.false_heads = {}, {}, []
        #: Times at which a Kustomization was on its way out.
        self.leaving = {}
        self.serial, self.lock, self.pending = 0, threading.Lock(), []

    def names(self):
        return [self.name(number) for number in range(self.repositories)]

    def name(self, number):
        return f"team-{number % self.teams}/repo-{number:03}"

    def canary(self, what):
        """A secret that is nowhere by chance."""
        value = f"canary-{secrets.token_hex(12)}"
        self.canaries[what] = value
        return value

    # What is there at first.

    def fill(self):
        key = self.folder / "age.txt"
        run(tool("age-keygen"), "-o", key)
        self.age, recipient = key.read_text(), run(tool("age-keygen"), "-y", key).decode().strip()
        self.canaries["age"] = self.age.splitlines()[-1]
        for app in self.apps:
            self.images.setdefault(app.image, {"1.0.0"})
        for image in self.images:
            for tag in ("1.0.0", "1.2.0"):
                self.tag(image, tag)
        for number in range(self.repositories):
            files = {"README.md": b"a fleet\n"}
            for app in self.apps[number::self.repositories]:
                files.update(self.files(app, recipient))
            self.git.repository(self.name(number)).make(files)

    def tag(self, image, tag):
        self.images.setdefault(image, set()).add(tag)
        self.past_digests.setdefault((image, tag), set())
        digest = self.registry.push(image, tag, f"{image}:{tag} {time.time_ns()}")
        self.past_digests[image, tag].add(digest)
        self.digests[image, tag] = digest

    def files(self, app, recipient):
        put = {"app": app.name, "namespace": app.namespace, "image": f"{self.registry.address}/{app.image}", "tag": "1.0.0"}
        files = {f"{app.folder}/deployment.yaml": DEPLOYMENT.format(**put).encode(),
                 f"{app.folder}/version.yaml": VERSION.format(**put).encode()}
        for _ in range(3):
            files.update([self.map(app, "first")])
        if app.is_encrypted:
            plain = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{app.name}-secret", "namespace": app.namespace},
                     "stringData": {"password": self.canary(f"sops {app.name}")}}
            file = self.folder / "secret.yaml"
            file.write_text(json.dumps(plain))
            encrypted = run(tool("sops"), "--encrypt", "--age", recipient, "--encrypted-regex", "^(data|stringData)$", file,
                            env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"})
            file.unlink()
            files[f"{app.folder}/secret.yaml"] = encrypted
        return files

    def map(self, app, value):
        """A ConfigMap whose name there never was."""
        with self.lock:
            self.serial += 1
            serial = self.serial
        return f"{app.folder}/cm-{serial}.yaml", self.map_text(app, serial, value)

    def map_text(self, app, serial, value):
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{app.name}-cm-{serial}", "namespace": app.namespace},
                           "data": {"value": value}}, indent=1).encode()

    # Objects of the cluster.

    def create(self):
        for object_ in [{"kind": "Namespace", "metadata": {"name": name}} for name in ("flux-system", *self.namespaces())]:
            self.cluster.create(None, {"apiVersion": "v1", **object_})
        for namespace in self.namespaces():
            for secret in self.secrets(namespace):
                self.cluster.create(namespace, secret)
        for namespace, object_ in self.objects():
            self.cluster.create(namespace, object_)

    def namespaces(self):
        return [f"team-{number}" for number in range(self.teams)]

    def rotate(self, what):
        """Another password at a server, from now on; the Secrets are another matter."""
        server = {"git": self.git, "registry": self.registry}[what]
        if what in self.canaries:
            self.old_canaries[f"{what} until {self.report.now():.0f}"] = self.canaries[what]
        server.credentials = ("bot", self.canary(what))

    def rotate_authority(self, what):
        server = {"git": self.git, "registry": self.registry}[what]
        authority = Authority(self.folder / f"tls-{what}-{time.time_ns()}", server.host)
        server.trust(authority)
        server.ca = authority.ca

    def secrets(self, namespace):
        user, password = self.registry.credentials
        login = {"auths": {self.registry.address: {"username": user, "password": password}}}
        fields = {
            "git": {"stringData": {"username": self.git.credentials[0], "password": self.git.credentials[1], "ca.crt": self.git.ca}},
            "registry": {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": json.dumps(login)}},
            "registry-ca": {"stringData": {"ca.crt": self.registry.ca}},
            "sops": {"stringData": {"chaos.agekey": self.age}},
        }
        return [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, **more} for name, more in fields.items()]

    def share_secrets(self, name):
        """Brings a Secret of all namespaces up to date, as soon as the server takes it."""
        for namespace in self.namespaces():
            secret = next(secret for secret in self.secrets(namespace) if secret["metadata"]["name"] == name)
            self.later(lambda namespace=namespace, secret=secret: self.cluster.patch("Secret", namespace, name, {"stringData": secret["stringData"]}))

    def objects(self):
        for number in range(self.repositories):
            yield f"team-{number % self.teams}", self.source(number)
        for image in self.images:
            namespace, name = image.split("/")
            yield namespace, thing(IMAGE, "ImageRepository", name, {
                "image": f"{self.registry.address}/{image}", "interval": f"{self.interval}s", "timeout": "20s",
                "secretRef": {"name": "registry"}, "certSecretRef": {"name": "registry-ca"}})
        for app in self.apps:
            for object_ in (self.policy(app), self.automation(app), self.kustomization(app)):
                yield app.namespace, object_

    def source(self, number):
        return thing(SOURCE, "GitRepository", f"repo-{number:03}", {
            "url": self.git.url(self.name(number)), "interval": f"{self.interval}s", "timeout": "20s", "ref": {"branch": "main"},
            "secretRef": {"name": "git"}})

    def policy(self, app):
        spec = {"imageRepositoryRef": {"name": app.image.split("/")[1]}, "policy": {"semver": {"range": app.range}}}
        if app.digests:
            spec.update(digestReflectionPolicy="Always", interval=f"{self.interval}s")
        return thing(IMAGE, "ImagePolicy", app.name, spec)

    def automation(self, app):
        git = {"commit": {"author": {"name": "bump", "email": BOT}, "messageTemplate": "Automation {{ .AutomationObject }}\n"}}
        if app.branch:
            git["push"] = {"branch": app.branch}
        return thing(IMAGE, "ImageUpdateAutomation", app.name, {
            "interval": f"{self.interval}s", "sourceRef": {"kind": "GitRepository", "name": f"repo-{app.repository:03}"}, "git": git,
            "update": {"path": f"./{app.folder}", "strategy": "Setters"}})

    def kustomization(self, app):
        spec = {"interval": f"{self.interval}s", "retryInterval": f"{max(5, self.interval // 2)}s", "timeout": "30s", "path": f"./{app.folder}",
                "prune": True, "sourceRef": {"kind": "GitRepository", "name": f"repo-{app.repository:03}"}}
        if app.depends:
            spec["dependsOn"] = [{"name": app.depends}]
        if app.is_encrypted:
            spec["decryption"] = {"provider": "sops", "secretRef": {"name": "sops"}}
        return thing(KUSTOMIZE, "Kustomization", app.name, spec)

    # Things that are tried until the API server does them.

    def later(self, act):
        self.pending.append(act)

    def work(self):
        """Tries what is pending, in its order; an act that gives False is not done."""
        while self.pending:
            try:
                if self.pending[0]() is False:
                    self.pending.append(self.pending.pop(0))
                    return
            except Unavailable as error:
                self.report.say("later", error=str(error))
                return
            self.pending.pop(0)

    def remake(self, namespace, object_):
        """Deletes an object and makes it anew under its name."""
        kind, name, seen = object_["kind"], object_["metadata"]["name"], {}
        times = None
        if kind == "Kustomization":
            times = [time.time(), None]
            self.leaving.setdefault(name, []).append(times)

        def delete():
            found = self.cluster.done("GET", path(kind, namespace, name), fine=(404,))
            uid = found.get("metadata", {}).get("uid")
            if uid and seen.setdefault("uid", uid) == uid:
                self.cluster.done("DELETE", path(kind, namespace, name), fine=(404, 409))
                return False
            if not uid:
                self.cluster.create(namespace, object_)
            if times:
                times[1] = time.time()
            return True

        self.later(delete)

    # What must be there in the end.

    def newest(self, app):
        """The reference that a policy has to choose: tag, and digest if it reflects one."""
        tag = max((tag for tag in self.images[app.image] if app.allows(tag)), key=version)
        return tag, self.digests[app.image, tag] if app.digests else None

    def wanted(self, app, is_tag):
        tag, digest = self.newest(app)
        return tag if is_tag else f"{self.registry.address}/{app.image}:{tag}" + (f"@{digest}" if digest else "")

    def fields(self, app, files):
        """Marked values of an app in files: value, and whether it is a tag alone."""
        for path_, content in files.items():
            if path_.startswith(app.folder + "/") and not path_.endswith("secret.yaml"):
                for line in content.decode().splitlines():
                    if found := MARKED.match(line):
                        yield found["value"], bool(found["tag"])

    def built(self, app, files):
        """The objects of an app in the files of a commit: (kind, name) and what is compared."""
        objects = {}
        for path_, content in files.items():
            if not path_.startswith(app.folder + "/"):
                continue
            file = path_.rsplit("/", 1)[1]
            if file == "deployment.yaml":
                images = re.findall(r'image:\s+"?([^"\s]+)', content.decode())
                objects["Deployment", app.name] = images
            elif file == "version.yaml":
                objects["ConfigMap", f"{app.name}-version"] = re.search(r"version: '([^']*)'", content.decode())[1]
            elif file == "secret.yaml":
                objects["Secret", f"{app.name}-secret"] = self.canaries[f"sops {app.name}"]
            else:
                objects["ConfigMap", f"{app.name}-{file.removesuffix('.yaml')}"] = json.loads(content)["data"]["value"]
        return objects


def shown(object_):
    """Of an object of the cluster, what is compared."""
    match object_["kind"]:
        case "Deployment":
            return [container["image"] for container in object_["spec"]["template"]["spec"]["containers"]]
        case "Secret":
            return base64.b64decode(object_["data"]["password"]).decode()
    data = object_["data"]
    return data["version"] if "version" in data else data["value"]


def thing(version_, kind, name, spec):
    return {"apiVersion": version_, "kind": kind, "metadata": {"name": name}, "spec": spec}
