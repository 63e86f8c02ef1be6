#include "qnn/archive.h"

#include <gtest/gtest.h>

#include "graphs.h"
#include "qnn/messages.h"

namespace qnndbg::qnn {
namespace {

template <class T>
Bytes bytes_of(const T& value) {
  Writer counter;
  counter(value);
  Bytes bytes(counter.size());
  Writer writer(bytes.data());
  writer(value);
  return bytes;
}

const std::vector<float> kWeights = {1, 2, 3, 4};

FinalizeRequest request() {
  FinalizeRequest request{.graph = relu_graph(), .options = {.profiling = Profiling::detailed, .validate_nodes = true}};
  TensorSpec weights = tensor("w", TensorKind::static_data, DType::f32, {2, 2});
  weights.data = view_of(kWeights);
  weights.quantization = {.kind = QuantizationSpec::Kind::axis, .axis = 1, .scales = {0.5F, 2}, .offsets = {0, -1}};
  request.graph.nodes[0].params = {{"axis", ScalarSpec(std::int32_t{-1})},
                                   {"keep", ScalarSpec(true)},
                                   {"alpha", ScalarSpec(0.25F)},
                                   {"weights", weights}};
  return request;
}

TEST(Archive, AGraphComesBackAsItWas) {
  const Bytes bytes = bytes_of(request());
  FinalizeRequest back;
  Reader reader(bytes);
  reader(back);
  ASSERT_TRUE(reader.complete());
  EXPECT_EQ(back.graph.name, "g");
  EXPECT_TRUE(back.options.validate_nodes);
  EXPECT_FALSE(back.options.skip_refused);
  EXPECT_EQ(back.options.profiling, Profiling::detailed);
  ASSERT_EQ(back.graph.nodes.size(), 1U);
  const std::vector<ParamSpec>& params = back.graph.nodes[0].params;
  ASSERT_EQ(params.size(), 4U);
  EXPECT_EQ(std::get<std::int32_t>(std::get<ScalarSpec>(params[0].value)), -1);
  EXPECT_TRUE(std::get<bool>(std::get<ScalarSpec>(params[1].value)));
  EXPECT_EQ(std::get<float>(std::get<ScalarSpec>(params[2].value)), 0.25F);
  const auto& weights = std::get<TensorSpec>(params[3].value);
  EXPECT_EQ(values_of<float>(weights.data), kWeights);
  EXPECT_EQ(weights.quantization, std::get<TensorSpec>(request().graph.nodes[0].params[3].value).quantization);
  EXPECT_EQ((weights.data.data() - bytes.data()) % kDataAlignment, 0);
}

TEST(Archive, EveryShorterMessageIsRefused) {
  const Bytes bytes = bytes_of(request());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    FinalizeRequest back;
    Reader reader(ByteView(bytes).first(size));
    reader(back);
    EXPECT_FALSE(reader.complete()) << size;
  }
}

TEST(Archive, CountsBeyondTheMessageAreRefusedBeforeAnythingIsAllocated) {
  const Bytes bytes = bytes_of(std::uint64_t{1} << 60U);
  std::vector<std::uint32_t> numbers;
  Reader reader(bytes);
  reader(numbers);
  EXPECT_FALSE(reader.complete());
  EXPECT_TRUE(numbers.empty());
}

TEST(Archive, BytesBehindTheValueAreRefused) {
  Bytes bytes = bytes_of(request());
  bytes.push_back(std::byte{0});
  FinalizeRequest back;
  Reader reader(bytes);
  reader(back);
  EXPECT_FALSE(reader.complete());
}

TEST(Archive, DeeplyNestedEventsAreRefused) {
  ProfileEvent event;
  for (int i = 0; i < 1000; ++i) {
    ProfileEvent outer;
    outer.children.push_back(std::move(event));
    event = std::move(outer);
  }
  const Bytes bytes = bytes_of(event);
  ProfileEvent back;
  Reader reader(bytes);
  reader(back);
  EXPECT_FALSE(reader.complete());
}

TEST(Specs, WhatWouldReadBeyondABufferIsRefused) {
  TensorSpec short_data = tensor("w", TensorKind::static_data, DType::f32, {2, 3});
  short_data.data = view_of(kWeights);
  EXPECT_EQ(check(short_data).error().message, "tensor `w` needs 24 bytes of data and has 16");
  const TensorSpec huge = tensor("w", TensorKind::native, DType::f32, {65536, 65536, 65536, 65536});
  EXPECT_NE(check(huge).error().message.find("larger than 4 GiB"), std::string::npos);
  TensorSpec scales = tensor("q", TensorKind::native, DType::ufixed8, {2, 3});
  scales.quantization = {.kind = QuantizationSpec::Kind::axis, .axis = 1, .scales = {1, 2}};
  EXPECT_EQ(check(scales).error().message, "tensor `q`: its encoding has 2 scales instead of 3");
  scales.quantization.axis = 2;
  EXPECT_FALSE(check(scales));
  GraphSpec graph = relu_graph();
  graph.nodes[0].inputs = {"nothing"};
  EXPECT_EQ(check(graph).error().message, "node `relu`: there is no tensor `nothing`");
  graph = relu_graph();
  graph.tensors.push_back(graph.tensors[0]);
  EXPECT_EQ(check(graph).error().message, "tensor `x` is there twice");
}

}  // namespace
}  // namespace qnndbg::qnn
