#!/usr/bin/env python3
"""The figures of one load as iodyno and as blkparse and btt tell them, with what the files take and how long the analysis lasts.

beside_btt.py IODYNO [--ios N] [--rate N]   fio's mixed load on a loop device, traced by iodyno and converted for the others (as root).
"""
import argparse, csv, io, json, shutil, signal, subprocess, sys, tempfile, time
from pathlib import Path


def out(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def size(path):
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def phases(text):
    """btt's first table: phase → (least, mean, greatest, count), in seconds."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and words[0] in ("Q2C", "D2C") and words[0] not in found:
            found[words[0]] = [float(word) for word in words[1:4]] + [int(words[4])]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("--ios", type=int, default=200_000)
    parser.add_argument("--rate", type=int, default=20_000)
    args = parser.parse_args()
    iodyno = str(Path(args.iodyno).resolve())
    missing = [tool for tool in ("blkparse", "btt", "fio") if not shutil.which(tool)]
    if missing:
        sys.exit(f"skipped: {', '.join(missing)} not installed")
    with tempfile.TemporaryDirectory(prefix="iodyno-btt-") as folder:
        folder = Path(folder)
        image = folder / "image"
        with open(image, "wb") as file:
            file.truncate(1 << 30)
        device = out("losetup", "--find", "--show", "--direct-io=on", image).strip()
        try:
            compare(iodyno, device, folder, args)
        finally:
            subprocess.run(["losetup", "-d", device], check=False)


def compare(iodyno, device, folder, args):
    theirs = folder / "theirs"
    theirs.mkdir()
    ours = folder / "ours.iodyno"
    trace = subprocess.Popen([iodyno, "trace", "-d", Path(device).name, "-o", str(ours)], stdout=subprocess.PIPE, text=True)
    trace.stdout.readline()
    time.sleep(1)
    out("fio", "--name=l", f"--filename={device}", "--direct=1", "--ioengine=libaio", "--iodepth=16", "--rw=randrw", "--rwmixread=70",
        "--bssplit=4k/60:16k/30:64k/10", f"--number_ios={args.ios}", f"--rate_iops={args.rate * 7 // 10},{args.rate * 3 // 10}",
        "--norandommap", "--size=1g", "--io_size=100g", "--minimal")
    time.sleep(1)
    trace.send_signal(signal.SIGINT)
    trace.stdout.read()
    trace.wait()
    out(iodyno, "export", ours, "io", "--format", "blktrace", "-o", theirs / "t.blktrace.0")

    began = time.monotonic()
    out("blkparse", "-i", "t", "-d", "t.bin", "-O", cwd=theirs)
    btt = phases(out("btt", "-i", "t.bin", cwd=theirs))
    theirs_s = time.monotonic() - began
    began = time.monotonic()
    table = list(csv.DictReader(io.StringIO(out(iodyno, "export", ours, "trace.devices", "--csv"))))[0]
    ours_s = time.monotonic() - began
    began = time.monotonic()
    out(iodyno, "report", ours, "-o", theirs / "report.html")
    report_s = time.monotonic() - began

    binary = sum(file.stat().st_size for file in theirs.glob("t.blktrace.*"))
    count = int(float(table["i_os"]))
    print(f"{'':34} {'iodyno':>14} {'blkparse, btt':>14}")
    rows = [
        ("I/Os completed", f"{count:,}", f"{btt['Q2C'][3]:,}"),
        ("mean response (Q2C), µs", f"{float(table['response_mean']) / 1e3:.3f}", f"{btt['Q2C'][1] * 1e6:.3f}"),
        ("greatest response, µs", f"{float(table['response_max']) / 1e3:.3f}", f"{btt['Q2C'][2] * 1e6:.3f}"),
        ("mean device time (D2C), µs", f"{float(table['mean_device']) / 1e3:.3f}", f"{btt['D2C'][1] * 1e6:.3f}"),
        ("bytes per I/O on disk", f"{size(ours) / count:.1f}", f"{binary / max(btt['Q2C'][3], 1):.1f}"),
        ("these figures, s", f"{ours_s:.2f}", f"{theirs_s:.2f}"),
        ("the whole report, s", f"{report_s:.2f}", "-"),
    ]
    for name, mine, other in rows:
        print(f"{name:34} {mine:>14} {other:>14}")
    lost = sum(json.loads((ours / "manifest.json").read_text()).get("losses", {}).values())
    print(f"{lost} lost")


if __name__ == "__main__":
    main()
