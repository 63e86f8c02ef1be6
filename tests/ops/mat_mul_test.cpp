// MatMul against the sum over the inner axis.
#include "oracle.h"

namespace qnndbg::test {
namespace {

OneOp model_of(bool transpose_a, bool transpose_b, int operands) {
  return OneOp(wire::Kind_MatMul, operands, wire::OpParameter_MatMul, [=](Builder& b) {
    return wire::CreateMatMul(b, wire::DType_DT_FLOAT, transpose_a, transpose_b).Union();
  });
}

struct Product {
  Dims a = {}, b = {}, out = {};
  std::int64_t k = 1;
  bool transpose_a = false, transpose_b = false, vector_a = false, vector_b = false;
};

Product random_product(Rng& rng) {
  Product p{.k = pick(rng, 1, 6), .transpose_a = coin(rng), .transpose_b = coin(rng)};
  const std::int64_t m = pick(rng, 1, 5);
  const std::int64_t n = pick(rng, 1, 5);
  p.vector_a = pick(rng, 0, 5) == 0;
  p.vector_b = pick(rng, 0, 5) == 0;
  if (p.vector_a) p.transpose_a = false;
  if (p.vector_b) p.transpose_b = false;
  const Dims batch = random_dims(rng, pick(rng, 0, 2), 1, 3);
  const auto operand = [&](Dims matrix, bool vector) {
    if (vector) return Dims{p.k};
    Dims dims = batch;
    for (std::int64_t& extent : dims) extent = coin(rng) ? extent : 1;
    dims.erase(dims.begin(), dims.begin() + pick(rng, 0, static_cast<int>(dims.size())));
    dims.insert(dims.end(), matrix.begin(), matrix.end());
    return dims;
  };
  p.a = operand(p.transpose_a ? Dims{p.k, m} : Dims{m, p.k}, p.vector_a);
  p.b = operand(p.transpose_b ? Dims{n, p.k} : Dims{p.k, n}, p.vector_b);
  const std::size_t batch_a = p.vector_a ? 0 : p.a.size() - 2;
  const std::size_t batch_b = p.vector_b ? 0 : p.b.size() - 2;
  for (std::size_t k = std::max(batch_a, batch_b); k > 0; --k) {
    const std::int64_t from_a = k <= batch_a ? p.a[batch_a - k] : 1;
    const std::int64_t from_b = k <= batch_b ? p.b[batch_b - k] : 1;
    p.out.push_back(std::max(from_a, from_b));
  }
  if (!p.vector_a) p.out.push_back(m);
  if (!p.vector_b) p.out.push_back(n);
  return p;
}

/// Index of an operand: the batch part of the output's index, broadcast, and the matrix part.
Dims operand_index(const Dims& dims, const Dims& batch, std::int64_t row, std::int64_t column) {
  Dims index;
  const std::size_t own = dims.size() - 2;
  for (std::size_t k = 0; k < own; ++k) index.push_back(dims[k] == 1 ? 0 : batch[batch.size() - own + k]);
  index.insert(index.end(), {row, column});
  return index;
}

void expect_product(const Tensor& y, const Product& p, const Tensor& a, const Tensor& b, const Tensor* bias) {
  expect_tensor(y, DType::f32, p.out, [&](const Dims& o) {
    Dims batch = o;
    const std::int64_t column = p.vector_b ? 0 : batch.back();
    if (!p.vector_b) batch.pop_back();
    const std::int64_t row = p.vector_a ? 0 : batch.back();
    if (!p.vector_a) batch.pop_back();
    double sum = bias == nullptr ? 0 : at(*bias, {column});
    double absolute = std::abs(sum);
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double va = at(a, p.vector_a      ? Dims{k}
                              : p.transpose_a ? operand_index(p.a, batch, k, row)
                                              : operand_index(p.a, batch, row, k));
      const double vb = at(b, p.vector_b      ? Dims{k}
                              : p.transpose_b ? operand_index(p.b, batch, column, k)
                                              : operand_index(p.b, batch, k, column));
      sum += va * vb;
      absolute += std::abs(va * vb);
    }
    return Exact{sum, 1e-5 * absolute};
  });
}

TEST(MatMul, MatchesTheDefinition) {
  Rng rng(10);
  for (int n = 0; n < 80; ++n) {
    const Product p = random_product(rng);
    const Tensor a = random_tensor(rng, p.a);
    const Tensor b = random_tensor(rng, p.b);
    const bool biased = coin(rng) && !p.vector_b;
    const Tensor bias = random_tensor(rng, {p.vector_b ? 1 : p.out.back()});
    std::vector<const Tensor*> inputs{&a, &b};
    if (biased) inputs.push_back(&bias);
    const OneOp model = model_of(p.transpose_a, p.transpose_b, static_cast<int>(inputs.size()));
    const Tensor* given = biased ? &bias : nullptr;
    expect_product(model.output(inputs), p, a, b, given);
    expect_product(model.chained(inputs, {}).at(0), p, a, b, given);
    if (HasFatalFailure()) FAIL() << "case " << n << ": " << to_string(p.a) << " by " << to_string(p.b);
  }
}

TEST(MatMul, ShapesThatDoNotFitAreRefused) {
  const OneOp model = model_of(false, false, 2);
  const auto refused = [&](const Dims& a, const Dims& b) {
    Rng rng(11);
    const Tensor x = random_tensor(rng, a);
    const Tensor y = random_tensor(rng, b);
    model.expect_error({&x, &y}, to_string(a) + " by " + to_string(b));
  };
  refused({2, 3}, {4, 2});
  refused({2, 2, 3}, {3, 3, 2});
  refused({}, {1, 1});
  refused({1, 1}, {});
  refused({3}, {2});
  Rng rng(12);
  const Tensor a = random_tensor(rng, {2, 3});
  const Tensor b = random_tensor(rng, {3, 4});
  const Tensor bias = random_tensor(rng, {3});
  model.expect_error({&a, &b, &bias}, "bias of 3 for 4 columns");
  const Tensor whole_numbers = random_integers(rng, {4}, 0, 3);
  model.expect_error({&a, &b, &whole_numbers}, "a bias of integers");
  model.expect_error({&a}, "one operand");
  const Tensor i = random_integers(rng, {3, 4}, 0, 3);
  model.expect_error({&a, &i}, "integers");
  OneOp(wire::Kind_MatMul, 2).expect_error({&a, &b}, "no parameters");
}

TEST(BatchMatMul, MatchesTheDefinition) {
  Rng rng(43);
  for (int n = 0; n < 30; ++n) {
    const Product p = random_product(rng);
    const Tensor a = random_tensor(rng, p.a);
    const Tensor b = random_tensor(rng, p.b);
    const OneOp model(wire::Kind_BatchMatMul, 2, wire::OpParameter_BatchMatMulParam, [&](Builder& builder) {
      return wire::CreateBatchMatMulParam(builder, p.transpose_a, p.transpose_b).Union();
    });
    expect_product(model.chained({&a, &b}, {}).at(0), p, a, b, nullptr);
    if (!p.transpose_a && !p.transpose_b)
      expect_product(OneOp(wire::Kind_BatchMatMul, 2).output({&a, &b}), p, a, b, nullptr);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(MatMul, EmptyInnerAxisSumsToZero) {
  const Tensor a = Tensor::f32({2, 0});
  const Tensor b = Tensor::f32({0, 3});
  expect_tensor(model_of(false, false, 2).output({&a, &b}), DType::f32, {2, 3}, [](const Dims&) { return Exact{}; });
}

}  // namespace
}  // namespace qnndbg::test
