#!/usr/bin/env python3
"""What data validation catches: iodyno, fio and Vdbench beside each other on a disk that goes wrong in a known way.

    bench/catch_table.py IODYNO FAULTFS [--size-mib N] [--share P] [--only FAULT[,FAULT]] [--tools iodyno,fio,vdbench] [--seed N]

The disk is faultfs (fixtures/faultfs) below a loop device: the truth stays whole, faults are laid over it, and a list says which
blocks still show one. Every tool writes the whole disk once, then every block once more in random order (Vdbench: random blocks for
`--seconds`) while a share of the operations goes wrong, and then reads everything. Faults of reads go wrong while it is read.
A row says in how many blocks faults showed (faults of reads: how many reads went wrong), how many blocks the tool reported, and its
exit code. VDBENCH names Vdbench's script; without it, its columns are left out. bench/catch_seeds.py holds iodyno to the same, block
by block, on disks of chance.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

READS = ["bitrot", "stale-read", "misdirect-read"]
FAULTS = ["lost-write", "torn", "misdirect", "duplicate", "swap", "zero", *READS]
METHODS = {"fio crc32c": ["--verify=crc32c"], "fio md5/512": ["--verify=md5", "--verify_interval=512"], "fio pattern": ["--verify=pattern", "--verify_pattern=%o"]}


class Disk:
    """faultfs with a loop device."""

    def __init__(self, program, size, flags=()):
        self.place = tempfile.mkdtemp(prefix="catch-")
        self.process = subprocess.Popen([program, self.place, "--size", str(size), *flags], stdout=subprocess.DEVNULL)
        self.disk = f"{self.place}/disk"
        until = time.monotonic() + 20
        while not os.path.exists(f"{self.place}/control") and time.monotonic() < until:
            time.sleep(0.05)
        self.loop = subprocess.run(["losetup", "--direct-io=on", "-f", "--show", self.disk], capture_output=True, text=True, check=True).stdout.strip()
        # One request of a tool is one of the disk.
        with open(f"/sys/block/{os.path.basename(self.loop)}/queue/nomerges", "w") as file:
            file.write("2")

    def tell(self, command):
        with open(f"{self.place}/control", "w") as file:
            file.write(command + "\n")

    def all_faults(self):
        """The lines of what went wrong: number, kind, offset, length, the other place or -, visible sectors."""
        with open(f"{self.place}/faults") as file:
            return [line.split() for line in file if line[:1].isdigit()]

    def faults(self):
        """(kind, offset, length, visible sectors) of each."""
        return [(words[1], int(words[2]), int(words[3]), int(words[5])) for words in self.all_faults()]

    def close(self):
        subprocess.run(["losetup", "-d", self.loop], check=False)
        subprocess.run(["umount", "-f", self.place], check=False, stderr=subprocess.DEVNULL)
        self.process.terminate()
        self.process.wait()
        os.rmdir(self.place)


def visible(disk):
    """Blocks that must be reported: a fault can show in several, and those of one that went astray lie in two places. Reads that
    went wrong leave nothing behind: they are counted, and each of them may have had several blocks."""
    faults = disk.faults()
    return sum(-(-sectors // 8) for _, _, _, sectors in faults) or len(faults)


def by_fio(disk, fault, method, options):
    base = [f"--filename={disk.loop}", "--bs=4k", f"--size={options.size_mib}m", "--direct=1", "--ioengine=libaio", "--iodepth=16", *method]
    subprocess.run(["fio", "--name=a", "--rw=write", "--do_verify=0", f"--randseed={options.seed}", *base], capture_output=True, check=True)
    disk.tell(f"{fault} rate {options.share}" if fault != "none" else "quiet")
    # Where it stops early it leaves a file.
    with tempfile.TemporaryDirectory(prefix="catch-fio-") as work:
        run = subprocess.run(
            ["fio", "--name=b", "--rw=randwrite", "--verify_fatal=0", "--continue_on_error=verify", f"--randseed={options.seed + 1}", *base],
            capture_output=True, text=True, cwd=work)
    seen = visible(disk)
    places = re.findall(r"requested block: offset=(\d+)", run.stderr)
    return seen, len({int(place) // 4096 for place in places}), run.returncode


def file_of(disk, fault, options):
    inject = f"echo {fault} rate {options.share} > {disk.place}/control" if fault != "none" else "true"
    return f"""data_errors=1000000
