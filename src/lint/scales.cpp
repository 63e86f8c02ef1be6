#include "lint/scales.h"

#include <cmath>

#include "graph/mnn_wire.h"

namespace qnndbg {
namespace {

constexpr std::size_t kMostEvidence = 16;

/// Counts a scale and returns whether it is valid.
bool count(InvalidScales& scales, std::int64_t position, double scale, bool may_be_negative) {
  ++scales.total;
  if (std::isfinite(scale) && (scale > 0 || (may_be_negative && scale != 0))) return true;
  if (scales.nan + scales.zero + scales.negative == 0) {
    scales.first = position;
    scales.first_value = scale;
  }
  if (!std::isfinite(scale))
    ++scales.nan;
  else if (scale == 0)
    ++scales.zero;
  else
    ++scales.negative;
  return false;
}

bool has_coded_weights(const Model& model, const OpNode& op) {
  const wire::Op& stored = model.wire_op(op.index);
  return stored.main_type() == wire::OpParameter_Convolution2D && stored.main_as_Convolution2D() != nullptr &&
         stored.main_as_Convolution2D()->common() != nullptr;
}

void scan_weights(const Model& model, const OpNode& op, ScaleScan& scan) {
  if (!has_coded_weights(model, op)) return;
  const Result<Model::StoredScales> scales = model.stored_weight_scales(op.index);
  if (!scales) {
    scan.unreadable.push_back(scales.error().message);
    return;
  }
  InvalidScales found;
  found.op_index = op.index;
  found.op = op.name;
  found.what = "weights";
  const std::span<const float> values = scales->values.values();
  const std::size_t step = scales->pairs ? 2 : 1;
  bool valid = true;
  for (std::size_t i = step - 1; i < values.size(); i += step)
    valid =
        count(found, static_cast<std::int64_t>(i / step), static_cast<double>(values[i]), /*may_be_negative=*/true) &&
        valid;
  scan.total += found.total;
  if (!valid) scan.invalid.push_back(std::move(found));
}

void scan_tensors(const Graph& graph, ScaleScan& scan) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorNode& tensor = graph.tensors[i];
    if (!tensor.encoding) continue;
    InvalidScales found;
    found.what = fmt::format("tensor t{}", i);
    if (tensor.producer >= 0) {
      found.op_index = tensor.producer;
      found.op = graph.ops[static_cast<std::size_t>(tensor.producer)].name;
    }
    ++scan.total;
    if (!count(found, 0, tensor.encoding->scale, /*may_be_negative=*/false)) scan.invalid.push_back(std::move(found));
  }
}

std::string words_of(const InvalidScales& scales) {
  std::vector<std::string> parts;
  if (scales.nan > 0) parts.push_back(fmt::format("{} NaN or infinite", scales.nan));
  if (scales.zero > 0) parts.push_back(fmt::format("{} zero", scales.zero));
  if (scales.negative > 0) parts.push_back(fmt::format("{} negative", scales.negative));
  const std::string owner = scales.op_index < 0 ? "" : fmt::format("operator #{} `{}`, ", scales.op_index, scales.op);
  return fmt::format("{}{}: of {} scales {}; the first is number {}, {}", owner, scales.what, scales.total,
                     fmt::join(parts, ", "), scales.first, scales.first_value);
}

}  // namespace

ScaleScan scan_scales(const Model& model) {
  ScaleScan scan;
  for (const OpNode& op : model.graph().ops) scan_weights(model, op, scan);
  scan_tensors(model.graph(), scan);
  return scan;
}

Explanation explain_scales(const Model& model) {
  const ScaleScan scan = scan_scales(model);
  Explanation out;
  const std::string file = model.path().filename().string();
  if (scan.invalid.empty()) {
    out.summary =
        scan.total == 0 && scan.unreadable.empty()
            ? fmt::format("Not decidable from this: {} has no quantization scales.", file)
            : fmt::format("Not decidable from this: all {} quantization scales of {} are positive and finite{}.",
                          scan.total, file,
                          scan.unreadable.empty() ? "" : fmt::format(", {} could not be read", scan.unreadable.size()));
    out.why = "A model alone shows which operators and scales it has, not what a device made of them.";
    for (const std::string& problem : scan.unreadable) out.evidence.push_back({0, problem});
    out.next_steps = {"Judge a dumped run: qnn-debug diagnose --model model.mnn --inputs input/inputs.json --dump DIR"};
    return out;
  }
  const ExplanationClass* type = find_explanation_class("quant_params_invalid");
  std::int64_t invalid = 0;
  for (const InvalidScales& scales : scan.invalid) {
    invalid += scales.nan + scales.zero + scales.negative;
    if (out.evidence.size() < kMostEvidence) out.evidence.push_back({0, words_of(scales)});
  }
  const InvalidScales& first = scan.invalid.front();
  out.class_id = "quant_params_invalid";
  out.rule = "model-scales";
  out.confidence = Confidence::high;
  out.summary = fmt::format("{} of {} quantization scales of {} are zero, NaN, infinite or negative, first in {}.",
                            invalid, scan.total, file, first.op.empty() ? first.what : fmt::format("`{}`", first.op));
  if (type != nullptr) out.why = type->why;
  out.next_steps = {
      "Quantize again: check the calibration data of the layers named, use larger blocks, or leave them in "
      "float. The device is not at fault.",
      "Then look again: qnn-debug explain model.mnn"};
  return out;
}

}  // namespace qnndbg
