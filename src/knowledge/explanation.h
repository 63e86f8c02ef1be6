// What a log means: one class, the lines that show it, what to do next. `qnn-debug explain` prints it; the document is
// described by schema/explanation.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/log_reader.h"

namespace qnndbg {

enum class Confidence : std::uint8_t { none, low, medium, high };
std::string_view name_of(Confidence confidence);

/// A class of failures (ids and titles: data/log_rules.json).
struct ExplanationClass {
  std::string id;             // "skel_load_failed"
  std::string title;          // "the DSP side could not load the skel library"
  bool prevents_run = false;  // after such a failure no graph runs
  std::string summary;        // template, when the rule has none (log_rules.h)
  std::string why;            // what is behind it, a few sentences
  std::string experiment;     // one control experiment that separates this class from its neighbours
  std::vector<std::string> next_steps;
  std::vector<std::string> send;  // what to attach when this has to be asked elsewhere
};

std::span<const ExplanationClass> explanation_classes();
/// nullptr for an id that is none.
const ExplanationClass* find_explanation_class(std::string_view id);

struct ExplainedCode {
  int number = 0;
  std::string name;   // "QNN_COMMON_ERROR_MEM_ALLOC"; empty: no header has it
  std::string stage;  // where it came from; empty: not told
  std::uint64_t line = 0;
};

struct LogFacts {
  std::string soc;       // QNN's number; empty: not told
  std::string soc_name;  // "SM8650"
  std::string arch;      // "v75"
  std::string stack;     // "mnn", "ort", ...
  std::map<std::string, std::string> versions;
  std::vector<LogNode> nodes;
  std::uint64_t nodes_left_out = 0;
  std::map<std::string, std::string> values;  // what the lines tell, in words: "need": "36 MiB", "library": ...
  std::uint64_t lines = 0;
  std::uint64_t noise_lines = 0;
  std::uint64_t bytes = 0;
};

struct Explanation {
  std::string class_id = "not_decidable";
  std::string rule;     // which rule decided; empty: none
  std::string summary;  // one sentence
  Confidence confidence = Confidence::none;
  std::string why;
  std::string experiment;
  std::vector<std::string> also;      // other classes that the log shows, the stronger first
  std::vector<ExplainedCode> codes;   // in the order of their first lines
  std::vector<std::string> patterns;  // ids of data/log_patterns.json that decided or support it
  LogFacts facts;
  std::vector<EvidenceLine> evidence;   // by line: what decides first
  std::vector<std::string> next_steps;  // the last one is a command, or names what to send
};

/// Applies the rules to what was read. Never fails: a log that decides nothing is "not_decidable", with what to send.
Explanation explain_record(LogRecord record);

/// read_log and explain_record.
Explanation explain_log(std::string_view text);

/// All text of an explanation in one string, for searching.
std::string explanation_words(const Explanation& explanation);

}  // namespace qnndbg
