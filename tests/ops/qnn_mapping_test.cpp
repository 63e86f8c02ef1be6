// The QNN nodes of each operator, as MNN writes them and as the model means them. The expectations are written by hand
// from what is known of MNN's backend (docs/emulation.md).
#include "ops/qnn_mapping.h"

#include <cstring>
#include <optional>

#include "ops/convolution_model.h"
#include "ops/layer_norm_model.h"
#include "ops/qnn_text.h"

namespace qnndbg::test {
namespace {

using convolution::Conv;
using convolution::Fused;
using convolution::Pad;

/// An operand of the operator under test.
struct Given {
  Dims dims;
  Layout layout = Layout::logical;
  DType type = DType::f32;
  std::shared_ptr<const Tensor> host = {};
  std::optional<QnnType> device = {};  // where it is not the float type or INT_32
};

Given data(Dims dims) { return {.dims = std::move(dims)}; }
Given image(Dims dims) { return {.dims = std::move(dims), .layout = Layout::channel_last}; }
Given numbers(Dims dims) { return {.dims = std::move(dims), .type = DType::i32}; }
Given host(Tensor value) {
  const auto held = std::make_shared<const Tensor>(std::move(value));
  return {.dims = held->dims(), .type = held->type(), .host = held};
}
Given scalar(std::int32_t value) {
  Tensor tensor = Tensor::i32({});
  tensor.i32()[0] = value;
  return host(std::move(tensor));
}
Given host_integers(std::vector<std::int32_t> values) { return host(Tensor::of(std::move(values))); }
Given fixed(Dims dims, DType type, Encoding encoding) {
  return {.dims = std::move(dims),
          .layout = Layout::channel_last,
          .device = QnnType{type, QnnEncoding::of_tensor(encoding)}};
}

/// One operator with its operands, mapped.
class Subject {
 public:
  Subject(const OneOp& one, std::vector<Given> inputs, std::optional<QnnType> output = {})
      : op_(one.op()), given_(std::move(inputs)) {
    for (const Given& g : given_) {
      operands_.push_back({.present = true, .spec = {g.type, g.dims}, .layout = g.layout, .host = g.host.get()});
      types_.push_back(g.device ? *g.device : QnnType{g.type == DType::i32 ? DType::i32 : DType::f16, {}});
    }
    auto specs = op_.infer(operands_);
    if (!specs) {
      ADD_FAILURE() << specs.error().message;
      return;
    }
    for (TensorSpec& spec : *specs) {
      const Layout layout = spec.dims.size() < 3 ? Layout::logical : op_.output_layout(operands_);
      output_types_.push_back(output ? *output : QnnType{spec.type == DType::i32 ? DType::i32 : DType::f16, {}});
      outputs_.push_back({.present = true, .spec = std::move(spec), .layout = layout});
    }
  }

  QnnMappingResult map(MappingStyle style, DType float_type = DType::f16) const {
    return op_.qnn_mapping({.inputs = operands_,
                            .outputs = outputs_,
                            .input_types = types_,
                            .output_types = output_types_,
                            .style = style,
                            .float_type = float_type});
  }

  std::string text(MappingStyle style) const {
    QnnMappingResult mapping = map(style);
    if (!mapping) return std::string(name_of(mapping.error().kind)) + "\n";
    for (const QnnNode& node : mapping->nodes) expect_defined(node.type, node.params, style == MappingStyle::mnn);
    for (const QnnConstant& constant : mapping->constants) {
      auto bytes = constant.data();
      if (!bytes) {
        ADD_FAILURE() << constant.name << ": " << bytes.error().message;
        continue;
      }
      EXPECT_EQ(bytes->size(), static_cast<std::size_t>(element_count(constant.dims)) * size_of(constant.type.type))
          << constant.name;
    }
    return text_of(*mapping);
  }

  std::string mnn() const { return text(MappingStyle::mnn); }
  std::string model() const { return text(MappingStyle::model); }
  /// Both styles, which must agree.
  std::string both() const {
    const std::string as_mnn = mnn();
    EXPECT_EQ(as_mnn, model());
    return as_mnn;
  }

  /// The values of a constant of 16-bit, 32-bit float or integer type.
  template <class T>
  std::vector<T> values(MappingStyle style, const std::string& name) const {
    QnnMappingResult mapping = map(style);
    if (!mapping) return {};
    for (const QnnConstant& constant : mapping->constants) {
      if (constant.name != name) continue;
      const std::vector<std::byte> bytes = constant.data().value();
      std::vector<T> out(bytes.size() / sizeof(T));
      std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
      return out;
    }
    ADD_FAILURE() << "no constant " << name;
    return {};
  }
  std::vector<float> halves(MappingStyle style, const std::string& name) const {
    std::vector<float> out;
    for (std::uint16_t bits : values<std::uint16_t>(style, name)) out.push_back(half_to_float(bits, HalfKind::ieee));
    return out;
  }

