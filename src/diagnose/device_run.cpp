#include "diagnose/device_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace qnndbg {
namespace {

Layout other(Layout layout) { return layout == Layout::logical ? Layout::channel_last : Layout::logical; }

/// How good an entry is as the operator's own result: its device-side name beats the host-side one.
int preference(DumpRole::Kind kind) { return kind == DumpRole::Kind::tensor ? 1 : 2; }

bool names_a_tensor(const DumpRole& role) {
  return role.kind == DumpRole::Kind::tensor || role.kind == DumpRole::Kind::cast ||
         role.kind == DumpRole::Kind::dequant;
}

}  // namespace

std::optional<Layout> fitting_layout(const Dims& device, const Dims& logical, Layout rule) {
  if (to_device_dims(logical, rule) == device) return rule;
  if (to_device_dims(logical, other(rule)) == device) return other(rule);
  return std::nullopt;
}

DeviceRun::DeviceRun(const Model& model, const Execution& execution) : model_(&model), execution_(&execution) {
  const Graph& graph = model.graph();
  const DumpNames names(graph);
  own_.assign(graph.tensors.size(), -1);
  boundary_.assign(graph.tensors.size(), -1);
  unusable_.assign(graph.tensors.size(), -1);
  stages_.resize(graph.ops.size());
  dumped_.assign(graph.ops.size(), false);
  mismatch_.resize(execution.entries.size());
  for (std::size_t i = 0; i < execution.entries.size(); ++i) {
    const DumpEntry& entry = execution.entries[i];
    const auto index = static_cast<int>(i);
    roles_.push_back(names.role(entry.name));
    const DumpRole& role = roles_.back();
    if (names_a_tensor(role)) {
      const auto t = static_cast<std::size_t>(role.tensor);
      const int producer = graph.tensors[t].producer;
      if (producer >= 0) dumped_[static_cast<std::size_t>(producer)] = true;
      if (!entry.problem.empty()) {
        unusable_[t] = index;
      } else if (own_[t] < 0) {
        own_[t] = index;
      } else if (preference(role.kind) > preference(roles_[static_cast<std::size_t>(own_[t])].kind)) {
        boundary_[t] = own_[t];
        own_[t] = index;
      } else if (preference(role.kind) < preference(roles_[static_cast<std::size_t>(own_[t])].kind)) {
        boundary_[t] = index;
      }
    } else if (role.kind == DumpRole::Kind::stage) {
      dumped_[static_cast<std::size_t>(role.op)] = true;
      if (entry.problem.empty()) stages_[static_cast<std::size_t>(role.op)].emplace(role.stage, index);
    }
  }
}

int DeviceRun::stage(int op, std::string_view name) const {
  const auto& stages = stages_[static_cast<std::size_t>(op)];
  const auto found = stages.find(name);
  return found == stages.end() ? -1 : found->second;
}

PlanHints DeviceRun::hints(const std::optional<InputMap>& given) const {
  PlanHints hints;
  for (const GraphInput& input : model_->graph().inputs) {
    const int index = own(input.tensor);
    if (index >= 0) {
      const Layout layout = input.format == MnnFormat::nc4hw4 ? Layout::channel_last : Layout::logical;
      hints.input_dims[input.tensor] = to_logical_dims(entry(index).dims, layout);
    } else if (given) {
      for (const auto& [name, tensor] : *given) {
        const GraphInput* named = model_->graph().find_input(name);
        if (named != nullptr && named->tensor == input.tensor) hints.input_dims[input.tensor] = tensor.dims();
      }
    }
  }
  hints.dumped_spec = [this](int tensor, bool channel_last) -> std::optional<TensorSpec> {
    const int index = own(tensor);
    if (index < 0) return std::nullopt;
    const DType type = entry(index).type == DType::i32 ? DType::i32 : DType::f32;
    return TensorSpec{type, to_logical_dims(entry(index).dims, channel_last ? Layout::channel_last : Layout::logical)};
  };
  hints.dumped_layout = [this](int tensor, const Dims& logical, Layout rule) -> std::optional<Layout> {
    const int index = own(tensor);
    return index < 0 ? std::nullopt : fitting_layout(entry(index).dims, logical, rule);
  };
  return hints;
}

