"""What everything else stands on: a mount namespace of its own, programs, ports, certificates, and the log of a run."""

import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

GIT, REGISTRY = "git.chaos.test", "registry.chaos.test"


def enter():
    """Runs this program again in a mount namespace, where it may mount small disks and say what names resolve to."""
    if os.environ.get("CHAOS_INSIDE") == str(os.getpid()):
        return
    os.environ["CHAOS_INSIDE"] = str(os.getpid())
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", sys.executable, "-B", *sys.argv])


def run(*command, **options):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def disk(folder, size):
    """A disk in memory."""
    folder.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)
    return folder


def free_port():
    """Below those that the kernel gives to clients: one that is free now is free when a server starts again."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Names:
    """What names resolve to. All processes of the namespace see it at once."""

    def __init__(self, folder):
        self.file = folder / "hosts"
        self.always = pathlib.Path("/etc/hosts").read_text()
        self.show(True)
        nobody = folder / "resolv.conf"
        nobody.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        run("mount", "--bind", self.file, "/etc/hosts")
        run("mount", "--bind", nobody, "/etc/resolv.conf")

    def show(self, there):
        self.file.write_text(self.always + (f"\n127.0.0.1 {GIT} {REGISTRY}\n" if there else "\n"))


class Authority:
    """A certificate authority, and a certificate of it for a host."""

    def __init__(self, folder, host):
        folder.mkdir(parents=True)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run("openssl", "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=chaos", "-days", "30", cwd=folder)
        (folder / "ext").write_text(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        run("openssl", "req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={host}", cwd=folder)
        run("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.crt",
            "-days", "30", "-extfile", "ext", cwd=folder)
        self.certificate, self.key, self.ca = folder / "server.crt", folder / "server.key", (folder / "ca.crt").read_text()


class Program:
    """A process that ends with this one. It must be started by the main thread: the kernel ends it with that."""

    def __init__(self, command, log, cwd=None, env=None):
        self.command, self.log, self.cwd, self.env, self.process = [str(word) for word in command], log, cwd, env, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd=self.cwd, env={**os.environ, **(self.env or {})})

    def signal(self, number):
        if self.runs():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()

    def runs(self):
        return self.process is not None and self.process.poll() is None


class Report:
    """The log of a run, and its breaches."""

    def __init__(self, file):
        self.file, self.began, self.breaches, self.lock = open(file, "a"), time.time(), [], threading.Lock()
        self.counts = {}

    def now(self):
        return time.time() - self.began

    def say(self, what, **fields):
        """`what` happened. All in the file; what a reader wants to follow goes to the terminal."""
        with self.lock:
            self.file.write(json.dumps({"at": round(self.now(), 2), "what": what, **fields}, default=str) + "\n")
            self.file.flush()

    def show(self, what, **fields):
        self.say(what, **fields)
        text = " ".join(f"{name}={value}" for name, value in fields.items())
        print(f"{self.now():8.1f}  {what}  {text}", flush=True)

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def breach(self, rule, text):
        """A rule does not hold. Told once."""
        if (rule, text) not in self.breaches:
            self.breaches.append((rule, text))
            self.show("BREACH", rule=rule, text=text)
