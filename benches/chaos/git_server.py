"""Git repositories behind `git http-backend`, and the faults of a Git server."""

import os
import pathlib
import subprocess
import time

from chaos.front import Answer, Fault, Front
from chaos.world import GIT, run

QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent"}
SETTINGS = ["core.logAllRefUpdates=always", "gc.auto=0", "receive.autogc=false", "http.receivepack=true", "core.fsync=none"]
#: A hook that refuses as long as there is a file.
HOOK = '#!/bin/sh\nif [ -e decline ]; then echo "the branch is frozen" >&2; exit 1; fi\n'


class GitServer(Front):
    def __init__(self, folder, authority, report, credentials):
        self.root = folder / "git"
        self.root.mkdir()
        super().__init__(GIT, authority, report, credentials)

    def repository(self, name):
        return Repository(self.root / f"{name}.git")

    def url(self, name):
        return f"https://{self.address}/{name}.git"

    def repository_of(self, request):
        return self.repository(request.path.split(".git")[0].lstrip("/"))

    def backend(self, request):
        path, _, query = request.path.partition("?")
        names = {"Content-Type": "CONTENT_TYPE", "Content-Encoding": "HTTP_CONTENT_ENCODING", "Git-Protocol": "GIT_PROTOCOL"}
        env = {variable: request.headers[header] for header, variable in names.items() if request.headers.get(header)}
        env.update(QUIET, GIT_PROJECT_ROOT=str(self.root), GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=request.command, CONTENT_LENGTH=str(len(request.content)), REMOTE_USER="bot", REMOTE_ADDR="127.0.0.1",
                   PATH=os.environ["PATH"])
        done = subprocess.run(["git", "http-backend"], input=request.content, capture_output=True, env=env)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        return Answer(status, [(name, value) for name, value in headers if name not in ("Status", "Content-Length")], body)


class Repository:
    """A bare repository, which people write to beside its server."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def git(self, *arguments, **options):
        env = {**os.environ, **QUIET, "GIT_AUTHOR_NAME": "people", "GIT_AUTHOR_EMAIL": "people@chaos.test",
               "GIT_COMMITTER_NAME": "people", "GIT_COMMITTER_EMAIL": "people@chaos.test", **options.pop("env", {})}
        return run("git", "--git-dir", self.folder, *arguments, env=env, **options)

    def make(self, files):
        run("git", "init", "--quiet", "--bare", "--initial-branch=main", self.folder, env={**os.environ, **QUIET})
        for setting in SETTINGS:
            name, value = setting.split("=")
            self.git("config", name, value)
        hook = self.folder / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(HOOK)
        hook.chmod(0o755)
        return self.commit(files, "first", base=None)

    def head(self, branch="main"):
        try:
            return (self.folder / f"refs/heads/{branch}").read_text().strip()
        except FileNotFoundError:
            return None

    def commit(self, changes, message, base="main", author="people@chaos.test"):
        """Commits files (None: removed) on top of a commit or branch; gives its id, on no branch yet. A lost race is the caller's."""
        index = {"GIT_INDEX_FILE": str(self.folder / f"index-{time.time_ns()}")}
        try:
            parent = []
            if base:
                self.git("read-tree", base, env=index)
                parent = ["-p", base]
            lines = []
            for path, content in changes.items():
                if content is None:
                    lines.append(f"0 {'0' * 40}\t{path}")
                else:
                    blob = self.git("hash-object", "-w", "--stdin", input=content).decode().strip()
                    lines.append(f"100644 {blob}\t{path}")
            self.git("update-index", "--index-info", input="\n".join([*lines, ""]).encode(), env=index)
            tree = self.git("write-tree", env=index).decode().strip()
        finally:
            pathlib.Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
        commit = self.git("commit-tree", tree, *parent, "-m", message, env={"GIT_AUTHOR_EMAIL": author}).decode().strip()
        if base is None:
            self.move("main", commit, "0" * 40, "people: first")
        return commit

    def move(self, branch, new, old, why):
        """Moves a branch, unless somebody else has."""
        try:
            self.git("update-ref", "--create-reflog", "-m", why, f"refs/heads/{branch}", new, old)
            return True
        except RuntimeError:
            return False

    def push(self, change, message, tries=20):
        """What people do: commit on the newest commit, again if somebody was faster. `change` is given a commit and gives changes."""
        for _ in range(tries):
            base = self.head()
            changes = change(base)
            if not changes:
                return None
            commit = self.commit(changes, message, base)
            if self.move("main", commit, base, f"people: {message}"):
                return commit
        return None

    def files(self, commit, under=""):
        """Paths and contents."""
        entries = []
        for line in self.git("ls-tree", "-r", "-z", commit, *([under] if under else [])).decode().split("\0"):
            if line:
                meta, path = line.split("\t", 1)
                entries.append((path, meta.split()[2]))
        return dict(zip((path for path, _ in entries), self.blobs([blob for _, blob in entries])))

    def blobs(self, ids):
        """Contents of objects."""
        out, at, found = self.git("cat-file", "--batch", input="\n".join([*ids, ""]).encode()) if ids else b"", 0, []
        for _ in ids:
            end = out.index(b"\n", at)
            size = int(out[at:end].split()[2])
            found.append(out[end + 1:end + 1 + size])
            at = end + 1 + size + 1
        return found

    def log(self, branch, offset=0):
        """New lines of a reference's log from an offset, and the offset after them: old, new, who, when, why."""
        try:
            with open(self.folder / f"logs/refs/heads/{branch}", "rb") as file:
                file.seek(offset)
                text = file.read()
        except FileNotFoundError:
            return [], offset
        text = text[:text.rfind(b"\n") + 1]
        moves = []
        for line in text.decode().splitlines():
            head, _, why = line.partition("\t")
            old, new, *who, when, _zone = head.split(" ")
            moves.append((old, new, " ".join(who), int(when), why))
        return moves, offset + len(text)


def is_fetch(request):
    return request.path.endswith("git-upload-pack") and b"command=ls-refs" not in request.content


def is_push(request):
    return request.command == "POST" and request.path.endswith("git-receive-pack")


def shows_references(request):
    return "/info/refs" in request.path or b"command=ls-refs" in request.content


class LieAboutReferences(Fault):
    """`main` is said to be at the commit before, or at one that nobody has."""
    kind = "lie"

    def __init__(self, share, random, lies):
        super().__init__(share, random)
        self.lies, self.older = lies, random.random() < 0.5

    def hits(self, request):
        return shows_references(request) and super().hits(request)

    def after(self, request, answer):
        repository = request.server.repository_of(request)
        head = repository.head()
        lie = f"{self.random.getrandbits(160):040x}"
        if self.older:
            try:
                lie = repository.git("rev-parse", "--verify", "--quiet", f"{head}^").decode().strip()
            except RuntimeError:
                return False
        answer.body = answer.body.replace(head.encode(), lie.encode())
        self.lies.append((repository.folder, lie, time.time()))
        return False


class Race(Fault):
    """Somebody else pushes between the look at the references and the push."""
    kind = "race"

    def __init__(self, share, random, rival):
        super().__init__(share, random)
        self.rival = rival

    def hits(self, request):
        return is_push(request) and super().hits(request)

    def before(self, request):
        self.rival(request.server.repository_of(request))
        return False


class Only:
    """A fault of some requests."""

    def __init__(self, fault, which):
        self.fault, self.which, self.kind, self.is_over = fault, which, fault.kind, fault.is_over
        self.before, self.after = fault.before, fault.after

    def hits(self, request):
        return self.which(request) and self.fault.hits(request)
