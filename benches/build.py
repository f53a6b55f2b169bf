#!/usr/bin/env python3
"""Benchmark of `bumpwright build` beside `kustomize build`: time, memory, and how both grow with the input.

Generated kustomizations: `fleet` (an overlay over hundreds of bases), `wide` (thousands of objects in one directory) and
`deep` (overlays on overlays), each in several sizes. Both programs build the same folder in the same round and must
print the same bytes. Prints a Markdown table of medians; growth is the exponent from the smallest to the largest size."""

import argparse
import math
import os
import shutil
import statistics
import sys

import kustomizations
from programs import binary, measured, scratch_folder, tool

SIZES = {"fleet": [0.5, 1, 2], "wide": [0.1, 0.2, 0.4], "deep": [1, 2, 4]}
# Here the other needs more than a minute of CPU time for one build.
LARGEST = {"wide": 1}
# Beside the medians: CPU seconds, share of the other's memory, exponent; at most.
CPU_TARGETS = {("fleet", 2): 0.5, ("wide", 1): 1.0}
MEMORY_TARGET, GROWTH_TARGET = 0.5, 1.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="without the largest size of each kind")
    options = parser.parse_args()
    command = options.command.split() if options.command else [binary(), "build"]
    with scratch_folder() as folder:
        programs = {"kustomize": [tool("kustomize"), "build"], "bumpwright": command}
        print(f"{os.cpu_count()} cores, median of {options.rounds}\n")
        print("| input | objects | program | wall s | CPU s | × kustomize | target | peak MB | × kustomize | target |")
        print("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|")
        growth = {kind: table(folder, programs, kind, options) for kind in SIZES}
    print(f"\n| growth of CPU time (target ≤ {GROWTH_TARGET}) | kustomize | bumpwright |\n|---|--:|--:|")
    for kind, (theirs, ours) in growth.items():
        print(f"| {kind} | {theirs} | {ours} |")


def table(folder, programs, kind, options):
    """One kind in all its sizes; gives both exponents."""
    sizes = SIZES[kind][:-1] if options.quick else [*SIZES[kind], *filter(None, [LARGEST.get(kind)])]
    medians = [row(folder, programs, kind, size, options.rounds) for size in sizes]
    steps = math.log(medians[-1][0] / medians[0][0])
    return [f"{math.log(medians[-1][1][name][1] / medians[0][1][name][1]) / steps:.2f}" for name in programs]


def row(folder, programs, kind, size, rounds):
    root = folder / f"{kind}-{size}"
    target = root / kustomizations.write(kind, root, size)
    # One build of the largest input by the other says enough.
    rounds = 1 if size == LARGEST.get(kind) else rounds
    # Programs inside, rounds outside: what slows the machine down for a while slows both down.
    measures = {name: [] for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            measures[name].append(measured(folder, [*command, str(target)], folder / f"{name}.yaml"))
    built = {name: (folder / f"{name}.yaml").read_bytes() for name in programs}
    if built["kustomize"] != built["bumpwright"]:
        sys.exit(f"{kind} ×{size}: the two print different objects")
    middle = {name: [statistics.median(column) for column in zip(*taken)] for name, taken in measures.items()}
    objects = built["bumpwright"].count(b"---\n") + 1
    _, peer_cpu, peer_memory = middle["kustomize"]
    for name, (wall, cpu, memory) in middle.items():
        ours = name == "bumpwright"
        cpu_target = f"≤ {CPU_TARGETS[kind, size]:.1f} s" if ours and (kind, size) in CPU_TARGETS else ""
        memory_target = f"≤ {MEMORY_TARGET}" if ours else ""
        print(f"| {kind} ×{size} | {objects:,} | {name} | {wall:.3f} | {cpu:.3f} | {cpu / peer_cpu:.3f} | {cpu_target} "
              f"| {memory:.0f} | {memory / peer_memory:.2f} | {memory_target} |", flush=True)
    shutil.rmtree(root)
    return objects if kind != "deep" else size, middle


if __name__ == "__main__":
    main()
