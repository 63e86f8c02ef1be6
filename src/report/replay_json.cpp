#include "report/error_map_json.h"
#include "report/json_object.h"
#include "report/replay.h"
#include "report/replay_object.h"

namespace qnndbg {
namespace {

Json range_json(const std::optional<Extremes>& range) {
  if (!range) return nullptr;
  JsonObject object;
  object.number("min", range->min);
  object.number("max", range->max);
  object.set("nonfinite_elements", range->nonfinite);
  return std::move(object).finish();
}

Json tensor_json(const ReplayTensor& row) {
  return Json{{"role", name_of(row.role)},
              {"tensor", text_or_null(row.tensor)},
              {"name", text_or_null(row.name)},
              {"dump_tensor", text_or_null(row.dump_tensor)},
              {"dims", value_or_null(row.dims)},
              {"device_dims", value_or_null(row.device_dims)},
              {"layout", text_or_null(row.layout)},
              {"dtype", row.dtype ? Json(name_of(*row.dtype)) : Json(nullptr)},
              {"encoding", encoding_json(row.encoding)},
              {"model_encoding", encoding_json(row.model_encoding)},
              {"range", range_json(row.range)},
              {"problem", text_or_null(row.problem)}};
}

Json tried_json(const TriedMistake& tried) {
  JsonObject object;
  object.set("cause", tried.cause);
  object.set("parameter", tried.parameter);
  object.set("used", tried.used);
  object.set("meant", tried.meant);
  object.set("file", text_or_null(tried.file));
  object.set("free_parameters", tried.free_parameters);
  object.number("bound_ratio", tried.ratio);
  object.set("judged_by", tried.sampled ? "sample" : "tensor");
  object.set("matches", tried.matches);
  object.set("decisive", tried.decisive);
  return std::move(object).finish();
}

Json bound_json(const ReplayStage& stage) {
  JsonObject object;
  object.set("name", stage.bound_name);
  object.exact("y", stage.bound.y);
  object.exact("max_y", stage.bound.max_y);
  object.exact("magnitude", stage.bound.magnitude);
  object.exact("absolute", stage.bound.absolute);
  return std::move(object).finish();
}

Json stage_json(const ReplayStage& stage) {
  JsonObject object;
  object.set("name", text_or_null(stage.name));
  object.set("output", stage.output);
  object.set("node", text_or_null(stage.node));
  object.set("qnn_type", stage.qnn_type);
  object.set("dump_tensor", stage.dump_tensor);
  object.set("dims", stage.dims);
  object.set("device_dims", stage.device_dims);
  object.set("layout", text_or_null(stage.layout));
  object.set("status", stage.right ? "right" : "broken");
  object.number("bound_ratio", stage.judgement.bound_ratio);
  object.number("within_bound", stage.judgement.within_bound);
  object.set("bound", bound_json(stage));
  object.set("metrics", metrics_json(stage.metrics));
  object.set("tried", list_of(stage.tried, tried_json));
  object.set("errors", stage.errors ? errors_json(*stage.errors) : Json(nullptr));
  return std::move(object).finish();
}

Json cause_json(const DeepReplay& replay) {
  if (!replay.cause) return nullptr;
  return Json{{"id", replay.finding_id},
              {"title", replay.title},
              {"cause", replay.cause->cause},
              {"proven", replay.cause->proven},
              {"ties", replay.cause->ties},
              {"evidence", replay.cause->evidence},
              {"suspect", suspect_json(replay.cause->suspect)}};
}

Json operator_json(const DeepReplay& replay) {
  JsonObject object;
  object.set("index", replay.op_index);
  object.set("name", replay.op);
  object.set("type", replay.op_type);
  object.set("node", text_or_null(replay.node));
  object.set("status", name_of(replay.status));
  object.set("reason", text_or_null(replay.reason));
  object.number("bound_ratio", replay.bound_ratio());
  object.set("parameters", list_of(replay.parameters, parameter_json));
  return std::move(object).finish();
}

}  // namespace

Json parameter_json(const OperatorParameter& parameter) {
  return Json{{"name", parameter.name}, {"value", parameter.value}};
}

Json replay_object(const DeepReplay& replay) {
  return Json{{"schema", "qnn-debug/replay/1"},
              {"model", model_json(replay.model)},
              {"run", run_json(replay.run)},
              {"operator", operator_json(replay)},
              {"inputs", list_of(replay.inputs, tensor_json)},
              {"outputs", list_of(replay.outputs, tensor_json)},
              {"stages", list_of(replay.stages, stage_json)},
              {"finding", cause_json(replay)},
              {"notes", replay.notes},
              {"next_steps", replay.next_steps}};
}

std::string replay_json(const DeepReplay& replay) { return dump_json(replay_object(replay)); }

}  // namespace qnndbg
