#!/usr/bin/env python3
"""Benchmark of HelmReleases in a fleet: 589 of a small chart of six objects, in 30 Kustomizations.

The whole view; `fleet diff` after a change of one release; `fleet review` of that and of a new version of the chart of all; and what `--fleet` and `--verify build` add to an update of one field;
flate's view and its comparison beside them, if it is there (`tests/tools/prepare-real flate`). Prints a Markdown table of medians."""

import argparse
import os
import shutil
import statistics
import subprocess

from helm import RELEASES, small, write
from programs import binary, measured, scratch_folder

EACH = 20
# At most: CPU seconds and MB of the view, seconds of a comparison, seconds that verifying adds, seconds of a review of one release and
# of all, and its MB.
VIEW_CPU, VIEW_MEMORY, DIFF, VERIFY = 0.4, 150, 0.06, 0.1
REVIEW, REVIEW_ALL, REVIEW_MEMORY = 0.2, 2, 250
SOURCE = "sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}"


def release(number):
    marker = ' # {"$imagepolicy": "flux-system:web:tag"}' if number == 7 else ""
    return f"""apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web-{number}, namespace: apps}}
spec:
  interval: 1h
  chart: {{spec: {{chart: ./charts/web, {SOURCE}}}}}
  values:
    replicas: {number % 5}
    image:
      tag: 1.0.{number % 100}{marker}
"""


def kustomization(name, path):
    return f"""apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{interval: 1h, prune: true, path: {path}, {SOURCE}}}
"""


def fleet(folder):
    source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n" \
             "spec: {interval: 1m, url: 'https://git.example.com/acme/fleet', ref: {branch: main}}\n"
    files = {f"charts/web/{path}": text for path, text in small().items()}
    files["cluster/sync.yaml"] = source + "---\n" + kustomization("flux-system", "./cluster")
    for number in range(RELEASES):
        files[f"apps/{number // EACH}/web-{number}.yaml"] = release(number)
    for group in range(RELEASES // EACH + 1):
        files[f"cluster/apps-{group}.yaml"] = kustomization(f"apps-{group}", f"./apps/{group}")
    write(folder, files)
    git(folder, "init", "-q", "--initial-branch=main")
    commit(folder)
    write(folder, {"apps/3/web-61.yaml": release(61).replace("tag: 1.0.61", "tag: 2.0.0")})
    commit(folder)
    git(folder, "checkout", "-q", "-b", "bump")
    chart = small()
    deployment = next(path for path in chart if path.endswith("deployment.yaml"))
    write(folder, {
        "charts/web/Chart.yaml": chart["Chart.yaml"].replace("version: 1.0.0", "version: 2.0.0"),
        f"charts/web/{deployment}": chart[deployment].replace("containers:", "terminationGracePeriodSeconds: 60\n      containers:"),
    })
    commit(folder)
    git(folder, "checkout", "-q", "main")


def git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=b", "-c", "user.email=b@example.com", *arguments], check=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "state")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ours = options.command.split() if options.command else [binary()]
    with scratch_folder() as scratch:
        root = scratch / "fleet"
        root.mkdir()
        fleet(root)
        env = {**os.environ, "HOME": str(scratch)}
        update = ["update", root, "--dry-run", "--offline", "--set", "flux-system:web=ghcr.io/example/web:2.0.0"]
        entry, peers = root / "cluster", {}
        reviewed = ["sh", "-c", '"$@"; test $? -le 1', "sh", *ours]
        review = ["fleet", "review", "--offline", "--output", "markdown"]
        commands = {
            "the view": ["fleet", "--offline", "--output", "names", entry],
            "the view without Helm": ["fleet", "--offline", "--helm=false", "--output", "names", entry],
            "`fleet diff`, without Helm": ["sh", "-c", '"$@"; test $? = 1', "sh", *ours, "fleet", "diff", "--offline", "--helm=false", "--from", "main~1", "--to", "main", entry],
            "`fleet diff`, one release changed": ["sh", "-c", '"$@"; test $? = 1', "sh", *ours, "fleet", "diff", "--offline", "--from", "main~1", "--to", "main", entry],
            "`fleet review`, one release changed": [*reviewed, *review, "--from", "main~1", "--to", "main", entry],
            "`fleet review`, the chart of all changed": [*reviewed, *review, "--from", "main", "--to", "bump", entry],
            "an update of one field": update,
            "with `--fleet`": [*update, "--fleet", entry],
            "with `--verify build`": [*update, "--fleet", entry, "--verify", "build"],
        }
        if flate := shutil.which("flate", path=os.environ.get("BUMPWRIGHT_TOOLS", os.path.expanduser("~/.cache/bumpwright/bin"))):
            git(root, "worktree", "add", "-q", scratch / "before", "main~1")
            quiet = [flate, "--no-progress"]
            peers["flate's view"] = [*quiet, "build", "all", "--path", entry]
            peers["flate's comparison"] = [*quiet, "diff", "all", "--path", entry, "--path-orig", scratch / "before/cluster"]
        commands = {label: command if command[0] == "sh" else [*ours, *command] for label, command in commands.items()}
        commands |= peers
        runs = {label: [] for label in commands}
        for _ in range(options.rounds):
            for label, command in commands.items():
                runs[label].append(measured(scratch, command, scratch / "out", env=env))
    print(f"{os.cpu_count()} cores, median of {options.rounds}; {RELEASES} releases\n")
    print("| what | wall s | CPU s | peak MB |\n|---|--:|--:|--:|")
    medians = {label: [statistics.median(column) for column in zip(*all)] for label, all in runs.items()}
    for label, (wall, cpu, memory) in medians.items():
        print(f"| {label} | {wall:.3f} | {cpu:.3f} | {memory:.0f} |")
    added = medians["with `--verify build`"][0] - medians["an update of one field"][0]
    print(f"\ntargets: the view {VIEW_CPU} CPU s and {VIEW_MEMORY} MB, a comparison {DIFF} s; verifying adds {added:.3f} s (target {VERIFY}); a review "
          f"{REVIEW} s, of all {REVIEW_ALL} s and {REVIEW_MEMORY} MB")


main()
