// The diagnosis: what `qnn-debug diagnose` found, as plain data. src/report prints it (terminal, JSON).
// Field names follow schema/diagnosis.schema.json, which documents them for users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/bounds.h"
#include "diagnose/details.h"
#include "knowledge/explanation.h"
#include "tensor/dtype.h"
#include "tensor/metrics.h"
#include "tensor/tensor.h"

namespace qnndbg {

enum class Verdict : std::uint8_t { load_failed, rejected, bug, range, clean, inconclusive };
enum class FindingKind : std::uint8_t { bug, input, range, rejected, unregistered, load, warning };
enum class OpStatus : std::uint8_t { right, inherited, broken, consequence, not_judged, set_aside };

std::string_view name_of(Verdict verdict);
std::string_view name_of(FindingKind kind);
std::string_view name_of(OpStatus status);

/// An error in plain numbers; bound_ratio is in multiples of the bound (1 is the line).
struct ErrorFigure {
  double max_abs = 0;
  double max_rel = 0;  // max |e| / max |reference|
  std::optional<double> bound_ratio;
};

/// Where to look in MNN's tree.
struct Suspect {
  std::string file;
  std::string parameter;
  std::string used;
  std::string meant;
};

struct Finding {
  std::string id;  // QD0201, ...: knowledge/finding_ids.h
  FindingKind kind = FindingKind::bug;
  std::string op;  // the operator's name; empty (null) for nodes that MNN inserted
  int op_index = -1;
  std::string op_type;
  int output = 0;
  std::string tensor;       // "t20"
  std::string dump_tensor;  // "t20_cast", or a stage's name
  std::string node;         // QNN node name; empty: null
  std::string title;        // one sentence
  std::string cause;        // id of docs/causes.md
  bool proven = false;
  std::vector<std::string> ties;
  std::optional<ErrorFigure> local_error;
  std::optional<ErrorFigure> inherited_error;  // of its inputs against the fp32 baseline
  std::optional<int> consequence_of;
  std::vector<std::string> evidence;  // sentences with figures
  std::optional<Suspect> suspect;
  std::vector<std::string> next_steps;
};

struct NotJudged {
  int op_index = -1;
  std::string op;
  std::string op_type;
  std::string reason;
};

struct Coverage {
  int ops_total = 0;
  int ops_set_aside = 0;
  int ops_dumped = 0;  // operators with at least one dumped output or stage
  int ops_judged = 0;  // of these, with a verdict
  std::vector<NotJudged> not_judged;
};

struct OperatorRow {
  int index = 0;
  std::string name;
  std::string type;
  std::vector<std::string> inputs;  // "t12"; omitted operands left out
  std::vector<std::string> outputs;
  OpStatus status = OpStatus::not_judged;
  std::string reason;                     // of not_judged and set_aside
  std::optional<double> bound_ratio;      // worst stage
  std::optional<ErrorFigure> end_to_end;  // worst output against the fp32 baseline
};

/// One dumped tensor.
struct TensorRow {
  std::string name;    // as dumped
  std::string tensor;  // "t20"; empty for stages
  int op_index = -1;   // who makes it
  Dims dims;           // logical
  Dims device_dims;
  std::string layout;  // "NHWC", "logical", ...
  DType dtype = DType::f16;
  std::optional<Encoding> encoding;
  std::optional<Encoding> model_encoding;  // what the model means, declared or inherited; of fixed-point tensors
  std::string problem;                     // why it was not read; empty: it was
  std::optional<Metrics> local;            // against the local replay
  std::optional<double> within_bound;      // fraction of the elements within the bound
  std::optional<double> bound_ratio;
  std::optional<Metrics> baseline;  // against the fp32 baseline
};

/// How far a judged stage is from its line, for the margin report.
struct BoundUse {
  int op_index = -1;
  std::string op;
  std::string op_type;
  std::string dump_tensor;
  std::string key;  // of data/bounds.json
  Bound bound;      // as it applied: with the tolerance scale and, where it was added, the forward error
  double bound_ratio = 0;
  std::optional<BoundBasis> basis;  // nullopt: the key was never measured

  /// The factor by which the error could grow; nullopt for an error of 0.
  std::optional<double> margin() const { return bound_ratio > 0 ? std::optional(1 / bound_ratio) : std::nullopt; }
};

struct ModelInfo {
  std::string file;
  std::string converter_version;
  std::string source;
  std::uint64_t bytes = 0;
  int operators = 0;
  int tensors = 0;
};

struct RunInfo {
  std::string dump;  // empty: none was given
  std::string log;   // the same
  std::optional<std::uint64_t> execution;
  std::vector<std::uint64_t> executions;
  int dumped_tensors = 0;
  std::string soc;                // empty: not told
  std::string arch = "unknown";   // "v75", ...
  std::string constant_rounding;  // "toward_zero", "nearest"; empty: null (not decided, or no constants)
  std::string library, mnn;       // versions, when a log or run.json tells them; empty: null
  double tolerance_scale = 1;
  bool inputs_given = false;
  std::string witness;  // Witness::name(); empty: none was called
};

/// The file with the details, as the document names it.
struct DetailsFile {
  std::string file;    // relative to the document's directory
  std::string sha256;  // of its bytes, hexadecimal
};

struct Diagnosis {
  Verdict verdict = Verdict::inconclusive;
  std::string summary;  // one sentence
  ModelInfo model;
  RunInfo run;
  Coverage coverage;
  std::vector<Finding> findings;  // by op_index
  std::vector<OperatorRow> operators;
  std::vector<TensorRow> tensors;
  std::optional<std::vector<BoundUse>> bounds;  // nearest to the line first; nullopt: not asked for
  std::optional<Explanation> log;               // what the log of the run says; nullopt: none was given
  std::vector<std::string> notes;               // about the dump: problems with file and line
  std::optional<Details> details;               // for a report; nullopt: not asked for
  std::optional<DetailsFile> details_file;      // where they were written; nullopt: nowhere
  double seconds = 0;                           // wall time; the terminal view shows it, the document does not
};

}  // namespace qnndbg
