#!/usr/bin/env python3
"""Makes kustomizations with images at random, and records what `kustomize edit set image` makes of them.

    tests/tools/kustomize-set-image.py KUSTOMIZE [SEED [COUNT]] > fixtures/kustomize/images.jsonl

A row has the file, the arguments, and the images of the file after it. Files that kustomize does not take are left out.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ARGUMENTS = [
    "{n}:2", "{n}:1.10", "{n}:010", "{n}:true", "{n}=new", "{n}=new:2", "{n}=new@sha256:0d", "{n}=new:2@sha256:0d",
    "{n}:2@sha256:0d", "{n}@sha256:0d", "{n}=*:2", "{n}=*", "{n}=new:*", "{n}=new@*", "{n}=*:*@*", "{n}:*", "{n}@*",
    "{n}=*:2@*", "{n}=*@sha256:0d", "{n}:2@*", "{n}=localhost:5000/x", "{n}=localhost:5000/x:2", "{n}=reg.example/x/y:v2",
]
NAMES = ["a", "b", "localhost:5000/a", "ghcr.io/acme/web"]


class Maker(random.Random):
    def quoted(self, text):
        return self.choice([text, f"'{text}'", f'"{text}"'])

    def tag(self):
        return self.choice(["v1", self.quoted("v1"), '"1"', "'1.10'", '"true"'])

    def image(self):
        fields = [("name", self.quoted(self.choice(NAMES)))]
        for key, value in [
            ("newName", self.quoted(self.choice(["old", "localhost:5000/old"]))),
            ("newTag", self.tag()),
            ("digest", self.quoted("sha256:01")),
            ("tagSuffix", "-x"),
        ]:
            if self.random() < (0.1 if key == "tagSuffix" else 0.5):
                fields.append((key, value))
        if self.random() < 0.4:
            self.shuffle(fields)
        return fields

    def text(self):
        head = self.choice(["", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"])
        head += self.choice(["", "# ours\n", "namePrefix: x- # c\n", "resources:\n- x.yaml\n", "resources:\n  - x.yaml\n"])
        images = [self.image() for _ in range(self.choice([0, 1, 1, 2, 2, 3]))]
        tail = self.choice(["", "", "nameSuffix: -y\n", "# end\n", "\n# end\nnameSuffix: -y\n"])
        key = self.choice(["images"] * 9 + ["imageTags"])
        if not images:
            return head + self.choice(["", f"{key}: []\n"]) + (tail or "nameSuffix: -z\n")
        flow = self.random()
        if flow < 0.15:
            items = ", ".join("{" + ", ".join(f"{k}: {v}" for k, v in image) + "}" for image in images)
            return head + f"{key}: [{items}]\n" + tail
        indent = self.choice(["", "", "  "])
        text = head + f"{key}:{self.choice(['', '', ' # list'])}\n"
        for image in images:
            text += self.choice(["", "", "", f"{indent}# above\n"])
            if self.random() < 0.1:
                text += indent + "- {" + ", ".join(f"{k}: {v}" for k, v in image) + "}\n"
                continue
            for at, (k, v) in enumerate(image):
                text += indent + ("- " if at == 0 else "  ") + f"{k}: {v}" + self.choice(["", "", "", " # c"]) + "\n"
        return text + tail


def main():
    kustomize = sys.argv[1]
    maker = Maker(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    made = 0
    while made < count:
        text = maker.text()
        # Nothing but comments is no document here.
        if all(line.startswith("#") for line in text.splitlines() if line):
            continue
        arguments = [
            maker.choice(ARGUMENTS).format(n=maker.choice(NAMES[:2] * 3 + NAMES)) for _ in range(maker.choice([1, 1, 1, 2, 3]))
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kustomization.yaml"
            path.write_text(text)
            ran = subprocess.run(
                [kustomize, "edit", "set", "image", *arguments], cwd=folder, capture_output=True, check=False
            )
            if ran.returncode:
                continue
            # The file that kustomize has written is read by kustomize's own JSON of it: the order of keys is sorted there.
            images = written(path.read_text())
        made += 1
        print(json.dumps({"file": text, "arguments": arguments, "images": images}, ensure_ascii=False))


def written(text):
    """The entries of `images` as kustomize writes them: a key and a text on each line."""
    images, inside = [], False
    for line in text.splitlines():
        if not line.startswith((" ", "-")):
            inside = line == "images:"
        elif inside and not line.lstrip().startswith("#"):
            key, value = line[2:].split(": ", 1)
            if line.startswith("- "):
                images.append({})
            value = value.split(" #")[0]
            images[-1][key] = value.strip("'\"")
    return images


if __name__ == "__main__":
    main()
