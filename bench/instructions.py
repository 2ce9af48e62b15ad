#!/usr/bin/env python3
"""Instructions of ours per I/O, an older build of iodyno beside a newer one: a figure that a busy machine does not move.

    bench/instructions.py OLD NEW [--only NAME]

Each row runs twice in callgrind (apt-get install valgrind), with few operations and with many; the difference divided by the
difference of operations is what one I/O costs in user mode, start and end left out. The kernel's part is not in it, nor is what
a cache miss costs: `bench/versions.py` measures that, on a machine with nothing else to do.
"""

import argparse
import ctypes
import os
import re
import struct
import subprocess
import sys
import tempfile

FEW, MANY = 20_000, 220_000
ROWS = {
    "uring": ("io_uring, 4 KiB random read of a tmpfs file, depth 1", "iorate=max", 1, "io_uring"),
    "deep": ("io_uring, 4 KiB random read of a tmpfs file, depth 128", "iorate=max", 128, "io_uring"),
    "sync": ("a blocking call each, depth 1", "iorate=max", 1, "sync"),
    "paced": ("io_uring, at a rate that it never reaches, depth 32", "iorate=500000", 32, "io_uring"),
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_GET_AUXV, SECCOMP_MODE_FILTER = 38, 22, 0x4155_5856, 2
SYS_PRCTL, RET_ALLOW, RET_EINVAL = 157, 0x7FFF_0000, 0x0005_0016


def without_auxv():
    """Refuses prctl(PR_GET_AUXV): the kernel's answer names a vDSO that valgrind has taken away; /proc/self/auxv does not."""
    load, equal, give = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), (equal, 0, 3, SYS_PRCTL), (load, 0, 0, 16), (equal, 0, 1, PR_GET_AUXV), (give, 0, 0, RET_EINVAL), (give, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def instructions(program, row, operations, work):
    """Of a whole run of so many operations."""
    _, rate, threads, engine = row
    parameters = os.path.join(work, "f.vdb")
    with open(parameters, "w") as file:
        file.write(f"sd=sd1,lun={work}/f.dat,threads={threads}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n")
        file.write(f"rd=rd1,wd=wd1,{rate},elapsed=600,interval=1,maxops={operations}\n")
    recording = tempfile.mkdtemp(dir=work) + "/r"
    run = [program, "run", parameters, "--engine", engine, "--workers", "1", "--no-counters", "--no-report", "-o", recording]
    grind = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={work}/cg", f"--log-file={work}/log"]
    environment = os.environ | {"IODYNO_STATE_DIR": f"{work}/state"}
    ended = subprocess.run(grind + run, preexec_fn=without_auxv, capture_output=True, text=True, env=environment)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(run)}: {ended.returncode}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    # Under callgrind a thread can stand still for so long that iodyno says so and leaves its operations out of its figures.
    done = sum(int(count.replace(",", "")) for count in re.findall(r"^read +([\d,]+)", ended.stdout, re.M))
    done += sum(map(int, re.findall(r"(\d+) operations that were in flight or due then", ended.stdout + ended.stderr)))
    with open(f"{work}/log") as log:
        counted = int(re.search(r"Collected : (\d+)", log.read())[1])
    if done < operations:
        sys.exit(f"{row[0]}: {done} operations were done, {operations} were asked for")
    return counted


def per_operation(program, row, work):
    few, many = (instructions(program, row, count, work) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", help="only rows whose name contains this")
    args = parser.parse_args()
    worst = 0.0
    for name, row in ROWS.items():
        if args.only and args.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="iodyno-bench-", dir="/dev/shm") as work:
            with open(f"{work}/f.dat", "wb") as file:
                file.write(os.urandom(64 << 20))
            old, new = (per_operation(program, row, work) for program in (args.old, args.new))
        worst = max(worst, new / old)
        print(f"{row[0]}: old {old:.0f}, new {new:.0f} instructions per I/O, new ÷ old {new / old:.3f}", flush=True)
    print(f"worst: {worst:.3f}")


if __name__ == "__main__":
    main()
