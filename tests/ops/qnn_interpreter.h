// Runs the nodes of a mapping on numbers, in device order: what shows whether axes, permutations and padding of the
// model style are right. Plain loops over indices; only the nodes that move, join, cut and combine data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/qnn_text.h"
#include "tensor/layout.h"

namespace qnndbg::test {

/// A tensor of the device.
struct Values {
  Dims dims;
  std::vector<double> data;

  double& at(const Dims& index) { return data.at(u(offset(index))); }
  double at(const Dims& index) const { return data.at(u(offset(index))); }
  std::int64_t offset(const Dims& index) const {
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) flat = flat * dims[k] + index.at(k);
    return flat;
  }
  /// The element that NumPy's broadcasting takes for an index of higher rank.
  double broadcast(const Dims& index) const {
    Dims own;
    for (std::size_t k = 0; k < dims.size(); ++k)
      own.push_back(dims[k] == 1 ? 0 : index.at(index.size() - dims.size() + k));
    return at(own);
  }
};

class Interpreter {
 public:
  Interpreter(const QnnMapping& mapping, std::vector<Values> inputs, std::vector<Dims> output_dims)
      : mapping_(mapping), inputs_(std::move(inputs)), output_dims_(std::move(output_dims)) {}

  /// The outputs, in device order.
  std::vector<Values> run() {
    for (const QnnNode& node : mapping_.nodes) run(node);
    std::vector<Values> outputs;
    for (int k = 0; k < static_cast<int>(output_dims_.size()); ++k)
      outputs.push_back(made_[key({QnnTensorRef::From::output, k})]);
    return outputs;
  }

 private:
  static std::pair<int, int> key(QnnTensorRef ref) { return {static_cast<int>(ref.from), ref.index}; }

  Dims dims_of(QnnTensorRef ref) const {
    return ref.from == QnnTensorRef::From::stage ? mapping_.stages.at(u(ref.index)).dims
                                                 : output_dims_.at(u(ref.index));
  }

  Values load(QnnTensorRef ref) {
    if (ref.from == QnnTensorRef::From::input) return inputs_.at(u(ref.index));
    if (ref.from != QnnTensorRef::From::constant) return made_.at(key(ref));
    const QnnConstant& constant = mapping_.constants.at(u(ref.index));
    const std::vector<std::byte> bytes = constant.data().value();
    Values values{constant.dims, {}};
    for (std::size_t k = 0; k < bytes.size() / 4; ++k) {
      float f = 0;
      std::int32_t i = 0;
      std::memcpy(&f, &bytes[4 * k], 4);
      std::memcpy(&i, &bytes[4 * k], 4);
      values.data.push_back(constant.type.type == DType::i32 ? i : f);
    }
    return values;
  }

  static std::vector<std::int64_t> list(const QnnNode& node, const std::string& name) {
    for (const QnnParam& p : node.params) {
      if (p.name == name) return std::get<QnnTensorParam>(p.value).values;
    }
    ADD_FAILURE() << node.type << " lacks " << name;
    return {};
  }
  static std::int64_t number(const QnnNode& node, const std::string& name) {
    for (const QnnParam& p : node.params) {
      if (p.name != name) continue;
      if (const auto* v = std::get_if<std::uint32_t>(&p.value)) return *v;
      if (const auto* v = std::get_if<std::int32_t>(&p.value)) return *v;
      if (const auto* v = std::get_if<bool>(&p.value)) return *v;
      if (const auto* v = std::get_if<float>(&p.value)) return static_cast<std::int64_t>(*v);
    }
    return 0;
  }

  /// Every element of output `k` by a function of its index.
  void fill(const QnnNode& node, std::size_t k, const std::function<double(const Dims&)>& f) {
    Values out{dims_of(node.outputs.at(k)), {}};
    for (const Dims& index : indices_of(out.dims)) out.data.push_back(f(index));
    made_[key(node.outputs[k])] = std::move(out);
  }

