"""Joins what the program worked on with what the plugin counted, and prints Markdown tables.

table.py REGIONS COUNTS
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

CLASSES = ("branch", "system", "load", "store", "vector", "dot", "divide", "integer")
TITLES = {
    "scan": "Scan of the scores, YOLOv8-640: 8400 × 80 (per byte of the scores)",
    "execute": "Whole `execute`, same frames (per byte of the scores)",
    "suppression": "A candidate against the accepted boxes of its class (per accepted box)",
    "boxes": "Distances of a box from their bins (per box)",
    "masks": "Masks, INT8, 32 coefficients (per live pixel)",
}


@dataclass(frozen=True)
class Row:
    section: str
    name: str
    kernels: str
    unit: str
    amount: float
    counts: dict[str, int]

    @property
    def instructions(self) -> int:
        return sum(self.counts[name] for name in CLASSES)

    @property
    def limits(self) -> dict[str, float]:
        """Cycles that each resource needs: two instructions decoded a cycle, one 64-bit transfer,
        two 64-bit operations."""
        return {
            "decode": self.instructions / 2,
            "memory": float(self.counts["memory_slots"]),
            "execute": self.counts["execute_slots"] / 2,
        }

    @property
    def bound(self) -> float:
        return max(self.limits.values())

    @property
    def limited_by(self) -> str:
        return max(self.limits, key=lambda name: self.limits[name])

    @property
    def bound_per_unit(self) -> float:
        return self.bound / self.amount


def read_rows(regions: Path, counts: Path) -> list[Row]:
    described = [line.split("|") for line in regions.read_text(encoding="utf-8").splitlines()]
    with counts.open(encoding="utf-8", newline="") as file:
        counted = [
            {name: int(value) for name, value in line.items()} for line in csv.DictReader(file)
        ]
    if len(described) != len(counted):
        raise SystemExit(f"{len(described)} regions described, {len(counted)} counted")
    rows: list[Row] = []
    for (section, name, kernels, unit, amount), count in zip(described, counted, strict=True):
        row = Row(section, name, kernels, unit, float(amount), count)
        if rows and (rows[-1].section, rows[-1].name, rows[-1].kernels) == (section, name, kernels):
            if rows[-1].counts != count:
                raise SystemExit(f"{name}: two rounds differ: {rows[-1].counts} and {count}")
        else:
            rows.append(row)
    return rows


def check_calibration(rows: list[Row]) -> None:
    """Hand-written code of known cost, which says in its name what it must cost."""
    for row in rows:
        expected = {
            key: int(value) for key, value in (pair.split("=") for pair in row.name.split())
        }
        seen = {name: row.counts[name] for name in CLASSES}
        seen |= {"memory": row.counts["memory_slots"], "execute": row.counts["execute_slots"]}
        if seen != {name: expected.get(name, 0) for name in seen}:
            raise SystemExit(f"calibration {row.name}: counted {row.counts}")


def print_table(title: str, rows: list[Row]) -> None:
    print(f"\n### {title}\n")
    columns = ("instructions", "memory slots", "execute slots", "bound cycles", "limited by")
    print(f"| case | kernels | {' | '.join(columns)} |")
    print("|---|---|---:|---:|---:|---:|---|")
    for row in rows:
        numbers = (
            row.instructions,
            row.counts["memory_slots"],
            row.counts["execute_slots"],
            row.bound,
        )
        cells = " | ".join(f"{number / row.amount:.3f}" for number in numbers)
        print(f"| {row.name} | {row.kernels} | {cells} | {row.limited_by} |")


def print_targets(rows: list[Row]) -> None:
    def cost(name: str, kernels: str = "neon_dotprod", section: str | None = None) -> float:
        for row in rows:
            if (row.name, row.kernels) == (name, kernels) and section in (None, row.section):
                return row.bound_per_unit
        raise SystemExit(f"no case {name} with {kernels}")

    scan = cost("INT8 HWC, empty", section="scan")
    row = cost("64 boxes, no overlap")
    targets = [
        ("INT8 HWC scan, empty: bound cycles a byte", scan, "≤", 0.14),
        ("suppression, 64 boxes, no overlap: bound cycles a box", row, "≤", 4.0),
    ]
    for pixels in ("160", "30", "160, 9-bit coefficients"):
        name = f"products, rows of {pixels}"
        ratio = cost(name, "neon") / cost(name)
        targets.append((f"mask {name}: widening / SDOT", ratio, "≥", 2.5))
    print("\n### Targets\n\n| target | wanted | counted | |\n|---|---:|---:|---|")
    for name, value, relation, wanted in targets:
        met = value <= wanted if relation == "≤" else value >= wanted
        print(f"| {name} | {relation} {wanted:g} | {value:.3f} | {'met' if met else 'missed'} |")


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    rows = read_rows(Path(sys.argv[1]), Path(sys.argv[2]))
    check_calibration([row for row in rows if row.section == "calibration"])
    for section, title in TITLES.items():
        print_table(title, [row for row in rows if row.section == section])
    print_targets(rows)


if __name__ == "__main__":
    main()
