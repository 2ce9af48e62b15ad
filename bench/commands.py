#!/usr/bin/env python3
"""What it costs to have a command measured, and whether its time is right: iodyno beside hyperfine and `perf stat`.

    bench/commands.py IODYNO [--rounds N]

Cost: `true` is executed many times and few times by each tool, in turn; the difference of the wall times divided by the
difference of executions is what one execution takes. The floor is a loop of posix_spawn and wait4 in this script's own
child, which does nothing else. What is above the floor is the tool's.
Agreement: a command that sleeps and one that computes, by iodyno and by `perf stat`, in turn; medians of the real times.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FEW, MANY = 50, 450
FLOOR = """
import os, sys
for _ in range(int(sys.argv[1])):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
"""
COMPUTE = ["python3", "-c", "x = 0\nfor i in range(12_000_000): x += i"]


def wall(command, environment):
    start = time.monotonic()
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)}: {ended.returncode}\n{ended.stderr[-2000:]}")
    return time.monotonic() - start


def per_execution(make, environment):
    """Seconds that one more execution takes."""
    return (wall(make(MANY), environment) - wall(make(FEW), environment)) / (MANY - FEW)


def by_iodyno(program, work, command, environment):
    """Real, user and system time, s, as the recording has them."""
    recording = tempfile.mkdtemp(dir=work) + "/r"
    wall([program, "run", "--no-counters", "--no-report", "-o", recording, "--", *command], environment)
    rows = subprocess.run([program, "export", recording, "command", "--json"], capture_output=True, text=True, env=environment)
    row = json.loads(rows.stdout.splitlines()[-1])
    return [row[name] / 1e9 for name in ("real_ns", "user_ns", "sys_ns")]


def by_perf(work, command):
    """The same by `perf stat`."""
    out = f"{work}/perf"
    subprocess.run(["perf", "stat", "-o", out, "--", *command], check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:
        text = file.read()
    return [float(re.search(rf"([\d.,]+) seconds {name}", text)[1].replace(",", "")) for name in ("time elapsed", "user", "sys")]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    missing = [tool for tool in ("hyperfine", "perf") if not shutil.which(tool)]
    if missing:
        sys.exit(f"{' and '.join(missing)} not found: apt-get install hyperfine linux-perf")
    with tempfile.TemporaryDirectory() as work:
        environment = os.environ | {"IODYNO_STATE_DIR": f"{work}/state"}
        run = [given.program, "run", "--no-counters", "--no-report"]
        ways = {
            "floor": lambda count: [sys.executable, "-c", FLOOR, str(count)],
            "iodyno": lambda count: [*run, "-o", tempfile.mkdtemp(dir=work) + "/r", "--times", str(count), "--", "/bin/true"],
            "hyperfine": lambda count: ["hyperfine", "-N", "--style", "none", "--runs", str(count), "/bin/true"],
            "hyperfine again": lambda count: ["hyperfine", "-N", "--style", "none", "--runs", str(count), "/bin/true"],
        }
        rounds = []
        while len(rounds) < given.rounds:
            taken = {name: per_execution(make, environment) for name, make in ways.items()}
            peers = taken["hyperfine"], taken["hyperfine again"]
            apart = abs(peers[0] - peers[1]) / max(peers)
            note = "" if apart < 0.25 else "  (dropped: the machine is not quiet)"
            print("  ".join(f"{name} {seconds * 1e6:.0f} µs" for name, seconds in taken.items()) + note, flush=True)
            if not note:
                rounds.append(taken)
        own = {name: [taken[name] - taken["floor"] for taken in rounds] for name in ("iodyno", "hyperfine")}
        for name, seconds in own.items():
            middle, low, high = statistics.median(seconds), min(seconds), max(seconds)
            print(f"{name}: {middle * 1e6:.0f} µs above fork, exec and wait ({low * 1e6:.0f} – {high * 1e6:.0f})")
        print(f"iodyno at most 1 ms: {'met' if statistics.median(own['iodyno']) <= 1e-3 else 'MISSED'}")
        for name, command in (("sleep", ["sleep", "1"]), ("compute", COMPUTE)):
            pairs = [(by_iodyno(given.program, work, command, environment), by_perf(work, command)) for _ in range(given.rounds)]
            ours, theirs = ([statistics.median(side[at] for side in sides) for at in range(3)] for sides in zip(*pairs))
            apart = abs(ours[0] / theirs[0] - 1)
            figures = [f"{what} {a:.4f} s and {b:.4f} s" for what, a, b in zip(("real", "user", "system"), ours, theirs)]
            print(f"{name}: iodyno and perf stat: {', '.join(figures)}; real {apart * 100:.2f} % apart (≤ 0.5 %: {'met' if apart <= 0.005 else 'MISSED'})")


if __name__ == "__main__":
    main()
