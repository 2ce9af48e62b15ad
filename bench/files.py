#!/usr/bin/env python3
"""Operations on files per second of processor time: iodyno beside a loop of the plain system calls, and beside fio.

    bench/files.py IODYNO TREE_CALLS [--where DIR] [--files N] [--seconds S] [--rounds N] [--only OP]

All take turns, on the same file system, with one thread. The loop (crates/engine/examples/tree_calls.rs) is the limit: it
measures and records nothing. Of iodyno, the processor time of its workers counts; of fio, that of its job.
Where an operation goes on and on over the same files, the first second is not counted: attributes are set in it, and caches are filled.
`paced` is a load of 20,000 getattr per second (--rate), CPU per operation: beside the loop that sleeps until each of its calls is due
(`clock_nanosleep` of absolute times, the timers as exact as iodyno's), and beside the loop without pauses. No load that keeps these
times can cost less than the former.
`varmail` is the personality of that name, one of its threads: beside Filebench where FILEBENCH names its program, and beside Postmark
where it is installed; of all of them the processor time of the whole process counts, less that of a run of two seconds.
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

OPERATIONS = ["getattr", "access", "open", "setattr", "getxattr", "create", "rename", "delete", "paced", "varmail"]
FIO = {"getattr": "filestat", "create": "filecreate", "delete": "filedelete"}


def output(command, **more):
    ended = subprocess.run(command, capture_output=True, text=True, **more)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {ended.returncode}\n{ended.stdout[-1000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def by_loop(program, place, operation, options, rate=None):
    directory = tempfile.mkdtemp(dir=place)
    paced = [str(rate)] if rate else []
    found = json.loads(output([program, directory, operation, str(options.files), str(options.seconds), *paced]))
    os.rmdir(directory)
    return found["ops"] / found["cpu_ns"] * 1e9


def by_iodyno(program, place, operation, options, rate=None):
    """Operations per second of its workers' processor time."""
    work = tempfile.mkdtemp(dir=place)
    text = f"fsd=fsd1,anchor={work}/tree,depth=1,width=100,files={options.files // 100},size=512\n"
    # A create and a delete go once through all files, and end.
    made = "(directories,only)" if operation == "create" else "only"
    is_once = operation in ("create", "delete")
    once = "" if is_once else ",fileselect=sequential"
    text += f"fwd=format,threads=2\nfwd=fwd1,fsd=fsd1,operation={operation},threads=1{once}\n"
    text += f"rd=made,fwd=fwd1,fwdrate=max,format={made},elapsed=2,interval=1\n"
    seconds = max(int(options.seconds), 1) + (0 if is_once else 1)
    text += f"rd=rd1,fwd=fwd1,fwdrate={rate or 'max'},format=no,elapsed={seconds},interval=1\n"
    with open(f"{work}/a.vdb", "w") as file:
        file.write(text)
    output([program, "run", f"{work}/a.vdb", "-o", f"{work}/r", "--no-counters", "--no-report", "--json"])

    def rows(table):
        lines = output([program, "export", f"{work}/r", table, "--json"]).splitlines()
        found = [row for row in map(json.loads, lines) if row["run"] == "rd1"]
        first = min(row["t_ns"] for row in found)
        return [row for row in found if is_once or row["t_ns"] > first]

    ops = sum(row["ops"] for row in rows("op_interval"))
    cpu = sum(row["cpu_user_ns"] + row["cpu_sys_ns"] for row in rows("engine_interval"))
    shutil.rmtree(work)
    return ops / cpu * 1e9


def by_fio(place, operation, options):
    work = tempfile.mkdtemp(dir=place)
    job = ["fio", "--name=a", f"--directory={work}", f"--ioengine={FIO[operation]}", "--filesize=512", f"--nrfiles={options.files}",
           "--file_service_type=sequential", "--openfiles=1", "--fallocate=none", "--create_on_open=0", "--output-format=json"]
    job += ["--iodepth=1", "--rw=write" if operation == "create" else "--rw=read", "--bs=512"]
    found = json.loads(output(job, cwd=work)[0:] or "{}")["jobs"][0]
    shutil.rmtree(work)
    side = found["write"] if operation == "create" else found["read"]
    share = (found["usr_cpu"] + found["sys_cpu"]) / 100
    return side["total_ios"] / (found["job_runtime"] / 1e3 * share) if share and found["job_runtime"] else None


