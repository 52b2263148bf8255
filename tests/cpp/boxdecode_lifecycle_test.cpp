#include <array>
#include <atomic>
#include <cfenv>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "support/request.h"

/// What execute promises whatever the recipe: the same bytes from every kernel set, in any order of frames and threads;
/// refusals in their order, with the outputs untouched.
namespace simaai::kernels {
namespace {

namespace boxdecode = ops::boxdecode;
using test_support::Fill;
using test_support::Frame;
using test_support::OwnedRequest;
using test_support::prepared;

constexpr Fill fills[] = {Fill::Empty, Fill::Some, Fill::Crowded};

// Expects a refusal with this code and field, and every output byte as it was.
void expect_refusal(const Status &status, const Frame &frame, ErrorCode code, const std::string &field) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code) << status.error().message;
  EXPECT_EQ(status.error().field, field) << status.error().message;
  EXPECT_FALSE(status.error().message.empty());
  for (const std::uint8_t byte : frame.output_bytes()) {
    ASSERT_EQ(byte, 0xAB);
  }
}

class Lifecycle : public ::testing::TestWithParam<OwnedRequest> {};

TEST_P(Lifecycle, OutputsThatAreLeftOutAreTheRecipesOwn) {
  const OwnedRequest &request = GetParam();
  const auto checked = boxdecode::check_inference({request.inputs, {}, request.params});
  const auto *plan = std::get_if<boxdecode::Plan>(&checked);
  ASSERT_NE(plan, nullptr) << std::get<Error>(checked).message;
  const auto outputs = plan->output_specs();
  EXPECT_EQ(std::vector<TensorSpec>(outputs.begin(), outputs.end()), request.outputs);
}

TEST_P(Lifecycle, AnEmptyListOfOutputsIsAnotherThing) {
  const OwnedRequest &request = GetParam();
  const auto checked = boxdecode::check_inference({request.inputs, std::span<const TensorSpec>(), request.params});
  const auto *error = std::get_if<Error>(&checked);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, ErrorCode::InvalidTensor);
  EXPECT_EQ(error->field, "outputs");
}

TEST_P(Lifecycle, EveryKernelSetGivesTheSameBytes) {
  const auto names = detail::available_kernels();
  for (const Fill fill : fills) {
    std::vector<std::uint8_t> expected;
    for (auto name = names.rbegin(); name != names.rend(); ++name) {  // scalar comes first
      ASSERT_TRUE(detail::force_kernels(*name));
      const auto plan = prepared(GetParam());
      detail::force_kernels(nullptr);
      const auto context = boxdecode::create_context(plan);
      const Frame frame(GetParam(), plan, fill, 99);
      ASSERT_TRUE(boxdecode::execute(plan, *context, frame.inputs(), frame.outputs()).ok());
      if (expected.empty()) {
        expected = frame.output_bytes();
      }
      EXPECT_EQ(frame.output_bytes(), expected) << *name;
    }
  }
}

TEST_P(Lifecycle, AFrameDependsOnNoEarlierFrame) {
  const auto plan = prepared(GetParam());
  const auto reused = boxdecode::create_context(plan);
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const Frame frame(GetParam(), plan, fills[(seed * 2 + 2) % 3], seed);
    const auto fresh = boxdecode::create_context(plan);
    frame.poison(0xAB);
    ASSERT_TRUE(boxdecode::execute(plan, *fresh, frame.inputs(), frame.outputs()).ok());
    const auto expected = frame.output_bytes();
    frame.poison(0x5A);
    ASSERT_TRUE(boxdecode::execute(plan, *reused, frame.inputs(), frame.outputs()).ok());
    EXPECT_EQ(frame.output_bytes(), expected) << seed;
  }
}

