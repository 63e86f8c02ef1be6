#include "diagnose/encodings.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace qnndbg {
namespace {

/// Scales are floats; a manifest prints nine digits of them, which is exact.
constexpr double kSameScale = 1e-6;
/// Six digits behind the point are the least that MNN's offline conversion prints; beyond this it is another number.
constexpr double kPrintedScale = 1e-3;

std::string text_of(const Encoding& encoding) {
  return fmt::format("scale {:.9g}, offset {}", encoding.scale, encoding.offset);
}

/// Which tensor's encoding a stage inside an operator is given by MNN.
enum class StageEncoding : std::uint8_t { unknown, input, output };

StageEncoding encoding_of_stage(std::string_view name) {
  constexpr auto kOutput = std::to_array<std::string_view>({"ReluTensor", "OutputReshapeTensor"});
  constexpr std::string_view kInput = "InputReshapeTensor";
  if (std::find(kOutput.begin(), kOutput.end(), name) != kOutput.end()) return StageEncoding::output;
  return name == kInput ? StageEncoding::input : StageEncoding::unknown;
}

/// The entry's encoding if it is a fixed-point tensor that says one.
const Encoding* stated_encoding(const DeviceRun& run, int entry) {
  if (entry < 0) return nullptr;
  const DumpEntry& held = run.entry(entry);
  return is_quantized(held.type) && held.problem.empty() && held.encoding ? &*held.encoding : nullptr;
}

/// True when an operand has the same encoding on the device and, where the model declares one for `tensor`, in the
/// model too: the operator hands on what it was given.
bool handed_on(const Graph& graph, const DeviceRun& run, const OpNode& node, int tensor, const Encoding& used) {
  const bool declared = graph.tensors[static_cast<std::size_t>(tensor)].encoding.has_value();
  const Encoding* meant = graph.meant_encoding(tensor);
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
    if (input < 0) return false;
    const Encoding* given = stated_encoding(run, run.operand(input, true));
    const Encoding* meant_given = graph.meant_encoding(input);
    const bool meant_to_be = !declared || (meant_given != nullptr && *meant_given == *meant);
    return given != nullptr && *given == used && meant_to_be;
  });
}

/// True when the entry's encoding is meant for a tensor among `tensors`.
bool meant_for_any(const Graph& graph, const DumpEntry& held, const std::vector<int>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [&](int tensor) {
    const Encoding* meant = tensor < 0 ? nullptr : graph.meant_encoding(tensor);
    return meant != nullptr &&
           !compare_encoding(held.type, *held.encoding, *graph.meant_quantized_type(tensor), *meant).has_value();
  });
}

/// True when an encoding that differs from the model's is not the operator's doing: it was handed on, or `tensor`
/// declares none and MNN took it from another tensor beside it (which one, its propagation decides: forwards,
/// backwards, or from another part of a concatenation).
bool excused(const Graph& graph, const DeviceRun& run, const OpNode& node, int tensor, const DumpEntry& held) {
  const TensorNode& known = graph.tensors[static_cast<std::size_t>(tensor)];
  if (keeps_encoding(node) && handed_on(graph, run, node, tensor, *held.encoding)) return true;
  if (known.encoding) return false;
  if (keeps_encoding(node) && meant_for_any(graph, held, node.inputs)) return true;
  return std::any_of(known.consumers.begin(), known.consumers.end(), [&](int reader) {
    const OpNode& op = graph.ops[static_cast<std::size_t>(reader)];
    return keeps_encoding(op) && (meant_for_any(graph, held, op.outputs) || meant_for_any(graph, held, op.inputs));
  });
}

