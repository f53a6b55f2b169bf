#!/usr/bin/env python3
"""Benchmark of charts beside Helm 4.

A small chart of six objects: one `helm template` as a process, and 589 releases of it in one process of ours beside as many
processes of Helm's. An umbrella of 40 subcharts. Then how the time grows with the templates, the values and the calls of `tpl` of
one chart. Ours and Helm's print the same bytes, which is compared first. Rounds of both alternate; Markdown tables of medians."""

import argparse
import math
import os
import statistics
import subprocess
import sys

from programs import bench, binary, measured, scratch_folder, tool

RELEASES = 589
ROUNDS = 7
# At most: milliseconds of one process, CPU seconds and MB of all releases, times Helm's CPU for the umbrella, exponent of growth.
PROCESS, ALL_CPU, ALL_MEMORY, UMBRELLA, EXPONENT = 15, 0.3, 100, 0.1, 1.05

HELPERS = """{{- define "web.name" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "web.labels" -}}
app.kubernetes.io/name: {{ include "web.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
"""
VALUES = """replicas: 1
image: {repository: ghcr.io/example/web, tag: 1.0.0, pullPolicy: IfNotPresent}
service: {type: ClusterIP, port: 80}
resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
env: {LOG_LEVEL: info, REGION: eu}
host: "{{ .Release.Name }}.example.com"
ingress: {enabled: true, className: nginx}
"""
HEAD = """metadata:
  name: {{ include "web.name" . }}
  labels: {{- include "web.labels" . | nindent 4 }}
"""
OBJECTS = {
    "deployment": "apiVersion: apps/v1\nkind: Deployment\n" + HEAD + """spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app.kubernetes.io/name: {{ include "web.name" . }}}}
  template:
    metadata:
      labels: {{- include "web.labels" . | nindent 8 }}
    spec:
      containers:
        - name: {{ .Chart.Name }}
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          env:
            {{- range $name, $value := .Values.env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
""",
    "service": "apiVersion: v1\nkind: Service\n" + HEAD + """spec:
  type: {{ .Values.service.type }}
  ports: [{port: {{ .Values.service.port }}, targetPort: http}]
""",
    "account": "apiVersion: v1\nkind: ServiceAccount\n" + HEAD,
    "config": "apiVersion: v1\nkind: ConfigMap\n" + HEAD + "data: {{- toYaml .Values.env | nindent 2 }}\n",
    "budget": "apiVersion: policy/v1\nkind: PodDisruptionBudget\n" + HEAD + "spec: {minAvailable: 1}\n",
    "ingress": "{{- if .Values.ingress.enabled }}\napiVersion: networking.k8s.io/v1\nkind: Ingress\n" + HEAD + """spec:
  ingressClassName: {{ .Values.ingress.className }}
  rules: [{host: {{ tpl .Values.host . }}}]
{{- end }}
""",
}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def small(name="web"):
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 1.0.0\nappVersion: '7'\n", "values.yaml": VALUES,
             "templates/_helpers.tpl": HELPERS}
    return files | {f"templates/{object}.yaml": text for object, text in OBJECTS.items()}


def umbrella(subcharts=40):
    files = {"Chart.yaml": "apiVersion: v2\nname: umbrella\nversion: 1.0.0\n", "values.yaml": "global: {region: eu}\n"}
    for number in range(subcharts):
        name = f"part{number}"
        files |= {f"charts/{name}/{path}": text for path, text in small(name).items()}
    return files


def grown(what, size):
    """A chart in which only one thing grows."""
    files = {"Chart.yaml": "apiVersion: v2\nname: grown\nversion: 1.0.0\n", "templates/_helpers.tpl": HELPERS, "values.yaml": VALUES}
    if what == "templates":
        return files | {f"templates/config{number}.yaml": OBJECTS["config"] for number in range(size)}
    if what == "values":
        many = "".join(f"  key{number}: {{a: {number}, b: [x, y], c: text}}\n" for number in range(size))
        return files | {"values.yaml": VALUES + "many:\n" + many, "templates/a.yaml": "kind: A\nmany: {{- toYaml .Values.many | nindent 2 }}\n"}
    calls = "kind: A\nall:\n{{- range until %d }}\n- {{ tpl $.Values.host $ }}\n{{- end }}\n" % size
    return files | {"templates/a.yaml": calls}


