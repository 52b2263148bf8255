#pragma once

#include "boxdecode/context/context.h"

/// What is written. In: accepted detections. Out: the caller's buffers, every byte of them. Never: a decision.
namespace simaai::kernels::ops::boxdecode::detail {

using WriteExtra = void (*)(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners,
                            std::size_t slot);

/// Box in original pixels (clipped, then rounded), score and class of one detection.
void write_detection(const Frame &frame, const Corners &corners, float score, std::uint32_t class_id,
                     std::size_t slot) noexcept;

/// Zeros in every row from `count` on, and the count itself.
void clear_rows_from(const Frame &frame, std::size_t count) noexcept;
void write_count(const Frame &frame, std::size_t count) noexcept;

/// The fifth output of a task or recipe: keypoints, a mask or a proposal.
void write_keypoints(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot);
void write_mask(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot);
void write_proposal(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot);

}  // namespace simaai::kernels::ops::boxdecode::detail
