#!/usr/bin/env python3
"""A terminal's page as a picture: terminal.py OUTPUT.svg COLUMNSxROWS SECONDS COMMAND…

Runs the command in tmux on a terminal of that size, waits so long, and draws what stands there. Keys to press before the picture are
given as --keys WORD (as `tmux send-keys` has them), once for each.
"""
import argparse, html, os, re, shlex, subprocess, time

# The sixteen colours, dim enough for a dark ground; then the cube of 6 × 6 × 6 and the greys.
BASE = "#1c212b #e06c75 #7fbf7f #d8b25c #6cabe8 #c58ad8 #5fc0c8 #c5ccd6 #68717f #ff8b92 #9fdc9f #f0d080 #8fc4ff #dfa8f0 #84dde4 #ffffff".split()
GROUND, INK, FAINT = "#12161d", "#d3dae6", "#8d97a6"
CELL, LINE, SIZE = 7.83, 17.0, 13


def colour(number):
    if number < 16:
        return BASE[number]
    if number < 232:
        steps = [0, 95, 135, 175, 215, 255]
        cube = number - 16
        return "#%02x%02x%02x" % (steps[cube // 36], steps[cube // 6 % 6], steps[cube % 6])
    return "#" + "%02x" % (8 + 10 * (number - 232)) * 3


class Pen:
    def __init__(self):
        self.reset()

    def reset(self):
        self.ink = self.ground = None
        self.bold = self.faint = self.turned = self.under = False

    def obey(self, codes):
        codes = [int(code) for code in codes.split(";") if code] or [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "faint", 4: "under", 7: "turned"}[code], True)
            elif code == 22:
                self.bold = self.faint = False
            elif code in (24, 27):
                setattr(self, {24: "under", 27: "turned"}[code], False)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.ink = colour(code - 30 if code < 90 else code - 82)
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.ground = colour(code - 40 if code < 100 else code - 92)
            elif code in (38, 48) and codes:
                kind = codes.pop(0)
                value = colour(codes.pop(0)) if kind == 5 else "#%02x%02x%02x" % tuple(codes.pop(0) for _ in range(3))
                setattr(self, "ink" if code == 38 else "ground", value)
            elif code == 39:
                self.ink = None
            elif code == 49:
                self.ground = None

    def look(self):
        ink, ground = self.ink or (FAINT if self.faint else INK), self.ground
        return (ground or GROUND, ink, self.bold) if self.turned else (ink, ground, self.bold)


def draw(text, columns, rows):
    width, height = columns * CELL + 24, rows * LINE + 22
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">',
             f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
             f'<g font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="{SIZE}">']
    pen = Pen()
    for row, line in enumerate(text.split("\n")[:rows]):
        at, runs, pieces = 0, [], re.split(r"(\x1b\[[0-9;]*m)", line)
        for piece in pieces:
            if piece.startswith("\x1b["):
                pen.obey(piece[2:-1])
            elif piece:
                runs.append((at, piece, pen.look()))
                at += len(piece)
        y = 11 + row * LINE
        for at, piece, (ink, ground, bold) in runs:
            x = 12 + at * CELL
            if ground:
                parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{len(piece) * CELL:.1f}" height="{LINE}" fill="{ground}"/>')
            if piece.strip():
                # Browsers draw runs of plain spaces as one.
                letters = html.escape(piece).replace(" ", "\u00a0")
                weight = ' font-weight="bold"' if bold else ""
                parts.append(f'<text x="{x:.1f}" y="{y + 13:.1f}" fill="{ink}"{weight} textLength="{len(piece) * CELL:.1f}">{letters}</text>')
    return "\n".join(parts + ["</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("size")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--keys", action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    columns, rows = map(int, options.size.split("x"))
    server = ["tmux", "-L", f"iodyno-picture-{os.getpid()}", "-f", "/dev/null"]
    environment = dict(os.environ, LC_ALL="C.UTF-8", COLORTERM="truecolor")
    subprocess.run(server + ["new-session", "-d", "-x", str(columns), "-y", str(rows), shlex.join(options.command)], check=True, env=environment)
    try:
        subprocess.run(server + ["set", "-g", "status", "off"], check=True)
        subprocess.run(server + ["resize-window", "-x", str(columns), "-y", str(rows)], check=True)
        time.sleep(options.seconds)
        for key in options.keys:
            subprocess.run(server + ["send-keys", key], check=True)
            time.sleep(0.5)
        text = subprocess.run(server + ["capture-pane", "-e", "-p"], check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run(server + ["kill-server"], check=False)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(draw(text, columns, rows))


if __name__ == "__main__":
    main()
