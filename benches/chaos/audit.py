"""What must hold of requests, by the audit log of kube-apiserver: one process acts at a time, and nothing is deleted that is built."""

import datetime
import json
import os
import re

#: The lease that a process needs to write a kind.
LEASES = {"gitrepositories": "source", "imagerepositories": "image-reflector", "imagepolicies": "image-reflector",
          "imageupdateautomations": "image-automation", "kustomizations": "kustomize", "configmaps": "kustomize", "deployments": "kustomize",
          "secrets": "kustomize"}
#: Seconds until a holder has to know that its lease was taken by force: a retry period, and the time limit of an attempt.
NOTICE = 10
#: Seconds that a request may be on its way.
WAY = 1


class Audit:
    def __init__(self, file, fleet, branches, report):
        self.file, self.fleet, self.branches, self.report = file, fleet, branches, report
        self.offset, self.writes, self.deleted = 0, 0, 0
        #: Of each lease, the changes of its holder: from when on, who, whether by force.
        self.holders = {name: [(0.0, None, False)] for name in set(LEASES.values())}

    def look(self):
        """Checks what was logged since. Called when nothing is on its way."""
        with open(self.file, "rb") as file:
            if file.seek(0, os.SEEK_END) < self.offset:
                self.report.breach("audit", f"{self.file} is shorter than what was read of it: nothing is known of what happened since")
            file.seek(self.offset)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]
        self.offset += len(text)
        events = [event for event in map(read, text.splitlines()) if event]
        for event in sorted(events, key=lambda event: event["done"]):
            self.hand_over(event)
        for event in sorted(events, key=lambda event: event["begun"]):
            self.check(event)

    def hand_over(self, event):
        if event["resource"] != "leases" or event["code"] >= 300:
            return
        name = event["name"].removesuffix("-controller-leader-election")
        spec = (event["body"] or {}).get("spec") or {}
        if name not in self.holders or "holderIdentity" not in spec:
            return
        who = event["user"] if spec["holderIdentity"] else None
        if self.holders[name][-1][1] != who:
            self.holders[name].append((event["done"], who, spec["holderIdentity"] == "stranger"))

    def check(self, event):
        lease = LEASES.get(event["resource"])
        if event["resource"] == "gitrepositories" and event["manager"] == "image-automation-controller":
            # Automations ask for a fetch of what they have pushed.
            lease = "image-automation"
        if lease is None or event["code"] >= 300 or event["dry"] or not event["user"].startswith("process-"):
            return
        self.writes += 1
        began, holder, forced = next(change for change in reversed(self.holders[lease]) if change[0] <= event["begun"])
        late = event["begun"] - began
        if holder != event["user"] and late > (NOTICE if forced else WAY):
            self.report.breach("two at once", f"{event['verb']} {event['resource']} {event['namespace']}/{event['name']} by {event['user']} {late:.1f} s "
                               f"after {holder} had the lease {lease}")
        if event["verb"] == "delete" and event["resource"] in ("configmaps", "deployments", "secrets"):
            self.deletion(event)

    def deletion(self, event):
        self.deleted += 1
        found = re.fullmatch(r"(a\d+)(?:-(.*))?", event["name"])
        app = self.fleet.by_name[found[1]]
        file = {None: "deployment", "version": "version", "secret": "secret"}.get(found[2], found[2])
        path, when = f"{app.folder}/{file}.yaml", event["begun"]
        if any(began - 1 <= when and (end is None or when <= end + 1) for began, end in self.fleet.leaving.get(app.name, [])):
            return
        if not self.branches.was_absent(app, path, when):
            self.report.breach("deleted", f"{event['resource']} {event['namespace']}/{event['name']} by {event['user']} at {when - self.report.began:.1f}, "
                               "which is built")


def read(line):
    try:
        event = json.loads(line)
    except ValueError:
        # A server that is killed writes half a line.
        return None
    reference = event.get("objectRef", {})
    return {"user": event["user"]["username"], "verb": event["verb"], "resource": reference.get("resource"), "name": reference.get("name", ""),
            "namespace": reference.get("namespace"), "code": event.get("responseStatus", {}).get("code", 500), "dry": "dryRun=" in event["requestURI"],
            "manager": (re.findall(r"fieldManager=([^&]*)", event["requestURI"]) or [""])[0],
            "begun": seconds(event["requestReceivedTimestamp"]), "done": seconds(event["stageTimestamp"]), "body": event.get("requestObject")}


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
