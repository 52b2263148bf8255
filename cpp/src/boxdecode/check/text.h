#pragma once

#include <cstdint>
#include <string>

#include <simaai/kernels/ops/boxdecode.h>
#include <simaai/kernels/status.h>
#include <simaai/kernels/tensor.h>

#include "operator/text.h"

/// Text of errors: numbers in their shortest exact form, shapes, names of enumerators, indexed paths.
namespace simaai::kernels::ops::boxdecode::detail {

using simaai::kernels::detail::text;

[[nodiscard]] inline std::string text(const Shape &shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += i == 0 ? "" : ", ";
    out += text(shape[i]);
  }
  return out + "]";
}

[[nodiscard]] inline const char *text(DType dtype) {
  switch (dtype) {
    case DType::Int8: return "Int8";
    case DType::BFloat16: return "BFloat16";
    case DType::Int32: return "Int32";
    case DType::Float32: return "Float32";
    case DType::UInt8: return "UInt8";
    case DType::Float16: return "Float16";
  }
  return "an unknown dtype";
}

[[nodiscard]] inline const char *text(const Layout &layout) {
  constexpr const char *names[] = {"Contiguous", "Strided", "MlaCBlocked", "MlaTiled", "Planar"};
  return names[layout.index()];
}

[[nodiscard]] inline const char *text(const ResizePolicy &policy) {
  constexpr const char *names[] = {"CenteredLetterbox", "TopLeftLetterbox", "Stretch", "Affine"};
  return names[policy.index()];
}

/// Null for a value that is no enumerator.
[[nodiscard]] inline const char *text(Task task) {
  switch (task) {
    case Task::Detection: return "Detection";
    case Task::Pose: return "Pose";
    case Task::Segmentation: return "Segmentation";
  }
  return nullptr;
}

[[nodiscard]] inline const char *text(ScoreActivation activation) {
  switch (activation) {
    case ScoreActivation::Identity: return "Identity";
    case ScoreActivation::Sigmoid: return "Sigmoid";
    case ScoreActivation::Softmax: return "Softmax";
  }
  return "no ScoreActivation enumerator";
}

/// "inputs[3].shape" from ("inputs", 3, ".shape").
[[nodiscard]] inline std::string path(const char *list, std::size_t index, const char *member = "") {
  return std::string(list) + "[" + text(index) + "]" + member;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
