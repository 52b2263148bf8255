#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "support/allocation_count.h"
#include "support/request.h"

/// No successful execute allocates: not the first call, not from empty to crowded, not with another image size.
namespace simaai::kernels {
namespace {

using test_support::AllocationCount;
using test_support::Fill;
using test_support::Frame;
using test_support::OwnedRequest;

// Where a pointer goes that the compiler must believe in: it may leave out a pair of new and delete otherwise.
void *volatile kept = nullptr;

template <typename Allocate, typename Free>
std::size_t counted(Allocate allocate, Free free) {
  const AllocationCount allocations;
  kept = allocate();
  const std::size_t count = allocations.value();
  free(kept);
  return count;
}

TEST(AllocationCount, SeesEveryWayToAllocate) {
  EXPECT_EQ(counted([] { return std::malloc(8); }, [](void *pointer) { std::free(pointer); }), 1U);
  EXPECT_EQ(counted([] { return std::calloc(2, 8); }, [](void *pointer) { std::free(pointer); }), 1U);
  EXPECT_EQ(counted([] { return std::aligned_alloc(64, 64); }, [](void *pointer) { std::free(pointer); }), 1U);
  EXPECT_EQ(counted([] { return ::operator new(8); }, [](void *pointer) { ::operator delete(pointer); }), 1U);
  EXPECT_EQ(
      counted([] { return new std::string(100, 'x'); }, [](void *pointer) { delete static_cast<std::string *>(pointer); }), 2U);
  EXPECT_EQ(counted([] { return kept; }, [](void *) {}), 0U);
}

class Allocation : public ::testing::TestWithParam<OwnedRequest> {};

TEST_P(Allocation, ExecuteAllocatesNothing) {
  const auto plan = test_support::prepared(GetParam());
  const auto context = ops::boxdecode::create_context(plan);
  std::optional<ops::boxdecode::Affine> affine;
  auto checked = ops::boxdecode::check_image_geometry(plan, {.width = 333, .height = 500}, affine);
  const auto *geometry = std::get_if<ops::boxdecode::ImageGeometry>(&checked);
  ASSERT_NE(geometry, nullptr);

  bool crowded_frame_had_boxes = false;
  for (const Fill fill : {Fill::Crowded, Fill::Empty, Fill::Some, Fill::Crowded, Fill::Empty}) {
    const Frame frame(GetParam(), plan, fill, 7);
    const auto inputs = frame.inputs();
    const auto outputs = frame.outputs();
    for (const bool other_size : {false, true}) {
      std::size_t allocated = 0;
      bool ok = false;
      {
        const AllocationCount allocations;
        const Status status = other_size ? ops::boxdecode::execute(plan, *geometry, *context, inputs, outputs)
                                         : ops::boxdecode::execute(plan, *context, inputs, outputs);
        ok = status.ok();
        allocated = allocations.value();
      }
      ASSERT_TRUE(ok);
      EXPECT_EQ(allocated, 0U);
      if (fill == Fill::Empty) {
        EXPECT_EQ(frame.count(), 0);
      }
      crowded_frame_had_boxes = crowded_frame_had_boxes || (fill == Fill::Crowded && frame.count() > 0);
    }
  }
  EXPECT_TRUE(crowded_frame_had_boxes);
}

TEST_P(Allocation, AnotherImageSizeAllocatesNothing) {
  const auto plan = test_support::prepared(GetParam());
  const AllocationCount allocations;
  for (const std::int64_t side : {1, 480, 1'048'576}) {
    const auto checked = ops::boxdecode::check_image_geometry(plan, {.width = side, .height = 640});
    const auto *geometry = std::get_if<ops::boxdecode::ImageGeometry>(&checked);
    ASSERT_NE(geometry, nullptr);
    const ops::boxdecode::ImageGeometry copy = *geometry;
    EXPECT_EQ(copy.image_size().width, side);
  }
  EXPECT_EQ(allocations.value(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Recipes, Allocation, ::testing::ValuesIn(test_support::sample_requests()),
                         [](const auto &request) { return request.param.name; });

}  // namespace
}  // namespace simaai::kernels
