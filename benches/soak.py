#!/usr/bin/env python3
"""A long run of `bumpwright controller` under changes of all kinds: commits every few seconds, new tags, files that come and go,
objects that are suspended, deleted and made again, browsers that look. Not a benchmark: it passes or fails.

Memory, open files, threads and the sizes of the storage are sampled every ten seconds. At the first hour and at the end nothing is
changed for two minutes: memory at rest may have grown by 5 % in between, the others may not have grown. Then everything has to be as
the repositories say. `--graph` draws the samples as SVG."""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from programs import binary
from servers import Servers
from sources import PROJECT, Git
from upgrade import NS, Release, World

# How often each act is drawn.
ACTS = {"commit": 40, "file": 10, "tag": 10, "reconcile": 15, "suspend": 5, "again": 5, "large": 1, "look": 14}
# In seconds. Idle connections are kept for up to 90.
SAMPLE, REST = 10, 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", help="default: target/dist/bumpwright")
    parser.add_argument("--hours", type=float, default=3)
    parser.add_argument("--first", type=float, default=1, help="hours after which memory at rest is read first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=2, help="seconds between two acts, on average")
    parser.add_argument("--graph", type=pathlib.Path, help="an SVG to write")
    parser.add_argument("--samples", type=pathlib.Path, help="a file of JSON lines to write; with --redraw the one to read")
    parser.add_argument("--redraw", action="store_true", help="only draw the graph of these samples")
    options = parser.parse_args()
    if options.redraw:
        draw([json.loads(line) for line in options.samples.read_text().splitlines()], options.graph)
        return
    release = Release("soak", options.binary or binary(), PROJECT / "crds")
    with tempfile.TemporaryDirectory(prefix="bumpwright-soak-") as folder:
        folder = pathlib.Path(folder)
        git = Git(folder / "git")
        with Servers(f"cluster={release.crds}", f"git={git.root}", "registry") as servers:
            Soak(folder, servers, git, options).run(release)


class Soak(World):
    STACKS, OBJECTS, INTERVAL = 12, 12, "30s"

    def __init__(self, folder, servers, git, options):
        self.options, self.random, self.samples = options, random.Random(options.seed), []
        super().__init__(folder, servers, git)
        self.suspended, self.done = None, dict.fromkeys(ACTS, 0)

    def flags(self):
        return [f"--ui-addr=127.0.0.1:{self.ui_port}"]

    def run(self, release):
        self.next_tag()
        self.start(release)
        self.create()
        self.reconciled("at first")
        self.began = time.time()
        self.change_until(self.options.first)
        first = self.at_rest()
        self.change_until(self.options.hours)
        last = self.at_rest()
        self.finish()
        print(f"acts: {self.done}\nat rest, first: {first}\nat rest, last: {last}")
        if self.options.graph:
            draw(self.samples, self.options.graph)
        # Connections and threads of pools come and go.
        limits = {"anonymous": first["anonymous"] * 1.05, "files": first["files"] + 4, "threads": first["threads"] + 2}
        grown = [what for what, most in limits.items() if last[what] > most]
        if grown:
            self.fail(f"grown: {', '.join(grown)}")
        self.end()

    def change_until(self, hours):
        """Acts at random until so many hours after the beginning."""
        sampled = 0
        while (now := time.time()) < self.began + hours * 3600:
            if self.process.poll() is not None:
                self.fail("the controller has ended")
            if now > sampled + SAMPLE:
                sampled = now
                self.sample()
            act = self.random.choices(list(ACTS), ACTS.values())[0]
            getattr(self, f"act_{act}")()
            self.done[act] += 1
            time.sleep(self.random.expovariate(1 / self.options.pause))

    def sample(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        kilobytes = {what: int(status.split(f"{field}:")[1].split()[0]) for what, field in (("resident", "VmRSS"), ("anonymous", "RssAnon"))}
        sizes = {part.name: size(part) for part in self.storage.iterdir()}
        one = {
            "at": time.time() - self.began, **kilobytes, "threads": int(status.split("Threads:")[1].split()[0]),
            "files": len(os.listdir(f"/proc/{self.process.pid}/fd")), "storage": sizes,
        }
        self.samples.append(one)
        if self.options.samples:
            with self.options.samples.open("a") as file:
                file.write(json.dumps(one) + "\n")
        return one

    def at_rest(self):
        """Medians of the last samples of two minutes without changes."""
        self.resume()
        time.sleep(REST)
        samples = []
        for _ in range(10):
            time.sleep(2)
            samples.append(self.sample())
        return {what: statistics.median(one[what] for one in samples) for what in ("anonymous", "files", "threads")} | {"storage": samples[-1]["storage"]}

    def finish(self):
        """All is as the repository and the registry say."""
        self.reconciled("at the end")
        self.reconciled("after the last commits")
        self.pull()
        wanted = {path.stem: path.read_text().split("image: ")[1].split()[0] for path in self.work.glob("stack-*/*.yaml")}
        there = {item["metadata"]["name"]: item["data"]["image"] for item in self.applied()}
        if there != wanted:
            self.fail(f"not as in the repository: {sorted(set(wanted.items()) ^ set(there.items()))[:5]}")

    # The acts.

    def act_commit(self):
        path = self.random.choice(list(self.work.glob("stack-*/*.yaml")))
        self.pushed(lambda: path.write_text(path.read_text().split("\n# ")[0].rstrip() + f"\n# {self.random.random()}\n"))

    def act_file(self):
        stack, number = self.random.randrange(self.STACKS), self.random.randrange(self.OBJECTS)
        path = self.work / f"stack-{stack}" / f"stack-{stack}-{number}.yaml"

        def change():
            path.unlink() if path.exists() and number else self.write(stack, number)

        self.pushed(change)

    def act_large(self):
        blob = self.work / "large.bin"
        self.pushed(lambda: blob.write_bytes(self.random.randbytes(2 << 20)))

    def act_tag(self):
        self.next_tag()
        for name in (f"stack-{stack}" for stack in range(self.STACKS)):
            self.kube.reconcile("ImageRepository", NS, name, str(time.time()))

    def act_reconcile(self):
        kind = self.random.choice(["GitRepository", "Kustomization", "ImageUpdateAutomation", "ImageRepository"])
        name = "fleet" if kind == "GitRepository" else f"stack-{self.random.randrange(self.STACKS)}"
        self.kube.reconcile(kind, NS, name, str(time.time()))

    def act_suspend(self):
        self.resume()
        self.suspended = (self.random.choice(["Kustomization", "ImageUpdateAutomation"]), f"stack-{self.random.randrange(self.STACKS)}")
        self.patch(*self.suspended, {"spec": {"suspend": True}})

    def resume(self):
        if self.suspended:
            self.patch(*self.suspended, {"spec": {"suspend": None}})
            self.suspended = None

    def act_again(self):
        """An object is deleted and made again under its name."""
        self.resume()
        kind = self.random.choice(["Kustomization", "ImageUpdateAutomation", "ImageRepository", "ImagePolicy"])
        stack = self.random.randrange(self.STACKS)
        self.kube.request("DELETE", self.kube.path(kind, NS, f"stack-{stack}"))
        gone = lambda: f"stack-{stack}" not in [item["metadata"]["name"] for item in self.kube.get(kind, NS)["items"]]
        self.wait(gone, f"{kind} stack-{stack} is deleted")
        self.kube.create(kind, NS, f"stack-{stack}", spec=self.specs(stack)[kind])

    def act_look(self):
        page = self.random.choice(["/", "/images", "/automations", "/kustomizations", "/sources", "/timeline", "/search?q=stack"])
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ui_port}{page}", timeout=30) as answer:
            answer.read()

    def patch(self, kind, name, body):
        self.kube.request("PATCH", self.kube.path(kind, NS, name), body, "application/merge-patch+json")

    def pushed(self, change):
        """A commit upon what automations have pushed; a lost race is tried again."""
        for _ in range(20):
            self.git.run(self.work, "fetch", "--quiet", str(self.git.root / "fleet.git"), "main")
            self.git.run(self.work, "reset", "--quiet", "--hard", "FETCH_HEAD")
            change()
            self.git.run(self.work, "add", "--all")
            self.git.run(self.work, "commit", "--quiet", "--allow-empty", "--message=a change")
            if self.git.tried(self.work, "push", "--quiet", str(self.git.root / "fleet.git"), "main"):
                return
        self.fail("twenty pushes lost their race")


def size(path):
    """Bytes on disk."""
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    total = 0
    for file in files:
        try:
            total += file.lstat().st_blocks * 512
        except FileNotFoundError:
            # It was removed meanwhile.
            pass
    return total


def draw(samples, file):
    """Lines of resident memory and of the parts of the storage, over hours."""
    width, height, left, low = 880, 300, 60, 40
    hours = samples[-1]["at"] / 3600
    parts = sorted({part for one in samples for part in one["storage"]})
    lines = {"memory, resident": [one["resident"] / 1024 for one in samples], "memory, anonymous": [one["anonymous"] / 1024 for one in samples]}
    lines |= {f"disk, {part}": [one["storage"].get(part, 0) / 2**20 for one in samples] for part in parts}
    most = max(max(values) for values in lines.values()) or 1
    x = lambda one: left + one["at"] / 3600 / hours * (width - left - 20)
    y = lambda value: height - low - value / most * (height - low - 20)
    colours = ["#1f6feb", "#8250df", "#bf8700", "#1a7f37", "#cf222e", "#57606a", "#0969da"]
    body = [f'<text x="{left - 6}" y="{y(most) + 4}" text-anchor="end">{most:.0f} MiB</text>', f'<text x="{left - 6}" y="{y(0) + 4}" text-anchor="end">0</text>']
    body += [f'<text x="{x({"at": hour * 3600})}" y="{height - low + 18}" text-anchor="middle">{hour} h</text>' for hour in range(int(hours) + 1)]
    for at, (name, values) in enumerate(lines.items()):
        points = " ".join(f"{x(one):.1f},{y(value):.1f}" for one, value in zip(samples, values))
        body.append(f'<polyline fill="none" stroke="{colours[at % 7]}" points="{points}"/>')
        body.append(f'<text x="{left + 130 * at}" y="{height - 6}" fill="{colours[at % 7]}">{name}</text>')
    style = "text{font:11px sans-serif}"
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><style>{style}</style>'
                    f'<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>\n')


if __name__ == "__main__":
    main()
