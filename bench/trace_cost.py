#!/usr/bin/env python3
"""What a trace costs the load that it watches, beside the kernel's own blk tracer, in interleaved slices.

trace_cost.py IODYNO [--rounds N] [--rate IOPS] [--jobs N]   fio reads a zram disk; with one job it has a core of its own, the tracers'
consumers run on the other. Without --rate it reads as fast as that core allows: what a tracer takes is missing in the rate. With it, the load
is one of so many IOPS, and it is shown how much of the cores it leaves free: a load keeps its rate as long as there is some left.
Each round: nothing, iodyno, nothing, blk. A slice's rate is divided by the mean of the two slices without a tracer around it;
printed are the median of these ratios and its 95 % interval (order statistics), I/Os lost, and CPU per I/O of each consumer.
"""
import argparse, json, math, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time
from pathlib import Path

SLICE_S = 2.0
TRACEFS = Path("/sys/kernel/tracing")


def patiently(act):
    """Does it again while the kernel says busy: a reader that was killed closes its files a little later."""
    for _ in range(50):
        try:
            return act()
        except OSError:
            time.sleep(0.1)
    return act()


class Disk:
    """A zram disk full of data."""

    def __init__(self):
        control = Path("/sys/class/zram-control/hot_add")
        if not control.exists():
            sys.exit("skipped: this kernel has no zram-control/hot_add")
        self.number = int(control.read_text())
        self.name = f"zram{self.number}"
        Path(f"/sys/block/{self.name}/disksize").write_text("512M")
        subprocess.run(["dd", "if=/dev/urandom", f"of=/dev/{self.name}", "bs=1M", "count=512", "oflag=direct"],
                       check=True, stderr=subprocess.DEVNULL)

    def reads(self):
        return int(Path(f"/sys/block/{self.name}/stat").read_text().split()[0])

    def close(self):
        patiently(lambda: Path(f"/sys/block/{self.name}/reset").write_text("1"))
        Path("/sys/class/zram-control/hot_remove").write_text(str(self.number))


class Iodyno:
    def __init__(self, binary, disk, folder):
        self.directory = Path(folder) / "cost.iodyno"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.child = subprocess.Popen(["taskset", "-c", "1", binary, "trace", "-d", disk.name, "-o", str(self.directory)],
                                      stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        out = self.child.stdout.read()
        _, _, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = 0
        manifest = json.loads((self.directory / "manifest.json").read_text())
        rows = manifest["rows"]["io"]
        losses = {name: n for name, n in manifest.get("losses", {}).items() if n}
        written = float(re.search(r"taken out and written in ([\d.]+) ns", out)[1])
        return (usage.ru_utime + usage.ru_stime) / max(rows, 1) * 1e9, written, losses


class Blk:
    """The kernel's blk tracer, read as blktrace would."""

    def __init__(self, disk):
        self.disk = disk
        (TRACEFS / "buffer_size_kb").write_text("16384")
        (TRACEFS / "current_tracer").write_text("blk")
        self.lost_before = self.lost()
        Path(f"/sys/block/{disk.name}/trace/enable").write_text("1")
        script = f"for f in {TRACEFS}/per_cpu/cpu*/trace_pipe_raw; do cat $f > /dev/null & done; wait"
        self.child = subprocess.Popen(["taskset", "-c", "1", "bash", "-c", script], start_new_session=True)

    def lost(self):
        lines = [line for file in TRACEFS.glob("per_cpu/cpu*/stats") for line in file.read_text().splitlines()]
        return sum(int(line.split(":")[1]) for line in lines if line.startswith("overrun"))

    def stop(self):
        Path(f"/sys/block/{self.disk.name}/trace/enable").write_text("0")
        lost = self.lost() - self.lost_before
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        patiently(lambda: (TRACEFS / "current_tracer").write_text("nop"))
        return lost


def idle_s():
    """Seconds that all cores together were idle since the start."""
    fields = open("/proc/stat").readline().split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")


def interval(values):
    """Median, and the order statistics around it that hold it with at least 95 % (exact, by the binomial); with fewer than
    six values nothing does, and it is all of them."""
    values = sorted(values)
    n = len(values)

    def outside(rank):
        """How often the median lies below the value of this rank (from 0), or above the one as far from the end."""
        return 2 * sum(math.comb(n, k) for k in range(rank + 1)) / 2**n

    rank = max((rank for rank in range(n // 2) if outside(rank) <= 0.05), default=0)
    return statistics.median(values), values[rank], values[n - 1 - rank]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("iodyno")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--rate", type=int, help="IOPS of the load; default: as many as it can")
    options.add_argument("--jobs", type=int, default=1, help="threads of the load; more than one use both cores")
    options = options.parse_args()
    if not (TRACEFS / "buffer_size_kb").exists():
        subprocess.run(["mount", "-t", "tracefs", "nodev", str(TRACEFS)], check=True)
    disk = Disk()
    folder = tempfile.mkdtemp(dir=".")
    rate = [f"--rate_iops={options.rate // options.jobs}"] if options.rate else []
    load = subprocess.Popen(
        ["taskset", "-c", "0" if options.jobs == 1 else "0,1", "fio", *rate, f"--numjobs={options.jobs}", "--name=l", f"--filename=/dev/{disk.name}", "--rw=randread", "--bs=4k", "--direct=1",
         # Not io_uring: it hands I/Os of a driver that may wait to threads of its own, and how these are scheduled is most of the rate.
         "--ioengine=psync", "--thread", "--norandommap", "--time_based", "--runtime=3600", "--output=/dev/null"])
    try:
        time.sleep(2)

        def slice_of():
            reads, started = disk.reads(), time.monotonic()
            time.sleep(SLICE_S)
            return (disk.reads() - reads) / (time.monotonic() - started)

        idle = idle_s()
        bare, ratios, cpu, written, lost = [slice_of()], {"iodyno": [], "blk": []}, [], [], {"iodyno": 0, "blk": 0}
        free = (idle_s() - idle) / SLICE_S
        for _ in range(options.rounds):
            for name in ("iodyno", "blk"):
                tracer = Iodyno(options.iodyno, disk, folder) if name == "iodyno" else Blk(disk)
                time.sleep(0.3)
                rate = slice_of()
                if name == "iodyno":
                    ns, in_time_ns, losses = tracer.stop()
                    cpu.append(ns)
                    written.append(in_time_ns)
                    lost["iodyno"] += sum(n for key, n in losses.items() if key != "trace_names")
                else:
                    lost["blk"] += tracer.stop()
                time.sleep(0.5)
                bare.append(slice_of())
                ratios[name].append(rate / statistics.mean(bare[-2:]))
        print(f"load without a tracer: {statistics.median(bare):,.0f} IOPS, {free:.2f} of {os.cpu_count()} cores idle, {options.rounds} rounds")
        for name, values in ratios.items():
            middle, low, high = interval(values)
            print(f"{name:7} {middle:.3f} of that ({low:.3f} – {high:.3f}), {lost[name]:,} lost")
        print(f"iodyno, CPU per I/O: {statistics.median(written):.0f} ns to take it out of the ring and to write it; "
              f"{statistics.median(cpu):.0f} ns start and sealing included")
    finally:
        load.kill()
        load.wait()
        time.sleep(0.5)
        disk.close()
        shutil.rmtree(folder, ignore_errors=True)


main()
