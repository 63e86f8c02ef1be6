#include "ops/qnn_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ops/registry.h"

namespace qnndbg {
namespace {

constexpr std::string_view kQuantize = "FloatToInt8";
constexpr std::string_view kDequantize = "Int8ToFloat";
/// Every tensor and node of an operator repeats its name; no model has such long ones.
constexpr std::size_t kMaxName = 1 << 12;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Operators that MNN asks for an encoding of their first operand alone; of the others all operands need one, but those
/// that hand an encoding on give it to their other operands too.
bool asks_first_operand_alone(const OpNode& op) {
  constexpr std::array<std::string_view, 7> kTypes{"Slice",     "StridedSlice", "GatherV2", "Reshape",
                                                   "Unsqueeze", "Squeeze",      "Flatten"};
  return keeps_encoding(op) || std::find(kTypes.begin(), kTypes.end(), op.type_name) != kTypes.end();
}

/// Which tensors the device holds in fixed point: the outputs of operators that run so.
class FixedPoint {
 public:
  FixedPoint(const Model& model, const GraphPlan& plan) : graph_(model.graph()), plan_(plan) {
    runs_.resize(graph_.ops.size(), false);
    for (const OpNode& op : graph_.ops) runs_[at(op.index)] = decide(op);
  }

  bool runs(int op) const { return runs_[at(op)]; }

  bool holds(int tensor) const {
    const int producer = graph_.tensors[at(tensor)].producer;
    if (producer < 0 || graph_.ops[at(producer)].type_name == kDequantize) return false;
    return runs(producer) || (graph_.ops[at(producer)].type_name == kQuantize && type_of(tensor).has_value());
  }

  /// The fixed-point type that the model means for a tensor.
  std::optional<QnnType> type_of(int tensor) const {
    const Encoding* encoding = graph_.meant_encoding(tensor);
    const std::optional<DType> type = graph_.meant_quantized_type(tensor);
    if (encoding == nullptr || !type || !is_valid(*encoding)) return std::nullopt;
    return QnnType{*type, QnnEncoding::of_tensor(*encoding)};
  }

 private:
  bool decide(const OpNode& op) const {
    const PlannedOp& planned = plan_.ops[at(op.index)];
    if (!planned.op || planned.set_aside || op.inputs.empty() || op.outputs.empty()) return false;
    if (op.type_name == kQuantize || op.type_name == kDequantize) return false;
    const std::size_t asked = asks_first_operand_alone(op) ? 1 : op.inputs.size();
    for (std::size_t k = 0; k < asked; ++k) {
      if (op.inputs[k] < 0 || !type_of(op.inputs[k])) return false;
    }
    for (int output : op.outputs) {
      const std::optional<TensorSpec>& spec = plan_.tensors[at(output)].spec;
      if (!spec || spec->type != DType::f32 || !type_of(output)) return false;
    }
    return planned.op->runs_quantized(type_of(op.inputs[0])->type);
  }

  const Graph& graph_;
  const GraphPlan& plan_;
  std::vector<bool> runs_;
};

class GraphBuilder {
 public:
  GraphBuilder(const Model& model, const GraphPlan& plan, const QnnGraphOptions& options)
      : graph_(model.graph()), plan_(plan), options_(options), fixed_(model, plan), slots_(graph_.tensors.size()) {
    // What nobody reads is an output too, whether the model names it or not.
    for (const TensorNode& tensor : graph_.tensors) is_output_.push_back(tensor.consumers.empty());
    for (int tensor : graph_.outputs) is_output_[at(tensor)] = true;
    is_input_.resize(graph_.tensors.size(), false);
    for (const GraphInput& input : graph_.inputs) is_input_[at(input.tensor)] = true;
    selected_.resize(graph_.ops.size(), options.only.empty());
    for (int op : options.only) selected_[at(op)] = true;
  }

  QnnGraph run() {
    for (const OpNode& op : graph_.ops) {
      const PlannedOp& planned = plan_.ops[at(op.index)];
      if (selected_[at(op.index)] && !planned.is_input && !planned.set_aside) add_operator(op);
    }
    for (int tensor : ends_) add_end(tensor);
    return std::move(result_);
  }

