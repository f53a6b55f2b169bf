#!/usr/bin/env python3
"""Makes YAML texts at random, and records what `kustomize build` makes of replacements in them.

    tests/tools/kustomize-yaml-texts.py KUSTOMIZE KEPT [SEED [COUNT]] > fixtures/kustomize/yaml-texts.jsonl

KEPT is a table of documents, as `go run ./comments -kept` of fixtures/yaml/generate makes it. A row has the form of
`worlds.jsonl`.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

VALUES = ["new", "5", "true", "a: b", "", "two words", "#x"]


def main():
    kustomize, table = sys.argv[1], Path(sys.argv[2])
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    texts = [json.loads(line)["text"] for line in table.read_text().splitlines()]
    made = 0
    while made < count:
        text = chance.choice(texts)
        parts = ["k0", "k1", "k2", "k3", "q0", "q1", "0", "1", "*", "x"]
        paths = [".".join(chance.choice(parts) for _ in range(chance.choice([1, 1, 2, 2, 3]))) for _ in range(chance.choice([1, 1, 2]))]
        create = chance.random() < 0.3
        value = chance.choice(VALUES)
        row = built(kustomize, text, paths, create, value)
        # Most paths lead nowhere: a few of those are enough.
        if "error" in row and chance.random() < 0.9:
            continue
        made += 1
        print(json.dumps({"seed": made, **row}, ensure_ascii=False))


def built(kustomize, text, paths, create, value):
    target = {"select": {"kind": "ConfigMap"}, "fieldPaths": ["data.text." + path for path in paths]}
    if create:
        target["options"] = {"create": True}
    replacement = {"sourceValue": value, "targets": [target]}
    object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"text": text}}
    files = {
        "top/a.yaml": json.dumps(object, ensure_ascii=False),
        "top/kustomization.yaml": json.dumps({"resources": ["a.yaml"], "replacements": [replacement]}),
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "top").mkdir()
        for name, content in files.items():
            Path(folder, name).write_text(content)
        ran = subprocess.run([kustomize, "build", folder + "/top"], capture_output=True, text=True, check=False)
        if ran.returncode:
            return {"files": files, "error": ran.stderr.strip().splitlines()[-1].replace(folder, "")}
        return {"files": files, "out": ran.stdout}


if __name__ == "__main__":
    main()