def used(command, **more):
    """What it says, and the processor time of the whole process, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = output(command, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def per_cpu_second(load, seconds):
    """Operations per second of processor time of what is added by more seconds: what is made before does not count."""
    (few, few_cpu), (many, many_cpu) = load(2), load(2 + seconds)
    return (many - few) / (many_cpu - few_cpu)


def varmail_by_iodyno(program, place, options):
    def load(seconds):
        work = tempfile.mkdtemp(dir=place)
        words = [f"anchor={work}/tree", "threads=1", f"elapsed={seconds}", "-o", f"{work}/r", "--no-counters", "--no-report", "--json"]
        _, cpu = used([program, "run", "personality:varmail", *words])
        rows = [json.loads(line) for line in output([program, "export", f"{work}/r", "op_interval", "--json"]).splitlines()]
        shutil.rmtree(work)
        return sum(row["ops"] for row in rows if row["run"] == "varmail"), cpu

    return per_cpu_second(load, int(options.seconds))


def varmail_by_filebench(program, place, options):
    def load(seconds):
        work = tempfile.mkdtemp(dir=place)
        # Filebench 1.5's personality, with one thread.
        text = f"""set $dir={work}
set $size=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
define fileset name=bigfileset,path=$dir,size=$size,entries=1000,dirwidth=1000000,prealloc=80
define process name=filereader,instances=1
{{ thread name=filereaderthread,memsize=10m,instances=1
  {{ flowop deletefile name=deletefile1,filesetname=bigfileset
    flowop createfile name=createfile2,filesetname=bigfileset,fd=1
    flowop appendfilerand name=appendfilerand2,iosize=16k,fd=1
    flowop fsync name=fsyncfile2,fd=1
    flowop closefile name=closefile2,fd=1
    flowop openfile name=openfile3,filesetname=bigfileset,fd=1
    flowop readwholefile name=readfile3,fd=1,iosize=1m
    flowop appendfilerand name=appendfilerand3,iosize=16k,fd=1
    flowop fsync name=fsyncfile3,fd=1
    flowop closefile name=closefile3,fd=1
    flowop openfile name=openfile4,filesetname=bigfileset,fd=1
    flowop readwholefile name=readfile4,fd=1,iosize=1m
    flowop closefile name=closefile4,fd=1 }} }}
run {seconds}
"""
        with open(f"{work}/varmail.f", "w") as file:
            file.write(text)
        # It wants the same addresses in all its processes.
        said, cpu = used(["setarch", "-R", program, "-f", f"{work}/varmail.f"])
        shutil.rmtree(work)
        return int(re.search(r"IO Summary:\s+(\d+) ops", said).group(1)), cpu

    return per_cpu_second(load, int(options.seconds))


def varmail_by_postmark(place, options):
    """Transactions of Postmark are two operations each, on files of half a kibibyte to 16 KiB, with fewer calls than varmail's."""
    def load(seconds):
        work = tempfile.mkdtemp(dir=place)
        count = 20_000 * seconds
        text = f"set location {work}\nset number 1000\nset transactions {count}\nset size 512 16384\nrun\nquit\n"
        _, cpu = used(["postmark"], input=text)
        shutil.rmtree(work)
        return 2 * count, cpu

    return per_cpu_second(load, int(options.seconds))


def paced(options):
    """Operations per second of processor time at a rate, of the loop without pauses too."""
    figures = {"iodyno": [], "paced loop": [], "loop": []}
    for _ in range(options.rounds):
        figures["iodyno"].append(by_iodyno(options.iodyno, options.where, "getattr", options, options.rate))
        figures["paced loop"].append(by_loop(options.tree_calls, options.where, "getattr", options, options.rate))
        figures["loop"].append(by_loop(options.tree_calls, options.where, "getattr", options))
    return figures


def varmail(options):
    figures = {"iodyno": [], "filebench": [], "postmark": []}
    for _ in range(options.rounds):
        figures["iodyno"].append(varmail_by_iodyno(options.iodyno, options.where, options))
        if "FILEBENCH" in os.environ:
            figures["filebench"].append(varmail_by_filebench(os.environ["FILEBENCH"], options.where, options))
        if shutil.which("postmark"):
            figures["postmark"].append(varmail_by_postmark(options.where, options))
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("iodyno")
    parser.add_argument("tree_calls")
    parser.add_argument("--where", default="/dev/shm")
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=20_000, help="of `paced`")
    parser.add_argument("--only")
    options = parser.parse_args()
    for operation in [options.only] if options.only else OPERATIONS:
        of_others = {"varmail": varmail, "paced": paced}.get(operation)
        figures = of_others(options) if of_others else {"loop": [], "iodyno": [], "fio": []}
        for _ in range(0 if of_others else options.rounds):
            figures["loop"].append(by_loop(options.tree_calls, options.where, operation, options))
            figures["iodyno"].append(by_iodyno(options.iodyno, options.where, operation, options))
            if operation in FIO and shutil.which("fio"):
                figures["fio"].append(by_fio(options.where, operation, options))
        middle = {name: statistics.median(found) for name, found in figures.items() if found and None not in found}
        ratios = [f"{middle['iodyno'] / middle[name]:5.2f} × {name}" for name in middle if name != "iodyno"]
        print(f"{operation:8}  " + "  ".join(f"{name} {rate / 1e3:7.1f} k/CPU s" for name, rate in middle.items()) + "  iodyno is " + ", ".join(ratios), flush=True)


if __name__ == "__main__":
    main()