 private:
  /// A model tensor on the device.
  struct Slot {
    int inner = -1;     // what operators write and read
    int host = -1;      // the other side of the cast at the graph's end
    int position = -1;  // the number that MNN's counter names use
    int inner_position = -1;
    // Made for operators that work in the other kind of number:
    int converted = -1;
    int converted_position = -1;
    int constant = -1;  // a host value
    int constant_position = -1;
  };

  bool whole() const { return options_.only.empty(); }
  DType float_type() const { return options_.float_type; }
  const TensorSpec* spec_of(int tensor) const {
    const PlannedTensor& planned = plan_.tensors[at(tensor)];
    return planned.spec ? &*planned.spec : nullptr;
  }
  bool has_host_value(int tensor) const { return plan_.tensors[at(tensor)].host.has_value(); }

  /// Type of a tensor where its producer leaves it.
  QnnType type_of(int tensor) const {
    if (spec_of(tensor)->type == DType::i32) return {DType::i32, {}};
    return fixed_.holds(tensor) ? *fixed_.type_of(tensor) : QnnType{float_type(), {}};
  }

  // ---- tensors

  int add_tensor(QnnGraphTensor tensor) {
    result_.tensors.push_back(std::move(tensor));
    const int index = static_cast<int>(result_.tensors.size()) - 1;
    if (result_.tensors.back().kind == QnnTensorKind::input) result_.inputs.push_back(index);
    if (result_.tensors.back().kind == QnnTensorKind::output) result_.outputs.push_back(index);
    return index;
  }

  QnnGraphTensor device_tensor(std::string name, QnnTensorKind kind, int tensor, QnnType type) const {
    const PlannedTensor& planned = plan_.tensors[at(tensor)];
    return {.name = std::move(name),
            .kind = kind,
            .dims = device_dims(planned.spec->dims, planned.layout),
            .type = std::move(type),
            .layout = planned.layout,
            .tensor = tensor};
  }

  /// What the tensor is called inside the graph: the ends have a host side that takes the plain name.
  std::string inner_name(int tensor, const QnnType& type) const {
    std::string name = tensor_id(tensor);
    const bool end = is_output_[at(tensor)] || is_input_[at(tensor)];
    if (!end || type.type == DType::i32) return name;
    if (float_type() == DType::f16) return name + "_cast";
    return is_quantized(type.type) ? name + "_dequant" : name;
  }

  /// Graph inputs come into being where an operator first reads them.
  void acquire_input(int tensor) {
    Slot& slot = slots_[at(tensor)];
    slot.position = counter_++;
    const QnnType type = type_of(tensor);
    const std::string inner = inner_name(tensor, type);
    if (inner == tensor_id(tensor)) {
      slot.inner = add_tensor(device_tensor(inner, QnnTensorKind::input, tensor, type));
      return;
    }
    const int cast_position = counter_++;
    slot.host = add_tensor(device_tensor(tensor_id(tensor), QnnTensorKind::input, tensor, {DType::f32, {}}));
    slot.inner = add_tensor(device_tensor(inner, QnnTensorKind::native, tensor, type));
    add_node(fmt::format("Cast_I_{}_O_{}", slot.position, cast_position), "Cast", slot.host, slot.inner);
  }

  void acquire_output(int tensor) {
    Slot& slot = slots_[at(tensor)];
    slot.position = counter_++;
    const QnnType type = type_of(tensor);
    const std::string inner = inner_name(tensor, type);
    if (!whole()) {
      slot.inner = add_tensor(device_tensor(inner, QnnTensorKind::output, tensor, type));
      return;
    }
    if (inner == tensor_id(tensor)) {
      const QnnTensorKind kind = is_output_[at(tensor)] ? QnnTensorKind::output : QnnTensorKind::native;
      slot.inner = add_tensor(device_tensor(inner, kind, tensor, type));
      return;
    }
    slot.inner_position = counter_++;
    slot.host = add_tensor(device_tensor(tensor_id(tensor), QnnTensorKind::output, tensor, {DType::f32, {}}));
    slot.inner = add_tensor(device_tensor(inner, QnnTensorKind::native, tensor, type));
    ends_.push_back(tensor);
  }

