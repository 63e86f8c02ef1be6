#include "faults/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/support/slice_kernel.h"
#include "tensor/half.h"

namespace qnndbg::faults {
namespace {

using Floats = std::vector<float>;
using Tampering = std::function<void(const std::vector<const Tensor*>&, OpRecord&)>;

constexpr std::array kFactors{1.002F, 0.995F, 1.01F, 0.99F, 1.02F, 1.25F, 0.5F, 2.0F};

std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Static tensors as the device has them.
struct Halves {
  HalfRounding rounding = HalfRounding::toward_zero;

  Floats operator()(Floats values) const {
    round_to_half(values, rounding, HalfKind::htp);
    return values;
  }
};

/// Half values multiplied, and rounded to half again.
Floats times(Floats out, float factor) {
  for (float& v : out) v *= factor;
  round_to_half(out, HalfRounding::nearest, HalfKind::htp);
  return out;
}

Floats rolled(Floats values) {
  if (!values.empty()) std::rotate(values.begin(), values.end() - 1, values.end());
  return values;
}
Floats reversed(Floats values) {
  std::reverse(values.begin(), values.end());
  return values;
}
Floats zeros(const Floats& values) { return Floats(values.size(), 0.0F); }

/// Positions of the weights in QNN's order (h, w, in, out) within MNN's (out, in, h, w; deconvolution in, out, h, w).
std::vector<std::size_t> qnn_order(const Convolution& c) {
  const auto d = c.weight_dims();
  std::vector<std::size_t> order;
  const auto [in, out] = c.kind == ConvKind::deconvolution ? std::pair{d[0], d[1]} : std::pair{d[1], d[0]};
  const std::int64_t plane = d[2] * d[3];
  for (std::int64_t tap = 0; tap < plane; ++tap) {
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t o = 0; o < out; ++o) {
        const std::int64_t row = c.kind == ConvKind::deconvolution ? i * out + o : o * in + i;
        order.push_back(u(row * plane + tap));
      }
    }
  }
  return order;
}

