// Operators that move elements and leave them as they are: each output element is looked up in its source.
#include "oracle.h"

namespace qnndbg::test {
namespace {

constexpr int kLow = std::numeric_limits<int>::min();
constexpr int kHigh = std::numeric_limits<int>::max();

/// Floats or integers, at random.
Tensor any_tensor(Rng& rng, const Dims& dims) {
  return coin(rng) ? random_tensor(rng, dims) : random_integers(rng, dims, -99, 99);
}

/// The elements in row-major order, whatever the dims.
void expect_reshaped(const OneOp& model, const std::vector<const Tensor*>& inputs, const Dims& dims) {
  Tensor same = inputs[0]->clone();
  ASSERT_EQ(element_count(dims), same.size());
  same.reshape(dims);
  expect_same(model.output(inputs), same);
  for (const std::set<std::string>& dumped :
       {std::set<std::string>{"permute_input", "permute_output"}, {"permute_input"}, {"permute_output"}}) {
    expect_same(model.chained(inputs, dumped).at(0), same);
  }
}

OneOp axis_model(int kind, int operands, int axis) {
  return OneOp(kind, operands, wire::OpParameter_Axis,
               [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); });
}

TEST(Concat, AlongEveryAxis) {
  Rng rng(80);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const int operands = pick(rng, 1, 4);
    Dims dims = random_dims(rng, rank, 1, 4);
    const bool integer = coin(rng);
    std::vector<Tensor> parts;
    std::int64_t total = 0;
    for (int k = 0; k < operands; ++k) {
      dims[u(axis)] = pick(rng, k == 0 ? 1 : 0, 3);
      total += dims[u(axis)];
      parts.push_back(integer ? random_integers(rng, dims, -9, 9) : random_tensor(rng, dims));
    }
    std::vector<const Tensor*> inputs;
    for (const Tensor& part : parts) inputs.push_back(&part);
    dims[u(axis)] = total;
    const OneOp model = axis_model(wire::Kind_Concat, operands, coin(rng) ? axis : axis - rank);
    expect_tensor(model.output(inputs), parts[0].type(), dims, [&](Dims o) {
      std::size_t part = 0;
      while (o[u(axis)] >= parts[part].dims()[u(axis)]) o[u(axis)] -= parts[part++].dims()[u(axis)];
      return Exact{at(parts[part], o), 0};
    });
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Concat, WhatDoesNotFitIsRefused) {
  Rng rng(81);
  const Tensor a = random_tensor(rng, {2, 3});
  const Tensor b = random_tensor(rng, {2, 4});
  const Tensor c = random_tensor(rng, {6});
  const Tensor i = random_integers(rng, {2, 3}, 0, 9);
  const Tensor empty = Tensor::f32({0, 3});
  axis_model(wire::Kind_Concat, 2, 0).expect_error({&a, &b}, "shapes");
  axis_model(wire::Kind_Concat, 2, 0).expect_error({&a, &c}, "ranks");
  axis_model(wire::Kind_Concat, 2, 0).expect_error({&a, &i}, "types");
  axis_model(wire::Kind_Concat, 2, 0).expect_error({&empty, &empty}, "nothing but empty operands");
  axis_model(wire::Kind_Concat, 2, 0).expect_error({&a, nullptr}, "an omitted operand");
  axis_model(wire::Kind_Concat, 2, 0).expect_error({}, "no operands");
  for (int axis : {2, -3, kLow, kHigh}) axis_model(wire::Kind_Concat, 2, axis).expect_error({&a, &a}, "axis");
  OneOp(wire::Kind_Concat, 2).expect_error({&a, &a}, "no parameters");
}

OneOp reshape_model(const std::vector<int>& dims, int operands = 1) {
  return OneOp(wire::Kind_Reshape, operands, wire::OpParameter_Reshape,
               [dims](Builder& b) { return wire::CreateReshapeDirect(b, &dims).Union(); });
}

TEST(Reshape, KeepsTheOrder) {
  Rng rng(82);
  const auto check = [&](const Dims& in, const std::vector<int>& wanted, const Dims& out) {
    const Tensor x = any_tensor(rng, in);
    expect_reshaped(reshape_model(wanted), {&x}, out);
    const Tensor shape = Tensor::of({wanted.begin(), wanted.end()});
    expect_reshaped(reshape_model({}, 2), {&x, &shape}, out);
  };
  check({2, 3, 4}, {4, 6}, {4, 6});
  check({2, 3, 4}, {0, -1}, {2, 12});
  check({2, 3, 4}, {-1, 0, 2}, {4, 3, 2});
  check({2, 3, 4}, {0, 0, 0, 1}, {2, 3, 4, 1});
  check({2, 3, 4}, {-1}, {24});
  check({1}, {1, 1, 1}, {1, 1, 1});
  check({0, 3}, {0, 3}, {0, 3});
}

TEST(Reshape, ImpossibleShapesAreRefused) {
  Rng rng(83);
  const Tensor x = random_tensor(rng, {2, 3, 4});
  const std::vector<std::vector<int>> shapes{
      {5, 5}, {-1, -1},        {-1, 7}, {-2, 12}, {0, 0, 0, 0}, {kHigh, kHigh}, {kHigh, kHigh, kHigh, kHigh, kHigh},
      {kLow}, {24, 0, 0, 0, 0}};
  for (const std::vector<int>& shape : shapes) reshape_model(shape).expect_error({&x}, "shape");
  const Tensor empty = Tensor::f32({0, 3});
  reshape_model({0, -1}).expect_error({&empty}, "an open extent beside an empty one");
  const Tensor real = random_tensor(rng, {2});
  reshape_model({}, 2).expect_error({&x, &real}, "a shape of floats");
  reshape_model({1}).expect_error({}, "no operands");
}

OneOp flatten_model(int axis, int end) {
  return OneOp(wire::Kind_Flatten, 1, wire::OpParameter_Flatten,
               [=](Builder& b) { return wire::CreateFlatten(b, axis, end).Union(); });
}

TEST(Flatten, OnnxAndTorch) {
  Rng rng(84);
  const Tensor x = any_tensor(rng, {2, 3, 4, 5});
  expect_reshaped(flatten_model(0, 0), {&x}, {1, 120});
  expect_reshaped(flatten_model(1, 0), {&x}, {2, 60});
  expect_reshaped(flatten_model(4, 0), {&x}, {120, 1});
  expect_reshaped(flatten_model(-1, 0), {&x}, {24, 5});
  expect_reshaped(flatten_model(1, 2), {&x}, {2, 12, 5});
  expect_reshaped(flatten_model(0, -1), {&x}, {120});
  expect_reshaped(flatten_model(-3, -2), {&x}, {2, 12, 5});
  expect_reshaped(flatten_model(3, 3), {&x}, {2, 3, 4, 5});
  for (int axis : {5, -5, kLow, kHigh}) flatten_model(axis, 0).expect_error({&x}, "axis");
  for (int axis : {4, -5, kLow, kHigh}) flatten_model(axis, -1).expect_error({&x}, "first axis");
  for (int end : {4, -5, kLow, kHigh}) flatten_model(0, end).expect_error({&x}, "last axis");
  flatten_model(2, 1).expect_error({&x}, "axes in the wrong order");
  OneOp(wire::Kind_Flatten, 1).expect_error({&x}, "no parameters");
}

OneOp squeeze_model(int kind, const std::vector<int>& axes, int operands = 1) {
  return OneOp(kind, operands, wire::OpParameter_SqueezeParam,
               [axes](Builder& b) { return wire::CreateSqueezeParamDirect(b, &axes).Union(); });
}

TEST(Squeeze, ListedAxesOrAllOnes) {
  Rng rng(85);
  const Tensor x = any_tensor(rng, {1, 3, 1, 4, 1});
  const auto check = [&](const std::vector<int>& axes, const Dims& out) {
    expect_reshaped(squeeze_model(wire::Kind_Squeeze, axes), {&x}, out);
    if (axes.empty()) return;
    const Tensor operand = Tensor::of({axes.begin(), axes.end()});
    expect_reshaped(squeeze_model(wire::Kind_Squeeze, {}, 2), {&x, &operand}, out);
  };
  check({}, {3, 4});
  check({0}, {3, 1, 4, 1});
  check({-1, 2}, {1, 3, 4});
  check({2, 2}, {1, 3, 4, 1});
  for (int axis : {1, 5, -6, kLow, kHigh}) squeeze_model(wire::Kind_Squeeze, {axis}).expect_error({&x}, "axis");
  expect_reshaped(OneOp(wire::Kind_Squeeze, 1), {&x}, {3, 4});
}

TEST(Unsqueeze, PositionsOfTheOutput) {
  Rng rng(86);
  const Tensor x = any_tensor(rng, {3, 4});
  const auto check = [&](const std::vector<int>& axes, const Dims& out) {
    expect_reshaped(squeeze_model(wire::Kind_Unsqueeze, axes), {&x}, out);
    const Tensor operand = Tensor::of({axes.begin(), axes.end()});
    expect_reshaped(squeeze_model(wire::Kind_Unsqueeze, {}, 2), {&x, &operand}, out);
  };
  check({0}, {1, 3, 4});
  check({-1}, {3, 4, 1});
  check({3, 0}, {1, 3, 4, 1});
  check({1, 2}, {3, 1, 1, 4});
  const std::vector<std::vector<int>> wrong{{3}, {-4}, {0, 0}, {0, -4}, {kLow}, {kHigh}};
  for (const std::vector<int>& axes : wrong) squeeze_model(wire::Kind_Unsqueeze, axes).expect_error({&x}, "axes");
}

OneOp expand_model(int axis, int operands) {
  return OneOp(wire::Kind_ExpandDims, operands, wire::OpParameter_ExpandDims, [axis](Builder& b) {
    return wire::CreateExpandDims(b, wire::DType_DT_FLOAT, wire::DType_DT_INT32, axis).Union();
  });
}

TEST(ExpandDims, OnePositionOfTheOutput) {
  Rng rng(94);
  const Tensor x = any_tensor(rng, {3, 4});
  const auto check = [&](int axis, const Dims& out) {
    expect_reshaped(expand_model(axis, 1), {&x}, out);
    const Tensor operand = integers({}, {axis});
    expect_reshaped(expand_model(7, 2), {&x, &operand}, out);
  };
  check(0, {1, 3, 4});
  check(1, {3, 1, 4});
  check(2, {3, 4, 1});
  check(-1, {3, 4, 1});
  check(-3, {1, 3, 4});
  for (int axis : {3, -4, kLow, kHigh}) {
    expand_model(axis, 1).expect_error({&x}, "axis");
    const Tensor operand = Tensor::of({axis});
    expand_model(0, 2).expect_error({&x, &operand}, "axis");
  }
  const Tensor pair = Tensor::of({0, 1});
  expand_model(0, 2).expect_error({&x, &pair}, "two axes");
}

OneOp permute_model(const std::vector<int>& permutation) {
  return OneOp(wire::Kind_Permute, 1, wire::OpParameter_Permute,
               [permutation](Builder& b) { return wire::CreatePermuteDirect(b, &permutation).Union(); });
}

TEST(Permute, AndTransposeMoveAxes) {
  Rng rng(87);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 5);
    const Tensor x = any_tensor(rng, random_dims(rng, rank, 1, 4));
    std::vector<int> permutation;
    for (int axis = 0; axis < rank; ++axis) permutation.push_back(axis);
    std::shuffle(permutation.begin(), permutation.end(), rng);
    Dims out;
    for (int axis : permutation) out.push_back(x.dims()[u(axis)]);
    const auto from = [&](const Dims& o) {
      Dims index(o.size());
      for (std::size_t k = 0; k < o.size(); ++k) index[u(permutation[k])] = o[k];
      return index;
    };
    expect_moved(permute_model(permutation).output({&x}), x, out, from);
    const Tensor operand = Tensor::of({permutation.begin(), permutation.end()});
    expect_moved(OneOp(wire::Kind_Transpose, 2).output({&x, &operand}), x, out, from);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Permute, WhatIsNoPermutationIsRefused) {
  Rng rng(88);
  const Tensor x = random_tensor(rng, {2, 3});
  const std::vector<std::vector<int>> wrong{{0}, {0, 0}, {0, 2}, {0, -3}, {0, 1, 2}, {kLow, kHigh}, {}};
  for (const std::vector<int>& permutation : wrong) {
    permute_model(permutation).expect_error({&x}, "permutation");
    const Tensor operand = Tensor::of({permutation.begin(), permutation.end()});
    OneOp(wire::Kind_Transpose, 2).expect_error({&x, &operand}, "permutation");
  }
  OneOp(wire::Kind_Transpose, 2).expect_error({&x}, "no permutation");
  OneOp(wire::Kind_Permute, 1).expect_error({&x}, "no parameters");
}

