// Tile: the whole tensor repeated along each axis; the counts are the second operand.
#include "ops/qnn_mapping.h"
#include "ops/registry.h"
#include "ops/support/data_movement.h"
#include "ops/support/host_values.h"
#include "ops/support/layouts.h"

namespace qnndbg {
namespace {

class Tile final : public Op {
 public:
  bool is_parameter(int input) const override { return input == 1; }

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto x = require_operand(inputs, 0);
    if (!x) return fail(x.error());
    auto counts = host_integers(inputs, 1, "repeat counts");
    if (!counts) return fail(counts.error());
    if (counts->size() != x->dims.size()) return fail("{} repeat counts for {}", counts->size(), to_string(x->dims));
    for (std::size_t k = 0; k < counts->size(); ++k) {
      if ((*counts)[k] < 0) return fail("{} repetitions of axis {}", (*counts)[k], k);
      x->dims[k] *= (*counts)[k];
    }
    auto count = check_dims(x->dims);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{std::move(*x)};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    return std::vector<Stage>{
        {.qnn_type = "Tile",
         .inputs = {0},
         .bound = "exact",
         .compute = [out = context.outputs[0].spec.dims](const RunContext& run) -> Result<StageResult> {
           return StageResult{.value = tiled(*run.inputs[0], out)};
         }}};
  }

  Layout output_layout(std::span<const Operand> inputs) const override { return follow_first(inputs); }

  QnnMappingResult qnn_mapping(const QnnContext& context) const override {
    if (context.as_mnn()) return Op::qnn_mapping(context);
    const Dims& in = context.inputs[0].spec.dims;
    const Dims& out = context.outputs[0].spec.dims;
    if (element_count(in) == 0) return refuse(QnnRefusal::Kind::not_mapped, "an empty input {}", to_string(in));
    std::vector<std::int64_t> multiples;
    for (std::size_t k = 0; k < in.size(); ++k) multiples.push_back(out[k] / in[k]);
    QnnBuilder builder(context);
    const QnnTensorRef x = builder.logical_input(0);
    builder.logical_output(0, [&](QnnTensorRef target) {
      builder.node("", "Tile", {x}, target, {u32_list("multiples", std::move(multiples))});
    });
    return builder.take();
  }

 private:
  /// Every axis becomes two, the repetition (stride 0) before the data.
  static Tensor tiled(const Tensor& x, const Dims& out) {
    const Dims own = strides_of(x.dims());
    Dims dims;
    Dims strides;
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::int64_t extent = x.dims()[k];
      dims.insert(dims.end(), {extent == 0 ? 0 : out[k] / extent, extent});
      strides.insert(strides.end(), {0, own[k]});
    }
    Tensor y = strided_copy(x, std::move(dims), strides);
    y.reshape(out);
    return y;
  }
};

Result<std::unique_ptr<Op>> make(const Model&, const OpNode&) { return std::make_unique<Tile>(); }

const RegisterOp kRegister{"Tile", make};

}  // namespace
}  // namespace qnndbg
