#!/usr/bin/env python3
"""What proving data costs: operations of 4 KiB per second of processor time, beside the same load without a proof.

    bench/validation.py IODYNO [--where DIR] [--journal DIR] [--size-mib N] [--seconds S] [--rounds N] [--tools iodyno,fio,Vdbench] [--loads writes,reads]

The target is a file in memory (--where, /dev/shm), so that the processor is the limit; all take turns. Of each tool its own load
without a proof is 100 %: iodyno beside `--verify=reads` and `--journal`, fio beside `--verify=crc32c`, and, where VDBENCH names its
script, Vdbench beside `-v` and `-jn`. A file is written once, then written or read again at random; the processor time of the
whole process counts, less that of a run of a third of the time.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile


def cpu_of(command, folder=None):
    """Output and processor seconds of a command and all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {ended.returncode}\n{ended.stdout[-1000:]}{ended.stderr[-2000:]}")
    return ended.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def vdb(path, options, read_percent, seconds):
    return (f"sd=sd1,lun={path},size={options.size_mib}m,threads=16\n"
            f"wd=fill,sd=sd1,rdpct=0,xfersize=64k,seekpct=eof\nwd=load,sd=sd1,rdpct={read_percent},xfersize=4k,seekpct=rand\n"
            f"rd=fill,wd=fill,iorate=max,elapsed=600,interval=1\nrd=load,wd=load,iorate=max,elapsed={seconds},interval=1\n")


def by_iodyno(options, proof, read_percent, seconds):
    with tempfile.TemporaryDirectory(dir=options.where) as work, tempfile.TemporaryDirectory(dir=options.journal) as journal:
        with open(f"{work}/a.vdb", "w") as file:
            file.write(vdb(f"{work}/target", options, read_percent, seconds))
        flags = {"plain": [], "proof": ["--verify=reads"], "journal": ["--verify=reads", "--journal", f"{journal}/j"]}[proof]
        _, cpu = cpu_of([options.iodyno, "run", f"{work}/a.vdb", "-o", f"{work}/r", "--no-counters", "--no-report", *flags])
        rows, _ = cpu_of([options.iodyno, "export", f"{work}/r", "run_total", "--json"])
        return sum(row["ops"] for row in map(json.loads, rows.splitlines()) if row["run"] == "load"), cpu


def by_fio(options, proof, read_percent, seconds):
    work = tempfile.TemporaryDirectory(dir=options.where)
    path = f"{work.name}/target"
    check = {"plain": [], "proof": ["--verify=crc32c"]}[proof]
    base = [f"--filename={path}", "--bs=4k", f"--size={options.size_mib}m", "--ioengine=io_uring", "--iodepth=16", "--direct=0", "--output-format=json", *check]
    cpu_of(["fio", "--name=fill", "--rw=write", "--do_verify=0", *base])
    kind = "randread" if read_percent == 100 else "randwrite"
    text, cpu = cpu_of(["fio", "--name=load", f"--rw={kind}", "--do_verify=0", "--norandommap=0", "--loops=1000000", "--time_based", f"--runtime={seconds}", *base])
    job = json.loads(text[text.index("{"):])["jobs"][0]
    work.cleanup()
    return job["read"]["total_ios"] + job["write"]["total_ios"], cpu


def by_vdbench(options, proof, read_percent, seconds):
    with tempfile.TemporaryDirectory(dir=options.where) as work, tempfile.TemporaryDirectory(dir=options.journal) as out:
        # What is below /dev is a device to Vdbench; and a file that is not there yet would be formatted in transfers of 128 KiB.
        os.symlink(work, f"{out}/where")
        with open(f"{work}/target", "wb") as file:
            file.truncate(options.size_mib << 20)
        with open(f"{out}/a.vdb", "w") as file:
            # Without it Vdbench refuses runs that read nothing.
            file.write("" if proof == "plain" else "validate=ignore_zero_reads\n")
            file.write(vdb(f"{out}/where/target", options, read_percent, seconds))
        flags = {"plain": [], "proof": ["-vw"], "journal": ["-vw", "-jn"]}[proof]
        # It writes its journal where it was started.
        _, cpu = cpu_of([os.environ["VDBENCH"], "-f", f"{out}/a.vdb", "-o", f"{out}/out", *flags], out)
        with open(f"{out}/out/load.html") as file:
            rates = [float(found) for found in re.findall(r"avg_\S+\s+([0-9.]+)", file.read())]
        return (rates[-1] if rates else 0) * seconds, cpu


def per_cpu_second(run, options, proof, read_percent):
    """Operations per second of processor time, without what a run costs besides."""
    long, short = (run(options, proof, read_percent, seconds) for seconds in (options.seconds, max(options.seconds // 3, 2)))
    return (long[0] - short[0]) / max(long[1] - short[1], 1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("--where", default="/dev/shm")
    parser.add_argument("--journal", default="/var/tmp")
    parser.add_argument("--size-mib", type=int, default=256)
    parser.add_argument("--seconds", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loads", default="writes,reads")
    parser.add_argument("--tools", default="iodyno,fio,Vdbench")
    options = parser.parse_args()
    tools = [("iodyno", by_iodyno, ["proof", "journal"]), ("fio", by_fio, ["proof"])]
    if "VDBENCH" in os.environ:
        tools.append(("Vdbench", by_vdbench, ["proof", "journal"]))
    tools = [tool for tool in tools if tool[0] in options.tools.split(",")]
    print("| load | tool | plain, op per CPU second | with a proof | with a journal, too |\n|---|---|---|---|---|", flush=True)
    for load, read_percent in [("writes", 0), ("reads", 100)]:
        if load not in options.loads.split(","):
            continue
        for name, run, proofs in tools:
            # A job of fio's that only reads verifies what it reads once, and ends: there is no rate of it.
            found = {proof: [] for proof in ["plain", *proofs] if not (name == "fio" and read_percent == 100 and proof == "proof")}
            for _ in range(options.rounds):
                for proof, rates in found.items():
                    rates.append(per_cpu_second(run, options, proof, read_percent))
            plain = statistics.median(found["plain"])
            part = lambda proof: f"{statistics.median(found[proof]) / plain * 100:.0f} %" if proof in found else ""
            print(f"| {load} of 4 KiB | {name} | {plain:,.0f} | {part('proof')} | {part('journal')} |", flush=True)


main()
