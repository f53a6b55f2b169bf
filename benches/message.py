#!/usr/bin/env python3
"""Benchmark of commit messages beside Go's `text/template` with Sprig.

The documents' templates over 4,000 generated changes. The Go program is built here (its modules come through the
ordinary module proxy). Rounds of both alternate; the table has medians and their ratio. Where Go's map order leaves the
message open, the outputs cannot be compared; elsewhere they must be equal."""

import pathlib
import shutil
import statistics
import subprocess
import sys
import json
import tempfile

from programs import bench

HERE = pathlib.Path(__file__).resolve().parent
CHANGES = 4000
ROUNDS = 9
TARGET = 0.5

CHANGED = """Automated image update

Automation name: {{ .AutomationObject }}

Files:
{{ range $filename, $_ := .Changed.FileChanges -}}
- {{ $filename }}
{{ end -}}

Objects:
{{ range $resource, $changes := .Changed.Objects -}}
- {{ $resource.Kind | lower }} {{ $resource.Name | lower }}
  Changes:
{{- range $_, $change := $changes }}
  {{ if contains "5.0.3" $change.NewValue -}}
    - {{ $change.OldValue }} -> {{ $change.NewValue }}
  {{ else -}}
    [skip ci] wrong image
  {{ end -}}
{{ end -}}
{{ end -}}
"""

GERRIT = """Perform automatic image update

Automation name: {{ .AutomationObject }}

Files:
{{ range $filename, $_ := .Updated.Files -}}
- {{ $filename }}
{{ end }}
Objects:
{{ range $resource, $_ := .Updated.Objects -}}
- {{ $resource.Kind }} {{ $resource.Name }}
{{ end }}
Images:
{{ range .Updated.Images -}}
- {{ . }}
{{ end }}
{{- $ChangeId := .AutomationObject -}}
{{- $ChangeId = printf "%s%s" $ChangeId ( .Updated.Files | toString ) -}}
{{- $ChangeId = printf "%s%s" $ChangeId ( .Updated.Objects | toString ) -}}
{{- $ChangeId = printf "%s%s" $ChangeId ( .Updated.Images | toString ) }}
Change-Id: {{ printf "I%s" ( sha256sum $ChangeId | trunc 40 ) }}
"""


def main():
    if not shutil.which("go"):
        sys.exit("go is not installed: there is nothing to compare with")
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        folder = pathlib.Path(folder)
        peer = folder / "gotemplate"
        subprocess.run(["go", "build", "-o", peer, "."], cwd=HERE / "gotemplate", check=True)
        print(f"{CHANGES} changes, median of {ROUNDS}\n")
        print("| template | bumpwright ms | Go ms | × Go | target |")
        print("|---|--:|--:|--:|--:|")
        v1, v1beta1 = [{key: value for key, value in data().items() if key != other} for other in ("images", "changes")]
        row(folder, peer, "v1: objects and changes", CHANGED, v1, False)
        row(folder, peer, "004: Gerrit", GERRIT, v1beta1, True)


def row(folder, peer, name, template, values, is_open):
    (folder / "template").write_text(template)
    (folder / "data.json").write_text(json.dumps(values))
    ours, theirs, hashes = [], [], set()
    for _ in range(ROUNDS):
        for program, times in [(bench("message"), ours), (peer, theirs)]:
            command = [program, folder / "template", folder / "data.json", "3"]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            # The first round of a process pays for its memory.
            times.append(min(int(line) for line in lines[1:-1]) / 1e6)
            hashes.add(lines[-1])
    if not is_open and len(hashes) != 1:
        sys.exit(f"{name}: the outputs differ")
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    mark = "" if ours / theirs <= TARGET else " !"
    print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f}{mark} | {TARGET} |")


def data():
    """4,000 images, each in an object and a file of its own."""
    changes, images = [], []
    for n in range(CHANGES):
        file = f"apps/team-{n % 37}/app-{n // 10}.yaml"
        kind = ["Deployment", "StatefulSet", "CronJob"][n % 3]
        thing = {"apiVersion": "apps/v1", "kind": kind, "namespace": f"team-{n % 37}", "name": f"app-{n}"}
        image, tag = f"ghcr.io/acme/app-{n}", ["5.0.3", "1.2.3"][n % 2]
        change = {"OldValue": f"{image}:1.0.0", "NewValue": f"{image}:{tag}", "Setter": f"flux-system:app-{n}"}
        changes.append({"file": file, "object": thing, "changes": [change]})
        ref = {"ref": f"{image}:{tag}", "policy": {"namespace": "flux-system", "name": f"app-{n}"}}
        images.append({"file": file, "object": thing, "refs": [ref]})
    name = {"namespace": "flux-system", "name": "apps"}
    return {"automationObject": name, "values": {}, "changes": changes, "images": images}


if __name__ == "__main__":
    main()
