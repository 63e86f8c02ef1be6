#include "qnn/context_fit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "knowledge/soc.h"
#include "tensor/layout.h"

namespace qnndbg::qnn {
namespace {

/// A scale that differs by more than this is another scale; less is how it was printed and read.
constexpr double kScaleTolerance = 1e-3;

// --- Versions --------------------------------------------------------------------------------------------------------

/// {2, 51, 0} of "v2.51.0.260929181845"; at least two numbers, at most three. Empty: no version.
std::vector<int> version_numbers(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<int> numbers;
  while (numbers.size() < 3) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  const bool whole = text.empty() || text.front() == '-' || text.front() == '_' || numbers.size() == 3;
  return numbers.size() < 2 || !whole ? std::vector<int>() : numbers;
}

Result<std::vector<FitRemark>> check_version(const BinaryInfo& binary, const std::string& runtime) {
  std::vector<FitRemark> remarks;
  if (runtime.empty()) return remarks;
  std::vector<int> loads = version_numbers(runtime);
  if (loads.empty()) return fail("`{}` is no QNN version; one looks like 2.37", runtime);
  std::vector<int> made = version_numbers(binary.build_id);
  if (made.empty()) {
    remarks.push_back({FitSubject::version, false, "", "", "the binary does not tell which QNN version made it"});
    return remarks;
  }
  // As many numbers as both have: "2.37" is every 2.37.x.
  const std::size_t common = std::min(loads.size(), made.size());
  loads.resize(common);
  made.resize(common);
  if (made > loads)
    remarks.push_back({FitSubject::version, true, "", "",
                       fmt::format("made by QNN {}, but the device has {}: a binary loads in the version that made it "
                                   "and in later ones",
                                   fmt::join(made, "."), fmt::join(loads, "."))});
  return remarks;
}

// --- Target ----------------------------------------------------------------------------------------------------------

const Soc* soc_of_number(int number) { return number == 0 ? nullptr : find_soc(std::to_string(number)); }

std::string soc_words(int number) {
  const Soc* soc = soc_of_number(number);
  return soc == nullptr || soc->name.empty() ? fmt::format("SoC {}", number)
                                             : fmt::format("{} ({})", soc->name, number);
}

std::vector<FitRemark> check_target(const BinaryInfo& binary, const Target& target) {
  std::vector<FitRemark> remarks;
  if (target == Target{}) return remarks;
  const int arch = arch_of(binary);
  if (arch == 0 || target.arch == 0) {
    remarks.push_back({FitSubject::arch, false, "", "", "the binary does not tell which HTP architecture it is for"});
  } else if (arch != target.arch) {
    remarks.push_back({FitSubject::arch, true, "", "",
                       fmt::format("made for {}, but the device has {}: it does not load there, or computes wrong "
                                   "values",
                                   arch_name(arch), arch_name(target.arch))});
  }
  if (arch == target.arch && binary.soc != 0 && target.soc != 0 && binary.soc != target.soc)
    remarks.push_back({FitSubject::soc, false, "", "",
                       fmt::format("made for {}, the device is {}: the same architecture, but perhaps less on-chip "
                                   "memory (VTCM)",
                                   soc_words(binary.soc), soc_words(target.soc))});
  return remarks;
}

// --- Inputs and outputs ----------------------------------------------------------------------------------------------

/// Converters replace what is no letter, digit or underscore.
std::string as_identifier(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return out;
}

bool is_named(const BinaryTensor& tensor, const GraphEnd& end) {
  if (tensor.name == end.name) return true;
  return !end.model_name.empty() && (tensor.name == end.model_name || tensor.name == as_identifier(end.model_name));
}

std::string words(const GraphEnd& end) {
  return end.model_name.empty() || end.model_name == end.name ? fmt::format("`{}`", end.name)
                                                              : fmt::format("`{}` ({})", end.name, end.model_name);
}

bool same_dims(const BinaryTensor& tensor, const Dims& dims) {
  return std::equal(tensor.dims.begin(), tensor.dims.end(), dims.begin(), dims.end(),
                    [](std::uint32_t stored, std::int64_t wanted) { return wanted < 0 || stored == wanted; });
}

std::string type_words(std::uint32_t number) {
  const std::optional<DType> type = dtype_from_qnn(number);
  return type ? std::string(qnndbg::name_of(*type)) : fmt::format("QNN type {:#x}", number);
}

/// What differs between the two, in words; empty: nothing. They name the tensor alike.
std::string difference(const BinaryTensor& tensor, const GraphEnd& end) {
  if (!same_dims(tensor, end.dims) && !same_dims(tensor, end.model_dims))
    return fmt::format("has dims {}, the model's are {}", fmt::join(tensor.dims, "x"), fmt::join(end.dims, "x"));
  if (tensor.type != qnn_number(end.type))
    return fmt::format("is {}, the model's is {}", type_words(tensor.type), qnndbg::name_of(end.type));
  if (!end.encoding || tensor.quantization.kind != QuantizationSpec::Kind::tensor) return {};
  const double scale = tensor.quantization.scales.empty() ? 0 : tensor.quantization.scales[0];
  const std::int32_t offset = tensor.quantization.offsets.empty() ? 0 : tensor.quantization.offsets[0];
  if (offset == end.encoding->offset && std::abs(scale - end.encoding->scale) <= kScaleTolerance * end.encoding->scale)
    return {};
  return fmt::format("has scale {:g}, offset {}; the model's are {:g}, {}", scale, offset, end.encoding->scale,
                     end.encoding->offset);
}

void compare_ends(const BinaryGraph& graph, FitSubject subject, const std::vector<GraphEnd>& ends, bool complete,
                  std::vector<FitRemark>& remarks) {
  const std::vector<BinaryTensor>& tensors = subject == FitSubject::input ? graph.inputs : graph.outputs;
  const auto add = [&](const std::string& tensor, std::string text) {
    remarks.push_back({subject, true, graph.name, tensor, std::move(text)});
  };
  for (const GraphEnd& end : ends) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const BinaryTensor& tensor) { return is_named(tensor, end); });
    if (found == tensors.end())
      add(end.name, fmt::format("{} {} of the model is not in the binary", name_of(subject), words(end)));
    else if (const std::string text = difference(*found, end); !text.empty())
      add(found->name, fmt::format("{} {} {}", name_of(subject), words(end), text));
  }
  if (!complete) return;
  for (const BinaryTensor& tensor : tensors)
    if (std::none_of(ends.begin(), ends.end(), [&](const GraphEnd& end) { return is_named(tensor, end); }))
      add(tensor.name, fmt::format("{} `{}` is none of the model's", name_of(subject), tensor.name));
}

