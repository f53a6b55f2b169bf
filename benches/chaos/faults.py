"""The faults, and their drawing from a seed. Each begins, and ends; those that need the same thing do not overlap."""

import random
import time

from chaos import front
from chaos.cluster import Unavailable, path
from chaos.git_server import LieAboutReferences, Only, Race, is_fetch, is_push
from chaos.registry import AnotherDigest

LEASES = [f"{name}-controller-leader-election" for name in ("source", "image-reflector", "image-automation", "kustomize")]


class Fault:
    """`seconds` between begin and end; faults of one `subject` do not overlap; `weight` is how often it is drawn."""
    weight, seconds, subject = 1, (5, 20), None

    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(seed)

    def begin(self):
        """Gives what to write into the log."""

    def end(self):
        pass


def replica_of(fault):
    return fault.world.replicas[fault.random.randrange(len(fault.world.replicas))]


class Kill(Fault):
    """kill -9 of a process of the controller."""
    weight, seconds, subject = 4, (0, 0), "replica"

    def begin(self):
        replica = replica_of(self)
        replica.kill()
        return {"replica": replica.number}


class KillLeader(Kill):
    """kill -9 of the process with the most leases."""

    def begin(self):
        replica = self.world.leading() or replica_of(self)
        replica.kill()
        return {"replica": replica.number}


class Terminate(Fault):
    """A process of the controller is asked to end, as by a rollout."""
    weight, seconds, subject = 2, (0, 0), "replica"

    def begin(self):
        replica = replica_of(self)
        replica.terminate()
        return {"replica": replica.number}


class Evict(Fault):
    """A process is asked to end, and the next one has an empty disk and serves artifacts at another address."""
    weight, seconds, subject = 3, (0, 0), "replica"

    def begin(self):
        replica = self.world.leading() or replica_of(self)
        replica.evict()
        return {"replica": replica.number}


class Circle(Fault):
    """Two Kustomizations wait for each other by `dependsOn`."""
    weight, seconds, subject = 3, (45, 80), "circle"

    def begin(self):
        app = self.random.choice([app for app in self.world.fleet.apps if app.depends])
        self.place, self.wanted = (app.namespace, app.depends), [{"name": app.name}]
        self.world.again(self.write)
        return {"kustomizations": [app.name, app.depends]}

    def write(self):
        try:
            self.world.cluster.patch("Kustomization", *self.place, {"spec": {"dependsOn": self.wanted}})
            return True
        except Unavailable:
            return False

    def end(self):
        self.wanted = None
        self.world.again(self.write)


class Stop(Fault):
    """SIGSTOP of a process, long enough for its leases to go to another."""
    weight, seconds, subject = 4, (28, 38), "replica"

    def begin(self):
        self.replica = self.world.leading() or replica_of(self)
        self.replica.stop()
        return {"replica": self.replica.number}

    def end(self):
        self.replica.resume()


class ClockJump(Fault):
    """The clock of a process is another one, and then the right one again."""
    weight, seconds, subject = 2, (10, 30), "clock"

    def begin(self):
        self.replica, jump = replica_of(self), self.random.choice([-1800, -60, 90, 7200, 86400])
        self.replica.jump(jump)
        return {"replica": self.replica.number, "jump": jump, "works": bool(self.replica.faketime)}

    def end(self):
        self.replica.jump(0)


class DiskFull(Fault):
    """The storage of a process has no room."""
    weight, seconds, subject = 3, (10, 30), "disk"

    def begin(self):
        self.replica = replica_of(self)
        self.replica.fill()
        return {"replica": self.replica.number}

    def end(self):
        self.replica.clear()


class ServerRestart(Fault):
    """kube-apiserver is killed, and is away for a while."""
    weight, seconds, subject = 2, (1, 15), "cluster"

    def begin(self):
        self.world.cluster.server.kill()

    def end(self):
        self.world.cluster.tend()


class EtcdRestart(Fault):
    """etcd is killed, and is away for a while."""
    weight, seconds, subject = 2, (1, 15), "cluster"

    def begin(self):
        self.world.cluster.etcd.kill()

    def end(self):
        self.world.cluster.tend()


class EtcdQuota(Fault):
    """etcd takes no writes, since its quota is used up."""
    weight, seconds, subject = 2, (10, 30), "cluster"

    def begin(self):
        self.action = "ACTIVATE"
        self.world.again(self.write)

    def write(self):
        return self.world.cluster.alarm(self.action)

    def end(self):
        self.action = "DEACTIVATE"
        self.world.again(self.write)