GROWTH = {"templates": (100, 1600), "values": (1000, 16000), "calls of tpl": (500, 8000)}


def medians(folder, commands, rounds, env):
    """CPU seconds and MB of each command."""
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(measured(folder, command, folder / f"{name}.out", env=env))
    return {name: [statistics.median(column) for column in zip(*all)] for name, all in runs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", help="what to measure instead of target/dist/bumpwright")
    options = parser.parse_args()
    ours = options.command.split() if options.command else [binary()]
    helm = tool("helm4")
    with scratch_folder() as folder:
        env = {**os.environ, "HOME": str(folder), "KUBECONFIG": str(folder / "none")}
        charts = {"six objects": write(folder / "web", small()), "an umbrella of 40 such charts": write(folder / "umbrella", umbrella())}
        print(f"{os.cpu_count()} cores, median of {ROUNDS}\n")
        print("| one process | program | wall ms | CPU ms | × helm | peak MB |\n|---|---|--:|--:|--:|--:|")
        for label, chart in charts.items():
            rows = medians(folder, {"helm": [helm, "template", "rel", chart], "ours": [*ours, "helm", "template", "rel", chart]}, ROUNDS, env)
            if (folder / "helm.out").read_bytes() != (folder / "ours.out").read_bytes():
                sys.exit(f"{label}: not what helm prints")
            for name, (wall, cpu, memory) in rows.items():
                print(f"| {label} | {name} | {wall * 1e3:.1f} | {cpu * 1e3:.1f} | {cpu / rows['helm'][1]:.3f} | {memory:.0f} |")
        print(f"\ntargets: a process of the small one in {PROCESS} ms, the umbrella in {UMBRELLA} × helm's CPU\n")
        releases(folder, helm, charts["six objects"], env)
        print("\n| grows | by | CPU ms before | after | exponent (target ≤ %.2f) | helm's |\n|---|--:|--:|--:|--:|--:|" % EXPONENT)
        for what, sizes in GROWTH.items():
            growth(folder, ours, helm, what, sizes, env)


def releases(folder, helm, chart, env):
    """All releases: in one process of ours, and a tenth of them as processes of Helm's."""
    loop = f'for n in $(seq {RELEASES // 10}); do "$0" template web-$n "$1" --namespace apps --set replicas=$n; done'
    rows = medians(folder, {"ours": [bench("helm"), chart, str(RELEASES)], "helm": ["sh", "-c", loop, helm, chart]}, 3, env)
    wall, cpu, memory = rows["ours"]
    peer = rows["helm"][1] * RELEASES / (RELEASES // 10)
    print(f"{RELEASES} releases in one process: {cpu:.3f} CPU s (target {ALL_CPU}), {cpu / peer:.4f} × a loop of helm ({peer:.1f} s), "
          f"{memory:.0f} MB (target {ALL_MEMORY})")


def growth(folder, ours, helm, what, sizes, env):
    cpu = {}
    for size in sizes:
        chart = write(folder / f"{what} {size}", grown(what, size))
        rows = medians(folder, {"ours": [*ours, "helm", "template", "rel", chart], "helm": [helm, "template", "rel", chart]}, 3, env)
        if (folder / "helm.out").read_bytes() != (folder / "ours.out").read_bytes():
            sys.exit(f"{what}, {size}: not what helm prints")
        cpu[size] = {name: row[1] for name, row in rows.items()}
    base = {name: statistics.median([measured(folder, command, folder / "base.out", env=env)[1] for _ in range(5)])
            for name, command in {"ours": [*ours, "version"], "helm": [helm, "version"]}.items()}
    few, many = sizes
    exponent = {name: math.log(max(cpu[many][name] - base[name], 1e-4) / max(cpu[few][name] - base[name], 1e-4)) / math.log(many / few)
                for name in base}
    print(f"| {what} | {many // few} × | {cpu[few]['ours'] * 1e3:.1f} | {cpu[many]['ours'] * 1e3:.1f} | {exponent['ours']:.2f} | {exponent['helm']:.2f} |")


if __name__ == "__main__":
    main()
