#!/usr/bin/env python3
"""The statistics of `iodyno compare` once more, naively and from their description alone (docs/compare.md): a witness for
crates/views/tests/it/calibration.rs. Standard library only; nothing is shared with the program, Student's t least of all.

    compare_naive.py < pairs.json > ends.json

In: {"pairs": [{"kind": "single"|"rounds", "a": [ROUND, …], "b": [ROUND, …]}]}, a ROUND being
{"whole": BUCKETS, "sum": TOTAL_NS, "steps": [{"s": LENGTH_S, "ops": N, "sum": TOTAL_NS, "times": BUCKETS}]},
BUCKETS [[low_ns, high_ns (exclusive), count], …] in order. Out: a list per pair of
{"figure": {"low", "high": ends of the 95 % interval of the logarithm of b ÷ a, or null; "d": its middle}, "independent": stretches}.
"""
import json
import math
import sys

FIGURES = ["rate", "mean", 0.5, 0.9, 0.99, 0.999]


def t_975(df):
    """Student's t below which 97.5 % lie: the density integrated by Simpson's rule over t = √df·tan θ, and inverted by Newton's."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)

    def below(t):
        end, n = math.atan(t / math.sqrt(df)), 2000
        h = end / n
        f = lambda i: math.cos(i * h) ** (df - 1)
        return 0.5 + scale * h / 3 * (f(0) + f(n) + 4 * sum(f(i) for i in range(1, n, 2)) + 2 * sum(f(i) for i in range(2, n, 2)))

    t = 1.96
    # The distribution is concave here: every step stays below the solution, and comes nearer.
    while True:
        step = (0.975 - below(t)) / (scale / math.sqrt(df) * (1 + t * t / df) ** (-(df + 1) / 2))
        t += step
        if abs(step) < 1e-12:
            return t


def count(buckets):
    return sum(n for _, _, n in buckets)


def bucket_at(buckets, p):
    """The bucket in which the quantile is, and how many values stand before it."""
    wanted, before = p * count(buckets), 0
    for bucket in buckets:
        if before + bucket[2] >= wanted:
            return bucket, before
        before += bucket[2]
    return buckets[-1], before - buckets[-1][2]


def quantile(buckets, p):
    (low, high, n), before = bucket_at(buckets, p)
    return low + (high - low) * min(1, max(0, (p * count(buckets) - before) / n))


def above(buckets, value):
    total = 0.0
    for low, high, n in buckets:
        if low >= value:
            total += n
        elif high > value:
            total += n * (high - value) / (high - low)
    return total


def merged(lists):
    found = {}
    for buckets in lists:
        for low, high, n in buckets:
            found[low, high] = found.get((low, high), 0) + n
    return [[low, high, n] for (low, high), n in sorted(found.items())]


def theta(run, figure):
    steps = run["steps"]
    if figure == "rate":
        return math.log(sum(s["ops"] for s in steps) / sum(s["s"] for s in steps))
    if figure == "mean":
        return math.log(run["sum"] / count(run["whole"]))
    return math.log(quantile(run["whole"], figure))


def series(run, figure):
    steps = run["steps"]
    t = len(steps)
    if figure == "rate":
        total, length = sum(s["ops"] for s in steps), sum(s["s"] for s in steps)
        return [(s["ops"] - total / length * s["s"]) / (total / t) for s in steps]
    n = [count(s["times"]) for s in steps]
    mean_n = sum(n) / t
    if figure == "mean":
        mu = sum(s["sum"] for s in steps) / sum(n)
        return [(s["sum"] - mu * k) / (mean_n * mu) for s, k in zip(steps, n)]
    q = quantile(run["whole"], figure)
    e = [above(s["times"], q) for s in steps]
    share = sum(e) / sum(n)
    return [(x - share * k) / mean_n for x, k in zip(e, n)]


def variance(y):
    t = len(y)
    cosine = lambda j: math.sqrt(2 / t) * sum(y[i] * math.cos(math.pi * j * (i + 0.5) / t) for i in range(t))
    return sum(cosine(j) ** 2 for j in (1, 2, 3, 4)) / 4 / t


def width(run, p):
    """The widest bucket at the quantile that holds much, at the resolution of the whole or of the steps."""
    widest = 0.0
    for buckets in (run["whole"], merged(s["times"] for s in run["steps"])):
        (low, high, n), _ = bucket_at(buckets, p)
        if n / count(buckets) > 0.25 * min(p, 1 - p):
            widest = max(widest, math.log(high / max(low, 1)))
    return widest


def woodruff(run, p, v, c):
    logit, step = math.log(p / (1 - p)), c * math.sqrt(v) / (p * (1 - p))
    share = lambda x: 1 / (1 + math.exp(-x))
    return math.log(quantile(run["whole"], share(logit - step))), math.log(quantile(run["whole"], share(logit + step)))


def single(a, b, figure):
    va, vb = variance(series(a, figure)), variance(series(b, figure))
    c = t_975((va + vb) ** 2 / ((va**2 + vb**2) / 4)) if va + vb > 1e-24 else 0.0
    ta, tb = theta(a, figure), theta(b, figure)
    d = tb - ta
    if isinstance(figure, str):
        half = c * math.sqrt(va + vb)
        return d - half, d + half, d
    (la, ua), (lb, ub) = woodruff(a, figure, va, c), woodruff(b, figure, vb, c)
    w = max(width(a, figure), width(b, figure))
    return d - math.hypot(tb - lb, ua - ta) - w, d + math.hypot(ub - tb, ta - la) + w, d


def joined(runs):
    return {"whole": merged(r["whole"] for r in runs), "sum": sum(r["sum"] for r in runs), "steps": [s for r in runs for s in r["steps"]]}


def rounds(a, b, figure):
    xa, xb = [theta(r, figure) for r in a], [theta(r, figure) for r in b]
    mean = lambda x: sum(x) / len(x)
    part = lambda x: sum((v - mean(x)) ** 2 for v in x) / (len(x) - 1) / len(x)
    pa, pb = part(xa), part(xb)
    d = mean(xb) - mean(xa)
    half = 0.0
    if pa + pb > 1e-24:
        half = t_975((pa + pb) ** 2 / (pa**2 / (len(xa) - 1) + pb**2 / (len(xb) - 1))) * math.sqrt(pa + pb)
    w = 0.0 if isinstance(figure, str) else max(width(joined(a), figure), width(joined(b), figure))
    return d - half - w, d + half + w, d


def lag_1(y):
    mean = sum(y) / len(y)
    squares = sum((v - mean) ** 2 for v in y)
    return sum((y[i] - mean) * (y[i + 1] - mean) for i in range(len(y) - 1)) / squares if squares > 1e-18 else 0.0


def independent(a, b):
    fewest = None
    for figure in ("rate", "mean", 0.5, 0.9):
        ya, yb = series(a, figure), series(b, figure)
        for m in (1, 2, 3, 5, 8, 12, 20, 30):
            k = min(len(ya), len(yb)) // m
            if k < 20:
                continue
            batches = lambda y: [sum(y[i * m : i * m + m]) / m for i in range(len(y) // m)]
            r = (lag_1(batches(ya)) + lag_1(batches(yb))) / 2
            r = min(0.99, max(0.0, r + (1 + 4 * r) / k))
            n = k * (1 - r) / (1 + r)
            fewest = n if fewest is None else min(fewest, n)
    return fewest


def tail_is_thick(runs, p):
    """Twenty operations above the quantile, from six seconds or more as if these had equal weight."""
    for run in runs:
        e = [above(s["times"], quantile(run["whole"], p)) for s in run["steps"]]
        n = sum(count(s["times"]) for s in run["steps"])
        if n * (1 - p) < 20 or sum(e) ** 2 / sum(x * x for x in e) < 6:
            return False
    return True


def main():
    out = []
    for pair in json.load(sys.stdin)["pairs"]:
        is_single = pair["kind"] == "single"
        found = {}
        for figure in FIGURES:
            if is_single:
                a, b = pair["a"][0], pair["b"][0]
                is_known = isinstance(figure, str) or tail_is_thick((a, b), figure)
                ends = single(a, b, figure) if is_known else None
            else:
                sides = joined(pair["a"]), joined(pair["b"])
                is_known = isinstance(figure, str) or all(count(s["whole"]) * (1 - figure) >= 20 for s in sides)
                ends = rounds(pair["a"], pair["b"], figure) if is_known else None
            found[str(figure)] = dict(zip(("low", "high", "d"), ends)) if ends else None
        if is_single:
            found["independent"] = independent(pair["a"][0], pair["b"][0])
        out.append(found)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
