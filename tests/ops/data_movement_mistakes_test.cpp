// Data that arrives under another permutation, in another order, or from another window.
#include "ops/counterfactual.h"
#include "tensor/layout.h"

namespace qnndbg::test {
namespace {

/// An operand that lives on the device.
struct OnDevice {
  const Tensor* tensor;
  Layout layout = Layout::logical;
};

/// The stages of `op` with operand 0 and the output on the device, and the other operands host values.
std::vector<Stage> stages_of(const OneOp& op, OnDevice x, Layout out, const std::vector<const Tensor*>& others = {},
                             const std::set<std::string>& dumped = {}) {
  std::vector<const Tensor*> all{x.tensor};
  all.insert(all.end(), others.begin(), others.end());
  std::vector<Operand> in = OneOp::operands(all);
  in[0].host = nullptr;
  in[0].layout = x.layout;
  auto specs = op.op().infer(in);
  if (!specs) {
    ADD_FAILURE() << specs.error().message;
    return {};
  }
  std::vector<Operand> outputs;
  for (const TensorSpec& spec : *specs) outputs.push_back({.present = true, .spec = spec, .layout = out});
  auto stages = op.op().lower({.inputs = in, .outputs = outputs, .dumped = [&](std::string_view name) {
                                 return dumped.count(std::string(name)) == 1;
                               }});
  if (!stages) {
    ADD_FAILURE() << stages.error().message;
    return {};
  }
  return std::move(*stages);
}

/// out[i0, i1, ...] = t[i at permutation], element by element.
Tensor transposed(const Tensor& t, const std::vector<int>& permutation) {
  Dims dims;
  for (int axis : permutation) dims.push_back(t.dims()[u(axis)]);
  Tensor y = Tensor::f32(dims);
  std::size_t n = 0;
  for (const Dims& index : indices_of(dims)) {
    Dims from(index.size());
    for (std::size_t k = 0; k < index.size(); ++k) from[u(permutation[k])] = index[k];
    y.f32()[n++] = static_cast<float>(at(t, from));
  }
  return y;
}

/// The tensor as it lies in device memory, and back.
Tensor to_memory(const Tensor& t, Layout layout) {
  Tensor y = Tensor::f32(to_device_dims(t.dims(), layout));
  to_device_order(t.f32(), t.dims(), layout, y.f32());
  return y;
}

Tensor from_memory(const Tensor& memory, const Dims& logical, Layout layout) {
  Tensor y = Tensor::f32(logical);
  to_logical_order(memory.f32(), logical, layout, y.f32());
  return y;
}

Tensor under(Tensor t, const Dims& dims) {
  t.reshape(dims);
  return t;
}

OneOp permute_model(const std::vector<int>& permutation) {
  return OneOp(wire::Kind_Permute, 1, wire::OpParameter_Permute, [=](Builder& b) {
    const auto dims = b.CreateVector(permutation);
    wire::PermuteBuilder permute(b);
    permute.add_dims(dims);
    return permute.Finish().Union();
  });
}

std::vector<int> random_permutation(Rng& rng, int rank) {
  std::vector<int> p(u(rank));
  std::iota(p.begin(), p.end(), 0);
  std::shuffle(p.begin(), p.end(), rng);
  return p;
}

TEST(PermuteMistakes, AnotherPermutation) {
  Rng rng(1);
  for (int n = 0; n < 60; ++n) {
    const int rank = pick(rng, 2, 5);
    const std::vector<int> meant = random_permutation(rng, rank);
    const std::vector<int> used = random_permutation(rng, rank);
    if (meant == used) continue;
    const Tensor x = half_tensor(rng, random_dims(rng, rank, 2, 4));
    const OneOp model = permute_model(meant);
    const Tensor y = transposed(x, meant);
    EXPECT_EQ(cause_of(model, {&x}, y).cause, "right");
    const Found found = cause_of(model, {&x}, under(transposed(x, used), y.dims()));
    EXPECT_EQ(found.cause, "permutation_wrong");
    EXPECT_EQ(found.ties.size(), 1u);
    Tensor reversed = y.clone();
    reversed.f32()[0] += 1;
    EXPECT_EQ(cause_of(model, {&x}, reversed).cause, "unexplained");
  }
}

TEST(PermuteMistakes, TransposeTakesThePermutationFromAnOperand) {
  Rng rng(2);
  const Tensor x = half_tensor(rng, {2, 3, 4});
  const Tensor permutation = integers({3}, {2, 0, 1});
  const OneOp model(wire::Kind_Transpose, 2);
  const Tensor inverse = under(transposed(x, {1, 2, 0}), {4, 2, 3});
  const Found found = cause_of(model, {&x, &permutation}, inverse);
  EXPECT_EQ(found.cause, "permutation_wrong");
  EXPECT_EQ(found.used, "[1, 2, 0]");
  EXPECT_EQ(found.meant, "[2, 0, 1]");
}

TEST(PermuteMistakes, HigherRanksTryExchanges) {
  Rng rng(3);
  const Tensor x = half_tensor(rng, {2, 3, 2, 3, 2, 2});
  const Tensor y = transposed(x, {0, 3, 2, 1, 4, 5});
  EXPECT_EQ(cause_of(permute_model({0, 1, 2, 3, 4, 5}), {&x}, y).cause, "permutation_wrong");
}

TEST(PermuteMistakes, NotRemappedToTheLayout) {
  Rng rng(4);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5});
  const std::vector<int> meant{0, 1, 3, 2};
  const std::vector<Stage> stages = stages_of(permute_model(meant), {&x, Layout::channel_last}, Layout::channel_last);
  const Dims out{2, 3, 5, 4};
  // The node exchanges the last two axes of NHWC: width and channels.
  const Tensor memory = transposed(to_memory(x, Layout::channel_last), meant);
  const Tensor y =
      from_memory(under(memory.clone(), to_device_dims(out, Layout::channel_last)), out, Layout::channel_last);
  const Found found = cause_of(stages[0], {&x}, y);
  EXPECT_EQ(found.cause, "permutation_wrong");
  EXPECT_EQ(found.used, "[0, 1, 3, 2] (not remapped to the layout)");
  EXPECT_EQ(found.meant, "[0, 2, 1, 3]");
  EXPECT_EQ(cause_of(stages[0], {&x}, transposed(x, meant)).cause, "right");
}