class EtcdDisk(Fault):
    """The disk of etcd has no room: it ends at its next write."""
    weight, seconds, subject = 1, (8, 20), "cluster"

    def begin(self):
        try:
            with open(self.world.cluster.disk / "filler", "wb") as filler:
                while filler.write(bytes(4 << 20)):
                    filler.flush()
        except OSError:
            pass

    def end(self):
        (self.world.cluster.disk / "filler").unlink(missing_ok=True)
        self.world.cluster.etcd.kill()
        self.world.cluster.tend()


class AtServer(Fault):
    """A fault of a server's answers."""
    subject = "git"

    def spoil(self):
        """The fault of the server."""

    def server(self):
        return {"git": self.world.git, "registry": self.world.registry}[self.subject]

    def begin(self):
        self.fault = self.spoil()
        self.server().faults.append(self.fault)
        return {"share": self.fault.share if hasattr(self.fault, "share") else None}

    def end(self):
        self.server().faults.remove(self.fault)
        self.fault.is_over.set()

    def share(self):
        return self.random.choice([0.2, 0.5, 1.0])


class GitRefuses(AtServer):
    """Connections are reset before an answer."""

    def spoil(self):
        return front.Refuse(self.share(), self.random)


class GitErrors(AtServer):
    """429 and 5xx, some with Retry-After."""
    def spoil(self):
        return front.Status(self.share(), self.random)


class GitStalls(AtServer):
    """Answers stop in the middle of a pack, or of the report of a push."""
    weight, seconds = 2, (15, 35)

    def spoil(self):
        return Only(front.Stall(self.share(), self.random), is_fetch if self.random.random() < 0.7 else is_push)


class GitResets(AtServer):
    """Half of an answer, and a reset."""
    weight = 2

    def spoil(self):
        return Only(front.Reset(self.share(), self.random), self.random.choice([is_fetch, is_push, lambda request: True]))


class GitTruncates(AtServer):
    """Half of an answer that says that it is whole."""
    def spoil(self):
        return front.Truncate(self.share(), self.random)


class GitLosesAnswers(AtServer):
    """Pushes arrive, and nobody is told."""
    weight = 3

    def spoil(self):
        return Only(front.LoseAnswer(self.share(), self.random), is_push)


class GitLies(AtServer):
    """`main` is said to be at an older commit, or at one that nobody has."""
    weight = 3

    def spoil(self):
        return LieAboutReferences(self.share(), self.random, self.world.fleet.false_heads)


class GitRaces(AtServer):
    """Somebody else pushes between look and push."""
    weight, seconds = 3, (10, 30)

    def spoil(self):
        return Race(self.share(), self.random, lambda repository: self.world.people.rival(repository, self.random))


class GitSlow(AtServer):
    """Each answer takes some seconds."""
    def spoil(self):
        return front.Slow(self.share(), self.random)