void add_stages(const Graph& graph, const DeviceRun& run, const OpNode& node, std::vector<WrongEncoding>& list) {
  for (const auto& [name, entry] : run.stages(node.index)) {
    const StageEncoding from = encoding_of_stage(name);
    const std::vector<int>& side = from == StageEncoding::input ? node.inputs : node.outputs;
    if (from == StageEncoding::unknown || side.empty() || side.front() < 0) continue;
    const Encoding* used = stated_encoding(run, entry);
    const Encoding* beside = stated_encoding(run, run.operand(side.front(), true));
    // Wrong in the same way as the tensor itself: that one is in the list, or its maker's.
    if (used == nullptr || (beside != nullptr && *beside == *used)) continue;
    if (auto wrong = wrong_encoding(graph, run, entry, side.front())) list.push_back(std::move(*wrong));
  }
}

}  // namespace

std::optional<EncodingDifference> compare_encoding(DType type, const Encoding& used, DType meant_type,
                                                   const Encoding& meant) {
  if (!is_valid(used)) return EncodingDifference{.cause = "quant_scale_invalid"};
  if (!is_valid(meant) || size_of(type) != size_of(meant_type)) return std::nullopt;
  const double relative = std::fabs(used.scale - meant.scale) / meant.scale;
  if (used.offset + range_of(type).low != meant.offset + range_of(meant_type).low) {
    const bool negated = type == meant_type && static_cast<std::int64_t>(used.offset) == -std::int64_t{meant.offset};
    return EncodingDifference{.cause = negated ? "quant_offset_sign" : "quant_offset_wrong", .relative = relative};
  }
  if (relative <= kSameScale) return std::nullopt;
  return EncodingDifference{.cause = "quant_scale_wrong", .digits = relative <= kPrintedScale, .relative = relative};
}

std::optional<WrongEncoding> wrong_encoding(const Graph& graph, const DeviceRun& run, int entry, int tensor) {
  const Encoding* used = stated_encoding(run, entry);
  if (used == nullptr) return std::nullopt;
  const DumpEntry& held = run.entry(entry);
  WrongEncoding wrong{.entry = entry, .used = text_of(*used)};
  const Encoding* meant = graph.meant_encoding(tensor);
  const std::optional<DType> type = graph.meant_quantized_type(tensor);
  auto difference = compare_encoding(held.type, *used, type.value_or(held.type), meant == nullptr ? *used : *meant);
  if (!difference) return std::nullopt;
  wrong.difference = std::move(*difference);
  if (meant == nullptr || !is_valid(*meant)) {
    wrong.meant = "a positive scale";
    wrong.sentence = fmt::format("{} is encoded with {}", held.name, wrong.used);
    return wrong;
  }
  wrong.meant = text_of(*meant);
  const int source = graph.tensors[static_cast<std::size_t>(tensor)].encoding_source;
  const std::string origin = source == tensor
                                 ? "the model declares"
                                 : fmt::format("it inherits from {}, for which the model declares", tensor_id(source));
  wrong.sentence = fmt::format("{} is encoded with {}; {} {}", held.name, wrong.used, origin, wrong.meant);
  if (wrong.difference.cause == "quant_scale_wrong" && !wrong.difference.digits)
    wrong.sentence += fmt::format(" (the scale is {:.6g} times as large)", used->scale / meant->scale);
  return wrong;
}

std::vector<WrongEncoding> wrong_encodings(const Graph& graph, const DeviceRun& run, const OpNode& node) {
  std::vector<WrongEncoding> list;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const int tensor = node.outputs[k];
    const int entry = run.own(tensor);
    auto wrong = wrong_encoding(graph, run, entry, tensor);
    if (!wrong || excused(graph, run, node, tensor, run.entry(entry))) continue;
    wrong->output = static_cast<int>(k);
    list.push_back(std::move(*wrong));
  }
  add_stages(graph, run, node, list);
  // What makes the integers meaningless first, then the offset, then the scale.
  std::stable_sort(list.begin(), list.end(), [](const WrongEncoding& a, const WrongEncoding& b) {
    const auto rank = [](const EncodingDifference& d) {
      return d.digits ? 3 : d.cause == "quant_scale_invalid" ? 0 : d.cause == "quant_scale_wrong" ? 2 : 1;
    };
    return rank(a.difference) < rank(b.difference);
  });
  return list;
}

}  // namespace qnndbg
