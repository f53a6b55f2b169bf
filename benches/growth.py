#!/usr/bin/env python3
"""How the costs of a controller grow with what it looks after: Kustomizations, image automations or sources, of several sizes.

For each phase and size: seconds, CPU seconds of the controller and of the API server, requests by verb without those of this benchmark
(dry runs apart), the peak and the resting memory. For each phase the growth exponent of each figure: the slope of a line through
log(figure) over log(size); 1 is linear. A real kube-apiserver and etcd share the machine, so seconds are theirs too."""

import argparse
import math
import os
import pathlib
import signal
import sys
import tempfile

import growth_images
import growth_kustomizations
import growth_sources
from programs import tool

PROJECT = pathlib.Path(__file__).resolve().parent.parent
OURS = {"kustomizations": "kustomize", "images": "image-reflector,image-automation", "one-branch": "image-reflector,image-automation",
        "sources": "source"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*OURS], nargs="?", default="kustomizations")
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--flux", action="store_true", help="Flux's controller beside it, for Kustomizations and sources")
    parser.add_argument("--only", help="one of the programs")
    parser.add_argument("--sizes", type=int, nargs="*", help="Kustomizations, automations or small repositories")
    parser.add_argument("--objects", type=int, default=20, help="applied by each Kustomization")
    parser.add_argument("--per-namespace", type=int, default=20, help="Kustomizations in a namespace")
    parser.add_argument("--tags", type=int, default=1000, help="of each image repository")
    parser.add_argument("--large", type=int, nargs=2, default=(0, 0), metavar=("COMMITS", "FILES"), help="one large source besides")
    parser.add_argument("--bytes", type=int, default=0, help="that do not compress in each source; three more revisions of each show the retention")
    parser.add_argument("--servers", type=int, default=1, help="addresses that the repositories are dealt to")
    parser.add_argument("--rest", type=float, default=20, help="seconds before the resting memory is read")
    parser.add_argument("--flags", nargs="*", default=[], help="further flags of bumpwright, without their dashes")
    parser.add_argument("--quick", action="store_true", help="two small sizes, about a minute")
    options = parser.parse_args()
    # Ended from outside, it ends what it has started all the same.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.quick:
        options.sizes, options.rest, options.tags = [10, 20], 1, 50
    options.sizes = options.sizes or {"kustomizations": [100, 500, 2000], "images": [100, 300, 1000], "one-branch": [50, 200],
                                      "sources": [100, 500]}[options.what]
    for name, program in programs(options).items():
        print(f"\n## {options.what}: {name}\n\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the beginning\n", flush=True)
        runs = {}
        for size in options.sizes:
            print(f"{name}, {size}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
                runs[size] = measured(pathlib.Path(folder), options, program, size)
        table(runs)


def programs(options):
    """A command and its flags for each program."""
    ours = [str(pathlib.Path(options.binary).resolve()), "controller", f"--controllers={OURS[options.what]}"]
    flags = ["--storage-path={storage}", *(f"--{flag}" for flag in options.flags)]
    found = {"bumpwright": (ours, flags)}
    if options.flux and options.what == "kustomizations":
        found["kustomize-controller"] = ([str(tool("kustomize-controller"))], [])
    if options.flux and options.what == "sources":
        found["source-controller"] = ([str(tool("source-controller"))], ["--storage-path={storage}"])
    return {name: program for name, program in found.items() if options.only in (None, name)}


def measured(folder, options, program, size):
    match options.what:
        case "kustomizations":
            return growth_kustomizations.measured(folder / "k", options, program, size)
        case "images":
            shape = (max(1, size // 10), size, 2 * size, options.tags)
            return growth_images.measured(folder / "i", options, program, shape)
        case "one-branch":
            return growth_images.measured(folder / "i", options, program, (1, size, size, options.tags))
        case "sources":
            return growth_sources.measured(folder / "s", options, program, (size, *options.large))


def table(runs):
    print("| phase | size | s | CPU s | server CPU s | requests | by verb | peak MiB | rest MiB |\n|---|--:|--:|--:|--:|--:|---|--:|--:|")
    names = [phase.name for phase in next(iter(runs.values()))]
    for place, name in enumerate(names):
        for size, phases in runs.items():
            one = phases[place]
            verbs = ", ".join(f"{verb} {count}" for verb, count in [*sorted(one.requests.items()), *one.other.items()])
            print(f"| {name} | {size} | {one.seconds:.1f} | {one.cpu:.2f} | {one.server_cpu:.1f} | {one.total()} | {verbs} "
                  f"| {one.peak:.0f} | {one.rest:.0f} |")
        if len(runs) > 1:
            figures = [lambda one: one.seconds, lambda one: one.cpu, lambda one: one.server_cpu, lambda one: one.total()]
            slopes = " | ".join(exponent([(size, figure(phases[place])) for size, phases in runs.items()]) for figure in figures)
            print(f"| | exponent | {slopes} | | | |")
    sys.stdout.flush()


def exponent(points):
    """The slope of the line of least squares through the logarithms."""
    points = [(math.log(size), math.log(figure)) for size, figure in points if figure > 0]
    if len(points) < 2:
        return "–"
    middle = [sum(axis) / len(points) for axis in zip(*points)]
    across = sum((x - middle[0]) ** 2 for x, _ in points)
    return f"**{sum((x - middle[0]) * (y - middle[1]) for x, y in points) / across:.2f}**"


if __name__ == "__main__":
    main()
