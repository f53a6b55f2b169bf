"""Runs a command and reports what it used: rusage.py REPORT COMMAND… writes `wall cpu memory code` to the file REPORT.

A process of its own, without imports worth mentioning: Linux counts the memory of the process that forked (here some
10 MB, in the harness much more) into the peak of the one that was started."""

import os
import sys
import time

report, command = sys.argv[1], sys.argv[2:]
started = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - started
with open(report, "w") as file:
    print(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status), file=file)
