#include "graph/mnn_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace qnndbg {
namespace {

std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : text->string_view();
}

template <class T>
std::size_t size_of_vector(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

/// FlatBuffers let many places of a file share one string or vector, so that a small file can spell a graph that fills
/// all memory. No converter shares much; this bounds what is copied.
class CopyBudget {
 public:
  explicit CopyBudget(std::size_t file_bytes) : left_((std::size_t{16} << 20) + 8 * file_bytes) {}

  bool take(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::size_t left_;
};

tl::unexpected<Error> over_budget() {
  return fail(
      "the names and lists of the graph are far larger than the file; it was damaged or made to exhaust memory");
}

std::string type_name_of(wire::Kind kind) { return operator_type_name(static_cast<int>(kind)); }

std::vector<int> to_vector(const flatbuffers::Vector<std::int32_t>* values) {
  return values == nullptr ? std::vector<int>() : std::vector<int>(values->begin(), values->end());
}

Result<OpNode> read_op(const wire::Op& op, int index, CopyBudget& budget) {
  const std::size_t lists = size_of_vector(op.inputIndexes()) + size_of_vector(op.outputIndexes());
  if (!budget.take(text_of(op.name()).size() + lists * sizeof(int))) return over_budget();
  OpNode node;
  node.index = index;
  node.name = text_of(op.name());
  node.type = op.type();
  node.type_name = type_name_of(op.type());
  node.inputs = to_vector(op.inputIndexes());
  node.outputs = to_vector(op.outputIndexes());
  node.origin = format_of(op.defaultDimentionFormat());
  return node;
}

Result<void> link_outputs(Graph& graph, const OpNode& op) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const int tensor = op.outputs[i];
    if (tensor < 0 || tensor >= static_cast<int>(graph.tensors.size())) {
      return fail("{} makes tensor {}, but the model has {} tensors", describe(op), tensor, graph.tensors.size());
    }
    TensorNode& made = graph.tensors[static_cast<std::size_t>(tensor)];
    if (made.producer >= 0) {
      return fail("{} makes tensor {}, which {} has already made", describe(op), tensor_id(tensor),
                  describe(graph.ops[static_cast<std::size_t>(made.producer)]));
    }
    made.producer = op.index;
    made.producer_output = static_cast<int>(i);
  }
  return {};
}

/// Runs after all outputs are linked, so that a tensor without producer is one that the file leaves to the runtime.
Result<void> link_inputs(Graph& graph, const OpNode& op) {
  for (const int tensor : op.inputs) {
    if (tensor == -1) continue;
    if (tensor < 0 || tensor >= static_cast<int>(graph.tensors.size())) {
      return fail("{} reads tensor {}, but the model has {} tensors", describe(op), tensor, graph.tensors.size());
    }
    TensorNode& read = graph.tensors[static_cast<std::size_t>(tensor)];
    if (read.producer >= op.index) {
      return fail("{} reads tensor {}, which is made only by {}", describe(op), tensor_id(tensor),
                  describe(graph.ops[static_cast<std::size_t>(read.producer)]));
    }
    if (read.consumers.empty() || read.consumers.back() != op.index) read.consumers.push_back(op.index);
  }
  return {};
}

Result<DType> input_type(wire::DType type) {
  switch (type) {
    case wire::DType_DT_INVALID:  // a writer that leaves defaults out
    case wire::DType_DT_FLOAT: return DType::f32;
    case wire::DType_DT_DOUBLE: return DType::f64;
    case wire::DType_DT_HALF: return DType::f16;
    case wire::DType_DT_INT8: return DType::i8;
    case wire::DType_DT_INT16: return DType::i16;
    case wire::DType_DT_INT32: return DType::i32;
    case wire::DType_DT_INT64: return DType::i64;
    case wire::DType_DT_UINT8: return DType::u8;
    case wire::DType_DT_UINT16: return DType::u16;
    case wire::DType_DT_BOOL: return DType::bool8;
    default: return fail("element type {} cannot be the type of an input", static_cast<int>(type));
  }
}

