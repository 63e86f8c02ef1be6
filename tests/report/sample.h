// Diagnoses made by hand, for the tests of the views.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace qnndbg::testing {

inline OperatorRow make_op(int index, std::string type, std::string name, OpStatus status,
                           std::optional<double> ratio) {
  OperatorRow row;
  row.index = index;
  row.type = std::move(type);
  row.name = std::move(name);
  row.status = status;
  row.bound_ratio = ratio;
  if (index > 0) row.inputs = {"t" + std::to_string(index - 1)};
  row.outputs = {"t" + std::to_string(index)};
  return row;
}

inline TensorRow make_tensor(const OperatorRow& op, double baseline_error) {
  TensorRow row;
  row.name = op.outputs.front();
  row.tensor = op.outputs.front();
  row.op_index = op.index;
  row.dims = {1, 24, 32, 32};
  row.device_dims = {1, 32, 32, 24};
  row.layout = "NHWC";
  row.bound_ratio = op.bound_ratio;
  row.within_bound = 1;
  row.baseline.emplace();
  row.baseline->max_rel = baseline_error;
  row.baseline->max_abs = 2 * baseline_error;
  return row;
}

/// A chain of ten operators: input, eight of them right, an output. End-to-end errors grow by 1e-3 each.
inline Diagnosis clean_sample() {
  Diagnosis d;
  d.verdict = Verdict::clean;
  d.summary = "all 9 judged operators are within their bounds";
  d.model = {.file = "mini.mnn",
             .converter_version = "3.6.1",
             .source = "ONNX",
             .bytes = 201012,
             .operators = 10,
             .tensors = 10};
  d.run.dump = "dump";
  d.run.execution = 0;
  d.run.executions = {0};
  d.run.dumped_tensors = 10;
  d.run.constant_rounding = "toward_zero";
  d.coverage.ops_total = 10;
  d.coverage.ops_dumped = 10;
  d.coverage.ops_judged = 9;
  for (int i = 0; i < 10; ++i) {
    OperatorRow op = make_op(i, i == 0 ? "Input" : "Convolution", "op" + std::to_string(i), OpStatus::right, 0.1 * i);
    TensorRow tensor = make_tensor(op, 1e-3 * i);
    op.end_to_end = ErrorFigure{.max_abs = 2e-3 * i, .max_rel = 1e-3 * i, .bound_ratio = std::nullopt};
    d.operators.push_back(op);
    d.tensors.push_back(tensor);
  }
  d.seconds = 0.2123;
  return d;
}

/// The same chain with operator 5, a resize, broken and proven.
inline Diagnosis bug_sample() {
  Diagnosis d = clean_sample();
  d.verdict = Verdict::bug;
  d.summary = "1 operator is broken";
  for (std::size_t i = 6; i < 10; ++i) d.operators[i].status = OpStatus::inherited;
  OperatorRow& op = d.operators[5];
  op.type = "Interp";
  op.name = "upsample";
  op.status = OpStatus::broken;
  op.bound_ratio = 411.26;
  op.end_to_end = ErrorFigure{.max_abs = 0.371, .max_rel = 0.1318, .bound_ratio = std::nullopt};
  d.tensors[5].within_bound = 0.52;
  d.tensors[5].bound_ratio = 411.26;
  Finding f;
  f.id = "QD0207";
  f.kind = FindingKind::bug;
  f.op = "upsample";
  f.op_index = 5;
  f.op_type = "Interp";
  f.tensor = "t5";
  f.dump_tensor = "t5";
  f.node = "upsample";
  f.title = "Interp `upsample` computes something else than the model asks for";
  f.cause = "resize_coordinate_mode_wrong";
  f.proven = true;
  f.local_error = ErrorFigure{.max_abs = 0.371, .max_rel = 0.1318, .bound_ratio = 411.26};
  f.inherited_error = ErrorFigure{.max_abs = 0.008, .max_rel = 0.004, .bound_ratio = std::nullopt};
  f.evidence = {"replaying with align_corners = true gives the device's tensor to within 0.9 bound units"};
  f.suspect = Suspect{.file = "source/backend/qnn/execution/QNNInterp.cpp",
                      .parameter = "align_corners of ResizeBilinear",
                      .used = "true",
                      .meant = "false"};
  f.next_steps = {"compare the node's parameters with the model's"};
  d.findings = {f};
  return d;
}

}  // namespace qnndbg::testing