sd=sd1,lun={disk.loop},openflags=o_direct,threads=8
wd=fill,sd=sd1,rdpct=0,xfersize=4k,seekpct=eof
wd=again,sd=sd1,rdpct=0,xfersize=4k,seekpct=rand
wd=look,sd=sd1,rdpct=100,xfersize=4k,seekpct=eof
rd=fill,wd=fill,iorate=max,elapsed=600,interval=1
rd=again,wd=again,iorate=max,elapsed={options.seconds},interval=1,startcmd="{inject}"
rd=look,wd=look,iorate=max,elapsed=600,interval=1
"""


def by_vdbench(disk, fault, flag, options):
    """With -v each block is read before it is written, and Vdbench ends behind the run in which the first damage was found: what goes
    wrong there later is never read. With -vw nothing is read before the last run, which reads every block."""
    with tempfile.TemporaryDirectory(prefix="catch-vdb-") as work:
        with open(f"{work}/a.vdb", "w") as file:
            # Without it Vdbench refuses a run that reads nothing.
            file.write("validate=ignore_zero_reads\n" + file_of(disk, fault, options))
        run = subprocess.run([os.environ["VDBENCH"], "-f", f"{work}/a.vdb", "-o", f"{work}/out", flag], capture_output=True, text=True)
        seen = visible(disk)
        if run.returncode and not os.path.exists(f"{work}/out/errorlog.html"):
            sys.exit(run.stdout[-2000:] + run.stderr[-2000:])
        with open(f"{work}/out/errorlog.html", errors="replace") as file:
            text = file.read()
        said = collections.Counter(re.findall(r"===> (.+?)(?: miscompare|[.:])", text))
    places = re.findall(r"Key block lba: 0x([0-9a-f]+)", text)
    return seen, len(set(places)), run.returncode, " ".join(f"{what} {count}" for what, count in sorted(said.items()))


def by_iodyno(disk, fault, options):
    # Faults of reads would go on in the reading at the end.
    proof = "--verify=reads" if fault in READS else "--verify"
    with tempfile.TemporaryDirectory(prefix="catch-io-") as work:
        with open(f"{work}/a.vdb", "w") as file:
            file.write(file_of(disk, fault, options))
        run = subprocess.run(
            [options.iodyno, "run", f"{work}/a.vdb", "-o", f"{work}/out", proof, "--destroy", disk.loop, "--no-report", "--no-counters"],
            capture_output=True, text=True)
        seen = visible(disk)
        if run.returncode not in (0, 4):
            sys.exit(run.stdout[-2000:] + run.stderr[-2000:])
        rows = subprocess.run([options.iodyno, "export", f"{work}/out", "data_error", "--json"], capture_output=True, text=True).stdout
    classes = {}
    for row in map(json.loads, rows.splitlines()):
        classes.setdefault(row["class"], set()).add(row["address"])
    named = " ".join(f"{name} {len(places)}" for name, places in sorted(classes.items()))
    return seen, len(set().union(*classes.values())) if classes else 0, run.returncode, named


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("faultfs")
    parser.add_argument("--size-mib", type=int, default=64)
    parser.add_argument("--share", default="0.005")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", default="iodyno,fio,vdbench")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wanted = [one for one in options.only.split(",") if one] or ["none", *FAULTS]
    tools = options.tools.split(",")
    print("| fault | tool | blocks that show it | reported | exit code | named |\n|---|---|---|---|---|---|", flush=True)
    for fault in wanted:
        runs = []
        if "iodyno" in tools:
            runs.append(("iodyno", by_iodyno))
        if "fio" in tools:
            runs += [(name, lambda disk, fault, options, method=method: by_fio(disk, fault, method, options)) for name, method in METHODS.items()]
        if "vdbench" in tools and "VDBENCH" in os.environ:
            runs += [(f"Vdbench {flag}", lambda disk, fault, options, flag=flag: by_vdbench(disk, fault, flag, options)) for flag in ["-v", "-vw"]]
        for name, run in runs:
            disk = Disk(options.faultfs, options.size_mib << 20)
            try:
                disk.tell(f"seed {options.seed}")
                seen, reported, code, *named = run(disk, fault, options)
                print(f"| {fault} | {name} | {seen} | {reported} | {code} | {' '.join(named)} |", flush=True)
            finally:
                disk.close()


if __name__ == "__main__":
    main()
