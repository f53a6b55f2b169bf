#!/usr/bin/env python3
"""Asks an API server which required fields and which listed values of its own kinds it enforces, and prints the others: lenient.txt.

    generate.py --all-required --output all.txt
    probe.py all.txt 1.34 https://localhost:6443 TOKEN >lenient.txt

The server serves all versions (`--runtime-config=api/all=true`). Nothing is written there: every request is a dry run.
"""

import copy
import http.client
import json
import re
import ssl
import sys
import urllib.parse

TEXTS = {"name": "x", "kind": "Deployment", "apiVersion": "apps/v1", "apiGroup": "rbac.authorization.k8s.io", "mountPath": "/x", "path": "/x"}
SCALARS = {
    "string": "x",
    "bytes": "eA==",
    "int32": 1,
    "int64": 1,
    "number": 1,
    "boolean": True,
    "quantity": "1",
    "int-or-string": 1,
    "time": "2024-01-01T00:00:00Z",
    "microtime": "2024-01-01T00:00:00.000000Z",
    "any": {},
}
DEEPEST = 12
# Where the fields that the schema requires are not enough for the server to look further.
LEAST = {
    "meta.v1.LabelSelector": {"matchLabels": {"x": "x"}},
    "core.v1.PodTemplateSpec": {
        "metadata": {"labels": {"x": "x"}},
        "spec": {"containers": [{"name": "x", "image": "x"}], "restartPolicy": "Never"},
    },
}


class Server:
    def __init__(self, url, token):
        there = urllib.parse.urlparse(url)
        context = ssl._create_unverified_context()
        self.connection = http.client.HTTPSConnection(there.hostname, there.port, context=context)
        self.headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self.plurals = {}

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body and json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}

    def plural(self, base, kind):
        if base not in self.plurals:
            resources = self.ask("GET", base)[1].get("resources", [])
            self.plurals[base] = {one["kind"]: one["name"] for one in resources if "/" not in one["name"]}
        return self.plurals[base].get(kind)

    def faults(self, kind, sent):
        """What the server says against an object: none when it takes it, None when it does not know the kind."""
        base = "/api/v1" if "/" not in kind.api_version else f"/apis/{kind.api_version}"
        plural = self.plural(base, kind.name)
        if plural is None:
            return None
        base += "/namespaces/default" if kind.namespaced else ""
        status, body = self.ask("POST", f"{base}/{plural}?dryRun=All&fieldValidation=Strict", sent)
        if status < 300:
            return set()
        causes = body.get("details", {}).get("causes", [])
        return {(cause.get("field", ""), cause.get("message", "")) for cause in causes} or {("", body.get("message", ""))}


class Kind:
    def __init__(self, words):
        self.api_version, self.name, scope, self.definition = words
        self.namespaced = scope == "N"


class Table:
    """The table as the server's minor version has it; a field is required if it is in any minor version."""

    def __init__(self, text, minor):
        definitions, kinds = text.split("\n\n")
        first, *definitions = definitions.splitlines()
        self.bit = 1 << first.split(" ").index(minor)
        self.kinds = [Kind(words) for words in map(self.words, kinds.splitlines()) if words]
        self.fields, required = {}, set()
        for line in definitions:
            if not line.startswith(" "):
                definition = line
                self.fields[definition] = {}
                continue
            field = line.split(" ")[1]
            if field.endswith("!"):
                required.add((definition, field.rstrip("!")))
            if words := self.words(line[1:]):
                self.fields[definition][field.rstrip("!")] = words[1]
        for definition, fields in self.fields.items():
            for field, kind in fields.items():
                fields[field] = (kind, (definition, field) in required)

    def words(self, line):
        """The words of a line but the mask; None if the mask leaves this minor version out."""
        *words, last = line.split(" ")
        if not re.fullmatch("[0-9a-f]{1,2}", last):
            return [*words, last]
        return words if int(last, 16) & self.bit else None

    def sample(self, kind, field, depth=0):
        if kind.startswith("[]"):
            return [self.sample(kind[2:], field, depth)]
        if kind.startswith("{}"):
            return {"x": self.sample(kind[2:], field, depth)}
        if kind.startswith("@"):
            return self.least(kind[1:], depth + 1)
        if "=" in kind:
            return next(value for value in kind.split("=")[1].split("|") if value)
        return TEXTS.get(field, "x") if kind == "string" else SCALARS[kind]

    def least(self, definition, depth=0):
        """An object with the fields that its definition requires."""
        if depth > DEEPEST:
            return {}
        if definition in LEAST:
            return copy.deepcopy(LEAST[definition])
        fields = self.fields[definition].items()
        return {name: self.sample(kind, name, depth) for name, (kind, required) in fields if required}

    def ways(self):
        """By definition: kinds, each with a shortest way to it. Status is not validated when an object is created."""
        ways = {}
        for kind in self.kinds:
            waiting, seen = [(kind.definition, [])], {kind.definition}
            while waiting:
                definition, way = waiting.pop(0)
                ways.setdefault(definition, []).append((kind, way))
                for name, (of, _) in self.fields[definition].items():
                    below = of.split("@")[-1] if "@" in of else None
                    if below and below not in seen and (way or name != "status"):
                        seen.add(below)
                        waiting.append((below, way + [(name, of)]))
        return ways

    def at(self, kind, way):
        """An object of a kind, and the innermost part of it that the way leads to."""
        whole = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "x"}, **self.least(kind.definition)}
        if "spec" in self.fields[kind.definition]:
            whole.setdefault("spec", self.sample(self.fields[kind.definition]["spec"][0], "spec"))
        part = whole
        for name, of in way:
            part = part.setdefault(name, self.sample(of, name))
            while isinstance(part, list) or (of.startswith("{}")):
                of = of[2:]
                part = part[0] if isinstance(part, list) else part["x"]
        return whole, part


def path_of(way, field):
    return ".".join([name for name, _ in way] + [field])


def verdict(server, table, ways, field, spoil):
    """Whether the server refuses an object for a spoilt field: True, False, or None where it never got as far."""
    for kind, way in ways[:4]:
        whole, part = table.at(kind, way)
        of = way[-1][1].split("@")[-1] if way else kind.definition
        part.setdefault(field, table.sample(table.fields[of][field][0], field))
        good = server.faults(kind, whole)
        spoil(part)
        bad = server.faults(kind, whole)
        if good is None or bad is None:
            continue
        path = path_of(way, field)
        about = [at for at, _ in bad if (re.sub(r"\[[^]]*\]", "", at) + ".").startswith(path + ".")]
        if bad - good or about:
            return True
        if not bad:
            return False
    return None


def main():
    path, minor, url, token = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        table = Table(file.read(), minor)
    server = Server(url, token)
    print(f"# What an API server of Kubernetes {minor} does not enforce: written by probe.py.")
    for definition, ways in sorted(table.ways().items()):
        for field, (kind, required) in table.fields[definition].items():
            spoilt = []
            if required and kind == "boolean":
                print(definition, field, "required")
            elif required:
                spoilt.append(("required", lambda part, field=field: part.pop(field)))
            if "=" in kind:
                spoilt.append(("enum", lambda part, field=field: part.update({field: "Bogus"})))
            for what, spoil in spoilt:
                found = verdict(server, table, ways, field, spoil)
                if found is not True:
                    print(definition, field, what)
                if found is None:
                    print("not reached:", definition, field, what, file=sys.stderr)


if __name__ == "__main__":
    main()
