// Deconvolution (transposed convolution).
#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/convolution_family.h"

namespace qnndbg {
namespace {

/// Rows and columns of the output where the model fixes them.
struct OutputExtents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

class Deconvolution final : public ConvolutionFamily {
 public:
  Deconvolution(const Model& model, const OpNode& node, ConvParameters parameters, std::optional<OutputExtents> fixed)
      : ConvolutionFamily(model, node, std::move(parameters)), fixed_(fixed) {}

  bool is_parameter(int input) const override { return fixed_ && input >= 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    return ConvolutionFamily::infer(fixed_ && !inputs.empty() ? inputs.first(1) : inputs);
  }

 protected:
  AxisPlan plan_axis(bool vertical, std::int64_t in) const override {
    const ConvParameters& p = parameters();
    const std::int64_t kernel = vertical ? p.geometry.kernel_h : p.geometry.kernel_w;
    const std::int64_t stride = vertical ? p.geometry.stride_h : p.geometry.stride_w;
    const std::int64_t dilation = vertical ? p.geometry.dilation_h : p.geometry.dilation_w;
    const std::int64_t wanted = fixed_ ? (vertical ? fixed_->rows : fixed_->columns) : 0;
    if (p.padding == ConvPadding::same) {
      const std::int64_t out = fixed_ ? wanted : in * stride;
      return {out, ((in - 1) * stride + kernel - out) / 2};  // MNN leaves the dilation out here
    }
    const bool listed = p.pads.size() >= 4;
    const std::int64_t before = listed ? p.pads[vertical ? 0 : 1] : (vertical ? p.pad_y : p.pad_x);
    if (fixed_) return {wanted, before};
    const std::int64_t after = listed ? p.pads[vertical ? 2 : 3] : before;
    const std::int64_t extra = p.out_pads.size() == 2 ? p.out_pads[vertical ? 0 : 1] : 0;
    return {std::max<std::int64_t>(0, (in - 1) * stride + dilation * (kernel - 1) + 1 - before - after + extra),
            before};
  }
  Result<Tensor> compute(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                         const ConvGeometry& geometry, const Dims& out) const override {
    return deconvolution(x, weight, bias, geometry, out);
  }
  double element(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
                 const ConvGeometry& geometry, const Dims& out, std::int64_t index) const override {
    return deconvolution_element(x, weight, bias, geometry, out, index);
  }
  std::string qnn_type() const override { return "TransposeConv2d"; }
  std::string node_suffix() const override { return "_conv"; }
  std::string mnn_file() const override { return "source/backend/qnn/execution/QNNDeconvolution.cpp"; }

 private:
  std::optional<OutputExtents> fixed_;
};

/// Elements 1 and 2 of the shape in the last operand, which counts [N, H, W, C]. It is read here and not among the host
/// values, since the converter writes a constant.
Result<OutputExtents> fixed_extents(const Model& model, const OpNode& node) {
  const int shape = node.inputs.size() < 2 ? -1 : node.inputs.back();
  if (shape < 0) return fail("its output shape is missing");
  const int producer = model.graph().tensors[static_cast<std::size_t>(shape)].producer;
  if (producer < 0 || model.graph().ops[static_cast<std::size_t>(producer)].type_name != "Const")
    return fail("its output shape is not a constant of the model");
  auto value = model.constant(producer);
  if (!value) return fail(value.error());
  if (value->type() != DType::i32 || value->size() < 3) return fail("an output shape of {}", to_string(value->dims()));
  const OutputExtents extents{value->i32()[1], value->i32()[2]};
  if (extents.rows < 1 || extents.columns < 1) return fail("an output of {}x{}", extents.rows, extents.columns);
  return extents;
}

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  auto parameters = read_conv_parameters(model, node);
  if (!parameters) return fail(parameters.error());
  const auto* common = model.wire_op(node.index).main_as_Convolution2D()->common();
  std::optional<OutputExtents> fixed;
  if (common->hasOutputShape()) {
    auto extents = fixed_extents(model, node);
    if (!extents) return fail(extents.error());
    fixed = *extents;
  }
  return std::make_unique<Deconvolution>(model, node, std::move(*parameters), fixed);
}

const RegisterOp kRegister{"Deconvolution", make};

}  // namespace
}  // namespace qnndbg