constexpr std::size_t kMaxInputRank = 16;  // MNN's own tensors have at most 9 dims

Result<void> read_input(const wire::Op& op, Graph& graph, const OpNode& node) {
  if (node.outputs.size() != 1) return fail("{} makes {} tensors instead of one", describe(node), node.outputs.size());
  GraphInput input;
  input.op = node.index;
  input.tensor = node.outputs.front();
  if (const wire::Input* stored = op.main_as_Input()) {
    const Result<DType> type = input_type(stored->dtype());
    if (!type) return fail("{}: {}", describe(node), type.error().message);
    if (size_of_vector(stored->dims()) > kMaxInputRank) {
      return fail("{} has {} dims", describe(node), size_of_vector(stored->dims()));
    }
    input.type = *type;
    input.format = format_of(stored->dformat());
    if (stored->dims() != nullptr) input.dims.assign(stored->dims()->begin(), stored->dims()->end());
  }
  graph.inputs.push_back(std::move(input));
  return {};
}

std::int32_t to_offset(float zero) {
  if (!std::isfinite(zero)) return 0;
  constexpr double kLow = std::numeric_limits<std::int32_t>::min() + 1.0;  // its negation fits, too
  constexpr double kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::round(static_cast<double>(zero)), kLow, kHigh));
}

/// The declared quantization in QNN's sign. 8 bits are stored as real = scale * (q - zero); for 16 bits `zero` is QNN's
/// offset already. A scale that makes no sense is kept: the diagnosis reports it.
void read_encoding(const wire::TensorQuantInfo& info, TensorNode& tensor) {
  const std::int32_t zero = to_offset(info.zero());
  switch (info.type()) {
    case wire::DType_DT_INVALID:  // the runtime takes 8 bits
    case wire::DType_DT_INT8:
      tensor.encoding = Encoding{info.scale(), -zero};
      tensor.quantized_type = DType::sfixed8;
      break;
    case wire::DType_DT_INT16:
      tensor.encoding = Encoding{info.scale(), zero};
      tensor.quantized_type = DType::ufixed16;
      break;
    default: break;
  }
}

Result<void> read_encodings(const wire::Net& net, Graph& graph) {
  if (net.extraTensorDescribe() == nullptr) return {};
  for (const wire::TensorDescribe* record : *net.extraTensorDescribe()) {
    if (record->quantInfo() == nullptr) continue;
    const int tensor = record->index();
    if (tensor < 0 || tensor >= static_cast<int>(graph.tensors.size())) {
      return fail("a quantization record describes tensor {}, but the model has {} tensors", tensor,
                  graph.tensors.size());
    }
    read_encoding(*record->quantInfo(), graph.tensors[static_cast<std::size_t>(tensor)]);
  }
  return {};
}

/// The tensors that Net.outputName names, as far as the model makes them; without any, every result that nobody reads.
std::vector<int> find_outputs(const wire::Net& net, const Graph& graph) {
  std::unordered_map<std::string_view, int> made;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].producer >= 0) made.emplace(graph.tensors[i].name, static_cast<int>(i));
  }
  std::vector<int> outputs;
  std::vector<bool> listed(graph.tensors.size(), false);
  for (std::size_t i = 0; i < size_of_vector(net.outputName()); ++i) {
    const auto found = made.find(text_of(net.outputName()->Get(static_cast<flatbuffers::uoffset_t>(i))));
    if (found == made.end() || listed[static_cast<std::size_t>(found->second)]) continue;
    listed[static_cast<std::size_t>(found->second)] = true;
    outputs.push_back(found->second);
  }
  if (!outputs.empty()) return outputs;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].producer >= 0 && graph.tensors[i].consumers.empty()) outputs.push_back(static_cast<int>(i));
  }
  return outputs;
}

std::string source_of(wire::Source source) {
  const std::string name = wire::EnumNameSource(source);
  return name.empty() ? fmt::format("source {}", static_cast<int>(source)) : name;
}