  void add_end(int tensor) {
    const Slot& slot = slots_[at(tensor)];
    const char* type = is_quantized(result_.tensors[at(slot.inner)].type.type) ? "Dequantize" : "Cast";
    add_node(fmt::format("{}_I_{}_O_{}", type, slot.inner_position, slot.position), type, slot.inner, slot.host);
  }

  void add_node(std::string name, std::string type, int from, int to) {
    result_.nodes.push_back({.name = std::move(name), .type = std::move(type), .inputs = {from}, .outputs = {to}});
  }

  /// The static tensor of a host value.
  int constant_of(int tensor) {
    Slot& slot = slots_[at(tensor)];
    if (slot.constant >= 0) return slot.constant;
    slot.constant_position = counter_++;
    const Tensor& value = *plan_.tensors[at(tensor)].host;
    slot.constant = add_tensor(
        {.name = fmt::format("QnnTensor_{}", slot.constant_position),
         .kind = QnnTensorKind::static_data,
         .dims = device_dims(value.dims(), Layout::logical),
         .type = {value.type() == DType::i32 ? DType::i32 : float_type(), {}},
         .tensor = tensor,
         .data = [&value, type = float_type(), rounding = options_.rounding]() -> Result<std::vector<std::byte>> {
           return host_value_bytes(value, Layout::logical, type, rounding);
         }});
    return slot.constant;
  }

  /// The tensor as its producer leaves it; with a selection, a graph input where nothing in the selection makes it.
  int source_of(int tensor) {
    if (has_host_value(tensor)) return constant_of(tensor);
    Slot& slot = slots_[at(tensor)];
    if (slot.inner < 0) {
      slot.position = counter_++;
      const QnnType type = type_of(tensor);
      slot.inner = add_tensor(device_tensor(inner_name(tensor, type), QnnTensorKind::input, tensor, type));
    }
    return slot.inner;
  }

  int position_of(int tensor, bool converted) const {
    const Slot& slot = slots_[at(tensor)];
    if (converted && slot.converted >= 0) return slot.converted_position;
    return has_host_value(tensor) ? slot.constant_position : slot.position;
  }

  // ---- conversions between floats and fixed point

  /// What operand k has to be converted to before the operator reads it; nullopt: nothing.
  std::optional<QnnType> conversion(const OpNode& op, int k) const {
    const int tensor = op.inputs[at(k)];
    if (op.type_name == kQuantize || op.type_name == kDequantize) return std::nullopt;
    const bool fixed = !has_host_value(tensor) && fixed_.holds(tensor);
    if (fixed == fixed_.runs(op.index) || spec_of(tensor)->type == DType::i32) return std::nullopt;
    if (fixed) return QnnType{float_type(), {}};
    // MNN converts the operands that configure an operator too, though no node reads them.
    if (options_.style == MappingStyle::model && plan_.ops[at(op.index)].op->is_parameter(k)) return std::nullopt;
    auto own = fixed_.type_of(tensor);
    return own ? own : fixed_.type_of(op.inputs[0]);
  }

  int converted_copy(int tensor, const QnnType& type) {
    Slot& slot = slots_[at(tensor)];
    if (slot.converted >= 0) return slot.converted;
    if (!has_host_value(tensor)) source_of(tensor);
    slot.converted_position = counter_++;
    const Layout layout = has_host_value(tensor) ? Layout::logical : plan_.tensors[at(tensor)].layout;
    QnnGraphTensor copy =
        device_tensor(fmt::format("QnnTensor_{}", slot.converted_position), QnnTensorKind::native, tensor, type);
    copy.layout = layout;
    copy.dims = device_dims(spec_of(tensor)->dims, layout);
    const Dims dims = copy.dims;
    slot.converted = add_tensor(std::move(copy));
    const int converted = slot.converted;
    const int from = source_of(tensor);
    const bool quantize = is_quantized(type.type);
    const std::string name = fmt::format("{}_I_{}_O_{}", quantize ? kQuantize : kDequantize, position_of(tensor, false),
                                         slots_[at(tensor)].converted_position);
    if (!quantize) {
      add_node(name, "Dequantize", from, converted);
      return converted;
    }
    const int cast = add_tensor({.name = name + "_Cast",
                                 .kind = QnnTensorKind::native,
                                 .dims = dims,
                                 .type = {DType::f32, {}},
                                 .layout = layout,
                                 .tensor = tensor,
                                 .stage = "Cast"});
    add_node(name + "_Cast", "Cast", from, cast);
    add_node(name, "Quantize", cast, converted);
    return converted;
  }