std::vector<FitRemark> check_ends(const BinaryInfo& binary, const ModelEnds& ends) {
  std::vector<FitRemark> remarks;
  if (!ends.complete)
    remarks.push_back({FitSubject::graph, false, "", "",
                       "some operators of the model have no QNN nodes: its outputs are not fully known"});
  if (binary.graphs.empty()) remarks.push_back({FitSubject::graph, true, "", "", "the binary has no graph"});
  std::vector<FitRemark> differences;
  for (const BinaryGraph& graph : binary.graphs) {
    const std::size_t before = differences.size();
    compare_ends(graph, FitSubject::input, ends.inputs, true, differences);
    compare_ends(graph, FitSubject::output, ends.outputs, ends.complete, differences);
    if (differences.size() == before) return remarks;
  }
  remarks.insert(remarks.end(), differences.begin(), differences.end());
  return remarks;
}

GraphEnd end_of(const Model& model, const QnnGraphTensor& tensor) {
  GraphEnd end{.name = tensor.name,
               .model_name = "",
               .dims = tensor.dims,
               .model_dims = to_logical_dims(tensor.dims, tensor.layout),
               .type = tensor.type.type,
               .encoding = std::nullopt};
  if (tensor.tensor >= 0) end.model_name = model.graph().tensors[static_cast<std::size_t>(tensor.tensor)].name;
  if (tensor.type.encoding.kind == QnnEncoding::Kind::per_tensor && !tensor.type.encoding.values.empty())
    end.encoding = tensor.type.encoding.values[0];
  return end;
}

void append(std::vector<FitRemark>& all, const std::vector<FitRemark>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::string_view name_of(FitSubject subject) {
  switch (subject) {
    case FitSubject::backend: return "backend";
    case FitSubject::arch: return "arch";
    case FitSubject::soc: return "soc";
    case FitSubject::version: return "version";
    case FitSubject::graph: return "graph";
    case FitSubject::input: return "input";
    case FitSubject::output: break;
  }
  return "output";
}

ModelEnds ends_of(const Model& model, const QnnGraph& graph) {
  ModelEnds ends{.inputs = {}, .outputs = {}, .complete = graph.unmapped.empty()};
  for (const int index : graph.inputs)
    ends.inputs.push_back(end_of(model, graph.tensors[static_cast<std::size_t>(index)]));
  for (const int index : graph.outputs)
    ends.outputs.push_back(end_of(model, graph.tensors[static_cast<std::size_t>(index)]));
  return ends;
}

int arch_of(const BinaryInfo& binary) {
  if (binary.arch != 0) return binary.arch;
  const Soc* soc = soc_of_number(binary.soc);
  return soc == nullptr ? 0 : soc->arch;
}

Result<std::string> short_version(std::string_view text) {
  const std::vector<int> numbers = version_numbers(text);
  if (numbers.empty()) return fail("`{}` is no QNN version; one looks like 2.37", text);
  return fmt::format("{}", fmt::join(numbers, "."));
}

Result<std::vector<FitRemark>> check_context(const BinaryInfo& binary, const ContextWish& wish) {
  std::vector<FitRemark> remarks;
  if (binary.backend_id != abi::kHtpBackendId)
    remarks.push_back(
        {FitSubject::backend, true, "", "",
         fmt::format("made for the backend with number {}, not for HTP ({})", binary.backend_id, abi::kHtpBackendId)});
  append(remarks, check_target(binary, wish.target));
  const Result<std::vector<FitRemark>> version = check_version(binary, wish.runtime);
  if (!version) return fail(version.error());
  append(remarks, *version);
  if (wish.ends) append(remarks, check_ends(binary, *wish.ends));
  return remarks;
}

}  // namespace qnndbg::qnn