TEST(ConvertTensor, KeepsLogicalValues) {
  Rng rng(89);
  const auto model = [](wire::Layout from, wire::Layout to) {
    return OneOp(wire::Kind_ConvertTensor, 1, wire::OpParameter_TensorConvertInfo,
                 [=](Builder& b) { return wire::CreateTensorConvertInfo(b, from, to).Union(); });
  };
  const Tensor x = any_tensor(rng, {2, 3, 4, 5});
  const OneOp packed = model(wire::Layout_NCHW, wire::Layout_NC4HW4);
  expect_same(packed.output({&x}), x);
  EXPECT_EQ(packed.op().output_layout({}), Layout::channel_last);
  const OneOp plain = model(wire::Layout_NC4HW4, wire::Layout_NCHW);
  expect_same(plain.output({&x}), x);
  EXPECT_EQ(plain.op().output_layout({}), Layout::logical);
  model(wire::Layout_NHWC, wire::Layout_NCHW).expect_error({&x}, "axis orders");
  OneOp(wire::Kind_ConvertTensor, 1).expect_error({&x}, "no parameters");
}

TEST(GatherV2, TakesSlicesByIndex) {
  Rng rng(90);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 1, 4);
    const int axis = pick(rng, 0, rank - 1);
    const Tensor x = any_tensor(rng, random_dims(rng, rank, 1, 4));
    const int extent = static_cast<int>(x.dims()[u(axis)]);
    const Tensor indices = random_integers(rng, random_dims(rng, pick(rng, 0, 2), 1, 3), -extent, extent - 1);
    Dims out(x.dims().begin(), x.dims().begin() + axis);
    out.insert(out.end(), indices.dims().begin(), indices.dims().end());
    out.insert(out.end(), x.dims().begin() + axis + 1, x.dims().end());
    const auto from = [&](const Dims& o) {
      const Dims place(o.begin() + axis, o.begin() + axis + indices.rank());
      const auto index = static_cast<std::int64_t>(at(indices, place));
      Dims source(o.begin(), o.begin() + axis);
      source.push_back(index < 0 ? index + extent : index);
      source.insert(source.end(), o.begin() + axis + indices.rank(), o.end());
      return source;
    };
    const int written = coin(rng) ? axis : axis - rank;
    expect_moved(axis_model(wire::Kind_GatherV2, 2, written).output({&x, &indices}), x, out, from);
    const Tensor operand = Tensor::of({written});
    expect_moved(OneOp(wire::Kind_GatherV2, 3).output({&x, &indices, &operand}), x, out, from);
    if (axis == 0) expect_moved(OneOp(wire::Kind_GatherV2, 2).output({&x, &indices}), x, out, from);
    if (HasFailure()) FAIL() << "case " << n;
  }
}

