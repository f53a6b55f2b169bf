#!/usr/bin/env python3
"""A fleet under fire: faults drawn from a seed hit `bumpwright controller` and all that it talks to, while rules are checked that must
always hold, and after each storm those that must hold a few intervals later. Exit code 1: a rule was broken.

Everything is real but the proxies that spoil answers: etcd, kube-apiserver, git http-backend, the registry, two replicas of the
controller. All faults, deeds of people and breaches are in the log, with their times; the same seed draws the same faults."""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent


def main():
    options = read_options()
    from chaos.world import enter
    enter()
    folder = pathlib.Path(options.work or tempfile.mkdtemp(prefix="bumpwright-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    storm = Storm(options, folder)
    try:
        storm.run()
    finally:
        storm.end()
    code = storm.summary()
    if code or options.keep:
        print(f"everything is in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--binary", default=PROJECT / "target/debug/bumpwright", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--seconds", type=int, default=600, help="of storm; the start and the rests come on top")
    parser.add_argument("--storm", type=int, default=240, help="seconds of faults until a rest in which all must settle")
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--automations", type=int, default=200, help="as many Kustomizations, each with a folder of its own")
    parser.add_argument("--interval", type=int, default=60, help="of all objects, in seconds")
    parser.add_argument("--pause", type=float, default=8, help="seconds between faults, on average")
    parser.add_argument("--deeds", type=float, default=1, help="seconds between what people do, on average")
    parser.add_argument("--only", nargs="*", metavar="FAULT", help="draw from these faults")
    parser.add_argument("--faults", action="store_true", help="print the faults and end")
    parser.add_argument("--sabotage", action="store_true", help="break rules in place of a storm, and see that each is told")
    parser.add_argument("--work", help="the folder of the run")
    parser.add_argument("--keep", action="store_true", help="keep the folder also when all rules hold")
    options = parser.parse_args()
    if options.faults:
        from chaos.faults import kinds
        for name, kind in kinds().items():
            print(f"{name:18} {(kind.__doc__ or '').strip()}")
        sys.exit()
    if not options.binary.exists():
        sys.exit(f"{options.binary} is not there; build it, or name one by --binary")
    return options


class Storm:
    """One run."""

    def __init__(self, options, folder):
        from chaos.audit import Audit
        from chaos.branches import Branches
        from chaos.cluster import Cluster
        from chaos.controllers import Replica
        from chaos.fleet import Fleet
        from chaos.git_server import GitServer
        from chaos.people import People
        from chaos.registry import Registry
        from chaos.settled import Secrets, Settled
        from chaos.told import AllClear, WakeUps
        from chaos.world import GIT, REGISTRY, Authority, Names, Report
        self.options, self.folder, self.report = options, folder, Report(folder / "chaos.log")
        self.report.show("seed", seed=options.seed, folder=folder)
        self.names = Names(folder)
        self.cluster = Cluster(folder)
        authorities = {host: Authority(folder / f"tls-{host}", host) for host in (GIT, REGISTRY)}
        self.git = GitServer(folder, authorities[GIT], self.report, ("bot", ""))
        self.registry = Registry(folder, authorities[REGISTRY], self.report, ("bot", ""))
        self.git.ca, self.registry.ca = authorities[GIT].ca, authorities[REGISTRY].ca
        self.fleet = Fleet(options, folder, self.cluster, self.git, self.registry, self.report)
        for server in ("git", "registry"):
            self.fleet.rotate(server)
        self.people = People(self.fleet, self.report)
        self.replicas = [Replica(number, folder, options.binary.resolve(), self.cluster, self.report) for number in range(2)]
        self.branches = Branches(self.fleet, self.report)
        self.audit = Audit(self.cluster.audit, self.fleet, self.branches, self.report)
        self.settled = Settled(self.fleet, self.cluster, self.report)
        self.secrets = Secrets(self.fleet, self.cluster, self.replicas, self.report)
        self.all_clear = AllClear(options.binary.resolve(), folder, self.cluster, self.report)
        self.wake_ups = WakeUps(self.fleet, self.people, self.cluster, self.report)
        self.tending, self.retries, self.checked, self.settles, self.is_over = [], [], 0.0, [], False
        threading.Thread(target=self.work, daemon=True).start()

    def run(self):
        self.cluster.start()
        while not self.registry.is_up():
            time.sleep(0.1)
        self.cluster.define(PROJECT / "crds")
        self.fleet.fill()
        self.create()
        if not self.replicas[0].faketime:
            self.report.show("clocks do not jump: libfaketime is not there (Debian: faketime)")
        self.report.show("created", repositories=self.fleet.repositories, apps=len(self.fleet.apps))
        for replica in self.replicas:
            replica.start()
        self.settle("start", patience=20)
        self.all_clear.start()
        if self.options.sabotage:
            return self.prove()
        source, people, done = random.Random(self.options.seed), random.Random(self.options.seed + 1), 0
        while done < self.options.seconds:
            length = min(self.options.storm, self.options.seconds - done)
            self.storm(source.getrandbits(64), length, people)
            self.settle(f"storm until {done + length} s", patience=3)
            self.wake_ups.look(people, self.tend)
            done += length
        return self.rest()

    def prove(self):
        """Each rule that is broken is told."""
        from chaos.sabotage import sabotage
        wanted = sabotage(self)
        self.settle("sabotage", patience=3)
        told = {rule for rule, _ in self.report.breaches}
        self.report.show("proved", not_told=sorted(wanted - told))
        self.report.breaches = [("not told", rule) for rule in wanted - told]

    def create(self):
        """Kinds that were just defined are served after a moment."""
        from chaos.cluster import Unavailable
        end = time.time() + 120
        while True:
            try:
                return self.fleet.create()
            except Unavailable:
                if time.time() > end:
                    raise
                time.sleep(1)

    def storm(self, seed, length, people):
        from chaos.faults import draw, kinds
        table, began, on = kinds(), time.time(), []
        drawn = draw(seed, length, self.options.pause, self.options.only)
        self.report.show("storm", seconds=length, faults=len(drawn))
        deed = 0.0
        while (at := time.time() - began) < length:
            for fault in [fault for fault in on if fault[0] <= at]:
                on.remove(fault)
                self.calm(fault)
            while drawn and drawn[0][0] <= at:
                _, name, seconds, own = drawn.pop(0)
                fault = table[name](self, own)
                self.report.count(f"fault:{name}")
                self.report.show("fault", name=name, seconds=round(seconds, 1), **(fault.begin() or {}))
                on.append((at + seconds, name, fault))
            if at >= deed:
                deed = at + people.expovariate(1 / self.options.deeds)
                self.people.act(people)
            self.tend({fault.subject for _, _, fault in on})
            self.look()
            time.sleep(0.05)
        for fault in on:
            self.calm(fault)

    def calm(self, fault):
        _, name, begun = fault
        begun.end()
        self.report.say("over", name=name)

    def tend(self, subjects=()):
        """What goes on beside everything: processes are started again, and pending things done."""
        for replica in self.replicas:
            replica.tend()
            replica.memory()
        if "cluster" not in subjects:
            self.cluster.tend()

    def work(self):
        """What asks the API server, which may not answer: in a thread of its own, so that faults keep their times."""
        while not self.is_over:
            for act in list(self.tending):
                act()
            for act in list(self.retries):
                if act():
                    self.retries.remove(act)
            self.fleet.work()
            time.sleep(0.2)

    def again(self, act):
        """Does something as soon as that is possible."""
        self.retries.append(act)

    def leading(self):
        """The replica with the most leases, if one has any."""
        return max((replica for replica in self.replicas if replica.leases()), key=lambda replica: replica.leases(), default=None)

    def look(self):
        """The rules that always hold, every few seconds."""
        if time.time() - self.checked > 5:
            self.branches.look()
            self.secrets.logs()
            self.checked = time.time()

    def settle(self, what, patience):
        """Everything is as it has to be within some intervals from now on; the faults are over."""
        self.cluster.wait(300)
        self.people.mend()
        end = time.time() + 60
        while (self.fleet.pending or self.retries) and time.time() < end:
            self.tend()
            time.sleep(0.2)
        began, told = time.time(), 0.0
        limit = patience * self.options.interval
        while missing := self.settled.missing():
            took = time.time() - began
            if took > limit + 3 * self.options.interval:
                break
            if took - told > 20:
                told = took
                self.report.show("settling", seconds=int(took), missing=len(missing), first=missing[0])
            self.tend()
            self.look()
            time.sleep(1)
        took = time.time() - began
        if took > limit:
            self.report.breach("settles", f"{what}: {took:.0f} s of {limit}; {missing[:5]}")
        self.settles.append(took)
        if found := self.secrets.memory():
            self.report.say("in memory", found=found)
        self.look()
        self.branches.look()
        self.audit.look()
        self.secrets.objects()
        self.secrets.files()
        self.report.show("settled", of=what, seconds=round(took, 1), commits=self.branches.commits, writes=self.audit.writes,
                         deleted=self.audit.deleted, pending=len(self.fleet.pending), memory=[replica.memory() for replica in self.replicas])

    def rest(self):
        """Memory that is freed is wiped, and idle connections, whose buffers have what came last, are closed after 90 seconds."""
        end = time.time() + max(150, 2 * self.options.interval)
        while found := self.secrets.memory():
            if time.time() > end:
                for what, place in sorted(found.items()):
                    self.report.breach("memory", f"{what}: {place}")
                return
            self.tend()
            time.sleep(2)

    def end(self):
        self.is_over = self.all_clear.is_over = True
        for program in [*(replica.program for replica in self.replicas), self.cluster.server, self.cluster.etcd, self.registry.program]:
            if program and program.process:
                program.kill()

    def summary(self):
        report = self.report
        report.show("end", commits=self.branches.commits, writes=self.audit.writes, deleted=self.audit.deleted, git=self.git.served,
                    registry=self.registry.served, peak=[replica.peak for replica in self.replicas], settled=[round(took) for took in self.settles],
                    all_clear_looks=self.all_clear.looks, woken_within=round(self.wake_ups.longest, 1))
        for name, count in sorted(report.counts.items()):
            print(f"  {name} {count}")
        print(f"seed {self.options.seed}: {len(report.breaches)} breaches in {report.now():.0f} s")
        for rule, text in report.breaches:
            print(f"  {rule}: {text}")
        return 1 if report.breaches else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
