#include "faults/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qnndbg::faults {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

using test::Builder;
using test::OpSpec;
using test::Table;

std::vector<int> to_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

OpSpec spec_of(wire::Kind kind, wire::OpParameter main_type, std::function<Table(Builder&)> main) {
  return {.type = kind, .main_type = main_type, .main = std::move(main)};
}

OpSpec convolution_spec(const Convolution& c) {
  const wire::Kind kind = c.kind == ConvKind::convolution ? wire::Kind_Convolution
                          : c.kind == ConvKind::depthwise ? wire::Kind_ConvolutionDepthwise
                                                          : wire::Kind_Deconvolution;
  return spec_of(kind, wire::OpParameter_Convolution2D, [c](Builder& b) {
    const std::vector<int> pads(c.pads.begin(), c.pads.end());
    const auto common = wire::CreateConvolution2DCommonDirect(
        b, 0, 0, c.kernel_w, c.kernel_h, c.stride_w, c.stride_h, c.dilation_w, c.dilation_h, wire::ConvPad_CAFFE,
        c.group, c.out, c.in, c.fused == Fused::relu, c.fused == Fused::relu6, &pads);
    return wire::CreateConvolution2DDirect(b, common, &c.weight, &c.bias).Union();
  });
}

OpSpec pool_spec(const Pool& p) {
  return spec_of(wire::Kind_Pooling, wire::OpParameter_Pool, [p](Builder& b) {
    const std::vector<int> pads(p.pads.begin(), p.pads.end());
    return wire::CreatePoolDirect(b, 0, 0, p.global, p.kernel_w, p.kernel_h, p.stride_w, p.stride_h,
                                  p.average ? wire::PoolKind_AVEPOOL : wire::PoolKind_MAXPOOL, wire::PoolPad_CAFFE,
                                  wire::DType_DT_FLOAT, p.ceil, &pads,
                                  p.count_padding ? wire::AvgCount_INCLUDE_PADDING : wire::AvgCount_EXCLUDE_PADDING)
        .Union();
  });
}

OpSpec constant_spec(const Constant& c) {
  return spec_of(wire::Kind_Const, wire::OpParameter_Blob, [c](Builder& b) {
    const std::vector<int> dims = to_ints(c.dims);
    const bool integers = !c.ints.empty();
    return wire::CreateBlobDirect(b, &dims, wire::Layout_NCHW, integers ? wire::DType_DT_INT32 : wire::DType_DT_FLOAT,
                                  nullptr, nullptr, integers ? &c.ints : nullptr, nullptr,
                                  integers ? nullptr : &c.floats)
        .Union();
  });
}

OpSpec layer_norm_spec(const LayerNorm& l) {
  return spec_of(wire::Kind_LayerNorm, wire::OpParameter_LayerNorm, [l](Builder& b) {
    return wire::CreateLayerNormDirect(b, &l.axes, l.epsilon, &l.gamma, &l.beta).Union();
  });
}

