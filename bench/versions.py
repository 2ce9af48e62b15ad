#!/usr/bin/env python3
"""The CPU-per-I/O rows of `make bench`, an older build of iodyno beside a newer one, in one go.

    bench/versions.py OLD NEW [--rounds 7] [--seconds 4] [--only NAME]

Rounds are interleaved (old, new, old), each on one core, start-up subtracted; the ratio of a round is new ÷ the mean of the
two old ones, and a round whose two old results differ by more than 3 % is dropped. The line says the median ratio.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile

import peers

ROWS = {
    "cached": ("page-cached file, 4 KiB random read, depth 128", "/var/tmp", "xfersize=4k,rdpct=100", "iorate=max", "threads=128", ("--engine", "io_uring")),
    "tmpfs": ("tmpfs, 4 KiB random read, depth 1", "/dev/shm", "xfersize=4k,rdpct=100", "iorate=max", "threads=1", ()),
    "paced": ("page-cached file, 20,000/s, Poisson", "/var/tmp", "xfersize=4k,rdpct=100", "iorate=20000", "threads=32", ()),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=4, help="length of a long run; short ones take 2 s")
    parser.add_argument("--only", help="only rows whose name contains this")
    args = parser.parse_args()
    worst = 0.0
    for name, (title, place, wd, rd, sd, extra) in ROWS.items():
        if args.only and args.only not in name:
            continue
        work = tempfile.mkdtemp(prefix="iodyno-bench-", dir=place)
        try:
            path = os.path.join(work, "f.dat")
            peers.make_file(path, 256)
            old, new = (peers.iodyno(label, binary, work, path, wd, rd, sd, extra) for label, binary in (("old", args.old), ("new", args.new)))
            ratios, us, dropped = [], [], 0
            for _ in range(args.rounds):
                first, now, second = (tool.figure(args.seconds, 2)["us_per_io"] for tool in (old, new, old))
                if max(first, second) > min(first, second) * 1.03:
                    dropped += 1
                    continue
                ratios.append(now / ((first + second) / 2))
                us.append(now)
            if ratios:
                middle = statistics.median(ratios)
                worst = max(worst, middle)
                print(f"{title}: new {statistics.median(us):.3f} µs per I/O, new ÷ old {middle:.3f} ({min(ratios):.3f} – {max(ratios):.3f}), {len(ratios)} rounds, {dropped} dropped")
            else:
                print(f"{title}: all {dropped} rounds were dropped: the machine is not quiet")
            sys.stdout.flush()
        finally:
            shutil.rmtree(work, ignore_errors=True)
    print(f"worst median: {worst:.3f}")


if __name__ == "__main__":
    main()
