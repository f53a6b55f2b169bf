#!/usr/bin/env python3
"""Benchmark of `bumpwright update` over smart HTTP, from nothing to the pushed commit, beside `git clone --depth 1`.

Generated fleets of 1,000, 4,000 and 16,000 files; one bump and all bumps; without a mirror and with a warm one. Client and
server share the machine, everything lies on tmpfs when there is room. Each round starts from the same remote; what was
pushed is compared with what was to change. Prints a Markdown table of medians."""

import argparse
import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import fleet
import programs
from programs import binary, scratch_folder
from servers import Servers

HERE = pathlib.Path(__file__).resolve().parent
CYCLE = [sys.executable, str(HERE / "git_cycle.py")]
# Beside the medians: at most so many times `git clone --depth 1`.
TARGETS = {"1 bump, fresh": 1.0, "all bumps, fresh": 2.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright")
    parser.add_argument("--apps", help="sizes of the fleets, such as 250,1000,4000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the smallest fleet, three rounds")
    options = parser.parse_args()
    sizes = [int(size) for size in (options.apps or ("250" if options.quick else "250,1000,4000")).split(",")]
    rounds = 3 if options.quick else options.rounds
    command = options.command.split() if options.command else [binary()]
    print(f"{os.cpu_count()} cores, {git_version()}, median of {rounds}\n")
    print("| fleet | work | wall ms | × clone | target | CPU ms | peak MB | requests |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for apps in sizes:
        with scratch_folder() as folder, Bench(folder, apps, command) as bench:
            table(bench, rounds)


def git_version():
    return subprocess.run(["git", "--version"], check=True, capture_output=True, text=True).stdout.strip()


@dataclasses.dataclass
class Measure:
    """One run: wall and CPU time in ms (children included), peak memory in MB (the largest process), requests."""

    wall: float
    cpu: float
    memory: float
    requests: int


class Bench:
    """One fleet behind one server."""

    def __init__(self, folder, apps, command):
        self.folder, self.apps, self.command = folder, apps, command
        self.remote, self.pristine = folder / "srv" / "fleet.git", folder / "pristine.git"
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "BUMPWRIGHT_CACHE": str(folder / "cache"),
            "GIT_AUTHOR_NAME": "Bench", "GIT_AUTHOR_EMAIL": "bench@example.com",
            "GIT_COMMITTER_NAME": "Bench", "GIT_COMMITTER_EMAIL": "bench@example.com",
        }

    def __enter__(self):
        work = self.folder / "work"
        self.marked = fleet.write(work, self.apps)
        for name, bumped in (("none", 0), ("one", 1), ("all", len(self.marked))):
            (self.folder / f"{name}.yaml").write_text(fleet.policies(self.marked, bumped))
        self.files = sum(1 for path in work.rglob("*") if path.is_file())
        self.git("init", "-q", "-b", "main", work)
        self.git("-C", work, "add", ".")
        self.git("-C", work, "commit", "-qm", "Fleet")
        self.git("clone", "-q", "--bare", work, self.pristine)
        self.git("-C", self.pristine, "config", "http.receivepack", "true")
        self.git("-C", self.pristine, "config", "receive.autogc", "false")
        self.git("-C", self.pristine, "repack", "-adq")
        self.base = self.git("-C", self.pristine, "rev-parse", "main")
        shutil.rmtree(work)
        self.remote.parent.mkdir()
        self.servers = Servers(f"git={self.remote.parent}")
        self.address = self.servers.git
        return self

    def __exit__(self, *_):
        self.servers.stop()

    def git(self, *arguments):
        run = subprocess.run(["git", *map(str, arguments)], check=True, capture_output=True, text=True, env=self.env)
        return run.stdout.strip()

    def reset(self):
        """The remote as it was, no mirror."""
        for path in (self.remote, self.folder / "cache", self.folder / "clone"):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.pristine, self.remote)

    def measured(self, command):
        before = self.servers.requests("git")
        wall, cpu, memory = programs.measured(self.folder, command, self.folder / "output.log", self.env)
        return Measure(wall * 1000, cpu * 1000, memory, self.servers.requests("git") - before)

    def clone(self):
        self.reset()
        return self.measured(["git", "clone", "--quiet", "--depth", "1", f"{self.address}/fleet.git", "clone"])

    def update(self, command, policies):
        return self.measured([*command, "update", "-f", str(self.folder / f"{policies}.yaml"),
                              f"{self.address}/fleet.git", "--commit", "--branch", "main",
                              "--author", "Bench <bench@example.com>"])

    def bump(self, command, policies, warm):
        """One measured update; with `warm` after one that had nothing to change and left its mirror."""
        self.reset()
        if warm:
            self.update(command, "none")
            self.expect(0)
        measure = self.update(command, policies)
        policies_bumped = {"none": 0, "one": 1, "all": len(self.marked)}[policies]
        self.expect(policies_bumped * fleet.CHANGES_PER_POLICY)
        return measure

    def same_process(self, rounds):
        """Bumps and idle runs in one process with a warm mirror, as a controller makes them: two measures."""
        self.reset()
        program = programs.bench("warm")
        self.measured([program, f"{self.address}/fleet.git", str(self.folder / "none.yaml"), "2"])
        small = self.measured([program, f"{self.address}/fleet.git", str(self.folder / "none.yaml"), "2"]).requests
        large = self.measured([program, f"{self.address}/fleet.git", str(self.folder / "none.yaml"), str(rounds)])
        wall, cpu, idle_wall, idle_cpu = map(float, (self.folder / "output.log").read_text().split())
        # What a round more costs, bump and idle run together; an idle run is one request.
        each = (large.requests - small) / (rounds - 2)
        return Measure(wall, cpu, large.memory, each - 1), Measure(idle_wall, idle_cpu, large.memory, 1)

    def expect(self, lines):
        """The remote holds one commit more, in which so many lines changed; none more when nothing was to change."""
        commits = self.git("-C", self.remote, "rev-list", f"{self.base}..main").split()
        changed = self.git("-C", self.remote, "diff", "--numstat", self.base, "main").splitlines()
        added = sum(int(line.split()[0]) for line in changed)
        removed = sum(int(line.split()[1]) for line in changed)
        if (len(commits), added, removed) != (min(lines, 1), lines, lines):
            sys.exit(f"expected {lines} changed lines in one commit, found +{added} -{removed} in {len(commits)}")


