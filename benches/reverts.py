#!/usr/bin/env python3
"""Benchmark of `bumpwright update --respect-reverts` over a history of 500 commits, beside `git log -p` of the same commits and files.

A generated fleet in a folder, in which each commit sets one image. All marked fields are to change and the automation has written none of
them, so nothing ends the search before the last commit. Prints a Markdown table of medians."""

import argparse
import json
import os
import random
import statistics
import subprocess

import fleet
from programs import binary, measured, scratch_folder

APPS, COMMITS = 250, 500
AUTHOR = "Bot <bot@example.com>"
# At most so many times `git log -p`.
TARGET = 2.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="three rounds")
    options = parser.parse_args()
    command = options.command.split() if options.command else [binary()]
    rounds = 3 if options.quick else options.rounds
    with scratch_folder() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        work = folder / "work"
        marked = history(work, env)
        (folder / "policies.yaml").write_text(fleet.policies(marked, len(marked)))
        files = [str(path.relative_to(work)) for path in work.rglob("*.yaml") if "$imagepolicy" in path.read_text()]
        update = [*command, "update", "-f", folder / "policies.yaml", work, "--dry-run", "--output", "json"]
        rows = {
            f"git log -p -{COMMITS}, {len(files)} files": ["git", "-C", work, "log", "-p", f"-{COMMITS}", "--", *files],
            "update": update,
            f"update --respect-reverts={COMMITS}": [*update, f"--respect-reverts={COMMITS}", "--author", AUTHOR],
        }
        taken = {name: [] for name in rows}
        for _ in range(rounds):
            for name, row in rows.items():
                taken[name].append(measured(folder, row, folder / "output", env))
                if row[0] != "git":
                    run = json.loads((folder / "output").read_text())["runs"][0]
                    expected = len(marked) * fleet.CHANGES_PER_POLICY
                    assert len(run["changes"]) == expected, f"{len(run['changes'])} changes, expected {expected}"
        print(f"{os.cpu_count()} cores, median of {rounds}\n")
        print("| a folder | wall ms | × git log | target | CPU ms | peak MB |\n|---|--:|--:|--:|--:|--:|")
        log = None
        for name, times in taken.items():
            wall, cpu, memory = (statistics.median(time[part] for time in times) for part in range(3))
            log = log or wall
            target = f"≤ {TARGET:.1f}" if "reverts" in name else ""
            print(f"| {name} | {wall * 1000:.0f} | {wall / log:.2f} | {target} | {cpu * 1000:.0f} | {memory:.0f} |")


def history(work, env):
    """A fleet with so many commits, by people."""
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "gc.auto=0", "-C", str(work),
                        *arguments], check=True, env=env)

    marked = fleet.write(work, APPS)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "Fleet")
    rng = random.Random(7)
    for number in range(COMMITS):
        app, image = rng.choice(marked)
        deployment = next(work.glob(f"apps/*/{app}/deployment.yaml"))
        lines = deployment.read_text().splitlines(keepends=True)
        place = next(n for n, line in enumerate(lines) if "$imagepolicy" in line)
        lines[place] = f"        image: {image}:1.0.{number}{lines[place][lines[place].index(' #'):]}"
        deployment.write_text("".join(lines))
        git("commit", "-qam", f"{app} 1.0.{number}")
    git("repack", "-adq")
    return marked


if __name__ == "__main__":
    main()