OneOp convert_model(wire::Layout from, wire::Layout to) {
  return OneOp(wire::Kind_ConvertTensor, 1, wire::OpParameter_TensorConvertInfo, [=](Builder& b) {
    wire::TensorConvertInfoBuilder info(b);
    info.add_source(from);
    info.add_dest(to);
    return info.Finish().Union();
  });
}

TEST(ConvertTensorMistakes, CopiedOrTransposedTheOtherWay) {
  Rng rng(5);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5});
  for (bool to_last : {false, true}) {
    const OneOp model = to_last ? convert_model(wire::Layout_NCHW, wire::Layout_NC4HW4)
                                : convert_model(wire::Layout_NC4HW4, wire::Layout_NCHW);
    const Layout in = to_last ? Layout::logical : Layout::channel_last;
    const Layout out = to_last ? Layout::channel_last : Layout::logical;
    const std::vector<Stage> stages = stages_of(model, {&x, in}, out);
    const Tensor memory = to_memory(x, in);
    const auto on_output = [&](const Tensor& t) {
      return from_memory(under(t.clone(), to_device_dims(x.dims(), out)), x.dims(), out);
    };
    EXPECT_EQ(cause_of(stages[0], {&x}, on_output(memory)).cause, "flatten_layout_wrong");
    const std::vector<int> meant = to_last ? std::vector<int>{0, 2, 3, 1} : std::vector<int>{0, 3, 1, 2};
    const std::vector<int> other = to_last ? std::vector<int>{0, 3, 1, 2} : std::vector<int>{0, 2, 3, 1};
    EXPECT_EQ(cause_of(stages[0], {&x}, on_output(transposed(memory, meant))).cause, "right");
    EXPECT_EQ(cause_of(stages[0], {&x}, on_output(transposed(memory, other))).cause, "permutation_wrong");
    EXPECT_EQ(cause_of(stages[0], {&x}, half_tensor(rng, x.dims())).cause, "unexplained");
  }
}