OpSpec spec_of(const Parameters& parameters) {
  return std::visit(
      Overloaded{
          [](const Input& i) { return test::input_op("", 0, to_ints(i.dims)); },
          [](const Constant& c) { return constant_spec(c); },
          [](const Convolution& c) { return convolution_spec(c); },
          [](const Pool& p) { return pool_spec(p); },
          [](const Interp& i) {
            return spec_of(wire::Kind_Interp, wire::OpParameter_Interp, [i](Builder& b) {
              return wire::CreateInterp(b, 0, 0, i.out_w, i.out_h, i.method, i.mode == wire::Ctm_AlignCorners,
                                        i.mode == wire::Ctm_HalfPixels, 0, 0, -0.75F, i.mode)
                  .Union();
            });
          },
          [](const Binary& p) {
            return spec_of(wire::Kind_BinaryOp, wire::OpParameter_BinaryOp, [p](Builder& b) {
              return wire::CreateBinaryOp(b, p.operation, wire::DType_DT_FLOAT, p.relu ? 1 : 0).Union();
            });
          },
          [](const Unary& p) {
            return spec_of(wire::Kind_UnaryOp, wire::OpParameter_UnaryOp, [p](Builder& b) {
              return wire::CreateUnaryOp(b, p.function, wire::DType_DT_FLOAT).Union();
            });
          },
          [](const Relu& p) {
            return spec_of(wire::Kind_ReLU, wire::OpParameter_Relu,
                           [p](Builder& b) { return wire::CreateRelu(b, p.slope).Union(); });
          },
          [](const Relu6& p) {
            return spec_of(wire::Kind_ReLU6, wire::OpParameter_Relu6,
                           [p](Builder& b) { return wire::CreateRelu6(b, p.low, p.high).Union(); });
          },
          [](const Prelu& p) {
            return spec_of(wire::Kind_PReLU, wire::OpParameter_PRelu, [p](Builder& b) {
              return wire::CreatePReluDirect(b, static_cast<int>(p.slope.size()), &p.slope).Union();
            });
          },
          [](const Elu& p) {
            return spec_of(wire::Kind_ELU, wire::OpParameter_ELU,
                           [p](Builder& b) { return wire::CreateELU(b, p.alpha).Union(); });
          },
          [](const Scale& p) {
            return spec_of(wire::Kind_Scale, wire::OpParameter_Scale, [p](Builder& b) {
              return wire::CreateScaleDirect(b, static_cast<int>(p.scale.size()), &p.scale, &p.bias).Union();
            });
          },
          [](const LayerNorm& l) { return layer_norm_spec(l); },
          [](const Softmax& p) {
            return spec_of(wire::Kind_Softmax, wire::OpParameter_Axis,
                           [p](Builder& b) { return wire::CreateAxis(b, p.axis).Union(); });
          },
          [](const Concat& p) {
            return spec_of(wire::Kind_Concat, wire::OpParameter_Axis,
                           [p](Builder& b) { return wire::CreateAxis(b, p.axis).Union(); });
          },
          [](const Reduction& p) {
            return spec_of(wire::Kind_Reduction, wire::OpParameter_ReductionParam, [p](Builder& b) {
              return wire::CreateReductionParamDirect(b, p.operation, &p.axes, 1, p.keep_dims).Union();
            });
          },
          [](const MatMul& p) {
            return spec_of(wire::Kind_MatMul, wire::OpParameter_MatMul, [p](Builder& b) {
              return wire::CreateMatMulDirect(b, wire::DType_DT_FLOAT, p.transpose_a, p.transpose_b).Union();
            });
          },
          [](const Reshape& p) {
            return spec_of(wire::Kind_Reshape, wire::OpParameter_Reshape,
                           [p](Builder& b) { return wire::CreateReshapeDirect(b, &p.dims).Union(); });
          },
          [](const Permute& p) {
            return spec_of(wire::Kind_Permute, wire::OpParameter_Permute,
                           [p](Builder& b) { return wire::CreatePermuteDirect(b, &p.order).Union(); });
          },
          [](const Flatten& p) {
            return spec_of(wire::Kind_Flatten, wire::OpParameter_Flatten,
                           [p](Builder& b) { return wire::CreateFlatten(b, p.axis, 0).Union(); });
          },
          [](const Squeeze& p) {
            return spec_of(wire::Kind_Squeeze, wire::OpParameter_SqueezeParam,
                           [p](Builder& b) { return wire::CreateSqueezeParamDirect(b, &p.axes).Union(); });
          },
          [](const Split& p) {
            return spec_of(wire::Kind_Slice, wire::OpParameter_Slice, [p](Builder& b) {
              return wire::CreateSliceDirect(b, p.axis, &p.sizes, wire::Source_TORCH).Union();
            });
          },
          [](const StridedSlice&) {
            return spec_of(wire::Kind_StridedSlice, wire::OpParameter_StridedSliceParam, [](Builder& b) {
              return wire::CreateStridedSliceParam(b, wire::DType_DT_INT32, wire::DType_DT_FLOAT, 0, 0, 0, 0, 0, 1)
                  .Union();
            });
          },
          [](const Cast& p) {
            return spec_of(wire::Kind_Cast, wire::OpParameter_CastParam,
                           [p](Builder& b) { return wire::CreateCastParam(b, wire::DType_DT_FLOAT, p.to).Union(); });
          },
          [](const Convert& p) {
            return spec_of(wire::Kind_ConvertTensor, wire::OpParameter_TensorConvertInfo, [p](Builder& b) {
              return wire::CreateTensorConvertInfo(b, p.to_channel_last ? wire::Layout_NCHW : wire::Layout_NC4HW4,
                                                   p.to_channel_last ? wire::Layout_NC4HW4 : wire::Layout_NCHW)
                  .Union();
            });
          },
      },
      parameters);
}

}  // namespace

std::array<std::int64_t, 4> Convolution::weight_dims() const {
  if (kind == ConvKind::deconvolution) return {in, out / group, kernel_h, kernel_w};
  return {out, kind == ConvKind::depthwise ? 1 : in / group, kernel_h, kernel_w};
}

std::vector<int> Network::outputs() const {
  std::vector<bool> read(static_cast<std::size_t>(tensors), false);
  for (const Operator& op : ops) {
    for (int t : op.inputs) read[static_cast<std::size_t>(t)] = true;
  }
  std::vector<int> unread;
  for (const Operator& op : ops) {
    if (std::holds_alternative<Constant>(op.parameters)) continue;
    for (int t : op.outputs) {
      if (!read[static_cast<std::size_t>(t)]) unread.push_back(t);
    }
  }
  return unread;
}

int Network::producer(int tensor) const {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (std::find(ops[i].outputs.begin(), ops[i].outputs.end(), tensor) != ops[i].outputs.end())
      return static_cast<int>(i);
  }
  return -1;
}

std::string type_of(const Operator& op) {
  return wire::EnumNameKind(static_cast<wire::Kind>(spec_of(op.parameters).type));
}

std::string Network::text() const {
  std::string out;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Operator& op = ops[i];
    out += fmt::format("  #{} {} {} (t{}) -> t{}\n", i, type_of(op), op.name, fmt::join(op.inputs, ", t"),
                       fmt::join(op.outputs, ", t"));
  }
  return out;
}

test::ModelBytes to_mnn(const Network& network) {
  test::NetSpec spec;
  for (int t = 0; t < network.tensors; ++t) spec.tensors.push_back(fmt::format("tensor{}", t));
  for (const Operator& op : network.ops) {
    OpSpec one = spec_of(op.parameters);
    one.name = op.name;
    one.inputs = op.inputs;
    one.outputs = op.outputs;
    spec.ops.push_back(std::move(one));
  }
  for (int t : network.outputs()) spec.outputs.push_back(spec.tensors[static_cast<std::size_t>(t)]);
  spec.version = "3.6.1";
  return test::build(spec);
}

}  // namespace qnndbg::faults
