// `qnn-debug explain`: a number, a name, an id, a log line, a log or a model in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/known_cases.h"
#include "cli/log_input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "diagnose/log_evidence.h"
#include "lint/scales.h"
#include "report/codes_text.h"
#include "report/explanation.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostCases = 3;

struct Arguments {
  std::vector<std::string> topic;
  std::string stage;
  std::string model;
  std::string store;
  std::string format = "text";
  std::string output;
  int verbosity = 0;
};

/// What every kind of topic needs to answer.
struct Reader {
  const Arguments& arguments;
  const Session& session;
  const Console& console;

  bool json() const { return arguments.format == "json"; }

  TextStyle style() const {
    TextStyle style = output_style(session.color);
    style.verbosity = arguments.verbosity;
    style.command = session.command_line;
    return style;
  }

  std::vector<SimilarCase> cases_like(const Fingerprint& fingerprint) const {
    return nearest_known_cases(arguments.store, fingerprint, kMostCases, console);
  }
};

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

const FindingType* find_finding(std::string_view text) {
  const auto types = finding_types();
  const auto found = std::find_if(types.begin(), types.end(), [&](const FindingType& type) {
    return same_letters(type.id, text) || same_letters(type.cause, text);
  });
  return found == types.end() ? nullptr : &*found;
}

/// A number that was found by its name.
ParsedCode plain_code(std::int64_t number) {
  ParsedCode parsed;
  parsed.number = number;
  parsed.raw = static_cast<std::uint64_t>(number);
  return parsed;
}

std::string explain_number(const ParsedCode& parsed, const Reader& reader) {
  if (!reader.json()) return number_text(parsed, reader.style(), reader.arguments.stage);
  Fingerprint fingerprint;
  if (parsed.number > 0 && parsed.number <= 0xFFFF) fingerprint.codes = {static_cast<int>(parsed.number)};
  if (!reader.arguments.stage.empty()) fingerprint.stages = {reader.arguments.stage};
  return code_explanation_json(parsed, reader.arguments.stage, reader.cases_like(fingerprint));
}

std::string explain_class(const ExplanationClass& type, const Reader& reader) {
  Fingerprint fingerprint;
  fingerprint.classes = {type.id};
  const std::vector<SimilarCase> cases = reader.cases_like(fingerprint);
  return reader.json() ? class_json(type, cases) : class_text(type, cases, reader.style());
}

/// A finding id, a cause or a class; some causes are classes too.
std::optional<std::string> explain_id(const std::string& text, const Reader& reader) {
  const FindingType* finding = find_finding(text);
  const ExplanationClass* type = find_explanation_class(finding == nullptr ? text : std::string(finding->cause));
  if (finding == nullptr) return type == nullptr ? std::nullopt : std::optional(explain_class(*type, reader));
  if (reader.json()) return finding_type_json(*finding);
  std::string out = finding_type_text(*finding, reader.style());
  if (type != nullptr) out += '\n' + explain_class(*type, reader);
  return out;
}

Result<std::string> explain_evidence(Explanation explanation, const Reader& reader) {
  if (!reader.arguments.model.empty()) {
    ModelArguments files;
    files.model = reader.arguments.model;
    const Result<Model> model = open_model(files);
    if (!model) return fail(model.error());
    name_operators(*model, explanation);
  }
  const std::vector<SimilarCase> cases = reader.cases_like(fingerprint_of(explanation));
  return reader.json() ? explanation_json(explanation, cases) : explanation_text(explanation, cases, reader.style());
}

Result<std::string> explain_model(const std::string& file, const Reader& reader) {
  ModelArguments files;
  files.model = file;
  const Result<Model> model = open_model(files);
  if (!model) return fail(model.error());
  return explain_evidence(explain_scales(*model), reader);
}

