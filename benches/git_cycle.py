"""What people do without bumpwright: clone, edit by pattern, commit, push. Takes the arguments of `bumpwright update`.

It is a row of the benchmark's table, and with `update.py --command` it shows that the harness itself works."""

import pathlib
import re
import subprocess
import sys
import tempfile

POLICY = re.compile(r"name: (\S+), namespace: (\S+)\}.*?latestRef: \{name: (\S+), tag: (\S+)\}", re.S)
MARKED = re.compile(r'^(\s*\S+: )(\S+)( # \{"\$imagepolicy": "([^":]+:[^":]+)(:tag|:name)?"\})$', re.M)


def git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def main():
    arguments = sys.argv[1:]
    manifest = pathlib.Path(arguments[arguments.index("-f") + 1]).read_text()
    url = next(argument for argument in arguments if argument.startswith("http"))
    images = {f"{namespace}:{name}": (image, tag) for name, namespace, image, tag in POLICY.findall(manifest)}

    def bumped(match):
        image, tag = images[match[4]]
        value = {":tag": tag, ":name": image, None: f"{image}:{tag}"}[match[5]]
        return f"{match[1]}{value}{match[3]}"

    with tempfile.TemporaryDirectory() as scratch:
        checkout = pathlib.Path(scratch, "checkout")
        git(".", "clone", "--quiet", "--depth", "1", url, str(checkout))
        changed = False
        for file in checkout.rglob("*.yaml"):
            text = file.read_text()
            new = MARKED.sub(bumped, text)
            if new != text:
                file.write_text(new)
                changed = True
        if changed:
            git(checkout, "-c", "user.name=Bench", "-c", "user.email=bench@example.com", "commit", "-qam", "Bump")
            git(checkout, "push", "--quiet", "origin", "HEAD")


if __name__ == "__main__":
    main()
