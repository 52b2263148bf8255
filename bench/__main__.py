"""Builds the C++ runner, runs every benchmark, prints the tables with the machine on top.

python -m bench [--rounds N] [--skip-nms] [--growth docs/benchmarks/growth.png]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from bench.python import machine

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"


def build_runner() -> Path:
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DSIMA_KERNELS_TESTS=OFF", "-DSIMA_KERNELS_BENCH=ON"]
    build = ["cmake", "--build", str(BUILD), "--target", "boxdecode_bench"]
    for command in (configure, build):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return BUILD / "bench" / "cpp" / "boxdecode_bench"


def section(title: str) -> None:
    print(f"\n## {title}\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=201, help="timed rounds of each case")
    parser.add_argument("--skip-nms", action="store_true", help="leave the NMS operators out")
    parser.add_argument("--growth", type=Path, help="also draw how the time grows, to this PNG")
    arguments = parser.parse_args()
    runner = build_runner()
    print(machine.describe(ROOT))
    section("Decoder, C++: one frame")
    subprocess.run([str(runner), str(arguments.rounds)], check=True)
    section("Decoder, Python: one call")
    subprocess.run([sys.executable, "-m", "bench.python.bench_call"], check=True, cwd=ROOT)
    if arguments.growth:
        section("Growth")
        command = [sys.executable, "-m", "bench.python.growth", str(runner), str(arguments.growth)]
        subprocess.run(command, check=True, cwd=ROOT)
    if not arguments.skip_nms:
        section("NMS operators")
        subprocess.run([sys.executable, "-m", "bench.python.bench_nms"], check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