OneOp reshape_model(const std::vector<int>& dims) {
  return OneOp(wire::Kind_Reshape, 1, wire::OpParameter_Reshape, [=](Builder& b) {
    const auto shape = b.CreateVector(dims);
    wire::ReshapeBuilder reshape(b);
    reshape.add_dims(shape);
    return reshape.Finish().Union();
  });
}

TEST(ReshapeMistakes, FlattenedInNhwcOrder) {
  Rng rng(6);
  const Tensor x = half_tensor(rng, {2, 3, 4, 5});
  const std::vector<Stage> stages = stages_of(reshape_model({2, 60}), {&x, Layout::channel_last}, Layout::logical);
  const Tensor nhwc = under(to_memory(x, Layout::channel_last), {2, 60});
  const Found found = cause_of(stages[0], {&x}, nhwc);
  EXPECT_EQ(found.cause, "flatten_layout_wrong");
  EXPECT_EQ(found.used, "input in NHWC order, output as meant");
  EXPECT_EQ(found.ties.size(), 1u);
  EXPECT_EQ(cause_of(stages[0], {&x}, under(x.clone(), {2, 60})).cause, "right");
  // The reverse: NCHW memory taken for NHWC and brought to NCHW.
  const Tensor again = under(from_memory(under(x.clone(), {2, 4, 5, 3}), {2, 3, 4, 5}, Layout::channel_last), {2, 60});
  EXPECT_EQ(cause_of(stages[0], {&x}, again).cause, "flatten_layout_wrong");
  EXPECT_EQ(cause_of(stages[0], {&x}, half_tensor(rng, {2, 60})).cause, "unexplained");
}

TEST(ReshapeMistakes, CopiedInDeviceOrderOnBothSides) {
  // The last extents agree, so MNN's backend copies; the batch is mixed into the rows all the same.
  Rng rng(7);
  const Tensor x = half_tensor(rng, {2, 6, 8, 10});
  const Dims out{1, 6, 16, 10};
  const std::vector<Stage> stages =
      stages_of(reshape_model({1, 6, 16, 10}), {&x, Layout::channel_last}, Layout::channel_last);
  const Tensor y = from_memory(under(to_memory(x, Layout::channel_last), to_device_dims(out, Layout::channel_last)),
                               out, Layout::channel_last);
  const Found found = cause_of(stages[0], {&x}, y);
  EXPECT_EQ(found.cause, "flatten_layout_wrong");
  EXPECT_EQ(found.used, "input in NHWC order, output in NHWC order");
}

TEST(ReshapeMistakes, StagesOfAReshapeWithTransposes) {
  Rng rng(8);
  const Tensor x = half_tensor(rng, {1, 6, 4, 5});
  const Dims out{1, 12, 5, 2};
  const std::vector<Stage> stages = stages_of(reshape_model({1, 12, 5, 2}), {&x, Layout::channel_last},
                                              Layout::channel_last, {}, {"permute_input", "permute_output"});
  ASSERT_EQ(stages.size(), 3u);
  const Tensor memory = to_memory(x, Layout::channel_last);
  EXPECT_EQ(cause_of(stages[0], {&x}, under(memory.clone(), x.dims())).cause, "flatten_layout_wrong");
  EXPECT_EQ(cause_of(stages[0], {&x}, under(transposed(memory, {0, 2, 1, 3}), x.dims())).cause, "permutation_wrong");
  EXPECT_EQ(cause_of(stages[0], {&x}, x).cause, "right");
  EXPECT_EQ(cause_of(stages[1], {&x}, under(memory.clone(), out)).cause, "flatten_layout_wrong");
  EXPECT_EQ(cause_of(stages[1], {&x}, under(x.clone(), out)).cause, "right");
  const Tensor reshaped = under(x.clone(), out);
  const Tensor copied =
      from_memory(under(x.clone(), to_device_dims(out, Layout::channel_last)), out, Layout::channel_last);
  EXPECT_EQ(cause_of(stages[2], {&reshaped}, copied).cause, "flatten_layout_wrong");
  EXPECT_EQ(cause_of(stages[2], {&reshaped}, reshaped).cause, "right");
}

