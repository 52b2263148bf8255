"""Times boxdecode.ops against other implementations of NMS, one process per implementation.

    python bench/python/bench_nms.py                    # every installed one, the whole table
    python bench/python/bench_nms.py --only ours torchvision --sizes 1000 --markdown table.md

Every implementation gets the same scenes (fixed seed) in the dtype that it asks for, one thread,
and is warmed up first. A figure is the median of many calls; the ratio says how many times longer
the other one takes. Where another rule keeps another number of boxes, the table says so.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Call = Callable[[], Any]
Row = tuple[str, int, float]  # kind, boxes, IoU threshold

THRESHOLD = 0.5
SIZES = (100, 1000, 8400, 30000)
CLASSES = 80
KINDS = ("clustered", "sparse", "crowded", "class-aware", "one point")
POINT_SIZES = (1000, 8400, 30000)
POINT_THRESHOLDS = (0.3, 0.45, 0.6, 0.75)
LIBRARIES = ("OMP", "MKL", "OPENBLAS", "NUMBA", "RAYON")
ONE_THREAD = dict.fromkeys((f"{name}_NUM_THREADS" for name in LIBRARIES), "1")


@dataclass(frozen=True)
class Scene:
    boxes: Floats
    scores: Floats
    class_ids: Ints | None
    threshold: float = THRESHOLD


def make_scene(kind: str, count: int, threshold: float = THRESHOLD) -> Scene:
    """Boxes in no order, with uniform scores.

    clustered: 20 boxes on each object, centre and size jittered; some objects overlap.
    sparse: nearly every box stands alone and is kept.
    crowded: 16 to 256 px on 1280 x 1280 px, aspect 1/2 to 2: most boxes overlap many others a bit.
    class-aware: as clustered, 80 classes, each object of one class.
    one point: every box covers the centre of 640 x 640 px, its corners uniform around it.
    """
    random = np.random.default_rng([count, KINDS.index(kind)])
    scores = random.random(count, dtype=np.float32)
    class_ids = None
    if kind in ("clustered", "class-aware"):
        objects = max(1, count // 20)
        side = np.sqrt(objects) * 120
        corner = random.uniform(0, side, (objects, 2))
        size = random.uniform(20, 120, (objects, 2))
        which = random.integers(0, objects, count)
        top_left = corner[which] + size[which] * random.uniform(-0.1, 0.1, (count, 2))
        extent = size[which] * random.uniform(0.85, 1.15, (count, 2))
        if kind == "class-aware":
            class_ids = random.integers(0, CLASSES, objects)[which].astype(np.int64)
    elif kind == "sparse":
        top_left = random.uniform(0, np.sqrt(count) * 60, (count, 2))
        extent = random.uniform(10, 60, (count, 2))
    elif kind == "one point":
        top_left = random.uniform(0, 320, (count, 2))
        extent = random.uniform(320, 640, (count, 2)) - top_left
    else:
        top_left = random.uniform(0, 1280, (count, 2))
        width = np.exp(random.uniform(np.log(16), np.log(256), count))
        extent = np.stack([width, width * random.uniform(0.5, 2, count)], axis=1)
    boxes = np.concatenate([top_left, top_left + extent], axis=1).astype(np.float32)
    return Scene(boxes, scores, class_ids, threshold)


# ---- implementations: from a scene to a call without arguments, None where it cannot do it -------


def ours(scene: Scene) -> Call:
    from boxdecode import ops

    if scene.class_ids is None:
        return lambda: ops.nms(scene.boxes, scene.scores, scene.threshold)
    return lambda: ops.batched_nms(scene.boxes, scene.scores, scene.class_ids, scene.threshold)


def torchvision(scene: Scene) -> Call:
    import torch
    from torchvision import ops

    torch.set_num_threads(1)
    boxes, scores = torch.from_numpy(scene.boxes), torch.from_numpy(scene.scores)
    if scene.class_ids is None:
        return lambda: ops.nms(boxes, scores, scene.threshold)
    class_ids = torch.from_numpy(scene.class_ids)
    return lambda: ops.batched_nms(boxes, scores, class_ids, scene.threshold)


def openvino(scene: Scene) -> Call | None:
    if scene.class_ids is not None:
        return None
    import openvino as ov
    from openvino import opset13 as opset

    count = len(scene.scores)
    boxes = opset.parameter([1, count, 4], np.float32)
    scores = opset.parameter([1, 1, count], np.float32)
    most = opset.constant(count, np.int64)
    iou, gate = opset.constant(scene.threshold, np.float32), opset.constant(-1.0, np.float32)
    node = opset.non_max_suppression(
        boxes, scores, most, iou, gate, box_encoding="corner", sort_result_descending=False
    )
    core = ov.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    model = core.compile_model(ov.Model([node.output(0)], [boxes, scores]), "CPU", settings)
    request = model.create_infer_request()
    for port, value in enumerate([scene.boxes[None], scene.scores[None, None]]):
        request.set_input_tensor(port, ov.Tensor(value))

    def call() -> Any:
        request.infer()
        return request.get_output_tensor(0).data

    return call


def onnxruntime(scene: Scene) -> Call | None:
    if scene.class_ids is not None:
        return None
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper

    count = len(scene.scores)
    names = ["boxes", "scores", "most", "iou"]
    node = helper.make_node("NonMaxSuppression", names, ["selected"])
    graph = helper.make_graph(
        [node],
        "nms",
        [
            helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, count, 4]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 1, count]),
        ],
        [helper.make_tensor_value_info("selected", TensorProto.INT64, [None, 3])],
        [
            helper.make_tensor("most", TensorProto.INT64, [1], [count]),
            helper.make_tensor("iou", TensorProto.FLOAT, [1], [scene.threshold]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = {"boxes": scene.boxes[None], "scores": scene.scores[None, None]}
    return lambda: session.run(None, inputs)[0]


def opencv(scene: Scene) -> Call:
    import cv2

    cv2.setNumThreads(1)
    xywh = scene.boxes.copy()
    xywh[:, 2:] -= xywh[:, :2]
    if scene.class_ids is None:
        return lambda: cv2.dnn.NMSBoxes(xywh, scene.scores, 0.0, scene.threshold)
    class_ids = scene.class_ids.astype(np.int32)
    return lambda: cv2.dnn.NMSBoxesBatched(xywh, scene.scores, class_ids, 0.0, scene.threshold)


def powerboxes(scene: Scene) -> Call | None:
    if scene.class_ids is not None:
        return None
    import powerboxes as pb

    scores = scene.scores.astype(np.float64)
    return lambda: pb.nms(scene.boxes, scores, scene.threshold, 0.0)


def powerboxes_rtree(scene: Scene) -> Call | None:
    if scene.class_ids is not None:
        return None
    import powerboxes as pb

    boxes = scene.boxes.astype(np.float64)
    scores = scene.scores.astype(np.float64)
    return lambda: pb.rtree_nms(boxes, scores, scene.threshold, 0.0)


def lsnms(scene: Scene) -> Call:
    import lsnms as implementation

    boxes = scene.boxes.astype(np.float64)
    scores = scene.scores.astype(np.float64)
    class_ids = scene.class_ids
    return lambda: implementation.nms(
        boxes, scores, iou_threshold=scene.threshold, score_threshold=0.0, class_ids=class_ids
    )


IMPLEMENTATIONS: dict[str, tuple[Callable[[Scene], Call | None], str]] = {
    "ours": (ours, "boxdecode"),
    "torchvision": (torchvision, "torchvision"),
    "openvino": (openvino, "openvino"),
    "onnxruntime": (onnxruntime, "onnxruntime"),
    "opencv": (opencv, "opencv-python-headless"),
    "powerboxes": (powerboxes, "powerboxes"),
    "powerboxes R-tree": (powerboxes_rtree, "powerboxes"),
    "lsnms": (lsnms, "lsnms"),
}


def measure(call: Call, seconds: float) -> float:
    """Median seconds of a call."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 20000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def run_child(name: str, sizes: list[int], kinds: list[str], seconds: float) -> None:
    results = []
    for kind in kinds:
        point = kind == "one point"
        for size in [size for size in sizes if not point or size in POINT_SIZES]:
            for threshold in POINT_THRESHOLDS if point else (THRESHOLD,):
                call = IMPLEMENTATIONS[name][0](make_scene(kind, size, threshold))
                if call is not None:
                    kept = len(call())
                    results.append([kind, size, threshold, kept, measure(call, seconds)])
    json.dump(results, sys.stdout)


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")


