#!/usr/bin/env python3
"""A target that answers nothing for two seconds, at 500 operations per second: what each tool says of it.

Runs iodyno and fio on a loop device over faultfs, stalls the disk in mid-run, and puts their response times beside those
computed from the schedule. As root. The table in docs/honest-time.md was made with it.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

RATE, SECONDS, STALL, SERVICE = 500, 10, 2.0, 0.001


def percentile(values, q):
    values = sorted(values)
    return values[max(0, -(-len(values) * q // 100) - 1 if isinstance(q, int) else int(len(values) * q / 100 + 0.9999) - 1)]


def schedule():
    """Response times of an open loop without a limit on the depth (128 in the loop device: those behind wait a service time more)."""
    start = SECONDS / 2
    times = []
    for n in range(RATE * SECONDS):
        due = n / RATE
        done = due + SERVICE if not start <= due < start + STALL else start + STALL + SERVICE
        times.append(done - due)
    return times


def omitting(threads):
    """What a tool says that times from submission with `threads` synchronous threads: each sees the stall once."""
    n = RATE * SECONDS
    stalled = int(RATE * STALL)
    return [SERVICE] * (n - stalled) + [STALL] * threads


def row(name, count, p50, p90, p99, p999, top):
    ms = lambda s: f"{s * 1e3:,.1f}"
    print(f"| {name} | {count:,} | {ms(p50)} | {ms(p90)} | {ms(p99)} | {ms(p999)} | {ms(top)} |")


def computed(name, times):
    row(name, len(times), *(percentile(times, q) for q in (50.0, 90.0, 99.0, 99.9)), max(times))


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "target/release"
    keep = sys.argv[2] if len(sys.argv) > 2 else None
    folder = tempfile.mkdtemp(prefix="honest-")
    mount = os.path.join(folder, "mnt")
    os.mkdir(mount)
    disk = subprocess.Popen([f"{target}/faultfs", mount, "--size", "64m"], stdout=subprocess.DEVNULL)
    while not os.path.exists(os.path.join(mount, "disk")):
        time.sleep(0.05)
    loop = subprocess.check_output(["losetup", "--direct-io=on", "-f", "--show", os.path.join(mount, "disk")], text=True).strip()

    def control(command):
        with open(os.path.join(mount, "control"), "w") as f:
            f.write(command + "\n")

    def stall_in(seconds):
        threading.Timer(seconds, control, [f"stall {STALL:g}s"]).start()

    try:
        control("delay 1ms")
        print("| | operations | p50 ms | p90 ms | p99 ms | p99.9 ms | max ms |\n|---|---|---|---|---|---|---|")
        computed("**the schedule** (computed)", schedule())
        out = keep or os.path.join(folder, "out")
        with open(os.path.join(folder, "a.vdb"), "w") as f:
            f.write(f"sd=sd1,lun={loop},openflags=o_direct,threads=1500\nwd=wd1,sd=sd1,xfersize=4k\n"
                    f"rd=stall,wd=wd1,iorate={RATE},elapsed={SECONDS},interval=1,distribution=deterministic\n")
        stall_in(SECONDS / 2)
        subprocess.run([f"{target}/iodyno", "run", os.path.join(folder, "a.vdb"), "-o", out, "--json"], check=True, stdout=subprocess.DEVNULL)
        text = subprocess.check_output([f"{target}/iodyno", "export", out, "run_total", "--json"], text=True)
        total = next(json.loads(line) for line in text.splitlines() if '"measure"' in line)
        for kind in ("response", "service"):
            name = f"iodyno, {kind} time"
            row(f"**{name}**" if kind == "response" else name, total["ops"], *(total[f"{kind}_ns_{p}"] / 1e9 for p in ("p50", "p90", "p99", "p999", "max")))
        for name, extra in (("fio, psync, 1 job", ["--ioengine=psync"]), ("fio, io_uring, depth 32", ["--ioengine=io_uring", "--iodepth=32"])):
            stall_in(SECONDS / 2)
            text = subprocess.check_output(["fio", "--name=a", f"--filename={loop}", "--readonly", "--direct=1", "--rw=randread", "--bs=4k", "--norandommap",
                                            f"--rate_iops={RATE}", "--time_based", f"--runtime={SECONDS}", "--lat_percentiles=1", "--percentile_list=50:90:99:99.9",
                                            "--output-format=json", *extra], text=True)
            job = json.loads(text[text.index("{"):])["jobs"][0]["read"]
            values = job["lat_ns"]["percentile"]
            row(name, job["total_ios"], *(values[f"{p:.6f}"] / 1e9 for p in (50, 90, 99, 99.9)), job["lat_ns"]["max"] / 1e9)
            time.sleep(1)
        computed("timing from submission, 8 threads (Vdbench's way, computed)", omitting(8))
    finally:
        subprocess.run(["losetup", "-d", loop])
        subprocess.run(["umount", "-l", mount])
        disk.terminate()


if __name__ == "__main__":
    main()
