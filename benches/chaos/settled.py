"""What must hold a few intervals after the last fault: everything is as the newest commits and tags have it, and no secret is anywhere."""

import base64
import gzip
import os

from chaos.cluster import Unavailable
from chaos.fleet import shown

OURS = ["GitRepository", "ImageRepository", "ImagePolicy", "ImageUpdateAutomation", "Kustomization"]
APPLIED = ["ConfigMap", "Deployment", "Secret"]
OWNER = "kustomize.toolkit.fluxcd.io/name"


class Settled:
    def __init__(self, fleet, cluster, report):
        self.fleet, self.cluster, self.report = fleet, cluster, report

    def missing(self):
        """What is not yet as it has to be."""
        try:
            objects = {kind: {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in self.cluster.list(kind)} for kind in OURS}
            applied = {}
            for kind in APPLIED:
                for item in self.cluster.list(kind, query=f"?labelSelector={OWNER}"):
                    applied.setdefault(item["metadata"]["labels"][OWNER], {})[kind, item["metadata"]["name"]] = {**item, "kind": kind}
        except Unavailable as error:
            return [f"the API server: {error}"]
        return [*self.not_ready(objects), *self.behind(objects, applied)]

    def not_ready(self, objects):
        wanted = {(object_["kind"], namespace, object_["metadata"]["name"]) for namespace, object_ in self.fleet.objects()}
        for kind, namespace, name in sorted(wanted):
            item = objects[kind].get((namespace, name))
            if item is None:
                yield f"{kind} {namespace}/{name} is not there"
                continue
            status = item.get("status", {})
            ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
            if ready.get("status") != "True" or status.get("observedGeneration") != item["metadata"]["generation"]:
                yield f"{kind} {namespace}/{name} is not ready: {ready.get('reason')} {ready.get('message', '')[:200]}"

    def behind(self, objects, applied):
        for number in range(self.fleet.repositories):
            repository = self.fleet.git.repository(self.fleet.name(number))
            head = repository.head()
            files = repository.files(head)
            revision = f"main@sha1:{head}"
            namespace = f"team-{number % self.fleet.teams}"
            source = objects["GitRepository"].get((namespace, f"repo-{number:03}"), {}).get("status", {})
            if source.get("artifact", {}).get("revision") != revision:
                yield f"GitRepository {namespace}/repo-{number:03} is at {source.get('artifact', {}).get('revision')}, not {revision}"
            for app in self.fleet.apps[number::self.fleet.repositories]:
                yield from self.images(app, repository, head, files)
                kustomization = objects["Kustomization"].get((app.namespace, app.name), {})
                yield from self.deployed(app, files, revision, kustomization.get("status", {}), applied.get(app.name, {}))

    def images(self, app, repository, head, files):
        if app.branch:
            proposed = repository.head(app.branch)
            if all(value == self.fleet.wanted(app, is_tag) for value, is_tag in self.fleet.fields(app, files)):
                return
            if proposed is None or repository.git("rev-parse", f"{proposed}^").decode().strip() != head:
                yield f"{app.branch} is not one commit on {head[:8]}"
                return
            files = repository.files(proposed, app.folder)
        for value, is_tag in self.fleet.fields(app, files):
            if value != self.fleet.wanted(app, is_tag):
                yield f"{app.namespace}/{app.name} has {value} in Git, not {self.fleet.wanted(app, is_tag)}"

    def deployed(self, app, files, revision, status, applied):
        if status.get("lastAppliedRevision") != revision:
            yield f"Kustomization {app.namespace}/{app.name} has applied {status.get('lastAppliedRevision')}, not {revision}"
            return
        built = self.fleet.built(app, files)
        groups = {"Deployment": "apps", "ConfigMap": "", "Secret": ""}
        entries = {entry["id"] for entry in status.get("inventory", {}).get("entries", [])}
        wanted = {f"{app.namespace}_{name}_{groups[kind]}_{kind}" for kind, name in built}
        for what, one, other in (("inventory", entries, wanted), ("objects", set(applied), set(built))):
            if one != other:
                yield f"{app.namespace}/{app.name}: {what} left over {sorted(one - other)}, missing {sorted(other - one)}"
        for key in set(applied) & set(built):
            if shown(applied[key]) != built[key]:
                yield f"{app.namespace}/{app.name}: {key} is {shown(applied[key])}, not {built[key]}"


class Secrets:
    """Looks for values that may be nowhere but in Secrets."""

    def __init__(self, fleet, cluster, replicas, report):
        self.fleet, self.cluster, self.replicas, self.report, self.offsets = fleet, cluster, replicas, report, {}

    def texts(self):
        """Each value and the ways it is written: as it is, in Base64, and as a login."""
        found = {}
        for what, value in [*self.fleet.canaries.items(), *self.fleet.old_canaries.items()]:
            for text in (value, encoded(value), encoded(f"bot:{value}")):
                found[text.rstrip("=").encode()] = what
        return found

    def search(self, data, place):
        for text, what in self.texts().items():
            if text in data:
                self.report.breach("secret", f"{what} is in {place}")

    def logs(self):
        for replica in self.replicas:
            for log in replica.logs:
                with open(log, "rb") as file:
                    file.seek(max(0, self.offsets.get(log, 0) - 200))
                    data = file.read()
                    self.offsets[log] = file.tell()
                self.search(data, log)
                if b"panicked at" in data or b"RUST_BACKTRACE" in data:
                    self.report.breach("panic", str(log))

    def objects(self):
        try:
            for kind in [*OURS, "Event", "ConfigMap", "Deployment", "Lease"]:
                for item in self.cluster.list(kind):
                    self.search(repr(item).encode(), f"{kind} {item['metadata'].get('namespace')}/{item['metadata']['name']}")
        except Unavailable as error:
            self.report.say("not searched", error=str(error))

    def files(self):
        for replica in self.replicas:
            for top in (replica.data, replica.home):
                for folder, _, names in os.walk(top):
                    for name in names:
                        self.file(os.path.join(folder, name))

    def file(self, path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return
        self.search(data, path)
        if data.startswith(b"\x1f\x8b"):
            try:
                self.search(gzip.decompress(data), path)
            except (OSError, EOFError):
                pass

    def memory(self):
        """Of decrypted values, keys and passwords of before: those that are in the memory of a process."""
        values = {what: value for what, value in self.fleet.canaries.items() if what == "age" or what.startswith("sops")}
        values.update(self.fleet.old_canaries)
        texts = {text: what for what, value in values.items() for text in (value, encoded(value), encoded(f"bot:{value}"))}
        return {f"{texts[text]} in {replica.process}": place for replica in self.replicas for text, place in replica.found_in_memory(texts).items()}


def encoded(text):
    return base64.b64encode(text.encode()).decode()