Result<void> DeviceRun::check_dims_against(const GraphPlan& plan) {
  int compared = 0;
  int disagree = 0;
  std::string example;
  for (std::size_t t = 0; t < own_.size(); ++t) {
    if (own_[t] < 0 || !plan.tensors[t].spec) continue;
    ++compared;
    const DumpEntry& dumped_entry = entry(own_[t]);
    const Dims expected = to_device_dims(plan.tensors[t].spec->dims, plan.tensors[t].layout);
    if (expected == dumped_entry.dims) continue;
    ++disagree;
    std::string& why = mismatch_[static_cast<std::size_t>(own_[t])];
    why = fmt::format("{}:{}: {} has dims {}, the model gives {}", execution_->manifest.filename().string(),
                      dumped_entry.line, dumped_entry.name, to_string(dumped_entry.dims), to_string(expected));
    if (example.empty()) example = why;
    unusable_[t] = own_[t];
    own_[t] = -1;
    boundary_[t] = -1;
  }
  if (compared == 0)
    return fail("{}: no tensor of this dump is one of the model's; is it of another model?",
                execution_->manifest.string());
  if (disagree * 10 > compared) {
    return fail(
        "this dump is not of this model (or was made with other input sizes): the dims of {} of {} tensors disagree, "
        "e.g. {}",
        disagree, compared, example);
  }
  return {};
}

std::string DeviceRun::problem_of(int tensor) const {
  const int index = unusable_[static_cast<std::size_t>(tensor)];
  if (index < 0) return {};
  return entry(index).problem.empty() ? mismatch(index) : entry(index).problem;
}

std::string encoding_problem(const DumpEntry& entry) {
  if (!is_quantized(entry.type)) return {};
  if (!entry.encoding) {
    return fmt::format("{} is {} with quant_encoding {}, whose scales a manifest does not list", entry.name,
                       name_of(entry.type), entry.quant_encoding);
  }
  if (!is_valid(*entry.encoding)) {
    return fmt::format("{} has the scale {}, which is no positive number", entry.name, entry.encoding->scale);
  }
  return {};
}

int DeviceRun::operand(int tensor, bool fixed_point) const {
  const int plain = own(tensor);
  if (plain >= 0 && is_quantized(entry(plain).type) == fixed_point) return plain;
  const auto copy = std::find_if(inserted_.begin(), inserted_.end(), [&](const InsertedCopy& c) {
    return c.tensor == tensor && c.fixed_point == fixed_point;
  });
  return copy == inserted_.end() ? plain : copy->entry;
}

namespace {

constexpr std::string_view kCastStage = "_Cast";

/// "FloatToInt8_I_0_O_2_Cast" -> 2: the counter of the copy that the node makes.
std::optional<int> copy_number(std::string_view name) {
  constexpr std::string_view kNode = "FloatToInt8_I_";
  if (!name.starts_with(kNode) || !name.ends_with(kCastStage)) return std::nullopt;
  name.remove_suffix(kCastStage.size());
  const std::size_t mark = name.rfind("_O_");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(mark + 3);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

/// Equal as copies between half, float and fixed point are: up to one rounding of each.
bool same_values(std::span<const float> a, std::span<const float> b, double absolute,
                 const std::optional<ValueRange>& clip) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    double x = a[i];
    double y = b[i];
    if (clip) {
      x = std::clamp(x, clip->low, clip->high);
      y = std::clamp(y, clip->low, clip->high);
    }
    // A negated comparison, so that a NaN is a difference.
    if (!(std::fabs(x - y) <= absolute + 2 * kHalfUnitRoundoff * std::max(std::fabs(x), std::fabs(y)))) return false;
  }
  return true;
}

}  // namespace

