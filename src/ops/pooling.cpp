// Pooling: 2-D maximum and average.
#include <algorithm>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/host_values.h"
#include "ops/support/pooling_kernel.h"
#include "ops/support/pooling_mistakes.h"
#include "ops/support/qnn_pooling.h"

namespace qnndbg {
namespace {

constexpr std::int64_t kMaxParameter = 1 << 20;

struct Parameters {
  PoolKind kind = PoolKind::max;
  wire::PoolPad padding = wire::PoolPad_CAFFE;
  PoolCount count = PoolCount::inside;
  bool count_type_given = false;  // the model names a rule for the divisor, whichever
  bool global = false;
  bool ceil = true;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
};

struct Plan {
  PoolGeometry geometry;
  std::int64_t pad_bottom = 0, pad_right = 0;
  Dims out;
};

/// Output extent along one axis; `padded` is the input with its padding.
std::int64_t output_extent(const Parameters& p, std::int64_t padded, std::int64_t kernel, std::int64_t stride) {
  switch (p.padding) {
    case wire::PoolPad_SAME: return (padded + stride - 1) / stride;
    case wire::PoolPad_VALID: return std::max<std::int64_t>(0, (padded - kernel + stride) / stride);
    case wire::PoolPad_CAFFE: break;
  }
  const std::int64_t span = padded - kernel;
  return span < 0 ? 0 : (p.ceil ? (span + stride - 1) / stride : span / stride) + 1;
}

Result<Plan> plan(const Parameters& p, const Dims& in) {
  Plan result;
  PoolGeometry& g = result.geometry;
  if (p.global) {
    g = {.kernel_h = in[2], .kernel_w = in[3]};
    result.out = {in[0], in[1], 1, 1};
    return result;
  }
  const std::int64_t padded_h = in[2] + p.top + p.bottom;
  const std::int64_t padded_w = in[3] + p.left + p.right;
  g = {.kernel_h = std::min(p.kernel_h, padded_h),
       .kernel_w = std::min(p.kernel_w, padded_w),
       .stride_h = p.stride_h,
       .stride_w = p.stride_w,
       .pad_top = p.top,
       .pad_left = p.left};
  result.pad_bottom = p.bottom;
  result.pad_right = p.right;
  if (g.kernel_h < 1 || g.kernel_w < 1) return fail("a window of {}x{} on {}", g.kernel_h, g.kernel_w, to_string(in));
  result.out = {in[0], in[1], output_extent(p, padded_h, g.kernel_h, g.stride_h),
                output_extent(p, padded_w, g.kernel_w, g.stride_w)};
  if (p.padding == wire::PoolPad_SAME) {
    const std::int64_t total_h = std::max<std::int64_t>(0, (result.out[2] - 1) * g.stride_h + g.kernel_h - in[2]);
    const std::int64_t total_w = std::max<std::int64_t>(0, (result.out[3] - 1) * g.stride_w + g.kernel_w - in[3]);
    g.pad_top = total_h / 2;
    g.pad_left = total_w / 2;
    result.pad_bottom = total_h - g.pad_top;
    result.pad_right = total_w - g.pad_left;
  }
  return result;
}

class Pooling final : public Op {
 public:
  explicit Pooling(Parameters parameters) : p_(parameters) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0, 4);
    if (!x) return fail(x.error());
    if (x->dims.size() != 4) return fail("input of rank {}, 2-D pooling needs rank 4", x->dims.size());
    auto planned = plan(p_, x->dims);
    if (!planned) return fail(planned.error());
    auto count = check_dims(planned->out);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, std::move(planned->out)}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    auto planned = plan(p_, context.inputs[0].spec.dims);
    if (!planned) return fail(planned.error());
    const bool average = p_.kind == PoolKind::average;
    // A window over the whole plane is a mean: summed exactly, rounded once, unlike the windowed average.
    const bool whole = planned->geometry.kernel_h >= context.inputs[0].spec.dims[2] &&
                       planned->geometry.kernel_w >= context.inputs[0].spec.dims[3] && p_.global;
    const PoolNode pool_node{.kind = p_.kind,
                             .count = p_.count,
                             .geometry = planned->geometry,
                             .pad_bottom = planned->pad_bottom,
                             .pad_right = planned->pad_right,
                             .out = planned->out};
    return std::vector<Stage>{
        {.qnn_type = average ? "PoolAvg2d" : "PoolMax2d",
         .inputs = {0},
         .bound = !average ? "exact"
                  : whole  ? "GlobalAveragePool"
                           : "PoolAvg2d",
         .compute = [p = p_, plan_ = *planned](const RunContext& run) -> Result<StageResult> {
           const Tensor& x = *run.inputs[0];
           if (x.type() != DType::f32) return fail("pooling of integers is not implemented");
           StageResult result{.value = pool(x, p.kind, p.count, plan_.geometry, plan_.out)};
           if (run.want_magnitude)
             result.magnitude = pool(x, PoolKind::average, p.count, plan_.geometry, plan_.out, true);
           return result;
         },
         .hypotheses = [pool_node](const Evidence& evidence) { return pooling_mistakes(evidence, pool_node); }}};
  }

  Layout output_layout(std::span<const Operand>) const override { return Layout::channel_last; }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    const Dims& in = context.inputs[0].spec.dims;
    const Dims& out = context.outputs[0].spec.dims;
    auto planned = plan(p_, in);
    if (!planned) return not_mapped(planned.error());
    const PoolGeometry& g = planned->geometry;
    PoolWindow window{.average = p_.kind == PoolKind::average, .filter_h = g.kernel_h, .filter_w = g.kernel_w};
    if (p_.global) {
      window.stride_h = window.filter_h;
      window.stride_w = window.filter_w;
    } else {
      window.stride_h = g.stride_h;
      window.stride_w = g.stride_w;
    }
    switch (p_.padding) {
      case wire::PoolPad_SAME:
        window.ceil = true;
        if (!p_.global) {
          // Negative where the stride leaves cells out; QNN takes the wrapped number.
          const std::int64_t rows = (out[2] - 1) * g.stride_h + g.kernel_h - in[2];
          const std::int64_t columns = (out[3] - 1) * g.stride_w + g.kernel_w - in[3];
          window.top = rows / 2, window.bottom = rows - rows / 2;
          window.left = columns / 2, window.right = columns - columns / 2;
        }
        break;
      case wire::PoolPad_VALID: break;
      case wire::PoolPad_CAFFE:
        window.ceil = p_.ceil && !p_.global;
        if (!p_.global) {
          window.top = g.pad_top, window.bottom = planned->pad_bottom;
          window.left = g.pad_left, window.right = planned->pad_right;
        }
        break;
    }
    // MNN takes every rule that the model names for "count the padding", and its absence for the other.
    window.count_padding = context.as_mnn() ? p_.count_type_given : p_.count == PoolCount::with_padding && !p_.global;
    return pool_mapping(context, window);
  }

 private:
  Parameters p_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::Pool* main = model.wire_op(node.index).main_as_Pool();
  if (main == nullptr) return fail("its Pool parameters are missing");
  if (node.outputs.size() > 1) return fail("pooling that also returns indices is not implemented");
  const std::vector<std::int64_t> pads = ints_of(main->pads());
  Parameters p{.kind = main->type() == wire::PoolKind_AVEPOOL ? PoolKind::average : PoolKind::max,
               .padding = main->padType(),
               .global = main->isGlobal(),
               .ceil = main->ceilModel(),
               .kernel_h = main->kernelY(),
               .kernel_w = main->kernelX(),
               .stride_h = main->strideY(),
               .stride_w = main->strideX()};
  if (pads.size() >= 4) {
    p.top = pads[0], p.left = pads[1], p.bottom = pads[2], p.right = pads[3];
  } else if (pads.size() >= 2) {
    p.top = pads[0], p.bottom = pads[1];  // MNN's CPU adds both to the height
  } else {
    p.top = p.bottom = main->padY();
    p.left = p.right = main->padX();
  }
  p.count_type_given = main->countType() != wire::AvgCount_DEFAULT;
  const bool listed = !pads.empty();
  const bool include = main->countType() == wire::AvgCount_INCLUDE_PADDING ||
                       (main->countType() == wire::AvgCount_DEFAULT && p.padding == wire::PoolPad_CAFFE && !listed);
  p.count = include ? PoolCount::with_padding : PoolCount::inside;
  for (std::int64_t v : {p.top, p.left, p.bottom, p.right}) {
    if (v < 0 || v > kMaxParameter) return fail("padding {} makes no pooling", v);
  }
  if (!p.global) {
    for (std::int64_t v : {p.kernel_h, p.kernel_w, p.stride_h, p.stride_w}) {
      if (v < 1 || v > kMaxParameter) return fail("a kernel or stride of {} makes no pooling", v);
    }
  }
  return std::make_unique<Pooling>(p);
}

const RegisterOp kRegister{"Pooling", make};

}  // namespace
}  // namespace qnndbg