  void run(const QnnNode& node) {
    std::vector<Values> in;
    for (QnnTensorRef ref : node.inputs) in.push_back(load(ref));
    const Values& x = in.at(0);
    const std::string& type = node.type;
    if (type == "Reshape") {
      const Dims dims = dims_of(node.outputs[0]);
      ASSERT_EQ(element_count(dims), element_count(x.dims));
      made_[key(node.outputs[0])] = {dims, x.data};
    } else if (type == "Cast") {
      fill(node, 0, [&](const Dims& i) { return x.at(i); });
    } else if (type == "Transpose") {
      const std::vector<std::int64_t> perm = list(node, "perm");
      fill(node, 0, [&](const Dims& i) {
        Dims from(i.size());
        for (std::size_t k = 0; k < i.size(); ++k) from[u(perm[k])] = i[k];
        return x.at(from);
      });
    } else if (type == "Tile") {
      fill(node, 0, [&](const Dims& i) {
        Dims from;
        for (std::size_t k = 0; k < i.size(); ++k) from.push_back(i[k] % x.dims[k]);
        return x.at(from);
      });
    } else if (type == "StridedSlice") {
      const std::vector<std::int64_t> ranges = list(node, "ranges");
      fill(node, 0, [&](const Dims& i) {
        Dims from;
        for (std::size_t k = 0; k < i.size(); ++k) from.push_back(ranges[3 * k] + i[k] * ranges[3 * k + 2]);
        return x.at(from);
      });
    } else if (type == "Gather") {
      const std::size_t axis = u(number(node, "axis"));
      const std::size_t extra = in.at(1).dims.size();
      fill(node, 0, [&](const Dims& i) {
        const Dims place(i.begin() + static_cast<std::ptrdiff_t>(axis),
                         i.begin() + static_cast<std::ptrdiff_t>(axis + extra));
        Dims from(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
        from.push_back(static_cast<std::int64_t>(in[1].at(place)));
        from.insert(from.end(), i.begin() + static_cast<std::ptrdiff_t>(axis + extra), i.end());
        return x.at(from);
      });
    } else if (type == "GatherElements") {
      const std::size_t axis = u(number(node, "axis"));
      fill(node, 0, [&](const Dims& i) {
        Dims from = i;
        from[axis] = static_cast<std::int64_t>(in.at(1).at(i));
        return x.at(from);
      });
    } else if (type == "Concat") {
      const std::size_t axis = u(number(node, "axis"));
      fill(node, 0, [&](const Dims& i) {
        Dims from = i;
        for (const Values& part : in) {
          if (from[axis] < part.dims[axis]) return part.at(from);
          from[axis] -= part.dims[axis];
        }
        ADD_FAILURE() << "beyond the parts";
        return 0.0;
      });
    } else if (type == "Pack") {
      const auto axis = static_cast<std::ptrdiff_t>(number(node, "axis"));
      fill(node, 0, [&](const Dims& i) {
        Dims from = i;
        from.erase(from.begin() + axis);
        return in.at(u(i[u(axis)])).at(from);
      });
    } else if (type == "UnPack") {
      const auto axis = static_cast<std::ptrdiff_t>(number(node, "axis"));
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        fill(node, k, [&](const Dims& i) {
          Dims from = i;
          from.insert(from.begin() + axis, static_cast<std::int64_t>(k));
          return x.at(from);
        });
      }
    } else if (type == "Pad") {
      run_pad(node, x);
    } else if (type == "DepthToSpace") {
      run_depth_to_space(node, x);
    } else if (type == "ReduceSum") {
      run_sum(node, x);
    } else if (type == "MatMul") {
      run_product(node, x, in.at(1));
    } else if (type == "Conv2d" || type == "DepthWiseConv2d") {
      run_convolution(node, x, in.at(1), in.at(2));
    } else if (type == "TransposeConv2d") {
      run_transposed(node, x, in.at(1), in.at(2));
    } else if (type == "PoolMax2d" || type == "PoolAvg2d") {
      run_pool(node, x);
    } else if (type == "LayerNorm") {
      run_norm(node, x, in.at(1), in.at(2));
    } else if (type == "Softmax") {
      fill(node, 0, [&](const Dims& i) {
        EXPECT_EQ(u(number(node, "axis")), i.size() - 1);
        double sum = 0;
        Dims other = i;
        for (other.back() = 0; other.back() < x.dims.back(); ++other.back()) sum += std::exp(x.at(other) - x.at(i));
        return 1 / sum;
      });
    } else {
      fill(node, 0, combination(type, in));
    }
  }

  static std::function<double(const Dims&)> combination(const std::string& type, const std::vector<Values>& in) {
    const auto of = [&in](auto f) {
      return [&in, f](const Dims& i) { return static_cast<double>(f(in.at(0).broadcast(i), in.at(1).broadcast(i))); };
    };
    if (type == "Relu6") return [&in](const Dims& i) { return std::clamp(in.at(0).at(i), 0.0, 6.0); };
    if (type == "Relu") return [&in](const Dims& i) { return std::max(0.0, in.at(0).at(i)); };
    if (type == "ElementWiseAdd") return of([](double a, double b) { return a + b; });
    if (type == "ElementWiseSubtract") return of([](double a, double b) { return a - b; });
    if (type == "ElementWiseMultiply") return of([](double a, double b) { return a * b; });
    if (type == "ElementWiseGreater") return of([](double a, double b) { return a > b ? 1 : 0; });
    if (type == "Prelu") return of([](double a, double b) { return a < 0 ? a * b : a; });
    ADD_FAILURE() << "no rule for " << type;
    return [](const Dims&) { return 0.0; };
  }

