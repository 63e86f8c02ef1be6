#include <fmt/format.h>

#include "knowledge/soc.h"
#include "report/context.h"
#include "report/json_object.h"

namespace qnndbg {
namespace {

Json arch_json(int arch) { return arch == 0 ? Json(nullptr) : Json(arch_name(arch)); }

Json target_json(int soc, int arch) {
  const Soc* known = soc == 0 ? nullptr : find_soc(std::to_string(soc));
  return Json{{"soc", soc == 0 ? Json(nullptr) : Json(soc)},
              {"name", known == nullptr ? Json(nullptr) : text_or_null(std::string(known->name))},
              {"arch", arch_json(arch)}};
}

Json encoding_of(const qnn::BinaryTensor& tensor) {
  using Kind = qnn::QuantizationSpec::Kind;
  const qnn::QuantizationSpec& from = tensor.quantization;
  if (from.kind == Kind::none) return nullptr;
  Json scales = Json::array();
  for (const float scale : from.scales) scales.push_back(scale);
  return Json{{"axis", from.kind == Kind::axis ? Json(from.axis) : Json(nullptr)},
              {"bit_width", from.bitwidth == 0 ? Json(nullptr) : Json(from.bitwidth)},
              {"scales", std::move(scales)},
              {"offsets", from.offsets}};
}

Json tensors_json(const std::vector<qnn::BinaryTensor>& tensors) {
  Json list = Json::array();
  for (const qnn::BinaryTensor& tensor : tensors) {
    const std::optional<DType> type = dtype_from_qnn(tensor.type);
    list.push_back(Json{{"name", tensor.name},
                        {"dtype", type ? Json(name_of(*type)) : Json(nullptr)},
                        {"qnn_type", tensor.type},
                        {"dims", tensor.dims},
                        {"encoding", encoding_of(tensor)}});
  }
  return list;
}

Json graphs_json(const std::vector<qnn::BinaryGraph>& graphs) {
  Json list = Json::array();
  for (const qnn::BinaryGraph& graph : graphs)
    list.push_back(
        Json{{"name", graph.name}, {"inputs", tensors_json(graph.inputs)}, {"outputs", tensors_json(graph.outputs)}});
  return list;
}

Json wish_json(const ContextView& view) {
  if (!view.asked()) return nullptr;
  const qnn::Target& target = view.wish.target;
  return Json{{"target", target == qnn::Target{} ? Json(nullptr) : target_json(target.soc, target.arch)},
              {"runtime", text_or_null(view.wish.runtime)},
              {"model", text_or_null(view.model)}};
}

Json remarks_json(const std::vector<qnn::FitRemark>& remarks) {
  Json list = Json::array();
  for (const qnn::FitRemark& remark : remarks)
    list.push_back(Json{{"subject", name_of(remark.subject)},
                        {"severity", remark.problem ? "problem" : "note"},
                        {"graph", text_or_null(remark.graph)},
                        {"tensor", text_or_null(remark.tensor)},
                        {"text", remark.text}});
  return list;
}

}  // namespace

std::string context_json(const ContextView& view) {
  const qnn::BinaryInfo& binary = view.binary;
  return dump_json(Json{{"schema", "qnn-debug/context/1"},
                        {"file", view.file},
                        {"bytes", view.bytes},
                        {"made_by", Json{{"build_id", text_or_null(binary.build_id)},
                                         {"core_api", binary.core_api},
                                         {"backend_api", binary.backend_api},
                                         {"backend_id", binary.backend_id}}},
                        {"made_for", target_json(binary.soc, qnn::arch_of(binary))},
                        {"graphs", graphs_json(binary.graphs)},
                        {"checked_against", wish_json(view)},
                        {"fits", view.asked() ? Json(view.fits()) : Json(nullptr)},
                        {"remarks", remarks_json(view.remarks)}});
}

}  // namespace qnndbg
