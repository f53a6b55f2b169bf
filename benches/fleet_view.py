#!/usr/bin/env python3
"""Benchmark of `bumpwright fleet` beside `flux build kustomization --recursive`, and beside `kustomize build` for one folder after the other.

Generated fleets of 100 and 1,000 Kustomizations (`fleet_tree.py`). The programs run in the same rounds on the same files; ours
and Flux must have the same objects in the same Kustomizations. kustomize builds less: neither the entry nor what the specs of
Kustomizations add. Then what `--verify build` adds to an update of one field, and what a change of one file costs a process that
knows the rest. Prints Markdown tables of medians."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys

import fleet_tree
from programs import bench, binary, measured, scratch_folder, tool

SIZES = {100: 20, 1000: 20}
# Beside the medians: CPU seconds, MB, and seconds that verifying adds; at most.
CPU_TARGETS, MEMORY_TARGET, VERIFY_TARGET = {100: 0.15, 1000: 1.5}, 200, 0.1
RECHECK_TARGET = 50  # milliseconds
# Flux needs more than a minute there.
ONCE = 1000
OWNER = "kustomize.toolkit.fluxcd.io/"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the small fleet only, three rounds")
    options = parser.parse_args()
    command = options.command.split() if options.command else [binary()]
    rounds = 3 if options.quick else options.rounds
    with scratch_folder() as folder:
        print(f"{os.cpu_count()} cores, median of {rounds}\n")
        print("| Kustomizations | objects | program | wall s | CPU s | × flux | target | peak MB | target |")
        print("|--:|--:|---|--:|--:|--:|--:|--:|--:|")
        for kustomizations in list(SIZES)[:1] if options.quick else SIZES:
            fleet = Fleet(folder, command, kustomizations)
            fleet.table(1 if kustomizations == ONCE else rounds)
            if kustomizations != ONCE:
                verified = fleet.updates(rounds)
                first, again = fleet.recheck()
            shutil.rmtree(fleet.root)
    print("\n| one field of 100 Kustomizations, pushed | wall s | CPU s | peak MB |\n|---|--:|--:|--:|")
    for label, (wall, cpu, memory) in verified.items():
        print(f"| {label} | {wall:.3f} | {cpu:.3f} | {memory:.0f} |")
    bare, fleet, checked = (values[0] for values in verified.values())
    print(f"\n`--verify build` adds {checked - bare:.3f} s (target ≤ {VERIFY_TARGET}), of which `--fleet` {fleet - bare:.3f} s")
    print(f"view and check in one process: first {first} ms, after a change of one file {again} ms (target ≤ {RECHECK_TARGET})")


class Fleet:
    """A generated repository, its files checked out."""

    def __init__(self, folder, command, kustomizations):
        self.folder, self.command, self.kustomizations = folder, command, kustomizations
        self.root = folder / f"fleet-{kustomizations}"
        self.tree = fleet_tree.write(self.root, kustomizations, SIZES[kustomizations])
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "Bench"), ("EMAIL", "bench@example.com"))}
        self.env = {**os.environ, **who, "HOME": str(folder), "BUMPWRIGHT_CACHE": str(folder / "cache"),
                    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "Fleet")

    def git(self, *arguments):
        run = subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True, text=True, env=self.env, cwd=self.root)
        return run.stdout.strip()

    def programs(self):
        entry = self.root / fleet_tree.ENTRY
        loop = 'for folder; do "$0" build --load-restrictor LoadRestrictionsNone "$folder" && echo "---"; done'
        return {
            "flux": [tool("flux"), "build", "kustomization", "flux-system", "--path", entry, "--dry-run", "--recursive",
                     "--kustomization-file", self.root / fleet_tree.SYNC,
                     "--local-sources", f"GitRepository/flux-system/flux-system={self.root}"],
            "kustomize, in a loop": ["sh", "-ec", loop, tool("kustomize"), *(self.root / path for path in self.tree.paths)],
            "bumpwright --output yaml": [*self.command, "fleet", entry, "--output", "yaml"],
            "bumpwright --output tree": [*self.command, "fleet", entry, "--output", "tree"],
        }

    def measured(self, name, command):
        return measured(self.folder, command, self.output(name), self.env)

    def output(self, name):
        return self.folder / f"{re.sub('[^a-z]', '', name)}.out"

    def table(self, rounds):
        # Programs inside, rounds outside: what slows the machine down for a while slows all rows down.
        measures = {name: [] for name in self.programs()}
        for _ in range(rounds):
            for name, command in self.programs().items():
                measures[name].append(self.measured(name, command))
        objects = self.compare()
        medians = {name: [statistics.median(column) for column in zip(*taken)] for name, taken in measures.items()}
        for name, (wall, cpu, memory) in medians.items():
            ours = name.startswith("bumpwright")
            targets = (f"≤ {CPU_TARGETS[self.kustomizations]} s", f"≤ {MEMORY_TARGET}") if ours else ("", "")
            print(f"| {self.kustomizations:,} | {objects:,} | {name} | {wall:.3f} | {cpu:.3f} | {cpu / medians['flux'][1]:.4f} "
                  f"| {targets[0]} | {memory:.0f} | {targets[1]} |", flush=True)

    def compare(self):
        """The number of objects, which must be the same as Flux's, in the same Kustomizations."""
        theirs = sorted(map(named, self.output("flux").read_text().split("\n---\n")))
        self.measured("names", [*self.command, "fleet", self.root / fleet_tree.ENTRY, "--output", "names"])
        ours = sorted(self.output("names").read_text().splitlines())
        theirs = [line for line in theirs if line]
        if theirs != ours:
            more = [sorted(set(one) - set(other))[:3] for one, other in ((theirs, ours), (ours, theirs))]
            sys.exit(f"only flux has {more[0]}, only bumpwright has {more[1]}")
        return len(ours)

    def recheck(self):
        """Milliseconds of a view with its check, and of one after a change of one file in the same process."""
        file = self.tree.paths[-1] + "/kustomization.yaml"
        run = subprocess.run([bench("recheck"), self.root, fleet_tree.ENTRY, file, "20"], check=True, capture_output=True, text=True)
        return run.stdout.split()[:2]

    def updates(self, rounds):
        """The medians of an update of one field that is pushed: with policies in a file, of the fleet, and with a build of the new tree."""
        policies = self.folder / "policies.yaml"
        policies.write_text(self.tree.policies())
        bump = ["--offline", *self.tree.bump(self.tree.marked[0]), "--branch", "main", "--commit", "--author", "Bench <bench@example.com>"]
        flags = {
            "update -f": ["-f", policies],
            "update --fleet": ["--fleet", fleet_tree.ENTRY],
            "update --fleet --verify build": ["--fleet", fleet_tree.ENTRY, "--verify", "build"],
        }
        measures = {label: [] for label in flags}
        for _ in range(rounds):
            for label, taken in measures.items():
                remote = self.folder / "remote.git"
                self.git("clone", "-q", "--bare", self.root, remote)
                taken.append(self.measured(label, [*self.command, "update", *flags[label], *bump, remote]))
                changed = self.git("-C", remote, "diff", "--numstat", "main~1", "main")
                if not re.fullmatch(r"1\t1\t\S+/kustomization\.yaml", changed):
                    sys.exit(f"{label} changed {changed!r}")
                shutil.rmtree(remote)
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
        return {label: [statistics.median(column) for column in zip(*taken)] for label, taken in measures.items()}


def named(document):
    """A line as of `--output names` for an object as Flux prints it."""
    def field(pattern):
        found = re.search(pattern, document, re.M)
        return found[1].strip('"') if found else ""
    if not document.strip():
        return ""
    metadata = re.search(r"^metadata:\n((?:  .*\n)+)", document + "\n", re.M)[1]
    name, namespace = (re.search(rf"^  {key}: (.*)$", metadata, re.M) for key in ("name", "namespace"))
    owner = "/".join(field(rf"^    {OWNER}{key}: (.*)$") for key in ("namespace", "name"))
    group, _, version = field("^apiVersion: (.*)$").rpartition("/")
    parts = [group, version, field("^kind: (.*)$"), namespace[1] if namespace else "", name[1].strip('"')]
    return f"{owner}\t{'/'.join(parts)}"


if __name__ == "__main__":
    main()