TEST(FlattenMistakes, FlattenSqueezeAndUnsqueezeTryTheSame) {
  Rng rng(9);
  const Tensor x = half_tensor(rng, {1, 3, 4, 5});
  const OneOp flatten(wire::Kind_Flatten, 1, wire::OpParameter_Flatten, [](Builder& b) {
    wire::FlattenBuilder f(b);
    f.add_axis(1);
    return f.Finish().Union();
  });
  const Tensor memory = to_memory(x, Layout::channel_last);
  std::vector<Stage> stages = stages_of(flatten, {&x, Layout::channel_last}, Layout::logical);
  EXPECT_EQ(cause_of(stages[0], {&x}, under(memory.clone(), {1, 60})).cause, "flatten_layout_wrong");
  const OneOp squeeze(wire::Kind_Squeeze, 1, wire::OpParameter_SqueezeParam, [](Builder& b) {
    const auto axes = b.CreateVector(std::vector<int>{0});
    wire::SqueezeParamBuilder s(b);
    s.add_squeezeDims(axes);
    return s.Finish().Union();
  });
  stages = stages_of(squeeze, {&x, Layout::channel_last}, Layout::logical);
  EXPECT_EQ(cause_of(stages[0], {&x}, under(memory.clone(), {3, 4, 5})).cause, "flatten_layout_wrong");
}

OneOp split_model(const std::vector<int>& points, int parts) {
  return OneOp(
      wire::Kind_Slice, 1, wire::OpParameter_Slice,
      [=](Builder& b) {
        const auto list = b.CreateVector(points);
        wire::SliceBuilder slice(b);
        slice.add_axis(1);
        slice.add_slicePoints(list);
        slice.add_sourceType(wire::Source_TENSORFLOW);
        return slice.Finish().Union();
      },
      parts);
}

/// x[.., begin, begin + step, .. along axis]
Tensor window(const Tensor& x, int axis, int begin, int step, int size) {
  Dims dims = x.dims();
  dims[u(axis)] = size;
  Tensor y = Tensor::f32(dims);
  std::size_t n = 0;
  for (Dims index : indices_of(dims)) {
    index[u(axis)] = begin + step * index[u(axis)];
    y.f32()[n++] = static_cast<float>(at(x, index));
  }
  return y;
}

TEST(SliceMistakes, PartsExchangedOrShifted) {
  Rng rng(10);
  const Tensor x = half_tensor(rng, {2, 8, 3, 8});
  const OneOp model = split_model({3, 2, 3}, 3);
  for (Layout layout : {Layout::logical, Layout::channel_last}) {
    const std::vector<Stage> stages = stages_of(model, {&x, layout}, layout);
    ASSERT_EQ(stages.size(), 3u);
    EXPECT_EQ(cause_of(stages[0], {&x}, window(x, 1, 0, 1, 3)).cause, "right");
    Found found = cause_of(stages[0], {&x}, window(x, 1, 5, 1, 3));
    EXPECT_EQ(found.cause, "slice_begin_wrong");
    EXPECT_EQ(found.used, "begin 5, step 1");
    EXPECT_EQ(found.meant, "begin 0, step 1");
    found = cause_of(stages[1], {&x}, window(x, 1, 4, 1, 2));
    EXPECT_EQ(found.cause, "slice_begin_wrong");
    EXPECT_EQ(found.used, "begin 4, step 1");
    // The same window along an axis of the same extent.
    const Tensor wrong_axis = from_memory(
        under(to_memory(window(x, 3, 0, 1, 3), layout), to_device_dims({2, 3, 3, 8}, layout)), {2, 3, 3, 8}, layout);
    found = cause_of(stages[0], {&x}, wrong_axis);
    EXPECT_EQ(found.cause, "slice_begin_wrong");
    EXPECT_EQ(found.parameter, "axis of the window");
    EXPECT_EQ(cause_of(stages[2], {&x}, half_tensor(rng, {2, 3, 3, 8})).cause, "unexplained");
  }
}

