#!/usr/bin/env python3
"""Ratios against peers, measured in one go.

Each bench runs several tools on the same target, pinned to one core with the other idle, interleaved A B C A B C …,
and prints the median of the ratios taken within a round. CPU is user+sys of the whole process tree from wait4 (it
includes io_uring's kernel workers, which fio's own figures omit), the start-up of the tool subtracted, per completed
I/O. One peer runs twice in each round; a round in which its two results differ by more than 5 % is dropped.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CORE = "1"


def run(argv, env=None):
    """Runs argv pinned to one core; returns (cpu seconds, wall seconds, stdout)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(["taskset", "-c", CORE] + argv, capture_output=True, text=True, env=env)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0,):
        sys.exit(f"{' '.join(argv)} failed with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return cpu, wall, done.stdout


class Tool:
    """A peer: how to run it for some seconds, and how to read the number of I/Os from what it prints."""

    def __init__(self, name, command, count):
        self.name, self.command, self.count = name, command, count
        self.startup = None

    def once(self, seconds):
        argv = self.command(seconds)
        cpu, wall, out = run(argv)
        return cpu, self.count(out, argv)

    def figure(self, long_s, short_s):
        """CPU µs per I/O with start-up removed: the difference between a long and a short run."""
        cpu_long, n_long = self.once(long_s)
        cpu_short, n_short = self.once(short_s)
        return {
            "us_per_io": (cpu_long - cpu_short) * 1e6 / max(1, n_long - n_short),
            "iops": (n_long - n_short) / (long_s - short_s),
        }


def fio_count(out, _argv):
    job = json.loads(out[out.index("{"):])["jobs"][0]
    return job["read"]["total_ios"] + job["write"]["total_ios"]


def fio(name, path, extra):
    base = ["fio", "--name=b", f"--filename={path}", "--output-format=json", "--time_based", "--thread", "--readonly"]
    return Tool(name, lambda s: base + extra + [f"--runtime={s}"], fio_count)


def iodyno(name, binary, work, path, wd, rd, sd="", extra=()):
    def command(seconds):
        folder = tempfile.mkdtemp(prefix="b", dir=work)
        parm = os.path.join(folder, "b.vdb")
        with open(parm, "w") as f:
            f.write(f"sd=s,lun={path},{sd}\nwd=w,sd=s,{wd}\nrd=r,wd=w,elapsed={seconds},interval=1,{rd}\n")
        return [binary, "run", parm, "-o", os.path.join(folder, "out"), "--no-report", "--workers", "1", *extra]

    def count(_out, argv):
        done = subprocess.run([binary, "export", argv[argv.index("-o") + 1], "run_total", "--json"], capture_output=True, text=True, check=True)
        return sum(json.loads(line)["ops"] for line in done.stdout.splitlines() if line)

    return Tool(name, command, count)


def t_io_uring(path):
    """fio's t/io_uring: prints IOPS per second; stopped after some seconds."""
    binary = os.environ["T_IO_URING"]

    def command(seconds):
        # Fixed buffers, registered files, no polling, batches of 32, depth 128, buffered as the others.
        return [binary, "-d128", "-s32", "-c32", "-p0", "-B1", "-F1", "-R1", "-b4096", "-O0", "-n1", "-X1", f"-r{seconds}", path]

    def count(out, _argv):
        return sum(float(m.group(1)) * {"": 1, "K": 1e3, "M": 1e6}[m.group(2)] for m in re.finditer(r"^IOPS=([\d.]+)([KM]?),", out, re.M))

    return Tool("t/io_uring", command, count)


def compare(title, ours, peers, rounds, long_s, short_s, key="us_per_io"):
    """Prints a table; returns {peer: median ratio peer/ours}."""
    control = peers[0]
    kept, dropped = [], 0
    for _ in range(rounds):
        first = control.figure(long_s, short_s)
        row = {ours.name: ours.figure(long_s, short_s)}
        for peer in peers[1:]:
            row[peer.name] = peer.figure(long_s, short_s)
        second = control.figure(long_s, short_s)
        low, high = sorted([first[key], second[key]])
        if high > low * 1.05:
            dropped += 1
            row["noisy"] = True
        row[control.name] = {k: (first[k] + second[k]) / 2 for k in first}
        kept.append(row)
    quiet = [row for row in kept if "noisy" not in row] or kept
    print(f"\n### {title}\n\n{len(quiet)} of {rounds} rounds kept" + (f", {dropped} noisy" if dropped else "") + "\n")
    print("| tool | CPU µs per I/O (median) | IOPS (median) | ÷ iodyno, median (range) |\n|---|---|---|---|")
    ratios = {}
    for tool in [ours] + peers:
        us = statistics.median(row[tool.name]["us_per_io"] for row in quiet)
        iops = statistics.median(row[tool.name]["iops"] for row in quiet)
        each = [row[tool.name][key] / row[ours.name][key] for row in quiet]
        ratios[tool.name] = statistics.median(each)
        print(f"| {tool.name} | {us:.3f} | {iops:,.0f} | {ratios[tool.name]:.3f} ({min(each):.3f} – {max(each):.3f}) |")
    sys.stdout.flush()
    return ratios


def make_file(path, mib):
    """A file whose pages are in the page cache, made by iodyno's peers' common friend dd."""
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={mib}", "status=none"], check=True)
    with open(path, "rb") as f:
        while f.read(1 << 20):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the iodyno to measure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="length of a long run; short ones take 2 s")
    parser.add_argument("--only", help="run only benches whose name contains this")
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix="iodyno-bench-", dir=os.environ.get("BENCH_DIR", "/var/tmp"))
    shm = tempfile.mkdtemp(prefix="iodyno-bench-", dir="/dev/shm")
    wanted = lambda name: args.only is None or args.only in name
    print(f"fio: {subprocess.run(['fio', '--version'], capture_output=True, text=True).stdout.strip()}, kernel {os.uname().release}, "
          f"{os.cpu_count()} cores, file system of {work}: "
          f"{subprocess.run(['stat', '-f', '-c', '%T', work], capture_output=True, text=True).stdout.strip()}")
    try:
        cached = os.path.join(work, "cached.dat")
        uring = ["--ioengine=io_uring", "--rw=randread", "--bs=4k", "--iodepth=128", "--norandommap", "--direct=0", "--invalidate=0"]
        batch = ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32", "--registerfiles", "--fixedbufs"]
        if wanted("cached"):
            make_file(cached, 512)
            peers = [fio("fio batched", cached, uring + batch), fio("fio plain", cached, uring)]
            if os.environ.get("T_IO_URING"):
                peers.append(t_io_uring(cached))
            else:
                print("\nt/io_uring: not measured, T_IO_URING does not name a built copy")
            compare("page-cached file, 4 KiB random read, depth 128, one core, full recording", iodyno("iodyno", args.binary, work, cached, "xfersize=4k,rdpct=100", "iorate=max", "threads=128", ("--engine", "io_uring")), peers, args.rounds, args.seconds, 2)
            os.unlink(cached)
        if wanted("tmpfs"):
            path = os.path.join(shm, "t.dat")
            make_file(path, 256)
            compare("tmpfs, 4 KiB random read, depth 1, one core", iodyno("iodyno", args.binary, work, path, "xfersize=4k,rdpct=100", "iorate=max", "threads=1"),
                    [fio("fio psync", path, ["--ioengine=psync", "--rw=randread", "--bs=4k", "--norandommap", "--invalidate=0"])], args.rounds, args.seconds, 2)
            os.unlink(path)
        if wanted("paced"):
            path = os.path.join(work, "paced.dat")
            make_file(path, 256)
            compare("page-cached file, paced at 20,000/s, Poisson", iodyno("iodyno", args.binary, work, path, "xfersize=4k,rdpct=100", "iorate=20000", "threads=32"),
                    [fio("fio rate_iops", path, ["--ioengine=psync", "--rw=randread", "--bs=4k", "--norandommap", "--invalidate=0", "--rate_iops=20000", "--rate_process=poisson"])], args.rounds, args.seconds, 2)
            os.unlink(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(shm, ignore_errors=True)


if __name__ == "__main__":
    main()
