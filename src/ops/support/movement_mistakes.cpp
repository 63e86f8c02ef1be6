#include "ops/support/movement_mistakes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "ops/support/axis_swap.h"

namespace qnndbg {
namespace {

// All permutations of five axes are 120; of six they would be 720.
constexpr int kAllPermutationsUpTo = 5;
// Positions compared to tell two movements apart; they are strided, so that two that agree here agree.
constexpr std::int64_t kComparedPositions = 1024;
// Begins tried along one axis.
constexpr std::int64_t kMostBegins = 4096;

constexpr const char* kGatherFile = "source/backend/qnn/execution/QNNGather.cpp";
constexpr const char* kPermuteFile = "source/backend/qnn/execution/QNNPermute.cpp";

double element_of(const Tensor& x, std::int64_t i) {
  const auto k = static_cast<std::size_t>(i);
  return x.type() == DType::f32 ? static_cast<double>(x.f32()[k]) : static_cast<double>(x.i32()[k]);
}

std::vector<int> inverse(const std::vector<int>& permutation) {
  std::vector<int> out(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k)
    out[static_cast<std::size_t>(permutation[k])] = static_cast<int>(k);
  return out;
}

std::string to_text(const std::vector<int>& permutation) { return fmt::format("[{}]", fmt::join(permutation, ", ")); }

/// The axes that really move: two permutations with the same ones are the same function.
std::vector<int> signature(const std::vector<int>& permutation, const Dims& dims) {
  std::vector<int> out;
  for (int axis : permutation) {
    if (dims[static_cast<std::size_t>(axis)] != 1) out.push_back(axis);
  }
  return out;
}

/// Candidates, most plausible first: not remapped to the layout, its inverse, no exchange at all, those that give the
/// output's dims, all others.
std::vector<std::vector<int>> candidate_permutations(const Dims& in, const Dims& out, const std::vector<int>& meant,
                                                     const std::vector<int>& not_remapped) {
  const int rank = static_cast<int>(in.size());
  std::vector<int> identity(in.size());
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<std::vector<int>> rest;
  if (rank <= kAllPermutationsUpTo) {
    std::vector<int> p = identity;
    do rest.push_back(p);
    while (std::next_permutation(p.begin(), p.end()));
  } else {
    for (std::size_t a = 0; a < in.size(); ++a) {
      for (std::size_t b = a + 1; b < in.size(); ++b) {
        rest.push_back(meant);
        std::swap(rest.back()[a], rest.back()[b]);
      }
    }
  }
  std::stable_partition(rest.begin(), rest.end(), [&](const std::vector<int>& p) {
    for (std::size_t k = 0; k < p.size(); ++k) {
      if (k >= out.size() || in[static_cast<std::size_t>(p[k])] != out[k]) return false;
    }
    return true;
  });
  std::vector<std::vector<int>> all{not_remapped, inverse(meant), identity};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

std::int64_t StridedView::at(std::int64_t position) const {
  std::int64_t offset = base;
  for (std::size_t k = dims.size(); k-- > 0;) {
    offset += position % dims[k] * strides[k];
    position /= dims[k];
  }
  return offset;
}

std::int64_t Movement::operator()(std::int64_t position) const {
  for (const StridedView& view : views) position = view.at(position);
  return position;
}

StridedView permuted_view(const Dims& dims, const std::vector<int>& permutation) {
  const Dims strides = strides_of(dims);
  StridedView view;
  for (int axis : permutation) {
    view.dims.push_back(dims[static_cast<std::size_t>(axis)]);
    view.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return view;
}

std::vector<int> to_device_permutation(int rank, Layout layout) {
  std::vector<int> permutation(static_cast<std::size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  if (layout == Layout::channel_last && rank >= 3)
    std::rotate(permutation.begin() + 1, permutation.begin() + 2, permutation.end());
  return permutation;
}

std::vector<int> to_logical_permutation(int rank, Layout layout) {
  return inverse(to_device_permutation(rank, layout));
}

namespace {

/// Logical position -> position in device memory, and back.
StridedView into_device(const Place& place) {
  return permuted_view(to_device_dims(place.dims, place.layout),
                       to_logical_permutation(static_cast<int>(place.dims.size()), place.layout));
}

StridedView out_of_device(const Place& place) {
  return permuted_view(place.dims, to_device_permutation(static_cast<int>(place.dims.size()), place.layout));
}

Dims sizes_of(const std::vector<SliceAxis>& axes) {
  Dims dims;
  for (const SliceAxis& axis : axes) dims.push_back(axis.size);
  return dims;
}

/// Gathers along `axis` of a tensor with these dims: position of the output -> position of the input.
Source gathered(const Dims& dims, int axis, std::vector<std::int64_t> indices) {
  return [view = view_axis(dims, axis), list = std::move(indices)](std::int64_t i) {
    const auto count = static_cast<std::int64_t>(list.size());
    const std::int64_t index = list[static_cast<std::size_t>(i / view.inner % count)];
    if (index < 0 || index >= view.extent) return std::int64_t{-1};
    return (i / view.inner / count * view.extent + index) * view.inner + i % view.inner;
  };
}

/// How the elements of one side of a reshape are strung together.
struct Order {
  const char* name;
  StridedView view;  // input: place in the string -> element; output: element -> place in the string
};

/// The orders in which an input may be read or an output written, the wrong layout first, as meant next.
std::vector<Order> orders_of(const Dims& dims, bool reading) {
  const int rank = static_cast<int>(dims.size());
  const Order plain{"as meant", permuted_view(dims, to_device_permutation(rank, Layout::logical))};
  if (rank < 3) return {plain};
  const Dims channel_last = to_device_dims(dims, Layout::channel_last);
  const std::vector<int> to_last = to_device_permutation(rank, Layout::channel_last);
  const std::vector<int> to_first = to_logical_permutation(rank, Layout::channel_last);
  if (reading) {
    return {{"in NHWC order", permuted_view(dims, to_last)},
            plain,
            {"as if it were NHWC", permuted_view(channel_last, to_first)},
            {"transposed from NHWC once more", permuted_view(dims, to_first)}};
  }
  return {{"in NHWC order", permuted_view(channel_last, to_first)},
          plain,
          {"as if it were NHWC", permuted_view(dims, to_last)},
          {"transposed to NHWC once more", permuted_view(channel_last, to_last)}};
}

}  // namespace

Place place_of(const Operand& operand) { return {operand.spec.dims, operand.layout}; }

Movement between(const Place& out, StridedView on_device, const Place& in) {
  return {.views = {into_device(out), std::move(on_device), out_of_device(in)}};
}

Source between(const Place& out, Source on_device, const Place& in) {
  return [to = into_device(out), inner = std::move(on_device), from = out_of_device(in)](std::int64_t i) {
    const std::int64_t position = inner(to.at(i));
    return position < 0 ? position : from.at(position);
  };
}

Hypothesis moved(Hypothesis texts, Source source, Dims out) {
  texts.bound = "exact";
  texts.exact = [source](const RunContext& run) -> Result<ElementValue> {
    return ElementValue([source, &x = *run.inputs[0]](std::int64_t i) {
      const std::int64_t from = source(i);
      return from >= 0 && from < x.size() ? element_of(x, from) : std::numeric_limits<double>::quiet_NaN();
    });
  };
  texts.compute = [source = std::move(source), dims = std::move(out)](const RunContext& run) -> Result<StageResult> {
    const Tensor& x = *run.inputs[0];
    StageResult result{.value = Tensor(x.type(), dims)};
    for (std::int64_t i = 0; i < result.value.size(); ++i) {
      const std::int64_t from = source(i);
      if (from < 0 || from >= x.size()) return fail("element {} of an input of {}", from, x.size());
      if (x.type() == DType::f32) {
        result.value.f32()[static_cast<std::size_t>(i)] = x.f32()[static_cast<std::size_t>(from)];
      } else {
        result.value.i32()[static_cast<std::size_t>(i)] = x.i32()[static_cast<std::size_t>(from)];
      }
    }
    return result;
  };
  return texts;
}

MovementMistakes::MovementMistakes(const Evidence& evidence, Dims out, Source right)
    : x_(*evidence.context.inputs[0]), out_(std::move(out)), screen_(evidence) {
  known_.push_back(std::move(right));
}

bool MovementMistakes::known(const Source& source) const {
  const std::int64_t count = element_count(out_);
  const std::int64_t step = std::max<std::int64_t>(1, count / kComparedPositions);
  return std::any_of(known_.begin(), known_.end(), [&](const Source& other) {
    for (std::int64_t k = 0; k < std::min(count, kComparedPositions); ++k) {
      const std::int64_t i = (k * step + k % step) % count;
      if (source(i) != other(i)) return false;
    }
    return true;
  });
}

void MovementMistakes::consider(Hypothesis texts, Source source) {
  if (element_count(out_) == 0) return;
  bool inside = true;
  const bool fits = screen_.may_fit([&](std::int64_t i) {
    const std::int64_t from = source(i);
    inside = inside && from >= 0 && from < x_.size();
    return Estimate{.value = inside ? element_of(x_, from) : 0};
  });
  if (!inside || !fits || known(source)) return;
  known_.push_back(source);
  list_.push_back(moved(std::move(texts), std::move(source), out_));
}

std::vector<Hypothesis> permutation_mistakes(const Evidence& evidence, const Place& in, const Place& out,
                                             const std::vector<int>& meant, const std::vector<int>& not_remapped,
                                             const std::string& untouched, const std::string& file) {
  const Dims device_in = to_device_dims(in.dims, in.layout);
  const Dims device_out = to_device_dims(out.dims, out.layout);
  MovementMistakes mistakes(evidence, out.dims, between(out, permuted_view(device_in, meant), in));
  std::set<std::vector<int>> seen{signature(meant, device_in)};
  for (const std::vector<int>& p : candidate_permutations(device_in, device_out, meant, not_remapped)) {
    if (!seen.insert(signature(p, device_in)).second) continue;
    mistakes.consider({.cause = std::is_sorted(p.begin(), p.end()) ? untouched : "permutation_wrong",
                       .parameter = "perm of Transpose",
                       .used = to_text(p) + (p == not_remapped ? " (not remapped to the layout)" : ""),
                       .meant = to_text(meant),
                       .file = file},
                      between(out, permuted_view(device_in, p), in));
  }
  return mistakes.take();
}

Stage model_transpose_stage(const LowerContext& context, std::vector<int> permutation) {
  const Place in = place_of(context.inputs[0]);
  const Place out = place_of(context.outputs[0]);
  const int rank = static_cast<int>(permutation.size());
  // Device axis k of the output is logical axis o[k]; its data come from logical axis permutation[o[k]] of the input.
  const std::vector<int> out_order = to_device_permutation(rank, out.layout);
  const std::vector<int> in_position = to_logical_permutation(rank, in.layout);
  std::vector<int> on_device;
  for (int axis : out_order) {
    const int from = permutation[static_cast<std::size_t>(axis)];
    on_device.push_back(in_position[static_cast<std::size_t>(from)]);
  }
  Stage stage = transpose_stage("", "", 0, permutation);
  stage.hypotheses = [=, not_remapped = std::move(permutation)](const Evidence& evidence) {
    return permutation_mistakes(evidence, in, out, on_device, not_remapped, "permutation_wrong", kPermuteFile);
  };
  return stage;
}

std::function<std::vector<Hypothesis>(const Evidence&)> layout_exchange_mistakes(Place in, Place out,
                                                                                 std::string file) {
  const int rank = static_cast<int>(in.dims.size());
  std::vector<int> meant;
  for (int axis : to_device_permutation(rank, out.layout))
    meant.push_back(to_logical_permutation(rank, in.layout)[static_cast<std::size_t>(axis)]);
  return [in = std::move(in), out = std::move(out), meant = std::move(meant),
          file = std::move(file)](const Evidence& evidence) {
    return permutation_mistakes(evidence, in, out, meant, meant, "flatten_layout_wrong", file);
  };
}

std::vector<Hypothesis> flatten_mistakes(const Evidence& evidence, const Dims& in, const Dims& out,
                                         const std::string& file) {
  MovementMistakes mistakes(evidence, out, [](std::int64_t i) { return i; });
  const std::vector<Order> reads = orders_of(in, true);
  for (const Order& write : orders_of(out, false)) {
    for (const Order& read : reads) {
      mistakes.consider({.cause = "flatten_layout_wrong",
                         .parameter = "order of the elements",
                         .used = fmt::format("input {}, output {}", read.name, write.name),
                         .meant = "NCHW order on both sides",
                         .file = file},
                        Movement{.views = {write.view, read.view}});
    }
  }
  return mistakes.take();
}

std::vector<Hypothesis> slice_mistakes(const Evidence& evidence, const Place& in, const Place& out,
                                       const std::vector<SliceAxis>& axes, const std::string& file) {
  // Inserted or removed axes leave no common device order; such slices stay in logical order.
  const bool same_rank = in.dims.size() == out.dims.size();
  const Place from{in.dims, same_rank ? in.layout : Layout::logical};
  const Place to{same_rank ? out.dims : sizes_of(axes), same_rank ? out.layout : Layout::logical};
  const Dims strides = strides_of(to_device_dims(from.dims, from.layout));
  const std::vector<int> order = to_device_permutation(static_cast<int>(axes.size()), from.layout);
  const auto source = [&](const std::vector<SliceAxis>& windows) {
    StridedView view;
    for (std::size_t k = 0; k < windows.size(); ++k) {
      const SliceAxis& window = windows[static_cast<std::size_t>(order[k])];
      view.dims.push_back(window.size);
      view.strides.push_back(window.step * strides[k]);
      view.base += window.begin * strides[k];
    }
    return between(to, std::move(view), from);
  };
  const auto inside = [&](const SliceAxis& window, std::size_t axis) {
    const std::int64_t last = window.begin + (window.size - 1) * window.step;
    return window.begin >= 0 && window.begin < in.dims[axis] && last >= 0 && last < in.dims[axis];
  };
  MovementMistakes mistakes(evidence, out.dims, source(axes));
  const auto consider = [&](const std::vector<SliceAxis>& windows, const std::string& parameter,
                            const std::string& used, const std::string& meant) {
    mistakes.consider(
        {.cause = "slice_begin_wrong", .parameter = parameter, .used = used, .meant = meant, .file = file},
        source(windows));
  };
  const auto text = [](const SliceAxis& w) { return fmt::format("begin {}, step {}", w.begin, w.step); };

  std::vector<SliceAxis> clipped = axes;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const SliceAxis first{.begin = 0, .step = axes[k].step, .size = axes[k].size};
    if (inside(first, k)) clipped[k] = first;
  }
  consider(clipped, "ranges", "every begin 0", "begins of the model");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const SliceAxis& right = axes[k];
    if (right.size == in.dims[k] && right.step == 1) continue;
    const std::set<std::int64_t> other_steps{1, -1, -right.step};
    std::vector<std::int64_t> steps{right.step};
    for (std::int64_t step : other_steps) {
      if (step != right.step && (right.step != 1 || step == 1)) steps.push_back(step);
    }
    for (std::int64_t step : steps) {
      for (std::int64_t begin = 0; begin < std::min(in.dims[k], kMostBegins); ++begin) {
        std::vector<SliceAxis> windows = axes;
        windows[k] = {.begin = begin, .step = step, .size = right.size};
        if (inside(windows[k], k))
          consider(windows, fmt::format("ranges of axis {}", k), text(windows[k]), text(right));
      }
    }
    for (std::size_t other = 0; other < axes.size(); ++other) {
      if (other == k || in.dims[other] != in.dims[k]) continue;
      std::vector<SliceAxis> windows = axes;
      std::swap(windows[k], windows[other]);
      consider(windows, "axis of the window", fmt::format("{}", other), fmt::format("{}", k));
    }
  }
  return mistakes.take();
}

std::vector<Hypothesis> gather_mistakes(const Evidence& evidence, const Place& in, const Place& out, int axis) {
  const Tensor& given = *evidence.context.inputs[1];
  if (given.type() != DType::i32 || given.empty()) return {};
  const std::int64_t extent = in.dims[static_cast<std::size_t>(axis)];
  const auto changed = [&](auto f) {
    std::vector<std::int64_t> indices;
    for (std::int32_t i : given.i32()) indices.push_back(f(std::int64_t{i}));
    return indices;
  };
  const auto wrapped = [extent](std::int64_t i) { return i < 0 ? i + extent : i; };
  const auto clamped = [extent](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, extent - 1); };
  MovementMistakes mistakes(evidence, out.dims, gathered(in.dims, axis, changed(wrapped)));

  const Dims device = to_device_dims(in.dims, in.layout);
  for (int other = 0; other < static_cast<int>(device.size()); ++other) {
    mistakes.consider({.cause = "gather_axis_wrong",
                       .parameter = "axis of Gather",
                       .used = fmt::format("{}{}", other, in.layout == Layout::logical ? "" : " of the NHWC data"),
                       .meant = fmt::format("{}", axis),
                       .file = kGatherFile},
                      between(out, gathered(device, other, changed(wrapped)), in));
  }
  const auto other_indices = [&](const char* used, std::vector<std::int64_t> indices) {
    mistakes.consider({.cause = "second_input_wrong",
                       .parameter = "indices of Gather",
                       .used = used,
                       .meant = "as the model gives them",
                       .file = kGatherFile},
                      gathered(in.dims, axis, std::move(indices)));
  };
  other_indices("negative ones clipped to 0", changed(clamped));
  other_indices("all 0", changed([](std::int64_t) { return std::int64_t{0}; }));
  other_indices("0, 1, 2, ... instead", changed([n = std::int64_t{-1}](std::int64_t) mutable { return ++n; }));
  other_indices("each plus 1", changed([&](std::int64_t i) { return clamped(wrapped(i) + 1); }));
  other_indices("each minus 1", changed([&](std::int64_t i) { return clamped(wrapped(i) - 1); }));
  return mistakes.take();
}

}  // namespace qnndbg
