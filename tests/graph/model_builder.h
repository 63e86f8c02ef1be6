// Small .mnn models for tests, written with the generated FlatBuffers builders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/mnn_wire.h"

namespace qnndbg::test {

using Builder = flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<void>;

/// One operator: plain data, with an optional function that writes its parameters.
struct OpSpec {
  int type = wire::Kind_Identity;
  std::string name = {};
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  wire::OpParameter main_type = wire::OpParameter_NONE;
  std::function<Table(Builder&)> main = {};
  std::string external_path = {};
};

struct QuantSpec {
  int tensor = 0;
  float scale = 0;
  float zero = 0;
  wire::DType type = wire::DType_DT_INT8;
};

struct NetSpec {
  std::vector<std::string> tensors = {};
  std::vector<OpSpec> ops = {};
  std::vector<std::string> outputs = {};
  std::vector<QuantSpec> quants = {};
  std::vector<std::function<flatbuffers::Offset<wire::TensorDescribe>(Builder&)>> records = {};
  std::string version = {};
};

inline flatbuffers::Offset<flatbuffers::String> text(Builder& builder, const std::string& value) {
  return value.empty() ? flatbuffers::Offset<flatbuffers::String>() : builder.CreateString(value);
}

inline flatbuffers::Offset<wire::Op> build_op(Builder& builder, const OpSpec& spec) {
  const Table main = spec.main ? spec.main(builder) : Table();
  const auto name = text(builder, spec.name);
  const auto inputs = builder.CreateVector(spec.inputs);
  const auto outputs = builder.CreateVector(spec.outputs);
  return wire::CreateOp(builder, inputs, spec.main_type, main, name, outputs, static_cast<wire::Kind>(spec.type),
                        wire::Layout_NCHW, text(builder, spec.external_path));
}

/// The file's bytes. They stand in a vector of 8-byte words, so that Model::parse need not copy them.
class ModelBytes {
 public:
  explicit ModelBytes(std::span<const std::uint8_t> bytes) : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(words_.data()));
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(size_); }
  std::string_view text() const { return {reinterpret_cast<const char*>(words_.data()), size_}; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_;
};

inline ModelBytes build(const NetSpec& spec) {
  Builder builder;
  std::vector<flatbuffers::Offset<wire::Op>> ops;
  for (const OpSpec& op : spec.ops) ops.push_back(build_op(builder, op));
  std::vector<flatbuffers::Offset<wire::TensorDescribe>> describes;
  for (const QuantSpec& quant : spec.quants) {
    const auto info = wire::CreateTensorQuantInfo(builder, quant.scale, quant.zero, -128, 127, quant.type);
    describes.push_back(wire::CreateTensorDescribe(builder, 0, quant.tensor, 0, 0, info));
  }
  for (const auto& record : spec.records) describes.push_back(record(builder));
  const auto describe_list = builder.CreateVector(describes);
  const auto op_list = builder.CreateVector(ops);
  const auto outputs = builder.CreateVectorOfStrings(spec.outputs);
  const auto tensors = builder.CreateVectorOfStrings(spec.tensors);
  const auto info = wire::CreateExtraInfo(builder, 0, 0, text(builder, spec.version));
  wire::NetBuilder net(builder);
  net.add_extraTensorDescribe(describe_list);
  net.add_extraInfo(info);
  net.add_oplists(op_list);
  net.add_outputName(outputs);
  net.add_sourceType(wire::Source_ONNX);
  net.add_tensorName(tensors);
  builder.Finish(net.Finish());
  return ModelBytes({builder.GetBufferPointer(), builder.GetSize()});
}

inline OpSpec input_op(const std::string& name, int tensor, std::vector<int> dims,
                       wire::DType type = wire::DType_DT_FLOAT) {
  OpSpec op{wire::Kind_Input, name, {}, {tensor}, wire::OpParameter_Input};
  op.main = [dims, type](Builder& builder) {
    return wire::CreateInputDirect(builder, &dims, type, wire::Layout_NCHW).Union();
  };
  return op;
}

}  // namespace qnndbg::test
