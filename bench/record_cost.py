#!/usr/bin/env python3
"""What watching a machine costs: `iodyno record` beside atop, below, sadc, pidstat and node_exporter, in one run.

record_cost.py IODYNO [--seconds N] [--processes N] [--active N]

Starts many processes that sleep and some that work a little, then runs every collector that is installed, one after the other and in
several rounds, each at one sample a second for the same time. Printed: CPU time of the collector and its children in seconds per hour,
bytes that it wrote per second, and its memory. A collector that is not installed is named and left out. iodyno is measured as the service
(`record -d`): open journal, and sealed; and by the counters alone (`record -o`). A scraped exporter is scraped once a second.
"""
import argparse, os, shutil, signal, statistics, subprocess, sys, tempfile, time, urllib.request
from pathlib import Path

HZ = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """CPU seconds of a process and its ended children, to a tick; the scheduler's own count of it where the kernel tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    ticks = sum(int(fields[at]) for at in (11, 12)) / HZ
    children = sum(int(fields[at]) for at in (13, 14)) / HZ
    try:
        threads = [int(Path(task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()]
        return sum(threads) / 1e9 + children
    except OSError:
        return ticks + children


def peak_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return None


def size(path):
    """Bytes of a file or of what lies in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


class Crowd:
    """Processes that sleep, and some that use a little CPU every tenth of a second."""

    def __init__(self, processes, active):
        idle = [["sleep", "100000"]] * (processes - active)
        work = "import time\nwhile True:\n    end = time.perf_counter() + 0.0003\n    while time.perf_counter() < end: pass\n    time.sleep(0.25)\n"
        busy = [[sys.executable, "-S", "-c", work]] * active
        self.children = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for command in idle + busy]

    def close(self):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()


def collectors(iodyno, folder):
    """Name, command, where it writes, whether it is scraped."""
    sadc = next((path for path in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc") if os.path.exists(path)), None)
    below = shutil.which("below")
    settings, store = folder / "below.conf", folder / "below"
    settings.write_text(f'log_dir = "{folder / "below.log"}"\nstore_dir = "{store}"\n')
    # It knows version 2 of control groups only, and only there: where the machine has another one, it gets its own view.
    alone = [] if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else ["unshare", "--mount", "sh", "-c", 'mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@"']
    exporter = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    return [
        ("iodyno record -d", [iodyno, "record", "-d", folder / "days"], folder / "days", None),
        ("  --clock tick", [iodyno, "record", "-d", folder / "ticks", "--clock", "tick"], folder / "ticks", None),
        ("atop", [shutil.which("atop"), "-w", folder / "atop.raw", "1"], folder / "atop.raw", None),
        ("below", (alone if below else []) + [below, "--config", settings, "record", "--interval-s", "1", "--store-size-limit", str(1 << 30)], store, None),
        ("sadc -S ALL", [sadc, "-S", "ALL", "1", folder / "sadc.raw"], folder / "sadc.raw", None),
        ("pidstat -udrh", [shutil.which("pidstat"), "-udrh", "1"], folder / "pidstat.out", None),
        ("node_exporter", [exporter, "--web.listen-address=127.0.0.1:19100"], None, "http://127.0.0.1:19100/metrics"),
    ]


def measure(command, output, scraped, seconds):
    """CPU s/h, bytes written per second, peak KiB."""
    log = open(output, "wb") if output is not None and command[0].endswith("pidstat") else subprocess.DEVNULL
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.DEVNULL)
    try:
        # What starting costs is not the price of watching: the first seconds do not count.
        time.sleep(3)
        before, began, stored = cpu_s(child.pid), time.monotonic(), size(output) if output else 0
        pulled = 0
        while time.monotonic() - began < seconds:
            time.sleep(max(0.0, min(1.0, seconds - (time.monotonic() - began))))
            if scraped:
                with urllib.request.urlopen(scraped, timeout=5) as page:
                    pulled += len(page.read())
        used, length = cpu_s(child.pid), time.monotonic() - began
        if used is None or before is None:
            return None
        wrote = pulled if scraped else size(output) - stored if output else 0
        peak = peak_kib(child.pid)
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    return {"cpu_s_per_h": (used - before) / length * 3600, "bytes_per_s": wrote / length, "peak_mb": peak / 1024 if peak else None}


def sealed_bytes_per_s(folder):
    """Of the sealed recordings in a folder of days: their size by their length."""
    import json

    length = stored = 0
    for manifest in folder.glob("*/manifest.json"):
        told = json.loads(manifest.read_text())
        if not told.get("sealed"):
            continue
        rows = told.get("rows", {}).get("system", 0)
        length += max(0, rows - 1)
        stored += size(manifest.parent)
    return stored / length if length else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=600)
    parser.add_argument("--active", type=int, default=60)
    parser.add_argument("--only", default="", help="only collectors with this in their name: a long round tells what a day costs, in which the ends of files count for little")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="iodyno-cost-", dir="/var/tmp"))
    missing = [name for name, command, _, _ in collectors(options.iodyno, folder) if command[0] is None]
    for name in missing:
        print(f"{name}: not installed, left out")
    here = sum(1 for entry in os.listdir("/proc") if entry.isdigit())
    crowd = Crowd(max(options.processes - here, options.active), options.active)
    results = {}
    try:
        time.sleep(2)
        count = sum(1 for entry in os.listdir("/proc") if entry.isdigit())
        print(f"{count} processes, {options.active} of them active; {os.cpu_count()} CPUs; {options.rounds} rounds of {options.seconds:.0f} s")
        sealed = []
        for number in range(options.rounds):
            place = folder / str(number)
            place.mkdir()
            for name, command, output, scraped in collectors(options.iodyno, place):
                if command[0] is None or options.only not in name:
                    continue
                if name in ("iodyno record -d", "below"):
                    output.mkdir()
                result = measure(command, output, scraped, options.seconds)
                if result is None:
                    print(f"{name}: did not run", file=sys.stderr)
                    continue
                results.setdefault(name, []).append(result)
                if name == "iodyno record -d":
                    sealed.append(sealed_bytes_per_s(output))
    finally:
        crowd.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{'':18} {'CPU s/h':>9} {'(range)':>15} {'kB/s':>8} {'peak MB':>8}")
    for name, rounds in results.items():
        cpu = sorted(each["cpu_s_per_h"] for each in rounds)
        wrote = statistics.median(each["bytes_per_s"] for each in rounds) / 1000
        peak = statistics.median(each["peak_mb"] or 0 for each in rounds)
        print(f"{name:18} {statistics.median(cpu):9.1f} {f'{cpu[0]:.1f} – {cpu[-1]:.1f}':>15} {wrote:8.2f} {peak:8.1f}")
    known = [each for each in sealed if each]
    if known:
        goal = "met" if statistics.median(known) <= 3000 else "missed"
        print(f"iodyno sealed: {statistics.median(known) / 1000:.2f} kB/s (goal 3: {goal})")
    mine = statistics.median(each["cpu_s_per_h"] for each in results["iodyno record -d"])
    print(f"iodyno: {mine:.1f} CPU-seconds per hour (goal 20: {'met' if mine <= 20 else 'missed'})")


if __name__ == "__main__":
    main()
