#!/usr/bin/env python3
"""How faithfully a trace is replayed, beside fio's read_iolog and btreplay on the same trace, all judged by one tracer.

replay.py IODYNO [--seconds N]   A bursty load on one loop device is traced, exported for the others, and played by each of them on a second
loop device, which is traced each time. Printed: I/Os found again, issue-time error against the trace (median aligned), length,
order, correlation by 100 ms, and of iodyno what it says itself; iodyno plays it at twice and half the speed as well, and once more on a CPU
that the kernel's workers leave alone. Then a load of 60,000 IOPS on loop devices in memory, by iodyno alone. Best on an idle machine, as root.
What is promised of an idle core (docs/replay.md) is judged at the end, met or missed, on the runs with a CPU of their own; exit code 1 if anything is missed.
"""
import argparse, csv, io, json, os, shutil, signal, statistics, subprocess, sys, tempfile, time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

LOAD = """[global]
ioengine=io_uring
direct=1
time_based
runtime={seconds}
filename={device}
randrepeat=1
rate_process=poisson
[random-reads]
rw=randread
bssplit=4k/80:16k/20
iodepth=32
rate_iops=1200
[random-writes]
rw=randwrite
bssplit=4k/50:8k/40:64k/10
iodepth=32
rate_iops=500
[sequential]
rw=read
bs=64k
iodepth=4
rate_iops=150
[bursts]
rw=randrw
rwmixread=60
bs=4k
iodepth=16
thinktime=400ms
thinktime_blocks=600
"""

FAST = """[fast]
ioengine=io_uring
direct=1
time_based
runtime={seconds}
filename={device}
randrepeat=1
rate_process=poisson
rw=randrw
rwmixread=70
bs=4k
iodepth=32
rate_iops=42000,18000
"""
# 17 ms of that load are a thousand I/Os.
DEEP = ["--depth", "4096"]

# Caused lateness and issue-time error, µs; iodyno's error as a share of the best other's.
LIMITS = {"caused lateness, p99": 50, "caused lateness, p99.9": 250, "issue-time error, p99": 75, "share of the best other's error": 0.1}
judged = []


def judge(title, figure, value):
    """Notes whether a limit was met; what was not measured has missed it."""
    judged.append((title, figure, value, value is not None and value <= LIMITS[figure]))


def verdict():
    """Prints all that was judged; the exit code."""
    for title, figure, value, is_met in judged:
        shown = "?" if value is None else f"{value:,.4g}"
        print(f"{'met   ' if is_met else 'MISSED'} {title}: {figure} {shown}, limit {LIMITS[figure]:g}")
    missed = sum(not one[3] for one in judged)
    print(f"{'all limits met' if judged and not missed else f'{missed} of {len(judged)} limits missed'}")
    return 0 if judged and not missed else 1


def sh(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True, **more).stdout


class Disk:
    def __init__(self, folder, name, options):
        image = folder / name
        with open(image, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 30)
        self.path = sh("losetup", "-f", "--show", *options, image).strip()
        self.name = Path(self.path).name
        Path(f"/sys/block/{self.name}/queue/scheduler").write_text("none")

    def close(self):
        sh("losetup", "-d", self.path)