/// What the bytes are instead, where that is easily told.
std::string guess(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 64));
  if (text.empty()) return "the file is empty";
  if (text.starts_with("version https://git-lfs"))
    return "this is a Git LFS pointer, not the file itself; run `git lfs pull`";
  if (text.size() >= 8 && text.substr(4, 4) == "TFL3")
    return "this is a TensorFlow Lite model; convert it with MNNConvert first";
  if (text.starts_with("PK\x03\x04")) return "this is a zip archive";
  if (text.front() == '{') return "this looks like JSON; the tool reads the binary .mnn file";
  return "not a .mnn model, or a damaged one: it fails the FlatBuffers verifier";
}

}  // namespace

std::string operator_type_name(int number) {
  const std::string name = wire::EnumNameKind(static_cast<wire::Kind>(number));
  return name.empty() ? fmt::format("OpType {}", number) : name;
}

MnnFormat format_of(wire::Layout layout) {
  switch (layout) {
    case wire::Layout_NCHW: return MnnFormat::nchw;
    case wire::Layout_NHWC: return MnnFormat::nhwc;
    case wire::Layout_NC4HW4: return MnnFormat::nc4hw4;
    default: return MnnFormat::unknown;
  }
}

Result<const wire::Net*> verified_net(std::span<const std::byte> bytes) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail("{} bytes is more than a .mnn file can hold; large weights belong into a side file", bytes.size());
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 128;
  // Every table takes four bytes at least. Files with shared parts could otherwise keep the verifier busy forever.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(std::max<std::size_t>(1'000'000, bytes.size() / 4));
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), options);
  if (!verifier.VerifyBuffer<wire::Net>(nullptr)) return fail("{}", guess(bytes));
  const wire::Net* net = flatbuffers::GetRoot<wire::Net>(bytes.data());
  if (net->oplists() == nullptr) return fail("the model has no operator list");
  if (net->tensorName() == nullptr) return fail("the model has no tensor names");
  return net;
}

Result<Graph> read_graph(const wire::Net& net, std::size_t file_bytes) {
  CopyBudget budget(file_bytes);
  Graph graph;
  graph.source = source_of(net.sourceType());
  graph.tensors.resize(net.tensorName()->size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const std::string_view name = text_of(net.tensorName()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    if (!budget.take(name.size())) return over_budget();
    graph.tensors[i].name = name;
  }
  graph.ops.reserve(net.oplists()->size());
  for (const wire::Op* op : *net.oplists()) {
    Result<OpNode> node = read_op(*op, static_cast<int>(graph.ops.size()), budget);
    if (!node) return fail(node.error());
    graph.ops.push_back(std::move(*node));
  }
  for (const OpNode& op : graph.ops) {
    if (const Result<void> linked = link_outputs(graph, op); !linked) return fail(linked.error());
  }
  for (const OpNode& op : graph.ops) {
    if (const Result<void> linked = link_inputs(graph, op); !linked) return fail(linked.error());
    if (op.type != wire::Kind_Input) continue;
    const wire::Op& stored = *net.oplists()->Get(static_cast<flatbuffers::uoffset_t>(op.index));
    if (const Result<void> input = read_input(stored, graph, op); !input) return fail(input.error());
  }
  if (const Result<void> encodings = read_encodings(net, graph); !encodings) return fail(encodings.error());
  inherit_encodings(graph);
  graph.outputs = find_outputs(net, graph);
  return graph;
}

bool is_offline_plugin(const wire::Net& net) {
  bool found = false;
  for (const wire::Op* op : *net.oplists()) {
    switch (op->type()) {
      case wire::Kind_Input:
      case wire::Kind_Const:
      case wire::Kind_TrainableParam: continue;
      default: break;
    }
    const wire::Plugin* plugin = op->type() == wire::Kind_Plugin ? op->main_as_Plugin() : nullptr;
    if (plugin == nullptr || text_of(plugin->type()) != "QNN") return false;
    found = true;
  }
  return found;
}

}  // namespace qnndbg