 private:
  const Op& op_;
  std::vector<Given> given_;
  std::vector<Operand> operands_, outputs_;
  std::vector<QnnType> types_, output_types_;
};

OneOp with_axis(int kind, int axis, int inputs, int outputs = 1) {
  return OneOp(
      kind, inputs, wire::OpParameter_Axis, [axis](Builder& b) { return wire::CreateAxis(b, axis).Union(); }, outputs);
}

OneOp binary(wire::Bin type, int activation = 0) {
  return OneOp(wire::Kind_BinaryOp, 2, wire::OpParameter_BinaryOp, [=](Builder& b) {
    wire::BinaryOpBuilder op(b);
    op.add_opType(type);
    op.add_activationType(activation);
    return op.Finish().Union();
  });
}

OneOp unary(wire::Un type) {
  return OneOp(wire::Kind_UnaryOp, 1, wire::OpParameter_UnaryOp, [type](Builder& b) {
    wire::UnaryOpBuilder op(b);
    op.add_opType(type);
    return op.Finish().Union();
  });
}

std::vector<float> counting(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  return values;
}

TEST(QnnMapping, DefinitionsAreAtHand) {
  if (qnn_definitions() == nullptr) GTEST_SKIP() << "no definitions of QNN's operations beside the project";
  EXPECT_TRUE(qnn_definitions()->contains("Conv2d"));
}

TEST(QnnMapping, AxesAndPermutationsOnTheDevice) {
  EXPECT_EQ(device_axis(1, 4, Layout::channel_last), 3);
  EXPECT_EQ(device_axis(3, 4, Layout::channel_last), 2);
  EXPECT_EQ(device_axis(1, 2, Layout::channel_last), 1);
  EXPECT_EQ(device_axis(1, 4, Layout::logical), 1);
  EXPECT_EQ(to_channel_last_permutation(4), (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(to_logical_permutation(4), (std::vector<int>{0, 3, 1, 2}));
  // Logical [N, C, H, W] to [N, C, W, H] is [N, H, W, C] to [N, W, H, C].
  EXPECT_EQ(device_permutation({0, 1, 3, 2}, Layout::channel_last, Layout::channel_last),
            (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(device_permutation({0, 2, 3, 1}, Layout::channel_last, Layout::logical), (std::vector<int>{0, 1, 2, 3}));
}

TEST(QnnMapping, AnInfiniteConstantStaysInfiniteAndRoundingCuts) {
  const std::vector<float> values{1e6F, 1.0F + 0x1.8p-10F, -70000.0F};
  const std::vector<std::byte> cut = float_bytes(values, DType::f16, HalfRounding::toward_zero);
  std::vector<std::uint16_t> halves(3);
  std::memcpy(halves.data(), cut.data(), cut.size());
  EXPECT_EQ(halves, (std::vector<std::uint16_t>{0x7C00, 0x3C01, 0xFC00}));
  EXPECT_EQ(float_bytes(values, DType::f32, HalfRounding::toward_zero).size(), 12U);
}

TEST(QnnMapping, Activations) {
  const auto relu = [](float slope) {
    return OneOp(wire::Kind_ReLU, 1, wire::OpParameter_Relu,
                 [slope](Builder& b) { return wire::CreateRelu(b, slope).Union(); });
  };
  EXPECT_EQ(Subject(relu(0), {image({1, 3, 2, 2})}).both(), "Relu: x0 -> y\n");
  const OneOp leaky = relu(0.1F);
  EXPECT_EQ(Subject(leaky, {data({2, 3})}).both(), "%coeff f16 1\nPrelu: x0 %coeff -> y\n");
  EXPECT_FALSE(leaky.op().runs_quantized(DType::sfixed8));
  const OneOp clip(wire::Kind_ReLU6, 1, wire::OpParameter_Relu6,
                   [](Builder& b) { return wire::CreateRelu6(b, -1.5F, 4).Union(); });
  EXPECT_EQ(Subject(clip, {data({2, 3})}).both(), "ReluMinMax: x0 -> y min_value=f-1.5 max_value=f4\n");
  EXPECT_EQ(Subject(OneOp(wire::Kind_Sigmoid, 1), {data({2})}).both(), "Sigmoid: x0 -> y\n");
  const OneOp elu(wire::Kind_ELU, 1, wire::OpParameter_ELU,
                  [](Builder& b) { return wire::CreateELU(b, 0.5F).Union(); });
  EXPECT_EQ(Subject(elu, {data({2})}).both(), "Elu: x0 -> y alpha=f0.5\n");
}

TEST(QnnMapping, TypesThatMnnDoesNotKnowHaveNodesInTheModelStyleAlone) {
  const OneOp tile(wire::Kind_Tile, 2);
  const Subject tiled(tile, {data({2, 3}), host_integers({2, 1})});
  EXPECT_EQ(tiled.mnn(), "unregistered\n");
  EXPECT_EQ(tiled.model(), "Tile: x0 -> y multiples=[2 1]\n");
  const OneOp cum_sum(wire::Kind_CumSum, 2);
  EXPECT_EQ(Subject(cum_sum, {data({2, 3}), scalar(0)}).both(), "unregistered\n");
  const OneOp prelu(wire::Kind_PReLU, 1, wire::OpParameter_PRelu, [](Builder& b) {
    const std::vector<float> slopes{0.5F, 0.25F};
    return wire::CreatePReluDirect(b, 2, &slopes).Union();
  });
  const Subject leaky(prelu, {image({1, 2, 3, 4})});
  EXPECT_EQ(leaky.mnn(), "unregistered\n");
  EXPECT_EQ(leaky.model(), "%coeff f16 2\nPrelu: x0 %coeff -> y\n");
  const OneOp blocks(wire::Kind_DepthToSpace, 1, wire::OpParameter_DepthSpaceParam,
                     [](Builder& b) { return wire::CreateDepthSpaceParam(b, 2, wire::D2SMode_CRD).Union(); });
  EXPECT_EQ(Subject(blocks, {image({1, 8, 3, 4})}).model(), "DepthToSpace: x0 -> y block_size=[2 2] mode=1\n");
  EXPECT_EQ(Subject(blocks, {data({1, 8, 3, 4})}).model(),
            "*channel_last f16 1x3x4x8\n"
            "*regrouped f16 1x6x8x2\n"
            "Transpose _to_channel_last: x0 -> *channel_last perm=[0 2 3 1]/to_channel_last\n"
            "DepthToSpace: *channel_last -> *regrouped block_size=[2 2] mode=1\n"
            "Transpose _from_channel_last: *regrouped -> y perm=[0 3 1 2]/from_channel_last\n");
  const OneOp select(wire::Kind_Select, 3);
  EXPECT_EQ(Subject(select, {numbers({2, 3}), data({2, 3}), data({2, 3})}).model(),
            "*truth bool8 2x3\n"
            "Cast _truth: x0 -> *truth\n"
            "ElementWiseSelect: *truth x1 x2 -> y\n");
  const OneOp expand(wire::Kind_ExpandDims, 2);
  EXPECT_EQ(Subject(expand, {data({2, 3}), host_integers({0})}).model(), "Reshape _Reshape: x0 -> y\n");
  const OneOp slice(wire::Kind_SliceTf, 3);
  EXPECT_EQ(Subject(slice, {data({4, 8}), host_integers({1, 2}), host_integers({2, -1})}).model(),
            "StridedSlice: x0 -> y ranges=i[1 3 1 2 8 1]@2x3\n");
  const OneOp selu(wire::Kind_Selu, 1, wire::OpParameter_Selu,
                   [](Builder& b) { return wire::CreateSelu(b, 2, 3).Union(); });
  EXPECT_EQ(Subject(selu, {data({2})}).model(),
            "*elu f16 2\n"
            "%scale f16 1\n"
            "Elu _elu: x0 -> *elu alpha=f3\n"
            "ElementWiseMultiply: *elu %scale -> y\n");
  EXPECT_EQ(Subject(unary(wire::Un_RECIPROCAL), {data({2})}).model(), "%one f16 1\nElementWiseDivide: %one x0 -> y\n");
}

TEST(QnnMapping, ArgMaxKeepsItsAxisInMnn) {
  const auto op = [](int axis) {
    return OneOp(wire::Kind_ArgMax, 1, wire::OpParameter_ArgMax,
                 [axis](Builder& b) { return wire::CreateArgMax(b, 0, 0, axis).Union(); });
  };
  EXPECT_EQ(Subject(op(1), {data({1, 3, 4})}).both(), "Argmax: x0 -> y axis=1\n");
  EXPECT_EQ(Subject(op(-1), {data({1, 3, 4})}).mnn(), "Argmax: x0 -> y axis=4294967295\n");
  EXPECT_EQ(Subject(op(-1), {data({1, 3, 4})}).model(), "Argmax: x0 -> y axis=2\n");
  EXPECT_EQ(Subject(op(2), {image({1, 3, 4, 5})}).mnn(), "Argmax: x0 -> y axis=2\n");
  EXPECT_EQ(Subject(op(2), {image({1, 3, 4, 5})}).model(),
            "*logical_0 f16 1x3x4x5\n"
            "Transpose _to_logical_0: x0 -> *logical_0 perm=[0 3 1 2]/_to_logical_0\n"
            "Argmax: *logical_0 -> y axis=2\n");
  EXPECT_EQ(Subject(op(1), {data({1, 1, 1, 1, 3})}).mnn(), "encode_error\n");
}

TEST(QnnMapping, BinaryOperandsOfOneShapeGoInAsTheyAre) {
  EXPECT_EQ(Subject(binary(wire::Bin_SUB), {image({1, 3, 4, 5}), image({1, 3, 4, 5})}).both(),
            "ElementWiseSubtract: x0 x1 -> y\n");
  EXPECT_EQ(Subject(binary(wire::Bin_REALDIV), {data({4, 5}), data({5})}).mnn(), "ElementWiseDivide: x0 x1 -> y\n");
}

TEST(QnnMapping, AScalarOperandIsReshapedAndTiled) {
  Tensor three = Tensor::f32({});
  three.f32()[0] = 3;
  EXPECT_EQ(Subject(binary(wire::Bin_MUL), {image({1, 3, 4, 5}), host(std::move(three))}).both(),
            "*stage_0 f16 1x1x1x1\n"
            "*stage_1 f16 1x4x5x3\n"
            "Reshape _Reshape: x1 -> *stage_0\n"
            "Tile _Tile: *stage_0 -> *stage_1 multiples=[1 4 5 3]\n"
            "ElementWiseMultiply: x0 *stage_1 -> y\n");
}

TEST(QnnMapping, AVectorBesideChannelLastDataIsReshapedAndPermuted) {
  EXPECT_EQ(Subject(binary(wire::Bin_ADD), {host(floats({3, 1, 1}, {1, 2, 3})), image({1, 3, 4, 5})}).mnn(),
            "*stage_reshape f16 1x3x1x1\n"
            "*stage_perm f16 1x1x1x3\n"
            "Reshape _Reshape: x0 -> *stage_reshape\n"
            "Transpose _Permute: *stage_reshape -> *stage_perm perm=[0 2 3 1]\n"
            "ElementWiseAdd: *stage_perm x1 -> y\n");
}

TEST(QnnMapping, AConstantOfTheSameRankStaysInTheModelsOrderInMnn) {
  const OneOp op = binary(wire::Bin_MUL);
  const Subject multiply(op, {image({1, 2, 1, 3}), host(floats({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}))});
  EXPECT_EQ(multiply.mnn(), "ElementWiseMultiply: x0 x1 -> y\n");
  EXPECT_EQ(multiply.model(), "%operand_1 f16 1x1x3x2\nElementWiseMultiply: x0 %operand_1 -> y\n");
  EXPECT_EQ(multiply.halves(MappingStyle::model, "operand_1"), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(QnnMapping, MnnDropsTheFusedReluOfABinaryOp) {
  const OneOp op = binary(wire::Bin_ADD, 1);
  const Subject add(op, {data({2, 3}), data({2, 3})});
  EXPECT_EQ(add.mnn(), "ElementWiseAdd: x0 x1 -> y\n");
  EXPECT_EQ(add.model(),
            "*ReluTensor f16 2x3\n"
            "ElementWiseAdd: x0 x1 -> *ReluTensor\n"
            "Relu _relu: *ReluTensor -> y\n");
}

TEST(QnnMapping, ComparisonsAreIntegersInMnnAndTruthValuesInQnn) {
  const OneOp op = binary(wire::Bin_GREATER);
  const Subject greater(op, {data({2, 3}), data({2, 3})});
  EXPECT_EQ(greater.mnn(), "ElementWiseGreater: x0 x1 -> y\n");
  EXPECT_EQ(greater.model(),
            "*truth bool8 2x3\n"
            "ElementWiseGreater _compare: x0 x1 -> *truth\n"
            "Cast: *truth -> y\n");
}

TEST(QnnMapping, MnnExchangesTheRemainders) {
  const OneOp floor_mod = binary(wire::Bin_FLOORMOD);
  const OneOp mod = binary(wire::Bin_MOD);
  EXPECT_EQ(Subject(floor_mod, {data({2}), data({2})}).mnn(), "ElementWiseFmod: x0 x1 -> y\n");
  EXPECT_EQ(Subject(floor_mod, {data({2}), data({2})}).model(), "ElementWiseMod: x0 x1 -> y\n");
  EXPECT_EQ(Subject(mod, {data({2}), data({2})}).mnn(), "ElementWiseMod: x0 x1 -> y\n");
  EXPECT_EQ(Subject(mod, {data({2}), data({2})}).model(), "ElementWiseFmod: x0 x1 -> y\n");
  EXPECT_EQ(Subject(binary(wire::Bin_ATAN2), {data({2}), data({2})}).mnn(), "refused\n");
}

TEST(QnnMapping, EltwiseOfThreeNeedsTwoNodes) {
  const OneOp op(wire::Kind_Eltwise, 3, wire::OpParameter_Eltwise,
                 [](Builder& b) { return wire::CreateEltwise(b, wire::EltKind_SUM).Union(); });
  const Subject sum(op, {data({2, 3}), data({2, 3}), data({2, 3})});
  EXPECT_EQ(sum.mnn(), "ElementWiseAdd: x0 x1 x2 -> y\n");
  EXPECT_EQ(sum.model(),
            "*partial_1 f16 2x3\n"
            "ElementWiseAdd _partial_1: x0 x1 -> *partial_1\n"
            "ElementWiseAdd: *partial_1 x2 -> y\n");
}

TEST(QnnMapping, BroadcastToDividesInTheModelsOrder) {
  const OneOp op(wire::Kind_BroadcastTo, 2);
  const Subject spatial(op, {image({1, 3, 1, 1}), host_integers({1, 3, 4, 5})});
  EXPECT_EQ(spatial.mnn(), "Tile: x0 -> y multiples=[1 1 4 5]\n");
  EXPECT_EQ(spatial.model(),
            "*logical_0 f16 1x3x1x1\n"
            "*logical_output_0 f16 1x3x4x5\n"
            "Transpose _to_logical_0: x0 -> *logical_0 perm=[0 3 1 2]/_to_logical_0\n"
            "Tile: *logical_0 -> *logical_output_0 multiples=[1 1 4 5]\n"
            "Transpose _from_logical_0: *logical_output_0 -> y perm=[0 2 3 1]/_from_logical_0\n");
  const Subject longer(op, {data({6, 8}), host_integers({1, 4, 6, 8})});
  EXPECT_EQ(longer.mnn(), "Tile: x0 -> y multiples=[0 0]\n");
  EXPECT_EQ(longer.model(),
            "*stage_reshape f16 1x1x6x8\n"
            "Reshape _Reshape: x0 -> *stage_reshape\n"
            "Tile: *stage_reshape -> y multiples=[1 4 1 1]\n");
}

TEST(QnnMapping, CastToBoolComparesWithZero) {
  const auto cast = [](wire::DType to) {
    return OneOp(wire::Kind_Cast, 1, wire::OpParameter_CastParam,
                 [to](Builder& b) { return wire::CreateCastParam(b, wire::DType_DT_FLOAT, to).Union(); });
  };
  EXPECT_EQ(Subject(cast(wire::DType_DT_INT32), {data({2})}).both(), "Cast: x0 -> y\n");
  EXPECT_EQ(Subject(cast(wire::DType_DT_UINT8), {data({2})}).both(), "refused\n");
  const OneOp to_bool = cast(wire::DType_DT_BOOL);
  EXPECT_EQ(Subject(to_bool, {data({2})}).mnn(), "Cast: x0 -> y\n");
  EXPECT_EQ(Subject(to_bool, {data({2})}).model(),
            "*truth bool8 2\n"
            "%zero f16 1\n"
            "ElementWiseNotEqual _compare: x0 %zero -> *truth\n"
            "Cast: *truth -> y\n");
}

TEST(QnnMapping, ConcatMovesItsAxis) {
  const OneOp op = with_axis(wire::Kind_Concat, 1, 2);
  EXPECT_EQ(Subject(op, {image({1, 2, 4, 5}), image({1, 3, 4, 5})}).both(), "Concat: x0 x1 -> y axis=3\n");
  EXPECT_EQ(Subject(op, {data({2, 0}), data({2, 3})}).both(), "Reshape _Reshape: x1 -> y\n");
  const OneOp rows = with_axis(wire::Kind_Concat, -2, 2);
  EXPECT_EQ(Subject(rows, {image({1, 2, 4, 5}), image({1, 2, 4, 5})}).both(), "Concat: x0 x1 -> y axis=1\n");
  EXPECT_EQ(Subject(op, {data({1, 1, 1, 1, 1, 2}), data({1, 1, 1, 1, 1, 2})}).mnn(), "refused\n");
}

TEST(QnnMapping, PackAndUnpackMoveTheirAxisByTheOutput) {
  const OneOp pack(wire::Kind_Pack, 2, wire::OpParameter_PackParam, [](Builder& b) {
    wire::PackParamBuilder p(b);
    p.add_axis(1);
    return p.Finish().Union();
  });
  EXPECT_EQ(Subject(pack, {data({2, 3}), data({2, 3})}).both(), "Pack: x0 x1 -> y axis=1\n");
  EXPECT_EQ(Subject(pack, {image({2, 3, 4}), image({2, 3, 4})}).mnn(), "Pack: x0 x1 -> y axis=3\n");
  const OneOp unpack = with_axis(wire::Kind_Unpack, 1, 1, 2);
  EXPECT_EQ(Subject(unpack, {data({3, 2, 4})}).both(), "UnPack: x0 -> y y1 axis=1\n");
  EXPECT_EQ(Subject(unpack, {image({3, 2, 4})}).model(),
            "*logical_0 f16 3x2x4\n"
            "Transpose _to_logical_0: x0 -> *logical_0 perm=[0 2 1]/_to_logical_0\n"
            "UnPack: *logical_0 -> y y1 axis=1\n");
}

// ---- the convolution family

Conv conv3x3() {
  Conv c{.in_per_group = 2, .out_per_group = 3};
  c.h = {.in = 5, .kernel = 3, .stride = 2, .before = 1, .after = 1};
  c.w = {.in = 5, .kernel = 3, .stride = 2, .before = 1, .after = 1};
  c.weight = counting(3 * 2 * 9);
  c.bias_values = {1, 2, 3};
  return c;
}

Conv pointwise(int batch, int in, int out) {
  Conv c{.batch = batch, .in_per_group = in, .out_per_group = out};
  c.weight = counting(static_cast<std::int64_t>(in) * out);
  c.bias_values.assign(u(out), 0.5F);
  return c;
}

TEST(QnnMapping, ConvolutionWithItsActivation) {
  Conv c = conv3x3();
  const OneOp plain = convolution::model_of(wire::Kind_Convolution, c);
  const Subject subject(plain, {image({1, 2, 5, 5})});
  EXPECT_EQ(subject.both(),
            "%weight f16 3x3x2x3\n"
            "%bias f16 3\n"
            "Conv2d: x0 %weight %bias -> y stride=[2 2] pad_amount=[1 1 1 1]@2x2 dilation=[1 1] group=1\n");
  // Device order [kh, kw, in, out]: first the two inputs of tap (0, 0) for each output.
  const std::vector<float> weight = subject.halves(MappingStyle::mnn, "weight");
  ASSERT_EQ(weight.size(), 54U);
  EXPECT_EQ(std::vector<float>(weight.begin(), weight.begin() + 6), (std::vector<float>{0, 18, 36, 9, 27, 45}));
  EXPECT_EQ(subject.halves(MappingStyle::mnn, "bias"), (std::vector<float>{1, 2, 3}));
  c.fused = Fused::relu6;
  const OneOp fused = convolution::model_of(wire::Kind_Convolution, c);
  EXPECT_EQ(
      Subject(fused, {image({1, 2, 5, 5})}).both(),
      "*ReluTensor f16 1x3x3x3\n"
      "%weight f16 3x3x2x3\n"
      "%bias f16 3\n"
      "Conv2d _conv: x0 %weight %bias -> *ReluTensor stride=[2 2] pad_amount=[1 1 1 1]@2x2 dilation=[1 1] group=1\n"
      "Relu6 _relu: *ReluTensor -> y\n");
}

TEST(QnnMapping, ConvolutionPadsOnlyWhatTheOutputNeeds) {
  Conv c = conv3x3();
  c.h.in = c.w.in = 6;  // stride 2: the last row of padding is not used
  const OneOp listed = convolution::model_of(wire::Kind_Convolution, c);
  EXPECT_NE(Subject(listed, {image({1, 2, 6, 6})}).both().find("pad_amount=[1 0 1 0]"), std::string::npos);
  c.pad = Pad::same;
  const OneOp same = convolution::model_of(wire::Kind_Convolution, c);
  EXPECT_NE(Subject(same, {image({1, 2, 6, 6})}).both().find("pad_amount=[0 1 0 1]"), std::string::npos);
}

TEST(QnnMapping, ConvolutionPadsNothingBehindAnInputThatIsNotUsedUp) {
  Conv c = conv3x3();
  c.h = c.w = {.in = 7, .kernel = 3, .stride = 3, .before = 1, .after = 0};
  const OneOp listed = convolution::model_of(wire::Kind_Convolution, c);
  EXPECT_NE(Subject(listed, {image({1, 2, 7, 7})}).both().find("pad_amount=[1 0 1 0]"), std::string::npos);
  c.h = c.w = {.in = 6, .kernel = 1, .stride = 2};
  c.weight = counting(3 * 2);
  c.pad = Pad::same;
  const OneOp same = convolution::model_of(wire::Kind_Convolution, c);
  const Subject subject(same, {image({1, 2, 6, 6})});
  EXPECT_NE(subject.mnn().find("pad_amount=[0 -1 0 -1]"), std::string::npos) << subject.mnn();
  EXPECT_NE(subject.model().find("pad_amount=[0 0 0 0]"), std::string::npos) << subject.model();
}

TEST(QnnMapping, MnnFoldsTheBatchOfAPointwiseConvolution) {
  const Conv c = pointwise(12, 4, 5);
  const OneOp op = convolution::model_of(wire::Kind_Convolution, c);
  const std::string folded =
      "*InputReshapeTensor f16 1x3x4x4\n"
      "*OutputReshapeTensor f16 1x3x4x5\n"
      "%weight f16 1x1x4x5\n"
      "%bias f16 5\n"
      "Reshape _input_reshape: x0 -> *InputReshapeTensor\n"
      "Conv2d: *InputReshapeTensor %weight %bias -> *OutputReshapeTensor stride=[1 1] pad_amount=[0 0 0 0]@2x2 "
      "dilation=[1 1] group=1\n"
      "Reshape _output_reshape: *OutputReshapeTensor -> y\n";
  EXPECT_EQ(Subject(op, {image({12, 4, 1, 1})}).both(), folded);
  // Over whole images the same shapes are wrong.
  EXPECT_EQ(Subject(op, {image({12, 4, 3, 3})}).mnn(), folded);
  EXPECT_EQ(Subject(op, {image({12, 4, 3, 3})}).model().find("Reshape"), std::string::npos);
}

TEST(QnnMapping, DepthwiseAndGroupedConvolution) {
  Conv c = conv3x3();
  c.group = 2;
  c.in_per_group = c.out_per_group = 1;
  c.weight = counting(18);
  c.bias_values = {1, 2};
  const OneOp depthwise = convolution::model_of(wire::Kind_ConvolutionDepthwise, c);
  const Subject subject(depthwise, {image({1, 2, 5, 5})});
  EXPECT_EQ(subject.both(),
            "%weight f16 3x3x1x2\n"
            "%bias f16 2\n"
            "DepthWiseConv2d: x0 %weight %bias -> y stride=[2 2] pad_amount=[1 1 1 1]@2x2 dilation=[1 1]\n");
  const std::vector<float> weight = subject.halves(MappingStyle::mnn, "weight");
  EXPECT_EQ(std::vector<float>(weight.begin(), weight.begin() + 4), (std::vector<float>{0, 9, 1, 10}));
  const OneOp grouped = convolution::model_of(wire::Kind_Convolution, c);
  EXPECT_NE(Subject(grouped, {image({1, 2, 5, 5})}).both().find("group=2"), std::string::npos);
}

TEST(QnnMapping, MnnDropsActivationAndDilationOfADeconvolution) {
  Conv c{.in_per_group = 1, .out_per_group = 1};
  c.h = {.in = 3, .kernel = 2, .stride = 2, .dilation = 2};
  c.w = {.in = 3, .kernel = 2, .stride = 2, .dilation = 1, .extra = 1};
  c.fused = Fused::relu;
  c.weight = {1, 2, 3, 4};
  c.bias_values = {5};
  const OneOp op = convolution::model_of(wire::Kind_Deconvolution, c);
  const Subject subject(op, {image({1, 1, 3, 3})});
  EXPECT_EQ(
      subject.mnn(),
      "%weight f16 2x2x1x1\n"
      "%bias f16 1\n"
      "TransposeConv2d: x0 %weight %bias -> y stride=[2 2] pad_amount=[0 0 0 0]@2x2 group=1 output_padding=[0 1]\n");
  EXPECT_EQ(subject.model(),
            "*ReluTensor f16 1x7x7x1\n"
            "%weight f16 3x2x1x1\n"
            "%bias f16 1\n"
            "TransposeConv2d _conv: x0 %weight %bias -> *ReluTensor stride=[2 2] pad_amount=[0 0 0 0]@2x2 group=1 "
            "output_padding=[0 1]\n"
            "Relu _relu: *ReluTensor -> y\n");
  EXPECT_EQ(subject.halves(MappingStyle::model, "weight"), (std::vector<float>{1, 2, 0, 0, 3, 4}));
}

/// A convolution with symmetric int8 weights: value = alpha * stored.
OneOp integer_conv(int kind, const Conv& c, const std::vector<std::int8_t>& stored, const std::vector<float>& alpha) {
  return OneOp(kind, 1, wire::OpParameter_Convolution2D, [=](Builder& b) {
    wire::Convolution2DCommonBuilder common(b);
    common.add_kernelX(c.w.kernel);
    common.add_kernelY(c.h.kernel);
    common.add_inputCount(c.in_channels());
    common.add_outputCount(c.out_channels());
    common.add_group(c.group);
    common.add_relu(c.fused == Fused::relu);
    const auto common_table = common.Finish();
    std::vector<std::int8_t> buffer(stored);
    const auto bytes = b.CreateVector(buffer);
    const auto scales = b.CreateVector(alpha);
    wire::IDSTQuanBuilder quan(b);
    quan.add_buffer(bytes);
    quan.add_alpha(scales);
    quan.add_type(4);
    quan.add_quantScale(1);
    quan.add_aMin(-128);
    const auto quan_table = quan.Finish();
    const auto bias = b.CreateVector(c.bias_values);
    wire::Convolution2DBuilder main(b);
    main.add_common(common_table);
    main.add_bias(bias);
    main.add_quanParameter(quan_table);
    return main.Finish().Union();
  });
}

TEST(QnnMapping, IntegerWeightsBesideFloatsBecomeAMatMul) {
  Conv c = pointwise(1, 2, 3);
  c.fused = Fused::relu;
  const OneOp op = integer_conv(wire::Kind_Convolution, c, {1, 2, 3, 4, 5, 60}, {0.5F, 0.25F, 2});
  const Subject subject(op, {image({1, 2, 4, 5})});
  const std::string text =
      "*tempInput f16 20x2\n"
      "*tempOutput f16 20x3\n"
      "*ReluTensor f16 1x4x5x3\n"
      "%quantWeight sfixed8(axis 0) 2x3\n"
      "%bias f16 3\n"
      "Reshape _reshapeInput: x0 -> *tempInput\n"
      "MatMul _MatMul: *tempInput %quantWeight %bias -> *tempOutput transpose_in0=false transpose_in1=false\n"
      "Reshape _reshapeOutput: *tempOutput -> *ReluTensor\n"
      "Relu _relu: *ReluTensor -> y\n";
  EXPECT_EQ(subject.mnn(), text);
  std::string right = text;
  right.replace(right.find("axis 0"), 6, "axis 1");  // one scale per output channel
  EXPECT_EQ(subject.model(), right);
  EXPECT_EQ(subject.values<std::int8_t>(MappingStyle::mnn, "quantWeight"),
            (std::vector<std::int8_t>{1, 3, 5, 2, 4, 60}));
  EXPECT_TRUE(op.op().runs_quantized(DType::sfixed8));
}

TEST(QnnMapping, IntegerConvolutionBetweenFixedPointTensors) {
  Conv c = pointwise(1, 2, 3);
  c.bias_values = {1.19F, -1.19F, 0};
  const OneOp op = integer_conv(wire::Kind_Convolution, c, {1, 2, 3, 4, 5, 60}, {0.5F, 0.25F, 2});
  const Subject subject(op, {fixed({1, 2, 4, 5}, DType::sfixed8, {0.1, 0})},
                        QnnType{DType::sfixed8, QnnEncoding::of_tensor({0.2, 0})});
  EXPECT_EQ(subject.both(),
            "%quantWeight sfixed8(axis 3) 1x1x2x3\n"
            "%bias sfixed32(axis 0) 3\n"
            "Conv2d: x0 %quantWeight %bias -> y stride=[1 1] pad_amount=[0 0 0 0]@2x2 dilation=[1 1] group=1\n");
  // 1.19 / 0.05 = 23.8 and -1.19 / 0.025 = -47.6
  EXPECT_EQ(subject.values<std::int32_t>(MappingStyle::mnn, "bias"), (std::vector<std::int32_t>{23, -47, 0}));
  EXPECT_EQ(subject.values<std::int32_t>(MappingStyle::model, "bias"), (std::vector<std::int32_t>{24, -48, 0}));
  const QnnMapping mapping = subject.map(MappingStyle::mnn).value();
  EXPECT_EQ(mapping.constants.at(0).type.encoding.values, (std::vector<Encoding>{{0.5, 0}, {0.25, 0}, {2, 0}}));
  EXPECT_NEAR(mapping.constants.at(1).type.encoding.values.at(1).scale, 0.025, 1e-9);
}

TEST(QnnMapping, SmallIntegersAreFourBitsAndADepthwiseBiasHasNoScale) {
  Conv c{.group = 2};
  c.h = c.w = {.in = 4, .kernel = 2};
  c.bias_values = {1, 2};
  const OneOp op = integer_conv(wire::Kind_ConvolutionDepthwise, c, {1, 2, 3, 4, -5, -6, -7, -8}, {0.5F, 0.25F});
  const Subject subject(op, {fixed({1, 2, 4, 4}, DType::sfixed8, {0.1, 0})},
                        QnnType{DType::sfixed8, QnnEncoding::of_tensor({0.2, 0})});
  const std::string text = subject.both();
  EXPECT_NE(text.find("%quantWeight sfixed8(4 bit, axis 3) 2x2x1x2\n"), std::string::npos) << text;
  EXPECT_EQ(subject.values<std::int8_t>(MappingStyle::mnn, "quantWeight"),
            (std::vector<std::int8_t>{1, -5, 2, -6, 3, -7, 4, -8}));
  EXPECT_EQ(subject.map(MappingStyle::mnn)->constants.at(1).type.encoding.values.at(0).scale, 0);
  EXPECT_NEAR(subject.map(MappingStyle::model)->constants.at(1).type.encoding.values.at(0).scale, 0.05, 1e-9);
}

TEST(QnnMapping, FloatWeightsBetweenFixedPointTensorsTakeADetour) {
  Conv c = conv3x3();
  c.fused = Fused::relu;
  const OneOp op = convolution::model_of(wire::Kind_Convolution, c);
  const Subject subject(op, {fixed({1, 2, 5, 5}, DType::ufixed16, {0.1, -7})},
                        QnnType{DType::ufixed16, QnnEncoding::of_tensor({0.2, -9})});
  EXPECT_EQ(subject.both(),
            "*DequantInput f16 1x5x5x2\n"
            "*QuantOutput f16 1x3x3x3\n"
            "*ReluTensor f16 1x3x3x3\n"
            "*CastOutput f32 1x3x3x3\n"
            "%weight f16 3x3x2x3\n"
            "%bias f16 3\n"
            "Dequantize _dequant_input: x0 -> *DequantInput\n"
            "Conv2d _conv: *DequantInput %weight %bias -> *ReluTensor stride=[2 2] pad_amount=[1 1 1 1]@2x2 "
            "dilation=[1 1] group=1\n"
            "Relu _relu: *ReluTensor -> *QuantOutput\n"
            "Cast _Cast_Output: *QuantOutput -> *CastOutput\n"
            "Quantize _Quant_Output: *CastOutput -> y\n");
  EXPECT_FALSE(op.op().runs_quantized(DType::ufixed16));
}

// ---- reshaping and moving

OneOp reshape() { return OneOp(wire::Kind_Reshape, 2); }

TEST(QnnMapping, ReshapeTransposesWhereTheLastExtentChanges) {
  const OneOp op = reshape();
  EXPECT_EQ(Subject(op, {data({2, 3, 4}), host_integers({6, 4})}).both(), "Reshape _Reshape: x0 -> y\n");
  EXPECT_EQ(Subject(op, {image({1, 6, 2, 2}), host_integers({1, 24})}).both(),
            "*permute_input f16 1x6x2x2\n"
            "Transpose _input_transpose: x0 -> *permute_input perm=[0 3 1 2]/_input_transpose\n"
            "Reshape: *permute_input -> y\n");
  EXPECT_EQ(Subject(op, {image({1, 6, 2, 2}), host_integers({1, 3, 8, 1})}).both(),
            "*permute_input f16 1x6x2x2\n"
            "*permute_output f16 1x3x8x1\n"
            "Transpose _input_transpose: x0 -> *permute_input perm=[0 3 1 2]/_input_transpose\n"
            "Reshape: *permute_input -> *permute_output\n"
            "Transpose _output_transpose: *permute_output -> y perm=[0 2 3 1]/_output_transpose\n");
  EXPECT_EQ(Subject(op, {image({1, 10, 1, 1}), host_integers({1, 10})}).both(), "Reshape _Reshape: x0 -> y\n");
}

TEST(QnnMapping, MnnTakesEqualChannelsForUntouchedOnes) {
  const OneOp op = reshape();
  const Subject mixed(op, {image({2, 6, 8, 10}), host_integers({1, 6, 16, 10})});
  EXPECT_EQ(mixed.mnn(), "Reshape _Reshape: x0 -> y\n");
  EXPECT_NE(mixed.model().find("_input_transpose"), std::string::npos);
}

TEST(QnnMapping, PermutationsAreRemappedByTheModelStyleAlone) {
  const OneOp op(wire::Kind_Permute, 1, wire::OpParameter_Permute, [](Builder& b) {
    const std::vector<int> dims{0, 1, 3, 2};
    return wire::CreatePermuteDirect(b, &dims).Union();
  });
  EXPECT_EQ(Subject(op, {data({1, 2, 3, 4})}).both(), "Transpose: x0 -> y perm=[0 1 3 2]\n");
  EXPECT_EQ(Subject(op, {image({1, 2, 3, 4})}).mnn(), "Transpose: x0 -> y perm=[0 1 3 2]\n");
  EXPECT_EQ(Subject(op, {image({1, 2, 3, 4})}).model(), "Transpose: x0 -> y perm=[0 2 1 3]\n");
  const OneOp by_operand(wire::Kind_Transpose, 2);
  EXPECT_EQ(Subject(by_operand, {data({2, 3}), host_integers({1, 0})}).both(), "Transpose: x0 -> y perm=[1 0]\n");
}

TEST(QnnMapping, ConvertTensorBetweenLayouts) {
  const auto convert = [](wire::Layout from, wire::Layout to) {
    return OneOp(wire::Kind_ConvertTensor, 1, wire::OpParameter_TensorConvertInfo,
                 [=](Builder& b) { return wire::CreateTensorConvertInfo(b, from, to).Union(); });
  };
  EXPECT_EQ(Subject(convert(wire::Layout_NCHW, wire::Layout_NC4HW4), {data({1, 2, 3, 4})}).both(),
            "Transpose: x0 -> y perm=[0 2 3 1]\n");
  EXPECT_EQ(Subject(convert(wire::Layout_NC4HW4, wire::Layout_NCHW), {image({1, 2, 3, 4})}).both(),
            "Transpose: x0 -> y perm=[0 3 1 2]\n");
  EXPECT_EQ(Subject(convert(wire::Layout_NC4HW4, wire::Layout_NCHW), {data({1, 2})}).mnn(),
            "Transpose: x0 -> y perm=[0 1]\n");
  EXPECT_EQ(Subject(convert(wire::Layout_NC4HW4, wire::Layout_NCHW), {data({1, 2})}).model(), "Reshape: x0 -> y\n");
  EXPECT_EQ(Subject(convert(wire::Layout_NCHW, wire::Layout_NC4HW4), {data({2})}).mnn(), "crash\n");
}

TEST(QnnMapping, GatherTakesItsAxisFromTheThirdOperand) {
  const OneOp op(wire::Kind_GatherV2, 3);
  EXPECT_EQ(Subject(op, {data({2, 3}), host_integers({0, 2}), scalar(-1)}).both(),
            "Gather _Gather: x0 x1 -> y axis=i1\n");
  EXPECT_EQ(Subject(op, {data({2, 3}), scalar(2), scalar(-1)}).both(),
            "*stageOutput f16 2x1\n"
            "Gather _Gather: x0 x1 -> *stageOutput axis=i1\n"
            "Reshape _Reshape: *stageOutput -> y\n");
  EXPECT_EQ(Subject(op, {data({2, 3}), host_integers({0})}).mnn(), "crash\n");
  const OneOp elements(wire::Kind_GatherElements, 3);
  EXPECT_EQ(Subject(elements, {data({2, 3}), numbers({2, 2}), scalar(-1)}).both(),
            "GatherElements _Gather: x0 x1 -> y axis=1\n");
  const OneOp old(wire::Kind_Gather, 2);
  EXPECT_EQ(Subject(old, {data({2, 3}), host_integers({0})}).mnn(), "unregistered\n");
}

TEST(QnnMapping, PaddingKeepsTheModelsOrderAndForgetsModeAndValueInMnn) {
  const auto pad = [](wire::PadKind mode) {
    return OneOp(wire::Kind_Padding, 3, wire::OpParameter_PadParam,
                 [mode](Builder& b) { return wire::CreatePadParam(b, mode).Union(); });
  };
  const OneOp constant = pad(wire::PadKind_CONSTANT);
  const Subject subject(constant,
                        {image({1, 2, 5, 5}), host_integers({0, 0, 3, 4, 1, 2, 0, 0}), host(floats({1}, {1.5F}))});
  EXPECT_EQ(subject.mnn(), "Pad: x0 -> y scheme=0 pad_amount=[0 0 3 4 1 2 0 0]@4x2\n");
  EXPECT_EQ(subject.model(), "Pad: x0 -> y scheme=0 pad_amount=[0 0 1 2 0 0 3 4]@4x2 pad_constant_value=f1.5\n");
  const OneOp reflect = pad(wire::PadKind_REFLECT);
  EXPECT_EQ(Subject(reflect, {data({3}), host_integers({1, 1})}).mnn(), "Pad: x0 -> y scheme=0 pad_amount=[1 1]@1x2\n");
  EXPECT_EQ(Subject(reflect, {data({3}), host_integers({1, 1})}).model(),
            "Pad: x0 -> y scheme=2 pad_amount=[1 1]@1x2\n");
}

// ---- windows and resizing

struct PoolSpec {
  wire::PoolKind kind = wire::PoolKind_MAXPOOL;
  wire::PoolPad pad = wire::PoolPad_CAFFE;
  bool ceil = false, global = false;
  std::vector<int> pads = {};
  wire::AvgCount count = wire::AvgCount_DEFAULT;
  int kernel = 3, stride = 2;
};

OneOp pool(const PoolSpec& s) {
  return OneOp(wire::Kind_Pooling, 1, wire::OpParameter_Pool, [s](Builder& b) {
    const auto pads = b.CreateVector(s.pads);
    wire::PoolBuilder p(b);
    p.add_type(s.kind);
    p.add_padType(s.pad);
    p.add_ceilModel(s.ceil);
    p.add_isGlobal(s.global);
    if (!s.pads.empty()) p.add_pads(pads);
    p.add_countType(s.count);
    p.add_kernelX(s.kernel);
    p.add_kernelY(s.kernel);
    p.add_strideX(s.stride);
    p.add_strideY(s.stride);
    return p.Finish().Union();
  });
}

TEST(QnnMapping, PoolingWindows) {
  EXPECT_EQ(Subject(pool({.pads = {1, 0, 1, 2}}), {image({1, 2, 7, 7})}).both(),
            "PoolMax2d: x0 -> y filter_size=[3 3] stride=[2 2] pad_amount=[1 1 0 2]@2x2 rounding_mode=0\n");
  EXPECT_EQ(Subject(pool({.kind = wire::PoolKind_AVEPOOL, .global = true}), {image({1, 2, 7, 5})}).both(),
            "PoolAvg2d: x0 -> y filter_size=[7 5] stride=[7 5] pad_amount=[0 0 0 0]@2x2 count_pad_for_edges=false "
            "rounding_mode=0\n");
  EXPECT_EQ(Subject(pool({.pad = wire::PoolPad_SAME}), {image({1, 2, 6, 6})}).both(),
            "PoolMax2d: x0 -> y filter_size=[3 3] stride=[2 2] pad_amount=[0 1 0 1]@2x2 rounding_mode=1\n");
  // A stride beyond the window leaves a cell out.
  EXPECT_EQ(Subject(pool({.pad = wire::PoolPad_SAME, .kernel = 1}), {image({1, 2, 6, 6})}).both(),
            "PoolMax2d: x0 -> y filter_size=[1 1] stride=[2 2] pad_amount=[0 -1 0 -1]@2x2 rounding_mode=1\n");
  const OneOp global3d(wire::Kind_Pooling3D, 1, wire::OpParameter_Pool3D, [](Builder& b) {
    wire::Pool3DBuilder p(b);
    p.add_type(wire::PoolKind_AVEPOOL);
    p.add_isGlobal(true);
    return p.Finish().Union();
  });
  EXPECT_NE(Subject(global3d, {image({1, 2, 7, 5})}).both().find("filter_size=[7 5] stride=[7 5]"), std::string::npos);
  EXPECT_EQ(Subject(global3d, {image({1, 2, 3, 4, 5})}).mnn(), "encode_error\n");
  EXPECT_EQ(Subject(global3d, {image({1, 2, 3, 4, 5})}).model(),
            "*plane f16 1x1x60x2\n"
            "*pooled f16 1x1x1x2\n"
            "Reshape _to_plane: x0 -> *plane\n"
            "PoolAvg2d: *plane -> *pooled filter_size=[1 60] stride=[1 60] pad_amount=[0 0 0 0]@2x2 "
            "count_pad_for_edges=false rounding_mode=0\n"
            "Reshape _from_plane: *pooled -> y\n");
}

TEST(QnnMapping, MnnTakesExcludePaddingForItsOpposite) {
  const auto counts = [](wire::AvgCount count, std::vector<int> pads) {
    const OneOp op = pool({.kind = wire::PoolKind_AVEPOOL, .pads = std::move(pads), .count = count});
    const Subject subject(op, {image({1, 2, 7, 7})});
    const auto flag_of = [](const std::string& text) {
      return text.find("count_pad_for_edges=true") != std::string::npos;
    };
    return std::pair(flag_of(subject.mnn()), flag_of(subject.model()));
  };
  EXPECT_EQ(counts(wire::AvgCount_EXCLUDE_PADDING, {1, 1, 1, 1}), std::pair(true, false));
  EXPECT_EQ(counts(wire::AvgCount_INCLUDE_PADDING, {1, 1, 1, 1}), std::pair(true, true));
  EXPECT_EQ(counts(wire::AvgCount_DEFAULT, {1, 1, 1, 1}), std::pair(false, false));
  EXPECT_EQ(counts(wire::AvgCount_DEFAULT, {}), std::pair(false, true));
}

OneOp interp(int type, wire::Ctm mode, int inputs = 2) {
  return OneOp(wire::Kind_Interp, inputs, wire::OpParameter_Interp, [=](Builder& b) {
    wire::InterpBuilder p(b);
    p.add_resizeType(type);
    p.add_ctm(mode);
    return p.Finish().Union();
  });
}

TEST(QnnMapping, InterpByIntegerFactorsIsANode) {
  const OneOp bilinear = interp(2, wire::Ctm_HalfPixels);
  EXPECT_EQ(Subject(bilinear, {image({1, 2, 3, 4}), host_integers({6, 8})}).both(),
            "ResizeBilinear: x0 -> y align_corners=false half_pixel_centers=true antialias=false\n");
  const OneOp nearest = interp(1, wire::Ctm_Asymmetric);
  EXPECT_EQ(Subject(nearest, {image({1, 2, 3, 4}), host_integers({6, 8})}).both(),
            "ResizeNearestNeighbor: x0 -> y align_corners=false half_pixel_centers=false\n");
}

TEST(QnnMapping, CubicParametersHaveOtherTypesInMnn) {
  const auto cubic = [](wire::Ctm mode) {
    const OneOp op = interp(3, mode);
    const Subject subject(op, {image({1, 2, 3, 4}), host_integers({6, 8})});
    return std::pair(subject.mnn(), subject.model());
  };
  const auto node = [](int mode, const char* exclude) {
    return fmt::format(
        "Resize: x0 -> y interpolation_mode=2 transformation_mode={} exclude_outside={} cubic_coeff=f-0.75\n", mode,
        exclude);
  };
  EXPECT_EQ(cubic(wire::Ctm_Asymmetric), std::pair(node(3, "0"), node(3, "false")));
  EXPECT_EQ(cubic(wire::Ctm_AlignCorners), std::pair(node(2, "0"), node(2, "false")));
  // Left of the first pixel MNN's CPU, whose result is what a model means, takes other positions than QNN.
  const auto [mnn, model] = cubic(wire::Ctm_PytorchHalfPixels);
  EXPECT_EQ(mnn, node(1, "0"));
  EXPECT_NE(model.find("Gather _rows_3_gather"), std::string::npos) << model;
}

TEST(QnnMapping, AScaleThatQnnDoesNotKnowIsGathered) {
  // 9 * 0.7 = 6.3: six positions, but steps of 1/0.7 and not 9/6.
  const OneOp op = interp(1, wire::Ctm_Asymmetric);
  const Subject subject(op, {image({1, 2, 9, 4}), host(floats({2}, {0.7F, 2.0F}))});
  EXPECT_EQ(subject.mnn(), "ResizeNearestNeighbor: x0 -> y align_corners=false half_pixel_centers=false\n");
  EXPECT_EQ(subject.model(),
            "*rows_0_gathered f16 1x6x4x2\n"
            "%rows_0_positions i32 6\n"
            "%columns_0_positions i32 8\n"
            "Gather _rows_0_gather: x0 %rows_0_positions -> *rows_0_gathered axis=i1\n"
            "Gather _columns_0_gather: *rows_0_gathered %columns_0_positions -> y axis=i2\n");
  EXPECT_EQ(subject.values<std::int32_t>(MappingStyle::model, "rows_0_positions"),
            (std::vector<std::int32_t>{0, 1, 2, 4, 5, 7}));
  EXPECT_EQ(subject.values<std::int32_t>(MappingStyle::model, "columns_0_positions"),
            (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(QnnMapping, ABilinearScaleIsGatheredAndWeighted) {
  const OneOp op = interp(2, wire::Ctm_Asymmetric);
  const Subject subject(op, {image({1, 2, 5, 4}), host(floats({2}, {1.5F, 2.0F}))});
  const std::string text = subject.model();
  EXPECT_NE(text.find("ElementWiseAdd _rows_1_add: *rows_0_weighted *rows_1_weighted -> *rows_1_sum\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ElementWiseAdd _columns_1_add: *columns_0_weighted *columns_1_weighted -> y\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("%rows_0_weights f16 1x7x1x1\n"), std::string::npos) << text;
  const std::vector<float> first = subject.halves(MappingStyle::model, "rows_0_weights");
  const std::vector<float> second = subject.halves(MappingStyle::model, "rows_1_weights");
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i] + second[i], 1, 2e-3) << i;
}

// ---- along axes

TEST(QnnMapping, LayerNormWorksOnTheLastAxis) {
  const OneOp last = model_of(Norm{.axes = {-1}, .gamma = {1, 2, 3}, .beta = {4, 5, 6}});
  const Subject subject(last, {data({2, 3})});
  EXPECT_EQ(subject.both(),
            "%gamma f16 3\n"
            "%beta f16 3\n"
            "LayerNorm: x0 %gamma %beta -> y epsilon=f1e-05 axes=[1]\n");
  EXPECT_TRUE(subject.map(MappingStyle::mnn)->named_by_counters);
  EXPECT_EQ(subject.halves(MappingStyle::mnn, "beta"), (std::vector<float>{4, 5, 6}));
  const OneOp inner = model_of(Norm{.axes = {1}, .rms = true});
  EXPECT_EQ(Subject(inner, {data({2, 3, 4})}).both(),
            "*tempInput f16 2x4x3\n"
            "*tempOutput f16 2x4x3\n"
            "%gamma f16 3\n"
            "%beta f16 3\n"
            "Transpose _before: x0 -> *tempInput perm=[0 2 1]/before\n"
            "RmsNorm _norm: *tempInput %gamma %beta -> *tempOutput epsilon=f1e-05 axes=[2]\n"
            "Transpose _after: *tempOutput -> y perm=[0 2 1]/after\n");
  const OneOp two = model_of(Norm{.axes = {1, 2}});
  EXPECT_EQ(Subject(two, {data({2, 3, 4})}).mnn(), "refused\n");
  EXPECT_EQ(Subject(two, {data({2, 3, 4})}).model(),
            "*merged f16 2x12\n"
            "*normalised f16 2x12\n"
            "%gamma f16 12\n"
            "%beta f16 12\n"
            "Reshape _before: x0 -> *merged\n"
            "LayerNorm _norm: *merged %gamma %beta -> *normalised epsilon=f1e-05 axes=[1]\n"
            "Reshape _after: *normalised -> y\n");
  EXPECT_TRUE(last.op().runs_quantized(DType::ufixed16));
  EXPECT_FALSE(last.op().runs_quantized(DType::sfixed8));
}

TEST(QnnMapping, LayerNormConstantsBesideFixedPointData) {
  const OneOp op = model_of(Norm{.axes = {-1}, .gamma = {-1, 0, 1}, .beta = {2, 2, 2}});
  const Subject subject(op, {fixed({2, 3}, DType::ufixed16, {0.1, -7})});
  const QnnMapping mapping = subject.map(MappingStyle::mnn).value();
  const Encoding gamma = mapping.constants.at(0).type.encoding.values.at(0);
  EXPECT_NEAR(gamma.scale, 2.0 / 65535, 1e-12);
  EXPECT_EQ(gamma.offset, -32768);
  const std::vector<std::uint16_t> stored = subject.values<std::uint16_t>(MappingStyle::mnn, "gamma");
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR((stored[k] + gamma.offset) * gamma.scale, static_cast<double>(k) - 1, gamma.scale);
  EXPECT_EQ(subject.values<std::uint16_t>(MappingStyle::mnn, "beta"), (std::vector<std::uint16_t>(3, 65535)));
}

TEST(QnnMapping, SoftmaxSwapsItsAxisWithTheLast) {
  EXPECT_EQ(Subject(with_axis(wire::Kind_Softmax, -1, 1), {data({2, 3})}).both(), "Softmax: x0 -> y axis=1\n");
  EXPECT_EQ(Subject(with_axis(wire::Kind_Softmax, 2, 1), {data({1, 10, 9, 11})}).both(),
            "*stageInput f16 1x10x11x9\n"
            "*stageOutput f16 1x10x11x9\n"
            "Transpose _PermBefore: x0 -> *stageInput perm=[0 1 3 2]/before\n"
            "Softmax _Softmax: *stageInput -> *stageOutput axis=3\n"
            "Transpose _PermAfter: *stageOutput -> y perm=[0 1 3 2]/after\n");
}

OneOp reduction(wire::Red operation, std::vector<int> axes, bool keep) {
  return OneOp(wire::Kind_Reduction, 1, wire::OpParameter_ReductionParam, [=](Builder& b) {
    const auto dims = b.CreateVector(axes);
    wire::ReductionParamBuilder p(b);
    p.add_operation(operation);
    p.add_dim(dims);
    p.add_keepDims(keep);
    return p.Finish().Union();
  });
}

TEST(QnnMapping, ReductionOfTheLastAxisGoesOverTheOneBefore) {
  EXPECT_EQ(Subject(reduction(wire::Red_MEAN, {1, -2}, true), {data({1, 2, 3, 4})}).both(),
            "ReduceMean: x0 -> y axes=[1 2] keep_dims=true\n");
  const OneOp last = reduction(wire::Red_SUM, {3}, false);
  EXPECT_EQ(Subject(last, {data({1, 2, 3, 4})}).mnn(),
            "*reduce_tin f16 1x2x4x3\n"
            "*reduce_tout f16 1x2x1x3\n"
            "Transpose _reduce_transpose_in: x0 -> *reduce_tin perm=[0 1 3 2]\n"
            "ReduceSum _reduce_t: *reduce_tin -> *reduce_tout axes=[2] keep_dims=true\n"
            "Reshape _reduce_reshape_t: *reduce_tout -> y\n");
  EXPECT_EQ(Subject(last, {data({1, 2, 3, 4})}).model(), "ReduceSum: x0 -> y axes=[3] keep_dims=false\n");
  const OneOp all = reduction(wire::Red_MAXIMUM, {}, false);
  EXPECT_EQ(Subject(all, {data({2, 3})}).mnn(), "crash\n");
  EXPECT_EQ(Subject(all, {data({2, 3})}).model(),
            "*kept f16 1x1\n"
            "ReduceMax: x0 -> *kept axes=[0 1] keep_dims=true\n"
            "Reshape _Reshape: *kept -> y\n");
}

TEST(QnnMapping, MatMulTakesOperandsOfOneRank) {
  const OneOp op(wire::Kind_MatMul, 2, wire::OpParameter_MatMul, [](Builder& b) {
    wire::MatMulBuilder p(b);
    p.add_transposeB(true);
    return p.Finish().Union();
  });
  EXPECT_EQ(Subject(op, {data({2, 3, 4}), data({2, 5, 4})}).both(),
            "MatMul: x0 x1 -> y transpose_in0=false transpose_in1=true\n");
  EXPECT_EQ(Subject(op, {data({2, 3, 4}), data({5, 4})}).mnn(), "refused\n");
  EXPECT_EQ(Subject(op, {data({2, 3, 4}), data({5, 4})}).model(),
            "*reshape_1 f16 1x5x4\n"
            "Reshape _reshape_1: x1 -> *reshape_1\n"
            "MatMul: x0 *reshape_1 -> y transpose_in0=false transpose_in1=true\n");
}

TEST(QnnMapping, TopKSearchesTheLastAxisInMnn) {
  const OneOp op(
      wire::Kind_TopKV2, 3, wire::OpParameter_TopKV2, [](Builder& b) { return wire::CreateTopKV2(b).Union(); }, 2);
  EXPECT_EQ(Subject(op, {data({2, 7}), host_integers({3}), host_integers({-1})}).mnn(),
            "TopK: x0 -> y y1 k=7 largest=true\n");
  EXPECT_EQ(Subject(op, {data({2, 7}), host_integers({3}), host_integers({-1})}).model(),
            "TopK: x0 -> y y1 k=3 largest=true\n");
  EXPECT_EQ(Subject(op, {data({5, 7}), host_integers({3}), host_integers({0})}).model(),
            "*swapped f16 7x5\n"
            "*values f16 7x3\n"
            "*places i32 7x3\n"
            "Transpose _before: x0 -> *swapped perm=[1 0]/before\n"
            "TopK: *swapped -> *values *places k=3 largest=true\n"
            "Transpose _values_after: *values -> y perm=[1 0]/_values_after\n"
            "Transpose _places_after: *places -> y1 perm=[1 0]/_places_after\n");
}

TEST(QnnMapping, SlicePartsInDeviceOrder) {
  const OneOp op(
      wire::Kind_Slice, 1, wire::OpParameter_Slice,
      [](Builder& b) {
        const auto points = b.CreateVector(std::vector<int>{2, 3});
        wire::SliceBuilder p(b);
        p.add_axis(1);
        p.add_slicePoints(points);
        p.add_sourceType(wire::Source_ONNX);
        return p.Finish().Union();
      },
      2);
  EXPECT_EQ(Subject(op, {image({1, 5, 6, 7})}).both(),
            "StridedSlice _part0: x0 -> y ranges=i[0 1 1 0 6 1 0 7 1 0 2 1]/0@4x3\n"
            "StridedSlice _part1: x0 -> y1 ranges=i[0 1 1 0 6 1 0 7 1 2 5 1]/1@4x3\n");
}

TEST(QnnMapping, StridedSliceIsClippedInMnn) {
  const OneOp op(wire::Kind_StridedSlice, 5, wire::OpParameter_StridedSliceParam, [](Builder& b) {
    wire::StridedSliceParamBuilder p(b);
    p.add_fromType(1);
    return p.Finish().Union();
  });
  const auto cut = [&op](const Given& x, int begin, int end, int step) {
    return Subject(op, {x, host_integers({begin}), host_integers({end}), host_integers({1}), host_integers({step})});
  };
  const std::string masks = " begin_mask=0 end_mask=0 shrink_axes=0 new_axes_mask=0\n";
  EXPECT_EQ(cut(data({2, 8}), 1, 1000, 2).both(), "StridedSlice: x0 -> y ranges=i[0 2 1 1 8 2]@2x3" + masks);
  EXPECT_EQ(cut(data({2, 8}), -3, 1000, 1).mnn(), "StridedSlice: x0 -> y ranges=i[0 2 1 0 8 1]@2x3" + masks);
  EXPECT_EQ(cut(data({2, 8}), -3, 1000, 1).model(), "StridedSlice: x0 -> y ranges=i[0 2 1 5 8 1]@2x3" + masks);
  EXPECT_EQ(cut(data({2, 8}), 7, -1000, -1).mnn(), "StridedSlice: x0 -> y ranges=i[0 2 1 7 1 -1]@2x3" + masks);
  EXPECT_EQ(cut(data({2, 8}), 7, -1000, -1).model(),
            "StridedSlice: x0 -> y ranges=i[0 2 1 7 0 -1]@2x3 begin_mask=0 end_mask=2 shrink_axes=0 new_axes_mask=0\n");
  EXPECT_EQ(cut(image({1, 8, 5, 6}), 2, 4, 1).mnn(), "encode_error\n");
  EXPECT_EQ(cut(image({1, 8, 5, 6}), 2, 4, 1).model(),
            "StridedSlice: x0 -> y ranges=i[0 1 1 0 5 1 0 6 1 2 4 1]@4x3" + masks);
  EXPECT_EQ(Subject(op, {data({2, 8}), host_integers({1}), host_integers({3}), host_integers({1})}).mnn(), "refused\n");
}

TEST(QnnMapping, ASliceThatDropsAnAxisIsReshaped) {
  const OneOp op(wire::Kind_StridedSlice, 4, wire::OpParameter_StridedSliceParam, [](Builder& b) {
    wire::StridedSliceParamBuilder p(b);
    p.add_shrinkAxisMask(1);
    p.add_endMask(2);
    return p.Finish().Union();
  });
  const Subject subject(op, {data({4, 8}), host_integers({1, 2}), host_integers({2, 0}), host_integers({1, 1})});
  EXPECT_EQ(subject.mnn(),
            "StridedSlice: x0 -> y ranges=i[1 2 1 2 1 1]@2x3 begin_mask=0 end_mask=2 shrink_axes=1 new_axes_mask=0\n");
  EXPECT_EQ(subject.model(),
            "*window f16 1x6\n"
            "StridedSlice: x0 -> *window ranges=i[1 2 1 2 8 1]@2x3 begin_mask=0 end_mask=0 shrink_axes=0 "
            "new_axes_mask=0\n"
            "Reshape _Reshape: *window -> y\n");
}

TEST(QnnMapping, UnaryFunctions) {
  EXPECT_EQ(Subject(unary(wire::Un_EXP), {data({2})}).both(), "ElementWiseExp: x0 -> y\n");
  EXPECT_EQ(Subject(unary(wire::Un_GELU_STANDARD), {data({2})}).both(), "Gelu: x0 -> y\n");
  EXPECT_EQ(Subject(unary(wire::Un_SQUARE), {data({2})}).both(), "ElementWiseMultiply: x0 x0 -> y\n");
  EXPECT_EQ(Subject(unary(wire::Un_SILU), {data({2})}).both(),
            "*Stage f16 2\n"
            "Sigmoid Sigmoid__: x0 -> *Stage\n"
            "ElementWiseMultiply ElementWiseMultiply__: x0 *Stage -> y\n");
  EXPECT_EQ(Subject(unary(wire::Un_ERF), {data({2})}).both(), "refused\n");
  EXPECT_EQ(Subject(unary(wire::Un_CEIL), {data({2})}).mnn(), "refused\n");
  EXPECT_EQ(Subject(unary(wire::Un_CEIL), {data({2})}).model(), "ElementWiseCeil: x0 -> y\n");
}

TEST(QnnMapping, ScaleIsAProductAndASum) {
  const auto scale = [](bool bias) {
    return OneOp(wire::Kind_Scale, 1, wire::OpParameter_Scale, [bias](Builder& b) {
      const std::vector<float> scales{1, 2, 3};
      const std::vector<float> biases{4, 5, 6};
      return wire::CreateScaleDirect(b, 3, &scales, bias ? &biases : nullptr).Union();
    });
  };
  const OneOp with_bias = scale(true);
  const Subject subject(with_bias, {image({1, 3, 4, 5})});
  EXPECT_EQ(subject.both(),
            "*Stage f16 1x4x5x3\n"
            "%weight f16 3\n"
            "%bias f16 3\n"
            "ElementWiseMultiply _mul: x0 %weight -> *Stage\n"
            "ElementWiseAdd _add: *Stage %bias -> y\n");
  EXPECT_TRUE(subject.map(MappingStyle::mnn)->named_by_counters);
  EXPECT_FALSE(with_bias.op().runs_quantized(DType::sfixed8));
  const OneOp without = scale(false);
  EXPECT_EQ(Subject(without, {image({1, 3, 4, 5})}).mnn(), "crash\n");
  EXPECT_EQ(Subject(without, {image({1, 3, 4, 5})}).model(),
            "%weight f16 3\nElementWiseMultiply _mul: x0 %weight -> y\n");
}

TEST(QnnMapping, QuantizingGoesThroughFloat32) {
  EXPECT_EQ(Subject(OneOp(wire::Kind_FloatToInt8, 1), {image({1, 2, 3, 4})},
                    QnnType{DType::sfixed8, QnnEncoding::of_tensor({0.5, 0})})
                .both(),
            "*Cast f32 1x3x4x2\n"
            "Cast _Cast: x0 -> *Cast\n"
            "Quantize: *Cast -> y\n");
  EXPECT_EQ(Subject(OneOp(wire::Kind_Int8ToFloat, 1), {fixed({1, 2, 3, 4}, DType::sfixed8, {0.5, 0})}).both(),
            "Dequantize: x0 -> y\n");
}

OneOp attention(float scale, bool cache, int inputs) {
  return OneOp(wire::Kind_Attention, inputs, wire::OpParameter_AttentionParam, [=](Builder& b) {
    wire::AttentionParamBuilder p(b);
    p.add_kv_cache(cache);
    p.add_attnScale(scale);
    return p.Finish().Union();
  });
}

TEST(QnnMapping, AttentionChain) {
  const OneOp op = attention(0.125F, false, 4);
  const Subject subject(op, {data({1, 3, 4, 16}), data({1, 5, 2, 16}), data({1, 5, 2, 16}), data({1, 1, 3, 5})});
  const std::string text = subject.mnn();
  std::string nodes;
  const QnnMapping mapping = subject.map(MappingStyle::mnn).value();
  for (const QnnNode& node : mapping.nodes) nodes += node.suffix + " ";
  EXPECT_EQ(
      nodes,
      "_Transpose_query _Transpose_key _Transpose_value _Scale _K_Split _K_Concat _MatMul_QK _Mask_Reshape _Mask_Add "
      "_Softmax _V_Split _V_Concat _MatMul_QKV _Transpose _Reshape ");
  EXPECT_NE(text.find("*Key_perm f16 1x2x5x16\n"), std::string::npos);
  EXPECT_NE(text.find("Split _K_Split: *Key_perm -> *SplitK_Temp0 *SplitK_Temp1 axis=1 split_index=[1]/K\n"),
            std::string::npos);
  EXPECT_NE(
      text.find("Concat _K_Concat: *SplitK_Temp0 *SplitK_Temp0 *SplitK_Temp1 *SplitK_Temp1 -> *RepeatedKey axis=1\n"),
      std::string::npos);
  // MNN does not look at the model's scale.
  EXPECT_EQ(subject.halves(MappingStyle::mnn, "coef"), std::vector<float>{0.25F});
  EXPECT_EQ(subject.halves(MappingStyle::model, "coef"), std::vector<float>{0.125F});
}

TEST(QnnMapping, AnAttentionWithoutMaskIsCausal) {
  const OneOp op = attention(0, false, 3);
  const Subject subject(op, {data({1, 2, 1, 4}), data({1, 3, 1, 4}), data({1, 3, 1, 4})});
  EXPECT_EQ(subject.mnn().find("_Mask_Add"), std::string::npos);
  EXPECT_NE(subject.model().find("ElementWiseAdd _Mask_Add: *QK %causal -> *maskResult\n"), std::string::npos);
  const std::vector<float> mask = subject.halves(MappingStyle::model, "causal");
  ASSERT_EQ(mask.size(), 6U);
  EXPECT_EQ(std::vector<bool>({mask[0] < 0, mask[1] < 0, mask[2] < 0, mask[3] < 0, mask[4] < 0, mask[5] < 0}),
            std::vector<bool>({false, false, true, false, false, false}));
  const OneOp cached = attention(0, true, 3);
  EXPECT_EQ(Subject(cached, {data({1, 2, 1, 4}), data({1, 3, 1, 4}), data({1, 3, 1, 4})}).mnn(), "not_mapped\n");
}

}  // namespace
}  // namespace qnndbg::test
