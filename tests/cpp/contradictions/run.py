#!/usr/bin/env python3
"""Compiles recipes whose words contradict each other: the compiler must refuse each by its rule."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PORTS = ".ports = {{Role::Boxes, {Part::Box}}, {Role::Scores, {Part::Classes}}}"
OBJECTNESS = ".combined = {Part::Box, Part::Objectness, Part::Classes}"
DELTAS = ".coding = BoxCoding::Deltas, .unit = LengthUnit::Pixels, .size_unit = LengthUnit::Pixels"

#: Members of a recipe, and the rule that they break; an empty rule: none.
RECIPES = [
    (PORTS, ""),
    (OBJECTNESS, ""),
    (f"{PORTS}, .box = {{{DELTAS}}}, .priors = PriorRule::Rpn", ""),
    ("", "a recipe has ports of its own, or combined ones"),
    (".combined = {Part::Box, Part::Box, Part::Classes}", "a part lies in one place"),
    (".combined = {Part::Box}", "a recipe has classes"),
    (".combined = {Part::Classes}", "boxes lie in one part"),
    (".combined = {Part::Center, Part::Classes}", "centres and sizes come together"),
    (f"{PORTS}, .box = {{.unit = LengthUnit::Frame}}", "distances are in cells"),
    (
        f"{PORTS}, .box = {{.coding = BoxCoding::CenterSize, .point = GridPoint::Corner, "
        ".unit = LengthUnit::Frame}",
        "a point of the cell needs",
    ),
    (f"{PORTS}, .box = {{.clip = true}}", "distances are l, t, r, b and no more"),
    (f"{PORTS}, .box = {{.size_unit = LengthUnit::Anchors}}", "sizes in anchors need a table"),
    (f"{PORTS}, .box = {{{DELTAS}}}", "deltas need priors with centres"),
    (f"{PORTS}, .priors = PriorRule::YoloAnchors", "anchors by number of heads need both tables"),
    (f"{PORTS}, .anchors = AnchorRule::Levels", "levels need a signature"),
    (f"{PORTS}, .score = ScoreForm::SoftmaxBest", "softmax is a form and an activation"),
    (
        f"{OBJECTNESS}, .score = ScoreForm::SoftmaxBest, .activation = ActivationRule::Softmax",
        "a softmax is not multiplied with objectness",
    ),
    (f"{PORTS}, .one_class = OneClassRule::ByRequest", "objectness alone needs objectness"),
    (f"{PORTS}, .class_is_level = true", "a level is the class of all its boxes"),
    (f"{PORTS}, .keypoints = KeypointForm::ModelPixels", "keypoints have channels and a form"),
]

UNIT = """#include "boxdecode/recipes/sound.h"
namespace simaai::kernels::ops::boxdecode::detail {{
constexpr Recipe recipe = {{.profile = Profile::Yolo6V1, .name = "Contradiction"{comma}{members}}};
static_assert(is_sound(recipe));
}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    options = parser.parse_args()
    includes = [f"-I{options.source / folder}" for folder in ("cpp/include", "cpp/src")]
    command = [options.compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", *includes, "-"]
    wrong = 0
    for members, rule in RECIPES:
        unit = UNIT.format(comma=", " if members else "", members=members)
        # The compiler quotes the rule, whatever the language of its own words.
        done = subprocess.run(command, input=unit, capture_output=True, text=True, check=False)
        if (done.returncode == 0) != (not rule) or rule not in done.stderr:
            wrong += 1
            wanted = f"the compiler does not say {rule!r}" if rule else "it does not compile"
            print(f"{members}: {wanted}:\n{done.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
