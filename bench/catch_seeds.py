#!/usr/bin/env python3
"""What the whole product reports of disks that go wrong, seed by seed: everything that showed when it was read, and nothing else.

    bench/catch_seeds.py IODYNO FAULTFS [--seeds N] [--from SEED] [--workers N] [--flag=--verify-before-write] [--without-faults]

Each seed is a disk of its own (faultfs below a loop device), which a job writes whole, then at random while faults of one to three
kinds at a rate of chance are put in, and which is read at the end (`iodyno run --verify`). Sizes, engines, depths, shares of reads
and trims are of chance, too. faultfs serves one operation at a time and lists all of them in order; from this list alone the script
works out which reads of which blocks had to find damage, and then holds the rows of `data_error` against it, block by block and as
often as each. At the end the disk as it reads is compared with the truth below it, byte by byte: what the list says must be what is
there. A name is asked of each block to which one thing happened.
"""

import argparse
import collections
import concurrent.futures
import json
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile

from catch_table import Disk

WRITES = ["lost-write", "torn", "misdirect", "duplicate", "swap", "zero", "foreign"]
READS = ["bitrot", "stale-read", "misdirect-read"]
OLD = {"lost_write"}
# The right names, by what the disk did and whether it is the place that was meant.
NAMES = {
    ("lost-write", True): OLD,
    ("torn", True): {"torn_write"},
    ("misdirect", True): OLD | {"write_went_astray"},
    ("misdirect", False): {"misdirected_write", "duplicated_write"},
    ("duplicate", False): {"misdirected_write", "duplicated_write"},
    ("swap", True): {"swapped_sectors"},
    ("zero", True): {"zeroes"},
    ("foreign", True): {"foreign"},
    ("bitrot", True): {"bit_rot"},
    ("stale-read", True): {"stale_read"},
    ("misdirect-read", True): {"misdirected_read"},
    ("trim-kept", True): {"trimmed_data"},
}


class Wanted:
    """What a seed does."""

    def __init__(self, seed, options):
        chance = random.Random(seed)
        self.seed = seed
        self.block = chance.choice([1024, 4096, 4096, 4096, 8192, 16384, 65536])
        self.blocks = chance.randint(96, 1024) if self.block <= 8192 else chance.randint(48, 128)
        self.size = self.blocks * self.block
        self.size += -self.size % 4096
        self.blocks = self.size // self.block
        self.engine = chance.choice(["io_uring", "io_uring", "libaio", "psync"])
        self.depth = chance.choice([1, 4, 8, 32])
        self.jobs = chance.choice([1, 1, 2])
        self.reads = chance.choice([0, 30, 50, 70])
        self.trims = chance.random() < 0.15
        self.ops = int(self.blocks * chance.uniform(1, 3))
        kinds = ["trim-kept"] if self.trims and chance.random() < 0.7 else []
        room = WRITES + (READS * 2 if self.reads else [])
        wanted = 0 if options.without_faults else chance.choice([1, 1, 1, 2, 3])
        while len(kinds) < wanted:
            kind = chance.choice(room)
            # A stale read of what was stale before is none; and one kind of reads tells enough about a block.
            if kind not in kinds and not (kind in READS and set(kinds) & set(READS)):
                kinds.append(kind)
        self.kinds = kinds[:wanted]
        self.mixed = self.block <= 8192 and chance.random() < 0.3 and not {"swap", "bitrot", "torn"} & set(self.kinds)
        self.rate = round(10 ** chance.uniform(-2.5, -0.8), 5)
        self.count = chance.randint(1, 12)

    def rules(self, image):
        """Writes go wrong behind the first filling; reads a few times only, and none in the reading at the end, which reads many
        blocks at once."""
        lines = []
        for kind in self.kinds:
            if kind in READS:
                lines.append(f"{kind} rate {max(self.rate, 0.05)} count {self.count} range 0-{self.size}")
            elif kind == "trim-kept":
                lines.append(f"trim-kept rate {max(self.rate, 0.1)}")
            else:
                lines.append(f"{kind}{f' {image}' if kind == 'foreign' else ''} rate {self.rate}")
        return "\n".join(lines)

    def job(self, disk, work):
        sizes = f"bssplit={self.block}/50:{self.block * 2}/30:{self.block * 4}/20" if self.mixed else f"bs={self.block}"
        kind = "randrw" if self.reads else "randwrite"
        text = f"""[global]
filename={disk.loop}
direct=1
ioengine={self.engine}
iodepth={self.depth}
size={self.size}
blockalign={self.block}
continue_on_error=verify
randseed={self.seed}
[fill]
verify=crc32c
rw=write
bs={self.block}
[again]
stonewall
exec_prerun=cp {work}/rules {disk.place}/control
rw={kind}
rwmixread={self.reads}
{sizes}
norandommap=1
numjobs={self.jobs}
io_size={max(self.ops // self.jobs, 8) * self.block}
"""
        if self.trims:
            text += f"[trims]\nrw=randtrim\nbs={self.block}\nnorandommap=1\nio_size={max(self.ops // 8, 4) * self.block}\n"
        return text + f"[end]\nstonewall\nexec_prerun=cp {work}/quiet {disk.place}/control\nrw=randread\nbs={self.block}\nio_size={self.block}\n"