/// Weights after `change` worked on them in QNN's order.
template <class F>
Floats changed_in_qnn_order(const Convolution& c, F change) {
  const std::vector<std::size_t> order = qnn_order(c);
  Floats qnn;
  for (std::size_t at : order) qnn.push_back(c.weight[at]);
  qnn = change(std::move(qnn));
  Floats out(c.weight.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[order[k]] = qnn[k];
  return out;
}

Tensor map(const Tensor& x, float (*f)(float)) {
  Tensor y = x.clone();
  for (float& v : y.f32()) v = round_to_htp_half(f(v), true);
  return y;
}

/// Memory of `from`, in the order of a layout, read as if it were in the other.
Tensor misread(const Tensor& from, bool as_channel_last, const Dims& dims) {
  Tensor out = from.clone();
  if (as_channel_last) {
    to_logical_order(from.f32(), from.dims(), Layout::channel_last, out.f32());
  } else {
    to_device_order(from.f32(), from.dims(), Layout::channel_last, out.f32());
  }
  out.reshape(dims);
  return out;
}

bool is_subtraction_or_division(wire::Bin op) {
  return op == wire::Bin_SUB || op == wire::Bin_DIV || op == wire::Bin_REALDIV || op == wire::Bin_POW;
}

struct NamedFunction {
  const char* name;
  Parameters parameters;
};

std::vector<NamedFunction> activation_functions() {
  return {{"ReLU", Relu{}},
          {"ReLU6", Relu6{}},
          {"Sigmoid", Unary{wire::Un_SIGMOID}},
          {"Tanh", Unary{wire::Un_TANH}},
          {"HardSwish", Unary{wire::Un_HARDSWISH}},
          {"Gelu", Unary{wire::Un_GELU}},
          {"Silu", Unary{.function = wire::Un_SILU, .split = false}},
          {"ELU", Elu{}}};
}

float value_at(const Tensor& tensor, std::int64_t i) {
  return tensor.type() == DType::f32 ? tensor.f32()[u(i)] : static_cast<float>(tensor.i32()[u(i)]);
}

bool one_value(const Tensor& tensor) {
  for (std::int64_t i = 1; i < tensor.size(); ++i) {
    if (value_at(tensor, i) != value_at(tensor, 0)) return false;
  }
  return true;
}

class Catalogue {
 public:
  Catalogue(const Program& program, int index, Rng& rng)
      : program_(program),
        network_(program.network()),
        index_(index),
        op_(program.op(index)),
        halves_{program.constants()},
        rng_(rng) {}

  std::vector<Fault> list() {
    if (std::holds_alternative<Input>(op_.parameters)) {
      input_faults();
      return std::move(list_);
    }
    if (std::holds_alternative<Constant>(op_.parameters)) return {};
    std::visit([this](const auto& p) { of(p); }, op_.parameters);
    output_faults();
    return std::move(list_);
  }

 private:
  // --- adding -----------------------------------------------------------------------------------------------------

  Fault& add(std::string cause, std::string what, std::function<void(Network&)> edit) {
    list_.push_back({index_, std::move(cause), std::move(what), {}, std::move(edit)});
    return list_.back();
  }
  /// Edits the parameters, which have type P.
  template <class P, class F>
  Fault& change(std::string cause, std::string what, F f) {
    return add(std::move(cause), std::move(what),
               [f, index = index_](Network& n) { f(std::get<P>(n.ops[u(index)].parameters)); });
  }
  /// Another operator on the same inputs.
  Fault& replace(std::string cause, std::string what, Parameters parameters) {
    return add(std::move(cause), std::move(what), [parameters = std::move(parameters), index = index_](Network& n) {
      n.ops[u(index)].parameters = parameters;
    });
  }
  Fault& rewire(std::string cause, std::string what, std::vector<int> inputs) {
    return add(std::move(cause), std::move(what),
               [inputs = std::move(inputs), index = index_](Network& n) { n.ops[u(index)].inputs = inputs; });
  }
  /// Another value of constant operand `k`.
  Fault& constant(std::string cause, std::string what, int k, Constant value) {
    return add(std::move(cause), std::move(what),
               [value = std::move(value), producer = network_.producer(op_.inputs[u(k)])](Network& n) {
                 n.ops[u(producer)].parameters = value;
               });
  }
  Fault& tamper(std::string cause, std::string what, Tampering f) {
    Fault& fault = add(std::move(cause), std::move(what), {});
    fault.tamper = std::move(f);
    return fault;
  }

  /// From barely visible to gross.
  float small_or_large() { return std::exp(uniform(rng_, std::log(5e-4F), 0)); }

  const Dims& in_dims(int k = 0) const { return program_.tensor(op_.inputs[u(k)]).spec->dims; }
  const Dims& out_dims(int k = 0) const { return program_.tensor(op_.outputs[u(k)]).spec->dims; }
  bool channel_last(int tensor) const {
    return program_.tensor(tensor).layout == Layout::channel_last && program_.tensor(tensor).spec->dims.size() >= 3;
  }
  const Constant* constant_operand(int k) const {
    const int producer = network_.producer(op_.inputs[u(k)]);
    return std::get_if<Constant>(&network_.ops[u(producer)].parameters);
  }

  /// Tensors made before this operator that could stand in for `like`.
  std::vector<int> peers(int like) const {
    std::vector<int> found;
    const PlannedTensor& wanted = program_.tensor(like);
    for (int t = 0; t < network_.tensors; ++t) {
      const PlannedTensor& known = program_.tensor(t);
      if (t == like || network_.producer(t) >= index_ || known.host || !known.spec) continue;
      if (std::find(op_.inputs.begin(), op_.inputs.end(), t) != op_.inputs.end()) continue;
      if (known.spec->type == wanted.spec->type && known.spec->dims == wanted.spec->dims &&
          channel_last(t) == channel_last(like))
        found.push_back(t);
    }
    return found;
  }

  // --- inputs and whole outputs -------------------------------------------------------------------------------------

  void input_faults() {
    tamper("input_not_copied", "the input reads as zeros",
           [](const auto&, OpRecord& r) { std::fill(r.outputs[0].f32().begin(), r.outputs[0].f32().end(), 0.0F); });
    tamper("input_differs", "input x 1.02", [](const auto&, OpRecord& r) {
      for (float& v : r.outputs[0].f32()) v *= 1.02F;
    });
    tamper("input_differs", "another input", [seed = rng_()](const auto&, OpRecord& r) {
      Rng own(seed);
      const Floats other = normal_values(own, r.outputs[0].size(), 1);
      std::copy(other.begin(), other.end(), r.outputs[0].f32().begin());
    });
  }

  void output_faults() {
    if (program_.tensor(op_.outputs[0]).spec->type != DType::f32) return;
    tamper("output_zero", "every output is 0", [](const auto&, OpRecord& r) {
      for (Tensor& t : r.outputs) std::fill(t.f32().begin(), t.f32().end(), 0.0F);
    });
    if (op_.outputs.size() == 1 && element_count(out_dims()) > 1) {
      tamper("output_constant", "the output holds one value", [](const auto&, OpRecord& r) {
        if (one_value(r.outputs[0])) return;  // it should; another value would be another mistake
        const float value = r.outputs[0].f32()[r.outputs[0].f32().size() / 2];
        std::fill(r.outputs[0].f32().begin(), r.outputs[0].f32().end(), value == 0 ? 0.25F : value);
      });
    }
    if (op_.outputs.size() > 1) return;
    for (int t : peers(op_.outputs[0])) {
      std::vector<int> same(out_dims().size());
      std::iota(same.begin(), same.end(), 0);
      add("output_unwritten", fmt::format("the buffer still holds t{}", t), [t, same, index = index_](Network& n) {
        n.ops[u(index)].parameters = Permute{same};
        n.ops[u(index)].inputs = {t};
      });
      // What a cast that rounds nothing would pass on.
      if (std::holds_alternative<Cast>(op_.parameters)) list_.back().also = {"cast_wrong"};
    }
  }

  // --- convolutions
  // ---------------------------------------------------------------------------------------------------

  void of(const Convolution& c) {
    biases<Convolution>(c.bias);
    weights(c);
    geometry(c);
    fused(c);
  }

  /// Mistakes with a per-channel constant `bias` of parameters P.
  template <class P>
  void biases(const Floats& bias) {
    if (std::none_of(bias.begin(), bias.end(), [](float b) { return b != 0; })) return;
    change<P>("bias_dropped", "bias zero", [](P& p) { p.bias = zeros(p.bias); });
    for (float f : kFactors)
      change<P>("bias_scale_wrong", fmt::format("bias x {}", f),
                [f, h = halves_](P& p) { p.bias = times(h(p.bias), f); });
    if (bias.size() < 2) return;
    change<P>("bias_misordered", "bias rolled", [](P& p) { p.bias = rolled(p.bias); });
    change<P>("bias_misordered", "bias reversed", [](P& p) { p.bias = reversed(p.bias); });
    const auto at = u(pick(rng_, 0, static_cast<int>(bias.size()) - 1));
    const float by = small_or_large();
    change<P>("bias_differs", "one bias changed", [at, by, h = halves_](P& p) {
      p.bias = h(p.bias);
      p.bias[at] += by;
    }).also = {"bias_scale_wrong", "weights_differ"};
    if (one_position()) list_.back().also.emplace_back("weight_scale_wrong");
  }

  /// A channel with one output value: bias, scale and any weight can be what changed it.
  bool one_position() const { return out_dims().size() == 4 && out_dims()[0] * out_dims()[2] * out_dims()[3] == 1; }

  void weights(const Convolution& c) {
    const auto weight = [this](std::string cause, std::string what, auto f) -> Fault& {
      return change<Convolution>(std::move(cause), std::move(what), [f](Convolution& p) { p.weight = f(p); });
    };
    for (float f : kFactors)
      weight("weight_scale_wrong", fmt::format("weights x {}", f),
             [f, h = halves_](const Convolution& p) { return times(h(p.weight), f); });
    const auto channel = u(pick(rng_, 0, c.out - 1));
    if (c.kind != ConvKind::deconvolution) {
      weight("weight_scale_wrong", "one channel's weights x 1.25", [channel, h = halves_](const Convolution& p) {
        const std::size_t per = p.weight.size() / u(p.out);
        Floats w = h(p.weight);
        const Floats scaled = times(w, 1.25F);
        std::copy_n(scaled.begin() + static_cast<std::ptrdiff_t>(channel * per), per,
                    w.begin() + static_cast<std::ptrdiff_t>(channel * per));
        return w;
      });
      if (one_position()) list_.back().also = {"bias_differs", "bias_scale_wrong", "weights_differ"};
    }
    weight("weight_layout_wrong", "weights reversed", [](const Convolution& p) { return reversed(p.weight); });
    weight("weight_layout_wrong", "weights rolled",
           [](const Convolution& p) { return changed_in_qnn_order(p, [](Floats w) { return rolled(std::move(w)); }); });
    weight("weight_layout_wrong", "weights in MNN's order",
           [](const Convolution& p) { return changed_in_qnn_order(p, [&](const Floats&) { return p.weight; }); });
    if (c.kernel_h == c.kernel_w && c.kernel_h > 1) {
      weight("weight_layout_wrong", "kernel transposed", [](const Convolution& p) {
        Floats w = p.weight;
        const auto k = u(p.kernel_h);
        for (std::size_t plane = 0; plane < w.size(); plane += k * k) {
          for (std::size_t i = 0; i < k; ++i) {
            for (std::size_t j = 0; j < i; ++j) std::swap(w[plane + i * k + j], w[plane + j * k + i]);
          }
        }
        return w;
      });
    }
    if (c.weight_dims()[0] > 1) {
      const int a = pick(rng_, 0, static_cast<int>(c.weight_dims()[0]) - 2);
      weight("weight_layout_wrong", "two channels exchanged", [a](const Convolution& p) {
        Floats w = p.weight;
        const std::size_t per = w.size() / u(p.weight_dims()[0]);
        const auto first = w.begin() + static_cast<std::ptrdiff_t>(u(a) * per);
        std::swap_ranges(first, first + static_cast<std::ptrdiff_t>(per), first + static_cast<std::ptrdiff_t>(per));
        return w;
      });
    }
    // Fewer output positions than unknowns fix no weights: nobody could prove it.
    const std::int64_t positions = out_dims()[0] * out_dims()[2] * out_dims()[3];
    if (positions >= 2 * static_cast<std::int64_t>(c.weight.size()) / c.out) {
      weight("weights_differ", "other weights", [seed = rng_(), h = halves_](const Convolution& p) {
        Rng own(seed);
        double square = 0;
        for (float v : p.weight) square += static_cast<double>(v) * v;
        const auto deviation = static_cast<float>(std::sqrt(square / static_cast<double>(p.weight.size())));
        return h(normal_values(own, static_cast<std::int64_t>(p.weight.size()), deviation));
      });
    }
    const auto at = u(pick(rng_, 0, static_cast<int>(c.weight.size()) - 1));
    const float by = small_or_large();
    Fault& one = weight("weights_differ", "one weight changed", [at, by, h = halves_](const Convolution& p) {
      Floats w = h(p.weight);
      w[at] += by;
      return h(std::move(w));
    });
    // A channel with a single weight is scaled by it.
    if (c.weight.size() == u(c.out)) one.also = {"weight_scale_wrong"};
    if (one_position()) one.also = {"weight_scale_wrong", "bias_differs", "bias_scale_wrong"};
    weight("weight_scale_wrong", "weights zero", [](const Convolution& p) { return zeros(p.weight); }).also = {
        "weights_differ"};
  }

  /// Edits where the window stands; padding after the data is what the model's output needs.
  template <class F>
  void moved(std::string cause, std::string what, F f) {
    const Dims in = in_dims();
    const Dims out = out_dims();
    change<Convolution>(std::move(cause), std::move(what), [f, in, out](Convolution& p) {
      f(p);
      const auto after = [](std::int64_t extent, std::int64_t wanted, int kernel, int stride, int dilation,
                            int before) {
        const std::int64_t needed = (wanted - 1) * stride + dilation * (kernel - 1) + 1 - extent - before;
        return static_cast<int>(std::max<std::int64_t>(0, needed));
      };
      p.pads[2] = after(in[2], out[2], p.kernel_h, p.stride_h, p.dilation_h, p.pads[0]);
      p.pads[3] = after(in[3], out[3], p.kernel_w, p.stride_w, p.dilation_w, p.pads[1]);
    }).window = true;
  }

  void geometry(const Convolution& c) {
    if (c.kind == ConvKind::deconvolution) return deconvolution_geometry(c);
    const auto [top, left, bottom, right] = c.pads;
    for (int down = -2; down <= 2; ++down) {
      for (int along = -2; along <= 2; ++along) {
        const bool fits = top + down >= 0 && bottom - down >= 0 && left + along >= 0 && right - along >= 0;
        if (!fits || (down == 0 && along == 0)) continue;
        moved("padding_side_wrong", fmt::format("top {}, left {}", top + down, left + along),
              [down, along](Convolution& p) {
                p.pads[0] += down;
                p.pads[1] += along;
              });
      }
    }
    if (top != left || bottom != right)
      moved("padding_side_wrong", "height and width exchanged",
            [](Convolution& p) { std::swap(p.pads[0], p.pads[1]); });
    if (out_dims()[2] > 1 || out_dims()[3] > 1) {
      const int other = c.stride_h == 1 ? 2 : 1;
      moved("stride_wrong", fmt::format("stride {}", other),
            [other](Convolution& p) { p.stride_h = p.stride_w = other; });
    }
    if (c.kernel_h > 1 || c.kernel_w > 1) {
      const int other = c.dilation_h == 1 ? 2 : 1;
      moved("dilation_wrong", fmt::format("dilation {}", other),
            [other](Convolution& p) { p.dilation_h = p.dilation_w = other; });
    }
  }

  void deconvolution_geometry(const Convolution& c) {
    if (c.pads[2] > 0) {
      change<Convolution>("padding_side_wrong", "one row of padding to the top", [](Convolution& p) {
        ++p.pads[0];
        --p.pads[2];
      });
    }
    if (c.pads[1] > 0) {
      change<Convolution>("padding_side_wrong", "one column of padding to the right", [](Convolution& p) {
        --p.pads[1];
        ++p.pads[3];
      });
    }
  }

  void fused(const Convolution& c) {
    if (c.fused == Fused::none) return;
    change<Convolution>("activation_dropped", "no fused activation", [](Convolution& p) { p.fused = Fused::none; });
    if (c.fused == Fused::relu) {
      change<Convolution>("activation_wrong", "fused ReLU6", [](Convolution& p) { p.fused = Fused::relu6; }).also = {
          "clip_range_wrong"};
    } else {
      change<Convolution>("activation_wrong", "fused ReLU", [](Convolution& p) { p.fused = Fused::relu; }).also = {
          "clip_range_wrong"};
    }
    if (c.kind == ConvKind::deconvolution) return;
    // The activation is a node of its own on the dumped sum.
    const auto node = [this](std::string cause, std::string what, float (*f)(float)) {
      tamper(std::move(cause), std::move(what), [f](const auto&, OpRecord& r) {
        if (const StageTensor* sum = r.find_stage("ReluTensor")) r.outputs[0] = map(sum->value, f);
      });
    };
    node("activation_wrong", "Sigmoid node", [](float v) { return 1 / (1 + std::exp(-v)); });
    node("activation_wrong", "Tanh node", [](float v) { return std::tanh(v); });
    node("activation_dropped", "activation node copies", [](float v) { return v; });
  }

  // --- windows and grids
  // ----------------------------------------------------------------------------------------------

  void of(const Pool& p) {
    change<Pool>("pool_type_wrong", p.average ? "maximum" : "average", [](Pool& q) { q.average = !q.average; });
    if (p.global) return;
    const auto [top, left, bottom, right] = p.pads;
    if (p.average && top + left + bottom + right > 0) {
      change<Pool>("avgpool_count_pad_wrong", p.count_padding ? "padding not counted" : "padding counted",
                   [](Pool& q) { q.count_padding = !q.count_padding; });
    }
    if (top != bottom || left != right) {
      change<Pool>("padding_side_wrong", "padding at the other sides", [](Pool& q) {
        std::swap(q.pads[0], q.pads[2]);
        std::swap(q.pads[1], q.pads[3]);
      });
    }
    if (top != left && bottom != right && top + bottom == left + right) {
      change<Pool>("padding_side_wrong", "height and width exchanged", [](Pool& q) {
        std::swap(q.pads[0], q.pads[1]);
        std::swap(q.pads[2], q.pads[3]);
      });
    }
    if (p.stride_h == 2 && p.pads == std::array<int, 4>{} && out_dims()[2] > 1)
      change<Pool>("stride_wrong", "stride 1", [](Pool& q) { q.stride_h = q.stride_w = 1; }).window = true;
    if (p.average && p.ceil) ceil_edge(p);
  }

  void ceil_edge(const Pool& p) {
    const auto sticks_out = [](std::int64_t out, int kernel, int stride, std::int64_t in) {
      return (out - 1) * stride + kernel > in;
    };
    const bool rows = sticks_out(out_dims()[2], p.kernel_h, p.stride_h, in_dims()[2]);
    const bool columns = sticks_out(out_dims()[3], p.kernel_w, p.stride_w, in_dims()[3]);
    if (!rows && !columns) return;
    tamper("avgpool_ceil_edge_row_zero", "partial windows are 0", [rows, columns](const auto&, OpRecord& r) {
      const Dims d = r.outputs[0].dims();
      for (std::int64_t i = 0; i < r.outputs[0].size(); ++i) {
        const bool last_row = i / d[3] % d[2] == d[2] - 1;
        const bool last_column = i % d[3] == d[3] - 1;
        if ((rows && last_row) || (columns && last_column)) r.outputs[0].f32()[u(i)] = 0;
      }
    });
  }

  void of(const Interp& p) {
    for (const auto& [name, mode] :
         {std::pair{"align corners", wire::Ctm_AlignCorners}, std::pair{"half pixel", wire::Ctm_HalfPixels},
          std::pair{"asymmetric", wire::Ctm_Asymmetric}}) {
      if (mode != p.mode) change<Interp>("resize_coordinate_mode_wrong", name, [m = mode](Interp& q) { q.mode = m; });
    }
    if (p.method != 2) {
      const int other = p.method == 1 ? 4 : 1;
      change<Interp>("resize_nearest_source_index_differs", other == 4 ? "rounded" : "floor",
                     [other](Interp& q) { q.method = other; });
      // The rule that rounds the middle of each output cell down, whatever the mode.
      change<Interp>("resize_nearest_source_index_differs", "floor((i + 0.5) in/out)", [](Interp& q) {
        q.method = 1;
        q.mode = wire::Ctm_TensorflowHalfPixels;
      }).also = {"resize_coordinate_mode_wrong"};
    }
    if (op_.inputs.size() > 1) {
      add("resize_scale_taken_from_dims_not_from_model", "scale from dims",
          [index = index_, out = out_dims()](Network& n) {
            Operator& op = n.ops[u(index)];
            op.inputs.resize(1);
            auto& q = std::get<Interp>(op.parameters);
            q.out_h = static_cast<int>(out[2]);
            q.out_w = static_cast<int>(out[3]);
          });
    }
  }

  // --- element by element
  // -----------------------------------------------------------------------------------------------

  void of(const Binary& p) {
    for (const auto& [name, operation] : {std::pair{"add", wire::Bin_ADD}, std::pair{"subtract", wire::Bin_SUB},
                                          std::pair{"multiply", wire::Bin_MUL}, std::pair{"maximum", wire::Bin_MAXIMUM},
                                          std::pair{"minimum", wire::Bin_MINIMUM}, std::pair{"power", wire::Bin_POW}}) {
      if (operation != p.operation)
        change<Binary>("binary_op_wrong", name, [o = operation](Binary& q) { q.operation = o; });
    }
    if (!p.relu) change<Binary>("activation_wrong", "a fused ReLU", [](Binary& q) { q.relu = true; });
    if (p.relu) change<Binary>("activation_dropped", "no fused ReLU", [](Binary& q) { q.relu = false; });
    if (is_subtraction_or_division(p.operation))
      rewire("operand_order_swapped", "operands swapped", {op_.inputs[1], op_.inputs[0]});
    if (const Constant* c = constant_operand(1)) {
      if (c->dims.size() == 1 && (p.operation == wire::Bin_ADD || p.operation == wire::Bin_SUB)) vector_bias(*c);
      if (in_dims() == out_dims())
        rewire("second_input_wrong", "the first operand twice", {op_.inputs[0], op_.inputs[0]});
      return;
    }
    second_inputs();
  }

  void vector_bias(const Constant& c) {
    const auto with = [&](Floats values) { return Constant{.dims = c.dims, .floats = std::move(values)}; };
    constant("bias_dropped", "constant zero", 1, with(zeros(c.floats)));
    constant("bias_misordered", "constant rolled", 1, with(rolled(c.floats)));
    constant("bias_misordered", "constant reversed", 1, with(reversed(c.floats)));
    for (float f : {1.02F, 1.25F})
      constant("bias_scale_wrong", fmt::format("constant x {}", f), 1, with(times(halves_(c.floats), f)));
  }

  /// Another tensor in place of the second operand.
  void second_inputs() {
    const auto [first, second] = std::pair{op_.inputs[0], op_.inputs[1]};
    if (first != second && in_dims(0) == in_dims(1))
      rewire("second_input_wrong", "the first operand twice", {first, first});
    if (first != second && in_dims(1) == out_dims())
      rewire("second_input_wrong", "the second operand twice", {second, second});
    for (int t : peers(second)) rewire("second_input_wrong", fmt::format("t{} as second operand", t), {first, t});
  }

  void other_activations(std::string_view meant) {
    for (NamedFunction& f : activation_functions()) {
      if (f.name != meant) replace("activation_wrong", f.name, std::move(f.parameters));
    }
    std::vector<int> same(in_dims().size());
    std::iota(same.begin(), same.end(), 0);
    replace("activation_dropped", "none", Permute{std::move(same)});
  }

  void of(const Unary& p) {
    other_activations(p.function == wire::Un_SIGMOID     ? "Sigmoid"
                      : p.function == wire::Un_TANH      ? "Tanh"
                      : p.function == wire::Un_HARDSWISH ? "HardSwish"
                      : p.function == wire::Un_GELU      ? "Gelu"
                      : p.function == wire::Un_SILU      ? "Silu"
                                                         : "");
  }
  void of(const Relu& p) {
    other_activations(p.slope == 0 ? "ReLU" : "");
    for (float slope : {0.01F, 0.1F, 0.3F}) {
      if (slope != p.slope)
        change<Relu>("activation_slope_wrong", fmt::format("slope {}", slope), [slope](Relu& q) { q.slope = slope; });
    }
    if (p.slope != 0) change<Relu>("activation_slope_wrong", "slope 0", [](Relu& q) { q.slope = 0; });
  }
  void of(const Relu6& p) {
    other_activations(p.low == 0 && p.high == 6 ? "ReLU6" : "");
    for (float high : {0.5F, 1.0F, 3.0F, 6.0F}) {
      if (high != p.high)
        change<Relu6>("clip_range_wrong", fmt::format("upper limit {}", high), [high](Relu6& q) { q.high = high; });
    }
    for (float low : {-1.0F, 0.0F}) {
      if (low != p.low)
        change<Relu6>("clip_range_wrong", fmt::format("lower limit {}", low), [low](Relu6& q) { q.low = low; });
    }
  }
  void of(const Prelu& p) {
    other_activations("");
    const auto slope = [this](std::string what, auto f) {
      change<Prelu>("activation_slope_wrong", std::move(what), [f](Prelu& q) { q.slope = f(q.slope); });
    };
    slope("slopes zero", zeros);
    for (float f : kFactors)
      slope(fmt::format("slopes x {}", f), [f, h = halves_](const Floats& s) { return times(h(s), f); });
    if (p.slope.size() > 1) slope("slopes rolled", rolled);
  }
  void of(const Elu& p) {
    other_activations("ELU");
    for (float alpha : {0.1F, 0.5F, 1.0F, 1.67F}) {
      if (alpha != p.alpha)
        change<Elu>("activation_slope_wrong", fmt::format("alpha {}", alpha), [alpha](Elu& q) { q.alpha = alpha; });
    }
  }

  // --- normalisation and reduction
  // --------------------------------------------------------------------------------------

  void of(const Scale& p) {
    biases<Scale>(p.bias);
    const auto scale = [this](std::string cause, std::string what, auto f) -> Fault& {
      return change<Scale>(std::move(cause), std::move(what), [f](Scale& q) { q.scale = f(q.scale); });
    };
    for (float f : kFactors) {
      scale("gamma_scale_wrong", fmt::format("scales x {}", f), [f, h = halves_](const Floats& s) {
        return times(h(s), f);
      }).also = {"weight_scale_wrong"};
    }
    scale("gamma_misordered", "scales rolled", rolled).also = {"weight_layout_wrong"};
    scale("gamma_dropped", "scales zero", zeros).also = {"weight_scale_wrong", "weights_differ"};
    for (Fault& f : list_) {
      if (f.cause == "bias_dropped") f.also = {"beta_dropped"};
      if (f.cause == "bias_misordered") f.also = {"beta_misordered"};
    }
  }

  void of(const LayerNorm& p) {
    const auto gamma = [this](std::string cause, std::string what, auto f) {
      change<LayerNorm>(std::move(cause), std::move(what), [f](LayerNorm& q) { q.gamma = f(q.gamma); });
    };
    gamma("gamma_dropped", "gamma zero", zeros);
    gamma("gamma_ignored", "gamma 1", [](const Floats& g) { return Floats(g.size(), 1.0F); });
    gamma("gamma_misordered", "gamma rolled", rolled);
    gamma("gamma_misordered", "gamma reversed", reversed);
    for (float f : kFactors)
      gamma("gamma_scale_wrong", fmt::format("gamma x {}", f),
            [f, h = halves_](const Floats& g) { return times(h(g), f); });
    change<LayerNorm>("beta_dropped", "beta zero", [](LayerNorm& q) { q.beta = zeros(q.beta); });
    change<LayerNorm>("beta_misordered", "beta rolled", [](LayerNorm& q) { q.beta = rolled(q.beta); });
    for (float epsilon : {1e-5F, 1e-3F, 1e-2F, 0.3F}) {
      if (epsilon != p.epsilon) {
        change<LayerNorm>("layernorm_epsilon_wrong", fmt::format("epsilon {}", epsilon),
                          [epsilon](LayerNorm& q) { q.epsilon = epsilon; });
      }
    }
  }

  void of(const Softmax& p) {
    const int rank = static_cast<int>(in_dims().size());
    for (int axis = 0; axis < rank; ++axis) {
      if (axis != (p.axis + rank) % rank)
        change<Softmax>("softmax_axis_wrong", fmt::format("axis {}", axis), [axis](Softmax& q) { q.axis = axis; });
    }
  }

  void of(const Reduction& p) {
    for (const auto& [name, operation] :
         {std::pair{"mean", wire::Red_MEAN}, std::pair{"sum", wire::Red_SUM}, std::pair{"max", wire::Red_MAXIMUM},
          std::pair{"min", wire::Red_MINIMUM}, std::pair{"product", wire::Red_PROD}}) {
      if (operation != p.operation)
        change<Reduction>("reduce_op_wrong", name, [o = operation](Reduction& q) { q.operation = o; });
    }
    if (p.axes.size() != 1) return;
    for (int axis = 0; axis < static_cast<int>(in_dims().size()); ++axis) {
      if (axis != p.axes[0])
        change<Reduction>("reduce_axis_wrong", fmt::format("axis {}", axis), [axis](Reduction& q) { q.axes = {axis}; });
    }
  }

  void of(const MatMul&) {
    change<MatMul>("matmul_transpose_wrong", "other transpose of a", [](MatMul& q) { q.transpose_a = !q.transpose_a; });
    change<MatMul>("matmul_transpose_wrong", "other transpose of b", [](MatMul& q) { q.transpose_b = !q.transpose_b; });
    if (op_.inputs[0] != op_.inputs[1])
      rewire("operand_order_swapped", "operands swapped", {op_.inputs[1], op_.inputs[0]});
    second_inputs();
  }

  // --- data movement
  // ----------------------------------------------------------------------------------------------------

  void of(const Concat&) {
    rewire("operand_order_swapped", "operands swapped", {op_.inputs[1], op_.inputs[0]});
    second_inputs();
  }

  void of(const Permute& p) {
    std::vector<int> order(p.order.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      if (order != p.order)
        change<Permute>("permutation_wrong", fmt::format("order {}", fmt::join(order, ",")),
                        [order](Permute& q) { q.order = order; });
    } while (std::next_permutation(order.begin(), order.end()));
  }

  void nhwc_order() {
    if (!channel_last(op_.inputs[0])) return;
    tamper("flatten_layout_wrong", "data left in NHWC order", [](const std::vector<const Tensor*>& in, OpRecord& r) {
      r.stages.clear();
      r.outputs[0] = misread(*in[0], false, r.outputs[0].dims());
    }).also = {"permutation_wrong"};
  }
  void of(const Reshape&) { nhwc_order(); }
  void of(const Flatten&) { nhwc_order(); }
  void of(const Squeeze&) { nhwc_order(); }
  void of(const Convert& p) {
    tamper("permutation_wrong", "bytes copied, not transposed",
           [to = p.to_channel_last](const std::vector<const Tensor*>& in, OpRecord& r) {
             r.outputs[0] = misread(*in[0], to, r.outputs[0].dims());
           })
        .also = {"flatten_layout_wrong"};
  }

  void of(const Split& p) {
    // The second part begins one too early.
    const auto shifted = [axis = p.axis](std::int64_t begin) {
      return [axis, begin](const std::vector<const Tensor*>& in, OpRecord& r) {
        std::vector<SliceAxis> window;
        for (std::int64_t extent : r.outputs[1].dims()) window.push_back({0, 1, extent});
        window[u(axis)].begin = begin;
        r.outputs[1] = slice(*in[0], window);
      };
    };
    tamper("slice_begin_wrong", "second part begins one early", shifted(p.sizes[0] - 1));
    tamper("slice_begin_wrong", "second part begins at 0", shifted(0));
  }

  void of(const StridedSlice&) {
    const std::int32_t begin = constant_operand(1)->ints[0];
    const std::int32_t end = constant_operand(2)->ints[0];
    for (std::int32_t by : {-begin, -1, 1}) {
      if (by == 0 || begin + by < 0) continue;
      add("slice_begin_wrong", fmt::format("begin {}", begin + by),
          [begin, end, by, b = network_.producer(op_.inputs[1]), e = network_.producer(op_.inputs[2])](Network& n) {
            n.ops[u(b)].parameters = Constant{.dims = {1}, .ints = {begin + by}};
            n.ops[u(e)].parameters = Constant{.dims = {1}, .ints = {end + by}};
          });
    }
  }

  void of(const Cast& p) {
    if (p.to != wire::DType_DT_INT32) return;
    tamper("cast_wrong", "to the nearest integer", [](const std::vector<const Tensor*>& in, OpRecord& r) {
      for (std::size_t i = 0; i < r.outputs[0].i32().size(); ++i)
        r.outputs[0].i32()[i] = static_cast<std::int32_t>(std::lrint(in[0]->f32()[i]));
    });
    change<Cast>("cast_wrong", "to bool", [](Cast& q) { q.to = wire::DType_DT_BOOL; });
  }

  void of(const Input&) {}
  void of(const Constant&) {}

  const Program& program_;
  const Network& network_;
  int index_;
  const Operator& op_;
  Halves halves_;
  Rng& rng_;
  std::vector<Fault> list_;
};

/// Brings the outputs of an edited operator to the shapes of the model's.
Result<void> fit(const Program& program, const Fault& fault, OpRecord& record) {
  for (std::size_t k = 0; k < record.outputs.size(); ++k) {
    Tensor& output = record.outputs[k];
    const TensorSpec& wanted = *program.tensor(program.op(fault.op).outputs[k]).spec;
    if (output.type() != wanted.type) return fail("another element type");
    if (output.dims() == wanted.dims) continue;
    auto window = fault.window ? leading_window(output, wanted.dims) : std::nullopt;
    if (!window) return fail("{} instead of {}", to_string(output.dims()), to_string(wanted.dims));
    for (StageTensor& stage : record.stages) {
      auto part = leading_window(stage.value, wanted.dims);
      if (!part) return fail("stage {} has {}", stage.name, to_string(stage.value.dims()));
      stage.value = std::move(*part);
    }
    output = std::move(*window);
  }
  return {};
}

std::vector<const Tensor*> operands_of(const Program& program, int op, const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> operands;
  for (int t : program.op(op).inputs) operands.push_back(&tensors[u(t)]);
  return operands;
}

Result<std::unique_ptr<Program>> edited(const Program& program, const Fault& fault) {
  Network network = program.network();
  fault.edit(network);
  return Program::compile(std::move(network), program.constants());
}

/// The largest difference of two records in units of the bound of pure copies.
double difference(const OpRecord& a, const OpRecord& b) {
  double worst = 0;
  const auto compare = [&](const Tensor& x, const Tensor& y) {
    if (x.type() != DType::f32 || x.size() != y.size()) return;
    for (std::size_t i = 0; i < x.f32().size(); ++i) {
      const double d = std::fabs(static_cast<double>(x.f32()[i]) - y.f32()[i]);
      worst = std::max(worst, d / (std::fabs(y.f32()[i]) * kHalfUnitRoundoff + 1e-9));
    }
  };
  for (std::size_t k = 0; k < a.outputs.size(); ++k) compare(a.outputs[k], b.outputs[k]);
  for (const StageTensor& stage : a.stages) {
    if (const StageTensor* other = b.find_stage(stage.name)) compare(stage.value, other->value);
  }
  return worst;
}

/// The record of an operator taken back from a whole run.
OpRecord record_of(const Program& program, int op, const Recording& recording) {
  OpRecord record;
  for (int t : program.op(op).outputs) record.outputs.push_back(recording.tensors[u(t)].clone());
  for (const StageTensor& s : recording.ops[u(op)].stages) record.stages.push_back({s.name, s.layout, s.value.clone()});
  return record;
}

}  // namespace

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.size() != b.size()) return false;
  return a.type() == DType::f32 ? std::equal(a.f32().begin(), a.f32().end(), b.f32().begin())
                                : std::equal(a.i32().begin(), a.i32().end(), b.i32().begin());
}

