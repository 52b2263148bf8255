"""Draws how the time of a frame grows with one size at a time (needs matplotlib).

python -m bench.python.growth RUNNER OUT.png
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TITLES = {
    "cells": "cells (no candidate)",
    "classes": "classes (no candidate)",
    "candidates": "cells above the gate",
    "K": "max_detections",
    "one class": "candidates of one class, all kept",
}


def main(runner: str, out: str) -> None:
    text = subprocess.run([runner, "101", "growth"], check=True, capture_output=True, text=True)
    print(text.stdout)
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in csv.DictReader(text.stdout.splitlines()):
        series[row["series"]].append((float(row["size"]), float(row["execute_us"])))
    figure, axes = plt.subplots(1, len(series), figsize=(4 * len(series), 3.6))
    for axis, (name, points) in zip(axes, series.items(), strict=True):
        sizes, times = zip(*points, strict=True)
        linear = [times[0] * size / sizes[0] for size in sizes]
        axis.loglog(sizes, times, "o-", base=2, label="measured")
        axis.loglog(sizes, linear, ":", base=2, color="grey", label="linear")
        axis.set_xlabel(TITLES.get(name, name))
        axis.set_ylabel("microseconds a frame")
        axis.legend()
    figure.tight_layout()
    figure.savefig(out, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:3])
