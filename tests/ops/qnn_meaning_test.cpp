// The model style computes what the model means: random operators, in every order that the device may have their
// operands in, run node by node and compared with the reference.
#include <cmath>

#include "ops/convolution_model.h"
#include "ops/layer_norm_model.h"
#include "ops/qnn_interpreter.h"

namespace qnndbg::test {
namespace {

struct Operation {
  std::string name;
  const OneOp* op = nullptr;
  std::vector<Tensor> operands = {};
  std::vector<bool> on_host = {};
};

/// Compares the mapping of the operands in these orders with the reference.
void expect_meaning(const Operation& operation, const std::vector<Layout>& layouts) {
  std::vector<Operand> operands;
  std::vector<QnnType> types;
  std::vector<const Tensor*> tensors;
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    const Tensor& t = operation.operands[k];
    tensors.push_back(&t);
    const bool host = operation.on_host.at(k);
    operands.push_back({.present = true,
                        .spec = {t.type(), t.dims()},
                        .layout = host ? Layout::logical : layouts.at(k),
                        .host = host ? &t : nullptr});
    types.push_back({t.type(), {}});
  }
  const Op& op = operation.op->op();
  auto specs = op.infer(operands);
  ASSERT_TRUE(specs) << operation.name << ": " << specs.error().message;
  const Layout rule = op.output_layout(operands);
  std::vector<Operand> outputs;
  std::vector<QnnType> output_types;
  std::vector<Dims> output_dims;
  for (const TensorSpec& spec : *specs) {
    const Layout layout = spec.dims.size() < 3 ? Layout::logical : rule;
    outputs.push_back({.present = true, .spec = spec, .layout = layout});
    output_types.push_back({spec.type, {}});
    output_dims.push_back(device_dims(spec.dims, layout));
  }
  auto mapping = op.qnn_mapping({.inputs = operands,
                                 .outputs = outputs,
                                 .input_types = types,
                                 .output_types = output_types,
                                 .style = MappingStyle::model,
                                 .float_type = DType::f32});
  ASSERT_TRUE(mapping) << operation.name << ": " << mapping.error().reason;
  std::vector<Values> inputs;
  for (std::size_t k = 0; k < operands.size(); ++k) inputs.push_back(on_device(*tensors[k], operands[k].layout));
  const std::vector<Values> made = Interpreter(*mapping, std::move(inputs), output_dims).run();
  auto meant = operation.op->run(tensors);
  ASSERT_TRUE(meant) << operation.name << ": " << meant.error().message;
  for (std::size_t k = 0; k < meant->size(); ++k) {
    const Tensor& right = (*meant)[k];
    ASSERT_EQ(made.at(k).data.size(), static_cast<std::size_t>(right.size())) << operation.name;
    const std::vector<float> logical = logical_order(made[k], right.dims(), outputs[k].layout);
    for (std::size_t i = 0; i < logical.size(); ++i) {
      const double expected = right.type() == DType::f32 ? right.f32()[i] : static_cast<double>(right.i32()[i]);
      ASSERT_NEAR(logical[i], expected, 1e-4 * (1 + std::fabs(expected)))
          << operation.name << " output " << k << " element " << i << "\n"
          << text_of(*mapping);
    }
  }
}

/// In every order of the operands, where there are two.
void expect_meaning_everywhere(const Operation& operation) {
  std::vector<std::vector<Layout>> choices{{}};
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    std::vector<std::vector<Layout>> longer;
    for (const std::vector<Layout>& choice : choices) {
      for (Layout layout : {Layout::logical, Layout::channel_last}) {
        if (layout == Layout::channel_last && (operation.on_host.at(k) || operation.operands[k].rank() < 3)) continue;
        longer.push_back(choice);
        longer.back().push_back(layout);
      }
    }
    choices = std::move(longer);
  }
  for (const std::vector<Layout>& choice : choices) {
    expect_meaning(operation, choice);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

Operation operation(std::string name, const OneOp& op, std::vector<Tensor> operands, std::vector<bool> on_host) {
  return {std::move(name), &op, std::move(operands), std::move(on_host)};
}

template <class... T>
std::vector<Tensor> tensors(T&&... all) {
  std::vector<Tensor> list;
  (list.push_back(std::forward<T>(all)), ...);
  return list;
}

OneOp with_axis(int kind, int axis, int inputs, int outputs = 1) {
  return OneOp(
      kind, inputs, wire::OpParameter_Axis, [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); }, outputs);
}

OneOp binary(wire::Bin type, int activation) {
  return OneOp(wire::Kind_BinaryOp, 2, wire::OpParameter_BinaryOp, [=](Builder& b) {
    wire::BinaryOpBuilder op(b);
    op.add_opType(type);
    op.add_activationType(activation);
    return op.Finish().Union();
  });
}

std::vector<std::int32_t> shuffled(Rng& rng, int rank) {
  std::vector<std::int32_t> permutation;
  for (int k = 0; k < rank; ++k) permutation.push_back(k);
  std::shuffle(permutation.begin(), permutation.end(), rng);
  return permutation;
}

constexpr int kTrials = 12;

TEST(QnnMeaning, Permutations) {
  Rng rng(1);
  const OneOp op(wire::Kind_Transpose, 2);
  for (int trial = 0; trial < kTrials; ++trial) {
    const int rank = pick(rng, 2, 5);
    expect_meaning_everywhere(
        operation("Transpose", op, tensors(random_tensor(rng, random_dims(rng, rank)), Tensor::of(shuffled(rng, rank))),
                  {false, true}));
  }
}

TEST(QnnMeaning, Reshapes) {
  Rng rng(2);
  const OneOp op(wire::Kind_Reshape, 2);
  const std::vector<Dims> shapes{{2, 6, 4, 5}, {2, 6, 20, 1},  {12, 20},       {2, 24, 5}, {1, 6, 8, 5},
                                 {2, 20, 6},   {240, 1, 1, 1}, {1, 240, 1, 1}, {240},      {2, 6, 2, 2, 5}};
  for (const Dims& from : shapes) {
    for (const Dims& to : shapes) {
      const std::vector<std::int32_t> shape(to.begin(), to.end());
      expect_meaning_everywhere(
          operation("Reshape", op, tensors(random_tensor(rng, from), Tensor::of(shape)), {false, true}));
    }
  }
}

TEST(QnnMeaning, BinaryOperandsOfAnyRankAndOrder) {
  Rng rng(3);
  const OneOp subtract = binary(wire::Bin_SUB, 1);
  const OneOp greater = binary(wire::Bin_GREATER, 0);
  const std::vector<Dims> shapes{{}, {5}, {4, 1}, {3, 1, 1}, {3, 4, 5}, {2, 3, 4, 5}, {1, 3, 1, 1}, {2, 1, 4, 1}};
  for (const Dims& a : shapes) {
    for (const Dims& b : shapes) {
      for (const std::vector<bool>& on_host : {std::vector<bool>{false, false}, {true, false}, {false, true}}) {
        expect_meaning_everywhere(
            operation("Sub", subtract, tensors(random_tensor(rng, a), random_tensor(rng, b)), on_host));
      }
      expect_meaning_everywhere(
          operation("Greater", greater, tensors(random_tensor(rng, a), random_tensor(rng, b)), {false, false}));
    }
  }
}

TEST(QnnMeaning, SumsOfMany) {
  Rng rng(4);
  const OneOp op(wire::Kind_Eltwise, 3, wire::OpParameter_Eltwise,
                 [](Builder& b) { return wire::CreateEltwise(b, wire::EltKind_SUM).Union(); });
  const Dims dims{2, 3, 4, 5};
  expect_meaning_everywhere(
      operation("Eltwise", op, tensors(random_tensor(rng, dims), random_tensor(rng, dims), random_tensor(rng, dims)),
                {false, false, true}));
}

TEST(QnnMeaning, Joining) {
  Rng rng(5);
  for (int axis = 0; axis < 4; ++axis) {
    const OneOp concat = with_axis(wire::Kind_Concat, axis, 3);
    Dims other{2, 3, 4, 5};
    other[u(axis)] = 2;
    expect_meaning_everywhere(
        operation("Concat", concat,
                  tensors(random_tensor(rng, {2, 3, 4, 5}), random_tensor(rng, other), random_tensor(rng, other)),
                  {false, false, true}));
    const OneOp pack(wire::Kind_Pack, 2, wire::OpParameter_PackParam, [axis](Builder& b) {
      wire::PackParamBuilder p(b);
      p.add_axis(axis);
      return p.Finish().Union();
    });
    expect_meaning_everywhere(
        operation("Pack", pack, tensors(random_tensor(rng, {2, 3, 4}), random_tensor(rng, {2, 3, 4})), {false, false}));
    const OneOp unpack = with_axis(wire::Kind_Unpack, axis, 1, 3);
    expect_meaning_everywhere(operation("Unpack", unpack, tensors(random_tensor(rng, {3, 3, 3, 3})), {false}));
  }
}

TEST(QnnMeaning, Cutting) {
  Rng rng(6);
  const OneOp strided(wire::Kind_StridedSlice, 5, wire::OpParameter_StridedSliceParam, [](Builder& b) {
    wire::StridedSliceParamBuilder p(b);
    p.add_fromType(1);
    return p.Finish().Union();
  });
  for (int trial = 0; trial < 4 * kTrials; ++trial) {
    const Dims dims = random_dims(rng, 4, 3, 6);
    const int axis = pick(rng, 0, 3);
    const bool forward = coin(rng);
    const int low = pick(rng, 0, 1);
    const int high = pick(rng, 2, 7);
    const std::vector<std::int32_t> begin{forward ? low : high};
    const std::vector<std::int32_t> end{forward ? high : coin(rng) ? low : -100};
    const std::vector<std::int32_t> step{(forward ? 1 : -1) * pick(rng, 1, 2)};
    expect_meaning_everywhere(operation("StridedSlice", strided,
                                        tensors(random_tensor(rng, dims), Tensor::of(begin), Tensor::of(end),
                                                Tensor::of(std::vector<std::int32_t>{axis}), Tensor::of(step)),
                                        {false, true, true, true, true}));
  }
  const OneOp shrunk(wire::Kind_StridedSlice, 4, wire::OpParameter_StridedSliceParam, [](Builder& b) {
    wire::StridedSliceParamBuilder p(b);
    p.add_shrinkAxisMask(2);
    return p.Finish().Union();
  });
  const auto three = [](std::int32_t a, std::int32_t b) { return Tensor::of(std::vector<std::int32_t>{a, b}); };
  expect_meaning_everywhere(operation("StridedSlice", shrunk,
                                      tensors(random_tensor(rng, {3, 4, 5, 2}), three(1, 2), three(3, 3), three(1, 1)),
                                      {false, true, true, true}));
  for (int axis = 0; axis < 4; ++axis) {
    const OneOp slice(
        wire::Kind_Slice, 1, wire::OpParameter_Slice,
        [axis](Builder& b) {
          const auto points = b.CreateVector(std::vector<int>{2, 3});
          wire::SliceBuilder p(b);
          p.add_axis(axis);
          p.add_slicePoints(points);
          p.add_sourceType(wire::Source_ONNX);
          return p.Finish().Union();
        },
        2);
    expect_meaning_everywhere(operation("Slice", slice, tensors(random_tensor(rng, {5, 5, 5, 5})), {false}));
  }
}

TEST(QnnMeaning, Gathering) {
  Rng rng(7);
  const OneOp gather(wire::Kind_GatherV2, 3);
  const OneOp elements(wire::Kind_GatherElements, 3);
  for (int axis = 0; axis < 4; ++axis) {
    const std::vector<std::int32_t> along{axis};
    Tensor scalar = Tensor::i32({});
    scalar.i32()[0] = 1;
    for (const Tensor& indices :
         {random_integers(rng, {2}, 0, 2), random_integers(rng, {2, 3}, 0, 2), scalar.clone()}) {
      expect_meaning_everywhere(operation("GatherV2", gather,
                                          tensors(random_tensor(rng, {3, 4, 5, 3}), indices.clone(), Tensor::of(along)),
                                          {false, true, true}));
    }
    expect_meaning_everywhere(operation(
        "GatherElements", elements,
        tensors(random_tensor(rng, {3, 3, 3, 3}), random_integers(rng, {3, 3, 3, 3}, 0, 2), Tensor::of(along)),
        {false, false, true}));
  }
}

TEST(QnnMeaning, PaddingAndRepeating) {
  Rng rng(8);
  for (wire::PadKind mode :
       {wire::PadKind_CONSTANT, wire::PadKind_REFLECT, wire::PadKind_SYMMETRIC, wire::PadKind_EDGE}) {
    const OneOp pad(wire::Kind_Padding, 3, wire::OpParameter_PadParam,
                    [mode](Builder& b) { return wire::CreatePadParam(b, mode).Union(); });
    std::vector<std::int32_t> amounts;
    for (int k = 0; k < 8; ++k) amounts.push_back(pick(rng, 0, 2));
    Tensor value = Tensor::f32({1});
    value.f32()[0] = 7;
    expect_meaning_everywhere(
        operation("Padding", pad, tensors(random_tensor(rng, {3, 4, 5, 6}), Tensor::of(amounts), std::move(value)),
                  {false, true, true}));
  }
  const OneOp broadcast(wire::Kind_BroadcastTo, 2);
  for (const Dims& dims : {Dims{1, 3, 1, 1}, Dims{3, 1, 5}, Dims{5}, Dims{2, 3, 4, 5}}) {
    expect_meaning_everywhere(
        operation("BroadcastTo", broadcast,
                  tensors(random_tensor(rng, dims), Tensor::of(std::vector<std::int32_t>{2, 3, 4, 5})), {false, true}));
  }
  const OneOp tile(wire::Kind_Tile, 2);
  expect_meaning_everywhere(operation(
      "Tile", tile, tensors(random_tensor(rng, {1, 3, 2, 2}), Tensor::of(std::vector<std::int32_t>{2, 1, 3, 2})),
      {false, true}));
  for (wire::D2SMode mode : {wire::D2SMode_DCR, wire::D2SMode_CRD}) {
    const OneOp blocks(wire::Kind_DepthToSpace, 1, wire::OpParameter_DepthSpaceParam,
                       [mode](Builder& b) { return wire::CreateDepthSpaceParam(b, 2, mode).Union(); });
    expect_meaning_everywhere(operation("DepthToSpace", blocks, tensors(random_tensor(rng, {2, 8, 3, 2})), {false}));
  }
}

TEST(QnnMeaning, AlongAxes) {
  Rng rng(9);
  for (int axis = 0; axis < 4; ++axis) {
    const OneOp softmax = with_axis(wire::Kind_Softmax, axis, 1);
    expect_meaning_everywhere(operation("Softmax", softmax, tensors(random_tensor(rng, {2, 3, 4, 5})), {false}));
    for (bool keep : {false, true}) {
      for (const std::vector<int>& axes : {std::vector<int>{axis}, {0, axis}, {}}) {
        const OneOp sum(wire::Kind_Reduction, 1, wire::OpParameter_ReductionParam, [&](Builder& b) {
          const auto dims = b.CreateVector(axes);
          wire::ReductionParamBuilder p(b);
          p.add_operation(wire::Red_SUM);
          p.add_dim(dims);
          p.add_keepDims(keep);
          return p.Finish().Union();
        });
        expect_meaning_everywhere(operation("Reduction", sum, tensors(random_tensor(rng, {2, 3, 4, 5})), {false}));
      }
    }
  }
}

TEST(QnnMeaning, Products) {
  Rng rng(10);
  for (bool turned : {false, true}) {
    const OneOp op(wire::Kind_MatMul, 2, wire::OpParameter_MatMul, [turned](Builder& b) {
      wire::MatMulBuilder p(b);
      p.add_transposeB(turned);
      return p.Finish().Union();
    });
    const auto second = [&](Dims batch) {
      batch.insert(batch.end(), {turned ? 6 : 5, turned ? 5 : 6});
      return random_tensor(rng, batch);
    };
    for (const Dims& batch : {Dims{}, Dims{3}, Dims{2, 3}, Dims{1, 3}}) {
      expect_meaning_everywhere(
          operation("MatMul", op, tensors(random_tensor(rng, {2, 3, 4, 5}), second(batch)), {false, false}));
    }
  }
}

TEST(QnnMeaning, ChannelsOfNetworks) {
  Rng rng(11);
  const OneOp scale(wire::Kind_Scale, 1, wire::OpParameter_Scale, [](Builder& b) {
    const std::vector<float> scales{1, 2, 3};
    const std::vector<float> biases{4, 5, 6};
    return wire::CreateScaleDirect(b, 3, &scales, &biases).Union();
  });
  const OneOp prelu(wire::Kind_PReLU, 1, wire::OpParameter_PRelu, [](Builder& b) {
    const std::vector<float> slopes{0.5F, 0.25F, 2};
    return wire::CreatePReluDirect(b, 3, &slopes).Union();
  });
  for (const Dims& dims : {Dims{2, 3, 4, 5}, Dims{2, 3, 4}, Dims{2, 3}}) {
    expect_meaning_everywhere(operation("Scale", scale, tensors(random_tensor(rng, dims)), {false}));
    expect_meaning_everywhere(operation("PReLU", prelu, tensors(random_tensor(rng, dims)), {false}));
  }
}

TEST(QnnMeaning, Convolutions) {
  Rng rng(12);
  for (int trial = 0; trial < 3 * kTrials; ++trial) {
    const bool depthwise = trial % 3 == 0;
    const convolution::Conv c = convolution::random_conv(rng, depthwise);
    const OneOp op = convolution::model_of(depthwise ? wire::Kind_ConvolutionDepthwise : wire::Kind_Convolution, c);
    Operation random = operation("Convolution", op, tensors(random_tensor(rng, c.in_dims())), {false});
    if (random.op->run({&random.operands[0]})->front().empty()) continue;
    expect_meaning_everywhere(random);
  }
}

TEST(QnnMeaning, Deconvolutions) {
  using convolution::Pad;
  Rng rng(13);
  for (int trial = 0; trial < 3 * kTrials; ++trial) {
    convolution::Conv c = convolution::random_conv(rng, false);
    c.pad = coin(rng) ? Pad::listed : Pad::same;
    for (convolution::Axis* axis : {&c.h, &c.w}) {
      // SAME leaves the dilation out in MNN, so the two do not go together.
      *axis = {.in = pick(rng, 2, 5), .kernel = pick(rng, 2, 4), .stride = pick(rng, 1, 2)};
      if (c.pad == Pad::same) axis->kernel = std::max(axis->kernel, axis->stride);
      if (c.pad == Pad::listed)
        axis->dilation = pick(rng, 1, 2), axis->before = pick(rng, 0, 1), axis->after = pick(rng, 0, 1),
        axis->extra = axis->stride > 1 ? pick(rng, 0, 1) : 0;
    }
    c.weight =
        random_floats(rng, static_cast<std::int64_t>(c.out_channels()) * c.in_per_group * c.h.kernel * c.w.kernel);
    const OneOp op = convolution::model_of(wire::Kind_Deconvolution, c);
    expect_meaning_everywhere(operation("Deconvolution", op, tensors(random_tensor(rng, c.in_dims())), {false}));
  }
}

TEST(QnnMeaning, Pools) {
  Rng rng(14);
  for (int trial = 0; trial < 2 * kTrials; ++trial) {
    const bool average = coin(rng);
    const bool exclude = coin(rng);
    const int pad = pick(rng, 0, 1);
    const OneOp op(wire::Kind_Pooling, 1, wire::OpParameter_Pool, [=, &rng](Builder& b) {
      const auto pads = b.CreateVector(std::vector<int>(4, pad));
      wire::PoolBuilder p(b);
      p.add_type(average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL);
      p.add_padType(wire::PoolPad_CAFFE);
      p.add_pads(pads);
      p.add_ceilModel(false);
      p.add_countType(exclude ? wire::AvgCount_EXCLUDE_PADDING : wire::AvgCount_INCLUDE_PADDING);
      p.add_kernelX(pick(rng, 2, 3));
      p.add_kernelY(pick(rng, 2, 3));
      p.add_strideX(pick(rng, 1, 2));
      p.add_strideY(pick(rng, 1, 2));
      return p.Finish().Union();
    });
    expect_meaning_everywhere(operation("Pooling", op, tensors(random_tensor(rng, {2, 3, 6, 7})), {false}));
  }
}

TEST(QnnMeaning, ResizesThatQnnHasNoNodeFor) {
  Rng rng(15);
  for (int type : {1, 2, 3}) {
    const OneOp op(wire::Kind_Interp, 2, wire::OpParameter_Interp, [type](Builder& b) {
      wire::InterpBuilder p(b);
      p.add_resizeType(type);
      p.add_ctm(wire::Ctm_HalfPixels);
      return p.Finish().Union();
    });
    Tensor scales = Tensor::f32({2});
    scales.f32()[0] = 1.7F;
    scales.f32()[1] = 0.7F;
    expect_meaning_everywhere(
        operation("Interp", op, tensors(random_tensor(rng, {2, 3, 7, 9}), std::move(scales)), {false, true}));
  }
}

TEST(QnnMeaning, Norms) {
  Rng rng(16);
  const auto norm = [&](std::vector<int> axes, std::int64_t count, const Dims& dims) {
    const OneOp op =
        model_of(Norm{.axes = std::move(axes), .gamma = random_floats(rng, count), .beta = random_floats(rng, count)});
    expect_meaning_everywhere(operation("LayerNorm", op, tensors(random_tensor(rng, dims)), {false}));
  };
  for (int axis = 0; axis < 4; ++axis) norm({axis}, 2 + axis, {2, 3, 4, 5});
  norm({2, 3}, 20, {2, 3, 4, 5});
  norm({1, 2, 3}, 60, {2, 3, 4, 5});
}

}  // namespace
}  // namespace qnndbg::test
