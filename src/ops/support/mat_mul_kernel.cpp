#include "ops/support/mat_mul_kernel.h"

#include <algorithm>
#include <cmath>

#include "ops/support/broadcast.h"
#include "ops/support/elementwise.h"
#include "ops/support/onednn.h"

namespace qnndbg {
namespace {

Dims batch_of(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

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

Result<Tensor> product(const MatMulShapes& s, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::f32(s.result);
  if (y.empty()) return y;
  if (s.k == 0) {
    std::fill(y.f32().begin(), y.f32().end(), 0.0F);
    return y;
  }
  return onednn::guarded([&]() -> Result<Tensor> {
    const std::size_t rank = s.out.size();
    const dnnl::memory::desc a_desc = operand_desc(s.a, rank, s.transpose_a);
    const dnnl::memory::desc b_desc = operand_desc(s.b, rank, s.transpose_b);
    const dnnl::memory::desc y_desc = operand_desc(s.out, rank, false);
    const dnnl::matmul::primitive_desc pd({a_desc, b_desc, y_desc}, onednn::strict(), onednn::engine());
    dnnl::matmul(pd).execute(onednn::stream(), {{DNNL_ARG_SRC, onednn::view(a_desc, a.f32().data())},
                                                {DNNL_ARG_WEIGHTS, onednn::view(b_desc, b.f32().data())},
                                                {DNNL_ARG_DST, onednn::view(y_desc, y.f32().data())}});
    onednn::stream().wait();
    return std::move(y);
  });
}

void add_to_rows(Tensor& y, std::span<const float> bias) {
  if (bias.empty()) return;
  for (std::size_t i = 0; i < y.f32().size(); ++i) y.f32()[i] += bias[i % bias.size()];
}

}  // namespace

Result<MatMulShapes> mat_mul_shapes(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b) {
  if (a.empty() || b.empty()) return fail("a matrix product needs operands of rank 1 or more");
  MatMulShapes s{.a = a, .b = b, .transpose_a = transpose_a, .transpose_b = transpose_b};
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

Result<StageResult> mat_mul(const MatMulShapes& s, const Tensor& a, const Tensor& b, std::span<const float> bias,
                            bool want_magnitude) {
  auto value = product(s, a, b);
  if (!value) return fail(value.error());
  StageResult result{.value = std::move(*value)};
  add_to_rows(result.value, bias);
  if (want_magnitude) {
    const auto absolute = [](float v) { return std::fabs(v); };
    auto magnitude = product(s, map_elements(a, absolute), map_elements(b, absolute));
    if (!magnitude) return fail(magnitude.error());
    result.magnitude = std::move(*magnitude);
    std::vector<float> held(bias.begin(), bias.end());
    std::transform(held.begin(), held.end(), held.begin(), absolute);
    add_to_rows(result.magnitude, held);
  }
  return result;
}

double mat_mul_element(const MatMulShapes& s, const Tensor& a, const Tensor& b, std::span<const float> bias,
                       std::int64_t element) {
  const std::int64_t col = element % s.n;
  const std::int64_t row = element / s.n % s.m;
  std::int64_t batch = element / (s.n * s.m);
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
  const float* pa = a.f32().data() + item_a * s.m * s.k;
  const float* pb = b.f32().data() + item_b * s.k * s.n;
  double sum = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(col)];
  for (std::int64_t k = 0; k < s.k; ++k) {
    sum += static_cast<double>(pa[s.transpose_a ? k * s.m + row : row * s.k + k]) *
           pb[s.transpose_b ? col * s.k + k : k * s.n + col];
  }
  return sum;
}

}  // namespace qnndbg
