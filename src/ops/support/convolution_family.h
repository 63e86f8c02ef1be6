// What Convolution, ConvolutionDepthwise and Deconvolution share: parameters, weights as the device has them, the fused
// activation and the stages. The mistakes worth trying stand in convolution_mistakes.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "ops/qnn_mapping.h"
#include "ops/support/activation.h"
#include "ops/support/convolution_kernel.h"

namespace qnndbg {

enum class ConvPadding : std::uint8_t { explicit_pads, valid, same };

struct ConvParameters {
  ConvGeometry geometry;  // pad_top/pad_left are filled in per input size
  ConvPadding padding = ConvPadding::explicit_pads;
  std::vector<std::int64_t> pads;      // [top, left, bottom, right] or empty
  std::int64_t pad_x = 0, pad_y = 0;   // when `pads` is empty
  std::vector<std::int64_t> out_pads;  // deconvolution output padding [h, w]
  /// Deconvolution: rows and columns of the output where the model's last operand gives them, else empty.
  std::vector<std::int64_t> out_extents;
  std::int64_t input_channels = 0, output_channels = 0;
  const Activation* activation = nullptr;  // fused: ReLU or ReLU6; nullptr: none
};

/// Reads and range-checks Convolution2D of a model's operator.
Result<ConvParameters> read_conv_parameters(const Model& model, const OpNode& node);

/// Output extent and padding before the data, along one axis.
struct AxisPlan {
  std::int64_t out = 0;
  std::int64_t pad_before = 0;
};

/// MNN's arithmetic for convolution and depthwise convolution (SAME, VALID, explicit pads).
AxisPlan plan_convolution_axis(const ConvParameters& parameters, bool vertical, std::int64_t in);

/// What tells one kind of convolution from another.
struct ConvKind {
  std::string_view qnn_type;
  std::string_view node_suffix;  // of the QNN node in front of a separate activation node
  std::string_view mnn_file;     // file of MNN's tree that builds the node
  bool transposed = false;       // a deconvolution: weights [I, O/G, kh, kw] instead of [O, I/G, kh, kw]
  AxisPlan (*plan_axis)(const ConvParameters& parameters, bool vertical, std::int64_t in) = nullptr;
};

/// A convolution as a device might compute it.
struct ConvVariant {
  std::vector<float> weight;  // in the model's order
  std::vector<float> bias;    // one per output channel; empty: none
  ConvGeometry geometry;
  const Activation* activation = nullptr;  // nullptr: none
};

/// y = activation(conv(x, weight) + bias), output dims [N, O, OH, OW]; fp32. With `want_magnitude` also
/// sum |x||w| + |b|.
Result<StageResult> run_convolution(const ConvKind& kind, const ConvVariant& variant, const Tensor& x, const Dims& out,
                                    bool want_magnitude);

/// One element of the same, in double.
double convolution_value(const ConvKind& kind, const ConvVariant& variant, const Tensor& x, const Dims& out,
                         std::int64_t element);

/// Weights and bias on the device's half grid (or in fp32 when `run.constants` is empty).
Result<ConvVariant> conv_constants(const Model& model, int op, const RunContext& run);

class ConvolutionFamily final : public Op {
 public:
  ConvolutionFamily(const ConvKind& kind, const Model& model, const OpNode& node, ConvParameters parameters)
      : kind_(kind), model_(model), op_(node.index), parameters_(std::move(parameters)) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override;
  Result<std::vector<Stage>> lower(const LowerContext& context) const override;
  QnnMappingResult qnn_mapping(const QnnContext& context) const override;
  bool runs_quantized(DType type) const override;
  bool has_constants() const override { return true; }
  bool is_parameter(int input) const override { return input >= 1 && !parameters_.out_extents.empty(); }
  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 private:
  /// The right convolution of an input with these dims.
  Result<ConvVariant> variant_for(const RunContext& context, const Activation* activation) const;
  Stage main_stage(const Dims& out, const Activation* activation) const;

  const ConvKind& kind_;
  const Model& model_;
  int op_;
  ConvParameters parameters_;
};

}  // namespace qnndbg