TEST_P(Lifecycle, RowsBeyondTheCountAreZero) {
  const auto plan = prepared(GetParam());
  const auto context = boxdecode::create_context(plan);
  for (const Fill fill : fills) {
    const Frame frame(GetParam(), plan, fill, 3);
    frame.poison(0xFF);
    ASSERT_TRUE(boxdecode::execute(plan, *context, frame.inputs(), frame.outputs()).ok());
    const auto capacity = static_cast<std::size_t>(GetParam().params.max_detections);
    const auto count = static_cast<std::size_t>(frame.count());
    ASSERT_LE(count, capacity);
    const auto outputs = frame.outputs();
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      if (port == 3) {
        continue;
      }
      const auto *bytes = static_cast<const std::uint8_t *>(outputs[port].data);
      for (std::size_t at = outputs[port].size_bytes / capacity * count; at < outputs[port].size_bytes; ++at) {
        ASSERT_EQ(bytes[at], 0) << "output " << port << ", byte " << at;
      }
    }
  }
}

TEST_P(Lifecycle, ThreadsWithTheirOwnContextsShareAPlan) {
  const auto plan = prepared(GetParam());
  const Frame first(GetParam(), plan, Fill::Crowded, 11);
  const auto context = boxdecode::create_context(plan);
  ASSERT_TRUE(boxdecode::execute(plan, *context, first.inputs(), first.outputs()).ok());
  const auto expected = first.output_bytes();
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto own = boxdecode::create_context(plan);
      const Frame frame(GetParam(), plan, Fill::Crowded, 11);
      for (int repeat = 0; repeat < 20; ++repeat) {
        const bool ok = boxdecode::execute(plan, *own, frame.inputs(), frame.outputs()).ok();
        different += !ok || frame.output_bytes() != expected;
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(different, 0);
}

TEST_P(Lifecycle, BuffersAreChecked) {
  const auto plan = prepared(GetParam());
  const auto context = boxdecode::create_context(plan);
  const Frame frame(GetParam(), plan, Fill::Crowded, 5);
  frame.poison(0xAB);
  const auto run = [&](const std::vector<ConstHostBuffer> &inputs, const std::vector<HostBuffer> &outputs) {
    return boxdecode::execute(plan, *context, inputs, outputs);
  };
  for (std::size_t port = 0; port < frame.inputs().size(); ++port) {
    const std::string field = "inputs[" + std::to_string(port) + "]";
    auto inputs = frame.inputs();
    inputs[port].data = nullptr;
    expect_refusal(run(inputs, frame.outputs()), frame, ErrorCode::InvalidBuffer, field);
    inputs = frame.inputs();
    inputs[port].size_bytes -= 1;
    expect_refusal(run(inputs, frame.outputs()), frame, ErrorCode::InvalidBuffer, field);
  }
  for (std::size_t port = 0; port < frame.outputs().size(); ++port) {
    const std::string field = "outputs[" + std::to_string(port) + "]";
    auto outputs = frame.outputs();
    outputs[port].data = nullptr;
    expect_refusal(run(frame.inputs(), outputs), frame, ErrorCode::InvalidBuffer, field);
    outputs = frame.outputs();
    outputs[port].size_bytes -= 1;
    expect_refusal(run(frame.inputs(), outputs), frame, ErrorCode::InvalidBuffer, field);
  }
  auto few = frame.inputs();
  few.pop_back();
  expect_refusal(run(few, frame.outputs()), frame, ErrorCode::InvalidBuffer, "inputs");
  auto missing = frame.outputs();
  missing.pop_back();
  expect_refusal(run(frame.inputs(), missing), frame, ErrorCode::InvalidBuffer, "outputs");
}

TEST_P(Lifecycle, OutputsShareBytesWithNothing) {
  const auto plan = prepared(GetParam());
  const auto context = boxdecode::create_context(plan);
  const Frame frame(GetParam(), plan, Fill::Crowded, 5);
  frame.poison(0xAB);
  auto outputs = frame.outputs();
  outputs[2].data = static_cast<std::uint8_t *>(outputs[0].data) + 4;
  const Status twice = boxdecode::execute(plan, *context, frame.inputs(), outputs);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().code, ErrorCode::BufferOverlap) << twice.error().message;

  outputs = frame.outputs();
  auto inputs = frame.inputs();
  std::vector<std::uint32_t> shared(inputs[0].size_bytes / 4 + 64);
  inputs[0].data = shared.data();
  outputs[3] = {reinterpret_cast<std::uint8_t *>(shared.data()) + (inputs[0].size_bytes - 1) / 4 * 4, 4};
  const Status input = boxdecode::execute(plan, *context, inputs, outputs);
  ASSERT_FALSE(input.ok());
  EXPECT_EQ(input.error().code, ErrorCode::BufferOverlap) << input.error().message;
}