void DeviceRun::find_inserted(const GraphPlan& plan, HalfKind half) {
  const Graph& graph = model_->graph();
  std::map<std::string, int> casts;  // by the name of the copy that the node makes
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    const DumpEntry& side = entry(static_cast<int>(i));
    if (const auto number = copy_number(side.name); number && side.problem.empty())
      casts.emplace(fmt::format("QnnTensor_{}", *number), static_cast<int>(i));
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i].kind != DumpRole::Kind::quant_stage) continue;
    const auto index = static_cast<int>(i);
    InsertedCopy copy{.entry = index, .fixed_point = is_quantized(entry(index).type)};
    if (!entry(index).problem.empty() || !encoding_problem(entry(index)).empty()) continue;
    if (const auto side = casts.find(entry(index).name);
        side != casts.end() && entry(side->second).dims == entry(index).dims) {
      copy.cast = side->second;
      copy.node = entry(side->second).name.substr(0, entry(side->second).name.rfind(kCastStage));
    }
    // Tensors that data movement made of each other can hold the same bytes; MNN made the copy for a reader.
    for (const bool read : {true, false}) {
      for (int t = 0; t < static_cast<int>(graph.tensors.size()) && copy.tensor < 0; ++t) {
        if (has_reader(graph, t, copy.fixed_point) == read && is_copy_of(plan, copy, t, half)) copy.tensor = t;
      }
    }
    if (copy.tensor >= 0) inserted_.push_back(std::move(copy));
  }
}

bool DeviceRun::has_reader(const Graph& graph, int tensor, bool fixed_point) const {
  const std::vector<int>& readers = graph.tensors[static_cast<std::size_t>(tensor)].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](int reader) {
    const std::vector<int>& outputs = graph.ops[static_cast<std::size_t>(reader)].outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](int output) {
      const int made = own(output);
      return made >= 0 && is_quantized(entry(made).type) == fixed_point;
    });
  });
}

bool DeviceRun::is_copy_of(const GraphPlan& plan, const InsertedCopy& copy, int tensor, HalfKind half) const {
  const PlannedTensor& planned = plan.tensors[static_cast<std::size_t>(tensor)];
  if (!planned.spec || planned.spec->type != DType::f32) return false;
  const DumpEntry& candidate = entry(copy.entry);
  const Dims& dims = planned.spec->dims;
  const Layout layout = planned.host ? Layout::logical : planned.layout;
  // A scalar constant is [1] on the device.
  const bool fits = planned.host ? element_count(dims) == element_count(candidate.dims)
                                 : to_device_dims(dims, layout) == candidate.dims;
  if (!fits) return false;
  std::optional<Tensor> original;
  if (planned.host) {
    if (copy.fixed_point) original = planned.host->clone();
  } else if (const int plain = own(tensor); plain >= 0 && is_quantized(entry(plain).type) != copy.fixed_point) {
    if (auto loaded = load(plain, DType::f32, dims, layout, half)) original = std::move(*loaded);
  }
  if (!original) return false;
  auto value = load(copy.cast >= 0 ? copy.cast : copy.entry, DType::f32, dims, layout, half);
  if (!value) return false;
  std::optional<ValueRange> clip;
  double step = 0;
  if (copy.cast < 0 && copy.fixed_point) {
    clip = value_range(candidate.type, *candidate.encoding);
    step = candidate.encoding->scale;
  }
  return same_values(original->f32(), value->f32(), step, clip);
}

Result<Tensor> DeviceRun::load(int index, DType type, const Dims& dims, Layout layout, HalfKind half) const {
  const DumpEntry& source = entry(index);
  if (element_count(source.dims) != element_count(dims)) {
    return fail("{} holds {} elements, {} were expected ({})", source.name, element_count(source.dims),
                element_count(dims), to_string(dims));
  }
  if (const std::string why = encoding_problem(source); !why.empty()) return fail("{}", why);
  auto file = Dump::map(source);
  if (!file) return fail(file.error());
  Tensor values = Tensor::f32(dims);
  decode_to_logical(file->bytes(), source.type, source.encoding.value_or(Encoding{1, 0}), half, dims, layout,
                    values.f32());
  if (type == DType::f32) return values;
  Tensor integers = Tensor::i32(dims);
  for (std::size_t i = 0; i < values.f32().size(); ++i) {
    const float v = values.f32()[i];
    // float -> int of an out-of-range value is undefined; such a value cannot be a valid index or count anyway.
    integers.i32()[i] = std::isfinite(v) && std::fabs(v) < 2147483520.0F ? static_cast<std::int32_t>(v) : 0;
  }
  return integers;
}

}  // namespace qnndbg
