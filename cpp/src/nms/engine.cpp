#include "nms/engine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/dispatch.h"
#include "kernels/iou_rule.h"
#include "nms/hard.h"
#include "nms/order.h"
#include "nms/soft.h"
#include "numeric/fp_environment.h"
#include "operator/text.h"

namespace simaai::kernels::detail {
namespace {

using ops::nms::ClassIds;
using ops::nms::InvalidRows;
using ops::nms::Method;
using ops::nms::Params;

bool box_is_finite(const float *box) {
  return std::isfinite(box[0]) && std::isfinite(box[1]) && std::isfinite(box[2]) && std::isfinite(box[3]);
}

bool row_is_valid(const float *box, float score, bool soft) {
  return box_is_finite(box) && box[2] >= box[0] && box[3] >= box[1] && !(soft ? !std::isfinite(score) : std::isnan(score));
}

// To the nearest float; beyond the largest one and half a step, to infinity.
float narrow(double value) {
  constexpr double overflow = 0x1.ffffffp127;
  if (value >= overflow || value <= -overflow) {
    return value > 0 ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
  }
  return static_cast<float>(value);
}

// As many significant digits as it takes to tell the value from every other of its type.
template <class T>
std::string text_of(T value) {
  std::array<char, 40> characters;
  const auto end = std::to_chars(characters.data(), characters.data() + characters.size(), value, std::chars_format::general,
                                 std::numeric_limits<T>::max_digits10);
  return {characters.data(), end.ptr};
}

Error describe_row(const float *box, float score, std::size_t row) {
  const bool bad_box = !box_is_finite(box) || !(box[2] >= box[0] && box[3] >= box[1]);
  std::string field = bad_box ? "boxes[" : "scores[";
  field += text(row);
  field += ']';
  std::string message = field;
  message += " is ";
  if (bad_box) {
    message += '(';
    for (int corner = 0; corner < 4; ++corner) {
      message += corner == 0 ? "" : ", ";
      message += text_of(box[corner]);
    }
    message += "); ";
    message += box_is_finite(box)
                   ? "x1, y1, x2, y2 need x2 >= x1 and y2 >= y1. Are the boxes cxcywh or xywh? Convert them to xyxy first"
                   : "all four coordinates must be finite";
  } else {
    message += text_of(score);
    message += "; a score must be ";
    message += std::isnan(score) ? "a number" : "finite in the soft methods";
  }
  message += "; or pass invalid=\"drop\" (InvalidRows::Drop) to leave such rows out";
  return Error{ErrorCode::InvalidParameter, std::move(field), std::move(message)};
}

// One pass over the caller's rows: which of them count, their scores without −0, and the range of those.
std::variant<Admitted, Error> admit(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows) {
  const bool soft = settings.method != Method::Hard;
  const NmsRowFacts facts = settings.kernels->check_rows(rows.boxes, rows.scores, rows.count, scratch.scores);
  const bool valid =
      facts.valid != 0 && (!soft || rows.count == 0 || (std::isfinite(facts.least) && std::isfinite(facts.largest)));
  if (!valid && settings.invalid == InvalidRows::Refuse) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (!row_is_valid(rows.boxes + 4 * row, scratch.scores[row], soft)) {
        return describe_row(rows.boxes + 4 * row, scratch.scores[row], row);
      }
    }
    // Only a caller that changes the rows meanwhile comes here.
    return Error{ErrorCode::InvalidParameter, "boxes", "boxes changed during the call; leave them alone until it returns"};
  }
  Admitted admitted{rows.count, true, facts.least, facts.largest};
  // A soft score below a threshold that is not positive may rise to it: a negative score decays towards zero.
  const bool gate = settings.has_score_threshold && (!soft || settings.score_threshold > 0.0F);
  const float threshold = gate ? settings.score_threshold : -std::numeric_limits<float>::infinity();
  if (valid && !(facts.least < threshold)) {
    return admitted;
  }
  std::size_t count = 0;
  if (valid) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      const float score = scratch.scores[row];
      scratch.rows[count] = static_cast<std::uint32_t>(row);
      scratch.scores[count] = score;
      count += static_cast<std::size_t>(score >= threshold);
    }
    admitted.least = threshold;
  } else {
    admitted.least = std::numeric_limits<float>::infinity();
    admitted.largest = -std::numeric_limits<float>::infinity();
    for (std::size_t row = 0; row < rows.count; ++row) {
      const float score = scratch.scores[row];
      if (row_is_valid(rows.boxes + 4 * row, score, soft) && score >= threshold) {
        scratch.rows[count] = static_cast<std::uint32_t>(row);
        scratch.scores[count] = score;
        admitted.least = score < admitted.least ? score : admitted.least;
        admitted.largest = score > admitted.largest ? score : admitted.largest;
        ++count;
      }
    }
  }
  admitted.count = count;
  admitted.all = false;
  return admitted;
}

