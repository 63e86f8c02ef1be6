#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "knowledge/soc.h"
#include "report/context.h"

namespace qnndbg {
namespace {

constexpr std::size_t kLabelColumns = 14;
/// A binary made for a language model has hundreds of inputs and outputs.
constexpr std::size_t kMostTensors = 16;

std::string line(const TextStyle& style, std::string_view label, std::string_view text) {
  return fmt::format("  {}{}\n", paint(style, Paint::faint, fmt::format("{:<{}}", label, kLabelColumns - 2)),
                     wrap(text, kLabelColumns, static_cast<std::size_t>(std::max(style.width, 40))));
}

std::string target_words(int soc, int arch) {
  const Soc* known = soc == 0 ? nullptr : find_soc(std::to_string(soc));
  std::string text = soc == 0                                  ? "no SoC told"
                     : known == nullptr || known->name.empty() ? fmt::format("SoC {}", soc)
                                                               : fmt::format("{} ({})", known->name, soc);
  return arch == 0 ? text : fmt::format("{}, {}", text, arch_name(arch));
}

std::string type_words(std::uint32_t number) {
  const std::optional<DType> type = dtype_from_qnn(number);
  return type ? std::string(name_of(*type)) : fmt::format("{:#x}", number);
}

std::string encoding_words(const qnn::BinaryTensor& tensor) {
  using Kind = qnn::QuantizationSpec::Kind;
  const qnn::QuantizationSpec& encoding = tensor.quantization;
  if (encoding.kind == Kind::axis)
    return fmt::format("  {} on axis {}", plural(static_cast<long long>(encoding.scales.size()), "scale"),
                       encoding.axis);
  if (encoding.kind != Kind::tensor || encoding.scales.empty()) return {};
  return fmt::format("  scale {:g} offset {}", encoding.scales[0], encoding.offsets.empty() ? 0 : encoding.offsets[0]);
}

struct Shown {
  std::span<const qnn::BinaryTensor> tensors;
  std::size_t left_out = 0;
};

Shown shown_of(const std::vector<qnn::BinaryTensor>& tensors, const TextStyle& style) {
  const std::size_t count = style.verbosity > 0 ? tensors.size() : std::min(tensors.size(), kMostTensors);
  return {std::span(tensors).first(count), tensors.size() - count};
}

std::size_t name_columns(const Shown& shown) {
  std::size_t columns = 0;
  for (const qnn::BinaryTensor& tensor : shown.tensors)
    columns = std::max(columns, columns_of(terminal_safe(tensor.name)));
  return columns;
}

std::string tensors_text(const Shown& shown, std::string_view kind, std::size_t columns) {
  std::string out;
  for (const qnn::BinaryTensor& tensor : shown.tensors) {
    const std::string name = terminal_safe(tensor.name);
    out += fmt::format("    {:<6}  {}{}  {:<8}  {}{}\n", kind, name, std::string(columns - columns_of(name), ' '),
                       type_words(tensor.type), fmt::join(tensor.dims, "x"), encoding_words(tensor));
  }
  if (shown.left_out > 0)
    out +=
        fmt::format("    and {} (-v)\n", plural(static_cast<long long>(shown.left_out), fmt::format("more {}", kind)));
  return out;
}

std::string graph_text(const qnn::BinaryGraph& graph, const TextStyle& style) {
  const Shown inputs = shown_of(graph.inputs, style);
  const Shown outputs = shown_of(graph.outputs, style);
  const std::size_t columns = std::max(name_columns(inputs), name_columns(outputs));
  return fmt::format("graph `{}`: {}, {}\n", terminal_safe(graph.name),
                     plural(static_cast<long long>(graph.inputs.size()), "input"),
                     plural(static_cast<long long>(graph.outputs.size()), "output")) +
         tensors_text(inputs, "input", columns) + tensors_text(outputs, "output", columns);
}

std::string size_words(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.1f} kB", static_cast<double>(bytes) * 1e-3)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
}

std::string remark_text(const qnn::FitRemark& remark, bool several_graphs, const TextStyle& style) {
  const std::string where =
      several_graphs && !remark.graph.empty() ? fmt::format("graph `{}`: ", terminal_safe(remark.graph)) : "";
  return fmt::format("{} {}\n",
                     paint(style, remark.problem ? Paint::error : Paint::warning, remark.problem ? "error:" : "note:"),
                     wrap(where + terminal_safe(remark.text), 7, static_cast<std::size_t>(std::max(style.width, 40))));
}

/// "SM8650 (57), v75; QNN 2.37; model m.mnn"
std::string wish_words(const ContextView& view) {
  std::vector<std::string> parts;
  if (!(view.wish.target == qnn::Target{})) parts.push_back(target_words(view.wish.target.soc, view.wish.target.arch));
  if (!view.wish.runtime.empty()) parts.push_back("QNN " + terminal_safe(view.wish.runtime));
  if (!view.model.empty()) parts.push_back("model " + terminal_safe(view.model));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

bool ContextView::asked() const { return !(wish.target == qnn::Target{}) || !wish.runtime.empty() || wish.ends; }

bool ContextView::fits() const {
  return std::none_of(remarks.begin(), remarks.end(), [](const qnn::FitRemark& remark) { return remark.problem; });
}

std::string context_text(const ContextView& view, const TextStyle& style) {
  const qnn::BinaryInfo& binary = view.binary;
  std::string out = fmt::format("{}   {}: context binary, {}\n",
                                paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)),
                                terminal_safe(view.file), size_words(view.bytes));
  out += line(style, "made by",
              fmt::format("QNN {} (core API {}, backend API {})",
                          binary.build_id.empty() ? "of an unknown build" : terminal_safe(binary.build_id),
                          terminal_safe(binary.core_api), terminal_safe(binary.backend_api)));
  out += line(style, "made for", target_words(binary.soc, qnn::arch_of(binary)));
  for (const qnn::BinaryGraph& graph : binary.graphs) out += graph_text(graph, style);
  for (const qnn::FitRemark& remark : view.remarks) out += remark_text(remark, binary.graphs.size() > 1, style);
  if (!view.asked()) return out;
  return out +
         wrap(paint(style, view.fits() ? Paint::good : Paint::error, view.fits() ? "it fits" : "it does not fit") +
                  ": " + wish_words(view),
              0, static_cast<std::size_t>(std::max(style.width, 40))) +
         '\n';
}

}  // namespace qnndbg
