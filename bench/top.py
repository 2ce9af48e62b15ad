#!/usr/bin/env python3
"""What `iodyno top` costs: how soon the page of a day stands, and what watching 600 processes takes.

top.py IODYNO [--day DIRECTORY | --generate PROGRAM] [--seconds N] [--processes N] [--active N]

A day is what crates/recording/examples/generate_day.rs makes by a fake clock: 86,400 samples a second apart. Printed: the time from the
start of the program until its page, its strip of 24 hours and its first findings stand on a terminal of 80x24 and of 160x50, and that of
`--once`; then the CPU time of a live `top` on such terminals, in per cent of one CPU, with and without the probes.
"""
import argparse, fcntl, os, pty, select, shutil, signal, statistics, struct, subprocess, sys, tempfile, termios, time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from record_cost import Crowd, cpu_s

ROUNDS = 3


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, argv, columns, rows):
        self.begun = time.monotonic()
        self.seen = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execv(argv[0], argv)

    def pump(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen += os.read(self.master, 1 << 16)
                except OSError:
                    return

    def until(self, word, limit=60):
        """Seconds from the start until this word was written; None: never."""
        while word.encode() not in self.seen:
            if time.monotonic() - self.begun > limit:
                return None
            self.pump(0.005)
        return time.monotonic() - self.begun

    def quit(self):
        os.write(self.master, b"q")
        end = time.monotonic() + 10
        while time.monotonic() < end:
            self.pump(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)


def opened(iodyno, day):
    """A day's page, its strip, its findings of the time shown."""
    for columns, rows in ((80, 24), (160, 50)):
        marks = {"page": "RESOURCE", "strip": "psi io", "findings of its end": "judging"}
        times = {name: [] for name in marks}
        for _ in range(ROUNDS):
            terminal = Terminal([iodyno, "top", day], columns, rows)
            for name, word in marks.items():
                times[name].append(terminal.until(word))
            terminal.quit()
        told = ", ".join(f"{name} {'never' if None in values else f'{statistics.median(values):.2f} s'}" for name, values in times.items())
        print(f"top of a day, {columns}x{rows}: {told}")
        once = []
        for _ in range(ROUNDS):
            begun = time.monotonic()
            subprocess.run([iodyno, "top", day, "--once", "--size", f"{columns}x{rows}"], check=True, stdout=subprocess.DEVNULL)
            once.append(time.monotonic() - begun)
        print(f"top of a day, {columns}x{rows}: --once {statistics.median(once):.2f} s")


def watched(iodyno, options):
    """CPU time of a live page."""
    here = sum(1 for entry in os.listdir("/proc") if entry.isdigit())
    crowd = Crowd(max(options.processes - here, options.active), options.active)
    try:
        time.sleep(2)
        count = sum(1 for entry in os.listdir("/proc") if entry.isdigit())
        print(f"{count} processes, {options.active} of them active, {os.cpu_count()} CPUs, {options.seconds:.0f} s each")
        for columns, rows in ((80, 24), (160, 50)):
            for more in ([], ["--no-probes"]):
                terminal = Terminal([iodyno, "top", *more], columns, rows)
                # What starting costs is not the price of watching.
                terminal.pump(5)
                before, begun = cpu_s(terminal.pid), time.monotonic()
                terminal.pump(options.seconds)
                share = (cpu_s(terminal.pid) - before) / (time.monotonic() - begun)
                terminal.quit()
                print(f"top, {columns}x{rows}{' without probes' if more else ''}: {share * 100:.2f} % of a CPU")
    finally:
        crowd.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("iodyno")
    parser.add_argument("--day")
    parser.add_argument("--generate")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=600)
    parser.add_argument("--active", type=int, default=60)
    options = parser.parse_args()
    iodyno = shutil.which(options.iodyno) or sys.exit(f"{options.iodyno} is no program")
    folder = tempfile.mkdtemp(prefix="iodyno-top-", dir="/var/tmp")
    try:
        day = options.day
        if options.generate:
            day = f"{folder}/day"
            subprocess.run([options.generate, day], check=True)
        if day:
            opened(iodyno, day)
        watched(iodyno, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