class Trace:
    def __init__(self, binary, disk, out, comm=None):
        shutil.rmtree(out, ignore_errors=True)
        self.binary, self.out = binary, out
        more = ["--comm", comm] if comm else []
        self.child = subprocess.Popen([binary, "trace", "-d", disk.name, "-o", str(out), *more], stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def stop(self):
        time.sleep(0.3)
        self.child.send_signal(signal.SIGINT)
        self.child.communicate()
        return rows(self.binary, self.out)


def rows(binary, recording):
    """(queue ns, kind, sector, bytes), in the order of queueing."""
    table = csv.DictReader(io.StringIO(sh(binary, "export", recording, "io", "--csv")))
    return sorted((int(row["queue_ns"]), row["op"], row["sector"], row["bytes"]) for row in table)


def lateness(binary, recording):
    """Caused lateness by figure, µs."""
    table = csv.DictReader(io.StringIO(sh(binary, "export", recording, "fidelity", "--csv")))
    return {row["measure"]: float(row["error"]) / 1000 for row in table if row["measure"].startswith("caused") and row["error"]}


def percentile(values, share):
    return sorted(values)[max(0, min(len(values) - 1, int(len(values) * share)))] if values else float("nan")


def correlation(one, other):
    try:
        return statistics.correlation(one, other)
    except statistics.StatisticsError:
        return float("nan")


def compare(name, source, replay, speed=1.0):
    """The k-th occurrence of an I/O here and there; the source's times as they should be at this speed."""
    source = [(source[0][0] + (row[0] - source[0][0]) / speed, *row[1:]) for row in source]
    places = defaultdict(list)
    for at, row in enumerate(replay):
        places[row[1:]].append(at)
    pairs = []
    for at, row in enumerate(source):
        if places[row[1:]]:
            pairs.append((at, places[row[1:]].pop(0)))
    if not pairs:
        return print(f"{name:22} nothing in common")
    errors = [(replay[b][0] - replay[0][0]) - (source[a][0] - source[0][0]) for a, b in pairs]
    middle = statistics.median(errors)
    off = [abs(error - middle) / 1000 for error in errors]
    order = sum(one[1] > other[1] for one, other in zip(pairs, pairs[1:]))
    lengths = [(side[-1][0] - side[0][0]) / 1e9 for side in (source, replay)]
    bins = [[0] * (int(max(lengths) * 10) + 1) for _ in range(2)]
    for side, counts in zip((source, replay), bins):
        for row in side:
            counts[int((row[0] - side[0][0]) / 1e8)] += 1
    print(f"{name:22} {len(pairs):,}/{len(source):,} the same (+{len(replay) - len(pairs)}); issue-time error p50 {percentile(off, .5):,.1f} "
          f"p99 {percentile(off, .99):,.0f} p99.9 {percentile(off, .999):,.0f} max {max(off):,.0f} µs; length {100 * (lengths[1] / lengths[0] - 1):+.4f} %; "
          f"out of order {order}; r(100 ms) {correlation(*bins):.5f}", flush=True)
    return percentile(off, .99)


class Loops:
    """A load traced on one device and played on another."""

    def __init__(self, binary, folder, images, options=()):
        self.binary, self.folder = binary, folder
        self.disks = [Disk(images, "source.img", options), Disk(images, "target.img", options)]

    def close(self):
        for disk in self.disks:
            disk.close()

    def trace(self, load, seconds):
        (self.folder / "load.fio").write_text(load.format(device=self.disks[0].path, seconds=seconds))
        trace = Trace(self.binary, self.disks[0], self.folder / "source.iodyno", "fio")
        sh("fio", self.folder / "load.fio")
        source = trace.stop()
        length = (source[-1][0] - source[0][0]) / 1e9
        print(f"trace: {len(source):,} I/Os in {length:.2f} s, {len(source) / length:,.0f} IOPS", flush=True)
        return source

    def ours(self, title, source, speed, more=(), is_judged=False):
        out = self.folder / "ours.iodyno"
        shutil.rmtree(out, ignore_errors=True)
        ours = subprocess.run([self.binary, "replay", self.folder / "source.iodyno", "--map", f"{self.disks[0].name}={self.disks[1].path}",
                               "--speed", str(speed), "--destroy", self.disks[1].path, *more, "-o", out, "--no-report", "--json"], capture_output=True, text=True)
        if not out.exists():
            if is_judged:
                for figure in list(LIMITS)[:3]:
                    judge(title, figure, None)
            return print(f"{title:22} failed: {ours.stderr}")
        p99 = compare(title, source, rows(self.binary, out), speed)
        print("    " + ours.stderr.strip().splitlines()[-1])
        table = sh(self.binary, "export", out, "replay.fidelity", "--csv")
        print("    " + "; ".join(f"{row['measure']} {row['difference']}" for row in csv.DictReader(io.StringIO(table))
                                 if row["measure"].startswith("caused")), flush=True)
        if is_judged:
            caused = lateness(self.binary, out)
            for figure in list(LIMITS)[:2]:
                judge(title, figure, caused.get(figure))
            judge(title, "issue-time error, p99", p99)
        return p99

    def others(self, source):
        """p99 of the issue-time error by player."""
        folder, name, target = self.folder, self.disks[0].name, self.disks[1]
        sh(self.binary, "export", folder / "source.iodyno", "io", "--format", "blktrace", "-o", folder / f"{name}.blktrace.0")
        sh(self.binary, "export", folder / "source.iodyno", "io", "--format", "fio-iolog", "-o", folder / "v3.iolog")
        fio = ["fio", "--name=r", "--ioengine=io_uring", "--iodepth=256", "--direct=1", f"--read_iolog={folder}/v3.iolog",
               f"--replay_redirect={target.path}"]
        players = {"fio, iolog, io_uring": fio, "fio, iolog, FIFO 50": ["chrt", "-f", "50", *fio]}
        if shutil.which("btrecord"):
            (folder / "rec").mkdir()
            subprocess.run(["btrecord", "-d", folder, "-D", folder / "rec", "-m", "1000", "-M", "1", name], capture_output=True)
            (folder / "map").write_text(f"{name} {target.name}\n")
            players["btreplay -m 1000 -M 1"] = ["btreplay", "-d", folder / "rec", "-W", "-M", folder / "map", name]
        p99 = {}
        for title, command in players.items():
            trace = Trace(self.binary, target, folder / "other.iodyno")
            subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
            p99[title] = compare(title, source, trace.stop())
        return p99


class IdleCore:
    """The CPU with the fewest interrupts of devices, which the kernel's own workers (those of loop devices, write-back) leave alone meanwhile."""
    MASK = Path("/sys/devices/virtual/workqueue/cpumask")

    def __enter__(self):
        cpus = os.cpu_count()
        lines = [line.split()[1:cpus + 1] for line in open("/proc/interrupts") if line.split(":")[0].strip().isdigit()]
        quietest = min(range(cpus), key=lambda cpu: (sum(int(line[cpu]) for line in lines), -cpu))
        self.before = self.MASK.read_text()
        self.MASK.write_text(f"{(1 << cpus) - 1 & ~(1 << quietest):x}")
        return str(quietest)

    def __exit__(self, *_):
        self.MASK.write_text(self.before)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("iodyno")
    options.add_argument("--seconds", type=int, default=20)
    options = options.parse_args()
    binary = os.path.abspath(options.iodyno)
    with tempfile.TemporaryDirectory(dir=".") as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        folder, memory = Path(folder).resolve(), Path(memory)
        with closing(Loops(binary, folder, folder, ["--direct-io=on"])) as loops:
            bursts(loops, options.seconds)
        # What a disk of these machines cannot do for 20 s without a stall, one in memory can.
        with closing(Loops(binary, folder, memory)) as loops:
            source = loops.trace(FAST, options.seconds)
            loops.ours("iodyno", source, 1.0, DEEP)
            with IdleCore() as cpu:
                loops.ours("iodyno at 60,000 IOPS, own CPU", source, 1.0, [*DEEP, "--cpus", cpu], is_judged=True)
    sys.exit(verdict())


def bursts(loops, seconds):
    source = loops.trace(LOAD, seconds)
    ours = loops.ours("iodyno", source, 1.0)
    for speed in (2.0, 0.5):
        loops.ours(f"iodyno at {speed:g}x", source, speed)
    others = [(value, title) for title, value in loops.others(source).items() if value is not None]
    best = min(others) if others else (None, "none of them played it")
    share = ours / best[0] if ours is not None and best[0] else None
    judge(f"iodyno beside {best[1]}", "share of the best other's error", share)
    with IdleCore() as cpu:
        for speed in (1.0, 2.0, 0.5):
            loops.ours(f"iodyno at {speed:g}x, own CPU", source, speed, ["--cpus", cpu], is_judged=True)


main()
