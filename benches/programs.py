"""What benchmarks run: programs that are built, a folder for their files, and what one run of them uses."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def target():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))


def binary(name="bumpwright"):
    """What `make bench` has built; the servers of a test build do as well."""
    profiles = ["dist", "debug"] if name == "servers" else ["dist"]
    found = [path for path in (target() / profile / name for profile in profiles) if path.exists()]
    return str(found[0]) if found else sys.exit(f"{target() / 'dist' / name} is not there; run `make bench`")


def bench(name):
    """The Rust program of this name beside this file."""
    found = [path for path in target().glob(f"dist/deps/{name}-*") if not path.suffix and os.access(path, os.X_OK)]
    if not found:
        sys.exit(f"benches/{name}.rs is not built; run `make bench`")
    return str(max(found, key=lambda path: path.stat().st_mtime))


def tool(name):
    """What tests/tools/prepare has built, or the user's own."""
    tools = pathlib.Path(os.environ.get("BUMPWRIGHT_TOOLS", pathlib.Path.home() / ".cache/bumpwright/bin"))
    found = tools / name if (tools / name).exists() else shutil.which(name)
    return str(found) if found else sys.exit(f"{name} is missing; run `make prepare`")


def memory(pid, field):
    """MiB of a running program, such as VmRSS."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text.split(f"{field}:")[1].split()[0]) / 1024


@contextlib.contextmanager
def scratch_folder():
    """A folder on tmpfs when it has 4 GB left: on a disk the figures measure the disk."""
    shm = pathlib.Path("/dev/shm")
    roomy = shm.is_dir() and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 4 << 30
    if not roomy:
        print("no tmpfs with room: the figures include the disk", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=shm if roomy else None, prefix="bumpwright-bench-") as folder:
        yield pathlib.Path(folder)


def measured(folder, command, output, env=None):
    """Runs a command that must succeed, with its output in a file: wall and CPU seconds (children included), peak memory in MB
    (the largest process)."""
    report, log = folder / "rusage", folder / "errors.log"
    with output.open("wb") as out, log.open("wb") as errors:
        subprocess.run([sys.executable, "-I", "-S", str(HERE / "rusage.py"), str(report), *map(str, command)], check=True,
                       stdout=out, stderr=errors, env=env, cwd=folder)
    wall, cpu, kilobytes, code = report.read_text().split()
    if code != "0":
        sys.exit(f"{' '.join(map(str, command))} ended with {code}:\n{log.read_text()}")
    return float(wall), float(cpu), int(kilobytes) / 1024