TEST(StridedSliceMistakes, BeginClippedOrStepIgnored) {
  Rng rng(11);
  const Tensor x = half_tensor(rng, {2, 3, 11});
  const OneOp model(wire::Kind_StridedSlice, 5, wire::OpParameter_StridedSliceParam, [](Builder& b) {
    wire::StridedSliceParamBuilder slice(b);
    slice.add_fromType(1);
    return slice.Finish().Union();
  });
  const auto cause = [&](int begin, int end, int step, const Tensor& device) {
    const Tensor b = integers({1}, {begin});
    const Tensor e = integers({1}, {end});
    const Tensor axis = integers({1}, {2});
    const Tensor s = integers({1}, {step});
    return cause_of(model, {&x, &b, &e, &axis, &s}, device);
  };
  EXPECT_EQ(cause(-4, 11, 1, window(x, 2, 7, 1, 4)).cause, "right");
  EXPECT_EQ(cause(-4, 11, 1, window(x, 2, 0, 1, 4)).used, "every begin 0");
  EXPECT_EQ(cause(-4, 11, 1, window(x, 2, 6, 1, 4)).used, "begin 6, step 1");
  EXPECT_EQ(cause(1, 9, 2, window(x, 2, 1, 1, 4)).used, "begin 1, step 1");
  EXPECT_EQ(cause(8, 2, -2, window(x, 2, 4, 2, 3)).used, "begin 4, step 2");
  EXPECT_EQ(cause(8, 2, -2, window(x, 2, 8, -2, 3)).cause, "right");
  EXPECT_EQ(cause(8, 2, -2, half_tensor(rng, {2, 3, 3})).cause, "unexplained");
}

OneOp gather_model() { return OneOp(wire::Kind_GatherV2, 3); }

/// x gathered along `axis` at the indices.
Tensor gathered(const Tensor& x, int axis, const std::vector<int>& indices) {
  Dims dims = x.dims();
  dims[u(axis)] = static_cast<std::int64_t>(indices.size());
  Tensor y = Tensor::f32(dims);
  std::size_t n = 0;
  for (Dims index : indices_of(dims)) {
    index[u(axis)] = indices[u(index[u(axis)])];
    y.f32()[n++] = static_cast<float>(at(x, index));
  }
  return y;
}

TEST(GatherMistakes, AxisAndIndices) {
  Rng rng(12);
  const Tensor x = half_tensor(rng, {4, 5, 5});
  const Tensor indices = integers({3}, {3, -1, 1});
  const Tensor axis = integers({1}, {1});
  const auto cause = [&](const Tensor& device) { return cause_of(gather_model(), {&x, &indices, &axis}, device); };
  EXPECT_EQ(cause(gathered(x, 1, {3, 4, 1})).cause, "right");
  const Found found = cause(under(gathered(x, 2, {3, 4, 1}), {4, 3, 5}));
  EXPECT_EQ(found.cause, "gather_axis_wrong");
  EXPECT_EQ(found.used, "2");
  EXPECT_EQ(found.meant, "1");
  EXPECT_EQ(cause(gathered(x, 1, {3, 0, 1})).used, "negative ones clipped to 0");
  EXPECT_EQ(cause(gathered(x, 1, {4, 4, 2})).used, "each plus 1");
  EXPECT_EQ(cause(gathered(x, 1, {2, 3, 0})).used, "each minus 1");
  EXPECT_EQ(cause(gathered(x, 1, {0, 0, 0})).used, "all 0");
  EXPECT_EQ(cause(half_tensor(rng, {4, 3, 5})).cause, "unexplained");
}

TEST(GatherMistakes, AxisOfNhwcData) {
  Rng rng(13);
  const Tensor x = half_tensor(rng, {2, 4, 4, 3});
  const Tensor indices = integers({2}, {3, 1});
  const Tensor axis = integers({1}, {1});
  const std::vector<Stage> stages =
      stages_of(gather_model(), {&x, Layout::channel_last}, Layout::channel_last, {&indices, &axis});
  const Dims out{2, 2, 4, 3};
  const Tensor memory = gathered(to_memory(x, Layout::channel_last), 1, {3, 1});
  const Tensor y =
      from_memory(under(memory.clone(), to_device_dims(out, Layout::channel_last)), out, Layout::channel_last);
  const Found found = cause_of(stages[0], {&x, &indices}, y);
  EXPECT_EQ(found.cause, "gather_axis_wrong");
  EXPECT_EQ(found.used, "1 of the NHWC data");
}

}  // namespace
}  // namespace qnndbg::test