Result<std::string> explain_file(const std::string& file, const Reader& reader) {
  if (fs::path(file).extension() == ".mnn") return explain_model(file, reader);
  Result<Explanation> explanation = explain_log_file(file);
  if (!explanation) return fail(std::move(explanation.error()));
  return explain_evidence(std::move(*explanation), reader);
}

bool looks_like_a_path(const std::string& text) {
  const std::string extension = fs::path(text).extension().string();
  return text.find('/') != std::string::npos || extension == ".log" || extension == ".txt" || extension == ".mnn";
}

std::string suggestions(const std::string& text) {
  std::vector<std::string> known = code_names_like(text);
  if (known.empty()) {
    for (const FindingType& type : finding_types()) {
      known.emplace_back(type.id);
      known.emplace_back(type.cause);
    }
    for (const ExplanationClass& type : explanation_classes()) known.push_back(type.id);
    return did_you_mean(text, known);
  }
  return fmt::format("; did you mean `{}`?", fmt::join(known, "` or `"));
}

Result<std::string> answer(const Reader& reader) {
  const std::vector<std::string>& words = reader.arguments.topic;
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (text == "-") return explain_file(text, reader);
  std::error_code error;
  const bool exists = words.size() == 1 && fs::exists(fs::path(text), error);
  if (exists && looks_like_a_path(text)) return explain_file(text, reader);
  if (const std::optional<ParsedCode> parsed = parse_error_code(text)) return explain_number(*parsed, reader);
  if (const ErrorCode* code = find_error_code(std::string_view(text)))
    return explain_number(plain_code(code->number), reader);
  if (const NotAnError* name = find_not_an_error(std::string_view(text))) {
    if (!reader.json()) return not_an_error_text(*name, reader.style());
    return explain_number(plain_code(name->number), reader);
  }
  if (std::optional<std::string> id = explain_id(text, reader)) return std::move(*id);
  if (exists) return explain_file(text, reader);
  if (words.size() == 1 && looks_like_a_path(text)) return fail("{}: no such file", text);
  // A line that somebody copied out of a log.
  LogRecord record = read_log(text);
  if (!record.events.empty() || !record.codes.empty() || record.noise_lines > 0)
    return explain_evidence(explain_record(std::move(record)), reader);
  return fail("`{}` is no error number, name, finding id, class, known log line or file{}", text, suggestions(text));
}

int run(const Arguments& arguments, const Session& session) {
  const Console console(session.color);
  if (!arguments.stage.empty() && find_code_stage(arguments.stage) == nullptr) {
    std::vector<std::string> stages;
    for (const CodeStage& stage : code_stages()) stages.push_back(stage.id);
    console.error("--stage: `{}` is none of {}", arguments.stage, fmt::join(stages, ", "));
    return kExitFailed;
  }
  const Result<std::string> text = answer({arguments, session, console});
  if (!text) {
    console.error("{}", text.error().message);
    return kExitFailed;
  }
  return deliver(arguments.output, *text, console);
}

}  // namespace

void add_explain(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("explain", "Explain an error number, a name, a finding, a log line or a whole log");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("TOPIC", arguments->topic,
                   "1002, 0xc26, QNN_GRAPH_ERROR_INVALID_TENSOR, QD0203, bias_dropped, a line of a log, run.log, - for "
                   "a log on standard input, or a .mnn model (its quantization scales)")
      ->type_name("TOPIC")
      ->required();
  command->add_option("--stage", arguments->stage, "For a number: the stage that returned it (finalize, execute, ...)")
      ->type_name("STAGE");
  command->add_option("-m,--model", arguments->model, "For a log: names the model's operators behind the log's nodes")
      ->type_name(kFileType);
  add_store_option(*command, arguments->store);
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"},
             "What to print: for people, or the document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->add_flag("-v,--verbose", arguments->verbosity, "Text: every line that supports the answer");
  command->callback([arguments, &session] { session.exit_status = run(*arguments, session); });
}

}  // namespace qnndbg::cli