std::vector<Fault> faults_of(const Program& program, int op, Rng& rng) { return Catalogue(program, op, rng).list(); }

Result<OpRecord> execute_faulty(const Program& program, const Fault& fault, const std::vector<Tensor>& tensors) {
  const Program* used = &program;
  std::unique_ptr<Program> own;
  if (fault.edit) {
    auto made = edited(program, fault);
    if (!made) return fail(made.error());
    own = std::move(*made);
    used = own.get();
  }
  auto record = execute(*used, fault.op, tensors);
  if (!record) return fail(record.error());
  if (auto fits = fit(program, fault, *record); !fits) return fail(fits.error());
  if (fault.tamper) fault.tamper(operands_of(program, fault.op, tensors), *record);
  return record;
}

Result<Recording> run(const Program& program, std::vector<Tensor> given, const std::vector<Fault>& faults) {
  Recording recording;
  recording.given = std::move(given);
  recording.tensors.resize(u(program.network().tensors));
  recording.ops.resize(program.network().ops.size());
  std::size_t next_input = 0;
  for (std::size_t i = 0; i < program.network().ops.size(); ++i) {
    const Operator& op = program.network().ops[i];
    if (std::holds_alternative<Constant>(op.parameters)) continue;
    const auto fault =
        std::find_if(faults.begin(), faults.end(), [&](const Fault& f) { return f.op == static_cast<int>(i); });
    OpRecord record;
    if (std::holds_alternative<Input>(op.parameters)) {
      record.outputs.push_back(recording.given[next_input++].clone());
      if (fault != faults.end()) fault->tamper({}, record);
      for (float& v : record.outputs[0].f32()) v = round_to_htp_half(v, false);
    } else {
      auto made = fault == faults.end() ? execute(program, static_cast<int>(i), recording.tensors)
                                        : execute_faulty(program, *fault, recording.tensors);
      if (!made) return fail("{}: {}", op.name, made.error().message);
      record = std::move(*made);
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k)
      recording.tensors[u(op.outputs[k])] = std::move(record.outputs[k]);
    record.outputs.clear();
    recording.ops[i] = std::move(record);
  }
  return recording;
}

