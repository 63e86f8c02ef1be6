// Reads a log of any length once and keeps what matters: the lines that the table of patterns knows, the nodes that
// they name, error codes, versions. Memory does not grow with the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "knowledge/log_patterns.h"

namespace qnndbg {

/// Text of the log with its line number (1-based).
struct EvidenceLine {
  std::uint64_t line = 0;
  std::string text;  // UTF-8, printable, at most kMaxEvidenceText bytes
};
inline constexpr std::size_t kMaxEvidenceText = 600;

/// A line that a pattern matched; lines that say the same are counted.
struct LogEvent {
  int pattern = -1;  // position in log_patterns()
  EvidenceLine first;
  std::uint64_t count = 0;
  Captures captures;
};

/// Operand ("in[0]", "out[0]") and QNN data type ("FLOAT_16").
using DatatypeSet = std::vector<std::pair<std::string, std::string>>;

struct SupportedDatatypes {
  std::string configuration;  // "FP16", "INT8", ...
  std::vector<DatatypeSet> sets;
};

/// One input of an operator that could not be created.
struct KernelInput {
  int index = 0;
  std::string layout;  // HTP's internal type: "F16Crouton_TCM", "PlainFloat"
};

/// A node of the QNN graph that the log names, and what became of it.
struct LogNode {
  std::string name;
  std::string type;                // QNN's or MNN's operator type; empty: not told
  int mnn_type = 0;                // MNN's OpType number; 0: not told
  NodeFate fate = NodeFate::none;  // a refusal counts more than what finalize makes of it
  bool refused = false;
  bool not_created = false;
  int code = 0;  // 0: none was told
  std::string kernel;
  std::vector<KernelInput> inputs;
  std::vector<EvidenceLine> reasons;  // why, in the library's words; the first ones
  std::vector<int> reason_patterns;   // beside `reasons`: position in log_patterns()
  DatatypeSet requested;              // data types that were asked for; empty: not listed
  std::vector<SupportedDatatypes> supported;
  EvidenceLine first;
  std::uint64_t count = 0;
  std::string op;     // the model's operator behind it (name_operators of diagnose/log_evidence.h); empty: not known
  int op_index = -1;  // the same
};

struct LogCode {
  int number = 0;     // the low 16 bits
  std::string stage;  // where it came from; empty: not told
  EvidenceLine first;
  std::uint64_t count = 0;
};

/// What a log says.
struct LogRecord {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t noise_lines = 0;
  std::vector<LogEvent> events;                 // by first line; a few different ones for each pattern
  std::vector<LogNode> nodes;                   // by first line
  std::uint64_t nodes_left_out = 0;             // lines that name further nodes
  std::vector<LogCode> codes;                   // by first line
  std::vector<EvidenceLine> unknown_errors;     // the first error lines that no pattern knows
  std::uint64_t unknown_error_lines = 0;        // how many there are
  std::string soc;                              // QNN's number; empty: not told
  std::string soc_name;                         // "SM8650"
  std::string arch;                             // "v75"
  std::string stack;                            // "mnn", "ort", ...: whose lines are the most
  std::map<std::string, std::string> versions;  // "sdk": "2.31.0"

  bool has(std::string_view pattern_id) const { return event(pattern_id) != nullptr; }
  /// The first event of a pattern; nullptr when the log has none.
  const LogEvent* event(std::string_view pattern_id) const;
};

class LogReader {
 public:
  LogReader();
  ~LogReader();

  /// Portions of any size, cut anywhere.
  void feed(std::string_view bytes);
  /// Ends the log. The reader is used up.
  LogRecord finish() &&;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

LogRecord read_log(std::string_view text);

/// HTP's word for a tensor class in "Input 0: ... output0=[14ConcreteTensorIN5Tdefs14F16Crouton_TCMEE]":
/// "F16Crouton_TCM". The text itself where it is written another way.
std::string tensor_class(std::string_view mangled);

/// The low 16 bits of a QNN error number as logs print it: decimal, hex, negative, 64 bits wide. nullopt for text that
/// is no number or a FastRPC status (32 bits with the top bit set).
std::optional<int> log_error_code(std::string_view text);

}  // namespace qnndbg