def table(bench, rounds):
    every = len(bench.marked) * fleet.CHANGES_PER_POLICY
    work = {
        "git clone --depth 1": bench.clone,
        "clone, edit, commit, push by git; 1 bump": lambda: bench.bump(CYCLE, "one", False),
        "1 bump, fresh": lambda: bench.bump(bench.command, "one", False),
        "1 bump, warm": lambda: bench.bump(bench.command, "one", True),
        "nothing new, warm": lambda: bench.bump(bench.command, "none", True),
        "all bumps, fresh": lambda: bench.bump(bench.command, "all", False),
        "all bumps, warm": lambda: bench.bump(bench.command, "all", True),
    }
    # Rounds outside, work inside: what slows the machine down for a while slows all rows down.
    measures = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            measures[name].append(run())
    bump, idle = bench.same_process(10 * rounds)
    measures["1 bump, warm, same process"], measures["nothing new, same process"] = [bump], [idle]
    clone = None
    for name, taken in measures.items():
        middle = {key: statistics.median(getattr(measure, key) for measure in taken)
                  for key in ("wall", "cpu", "memory", "requests")}
        clone = clone or middle["wall"]
        target = f"≤ {TARGETS[name]:.1f}" if name in TARGETS else ""
        label = name.replace("all bumps", f"all bumps ({every} fields)")
        print(f"| {bench.files:,} files | {label} | {middle['wall']:.0f} | {middle['wall'] / clone:.2f} | {target} "
              f"| {middle['cpu']:.0f} | {middle['memory']:.0f} | {middle['requests']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
