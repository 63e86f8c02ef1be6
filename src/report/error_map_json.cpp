#include "report/error_map_json.h"

namespace qnndbg {
namespace {

Json figures(const std::vector<double>& values, int digits) {
  return list_of(values, [digits](double value) { return figure_json(value, digits); });
}

Json axis_index_json(const AxisIndex& at) {
  JsonObject object;
  object.set("index", at.index);
  object.number("bound_ratio", at.ratio);
  object.set("beyond", at.beyond);
  return std::move(object).finish();
}

Json axis_json(const AxisErrors& axis, int digits) {
  return Json{{"axis", axis.axis},     {"extent", axis.extent},
              {"group", axis.group},   {"bound_ratio", figures(axis.ratio, digits)},
              {"beyond", axis.beyond}, {"worst", list_of(axis.worst, axis_index_json)}};
}

Json plane_json(const ErrorPlane& plane, int digits) {
  return Json{{"row_axis", index_or_null(plane.row_axis)},
              {"column_axis", index_or_null(plane.column_axis)},
              {"row_group", plane.row_group},
              {"column_group", plane.column_group},
              {"rows", plane.rows},
              {"columns", plane.columns},
              {"bound_ratio", figures(plane.ratio, digits)}};
}

Json element_json(const ElementError& element) {
  JsonObject object;
  object.set("index", element.index);
  object.set("position", element.position);
  object.number("device", element.device);
  object.number("replay", element.reference);
  object.number("bound", element.bound);
  object.number("bound_ratio", element.ratio);
  return std::move(object).finish();
}

}  // namespace

Json errors_json(const ErrorMap& errors, int digits) {
  return Json{{"beyond", errors.beyond},
              {"axes", list_of(errors.axes, [digits](const AxisErrors& axis) { return axis_json(axis, digits); })},
              {"plane", plane_json(errors.plane, digits)},
              {"worst", list_of(errors.worst, element_json)}};
}

}  // namespace qnndbg
