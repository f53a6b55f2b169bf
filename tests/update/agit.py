"""The hook proc-receive (githooks) as Gitea and Forgejo have it: a push to refs/for/BASE with the option topic becomes a
pull request with a reference of its own. With the flavour "gerrit" it becomes a change, and a commit is taken once. The requests are in agit.json of the repository, which is the current folder.
"""

import json
import pathlib
import subprocess
import sys

STATE = pathlib.Path("agit.json")
WORDS = {
    "gitea": (
        "topic-branch is not set",
        "new commit is same with old commit",
        "request `force-push` push option",
    ),
    "forgejo": (
        "The topic-branch option is not set",
        "The new commit is the same as the old commit",
        "Updates were rejected because the tip of your current branch is behind its remote counterpart. If this is "
        "intentional, set the `force-push` option by adding `-o force-push=true` to your `git push` command.",
    ),
}


def read():
    """The packets up to the next flush."""
    packets = []
    while (size := int(sys.stdin.buffer.read(4), 16)) > 0:
        packets.append(sys.stdin.buffer.read(size - 4).rstrip(b"\n").decode())
    return packets


def send(lines):
    for line in lines:
        data = line.encode() + b"\n"
        sys.stdout.buffer.write(b"%04x" % (len(data) + 4) + data)
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def change(state, new, reference, options):
    """The report on one command, as Gerrit words it."""
    if new in state["pulls"]:
        known = "commit(s) already exists (as current patchset)" if "base" in options else "no new changes"
        return [f"ng {reference} {known}"]
    state["pulls"].append(new)
    sys.stderr.write(f"\nSUCCESS\n\n  https://review.example/c/app/+/{len(state['pulls'])} Bump [NEW]\n\n")
    return [f"ok {reference}"]


def receive(state, new, reference, options):
    """The report on one command."""
    if state["flavour"] == "gerrit":
        return change(state, new, reference, options)
    no_topic, same, force = WORDS[state["flavour"]]
    base, topic = reference.removeprefix("refs/for/"), options.get("topic", "")
    if not topic:
        return [f"ng {reference} {no_topic}"]
    pulls = state["pulls"]
    found = [pull for pull in pulls if pull["open"] and (pull["base"], pull["topic"]) == (base, topic)]
    if not found:
        pull = {"number": len(pulls) + 1, "base": base, "topic": topic, "open": True, "title": options.get("title", "")}
        pulls.append(pull)
        old, forced = "0" * len(new), False
    else:
        pull = found[0]
        old = git("rev-parse", f"refs/pull/{pull['number']}/head")
        if old == new:
            return [f"ng {reference} {same}"]
        forced = git("rev-list", "--max-count=1", old, f"^{new}") != ""
        if forced and "force-push" not in options:
            return [f"ng {reference} {force}"]
    name = f"refs/pull/{pull['number']}/head"
    git("update-ref", name, new)
    sys.stderr.write(f"\nVisit the existing pull request:\n  https://forge.example/o/app/pulls/{pull['number']}\n\n")
    report = [f"ok {reference}", f"option refname {name}"]
    if old.strip("0"):
        report.append(f"option old-oid {old}")
    report.append(f"option new-oid {new}")
    return report + (["option forced-update"] if forced else [])


def main():
    offered = read()[0]
    wants_options = "push-options" in offered
    send(["version=1\0" + ("push-options" if wants_options else "")])
    commands = [line.split(" ") for line in read()]
    options = dict(line.split("=", 1) for line in read()) if wants_options else {}
    state = json.loads(STATE.read_text())
    state["calls"].append(options)
    report = [line for _, new, reference in commands for line in receive(state, new, reference, options)]
    # Whoever reads it meanwhile sees the one or the other.
    made = STATE.with_suffix(".new")
    made.write_text(json.dumps(state))
    made.replace(STATE)
    send(report)


main()
