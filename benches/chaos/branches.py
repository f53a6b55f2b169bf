"""What must hold of every commit of ours on every branch, checked as references move."""

import re
import time

from chaos.fleet import BOT, MARKED, version

#: Seconds between what a clock of whole seconds says and what was.
SLACK = 2


class Branches:
    def __init__(self, fleet, report):
        self.fleet, self.report, self.offsets, self.commits = fleet, report, {}, 0
        #: Of each repository, the commits that `main` was at: when, commit, paths.
        self.heads = {name: [] for name in fleet.names()}
        #: Of each app, the highest version that we have written. People write newer ones before they are scanned.
        self.highest = {}

    def look(self):
        """Checks what has moved since."""
        for name in self.fleet.names():
            repository = self.fleet.git.repository(name)
            for branch in ["main", *(app.branch for app in self.fleet.apps if app.branch and self.fleet.name(app.repository) == name)]:
                moves, self.offsets[name, branch] = repository.log(branch, self.offsets.get((name, branch), 0))
                for old, new, who, when, why in moves:
                    if branch == "main":
                        paths = repository.git("ls-tree", "-r", "--name-only", new).decode().splitlines()
                        self.heads[name].append((when, new, set(paths)))
                    if not why.startswith("people"):
                        self.moved(name, repository, branch, old, new, who)

    def moved(self, name, repository, branch, old, new, who):
        """A push by us: to `main` only forward, in a line; to a branch of its own one commit on what `main` was at."""
        place = f"{name} {branch} {old[:8]}..{new[:8]} by {who}"
        if new.strip("0") == "":
            return self.report.breach("branch", f"{place}: deleted")
        lines = repository.git("rev-list", "--parents", new, *([f"^{old}"] if branch == "main" and old.strip("0") else ["-1"])).decode().splitlines()
        chain = [line.split() for line in lines]
        if any(len(commit) != 2 for commit in chain) or not chain:
            return self.report.breach("linear", f"{place}: {lines}")
        if branch == "main" and chain[-1][1] != old:
            return self.report.breach("forced", f"{place}: {chain[-1][1][:8]} is the base")
        heads = {head for _, head, _ in self.heads[name]} | {lie for folder, lie, _ in self.fleet.false_heads if folder == repository.folder}
        if branch != "main" and chain[-1][1] not in heads:
            return self.report.breach("base", f"{place}: {chain[-1][1][:8]} never was the head of main")
        for commit, parent in chain:
            self.commits += 1
            for rule, text in self.wrong(repository, commit, parent, None if branch == "main" else branch):
                self.report.breach(rule, f"{place}: commit {commit[:8]}: {text}")
        return None

    def wrong(self, repository, commit, parent, branch):
        """What is wrong with a commit."""
        author, subject = repository.git("show", "--no-patch", "--format=%ae%n%s", commit).decode().splitlines()[:2]
        found = re.fullmatch(r"Automation (\S+)/(\S+)", subject)
        app = self.fleet.by_name.get(found[2]) if found else None
        if author != BOT or app is None or found[1] != app.namespace:
            yield "author", f"by {author}: {subject}"
            return
        if branch and branch != app.branch:
            yield "another branch", f"of {app.name} on {branch}"
        raw = repository.git("diff-tree", "-r", "-z", "--raw", parent, commit).decode().split("\0")[:-1]
        if not raw:
            yield "empty", "nothing changed"
        for meta, path in zip(raw[::2], raw[1::2]):
            old_mode, new_mode, before, after, status = meta.lstrip(":").split(" ")
            if status != "M" or old_mode != new_mode or not path.startswith(app.folder + "/"):
                yield "another file", f"{status} {path} by {app.name}"
                continue
            yield from self.lines(app, path, *repository.blobs([before, after]))
        values = set(self.fleet.fields(app, repository.files(commit, app.folder)))
        tags = {value if is_tag else value.rsplit("@")[0].rsplit(":", 1)[1] for value, is_tag in values}
        if len(tags) != 1 or len(values) != 2:
            yield "left behind", f"{app.name} is at {sorted(value for value, _ in values)}"

    def lines(self, app, path, before, after):
        """Byte by byte: lines without a marker are the same, lines with one differ in the value alone."""
        old, new = before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True)
        if len(old) != len(new):
            yield "bytes", f"{path} has {len(new)} lines for {len(old)}"
            return
        for one, other in zip(old, new):
            if one == other:
                continue
            was, is_ = MARKED.match(one), MARKED.match(other)
            names = ("before", "after", "policy", "tag")
            if not was or not is_ or any(was[name] != is_[name] for name in names) or was["policy"] != f"{app.namespace}:{app.name}":
                yield "bytes", f"{path}: {one!r} became {other!r}"
                continue
            yield from self.value(app, path, was["value"], is_["value"], bool(is_["tag"]))

    def value(self, app, path, was, is_, is_tag):
        image = "" if is_tag else f"{self.fleet.registry.address}/{app.image}:"
        tag, _, digest = is_.removeprefix(image).partition("@")
        if not is_.startswith(image) or tag not in self.fleet.images[app.image] or not app.allows(tag):
            yield "value", f"{path}: {is_} is not allowed"
        elif bool(digest) != (app.digests and not is_tag) or digest and digest not in self.fleet.past_digests[app.image, tag] | self.fleet.false_digests:
            yield "digest", f"{path}: {is_} never was"
        elif version(tag) < self.highest.setdefault(app.name, version(tag)):
            yield "downgrade", f"{path}: {was} became {is_}, after {self.highest[app.name]}"
        else:
            self.highest[app.name] = version(tag)

    def was_absent(self, app, path, when):
        """Whether some head of `main` of the last minutes before `when` did not have a file; also one that the server lied about."""
        heads = self.heads[self.fleet.name(app.repository)]
        ends = [head[0] for head in heads[1:]] + [time.time()]
        recent = [paths for (begin, _, paths), end in zip(heads, ends) if begin - SLACK <= when and end >= when - 300]
        if any(path not in paths for paths in recent):
            return True
        repository = self.fleet.git.repository(self.fleet.name(app.repository))
        lies = {lie for folder, lie, at in self.fleet.false_heads if folder == repository.folder and at <= when + SLACK}
        return any(path not in paths for _, head, paths in heads if head in lies)
