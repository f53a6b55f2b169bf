#!/usr/bin/env python3
"""Benchmark of decryption: a folder of Secrets that the real sops has encrypted with age, one data key for each.

`bumpwright build -k` decrypts and prints them all, beside `sops -d` called for one file after the other; and `bumpwright controller`
reconciles a Kustomization of them beside Flux's kustomize-controller (both programs and sops are built by tests/tools/prepare), each
in a namespace and a process of its own, with a real kube-apiserver on the same machine. Prints Markdown tables of medians."""

import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import apply
from programs import tool
from sources import PROJECT, Git

KEY = json.loads((PROJECT / "fixtures/sops/keys.json").read_text())["age1"]
ENCRYPTED = "^(data|stringData)$"
TARGETS = {"sops": 0.05, "kustomize-controller": 0.3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--secrets", type=int, default=1000)
    parser.add_argument("--values", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-controllers", action="store_true", help="measure the command alone")
    parser.add_argument("--quick", action="store_true", help="a tenth of the Secrets, once")
    options = parser.parse_args()
    if options.quick:
        options.secrets, options.rounds = options.secrets // 10, 1
    options.binary = pathlib.Path(options.binary).resolve()
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        folder = pathlib.Path(folder)
        secrets = encrypted(folder / "secrets", options)
        command(folder, secrets, options)
        if not options.no_controllers:
            controllers(folder, secrets, options)


def environment(folder):
    """sops sees no keys and settings but those of this benchmark."""
    key = folder / "age.agekey"
    key.write_text(KEY["private"])
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "SOPS_AGE_KEY_FILE": str(key), "SOPS_DISABLE_VERSION_CHECK": "1"}


def value(number, key):
    return f"password-{number}-{key}-" + "x" * 24


def encrypted(folder, options):
    """The Secrets, encrypted by as many sops at once as there are cores."""
    folder.mkdir()
    env = environment(folder.parent)
    began = time.time()
    files = []
    for number in range(options.secrets):
        values = "".join(f"  key-{key}: {value(number, key)}\n" for key in range(options.values))
        file = folder / f"secret-{number}.yaml"
        file.write_text(f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: secret-{number}\nstringData:\n{values}")
        files.append(file)

    def encrypt(file):
        arguments = ["encrypt", "--age", KEY["public"], "--encrypted-regex", ENCRYPTED, "--in-place", str(file)]
        subprocess.run([tool("sops"), *arguments], env=env, cwd=folder, check=True, capture_output=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(encrypt, files))
    print(f"{options.secrets:,} Secrets of {options.values} values encrypted in {time.time() - began:.0f} s", file=sys.stderr)
    return folder


def command(folder, secrets, options):
    """`build -k` beside a loop over `sops -d`."""
    env = environment(folder)
    kustomization = folder / "kustomization.yaml"
    kustomization.write_text(
        f"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: bench\n  namespace: default\nspec:\n  interval: 1h\n"
        "  prune: true\n  path: ./\n  sourceRef:\n    kind: GitRepository\n    name: bench\n  decryption:\n    provider: sops\n")
    arguments = ["build", "-k", str(kustomization), "--path", str(secrets), "--age-key-file", env["SOPS_AGE_KEY_FILE"]]
    ours = []
    for _ in range(max(options.rounds, 3)):
        began = time.time()
        done = subprocess.run([options.binary, *arguments], env=env, check=True, capture_output=True, text=True)
        ours.append(time.time() - began)
        check(done.stdout, options)
    began = time.time()
    for number in range(options.secrets):
        subprocess.run([tool("sops"), "-d", secrets / f"secret-{number}.yaml"], env=env, check=True, stdout=subprocess.DEVNULL)
    loop = time.time() - began
    share = statistics.median(ours) / loop
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, median of {len(ours)}; the loop once\n")
    print("| bumpwright build -k s | sops -d for each s | × sops | target |")
    print("|--:|--:|--:|--:|")
    print(f"| {statistics.median(ours):.3f} | {loop:.2f} | {marked(share, 'sops')} | {TARGETS['sops']} |\n")


def check(text, options):
    """All are there, and nothing is encrypted any more."""
    whole = text.count("kind: Secret") == options.secrets and "ENC[" not in text and "sops:" not in text
    last = base64.b64encode(value(options.secrets - 1, options.values - 1).encode()).decode()
    if not whole or last not in text:
        sys.exit("the build is not what was encrypted")


def marked(share, target):
    return f"{share:.3f}" + (" !" if share > TARGETS[target] else "")


def controllers(folder, secrets, options):
    git = Git(folder / "git")
    with apply.started(folder, git) as servers:
        programs = {
            "bumpwright": [str(options.binary), "controller", "--controllers=kustomize"],
            "kustomize-controller": [str(tool("kustomize-controller"))],
        }
        columns = {name: [] for name in programs}
        for number in range(options.rounds):
            for name, program in programs.items():
                one = Round(folder, servers, git, f"{name}-{number}", program, secrets)
                columns[name].append(one.measured())
        table(options, columns)


def table(options, columns):
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end, median of {options.rounds}\n")
    print("| program | first: s | CPU s | server CPU s | requests | nothing changed: s | CPU s | server CPU s | requests | peak MiB |")
    print("|---|" + "--:|" * 9)
    rows = {name: [statistics.median(column) for column in zip(*rounds)] for name, rounds in columns.items()}
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{cell:.0f}" if at in (3, 7, 8) else f"{cell:.2f}" for at, cell in enumerate(row)) + " |")
    shares = [ours / theirs for ours, theirs in zip(*rows.values())]
    times = (0, 4)
    cells = [marked(share, "kustomize-controller") if at in times else f"{share:.3f}" for at, share in enumerate(shares)]
    print("| × | " + " | ".join(cells) + " |")
    print(f"\ntarget of the times: {TARGETS['kustomize-controller']} ×")


class Round(apply.Round):
    """A controller that decrypts the Secrets of a repository of its own."""

    def __init__(self, folder, servers, git, name, command, secrets):
        self.secrets = secrets
        super().__init__(folder, servers, git, name, command, 1, len(list(secrets.iterdir())))

    def write(self, kustomization, number, value):
        shutil.copy(self.secrets / f"secret-{number}.yaml", self.work / kustomization)

    def spec(self, name):
        decryption = {"provider": "sops", "secretRef": {"name": "keys"}}
        return {**super().spec(name), "targetNamespace": self.name, "decryption": decryption}

    def prepare(self):
        super().prepare()
        self.create("Secret", "keys", stringData={"age.agekey": KEY["private"]})

    def steps(self):
        yield self.start, self.is_applied
        self.check()
        time.sleep(1)
        yield lambda: self.request("again"), lambda: self.is_handled("again")

    def check(self):
        """The last one has its data, and no metadata of SOPS."""
        self.asked += 1
        last = self.kube.get("Secret", self.name, f"secret-{self.objects - 1}")
        if "sops" in last or not last.get("data"):
            sys.exit(f"{self.name}: what was applied is not decrypted")


if __name__ == "__main__":
    main()