  // ---- operators

  void give_up(int op, QnnRefusal refusal) { result_.unmapped.push_back({op, std::move(refusal)}); }

  /// Why the operator cannot be looked at; nullopt: it can.
  std::optional<QnnRefusal> obstacle(const OpNode& op) const {
    const PlannedOp& planned = plan_.ops[at(op.index)];
    if (!planned.op && !is_registered(op.type_name))
      return QnnRefusal{QnnRefusal::Kind::unregistered, "MNN's QNN backend has no creator for it"};
    if (!planned.problem.empty() || !planned.op) return QnnRefusal{QnnRefusal::Kind::not_mapped, planned.problem};
    if (op.outputs.empty()) return QnnRefusal{QnnRefusal::Kind::not_mapped, "it has no outputs"};
    if (op.name.size() > kMaxName)
      return QnnRefusal{QnnRefusal::Kind::not_mapped, fmt::format("its name has {} bytes", op.name.size())};
    for (int tensor : op.outputs) {
      const std::optional<QnnType> type = fixed_.type_of(tensor);
      if (fixed_.holds(tensor) && type && type->type == DType::sfixed8 && type->encoding.values[0].offset != 0)
        return QnnRefusal{QnnRefusal::Kind::encode_error, "its output is int8 with an offset, the backend takes none"};
    }
    if (!whole()) return std::nullopt;
    for (int tensor : op.inputs) {
      if (tensor < 0 || has_host_value(tensor) || is_input_[at(tensor)] || slots_[at(tensor)].inner >= 0) continue;
      const int producer = graph_.tensors[at(tensor)].producer;
      return QnnRefusal{QnnRefusal::Kind::not_mapped,
                        producer < 0 ? fmt::format("nothing makes its input {}", tensor_id(tensor))
                                     : fmt::format("its input {} is made by {}, which has no nodes", tensor_id(tensor),
                                                   describe(graph_.ops[at(producer)]))};
    }
    return std::nullopt;
  }

  bool is_registered(std::string_view type) const {
    return std::binary_search(registered_.begin(), registered_.end(), type);
  }

