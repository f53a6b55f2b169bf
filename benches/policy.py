#!/usr/bin/env python3
"""Benchmark of choosing a tag beside Masterminds/semver and Go's `regexp`, as image-reflector-controller uses them.

100,000 generated tags, in the order in which the controller keeps them. The Go program is built here (its module comes
through the ordinary module proxy). Rounds of both alternate; the table has medians and their ratio. Both must choose the
same tag."""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from programs import bench

HERE = pathlib.Path(__file__).resolve().parent
TAGS = 100_000
ROUNDS = 9
TARGETS = {"semver range and filter": 0.3}
POLICIES = {
    "semver range and filter": {
        "semver": ">=1.0.0 <40",
        "pattern": r"^v(?P<version>[0-9]+\.[0-9]+\.[0-9]+)(-alpine)?$",
        "extract": "$version",
    },
    "semver range, all kinds of tags": {"semver": ">=1.0.0-0"},
    "numerical and filter": {"pattern": "^main-[a-f0-9]+-(?P<time>[0-9]+)$", "extract": "$time"},
}


def main():
    if not shutil.which("go"):
        sys.exit("go is not installed: there is nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        folder = pathlib.Path(folder)
        peer = folder / "gopolicy"
        subprocess.run(["go", "build", "-o", peer, "."], cwd=HERE / "gopolicy", check=True)
        print(f"{TAGS:,} tags, median of {ROUNDS}\n")
        print("| policy | bumpwright ms | Go ms | × Go | target |")
        print("|---|--:|--:|--:|--:|")
        for name, policy in POLICIES.items():
            row(folder, peer, name, policy)


def row(folder, peer, name, policy):
    document = folder / "document.json"
    document.write_text(json.dumps({**policy, "tags": tags()}))
    ours, theirs, chosen = [], [], set()
    for _ in range(ROUNDS):
        for program, times in [(bench("policy"), ours), (peer, theirs)]:
            lines = subprocess.run([program, document, "4"], check=True, capture_output=True, text=True).stdout.split()
            # The first round of a process pays for its memory.
            times.append(min(int(line) for line in lines[1:-1]) / 1e6)
            chosen.add(lines[-1])
    if len(chosen) != 1:
        sys.exit(f"{name}: the choices differ: {chosen}")
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    target = TARGETS.get(name, "")
    mark = " !" if target and ours / theirs > target else ""
    print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f}{mark} | {target} |")


def tags():
    """Releases, their variants and candidates, and builds of a branch."""
    made = []
    for n in range(TAGS):
        version = f"v{n // 2500}.{n // 50 % 50}.{n % 50}"
        kinds = [version, f"{version}-alpine", f"{version}-rc.{n % 7}", f"main-{n * 7919:08x}-{1600000000 + n}"]
        made.append(kinds[n % 4])
    return sorted(made, reverse=True)


if __name__ == "__main__":
    main()
