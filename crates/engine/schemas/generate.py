#!/usr/bin/env python3
"""Writes kubernetes.txt: the schemas of Kubernetes' own kinds in several minor versions, in the form that README.md describes.

Run by hand, with Go on the PATH: the releases come as Go modules. `--minors 1.34=v1.34.4,…` takes others than the ones below.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import zipfile

RELEASES = {"1.32": "v1.32.13", "1.33": "v1.33.13", "1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
HERE = pathlib.Path(__file__).resolve().parent

SHORT = (
    ("io.k8s.api.", ""),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.", "meta.v1."),
    ("io.k8s.apiextensions-apiserver.pkg.apis.", ""),
    ("io.k8s.kube-aggregator.pkg.apis.", ""),
)
# What reads itself from JSON in Go, and is not what the specification says.
OWN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
}
SCALARS = {
    ("string", None): "string",
    ("string", "byte"): "bytes",
    ("integer", None): "int64",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", None): "number",
    ("number", "double"): "number",
    ("boolean", None): "boolean",
}
WITHOUT_BODY = ("get", "list")


def release(version):
    """The archive of a release, through Go's own client."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}"]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=False, cwd="/")
    answer = json.loads(said.stdout)
    if "Zip" not in answer:
        sys.exit(f"k8s.io/kubernetes@{version}: {answer.get('Error', 'not served')}")
    return zipfile.ZipFile(answer["Zip"])


def read(archive, version, path):
    return archive.read(f"k8s.io/kubernetes@{version}/{path}").decode()


def short(name):
    for prefix, by in SHORT:
        if name.startswith(prefix):
            return by + name[len(prefix) :]
    return name


def function_of(name):
    """The function of zz_generated.openapi.go for a definition."""
    *package, kind = name.removeprefix("io.k8s.").split(".")
    return "_".join((["k8sio"] + package)[-4:] + [kind])


def enums_of(source):
    """By function and field: the values that the server lists. The published specification leaves them out."""
    enums, function, field = {}, None, None
    for line in source.splitlines():
        if found := re.match(r"func schema_(\w+)\(", line):
            function = found[1]
        elif found := re.match(r'\t{5}"([^"]+)": \{$', line):
            field = found[1]
        elif found := re.match(r"\t{7}Enum: +\[\]interface\{\}\{(.*)\},$", line):
            enums[function, field] = json.loads(f"[{found[1]}]")
    return enums


class Minor:
    """One minor version: its definitions as lines, and its kinds."""

    def __init__(self, version):
        archive = release(version)
        self.spec = json.loads(read(archive, version, "api/openapi-spec/swagger.json"))
        self.enums = enums_of(read(archive, version, "pkg/generated/openapi/zz_generated.openapi.go"))
        self.kinds = self.read_kinds()
        self.definitions = {}
        waiting = [kind[-1] for kind in self.kinds.values()]
        while waiting:
            name = waiting.pop()
            if name not in self.definitions:
                self.definitions[name] = fields = self.fields(name)
                for kind, _ in fields.values():
                    waiting += re.findall(r"@(\S+)", kind)

    def read_kinds(self):
        """By group, version and kind: scope and definition. Lists and what is below an object (`pods/eviction`) are none."""
        kinds = {}
        for path, operations in self.spec["paths"].items():
            namespaced = "/namespaces/{namespace}/" in path
            below = path.split("/namespaces/{namespace}/")[-1] if namespaced else path
            if "/watch/" in path or re.search(r"\{\w+\}/", below):
                continue
            for method, operation in operations.items():
                kind = operation.get("x-kubernetes-group-version-kind") if isinstance(operation, dict) else None
                action = operation.get("x-kubernetes-action") if kind else None
                if action == "post":
                    body = next(given for given in operation["parameters"] if given["name"] == "body")["schema"]
                elif action == "get":
                    body = operation["responses"]["200"]["schema"]
                else:
                    continue
                key = kind["group"], kind["version"], kind["kind"]
                kinds[key] = ("N" if namespaced else "C", body["$ref"].rsplit("/", 1)[-1])
        return kinds

    def fields(self, name):
        definition = self.spec["definitions"][name]
        required = definition.get("required", [])
        fields = {}
        for field, schema in sorted(definition.get("properties", {}).items()):
            kind = self.kind(schema)
            if values := self.enums.get((function_of(name), field)):
                kind += "=" + "|".join(values)
            fields[field] = (kind, field in required)
        return fields

    def kind(self, schema):
        if name := schema.get("$ref"):
            name = name.rsplit("/", 1)[-1]
            definition = self.spec["definitions"][name]
            if name in OWN:
                return OWN[name]
            if definition.get("type") == "object":
                return f"@{name}"
            return self.kind(definition) if "type" in definition else "any"
        kind = schema.get("type")
        if kind == "array":
            return "[]" + self.kind(schema["items"])
        if kind == "object":
            return "{}" + self.kind(schema["additionalProperties"]) if "additionalProperties" in schema else "any"
        if kind is None:
            return "any"
        return SCALARS[kind, schema.get("format")]


def required_later(minors, name, field, index):
    """Whether this minor version or a later one requires a field: servers never ask for more, so what is written down later held before."""
    return any(minor.definitions.get(name, {}).get(field, ("", False))[1] for minor in minors[index:])


def enforced(name, field, kind, required, lenient):
    """A field as the server takes it, by lenient.txt."""
    if (name, field, "required") in lenient:
        required = False
    if (name, field, "enum") in lenient:
        kind = kind.split("=")[0]
    return kind, required


def lenient_of(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(line.split()) for line in lines if line and not line.startswith("#")}


def mask(of, count):
    """The minor versions as hexadecimal bits, the oldest lowest; nothing for all of them."""
    return "" if len(of) == count else f" {sum(1 << index for index in of):x}"


def table(minors, lenient):
    count = len(minors)
    lines = []
    for name in sorted({name for minor in minors for name in minor.definitions}):
        lines.append(short(name))
        fields = {}
        for index, minor in enumerate(minors):
            for field, (kind, _) in minor.definitions.get(name, {}).items():
                required = required_later(minors, name, field, index)
                kind, required = enforced(short(name), field, kind, required, lenient)
                fields.setdefault((field, kind, required), []).append(index)
        there = [index for index, minor in enumerate(minors) if name in minor.definitions]
        for (field, kind, required), of in sorted(fields.items()):
            kind = re.sub(r"@(\S+)", lambda found: "@" + short(found[1]), kind)
            of = list(range(count)) if of == there else of
            lines.append(f" {field}{'!' * required} {kind}{mask(of, count)}")
    lines.append("")
    kinds = {}
    for index, minor in enumerate(minors):
        for key, (scope, name) in minor.kinds.items():
            kinds.setdefault((*key, scope, name), []).append(index)
    for (group, version, kind, scope, name), of in sorted(kinds.items()):
        lines.append(f"{group + '/' if group else ''}{version} {kind} {scope} {short(name)}{mask(of, count)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minors", default=",".join("=".join(one) for one in RELEASES.items()))
    parser.add_argument("--all-required", action="store_true", help="without lenient.txt, for probe.py")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "kubernetes.txt")
    given = parser.parse_args()
    releases = [one.split("=") for one in given.minors.split(",")]
    lenient = set() if given.all_required else lenient_of(HERE / "lenient.txt")
    lines = [" ".join(minor for minor, _ in releases)]
    lines += table([Minor(version) for _, version in releases], lenient)
    given.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