  void add_operator(const OpNode& op) {
    if (auto refusal = obstacle(op)) return give_up(op.index, std::move(*refusal));
    const std::vector<Operand> inputs = plan_.operands(op.index);
    const std::vector<Operand> outputs = plan_.outputs(op.index);
    std::vector<std::optional<QnnType>> conversions;
    std::vector<QnnType> input_types;
    std::vector<QnnType> output_types;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] < 0) {
        conversions.emplace_back();
        input_types.push_back({float_type(), {}});
        continue;
      }
      conversions.push_back(conversion(op, static_cast<int>(k)));
      input_types.push_back(conversions.back() ? *conversions.back() : source_type(op.inputs[k]));
    }
    for (int tensor : op.outputs) output_types.push_back(type_of(tensor));
    const QnnContext context{.inputs = inputs,
                             .outputs = outputs,
                             .input_types = input_types,
                             .output_types = output_types,
                             .style = options_.style,
                             .float_type = float_type(),
                             .rounding = options_.rounding};
    QnnMappingResult mapping = plan_.ops[at(op.index)].op->qnn_mapping(context);
    if (!mapping) return give_up(op.index, std::move(mapping.error()));
    for (int tensor : op.inputs) {
      if (whole() && tensor >= 0 && is_input_[at(tensor)] && slots_[at(tensor)].inner < 0) acquire_input(tensor);
    }
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (conversions[k]) converted_copy(op.inputs[k], *conversions[k]);
    }
    for (int tensor : op.outputs) acquire_output(tensor);
    append(op, *mapping, conversions);
  }

  QnnType source_type(int tensor) const {
    if (!has_host_value(tensor)) return type_of(tensor);
    return {plan_.tensors[at(tensor)].host->type() == DType::i32 ? DType::i32 : float_type(), {}};
  }

  void append(const OpNode& op, QnnMapping& mapping, const std::vector<std::optional<QnnType>>& conversions) {
    const std::string node = node_name(op, mapping, conversions);
    const auto first_stage = static_cast<int>(result_.tensors.size());
    for (QnnStageTensor& stage : mapping.stages) {
      add_tensor({.name = node + "_" + stage.name,
                  .kind = QnnTensorKind::native,
                  .dims = std::move(stage.dims),
                  .type = std::move(stage.type),
                  .layout = stage.layout,
                  .op = op.index,
                  .stage = stage.name});
    }
    const auto first_constant = static_cast<int>(result_.tensors.size());
    for (QnnConstant& constant : mapping.constants) {
      add_tensor({.name = node + "_" + constant.name,
                  .kind = QnnTensorKind::static_data,
                  .dims = std::move(constant.dims),
                  .type = std::move(constant.type),
                  .op = op.index,
                  .stage = constant.name,
                  .data = std::move(constant.data)});
    }
    const auto resolve = [&](QnnTensorRef ref) {
      switch (ref.from) {
        case QnnTensorRef::From::input: {
          const int tensor = op.inputs[at(ref.index)];
          return conversions[at(ref.index)] ? slots_[at(tensor)].converted : source_of(tensor);
        }
        case QnnTensorRef::From::output: return slots_[at(op.outputs[at(ref.index)])].inner;
        case QnnTensorRef::From::stage: return first_stage + ref.index;
        case QnnTensorRef::From::constant: break;
      }
      return first_constant + ref.index;
    };
    for (QnnNode& described : mapping.nodes) {
      QnnGraphNode made{.name = node + described.suffix, .type = std::move(described.type), .op = op.index};
      for (QnnTensorRef ref : described.inputs) made.inputs.push_back(resolve(ref));
      for (QnnTensorRef ref : described.outputs) made.outputs.push_back(resolve(ref));
      for (QnnParam& param : described.params) {
        std::string tensor_name;
        if (const auto* tensor = std::get_if<QnnTensorParam>(&param.value)) {
          tensor_name = tensor->post.empty() ? fmt::format("{}_{}_PARAM", node, param.name)
                                             : fmt::format("{}_{}_{}_PARAM", node, param.name, tensor->post);
        }
        made.params.push_back({std::move(param.name), std::move(param.value), std::move(tensor_name)});
      }
      result_.nodes.push_back(std::move(made));
    }
  }

  /// The operator's name, or its type and the positions of its tensors.
  std::string node_name(const OpNode& op, const QnnMapping& mapping,
                        const std::vector<std::optional<QnnType>>& conversions) {
    std::string name = qnn_node_name(op.name);
    if (name.empty() || mapping.named_by_counters) {
      name = op.type_name + "_I";
      for (std::size_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] < 0) continue;
        source_of(op.inputs[k]);  // takes a position, as asking for it does in MNN
        name += fmt::format("_{}", position_of(op.inputs[k], conversions[k].has_value()));
      }
      name += "_O";
      for (int tensor : op.outputs) name += fmt::format("_{}", slots_[at(tensor)].position);
    }
    // Different names can become one node name. MNN lets QNN sort that out.
    if (!names_.insert(name).second && options_.style == MappingStyle::model) name += fmt::format("_op{}", op.index);
    return name;
  }

  const Graph& graph_;
  const GraphPlan& plan_;
  const QnnGraphOptions& options_;
  FixedPoint fixed_;
  std::vector<Slot> slots_;
  std::vector<bool> is_input_, is_output_, selected_;
  std::vector<std::string> registered_ = registered_op_types();
  std::set<std::string> names_;
  int counter_ = 0;
  std::vector<int> ends_;
  QnnGraph result_;
};

}  // namespace

std::vector<int> QnnGraph::dumped() const {
  std::vector<int> list = outputs;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (tensors[k].kind == QnnTensorKind::native) list.push_back(static_cast<int>(k));
  }
  return list;
}

Result<QnnGraph> build_qnn_graph(const Model& model, const GraphPlan& plan, const QnnGraphOptions& options) {
  const auto ops = static_cast<int>(model.graph().ops.size());
  for (int op : options.only) {
    if (op < 0 || op >= ops) return fail("the model has no operator #{}", op);
  }
  return GraphBuilder(model, plan, options).run();
}

}  // namespace qnndbg
