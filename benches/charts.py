#!/usr/bin/env python3
"""Benchmark of charts: an index of 30 MB, and many HelmCharts of one repository, by `bumpwright controller` and beside it by Flux's
source-controller (built by tests/tools/prepare).

A real kube-apiserver and etcd share the machine with a server of this script; the two controllers run one after the other, each round in
a namespace and a process of its own. Prints a Markdown table of medians: for the index the CPU seconds until its artifact is in the
status and the largest memory until then, and the CPU seconds of asking again; for the charts the CPU seconds until all have artifacts and of
one look at all of them, and the memory afterwards."""

import argparse
import hashlib
import http.server
import io
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import servers as parts
import sources
from programs import tool

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=PROJECT / "target/dist/bumpwright")
    parser.add_argument("--versions", type=int, default=50000)
    parser.add_argument("--charts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="2,000 versions, 20 charts, one round")
    options = parser.parse_args()
    if options.quick:
        options.versions, options.charts, options.rounds = 2000, 20, 1
    for kind, plural in (("HelmRepository", "helmrepositories"), ("HelmChart", "helmcharts")):
        parts.PATHS[kind] = ("/apis/source.toolkit.fluxcd.io/v1", plural)
    server = Charts(options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="bumpwright-bench-") as folder:
        measure(pathlib.Path(folder), server, options)


def measure(folder, server, options):
    with parts.Servers(f"cluster={tool('flux-crds')}") as cluster:
        programs = {
            "bumpwright": [str(pathlib.Path(options.binary).resolve()), "controller", "--controllers=source,helm"],
            "source-controller": [str(tool("source-controller"))],
        }
        columns = {name: [] for name in programs}
        # Programs inside, rounds outside: what slows the machine down for a while slows all rows down.
        for number in range(options.rounds):
            for name, command in programs.items():
                columns[name].append(Round(folder, cluster, server, f"{name}-{number}", command).measured(options))
    size = len(server.index) / 1e6
    print(f"index of {size:.0f} MB, {options.charts} charts, median of {options.rounds}\n")
    print("| program | index: CPU s | peak MiB | again: CPU s | charts: CPU s | look at all: CPU s | MiB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, rounds in columns.items():
        figures = [statistics.median(column) for column in zip(*rounds)]
        first, peak, again, made, look, rest = figures
        print(f"| {name} | {first:.2f} | {peak:.0f} | {again:.2f} | {made:.2f} | {look:.2f} | {rest:.0f} |")


class Charts(http.server.ThreadingHTTPServer):
    """A repository of charts: each name has many versions, of which the newest are asked for."""

    def __init__(self, options):
        super().__init__(("127.0.0.1", 0), Answer)
        self.names = [f"chart-{number}" for number in range(max(options.charts, 1))]
        self.index = index(self.names, options.versions).encode()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.endswith("/index.yaml"):
            return self.answer(self.server.index, etag='"1"')
        name, version = self.path.rsplit("/", 1)[1].removesuffix(".tgz").rsplit("-", 1)
        return self.answer(chart(name, version))

    def answer(self, body, etag=None):
        known = etag and self.headers.get("If-None-Match") == etag
        self.send_response(304 if known else 200)
        if etag:
            self.send_header("ETag", etag)
        self.send_header("Content-Length", "0" if known else str(len(body)))
        self.end_headers()
        if not known:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def index(names, versions):
    lines = ["apiVersion: v1", "entries:"]
    each = max(versions // len(names), 1)
    for name in names:
        lines.append(f"  {name}:")
        for number in range(each):
            version = f"1.{number}.0"
            lines += [
                "  - apiVersion: v2", f"    appVersion: {version}", '    created: "2026-01-01T00:00:00.000000000Z"',
                f"    description: A chart that deploys {name} on a cluster, with all that belongs to it, as the real ones say at length",
                f"    digest: {hashlib.sha256(f'{name}-{version}'.encode()).hexdigest()}" if number < each - 1 else "    home: https://example.com/",
                "    keywords:", "    - example", "    - bench", f"    name: {name}",
                "    maintainers:", "    - email: somebody@example.com", "      name: Somebody",
                "    sources:", f"    - https://git.example.com/charts/{name}", "    type: application",
                "    urls:", f"    - {name}-{version}.tgz", f"    version: {version}",
            ]
    lines.append('generated: "2026-01-01T00:00:00Z"')
    return "\n".join(lines) + "\n"


def chart(name, version):
    out = io.BytesIO()
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n", "values.yaml": "replicas: 1\n"}
    files |= {f"templates/{number}.yaml": f"kind: ConfigMap\nmetadata: {{name: a-{number}}}\n" * 40 for number in range(20)}
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class Round(sources.Round):
    """A controller with a namespace and a storage of its own."""

    def __init__(self, folder, cluster, server, name, command):
        super().__init__(folder, cluster, None, name, command)
        self.server = server

    def begun(self):
        log = open(self.storage / "log", "w")
        self.process = subprocess.Popen(self.command, env=self.env, stdout=log, stderr=log)
        self.wait(lambda: sources.is_ready(self.ready))

    def measured(self, options):
        self.begun()
        try:
            return [*self.repository(), *self.charts()]
        finally:
            self.process.terminate()
            self.process.wait()

    def repository(self):
        cpu = self.cpu()
        self.kube.create("HelmRepository", self.namespace, "charts", spec={"interval": "1h", "url": self.server.url})
        status = lambda: self.kube.get("HelmRepository", self.namespace, "charts").get("status", {})
        self.wait(lambda: "artifact" in status())
        first, peak = self.cpu() - cpu, self.memory("VmHWM")
        cpu = self.cpu()
        self.kube.reconcile("HelmRepository", self.namespace, "charts", "again")
        self.wait(lambda: status().get("lastHandledReconcileAt") == "again")
        return [first, peak, self.cpu() - cpu]

    def charts(self):
        cpu, names = self.cpu(), self.server.names
        source = {"kind": "HelmRepository", "name": "charts"}
        for name in names:
            self.kube.create("HelmChart", self.namespace, name, spec={"interval": "1h", "chart": name, "version": "*", "sourceRef": source})
        self.wait(lambda: sum("artifact" in status for status in self.statuses()) == len(names))
        time.sleep(2)
        made = self.cpu() - cpu
        cpu = self.cpu()
        for name in names:
            self.kube.reconcile("HelmChart", self.namespace, name, "again")
        self.wait(lambda: sum(status.get("lastHandledReconcileAt") == "again" for status in self.statuses()) == len(names))
        look = self.cpu() - cpu
        time.sleep(10)
        return [made, look, self.memory("VmRSS")]

    def statuses(self):
        return [item.get("status", {}) for item in self.kube.get("HelmChart", self.namespace)["items"]]


if __name__ == "__main__":
    sys.exit(main())