Result<double> size_of(const Program& program, int op, const Recording& recording, const Bounds& bounds) {
  return error_in_bounds(program, op, recording.tensors, record_of(program, op, recording), bounds);
}

std::vector<std::string> equivalent_causes(const Program& program, const Fault& fault, const Recording& recording,
                                           const Bounds& bounds) {
  std::vector<std::string> causes;
  if (program.is_source(fault.op)) return causes;
  const OpRecord device = record_of(program, fault.op, recording);
  if (device.outputs.size() == 1 && one_value(device.outputs[0])) {
    causes.emplace_back("output_constant");
    if (value_at(device.outputs[0], 0) == 0) causes.emplace_back("output_zero");
  }
  for (const Tensor* input : operands_of(program, fault.op, recording.tensors)) {
    // x passed on is also x + 0 and 1 x.
    if (same_values(*input, device.outputs[0]))
      causes.insert(causes.end(), {"activation_dropped", "second_input_wrong"});
  }
  Rng rng(1);
  for (const Fault& other : faults_of(program, fault.op, rng)) {
    if (other.cause == fault.cause || std::find(causes.begin(), causes.end(), other.cause) != causes.end()) continue;
    bool same = false;
    if (other.edit && !other.window) {
      auto program_then = edited(program, other);
      if (!program_then) continue;
      auto error = error_in_bounds(**program_then, fault.op, recording.tensors, device, bounds);
      same = error && *error <= 1;
    } else {
      auto record = execute_faulty(program, other, recording.tensors);
      same = record && difference(device, *record) <= 1;
    }
    if (!same) continue;
    causes.push_back(other.cause);
    causes.insert(causes.end(), other.also.begin(), other.also.end());
  }
  return causes;
}

}  // namespace qnndbg::faults