// Each class on its own; then the kept places of all of them, which ascend with the score, in one sweep.
std::size_t suppress_hard_by_class(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows, std::size_t count) {
  const std::size_t groups = group_by_class(scratch, rows, count);
  // The group ends and the marks outlive the suppression, which uses buckets and starts: they move to memory that is free now.
  auto *const ends = reinterpret_cast<std::uint32_t *>(scratch.entries);
  std::memcpy(ends, scratch.buckets, groups * sizeof(std::uint32_t));
  auto *const marks = reinterpret_cast<std::uint8_t *>(scratch.spare);
  std::memset(marks, 0, count);
  std::size_t begin = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t end = ends[group];
    if (end - begin == 1) {
      marks[scratch.ranks[begin]] = 1;
    } else {
      const std::size_t found =
          suppress_hard(settings, scratch, rows.boxes, scratch.grouped + begin, end - begin, settings.limit, scratch.kept);
      for (std::size_t i = 0; i < found; ++i) {
        marks[scratch.ranks[begin + scratch.kept[i]]] = 1;
      }
    }
    begin = end;
  }
  std::size_t found = 0;
  for (std::size_t place = 0; place < count && found < settings.limit; ++place) {
    scratch.kept[found] = scratch.order[place];
    found += marks[place];
  }
  return found;
}

}  // namespace

const NmsKernels &nms_kernels_of(KernelSet set) noexcept {
  switch (set) {
    case KernelSet::Scalar: break;
    case KernelSet::Avx2:
#if defined(SIMA_KERNELS_X86)
      return avx2_nms_kernels;
#else
      break;
#endif
    case KernelSet::Neon:
    case KernelSet::NeonDotprod:
#if defined(SIMA_KERNELS_ARM)
      return neon_nms_kernels;
#else
      break;
#endif
  }
  return scalar_nms_kernels;
}

const NmsKernels &select_nms_kernels() noexcept { return nms_kernels_of(select_kernels().set); }

std::variant<NmsSettings, Error> prepare_nms(const Params &params, const std::string &prefix) {
  const auto refuse = [&prefix](const char *name, const std::string &message) {
    return Error{ErrorCode::InvalidParameter, prefix + name, prefix + name + " " + message};
  };
  if (!float_environment_is_default()) {
    return Error{ErrorCode::FloatEnvironment, "", float_environment_message};
  }
  NmsSettings settings;
  switch (params.method) {
    case Method::Hard:
    case Method::SoftLinear:
    case Method::SoftGaussian:
    case Method::SoftAdaptive: break;
    default: return refuse("method", "is no member of Method");
  }
  settings.method = params.method;
  if (!(params.iou_threshold >= 0.0 && params.iou_threshold <= 1.0)) {
    return refuse("iou_threshold", "is " + text_of(params.iou_threshold) + "; it must be in [0, 1]");
  }
  settings.iou_threshold = params.iou_threshold;
  settings.threshold = prepare_threshold(params.iou_threshold);
  settings.sigma = narrow(params.sigma);
  if (!(settings.sigma > 0.0F && std::isfinite(settings.sigma))) {
    return refuse("sigma", "is " + text_of(params.sigma) + "; as FP32 it must be finite and > 0");
  }
  if (params.score_threshold.has_value()) {
    const double threshold = *params.score_threshold;
    if (!std::isfinite(threshold)) {
      return refuse("score_threshold", "is " + text_of(threshold) + "; it must be finite, or left out to keep every score");
    }
    settings.has_score_threshold = true;
    settings.score_threshold = narrow(threshold);
  }
  if (params.max_detections.has_value()) {
    if (*params.max_detections < 0) {
      return refuse("max_detections",
                    "is " + text(*params.max_detections) + "; it must be at least 0, or left out for no limit");
    }
    settings.limit = static_cast<std::size_t>(*params.max_detections);
  }
  switch (params.class_ids) {
    case ClassIds::None:
    case ClassIds::Int32:
    case ClassIds::Int64: break;
    default: return refuse("class_ids", "is no member of ClassIds");
  }
  switch (params.invalid) {
    case InvalidRows::Refuse:
    case InvalidRows::Drop: break;
    default: return refuse("invalid", "is no member of InvalidRows");
  }
  settings.invalid = params.invalid;
  settings.kernels = &select_nms_kernels();
  return settings;
}

std::variant<std::size_t, Error> run_nms(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows) {
  std::variant<Admitted, Error> checked = admit(settings, scratch, rows);
  if (Error *const error = std::get_if<Error>(&checked)) {
    return std::move(*error);
  }
  const Admitted &admitted = std::get<Admitted>(checked);
  if (settings.method != Method::Hard) {
    return suppress_soft(settings, scratch, rows, admitted);
  }
  order_by_score(settings, scratch, admitted);
  if (rows.has_classes()) {
    return suppress_hard_by_class(settings, scratch, rows, admitted.count);
  }
  const std::size_t found =
      suppress_hard(settings, scratch, rows.boxes, scratch.order, admitted.count, settings.limit, scratch.kept);
  for (std::size_t i = 0; i < found; ++i) {
    scratch.kept[i] = scratch.order[scratch.kept[i]];
  }
  return found;
}

}  // namespace simaai::kernels::detail