TEST(Gather, TheAxisStandsInItsOwnTable) {
  Rng rng(95);
  const Tensor x = any_tensor(rng, {3, 4});
  const Tensor indices = Tensor::of({2, 0});
  const auto model = [](int axis) {
    return OneOp(wire::Kind_Gather, 2, wire::OpParameter_Gather, [axis](Builder& b) {
      return wire::CreateGather(b, wire::DType_DT_INT32, wire::DType_DT_FLOAT, false, axis).Union();
    });
  };
  expect_moved(model(0).output({&x, &indices}), x, {2, 4}, [](const Dims& o) { return Dims{o[0] == 0 ? 2 : 0, o[1]}; });
  expect_moved(model(1).output({&x, &indices}), x, {3, 2}, [](const Dims& o) { return Dims{o[0], o[1] == 0 ? 2 : 0}; });
  for (int axis : {2, -3, kLow, kHigh}) model(axis).expect_error({&x, &indices}, "axis");
}

TEST(GatherV2, IndicesAndAxesOutOfRangeAreRefused) {
  Rng rng(91);
  const Tensor x = random_tensor(rng, {2, 3});
  const Tensor good = Tensor::of({0, 1});
  for (int index : {3, -4, kLow, kHigh}) {
    const Tensor bad = Tensor::of({index});
    axis_model(wire::Kind_GatherV2, 2, 1).expect_error({&x, &bad}, "index");
  }
  for (int axis : {2, -3, kLow, kHigh}) {
    axis_model(wire::Kind_GatherV2, 2, axis).expect_error({&x, &good}, "axis");
    const Tensor operand = Tensor::of({axis});
    OneOp(wire::Kind_GatherV2, 3).expect_error({&x, &good, &operand}, "axis");
  }
  OneOp(wire::Kind_GatherV2, 3).expect_error({&x, &good, &good}, "two axes");
  OneOp(wire::Kind_GatherV2, 2).expect_error({&x, &x}, "indices that are not integers");
  OneOp(wire::Kind_GatherV2, 2).expect_error({&x}, "no indices");
}

