// A small description of a network: one struct per operator with all its parameters, constants included.
//
// It is what the fault generator edits: a fault is a change of the description of one operator, so that the wrong
// output comes from the right code run on a wrong model. It knows nothing of the product's hypotheses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "graph/mnn_wire.h"
#include "graph/model_builder.h"
#include "tensor/tensor.h"

namespace qnndbg::faults {

struct Input {
  Dims dims;
};
/// Host value: integers when `ints` is not empty, else floats.
struct Constant {
  Dims dims;
  std::vector<float> floats = {};
  std::vector<std::int32_t> ints = {};
};

enum class ConvKind : std::uint8_t { convolution, depthwise, deconvolution };
enum class Fused : std::uint8_t { none, relu, relu6 };
struct Convolution {
  ConvKind kind = ConvKind::convolution;
  int in = 1, out = 1, group = 1;
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::array<int, 4> pads = {};  // top, left, bottom, right
  Fused fused = Fused::none;
  std::vector<float> weight = {};  // as MNN stores it: [out, in/group, h, w]; deconvolution [in, out/group, h, w]
  std::vector<float> bias = {};

  /// Extents of `weight`, in its order.
  std::array<std::int64_t, 4> weight_dims() const;
};
struct Pool {
  bool average = false;
  bool global = false;
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  std::array<int, 4> pads = {};
  bool ceil = false;
  bool count_padding = false;
};
struct Interp {
  int method = 1;  // wire::Interp::resizeType: 1 nearest (floor), 2 linear, 4 nearest (half down)
  wire::Ctm mode = wire::Ctm_HalfPixels;
  int out_h = 0, out_w = 0;  // not used when there is a scale operand
};
struct Binary {
  wire::Bin operation = wire::Bin_ADD;
  bool relu = false;
};
struct Unary {
  wire::Un function = wire::Un_SIGMOID;
  bool split = true;  // Silu as Sigmoid and product, as MNN's backend builds it; not part of the model
};
struct Relu {
  float slope = 0;
};
struct Relu6 {
  float low = 0, high = 6;
};
struct Prelu {
  std::vector<float> slope;
};
struct Elu {
  float alpha = 1;
};
/// y = x * scale[c] + bias[c]
struct Scale {
  std::vector<float> scale, bias;
};
struct LayerNorm {
  std::vector<int> axes = {};
  float epsilon = 1e-5F;
  std::vector<float> gamma = {}, beta = {};
};
struct Softmax {
  int axis = -1;
};
struct Concat {
  int axis = 1;
};
struct Reduction {
  wire::Red operation = wire::Red_MEAN;
  std::vector<int> axes = {};
  bool keep_dims = true;
};
struct MatMul {
  bool transpose_a = false, transpose_b = false;
};
struct Reshape {
  std::vector<int> dims;
};
struct Permute {
  std::vector<int> order;
};
/// To two axes, split at `axis`.
struct Flatten {
  int axis = 1;
};
struct Squeeze {
  std::vector<int> axes;
};
/// Cut of one axis into parts of these sizes.
struct Split {
  int axis = 1;
  std::vector<int> sizes;
};
/// ONNX form; begin, end, axes and steps are constant operands.
struct StridedSlice {};
struct Cast {
  wire::DType to = wire::DType_DT_INT32;
};
/// Another layout, the same logical values.
struct Convert {
  bool to_channel_last = true;
};

using Parameters = std::variant<Input, Constant, Convolution, Pool, Interp, Binary, Unary, Relu, Relu6, Prelu, Elu,
                                Scale, LayerNorm, Softmax, Concat, Reduction, MatMul, Reshape, Permute, Flatten,
                                Squeeze, Split, StridedSlice, Cast, Convert>;

struct Operator {
  std::string name;
  Parameters parameters;
  std::vector<int> inputs = {};   // tensor numbers
  std::vector<int> outputs = {};  // tensor numbers
};

struct Network {
  std::vector<Operator> ops;  // in execution order
  int tensors = 0;

  /// Tensors that nobody reads, constants aside: the graph's outputs.
  std::vector<int> outputs() const;
  /// Position of the operator that makes `tensor`.
  int producer(int tensor) const;
  /// "7 operators: Convolution conv3 (t1) -> t4, ..." for messages.
  std::string text() const;
};

/// MNN's name of the operator type.
std::string type_of(const Operator& op);

/// The .mnn file.
test::ModelBytes to_mnn(const Network& network);

}  // namespace qnndbg::faults
