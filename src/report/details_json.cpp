#include "report/details_json.h"

#include <map>

#include "report/error_map_json.h"
#include "report/json_object.h"
#include "report/replay_object.h"

namespace qnndbg {
namespace {

constexpr int kDigits = 3;  // a picture shows no more

Json histogram_json(const Histogram& histogram) {
  JsonObject object;
  object.number("low", histogram.low);
  object.number("high", histogram.high);
  object.set("device", histogram.device);
  object.set("reference", histogram.reference);
  object.set("device_outside", histogram.device_outside);
  object.set("reference_outside", histogram.reference_outside);
  return std::move(object).finish();
}

Json tensor_json(const TensorDetails& tensor) {
  return Json{{"name", tensor.name},
              {"op_index", tensor.op_index},
              {"histogram", histogram_json(tensor.histogram)},
              {"errors", errors_json(tensor.errors, kDigits)}};
}

/// Operators with parameters, with a replay, or with both, by index.
Json operators_json(const Details& details, std::span<const DeepReplay> replays) {
  std::map<int, Json> rows;
  const auto row = [&rows](int index) -> Json& {
    return rows.try_emplace(index, Json{{"index", index}, {"parameters", Json::array()}, {"replay", nullptr}})
        .first->second;
  };
  for (const OperatorDetails& op : details.operators)
    row(op.index)["parameters"] = list_of(op.parameters, parameter_json);
  for (const DeepReplay& replay : replays) row(replay.op_index)["replay"] = replay_object(replay);
  Json list = Json::array();
  for (auto& [index, json] : rows) list.push_back(std::move(json));
  return list;
}

}  // namespace

std::string details_json(const Details& details, std::span<const DeepReplay> replays) {
  const Json document{{"schema", "qnn-debug/details/1"},
                      {"operators", operators_json(details, replays)},
                      {"tensors", list_of(details.tensors, tensor_json)}};
  return compact_json(document);
}

}  // namespace qnndbg