TEST(HostOperators, ShapeRankSizeAndConstant) {
  Rng rng(92);
  const Tensor x = any_tensor(rng, {2, 3, 4});
  const Tensor scalar = any_tensor(rng, {});
  expect_same(OneOp(wire::Kind_Rank, 1).output({&x}), integers({}, {3}));
  expect_same(OneOp(wire::Kind_Rank, 1).output({&scalar}), integers({}, {0}));
  expect_same(OneOp(wire::Kind_Size, 1).output({&x}), integers({}, {24}));
  expect_same(OneOp(wire::Kind_Size, 1).output({&scalar}), integers({}, {1}));
  expect_same(OneOp(wire::Kind_Shape, 1).output({&x}), integers({3}, {2, 3, 4}));
  expect_same(OneOp(wire::Kind_Shape, 1).output({&scalar}), integers({0}, {}));
  const auto part = [&](bool has_start, int start, bool has_end, int end) {
    return OneOp(wire::Kind_Shape, 1, wire::OpParameter_ShapeParam,
                 [=](Builder& b) { return wire::CreateShapeParam(b, has_start, start, has_end, end).Union(); })
        .output({&x});
  };
  expect_same(part(true, 1, false, 0), integers({2}, {3, 4}));
  expect_same(part(true, -1, false, 0), integers({1}, {4}));
  expect_same(part(false, 0, true, -1), integers({2}, {2, 3}));
  expect_same(part(true, 2, true, 1), integers({0}, {}));
  expect_same(part(true, kLow, true, kHigh), integers({3}, {2, 3, 4}));
  for (int kind : {wire::Kind_Rank, wire::Kind_Size, wire::Kind_Shape}) OneOp(kind, 1).expect_error({}, "no operands");

  const std::vector<int> dims{2, 2};
  const std::vector<float> values{1, -2, 3.5F, 4};
  for (int kind : {wire::Kind_Const, wire::Kind_TrainableParam}) {
    const OneOp constant(kind, 0, wire::OpParameter_Blob, [&](Builder& b) {
      return wire::CreateBlobDirect(b, &dims, wire::Layout_NCHW, wire::DType_DT_FLOAT, nullptr, nullptr, nullptr,
                                    nullptr, &values)
          .Union();
    });
    expect_same(constant.output({}), floats({2, 2}, values));
    EXPECT_TRUE(constant.op().shape_only());
    OneOp(kind, 0).expect_error({}, "no value");
  }
}

TEST(Operators, UnknownTypesAreRefused) {
  Rng rng(93);
  const Tensor x = random_tensor(rng, {2});
  OneOp(wire::Kind_Svd, 1).expect_error({&x}, "not implemented");
  OneOp(9999, 1).expect_error({&x}, "no type of this number");
}

}  // namespace
}  // namespace qnndbg::test