def commit() -> str:
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    return finished.stdout.strip() or "unknown"


def version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def microseconds(value: float) -> str:
    return f"{value * 1e6:,.1f}" if value < 1e-3 else f"{value * 1e6:,.0f}"


def table(results: dict[str, dict[Row, tuple[int, float]]]) -> str:
    names = list(results)
    head = ["scene", "N", "IoU", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row, own in results["ours"].items():
        cells = [str(part) for part in row]
        for name in names:
            entry = results[name].get(row)
            if entry is None:
                cells.append("")
            elif name == "ours":
                cells.append(f"{microseconds(own[1])} µs, {own[0]} kept")
            else:
                kept = "" if entry[0] == own[0] else f", {entry[0]} kept"
                cells.append(f"{entry[1] / own[1]:.1f}× ({microseconds(entry[1])} µs{kept})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(IMPLEMENTATIONS), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each figure")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--child", choices=list(IMPLEMENTATIONS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        run_child(arguments.child, arguments.sizes, arguments.kinds, arguments.seconds)
        return

    results: dict[str, dict[Row, tuple[int, float]]] = {}
    versions = []
    for name, (_, distribution) in IMPLEMENTATIONS.items():
        if arguments.only is not None and name not in {"ours", *arguments.only}:
            continue
        found = version(distribution)
        if found is None:
            print(f"{name}: {distribution} is not installed, left out", file=sys.stderr)
            continue
        command = [sys.executable, __file__, "--child", name, "--seconds", str(arguments.seconds)]
        command += ["--sizes", *map(str, arguments.sizes), "--kinds", *arguments.kinds]
        finished = subprocess.run(
            command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=False
        )
        if finished.returncode != 0:
            print(f"{name}: failed, left out", file=sys.stderr)
            continue
        rows = json.loads(finished.stdout)
        results[name] = {(kind, size, iou): (kept, spent) for kind, size, iou, kept, spent in rows}
        versions.append(f"{name} {found}")
    if "ours" not in results:
        sys.exit("boxdecode itself is not installed: pip install . first")

    text = "\n".join(
        [
            f"CPU: {cpu_name()}, one thread.",
            f"Python {platform.python_version()}, NumPy {np.__version__}.",
            f"Versions: {', '.join(versions)}. Commit {commit()}.",
            "Ours in µs; the others as a ratio to ours (and µs).",
            "",
            table(results),
        ]
    )
    print(text)
    if arguments.markdown is not None:
        arguments.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