TEST_P(Lifecycle, AContextOfAnotherPlanIsRefusedFirst) {
  const auto plan = prepared(GetParam());
  const auto equal_plan = prepared(GetParam());
  const boxdecode::Plan copy = plan;
  const auto context = boxdecode::create_context(plan);
  const Frame frame(GetParam(), plan, Fill::Some, 5);
  EXPECT_TRUE(boxdecode::execute(copy, *context, frame.inputs(), frame.outputs()).ok());
  frame.poison(0xAB);
  const Status status = boxdecode::execute(equal_plan, *context, {}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::ContextMismatch);
  expect_refusal(status, frame, ErrorCode::ContextMismatch, status.error().field);
}

TEST_P(Lifecycle, AForeignRoundingModeIsRefused) {
  const auto plan = prepared(GetParam());
  const auto context = boxdecode::create_context(plan);
  const Frame frame(GetParam(), plan, Fill::Crowded, 5);
  frame.poison(0xAB);
  std::fesetround(FE_DOWNWARD);
  const auto checked = boxdecode::check_inference(GetParam().view());
  const Status status = boxdecode::execute(plan, *context, frame.inputs(), frame.outputs());
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(after, FE_DOWNWARD) << "the library changed the caller's environment";
  expect_refusal(status, frame, ErrorCode::FloatEnvironment, "");
  ASSERT_TRUE(std::holds_alternative<Error>(checked));
  EXPECT_EQ(std::get<Error>(checked).code, ErrorCode::FloatEnvironment);
  EXPECT_TRUE(boxdecode::execute(plan, *context, frame.inputs(), frame.outputs()).ok());
}

TEST(ContextInUse, OneOfTwoCallsAtOnceIsRefused) {
  // Two threads hammer one context: every refusal is ContextBusy, and every success has the bytes of a lone call.
  const OwnedRequest request = test_support::sample_requests().front();
  const auto plan = prepared(request);
  const auto context = boxdecode::create_context(plan);
  const Frame alone(request, plan, Fill::Crowded, 21);
  ASSERT_TRUE(boxdecode::execute(plan, *context, alone.inputs(), alone.outputs()).ok());
  const auto expected = alone.output_bytes();
  std::atomic<int> wrong{0};
  std::atomic<int> busy{0};
  std::atomic<bool> stop{false};
  const auto hammer = [&] {
    const Frame frame(request, plan, Fill::Crowded, 21);
    while (!stop) {  // however long the other thread waits for its turn
      frame.poison(0xAB);
      const Status status = boxdecode::execute(plan, *context, frame.inputs(), frame.outputs());
      if (status.ok()) {
        wrong += frame.output_bytes() != expected;
      } else {
        wrong += status.error().code != ErrorCode::ContextBusy || frame.output_bytes().front() != 0xAB;
        if (++busy >= 5) {
          stop = true;
        }
      }
    }
  };
  std::thread other(hammer);
  hammer();
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(busy, 1);
}

INSTANTIATE_TEST_SUITE_P(Recipes, Lifecycle, ::testing::ValuesIn(test_support::sample_requests()),
                         [](const auto &request) { return request.param.name; });

}  // namespace
}  // namespace simaai::kernels
