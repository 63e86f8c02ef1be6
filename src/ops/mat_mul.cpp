// MatMul: batched matrix product with NumPy broadcasting of the batch axes, optional transposes and bias.
#include <cmath>

#include "graph/mnn_wire.h"
#include "ops/registry.h"
#include "ops/support/broadcast.h"
#include "ops/support/elementwise.h"
#include "ops/support/host_values.h"
#include "ops/support/onednn.h"

namespace qnndbg {
namespace {

struct Shapes {
  Dims a, b;         // operands with a leading 1 (a) or trailing 1 (b) where they had rank 1
  Dims out = {};     // with those ones still in it
  Dims result = {};  // without them
  std::int64_t m = 0, n = 0, k = 0;
};

Dims batch_of(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

Result<Shapes> shapes_of(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b) {
  if (a.empty() || b.empty()) return fail("a matrix product needs operands of rank 1 or more");
  Shapes s{.a = a, .b = b};
  if (a.size() == 1) s.a.insert(s.a.begin(), 1);
  if (b.size() == 1) s.b.push_back(1);
  const std::size_t ra = s.a.size();
  const std::size_t rb = s.b.size();
  s.m = transpose_a ? s.a[ra - 1] : s.a[ra - 2];
  s.k = transpose_a ? s.a[ra - 2] : s.a[ra - 1];
  s.n = transpose_b ? s.b[rb - 2] : s.b[rb - 1];
  const std::int64_t kb = transpose_b ? s.b[rb - 1] : s.b[rb - 2];
  if (s.k != kb) return fail("inner extents {} and {} of {} and {} differ", s.k, kb, to_string(a), to_string(b));
  auto batch = broadcast_dims(batch_of(s.a), batch_of(s.b));
  if (!batch) return fail(batch.error());
  s.out = *batch;
  s.result = *batch;
  s.out.insert(s.out.end(), {s.m, s.n});
  if (a.size() > 1) s.result.push_back(s.m);
  if (b.size() > 1) s.result.push_back(s.n);
  return s;
}

/// oneDNN descriptor of an operand, its batch axes padded with ones to `rank`, seen transposed through its strides.
dnnl::memory::desc operand_desc(const Dims& dims, std::size_t rank, bool transpose) {
  dnnl::memory::dims padded(rank, 1);
  std::copy(dims.begin(), dims.end(), padded.end() - static_cast<std::ptrdiff_t>(dims.size()));
  dnnl::memory::dims strides = strides_of(padded);
  if (transpose) {
    std::swap(padded[rank - 1], padded[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  return {padded, dnnl::memory::data_type::f32, strides};
}

class MatMul final : public Op {
 public:
  MatMul(bool transpose_a, bool transpose_b) : transpose_a_(transpose_a), transpose_b_(transpose_b) {}

  Result<std::vector<TensorSpec>> infer(std::span<const Operand> inputs) const override {
    auto a = require_operand(inputs, 0);
    if (!a) return fail(a.error());
    auto b = require_operand(inputs, 1);
    if (!b) return fail(b.error());
    auto shapes = shapes_of(a->dims, b->dims, transpose_a_, transpose_b_);
    if (!shapes) return fail(shapes.error());
    if (has_operand(inputs, 2) && element_count(inputs[2].spec.dims) != shapes->n) {
      return fail("a bias of {} for {} columns", to_string(inputs[2].spec.dims), shapes->n);
    }
    auto count = check_dims(shapes->result);
    if (!count) return fail(count.error());
    return std::vector<TensorSpec>{{DType::f32, shapes->result}};
  }

  Result<std::vector<Stage>> lower(const LowerContext& context) const override {
    std::vector<int> from{0, 1};
    if (has_operand(context.inputs, 2)) from.push_back(2);
    Stage stage{.qnn_type = "MatMul", .inputs = std::move(from), .bound = "MatMul"};
    stage.compute = [this](const RunContext& run) { return compute(run); };
    stage.exact = [this](const RunContext& run) -> Result<std::function<double(std::int64_t)>> {
      auto shapes = shapes_of(run.inputs[0]->dims(), run.inputs[1]->dims(), transpose_a_, transpose_b_);
      if (!shapes) return fail(shapes.error());
      return [this, s = *shapes, inputs = std::vector<const Tensor*>(run.inputs.begin(), run.inputs.end())](
                 std::int64_t index) { return element(s, inputs, index); };
    };
    return std::vector<Stage>{std::move(stage)};
  }

 private:
  Result<StageResult> compute(const RunContext& run) const {
    const Tensor& a = *run.inputs[0];
    const Tensor& b = *run.inputs[1];
    if (a.type() != DType::f32 || b.type() != DType::f32) return fail("integer matrix products are not implemented");
    auto shapes = shapes_of(a.dims(), b.dims(), transpose_a_, transpose_b_);
    if (!shapes) return fail(shapes.error());
    auto value = product(*shapes, a, b);
    if (!value) return fail(value.error());
    StageResult result{.value = std::move(*value)};
    if (run.inputs.size() > 2) add_bias(result.value, run.inputs[2]->f32());
    if (run.want_magnitude) {
      const auto magnitude_of = [](float v) { return std::fabs(v); };
      auto magnitude = product(*shapes, map_elements(a, magnitude_of), map_elements(b, magnitude_of));
      if (!magnitude) return fail(magnitude.error());
      result.magnitude = std::move(*magnitude);
      if (run.inputs.size() > 2) add_bias(result.magnitude, map_elements(*run.inputs[2], magnitude_of).f32());
    }
    return result;
  }

  static void add_bias(Tensor& y, std::span<const float> bias) {
    for (std::size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] += bias[i % bias.size()];
  }

  Result<Tensor> product(const Shapes& s, const Tensor& a, const Tensor& b) const {
    Tensor y = Tensor::f32(s.result);
    if (y.empty()) return y;
    if (s.k == 0) {
      std::fill(y.f32().begin(), y.f32().end(), 0.0F);
      return y;
    }
    return onednn::guarded([&]() -> Result<Tensor> {
      const std::size_t rank = s.out.size();
      const dnnl::memory::desc a_desc = operand_desc(s.a, rank, transpose_a_);
      const dnnl::memory::desc b_desc = operand_desc(s.b, rank, transpose_b_);
      const dnnl::memory::desc y_desc = operand_desc(s.out, rank, false);
      const dnnl::matmul::primitive_desc pd({a_desc, b_desc, y_desc}, onednn::strict(), onednn::engine());
      dnnl::matmul(pd).execute(onednn::stream(), {{DNNL_ARG_SRC, onednn::view(a_desc, a.f32().data())},
                                                  {DNNL_ARG_WEIGHTS, onednn::view(b_desc, b.f32().data())},
                                                  {DNNL_ARG_DST, onednn::view(y_desc, y.f32().data())}});
      onednn::stream().wait();
      return std::move(y);
    });
  }

  double element(const Shapes& s, const std::vector<const Tensor*>& inputs, std::int64_t index) const {
    const std::int64_t col = index % s.n;
    const std::int64_t row = index / s.n % s.m;
    std::int64_t batch = index / (s.n * s.m);
    // Offsets of the batch item in either operand, under broadcasting.
    const Dims batch_dims = batch_of(s.out);
    const Dims stride_a = broadcast_strides(batch_of(s.a), batch_dims);
    const Dims stride_b = broadcast_strides(batch_of(s.b), batch_dims);
    std::int64_t item_a = 0;
    std::int64_t item_b = 0;
    for (std::size_t axis = batch_dims.size(); axis-- > 0;) {
      item_a += batch % batch_dims[axis] * stride_a[axis];
      item_b += batch % batch_dims[axis] * stride_b[axis];
      batch /= batch_dims[axis];
    }
    const float* a = inputs[0]->f32().data() + item_a * s.m * s.k;
    const float* b = inputs[1]->f32().data() + item_b * s.k * s.n;
    double sum = inputs.size() > 2 ? inputs[2]->f32()[static_cast<std::size_t>(col)] : 0.0;
    for (std::int64_t k = 0; k < s.k; ++k) {
      sum += static_cast<double>(a[transpose_a_ ? k * s.m + row : row * s.k + k]) *
             b[transpose_b_ ? col * s.k + k : k * s.n + col];
    }
    return sum;
  }

  bool transpose_a_;
  bool transpose_b_;
};

Result<std::unique_ptr<Op>> make(const Model& model, const OpNode& node) {
  const wire::MatMul* main = model.wire_op(node.index).main_as_MatMul();
  if (main == nullptr) return fail("its MatMul parameters are missing");
  return std::make_unique<MatMul>(main->transposeA(), main->transposeB());
}

const RegisterOp kRegister{"MatMul", make};

}  // namespace
}  // namespace qnndbg
