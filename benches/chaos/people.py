"""What people do all the time: they push to the same branches, forcibly at times, publish images, and make mistakes."""

import threading

from chaos.fleet import MARKED, version

#: How often each is done, of a hundred.
DEEDS = {"edit": 18, "add": 12, "remove": 8, "comment": 12, "older": 8, "unrelated": 8, "break_": 3, "force": 5, "merge": 6, "tag": 17, "retag": 3}


BROKEN = "broken.yaml"


class People:
    def __init__(self, fleet, report):
        self.fleet, self.report, self.lock = fleet, report, threading.Lock()

    def act(self, random):
        """One deed at a random place."""
        deed = random.choices(list(DEEDS), DEEDS.values())[0]
        app = random.choice(self.fleet.apps)
        with self.lock:
            done = getattr(self, deed)(app, random)
        if done:
            self.report.count(f"people:{deed.strip('_')}")
            self.report.say("people", deed=deed.strip("_"), app=app.name, result=done)

    def rival(self, repository, random):
        """A commit that is there just before a push."""
        apps = [app for app in self.fleet.apps if self.repository(app).folder == repository.folder]
        with self.lock:
            self.comment(random.choice(apps), random)

    def repository(self, app):
        return self.fleet.git.repository(self.fleet.name(app.repository))

    def push(self, app, random, deed, choose):
        """Pushes what `choose` makes of the files of an app."""
        repository = self.repository(app)
        return repository.push(lambda base: choose(repository.files(base, app.folder)), f"{deed} {app.name}")

    def maps(self, files):
        return sorted(path for path in files if "/cm-" in path)

    def edit(self, app, random):
        def choose(files):
            maps = self.maps(files)
            if not maps:
                return None
            path = random.choice(maps)
            serial = path.rsplit("-", 1)[1].removesuffix(".yaml")
            return {path: self.fleet.map_text(app, serial, f"{random.getrandbits(32):08x}")}
        return self.push(app, random, "edit", choose)

    def add(self, app, random):
        added = dict([self.fleet.map(app, "new")])
        return self.push(app, random, "add", lambda files: added)

    def remove(self, app, random):
        def choose(files):
            maps = self.maps(files)
            return {random.choice(maps): None} if len(maps) > 1 else None
        return self.push(app, random, "remove", choose)

    def comment(self, app, random):
        """A line more, or one less, in a file with markers."""
        def choose(files):
            path = f"{app.folder}/deployment.yaml"
            lines = files[path].decode().splitlines(keepends=True)
            notes = [at for at, line in enumerate(lines) if line.startswith("# note")]
            if len(notes) > 5:
                del lines[random.choice(notes)]
            else:
                at = random.choice([at for at, line in enumerate(lines) if not line.startswith("        ")])
                lines.insert(at, f"# note {random.getrandbits(32):08x}\n")
            return {path: "".join(lines).encode()}
        return self.push(app, random, "comment", choose)

    def older(self, app, random):
        """Somebody puts an older image back by hand."""
        tag = random.choice(sorted(tag for tag in self.fleet.images[app.image] if app.allows(tag)))

        def choose(files):
            path = f"{app.folder}/deployment.yaml"
            lines = files[path].decode().splitlines(keepends=True)
            at = random.choice([at for at, line in enumerate(lines) if MARKED.match(line)])
            found = MARKED.match(lines[at])
            lines[at] = f"{found['before']}{self.fleet.registry.address}/{app.image}:{tag}{found['after']}"
            return {path: "".join(lines).encode()}
        return self.push(app, random, "older", choose)

    def unrelated(self, app, random):
        text = f"{random.getrandbits(64):016x}\n".encode()
        return self.push(app, random, "unrelated", lambda files: {f"notes/{random.randrange(5)}.md": text})

    def break_(self, app, random):
        """A file that no builder can read, until `mend`."""
        return self.push(app, random, "break", lambda files: {f"{app.folder}/{BROKEN}": b"kind: [ConfigMap\n"})

    def mend(self):
        """Removes what no builder can read. That is looked for: a forced push may have brought it back."""
        with self.lock:
            for app in self.fleet.apps:
                path = f"{app.folder}/{BROKEN}"
                self.push(app, None, "mend", lambda files, path=path: {path: None} if path in files else None)

    def force(self, app, random):
        """Commits are taken back, and another one is put in their place."""
        repository, back = self.repository(app), random.randrange(1, 4)
        head = repository.head()
        behind = repository.git("rev-list", "--first-parent", f"--max-count={back + 1}", head).decode().split()[-1]
        commit = repository.commit({"notes/force.md": f"{random.getrandbits(64):016x}\n".encode()}, f"force -{back}", behind)
        return repository.move("main", commit, head, "people: force") and commit

    def merge(self, app, random):
        """A branch for review goes into main, when it is up to date."""
        apps = [app for app in self.fleet.apps if app.branch]
        if not apps:
            return None
        app = random.choice(apps)
        repository = self.repository(app)
        head, proposed = repository.head(), repository.head(app.branch)
        if proposed and repository.git("rev-parse", f"{proposed}^").decode().strip() == head:
            return repository.move("main", proposed, head, "people: merge") and proposed
        return None

    def tag(self, app, random):
        major, minor, patch = max(map(version, self.fleet.images[app.image]))
        if random.random() < 0.5:
            one = [tag for tag in map(version, self.fleet.images[app.image]) if tag[:2] == (1, 2)]
            new = (1, 2, max(one)[2] + 1)
        else:
            new = random.choice([(major, minor, patch + 1), (major, minor + 1, 0)] + ([(major + 1, 0, 0)] if random.random() < 0.2 else []))
        tag = ".".join(map(str, new))
        self.fleet.tag(app.image, tag)
        return f"{app.image}:{tag}"

    def retag(self, app, random):
        """Another image under the same tag."""
        tag = self.fleet.newest(app)[0]
        self.fleet.tag(app.image, tag)
        return f"{app.image}:{tag}"
