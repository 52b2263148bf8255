"""What a call from Python costs beyond the C++ call.

Heads of one cell each leave the C++ side next to nothing to do, so the time of a whole call through
`Plan.execute` bounds what Python adds: six inputs, four outputs, the GIL released and taken again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from boxdecode import Decoder, DType, Plan, Profile, Quantization, ScoreActivation, TensorSpec


def small_plan() -> Plan:
    specs = [spec for _ in range(3) for spec in (tensor(64), tensor(80))]
    return Plan(
        specs,
        profile=Profile.Yolo8V1,
        heads=[(0, 1), (2, 3), (4, 5)],
        model_input_size=(8, 8),
        original_image_size=(8, 8),
        num_classes=80,
        max_detections=1,
        detection_threshold=0.25,
        nms_iou_threshold=0.5,
        score_activation=ScoreActivation.Sigmoid,
        quantization={port: Quantization(0.1, 0) for port in range(6)},
    )


def tensor(channels: int) -> TensorSpec:
    return TensorSpec((1, 1, channels), DType.Int8)


def median_us(call: Callable[[], object], rounds: int = 2001, batch: int = 20) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        times.append((time.perf_counter_ns() - start) / batch / 1000)
    return statistics.median(times)


def main() -> None:
    plan = small_plan()
    context = plan.create_context()
    outputs = plan.allocate_outputs()
    inputs = [np.full(spec.shape, -128, np.int8) for spec in plan.input_specs]
    decoder = Decoder(plan)
    empty_loop = median_us(lambda: None)
    execute = median_us(lambda: plan.execute(context, inputs, outputs)) - empty_loop
    decode = median_us(lambda: decoder(inputs)) - empty_loop
    print("six inputs, four outputs, heads of one cell: the whole call")
    print(f"Plan.execute  {execute:6.2f} us")
    print(f"Decoder()     {decode:6.2f} us  (allocates its outputs)")


if __name__ == "__main__":
    main()
