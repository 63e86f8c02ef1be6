// One operator in depth: what it read, what it made, stage by stage how far that is from its replay, every mistake that
// was tried for a broken stage, and where in the tensor the error sits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/causes.h"
#include "diagnose/diagnose.h"
#include "diagnose/error_map.h"
#include "graph/operator_model.h"

namespace qnndbg {

/// What an operand or output is to the device.
enum class OperandRole : std::uint8_t {
  device,     // a tensor of the run
  constant,   // stored in the model
  parameter,  // configures the operator and never reaches the device as data
  omitted,    // an optional operand that was left out
  output,
};

std::string_view name_of(OperandRole role);

/// NaN where there is no finite element.
struct Extremes {
  double min = 0;
  double max = 0;
  std::int64_t nonfinite = 0;  // NaN and infinite elements, which the two others leave out
};

/// An operand or output of the operator.
struct ReplayTensor {
  OperandRole role = OperandRole::device;
  std::string tensor;        // "t20"; empty when omitted
  std::string name;          // in the model
  std::string dump_tensor;   // as dumped; empty: not in the dump
  std::optional<Dims> dims;  // logical
  std::optional<Dims> device_dims;
  std::string layout;                      // "NHWC", ...; empty: not known
  std::optional<DType> dtype;              // as dumped, else in the model
  std::optional<Encoding> encoding;        // as dumped
  std::optional<Encoding> model_encoding;  // declared by the model
  std::optional<Extremes> range;           // of the values that the replay read; of outputs, the device's or host's
  std::string problem;                     // why the dump's tensor cannot be used; empty: it can
};

/// A mistake that was tried for a broken stage; see Hypothesis and Attempt.
struct TriedMistake {
  std::string cause;
  std::string parameter;
  std::string used;   // what the device would have used
  std::string meant;  // what the model means
  std::string file;   // in MNN's tree
  int free_parameters = 0;
  double ratio = 0;       // error of the reproduction in multiples of its bound; infinite: it could not be computed
  bool sampled = false;   // refuted by a sample of elements: the whole tensor may be further off
  bool matches = false;   // every element lies within the bound
  bool decisive = false;  // matches, and no match needs fewer fitted numbers
};

/// One dumped stage of the operator, judged.
struct ReplayStage {
  std::string name;  // what follows the node's name in the dump; empty: operator output `output`
  int output = 0;
  std::string node;      // QNN node name; empty: not known
  std::string qnn_type;  // "Conv2d"
  std::string dump_tensor;
  Dims dims;
  Dims device_dims;
  std::string layout;
  std::string bound_name;  // entry of the table of bounds
  Bound bound;
  Judgement judgement;
  Metrics metrics;
  bool right = true;
  std::vector<TriedMistake> tried;  // of a broken stage, best first
  std::optional<ErrorMap> errors;   // of a broken stage
};

/// A dumped stage with the values for a bug report.
struct CaseStage {
  std::string dump_tensor;
  Tensor device;
  Tensor reference;  // from the device's value of the stages before it
};

/// The operator as a case of its own: a model that holds nothing else, its inputs, what the device made of them, and
/// what it should have made.
struct OperatorCase {
  OperatorModel model;
  std::vector<Tensor> inputs;                 // of model.inputs
  std::vector<std::optional<Tensor>> device;  // of model.outputs; nullopt: not judged
  std::vector<Tensor> replay;                 // of model.outputs: the whole operator from `inputs`
  std::vector<CaseStage> stages;              // that are no outputs
};

struct DeepReplay {
  ModelInfo model;
  RunInfo run;
  int op_index = -1;
  std::string op;
  std::string op_type;
  std::string node;                        // name of its QNN node or nodes; empty: not known
  OpStatus status = OpStatus::not_judged;  // right, broken, not_judged or set_aside
  std::string reason;                      // of not_judged and set_aside
  std::vector<OperatorParameter> parameters;
  std::vector<ReplayTensor> inputs;
  std::vector<ReplayTensor> outputs;
  std::vector<ReplayStage> stages;    // those that the dump holds, in execution order
  std::optional<CauseVerdict> cause;  // of the first broken stage
  std::string finding_id;             // "QD0202"; empty when nothing is broken
  std::string title;                  // "Convolution `c1` is computed without its bias"; empty when nothing is broken
  std::vector<std::string> notes;
  std::vector<std::string> next_steps;
  std::optional<OperatorCase> extracted;

  /// The largest ratio over the stages; nullopt when none was judged.
  std::optional<double> bound_ratio() const;
};

struct DeepReplayOptions {
  DiagnoseOptions run;
  std::string op;        // a name, "#12", or "t34"
  bool extract = false;  // fill in DeepReplay::extracted, or fail
};

/// Replays one operator of a dumped run. Errors: those of diagnose(), an unknown operator, and with `extract` an
/// operator that cannot be replayed or cut out of its model.
Result<DeepReplay> replay_operator(const Model& model, const DeepReplayOptions& options);

}  // namespace qnndbg
