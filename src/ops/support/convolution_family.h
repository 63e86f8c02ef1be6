// What Convolution, ConvolutionDepthwise and Deconvolution share: parameters, weights as the device has them, the
// fused activation, and the mistakes worth trying.
#pragma once

#include <string>
#include <string_view>

#include "ops/op.h"
#include "ops/support/convolution_kernel.h"

namespace qnndbg {

enum class FusedActivation : std::uint8_t { none, relu, relu6 };

/// max(0, y), or y clamped to 0..6, in place.
void apply(FusedActivation activation, Tensor& tensor);
double apply(FusedActivation activation, double value);

enum class ConvPadding : std::uint8_t { explicit_pads, valid, same };

struct ConvParameters {
  ConvGeometry geometry;  // pad_top/pad_left are filled in per input size
  ConvPadding padding = ConvPadding::explicit_pads;
  std::vector<std::int64_t> pads;      // [top, left, bottom, right] or empty
  std::int64_t pad_x = 0, pad_y = 0;   // when `pads` is empty
  std::vector<std::int64_t> out_pads;  // deconvolution output padding [h, w]
  std::int64_t input_channels = 0, output_channels = 0;
  FusedActivation activation = FusedActivation::none;
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

/// Weights and bias on the device's half grid (or in fp32 when `constants` is empty).
struct ConvConstants {
  std::vector<float> weight;
  std::vector<float> bias;
};
Result<ConvConstants> conv_constants(const Model& model, int op, const RunContext& run);

/// One kind of convolution: how it computes y from x, whole and by element.
class ConvolutionFamily : public Op {
 public:
  ConvolutionFamily(const Model& model, const OpNode& node, ConvParameters parameters)
      : model_(model), op_(node.index), parameters_(std::move(parameters)) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override;
  Result<std::vector<Stage>> lower(const LowerContext& context) const override;
  bool has_constants() const override { return true; }
  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

 protected:
  /// Output extent and begin padding of one axis of an input with extent `in`.
  virtual AxisPlan plan_axis(bool vertical, std::int64_t in) const = 0;
  virtual Result<Tensor> compute(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                                 const ConvGeometry& geometry, const Dims& out) const = 0;
  virtual double element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                         const ConvGeometry& geometry, const Dims& out, std::int64_t index) const = 0;
  virtual std::string qnn_type() const = 0;
  /// Suffix of the QNN node in front of a separate activation node.
  virtual std::string node_suffix() const = 0;
  /// File of MNN's tree that builds the node.
  virtual std::string mnn_file() const = 0;

  const ConvParameters& parameters() const { return parameters_; }

 private:
  ConvGeometry geometry_for(const Dims& in) const;
  Result<StageResult> run(const RunContext& context, const ConvConstants& constants, FusedActivation activation,
                          const Dims& out) const;
  Stage main_stage(const Dims& out, FusedActivation activation) const;
  std::vector<Hypothesis> hypotheses(const Evidence& evidence, const Dims& out, FusedActivation activation) const;

  const Model& model_;
  int op_;
  ConvParameters parameters_;
};

}  // namespace qnndbg