class GitDeclines(Fault):
    """Branches of some repositories are frozen by a hook."""
    subject = "hook"

    def begin(self):
        names = self.world.fleet.names()
        self.files = [self.world.git.repository(name).folder / "decline" for name in self.random.sample(names, max(1, len(names) // 3))]
        for file in self.files:
            file.touch()
        return {"repositories": len(self.files)}

    def end(self):
        for file in self.files:
            file.unlink()


class RegistryErrors(AtServer):
    """429 and 5xx, some with Retry-After."""
    weight, subject = 3, "registry"

    def spoil(self):
        return front.Status(self.share(), self.random)


class RegistryTruncates(AtServer):
    """Half of an answer, with a reset or as if it were whole."""
    weight, subject = 2, "registry"

    def spoil(self):
        return self.random.choice([front.Truncate, front.Reset])(self.share(), self.random)


class RegistryStalls(AtServer):
    """Answers stop in the middle."""
    subject, seconds = "registry", (15, 35)

    def spoil(self):
        return front.Stall(self.share(), self.random)


class RegistryLies(AtServer):
    """Manifests are said to have another digest."""
    weight, subject = 2, "registry"

    def spoil(self):
        return AnotherDigest(self.share(), self.random, self.world.fleet.false_digests)


class NoNames(Fault):
    """Names of Git server and registry do not resolve."""
    weight, subject = 2, "names"

    def begin(self):
        self.world.names.show(False)

    def end(self):
        self.world.names.show(True)


class Rotate(Fault):
    """A password, or an authority with its certificate, is another one at once; Secrets follow after a while."""
    weight, subject, seconds = 2, "secrets", (0, 20)

    def begin(self):
        self.server, self.is_authority = self.random.choice(["git", "registry"]), self.random.random() < 0.4
        (self.world.fleet.rotate_authority if self.is_authority else self.world.fleet.rotate)(self.server)
        return {"server": self.server, "changed": "authority" if self.is_authority else "password"}

    def end(self):
        self.world.fleet.share_secrets("registry-ca" if self.server == "registry" and self.is_authority else self.server)


class LeaseTaken(Fault):
    """Somebody else writes himself into leases, and goes on renewing them."""
    weight, subject, seconds = 2, "lease", (10, 40)

    def begin(self):
        self.leases, self.is_over, self.wrote = self.random.sample(LEASES, self.random.randrange(1, 5)), False, 0
        self.world.tending.append(self.renew)
        return {"leases": self.leases}

    def renew(self):
        if not self.is_over and time.time() - self.wrote > 3:
            self.wrote = time.time()
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
            for lease in self.leases:
                spec = {"holderIdentity": "stranger", "renewTime": now, "acquireTime": now, "leaseDurationSeconds": 20}
                try:
                    self.world.cluster.patch("Lease", "flux-system", lease, {"spec": spec})
                except Unavailable:
                    pass

    def end(self):
        self.is_over = True
        self.world.tending.remove(self.renew)


class Remake(Fault):
    """Objects are deleted and made anew under their names."""
    weight, seconds = 4, (0, 0)

    def begin(self):
        every = list(self.world.fleet.objects())
        chosen = self.random.sample(every, min(len(every), self.random.randrange(1, 5)))
        for namespace, object_ in chosen:
            self.world.fleet.remake(namespace, object_)
        return {"objects": [f"{object_['kind']}/{namespace}/{object_['metadata']['name']}" for namespace, object_ in chosen]}


class Versions(Fault):
    """A definition stores another version, or does not serve one for a while."""
    weight, subject, seconds = 2, "definitions", (10, 30)
    NAMES = ["gitrepositories.source.toolkit.fluxcd.io", "imagepolicies.image.toolkit.fluxcd.io", "imagerepositories.image.toolkit.fluxcd.io",
             "imageupdateautomations.image.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io"]

    def begin(self):
        self.name, change = self.random.choice(self.NAMES), self.random.choice(["storage", "served", "served"])
        version = self.random.choice(["v1beta1", "v1beta2"]) if change == "storage" else "v1"
        self.wanted = (change, version)
        self.world.again(self.write)
        return {"definition": self.name, "change": change, "version": version}

    def write(self):
        change, version = self.wanted
        try:
            found = self.world.cluster.done("GET", path("CustomResourceDefinition", None, self.name))
            for entry in found["spec"]["versions"]:
                entry["served"] = not (change == "served" and entry["name"] == version)
                entry["storage"] = entry["name"] == (version if change == "storage" else "v1")
            self.world.cluster.done("PUT", path("CustomResourceDefinition", None, self.name), found)
            return True
        except Unavailable:
            return False

    def end(self):
        self.wanted = ("none", "v1")
        self.world.again(self.write)


def kinds():
    """All faults by name."""
    found, classes = {}, [Fault]
    while classes:
        for one in classes.pop().__subclasses__():
            classes.append(one)
            if one is not AtServer:
                found[one.__name__] = one
    return dict(sorted(found.items()))


def draw(seed, seconds, pause, only):
    """The times of faults, their kinds, lengths and seeds: the same for the same seed."""
    source, at, drawn, busy = random.Random(seed), 0.0, [], {}
    table = {name: kind for name, kind in kinds().items() if not only or name in only}
    while True:
        at += source.expovariate(1 / pause)
        if at >= seconds:
            return drawn
        name = source.choices(list(table), [kind.weight for kind in table.values()])[0]
        kind, length, own = table[name], source.uniform(*table[name].seconds), source.getrandbits(64)
        if kind.subject and busy.get(kind.subject, -1.0) > at:
            continue
        if kind.subject:
            busy[kind.subject] = at + length + 1
        drawn.append((at, name, length, own))
