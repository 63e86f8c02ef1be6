#include "report/inspect.h"

#include <fmt/format.h>

#include "report/json_object.h"
#include "report/table.h"

namespace qnndbg {
namespace {

std::string layout_name(const InspectRow& row) {
  if (!row.layout) return {};
  const int rank = row.dims ? static_cast<int>(row.dims->size()) : 0;
  return std::string(name_of(*row.layout, rank));
}

/// "t20 1x24x32x32 as NHWC": logical dims, and the device's order where it is another; what is not known is left out.
std::string tensor_text(const InspectView& view, int tensor) {
  if (tensor < 0) return "-";
  const InspectRow& row = view.tensors[static_cast<std::size_t>(tensor)];
  std::string text = tensor_id(tensor);
  if (row.dims) text += ' ' + to_string(*row.dims);
  if (row.layout == Layout::channel_last) text += " as " + layout_name(row);
  return text;
}

std::string tensor_ids(const std::vector<int>& tensors) {
  std::vector<std::string> ids;
  for (const int tensor : tensors) ids.push_back(tensor < 0 ? "-" : tensor_id(tensor));
  return fmt::format("{}", fmt::join(ids, " "));
}

std::string tensor_texts(const InspectView& view, const std::vector<int>& tensors) {
  std::vector<std::string> texts;
  for (const int tensor : tensors) texts.push_back(tensor_text(view, tensor));
  return fmt::format("{}", fmt::join(texts, ", "));
}

bool is_set_aside(const InspectView& view, const OpNode& op) {
  for (const int output : op.outputs) {
    const TensorRole role = view.tensors[static_cast<std::size_t>(output)].role;
    if (role == TensorRole::constant || role == TensorRole::shape_only) return true;
  }
  return false;
}

std::string operator_table(const InspectView& view, const TextStyle& style) {
  const std::vector<TableColumn> columns = {{.title = "#", .right = true},
                                            {.title = "type"},
                                            {.title = "name", .shortens = true},
                                            {.title = "inputs", .shortens = true},
                                            {.title = "outputs: logical dims, order on the device"}};
  std::vector<TableRow> rows;
  for (const OpNode& op : view.graph.ops)
    rows.push_back({.cells = {std::to_string(op.index), terminal_safe(op.type_name), terminal_safe(op.name),
                              tensor_ids(op.inputs), tensor_texts(view, op.outputs)},
                    .paint = is_set_aside(view, op) ? Paint::faint : Paint::none});
  return render_table(style, columns, rows, 0);
}

std::string model_line(const InspectView& view) {
  constexpr double kMegabyte = 1e6;
  const ModelInfo& model = view.model;
  std::string line = fmt::format("{}: {}, {}, {} MB", terminal_safe(model.file), plural(model.operators, "operator"),
                                 plural(model.tensors, "tensor"), figure(static_cast<double>(model.bytes) / kMegabyte));
  if (!model.source.empty()) line += fmt::format(", from {}", terminal_safe(model.source));
  if (!model.converter_version.empty()) line += fmt::format(", converter {}", terminal_safe(model.converter_version));
  return line + '\n';
}

std::string ends_lines(const InspectView& view) {
  std::string out;
  for (const GraphInput& input : view.graph.inputs) {
    const OpNode& op = view.graph.ops[static_cast<std::size_t>(input.op)];
    out += fmt::format("input   `{}`  {}  {}\n", terminal_safe(op.name), tensor_text(view, input.tensor),
                       name_of(input.type));
  }
  for (const int tensor : view.graph.outputs)
    out += fmt::format("output  `{}`  {}\n", terminal_safe(view.graph.tensors[static_cast<std::size_t>(tensor)].name),
                       tensor_text(view, tensor));
  return out;
}

Json ids_json(const std::vector<int>& tensors) {
  Json list = Json::array();
  for (const int tensor : tensors) list.push_back(tensor < 0 ? Json(nullptr) : Json(tensor_id(tensor)));
  return list;
}

Json operator_json(const OpNode& op) {
  return Json{{"index", op.index},
              {"name", op.name},
              {"type", op.type_name},
              {"node", qnn_node_name(op.name)},
              {"inputs", ids_json(op.inputs)},
              {"outputs", ids_json(op.outputs)}};
}

Json tensor_json(const InspectView& view, std::size_t index) {
  const TensorNode& node = view.graph.tensors[index];
  const InspectRow& row = view.tensors[index];
  return Json{{"tensor", tensor_id(static_cast<int>(index))},
              {"name", node.name},
              {"role", name_of(row.role)},
              {"op_index", index_or_null(node.producer)},
              {"consumers", node.consumers},
              {"dims", value_or_null(row.dims)},
              {"layout", text_or_null(layout_name(row))},
              {"dtype", row.dtype ? Json(name_of(*row.dtype)) : Json(nullptr)},
              {"encoding", encoding_json(node.encoding)},
              {"encoding_dtype", node.quantized_type ? Json(name_of(*node.quantized_type)) : Json(nullptr)},
              {"problem", text_or_null(row.problem)}};
}

}  // namespace

std::string_view name_of(TensorRole role) {
  switch (role) {
    case TensorRole::activation: return "activation";
    case TensorRole::input: return "input";
    case TensorRole::output: return "output";
    case TensorRole::constant: return "constant";
    case TensorRole::shape_only: return "shape_only";
  }
  return "activation";
}

std::string inspect_text(const InspectView& view, const TextStyle& style) {
  return paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)) + "   " + model_line(view) +
         ends_lines(view) + '\n' + operator_table(view, style);
}

std::string inspect_json(const InspectView& view) {
  Json operators = Json::array();
  for (const OpNode& op : view.graph.ops) operators.push_back(operator_json(op));
  Json tensors = Json::array();
  for (std::size_t i = 0; i < view.graph.tensors.size(); ++i) tensors.push_back(tensor_json(view, i));
  std::vector<int> inputs;
  for (const GraphInput& input : view.graph.inputs) inputs.push_back(input.tensor);
  return dump_json(Json{{"schema", "qnn-debug/model/1"},
                        {"model", model_json(view.model)},
                        {"inputs", ids_json(inputs)},
                        {"outputs", ids_json(view.graph.outputs)},
                        {"operators", std::move(operators)},
                        {"tensors", std::move(tensors)}});
}

}  // namespace qnndbg
