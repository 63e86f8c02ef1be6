// QNN's error numbers: what each one means, what usually causes it on HTP, and what to do, by the stage that returned
// it.
//
// The knowledge is data/error_codes.json, built into the program; docs/error-codes.md describes that file. Texts are
// plain English sentences for people, in printable UTF-8, with log words and commands between backticks.
//
//   std::optional<ParsedCode> parsed = parse_error_code("err=0x12340000000003ea,");
//   const ErrorCode* code = find_error_code(parsed->number);          // 1002
//   const StageMeaning* there = code->at_stage("finalize");           // nullptr: as in general
//
// What stays open: a number alone rarely decides. `ErrorCode::class_id` is "not_decidable" unless it does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qnndbg {

/// One of the usual causes of a number.
struct ErrorCause {
  std::string what;
  std::string sign;      // what tells it from the other causes: a line of the log or a check; may be empty
  std::string class_id;  // class of an explanation that this cause amounts to; empty: none of them
};

/// What a number means when it comes from one stage.
struct StageMeaning {
  std::string stage;  // id of a CodeStage
  std::string meaning;
  std::string class_id = "not_decidable";  // decided by number and stage together
  std::vector<ErrorCause> causes;          // the commonest first
  std::vector<std::string> next_steps;     // in the order in which they should be tried
};

/// A number that usually only follows from another one that was printed before it.
struct Consequence {
  int after = 0;
  std::string why;  // completes "<after>: ..."
};

/// A name that somebody else uses for this number, or a meaning that they give it.
struct OtherName {
  std::string by;     // who
  std::string name;   // what they call it
  std::string right;  // which of the two is right
};

struct ErrorCode {
  int number = 0;
  std::string name;                  // "QNN_COMMON_ERROR_MEM_ALLOC"
  std::vector<std::string> aliases;  // further names that the headers give to this number
  std::string module;                // module of its range: "common", "graph", ...
  std::string since;                 // "between SDK 2.30 and 2.51"; empty: in all headers from 2.13 on
  bool retired = false;              // still in the headers, no longer returned
  std::string class_id = "not_decidable";
  std::string meaning;
  std::vector<ErrorCause> causes;       // what may be behind it whatever the stage; never empty
  std::vector<std::string> next_steps;  // never empty
  std::vector<StageMeaning> stages;     // where a stage gives it a meaning of its own
  std::vector<Consequence> follows;
  std::vector<OtherName> also_called;
  std::vector<std::string> returned_by;  // functions whose documentation lists it; empty: no function's does

  /// What it means at that stage; nullptr when the stage adds nothing.
  const StageMeaning* at_stage(std::string_view stage) const;
};

/// A part of a program's work with QNN, as wide as the same number means the same.
struct CodeStage {
  std::string id;                      // "finalize"
  std::string title;                   // "finalizing a graph"
  std::vector<std::string> functions;  // beginnings of the names of its API functions
};

/// The numbers that belong to one module of the API.
struct CodeRange {
  std::string module;
  int first = 0;
  int last = 0;
  std::string what;  // what the module is about
};

/// All codes, by number.
std::span<const ErrorCode> error_codes();

/// The code of exactly this number (nothing is masked, see parse_error_code); nullptr: no header has it.
const ErrorCode* find_error_code(std::int64_t number);

/// The code that has this name: any alias, with or without "QNN_", upper or lower case. Names that QNN's own
/// documentation misspells are found too. nullptr when unknown.
const ErrorCode* find_error_code(std::string_view name);

/// All names and aliases of codes.
std::vector<std::string_view> error_code_names();

/// Codes of the same range next to a number that is none, the nearest first, at most three.
std::vector<const ErrorCode*> codes_near(std::int64_t number);

/// All stages, in the order in which a program passes them.
std::span<const CodeStage> code_stages();
const CodeStage* find_code_stage(std::string_view id);

/// The stage of an API function as a log may write it: "QnnGraph_finalize", "graphFinalize". nullptr when unknown.
const CodeStage* code_stage_of(std::string_view function);

/// The narrowest range that holds the number; nullptr when no module has it.
const CodeRange* code_range_of(std::int64_t number);
std::span<const CodeRange> code_ranges();

/// Names that QNN's headers put among the error codes although no function returns them as errors.
struct NotAnError {
  enum class Kind : unsigned char { success, first_of_range, last_of_range, sentinel };
  Kind kind = Kind::success;
  std::string name;
  std::int64_t number = 0;
};

/// Success, a mark at the end of a range, or a sentinel that only widens an enum. The first names of many ranges are
/// also codes (QNN_GRAPH_MIN_ERROR is 6000): such a *number* is the code.
const NotAnError* find_not_an_error(std::int64_t number);
const NotAnError* find_not_an_error(std::string_view name);
std::span<const NotAnError> not_errors();

/// A number as somebody copied it out of a log.
struct ParsedCode {
  std::int64_t number = 0;  // what to look up
  std::uint64_t raw = 0;    // what is written; negative numbers in two's complement
  bool transport = false;   // a status of FastRPC or the DSP's system (0x80000406), not of QNN
  std::string how;          // how `number` follows from `raw`: "low 16 bits of 0x12340000000003ea"; empty: it is `raw`
};

/// Reads one number: decimal, hexadecimal with 0x, negative, wrapped to 32 or 64 bits, with punctuation and words like
/// "err" and "code" around it, or the same number twice ("3110 = 0xc26"). A QNN handle keeps the code in its low 16
/// bits and may use the others for itself; they are dropped if the rest is in a module's range. nullopt when the text
/// is something else, or a number that needs more than 64 bits.
std::optional<ParsedCode> parse_error_code(std::string_view text);

/// The status behind "graph prepare failed" and "preparation failed with err:" in HTP's lines. Not a QNN code.
struct HtpGraphStatus {
  int value = 0;
  std::string name;
  std::string meaning;
};
const HtpGraphStatus* htp_graph_status(int value);

/// Something else that a log writes with the same number.
struct Lookalike {
  std::string kind;     // "data_type", "htp_graph_status", "profile_event", "soc", "property_key", "rpc_status", ...
  std::string what;     // "QNN data type"
  std::string meaning;  // "QNN_DATATYPE_UFIXED_POINT_16"
  std::string context;  // where in a log the number has that meaning: "after `mismatching datatypes` ..."
};
std::vector<Lookalike> lookalikes(std::int64_t number);

}  // namespace qnndbg