def image_of(path, size):
    """What reads of a disk give, past all caches."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        room = mmap.mmap(-1, 1 << 20)
        parts, at = [], 0
        while at < size:
            got = os.preadv(handle, [room], at)
            parts.append(room[:got])
            at += got
        return b"".join(parts)
    finally:
        os.close(handle)


class Model:
    """What had to be found, by the list of what the disk did."""

    def __init__(self, wanted, log, faults):
        self.block, self.size = wanted.block, wanted.size
        self.known, self.trimmed, self.causes, self.found = set(), set(), {}, []
        # Blocks that were trimmed before they were written last; that were wrong then; reads that are to be done again.
        self.over_trim, self.over_wrong, self.written, self.rewritten, self.pending = set(), set(), set(), set(), {}
        self.checked = 0
        waiting = collections.defaultdict(collections.deque)
        for fault in faults:
            waiting[fault[1]].append(fault)
        entries = [line.split() for line in log.splitlines() if line[:1] != "#"]
        for at, words in enumerate(entries):
            op, offset, length, fault = words[3], int(words[4]), int(words[5]), words[7]
            note = waiting[fault].popleft() if fault != "-" and waiting[fault] else None
            if op == "write":
                self.write(offset, length, fault, note)
            elif op == "trim":
                for block in self.of(offset, length):
                    self.known.add(block)
                    before = self.causes.pop(block, [])
                    if fault == "trim-kept" and (before or block not in self.trimmed):
                        self.causes[block] = [*before, ("trim-kept", True)]
                    self.trimmed.add(block)
            elif op == "read":
                self.read(offset, length, fault, entries, at, note)

    def of(self, offset, length):
        return range(offset // self.block, (offset + length) // self.block)

    def write(self, offset, length, fault, note):
        for block in self.of(offset, length):
            before = self.causes.pop(block, [])
            self.known.add(block)
            (self.over_wrong.add if before else self.over_wrong.discard)(block)
            (self.rewritten if block in self.written else self.written).add(block)
            if block in self.trimmed:
                self.over_trim.add(block)
            elif fault == "-":
                self.over_trim.discard(block)
            self.trimmed.discard(block)
            if fault in ("lost-write", "torn", "misdirect"):
                self.causes[block] = [*before, (fault, True)]
            elif fault not in ("-", "duplicate"):
                self.causes[block] = [(fault, True)]
        if fault in ("misdirect", "duplicate"):
            for block in self.of(int(note[4]), length):
                self.causes[block] = [(fault, False)]

    def read(self, offset, length, fault, entries, at, note):
        # A block that is not right is read again with the whole operation, of which the other blocks were right.
        is_again = (offset, length) in self.pending
        for block, causes in self.pending.pop((offset, length), []):
            # What came between the two is what lasts.
            if block in self.causes:
                self.known.discard(block)
                causes += [cause for cause in self.causes[block] if cause not in causes]
        for block in self.of(offset, length):
            if fault == "bitrot":
                self.causes[block] = [*self.causes.get(block, []), ("bitrot", True)]
            causes = list(self.causes.get(block, []))
            # The disk has older data of what was written twice only.
            if fault == "misdirect-read" or fault == "stale-read" and block in self.rewritten:
                causes.append((fault, True))
                there = (int(note[4]) + block * self.block - offset) // self.block if fault == "misdirect-read" else None
                if block in self.trimmed and there in self.trimmed and there not in self.causes:
                    # Zeroes, as there should be.
                    causes = []
                elif block in self.over_wrong if there is None else there in self.causes or there in self.trimmed:
                    causes.append(("what was wrong there", True))
            if block in self.known and not is_again:
                self.checked += 1
                if causes:
                    again = self.again(block, entries, at)
                    causes = causes + again
                    self.found.append((block, causes, block in self.over_trim or block in self.trimmed))
                    self.pending.setdefault((offset, length), []).append((block, causes))
                    # Nothing is known of a block that is still not right when it is read again, until it is written.
                    if again or block in self.causes:
                        self.known.discard(block)

    def again(self, block, entries, at):
        """What is done wrong to the second reading of a block that is not right."""
        for words in entries[at + 1:]:
            if words[3] == "read" and int(words[4]) <= block * self.block < int(words[4]) + int(words[5]):
                return [(words[7], True)] if words[7] in READS else []
        return []


def judge(wanted, model, rows, reads, truth):
    """(lines of what is wrong, blocks found, of one cause, of those with the right name)."""
    wrong = []
    block = wanted.block
    differs = {at for at in range(wanted.blocks) if reads[at * block:(at + 1) * block] != truth[at * block:(at + 1) * block]}
    if differs != set(model.causes):
        wrong.append(f"the list is not what is there: {sorted(differs ^ set(model.causes))[:8]}")
    must, are = collections.defaultdict(list), collections.defaultdict(list)
    for at, causes, over_trim in model.found:
        must[at].append((causes, over_trim))
    for row in rows:
        are[row["address"] // block].append(row)
        if row["bytes"] != block or row["address"] % block:
            wrong.append(f"a row about {row['bytes']} bytes at {row['address']}")
    for at in sorted(differs):
        if not are[at]:
            wrong.append(f"block {at} shows {model.causes.get(at)} at the end and has no report")
    one, named = 0, 0
    for at in sorted(set(must) | set(are)):
        if len(must[at]) != len(are[at]):
            wrong.append(f"block {at}: {len(must[at])} had to be found {must[at]}, {len(are[at])} were {[(row['class'], row['run'], row['found_by']) for row in are[at]]}")
            continue
        for (causes, over_trim), row in zip(must[at], are[at]):
            if len(causes) == 1:
                one += 1
                # What was there before may have been a trimmed block, and what is read of one be what was there before.
                if row["class"] in NAMES.get(causes[0], ()) or over_trim and row["class"] in ("zeroes", "torn_write", "trimmed_data"):
                    named += 1
                else:
                    wrong.append(f"named: block {at}: {causes} is {row['class']}: {row['found']}")
    return wrong, len(rows), one, named


def run_seed(seed, options):
    wanted = Wanted(seed, options)
    disk = Disk(options.faultfs, wanted.size, ["--threads", "1", "--seed", str(seed), "--log-entries", "4000000"])
    try:
        with tempfile.TemporaryDirectory(prefix="catch-io-") as work:
            if "foreign" in wanted.kinds:
                with open(f"{work}/image", "wb") as file:
                    file.write(random.Random(seed).randbytes(wanted.size))
            with open(f"{work}/rules", "w") as file:
                file.write((wanted.rules(f"{work}/image") or "quiet") + "\n")
            with open(f"{work}/quiet", "w") as file:
                file.write("quiet\n")
            with open(f"{work}/a.fio", "w") as file:
                file.write(wanted.job(disk, work))
            command = [options.iodyno, "run", f"{work}/a.fio", "-o", f"{work}/out", "--verify", *options.flag, "--destroy", disk.loop, "--no-report", "--no-counters"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if run.returncode not in (0, 4):
                return seed, wanted, [f"exit code {run.returncode}: {run.stderr[-600:]}"], 0, 0, 0, 0
            disk.tell("quiet")
            with open(f"{disk.place}/log") as file:
                log = file.read()
            model = Model(wanted, log, disk.all_faults())
            reads = image_of(disk.disk, wanted.size)
            disk.tell("heal")
            truth = image_of(disk.disk, wanted.size)
            rows = subprocess.run([options.iodyno, "export", f"{work}/out", "data_error", "--json"], capture_output=True, text=True, check=True).stdout
            wrong, found, one, named = judge(wanted, model, [json.loads(row) for row in rows.splitlines()], reads, truth)
            if (run.returncode == 4) != bool(model.found):
                wrong.append(f"exit code {run.returncode}, {len(model.found)} damaged blocks")
            if options.keep and wrong:
                for name, text in [("log", log), ("faults", "\n".join(map(" ".join, disk.all_faults()))), ("rows", rows), ("out", run.stdout + run.stderr)]:
                    with open(f"{options.keep}/{seed}.{name}", "w") as file:
                        file.write(text)
                shutil.copy(f"{work}/a.fio", f"{options.keep}/{seed}.fio")
            return seed, wanted, wrong, found, one, named, model.checked
    finally:
        disk.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("faultfs")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--flag", action="append", default=[], help="a flag more for `iodyno run`")
    parser.add_argument("--without-faults", action="store_true")
    parser.add_argument("--keep", metavar="DIR", help="of seeds of which something is wrong, keep what the disk did, the job and the rows there")
    options = parser.parse_args()
    sums, kinds = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for seed, wanted, wrong, found, one, named, checked in pool.map(lambda seed: run_seed(seed, options), range(options.first, options.first + options.seeds)):
            sums.update(seeds=1, blocks_checked=checked, reported=found, of_one_cause=one, rightly_named=named, seeds_with_faults=bool(found))
            kinds.update(wanted.kinds)
            sums["wrong_names"] += sum(line.startswith("named:") for line in wrong)
            sums["wrong_otherwise"] += sum(not line.startswith("named:") for line in wrong)
            for line in wrong[:3]:
                print(f"seed {seed} ({wanted.block} bytes, {'+'.join(wanted.kinds)}): {line}", flush=True)
            if sums["seeds"] % 100 == 0:
                print(dict(sums), flush=True)
    print(dict(sums), dict(kinds))
    is_bad = sums["wrong_otherwise"] or sums["rightly_named"] < 0.99 * sums["of_one_cause"]
    sys.exit(1 if is_bad else 0)


main()