  /// Weights [kh, kw, in / group, out]; depthwise ones [kh, kw, 1, channels].
  void run_convolution(const QnnNode& node, const Values& x, const Values& w, const Values& bias) {
    const auto stride = list(node, "stride");
    const auto pad = list(node, "pad_amount");
    const auto dilation = list(node, "dilation");
    const std::int64_t out_channels = w.dims[3];
    const std::int64_t groups = node.type == "Conv2d" ? number(node, "group") : out_channels;
    // The padding has to give the output its extents.
    const Dims out = dims_of(node.outputs[0]);
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int64_t reach = dilation[k] * (w.dims[k] - 1) + 1;
      EXPECT_EQ((x.dims[k + 1] + pad[2 * k] + pad[2 * k + 1] - reach) / stride[k] + 1, out[k + 1]);
    }
    fill(node, 0, [&](const Dims& i) {
      double sum = bias.data.at(u(i[3]));
      const std::int64_t first = i[3] / (out_channels / groups) * w.dims[2];
      for (const Dims& tap : indices_of({w.dims[0], w.dims[1], w.dims[2]})) {
        const std::int64_t row = i[1] * stride[0] + tap[0] * dilation[0] - pad[0];
        const std::int64_t column = i[2] * stride[1] + tap[1] * dilation[1] - pad[2];
        if (row < 0 || column < 0 || row >= x.dims[1] || column >= x.dims[2]) continue;
        sum += x.at({i[0], row, column, first + tap[2]}) * w.at({tap[0], tap[1], tap[2], i[3]});
      }
      return sum;
    });
  }

  /// Weights [kh, kw, in, out / group].
  void run_transposed(const QnnNode& node, const Values& x, const Values& w, const Values& bias) {
    const auto stride = list(node, "stride");
    const auto pad = list(node, "pad_amount");
    const std::int64_t groups = number(node, "group");
    const std::int64_t per_group = x.dims[3] / groups;
    std::vector<std::int64_t> extra{0, 0};
    for (const QnnParam& p : node.params) {
      if (p.name == "output_padding") extra = list(node, "output_padding");
    }
    const Dims out = dims_of(node.outputs[0]);
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ((x.dims[k + 1] - 1) * stride[k] + w.dims[k] - pad[2 * k] - pad[2 * k + 1] + extra[k], out[k + 1]);
    fill(node, 0, [&](const Dims& i) {
      double sum = bias.data.at(u(i[3]));
      const std::int64_t first = i[3] / w.dims[3] * per_group;
      for (const Dims& tap : indices_of({w.dims[0], w.dims[1], per_group})) {
        const std::int64_t row = i[1] + pad[0] - tap[0];
        const std::int64_t column = i[2] + pad[2] - tap[1];
        if (row < 0 || column < 0 || row % stride[0] != 0 || column % stride[1] != 0) continue;
        if (row / stride[0] >= x.dims[1] || column / stride[1] >= x.dims[2]) continue;
        sum += x.at({i[0], row / stride[0], column / stride[1], first + tap[2]}) *
               w.at({tap[0], tap[1], first + tap[2], i[3] % w.dims[3]});
      }
      return sum;
    });
  }

  void run_pool(const QnnNode& node, const Values& x) {
    const auto filter = list(node, "filter_size");
    const auto stride = list(node, "stride");
    const auto pad = list(node, "pad_amount");
    const bool average = node.type == "PoolAvg2d";
    const bool count_padding = number(node, "count_pad_for_edges") != 0;
    fill(node, 0, [&](const Dims& i) {
      double result = average ? 0 : -HUGE_VAL;
      int inside = 0;
      for (const Dims& cell : indices_of({filter[0], filter[1]})) {
        const std::int64_t row = i[1] * stride[0] + cell[0] - pad[0];
        const std::int64_t column = i[2] * stride[1] + cell[1] - pad[2];
        if (row < 0 || column < 0 || row >= x.dims[1] || column >= x.dims[2]) continue;
        const double v = x.at({i[0], row, column, i[3]});
        result = average ? result + v : std::max(result, v);
        ++inside;
      }
      return average ? result / static_cast<double>(count_padding ? filter[0] * filter[1] : inside) : result;
    });
  }

  void run_norm(const QnnNode& node, const Values& x, const Values& gamma, const Values& beta) {
    const std::int64_t n = x.dims.back();
    EXPECT_EQ(list(node, "axes"), std::vector<std::int64_t>{static_cast<std::int64_t>(x.dims.size()) - 1});
    float epsilon = 0;
    for (const QnnParam& p : node.params) {
      if (p.name == "epsilon") epsilon = std::get<float>(p.value);
    }
    fill(node, 0, [&](const Dims& i) {
      Dims other = i;
      double mean = 0;
      double square = 0;
      for (other.back() = 0; other.back() < n; ++other.back()) mean += x.at(other) / static_cast<double>(n);
      for (other.back() = 0; other.back() < n; ++other.back())
        square += (x.at(other) - mean) * (x.at(other) - mean) / static_cast<double>(n);
      return (x.at(i) - mean) / std::sqrt(square + epsilon) * gamma.data.at(u(i.back())) + beta.data.at(u(i.back()));
    });
  }

  void run_pad(const QnnNode& node, const Values& x) {
    const std::vector<std::int64_t> amounts = list(node, "pad_amount");
    const std::int64_t scheme = number(node, "scheme");
    fill(node, 0, [&](const Dims& i) {
      Dims from;
      for (std::size_t k = 0; k < i.size(); ++k) {
        std::int64_t at = i[k] - amounts[2 * k];
        const std::int64_t n = x.dims[k];
        if (scheme == 0 && (at < 0 || at >= n)) return static_cast<double>(number(node, "pad_constant_value"));
        if (scheme == 1) at = at < 0 ? -at - 1 : at >= n ? 2 * n - 1 - at : at;
        if (scheme == 2) at = at < 0 ? -at : at >= n ? 2 * n - 2 - at : at;
        if (scheme == 3) at = std::clamp<std::int64_t>(at, 0, n - 1);
        from.push_back(at);
      }
      return x.at(from);
    });
  }

  void run_depth_to_space(const QnnNode& node, const Values& x) {
    const std::int64_t b = list(node, "block_size").at(0);
    const bool crd = number(node, "mode") == 1;
    fill(node, 0, [&](const Dims& i) {
      const std::int64_t depth = x.dims[3] / (b * b);
      const std::int64_t row = i[1] % b;
      const std::int64_t column = i[2] % b;
      const std::int64_t channel = crd ? (i[3] * b + row) * b + column : (row * b + column) * depth + i[3];
      return x.at({i[0], i[1] / b, i[2] / b, channel});
    });
  }

  void run_sum(const QnnNode& node, const Values& x) {
    const std::vector<std::int64_t> axes = list(node, "axes");
    const bool keep = number(node, "keep_dims") != 0;
    fill(node, 0, [&](const Dims& i) {
      double sum = 0;
      for (const Dims& from : indices_of(x.dims)) {
        Dims reduced;
        for (std::size_t k = 0; k < from.size(); ++k) {
          const bool gone = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) != axes.end();
          if (!gone) reduced.push_back(from[k]);
          if (gone && keep) reduced.push_back(0);
        }
        if (reduced == i) sum += x.at(from);
      }
      return sum;
    });
  }

  void run_product(const QnnNode& node, const Values& a, const Values& b) {
    const bool turn_a = number(node, "transpose_in0") != 0;
    const bool turn_b = number(node, "transpose_in1") != 0;
    const std::size_t rank = a.dims.size();
    fill(node, 0, [&](const Dims& i) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.dims[rank - (turn_a ? 2 : 1)]; ++k) {
        Dims in_a = i;
        Dims in_b = i;
        in_a[rank - 1] = k;
        in_b[rank - 2] = k;
        if (turn_a) std::swap(in_a[rank - 1], in_a[rank - 2]);
        if (turn_b) std::swap(in_b[rank - 1], in_b[rank - 2]);
        sum += a.broadcast(in_a) * b.broadcast(in_b);
      }
      return sum;
    });
  }

  const QnnMapping& mapping_;
  std::vector<Values> inputs_;
  std::vector<Dims> output_dims_;
  std::map<std::pair<int, int>, Values> made_;
};

/// A tensor in the order of the device, and back.
inline Values on_device(const Tensor& tensor, Layout layout) {
  Values values{device_dims(tensor.dims(), layout), {}};
  std::vector<float> logical;
  for (std::int64_t k = 0; k < tensor.size(); ++k)
    logical.push_back(tensor.type() == DType::f32 ? tensor.f32()[u(k)] : static_cast<float>(tensor.i32()[u(k)]));
  std::vector<float> ordered(logical.size());
  to_device_order(logical, tensor.dims(), layout, ordered);
  values.data.assign(ordered.begin(), ordered.end());
  return values;
}

inline std::vector<float> logical_order(const Values& values, const Dims& dims, Layout layout) {
  const std::vector<float> device(values.data.begin(), values.data.end());
  std::vector<float> logical(device.size());
  to_logical_order(device, dims, layout, logical);
  return logical;
}

}  // namespace qnndbg::test
