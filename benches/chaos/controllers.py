"""The processes of the controller: two replicas with a disk each, started again when they end, as a kubelet does."""

import os
import pathlib
import shutil
import signal
import time
import urllib.request

from chaos.world import Program, disk, free_port

FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
ELECTION = ["--leader-election-lease-duration=20s", "--leader-election-renew-deadline=16s", "--leader-election-retry-period=3s"]
#: Who waits for another Kustomization is woken by it: a wake-up that is lost costs the pause.
RETRIES = ["--max-retry-delay=15s", "--requeue-dependency=45s"]
#: Seconds until a process that has ended is started again.
PAUSE = 2


class Replica:
    started = 0

    def __init__(self, number, folder, binary, cluster, report):
        self.number, self.binary, self.cluster, self.report = number, binary, cluster, report
        self.folder = folder / f"replica-{number}"
        self.data = disk(self.folder / "data", "192M")
        self.home = self.folder / "home"
        (self.home / "tmp").mkdir(parents=True)
        self.ports = [free_port() for _ in range(3)]
        self.clock = self.folder / "clock"
        self.jump(0)
        self.faketime = next(pathlib.Path("/").glob(FAKETIME.lstrip("/")), None)
        self.program, self.process, self.is_stopped, self.due, self.logs, self.peak = None, None, False, 0, [], 0
        self.is_moving = False

    def start(self):
        Replica.started += 1
        if self.is_moving:
            self.move()
        self.process = f"process-{Replica.started:04}"
        kubeconfig = self.folder / f"{self.process}.kubeconfig"
        self.cluster.kubeconfig(kubeconfig, self.process)
        log = self.folder / f"{self.process}.log"
        artifacts, metrics, health = (f"127.0.0.1:{port}" for port in self.ports)
        command = [self.binary, "controller", f"--kubeconfig={kubeconfig}", f"--storage-path={self.data}", f"--storage-addr={artifacts}",
                   f"--storage-adv-addr={artifacts}", "--events-addr=", f"--metrics-addr={metrics}", f"--health-addr={health}",
                   "--enable-leader-election=true", "--log-level=debug", *ELECTION, *RETRIES]
        env = {"RUNTIME_NAMESPACE": "flux-system", "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "RUST_BACKTRACE": "1",
               "HOSTNAME": f"replica-{self.number}"}
        if self.faketime:
            env.update(LD_PRELOAD=str(self.faketime), FAKETIME_TIMESTAMP_FILE=str(self.clock), FAKETIME_NO_CACHE="1",
                       FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
        self.program = Program(command, log, env=env)
        self.program.start()
        self.logs.append(log)
        self.due = 0
        self.report.say("started", replica=self.number, process=self.process)

    def tend(self):
        """Starts it again when it has ended."""
        if self.program is None or self.program.runs():
            return
        if not self.due:
            self.due = time.time() + PAUSE
            last = self.logs[-1].read_text(errors="replace").strip().splitlines()[-1:]
            self.report.say("ended", replica=self.number, process=self.process, code=self.program.process.returncode, last=last)
        elif time.time() > self.due:
            self.start()

    def kill(self):
        self.resume()
        self.program.kill()

    def stop(self):
        self.program.signal(signal.SIGSTOP)
        self.is_stopped = True

    def resume(self):
        self.program.signal(signal.SIGCONT)
        self.is_stopped = False

    def terminate(self):
        self.program.signal(signal.SIGTERM)

    def evict(self):
        """Asks it to end; the next process is a pod without its disk, at another address."""
        self.is_moving = True
        self.terminate()

    def move(self):
        self.is_moving, self.ports[0] = False, free_port()
        for path in self.data.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != "filler":
                path.unlink()

    def jump(self, seconds):
        """Sets its clock this far from the time."""
        draft = self.clock.with_suffix(".new")
        draft.write_text(f"{seconds:+d}s\n")
        os.replace(draft, self.clock)

    def fill(self):
        """Leaves no room on its disk."""
        try:
            with open(self.data / "filler", "wb") as filler:
                while filler.write(bytes(1 << 20)):
                    filler.flush()
        except OSError:
            pass

    def clear(self):
        (self.data / "filler").unlink(missing_ok=True)

    def leases(self):
        """How many leases it has, by its metrics."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[1]}/metrics", timeout=1) as page:
                lines = page.read().decode().splitlines()
        except OSError:
            return 0
        return sum(line.startswith("leader_election_master_status{") and line.endswith(" 1") for line in lines)

    def memory(self):
        """Resident, in MiB."""
        try:
            text = pathlib.Path(f"/proc/{self.program.process.pid}/status").read_text()
            self.peak = max(self.peak, int(text.split("VmRSS:")[1].split()[0]) // 1024)
            return int(text.split("VmRSS:")[1].split()[0]) // 1024
        except (OSError, IndexError):
            return 0

    def found_in_memory(self, texts):
        """Those of some texts that are in the memory that the process has written to, each with what is around it."""
        found = {}
        with open(f"/proc/{self.program.process.pid}/maps") as maps, open(f"/proc/{self.program.process.pid}/mem", "rb", 0) as memory:
            for line in maps:
                bounds, access = line.split()[:2]
                if access.startswith("rw"):
                    begin, end = (int(bound, 16) for bound in bounds.split("-"))
                    try:
                        memory.seek(begin)
                        region = memory.read(end - begin)
                    except (OSError, ValueError, OverflowError):
                        continue
                    for text in texts:
                        if (at := region.find(text.encode())) >= 0:
                            found[text] = f"{begin + at:x} {line.split()[-1]} {region[max(0, at - 120):at + len(text) + 60]!r}"
        return found
