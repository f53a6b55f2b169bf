"""What people are told, and when those who wait are woken: `bumpwright status` never says that all is well while something is stuck, and a
Kustomization follows the one that it depends on at once."""

import subprocess
import threading
import time

from chaos.cluster import Unavailable
from chaos.settled import OURS

#: Seconds until what does not work counts as stuck.
STUCK = 30
#: Seconds between looks.
PAUSE = 10
#: Seconds from the readiness of a dependency to that of its dependent; one that is not woken takes `--requeue-dependency`.
WOKEN = 15
#: Pairs of Kustomizations that are watched at a time, and how often.
PAIRS, ROUNDS = 6, 3


class AllClear:
    """Compares what `status` says with the objects, all the time."""

    def __init__(self, binary, folder, cluster, report):
        self.cluster, self.report, self.since, self.looks = cluster, report, {}, 0
        kubeconfig = folder / "people.kubeconfig"
        cluster.kubeconfig(kubeconfig, "chaos-admin")
        self.command = [str(binary), "status", "-A", "--exit-code", f"--kubeconfig={kubeconfig}"]
        self.is_over = False

    def start(self):
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while not self.is_over:
            try:
                self.look()
            except (Unavailable, subprocess.TimeoutExpired) as error:
                self.since.clear()
                self.report.say("not compared", error=str(error))
            time.sleep(PAUSE)

    def look(self):
        before = self.stuck()
        if not before:
            return
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=60)
        if both := before & self.stuck():
            self.looks += 1
            if done.returncode == 0:
                self.report.breach("all-clear", f"{sorted(both)[:3]}, and status says: {done.stdout.strip().splitlines()[:3]}")

    def stuck(self):
        """What has not been ready for a while, and is not to wait for something else. By our own clock: those of controllers jump."""
        found, waits, now = set(), {}, time.time()
        for kind in OURS:
            for item in self.cluster.list(kind):
                metadata = item["metadata"]
                ready = next((one for one in item.get("status", {}).get("conditions", []) if one["type"] == "Ready"), {})
                if ready.get("status") == "False" and "deletionTimestamp" not in metadata:
                    key = (kind, metadata["namespace"], metadata["name"], metadata["uid"])
                    found.add(key)
                    if ready.get("reason") == "DependencyNotReady":
                        waits[key] = {one["name"] for one in item["spec"].get("dependsOn", [])}
        self.since = {key: self.since.get(key, now) for key in found}
        names = {key[1:3]: key for key in waits}
        in_circle = {key for key, others in waits.items()
                     if any((other := names.get((key[1], name))) and key[2] in waits[other] for name in others)}
        return {key[:3] for key, since in self.since.items() if now - since >= STUCK and (key not in waits or key in in_circle)}


class WakeUps:
    """Pushes to both of a pair, at rest: the dependent has to follow its dependency at once."""

    def __init__(self, fleet, people, cluster, report):
        self.fleet, self.people, self.cluster, self.report, self.limit, self.longest = fleet, people, cluster, report, WOKEN, 0.0

    def look(self, random, tend):
        pairs = [app for app in self.fleet.apps if app.depends]
        for round_ in range(ROUNDS):
            for app in random.sample(pairs, min(PAIRS, len(pairs))):
                self.watch(app, f"{time.time()}", tend)

    def watch(self, app, at, tend):
        repository = self.people.repository(app)
        files = dict(self.fleet.map(one, at) for one in (app, self.fleet.by_name[app.depends]))
        if not repository.push(lambda base: files, f"wake {app.name}"):
            return
        revision = f"main@sha1:{repository.head()}"
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}}
        first = None
        try:
            self.cluster.patch("GitRepository", app.namespace, f"repo-{app.repository:03}", patch)
            end = time.time() + 3 * self.fleet.interval
            while time.time() < end:
                tend()
                if first is None and self.has_applied(app.namespace, app.depends, revision):
                    first = time.time()
                if first is not None and self.has_applied(app.namespace, app.name, revision):
                    return self.took(app, time.time() - first)
                if first is not None and time.time() - first > 2 * self.limit:
                    return self.took(app, time.time() - first)
                time.sleep(0.2)
        except Unavailable as error:
            self.report.say("not watched", app=app.name, error=str(error))

    def has_applied(self, namespace, name, revision):
        item = next((one for one in self.cluster.list("Kustomization", namespace) if one["metadata"]["name"] == name), {})
        status = item.get("status", {})
        is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
        return is_ready and status.get("lastAppliedRevision") == revision

    def took(self, app, seconds):
        self.longest = max(self.longest, seconds)
        self.report.say("woken", app=app.name, seconds=round(seconds, 1))
        if seconds > self.limit:
            self.report.breach("wake-up", f"Kustomization {app.namespace}/{app.name} followed {app.depends} after {seconds:.0f} s of {self.limit}")
