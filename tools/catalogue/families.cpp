#include "texts.h"

namespace catalogue {
namespace {

using bd::Profile;

const Misfit finished_rows = {"one tensor of [1, 300, 6] rows x1, y1, x2, y2, score, class (an end-to-end export)",
                              "nothing is left to decode; export without the end-to-end step, or take the raw heads"};

// The same rows, taken in by mistake: the shape of one class with objectness.
const Misfit finished_rows_as_decoded = {
    "scores are whole numbers (3.0), boxes lie around the objects' upper left corners and are too large: one tensor of "
    "[1, 300, 6] rows x1, y1, x2, y2, score, class (an end-to-end export). With `num_classes` 2 or 1 and objectness its shape "
    "is that of a decoded head, and nothing can tell the two apart",
    "nothing is left to decode; export without the end-to-end step, or take the raw heads"};

// Scores of YOLOv7 models of one class, whose class channel was never trained.
const Misfit untrained_class = {"a YOLOv7 model of one class scores half of what it should (.45 where the original says .9)",
                                "its class channel was never trained and holds .5; the original scores by objectness alone "
                                "(`utils/general.py`, non_max_suppression): `one_class_uses_objectness`"};

const Misfit activation_folded = {
    "the graph ends in a sigmoid: score elements are all in 0..1 (with INT8 often zero point −128 and scale near 1/256)",
    "pass `Identity`. With `Sigmoid` every score comes out between 0.5 and 0.73, and nearly every cell passes a low threshold"};

const Misfit one_decoded_tensor = {"one tensor with 8400 (or 25200) rows or columns for all levels together, at 640 pixels",
                                   "the graph is decoded: `YoloDecodedV1`"};

const Misfit already_probabilities = {
    "score elements are all in 0..1: the export has folded the activation, which this profile fixes",
    "export the logits: a second activation ruins every score"};

Family yolo26() {
  return {
      "YOLO26 (n to x, p2 and p6 too), its -seg and -pose variants",
      {"the one-to-one heads of Ultralytics 8.4 (`one2one_cv2.i.2` with 4 channels, `one2one_cv3.i.2` with nc) as logits, at "
       "`nms_iou_threshold` 0: the model needs no suppression",
       "the one-to-many heads (`cv2`, `cv3`, exported with end2end=False), which have the same shapes, at 0.7",
       "-seg: 32 coefficients a level in `extra`, the prototypes as `mask_prototype`; -pose: 3·17 channels in `extra`"},
      {finished_rows,
       {"boxes of 64 channels", "these are bins: `Yolo8V1`"},
       activation_folded,
       {"a further tensor of 1 channel a level: the angle of an oriented model (-obb)", "not supported"}},
      {"The original takes the best 300 of all cell and class pairs; here a cell gives its best class only."},
      "Ultralytics `utils/tal.py` (dist2bbox, anchor offset 0.5)"};
}

Family yolo6() {
  return {
      "YOLOv6 n, s, lite (3.0 and 4.0)",
      {"raw heads without bins: 4 distances and nc logits a level",
       "exports with a third tensor of summed scores (rknn_model_zoo): leave that tensor out of the request"},
      {{"boxes of 68 channels (m, l)", "17 bins: `Yolo8V1`"},
       {"class-first: one tensor of nc + 4 channels a level (`Detect.export`), whose first nc channels are probabilities and "
        "whose last 4 are distances",
        "hand it in as two views, classes and boxes, with `Identity`: see [the FAQ](faq.md#class-first-exports)"},
       one_decoded_tensor,
       activation_folded},
      {},
      "YOLOv6 `yolov6/assigners/anchor_generator.py`"};
}

Family yolo8() {
  return {
      "YOLOv8, v9, 11, 12, World; v10 with `nms_iou_threshold` 1; YOLOv6 m and l (17 bins); NanoDet v1 (8 bins)",
      {"raw heads: 4·R bins and nc logits a level; R = 16 in Ultralytics models",
       "one tensor of 4·R + nc channels a level (Ultralytics up to 8.3): hand it in as two views, see "
       "[the FAQ](faq.md#class-first-exports)",
       "v10: its one-to-one heads (`one2one_cv2`, `one2one_cv3`) at `nms_iou_threshold` 1",
       "v9 with two branches (DualDDetect): the heads of the main one, its second prediction",
       "exports with a third tensor of summed scores (rknn_model_zoo): leave that tensor out of the request",
       "-seg: 32 coefficients a level in `extra`, the prototypes as `mask_prototype`; -pose: 3·17 channels in `extra`"},
      {{"boxes of 4 channels", "the bins are reduced already: l, t, r, b in cells are `Yolo26V1`, centre and size in pixels "
                               "are `YoloDecodedV1`"},
       one_decoded_tensor,
       finished_rows,
       activation_folded,
       {"bins without the half cell: NanoDet-Plus, DAMO-YOLO", "not supported: every box would be half a cell off"},
       {"bins that do not start at 0 (PP-YOLOE for small objects)", "not supported"},
       {"rknn pose exports: boxes and class in one tensor, key points already decoded in another", "not supported"}},
      {},
      "Generalized Focal Loss (Li et al. 2020); Ultralytics `nn/modules/block.py` (DFL), `utils/tal.py`"};
}

Family yolo_decoded() {
  return {
      "exports that hold centre and size in pixels: the one-tensor ONNX exports of Ultralytics (v8 to 12), YOLOv5, v6, v7; "
      "per-level exports of [cx, cy, w, h] and probabilities",
      {"Ultralytics [1, 4 + nc, 8400]: `TensorSpec((1, 8400, 4 + nc), Float32, Planar())`, heads `[(0, 0)]`, `Identity`; -pose "
       "and -seg append their channels, heads `[(0, 0, None, 0)]`",
       "YOLOv5, v7 [1, 25200, 5 + nc] and v6 [1, 8400, 5 + nc]: `TensorSpec((1, 25200, 5 + nc), Float32)`, heads "
       "`[(0, 0, 0)]`, `Identity`; in v6 the objectness is a constant 1; YOLOv7 of one class: `one_class_uses_objectness`",
       "-pose with normalised boxes and pixel keypoints (YOLOv8-pose TFLite): `box_unit` Normalised, `keypoint_unit` Pixels; "
       "YOLO11-pose TFLite has both normalised",
       "keypoints without visibility, [1, 4 + nc + 2·points, 8400]: `keypoint_dims` 2; visibility is written as 1",
       "YOLOX with `--decode_in_inference`: as YOLOv5",
       "heads apart, any number of levels, H and W as they are (H = 1 for a plain list of rows)"},
      {{"every coordinate is at most about 1 and no detection comes out",
        "the export divides by the input size (Ultralytics TFLite and EdgeTPU, ST): `box_unit` Normalised"},
       {"an INT8 tensor that holds pixels and probabilities with one scale: `describe()` shows that the "
        "lowest admitted score is above 1, or that only one or two levels are admitted",
        "export the two apart; see [the FAQ](faq.md#one-scale-for-boxes-and-scores)"},
       finished_rows_as_decoded,
       untrained_class,
       {"boxes are right and keypoints lie far outside of the image, or all in its upper left corner",
        "the export's keypoints have another unit than its boxes: `keypoint_unit`"},
       {"keypoints jump about and their visibilities are pixels: 24 channels were taken as 8 points of x, y, visibility and "
        "are "
        "12 of x, y",
        "no shape tells them apart: `num_keypoints` 12, `keypoint_dims` 2"},
       {"YOLOX's [1, 8400, 5 + nc] without `--decode_in_inference`: w and h are logarithms, often negative",
        "take the raw "
        "heads with `YoloXV1`"},
       {"rows [x1, y1, x2, y2, …]: the last coordinate is never smaller than the second; read as centres they give boxes "
        "around the objects' upper left corners, too large",
        "not supported; convert, or export centre and size"},
       {"one channel more than 4 + nc: the angle of an oriented model", "not supported"},
       {"channel order [classes…, box]", "apart, as two views: [the FAQ](faq.md#class-first-exports)"}},
      {"With `extra` in a combined head the tensor has `keypoint_dims`·`num_keypoints` (Pose) or M (Segmentation) channels "
       "more, at the end.",
       "Channels are counted exactly: 84 channels with `num_classes` 79 and objectness are another tensor than 84 with 80."},
      "Ultralytics `nn/modules/head.py` (export of Detect); YOLOv5 `models/yolo.py`; YOLOv6 `effidehead.py`"};
}

Family yolox() {
  return {
      "YOLOX (nano to x)",
      {"raw heads a level: 4 box channels, 1 objectness, nc classes, all before the sigmoid: `Sigmoid`",
       "heads cut behind the sigmoid of objectness and classes: `Identity`"},
      {{"boxes are shifted on images that are not square", "stock YOLOX pads at the right and the bottom: pass "
                                                           "`TopLeftLetterbox`, see [the FAQ](faq.md#yolox-boxes-are-shifted)"},
       {"one tensor [1, 8400, 5 + nc] whose w and h are often negative",
        "the official ONNX without "
        "`--decode_in_inference`: cut the graph before the concatenation, or split the tensor yourself"},
       {"one tensor [1, 8400, 5 + nc] in pixels", "`YoloDecodedV1` with objectness"},
       activation_folded},
      {},
      "YOLOX `yolox/models/yolo_head.py` (decode_outputs)"};
}

Family yolo5() {
  return {
      "YOLOv5 (and -seg), Scaled-YOLOv4, YOLOv3 as in ultralytics/yolov3",
      {"[1, 3·(5 + nc), H, W] as `Planar`, or [1, H, W, 3·(5 + nc)]: logits, before Detect decodes them",
       "models with own anchors: `anchors`, in pixels, for each head in the order of the heads",
       "-seg: 3·(5 + nc + 32) channels and the prototypes as `mask_prototype`"},
      {{"[1, 3, H, W, 5 + nc]: five dimensions, the anchor first",
        "three heads of [H, W, 5 + nc], each with one of the "
        "anchors: see [the FAQ](faq.md#five-dimensions-with-the-anchor-first)"},
       {"[1, 25200, 5 + nc]", "`YoloDecodedV1` with objectness"},
       {"64 + nc channels a level: yolov5nu, yolov3u and their kin of the ultralytics package", "these have v8's heads: "
                                                                                                "`Yolo8V1`"},
       already_probabilities,
       {"boxes far too large or too small, at the right places", "the model carries anchors of its own (auto-anchor), or is a "
                                                                 "v7: pass its `anchors`"}},
      {},
      "YOLOv5 `models/yolo.py` (Detect)"};
}

Family yolo7() {
  return {"YOLOv7, v7x; v7-tiny with v5's anchors; w6, e6, d6, e6e (four heads)",
          {"[1, 3·(5 + nc), H, W] as `Planar`, or [1, H, W, 3·(5 + nc)]: logits, ImplicitA and ImplicitM folded (`fuse()`)",
           "v7-tiny: pass v5's table as `anchors`", "-seg: 3·(5 + nc + 32) channels and the prototypes as `mask_prototype`"},
          {{"[1, 3, H, W, 5 + nc]: five dimensions, the anchor first",
            "three heads of [H, W, 5 + nc], each with one of the "
            "anchors: see [the FAQ](faq.md#five-dimensions-with-the-anchor-first)"},
           {"[1, 25200, 5 + nc]", "`YoloDecodedV1` with objectness"},
           already_probabilities,
           {"yolov7-w6-pose", "not supported"}},
          {"With `num_classes` 1 the score is σ(objectness) alone and the class channel is not read, as in the original "
           "(`utils/general.py`, non_max_suppression)."},
          "YOLOv7 `models/yolo.py`"};
}

Family yolo_anchor_decoded() {
  return {
      "YOLOv5 and v7 exports that keep xy, wh and scores in ports of their own, already decoded",
      {"per level: xy with 2A channels, wh with 2A, scores with A·(1 + nc) as [objectness, classes…], all anchor-major",
       "probabilities with `Identity`, logits with `Sigmoid`",
       "INT8 scores whose padded tail the exporter filled with −128: declare the padding (`Strided` or `MlaCBlocked`); it is "
       "never read as a class"},
      {{"every coordinate is at most about 1 and no detection comes out", "`box_unit` Normalised"},
       untrained_class,
       {"one tensor for all roles", "`Yolo5V1` where it holds logits, `YoloDecodedV1` where it holds pixels"},
       activation_folded},
      {},
      "YOLOv5 and YOLOv7 `models/yolo.py`, exports that keep xy, wh and conf apart"};
}

Family ssd300() {
  return {
      "SSD300 of NVIDIA DeepLearningExamples (dboxes300, COCO)",
      {"six pairs loc [38, 38, 16] … and conf [38, 38, 324] …, before the reshapes to [4, 8732] and [81, 8732]",
       "`num_classes` 2 to 81 selects the first classes; the softmax still runs over all 81"},
      {{"conf depths that are multiples of 91: SSD300 of torchvision, anchor-major", "not supported: the signature does not "
                                                                                     "match, and the error prints both"},
       {"two tensors [1, 4, 8732] and [1, 81, 8732]", "each level is a run of columns inside every row, which no layout "
                                                      "describes: cut the graph before the concatenation"},
       already_probabilities},
      {"Priors run level, anchor, row, column in the original; ties between cells are broken by cell and anchor here."},
      "variances: SSD (Liu et al. 2016), NVIDIA DeepLearningExamples `PyTorch/Detection/SSD`; bound: torchvision "
      "`models/detection/_utils.py`"};
}

Family ssd_mobile(const char *input, const char *rows) {
  return {
      std::string("SSD MobileNet v1 and v2 of the TensorFlow Object Detection API, ") + input + " pixels",
      {"six pairs loc [H, W, 4·A] and conf [H, W, C·A] before the sigmoid, anchor-major",
       std::string("the concatenated tensors [1, ") + rows + ", 4] and [1, " + rows +
           ", C]: rows run level, row, column, anchor, so each level is a run of bytes; hand in six views of each",
       "custom training with another class count C, read from the conf tensors; `num_classes` is C, the background counted"},
      {{"four output tensors: boxes, classes, scores, count (TFLite_Detection_PostProcess)", "the graph is finished; export "
                                                                                             "without that operator"},
       already_probabilities,
       {"a pipeline whose `score_converter` is SOFTMAX", "not supported: this profile is the sigmoid one"},
       {"FPNLite, or other grids", "not supported: the signature does not match, and the error prints both"}},
      {"Class ids are the encoded indices (1 to 90 for COCO). TFLite's operator publishes them minus one.",
       "Dense BF16 scores (`Contiguous`, `Strided`) compare raw bits, so that +0 ranks above −0 among the classes of an "
       "anchor; "
       "every other type and layout treats the two as equal."},
      "variances: SSD (Liu et al. 2016), TensorFlow `box_coders/faster_rcnn_box_coder.py` (scale factors 10, 10, 5, 5); bound: "
      "torchvision `models/detection/_utils.py`"};
}

Family ssd_lite() {
  return {
      "SSDLite320 MobileNetV3 of torchvision",
      {"six pairs loc [H, W, 24] and conf [H, W, 6·C] before the softmax, anchor-major; NCHW as `Planar`",
       "custom training with another class count C, read from the conf tensors; `num_classes` is C, the background counted"},
      {{"scores that sum to 1 over the classes", "the softmax is folded: export the logits"},
       {"grids 38, 19, …: SSD300 of torchvision", "not supported: the signature does not match, and the error prints both"}},
      {"Class ids are the encoded indices (COCO's with its gaps).",
       "torchvision clips boxes to the image before its suppression; here they are clipped when they are written."},
      "variances: SSD (Liu et al. 2016), torchvision `models/detection/ssd.py`; bound: torchvision "
      "`models/detection/_utils.py`"};
}

Family efficientdet() {
  return {
      "EfficientDet D0 to D7x and lite0 to lite4 (automl)",
      {"levels P3 to P7 (P8 in D7x): box [H, W, 9·4] and class [H, W, 9·nc], as logits with `Sigmoid`",
       "concatenated tensors [1, N, 4] and [1, N, nc]: rows run level, row, column, anchor, so each level is a run of bytes; "
       "hand in one view a level of each",
       "D7: `anchor_scale` 5; lite0, lite1, lite2, lite3x: 3"},
      {{"boxes a quarter or a third too large or too small, at the right places", "another `anchor_scale`"},
       {"finished detections [1, 100, 7]", "the graph is finished; export without its post-processing"},
       {"anchors with the ratio slow and the octave fast (TensorFlow FPNLite, RetinaNet)", "not supported"},
       activation_folded},
      {"The original publishes class ids plus one. Its default suppression is a gaussian Soft-NMS across classes; here it is "
       "hard and class-aware. `boxdecode.ops.soft_nms` has the other."},
      "automl `efficientdet/tf2/anchors.py` (decode_box_outputs); bound: torchvision `models/detection/_utils.py`"};
}

Family detr() {
  return {"DETR (R50, R101, DC5)",
          {"pred_boxes [1, 100, 4] and pred_logits [1, 100, 92] as `TensorSpec((1, 1, 100, 4), …)` and `((1, 1, 100, 92), …)`, "
           "`num_classes` 91",
           "boxes cut before their sigmoid: `box_activation` Sigmoid"},
          {{"as many logits as classes, no background: RT-DETR, D-FINE, RF-DETR, Deformable DETR",
            "not supported: they take a "
            "sigmoid and several classes of one query"},
           {"scores that sum to 1", "the softmax is folded: export the logits"}},
          {"Boxes are relative to the image without its padding, so the default `Stretch` is right whatever the resize was, as "
           "long as no padding was fed in."},
          "DETR `models/detr.py` (PostProcess)"};
}

Family centernet() {
  return {
      "CenterNet (objects as points; DLA, ResNet, Hourglass)",
      {"hm [nc, H, W], wh [2, H, W], reg [2, H, W] at stride 4, `Planar`: heads `[(wh, hm, None, reg)]`",
       "hm before the sigmoid: `Sigmoid`; behind it: `Identity`",
       "graphs without the 3x3 peak pooling: `peak_window` 3; with it: 1"},
      {{"many detections around one object", "the graph does not pool: `peak_window` 3"},
       {"sizes of 2·nc channels (cat_spec_wh)", "not supported"},
       {"CenterFace: y before x, sizes as logarithms", "not supported"}},
      {"The original's preprocessing is an affine warp about the image centre, half a pixel from a letterbox with whole pads. "
       "For its exact mapping pass `Affine`, see [numerics](numerics.md#mapping-to-the-original-image)."},
      "CenterNet `src/lib/models/decode.py` (ctdet_decode)"};
}

Family rcnn() {
  return {"the region proposal network of torchvision's Faster and Mask R-CNN (ResNet-50 FPN)",
          {"five levels (four and the pooled one): deltas [H, W, 12] and objectness [H, W, 3] as logits, `num_classes` 1",
           "another anchor table with three anchors a level: `anchors`"},
          {{"15 anchors a cell (MobileNetV3 FPN)", "not supported"},
           {"one level at stride 16 (TensorFlow Faster R-CNN)", "not supported"},
           {"mmdetection: anchors that are not rounded", "pass them as `anchors`"},
           already_probabilities},
          {"The class id is the level, so suppression stays inside a level. torchvision keeps the best 1000 of a level before "
           "suppression; here none is dropped.",
           "Output 4 holds the proposals in model pixels."},
          "torchvision `models/detection/_utils.py` (BoxCoder, weights 1), `rpn.py`"};
}

}  // namespace

Family family_of(Profile profile) {
  switch (profile) {
    case Profile::Yolo26V1: return yolo26();
    case Profile::Yolo6V1: return yolo6();
    case Profile::Yolo8V1: return yolo8();
    case Profile::YoloDecodedV1: return yolo_decoded();
    case Profile::YoloXV1: return yolox();
    case Profile::Yolo5V1: return yolo5();
    case Profile::Yolo7V1: return yolo7();
    case Profile::YoloAnchorDecodedV1: return yolo_anchor_decoded();
    case Profile::Ssd300V1: return ssd300();
    case Profile::SsdMobile300V1: return ssd_mobile("300", "1917");
    case Profile::SsdMobile320V1: return ssd_mobile("320", "2034");
    case Profile::SsdLiteMobile320V1: return ssd_lite();
    case Profile::EfficientDetV1: return efficientdet();
    case Profile::DetrV1: return detr();
    case Profile::CenterNetV1: return centernet();
    case Profile::RcnnStage1V1: return rcnn();
  }
  return {};
}

}  // namespace catalogue
