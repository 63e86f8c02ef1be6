// `qnn-debug case`: the base of known cases. One subcommand per verb; each has its own option tree.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/known_cases.h"
#include "cli/log_input.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/text_input.h"
#include "knowledge/case_json.h"
#include "knowledge/case_store.h"
#include "report/cases_json.h"
#include "report/cases_text.h"
#include "report/explanation.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDefaultMatches = 5;
constexpr std::size_t kDefaultHits = 20;

/// What every verb has.
struct StoreArguments {
  std::string store;  // empty: not given
  std::string format = "text";
};

/// What a verb has to say.
struct Reply {
  std::string text;
  std::string output;  // file; empty: standard output
};

/// Writes it to where it belongs, an error to the console. Returns the exit status.
int deliver_reply(const Result<Reply>& reply, const Console& console) {
  if (reply) return deliver(reply->output, reply->text, console);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  console.error("{}", reply.error().message);
  return kExitFailed;
}

// --- Fingerprints on the command line --------------------------------------------------------------------------------

struct FingerprintArguments {
  std::vector<std::string> codes;
  Fingerprint rest;
};

/// "1002", "0x3ea"
std::optional<int> parse_code(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  int code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || code < 1 || code > 0xFFFF) return std::nullopt;
  return code;
}

Result<Fingerprint> fingerprint_of(const FingerprintArguments& arguments) {
  Fingerprint fingerprint = arguments.rest;
  for (const std::string& text : arguments.codes) {
    const std::optional<int> code = parse_code(text);
    if (!code) return fail("--code: `{}` is no error number (1 to 65535, or 0x1 to 0xffff)", text);
    fingerprint.codes.push_back(*code);
  }
  return fingerprint;
}

/// A list of one-word values; every occurrence of the option adds one.
CLI::Option* add_values(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                        const std::string& type, const std::string& description) {
  return command.add_option(name, values, description + "; may be repeated")
      ->type_name(type)
      ->allow_extra_args(false)
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_class(CLI::App& command, std::vector<std::string>& classes, const std::string& description) {
  std::vector<std::string> names;
  for (const std::string_view name : case_classes()) names.emplace_back(name);
  const auto check = [names](const std::string& typed) -> std::string {
    if (std::find(names.begin(), names.end(), typed) != names.end()) return {};
    return fmt::format("`{}` is no class of problems{}; docs/known-cases.md lists them", typed,
                       did_you_mean(typed, names));
  };
  add_values(command, "--class", classes, "CLASS", description)->check(CLI::Validator(check, ""));
}

void add_fingerprint(CLI::App& command, FingerprintArguments& arguments) {
  Fingerprint& rest = arguments.rest;
  add_class(command, rest.classes, "Class of the problem");
  add_values(command, "--code", arguments.codes, "N", "QNN error number, decimal or 0x...");
  add_values(command, "--pattern", rest.patterns, "ID", "Log pattern, such as op-creation-failure");
  add_values(command, "--operator", rest.operators, "TYPE", "Operator type of QNN or MNN");
  add_values(command, "--kernel", rest.kernels, "NAME", "HTP kernel, such as q::layernorm_2d_fp16");
  add_values(command, "--stage", rest.stages, "STAGE",
             "Where it failed: load_library, device, validate, finalize, ...");
  add_values(command, "--arch", rest.archs, "vNN", "HTP architecture");
  add_values(command, "--soc", rest.socs, "SOC", "SoC, by QNN's number or model");
  add_values(command, "--stack", rest.stacks, "NAME", "Who called QNN: mnn, ort, executorch, ...");
  add_values(command, "--sdk", rest.sdk_versions, "VERSION", "Version of the QNN SDK");
  add_values(command, "--mnn", rest.mnn_versions, "VERSION", "Version of MNN");
}

void add_store(CLI::App& command, StoreArguments& arguments) { add_store_option(command, arguments.store); }

void add_format(CLI::App& command, StoreArguments& arguments) {
  add_choice(command, "-f,--format", arguments.format, {"text", "json"}, "What to print: for people, or a document");
}

void add_limit(CLI::App& command, std::size_t& limit) {
  command.add_option("--limit", limit, "Most cases to show")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
}

std::string cases_reply(const std::vector<const KnownCase*>& cases, const std::string& format, const Session& session) {
  if (format == "json") return case_document(cases);
  return cases.empty() ? std::string() : case_list_text(cases, output_style(session.color));
}

// --- add -------------------------------------------------------------------------------------------------------------

struct AddArguments {
  StoreArguments store;
  std::string file;  // empty: the case is in the options
  FingerprintArguments fingerprint;
  KnownCase known;
  std::string evidence = "unknown";
};

Result<KnownCase> case_from_options(const AddArguments& arguments) {
  KnownCase known = arguments.known;
  known.evidence = evidence_grade(arguments.evidence).value_or(EvidenceGrade::unknown);
  Result<Fingerprint> fingerprint = fingerprint_of(arguments.fingerprint);
  if (!fingerprint) return fail(std::move(fingerprint.error()));
  known.fingerprint = std::move(*fingerprint);
  if (known.title.empty()) return fail("--title is missing; or name a file with the case");
  if (known.fingerprint.classes.empty()) return fail("--class is missing; docs/known-cases.md lists the classes");
  return known;
}

Result<KnownCase> draft_of(const AddArguments& arguments) {
  if (arguments.file.empty()) return case_from_options(arguments);
  const Result<std::string> text = read_text(arguments.file, kLargestCaseDocument);
  if (!text) return fail(text.error());
  Result<KnownCase> draft = parse_case_draft(*text);
  if (!draft) return fail("{}: {}", arguments.file, draft.error().message);
  return draft;
}

Result<Reply> run_add(const AddArguments& arguments) {
  Result<KnownCase> draft = draft_of(arguments);
  if (!draft) return fail(std::move(draft.error()));
  Result<CaseStore> store = open_store_to_write(arguments.store.store);
  if (!store) return fail(std::move(store.error()));
  const Result<KnownCase> known = store->add(std::move(*draft));
  if (!known) return fail(known.error());
  if (arguments.store.format == "text") return Reply{known->id + '\n', {}};
  const KnownCase* const one = &*known;
  return Reply{case_document({&one, 1}), {}};
}

/// Options that describe a case, the FILE's contents among them, exclude each other. CLI11 can say so too, but then the
/// help repeats it at each of them.
std::string first_given(const std::vector<const CLI::Option*>& options) {
  for (const CLI::Option* option : options)
    if (option->count() > 0) return option->get_name();
  return {};
}

void add_case_add(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("add", "Add a case of your own; prints its id");
  auto arguments = std::make_shared<AddArguments>();
  KnownCase& known = arguments->known;
  command->add_option("FILE", arguments->file, "The case as a JSON object, instead of options; - for standard input")
      ->type_name(kFileType);
  const std::vector<CLI::Option*> common = command->get_options({});
  const auto add_text = [command](const char* name, std::string& text, const char* description) {
    command->add_option(name, text, description)->type_name("TEXT");
  };
  add_text("--title", known.title, "One line that names the problem");
  add_text("--symptom", known.symptom, "What people see");
  add_text("--cause", known.cause, "What it was");
  add_text("--fix", known.fix, "What helped");
  add_text("--notes", known.notes, "Anything else");
  add_text("--supersedes", known.supersedes, "Built-in case that this one replaces, such as C04");
  add_text("--annotates", known.annotates, "Built-in case that this one is a note to");
  add_values(*command, "--source", known.sources, "TEXT", "Where it was seen, such as a thread");
  std::vector<std::string> grades;
  for (const EvidenceGrade grade : evidence_grades()) grades.emplace_back(name_of(grade));
  add_choice(*command, "--evidence", arguments->evidence, grades, "How well the cause is known");
  add_fingerprint(*command, arguments->fingerprint);
  std::vector<const CLI::Option*> of_case;
  for (const CLI::Option* option : command->get_options({}))
    if (std::find(common.begin(), common.end(), option) == common.end()) of_case.push_back(option);
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, of_case, &session] {
    const Console console(session.color);
    const std::string given = first_given(of_case);
    if (!arguments->file.empty() && !given.empty()) {
      console.error("{} and {} exclude each other: the file holds the whole case", arguments->file, given);
      session.exit_status = kExitFailed;
      return;
    }
    session.exit_status = deliver_reply(run_add(*arguments), console);
  });
}

// --- list, show ------------------------------------------------------------------------------------------------------

struct ListArguments {
  StoreArguments store;
  std::vector<std::string> classes;
  bool own = false;
  bool all = false;  // the default, for those who want to say it
};

Result<Reply> run_list(const ListArguments& arguments, const Session& session, const Console& console) {
  const Result<CaseStore> store = open_store_to_read(arguments.store.store, console);
  if (!store) return fail(store.error());
  std::vector<const KnownCase*> cases = arguments.own ? store->own() : store->list();
  const auto has_class = [&arguments](const KnownCase* known) {
    const std::vector<std::string>& classes = known->fingerprint.classes;
    return arguments.classes.empty() || std::find_first_of(classes.begin(), classes.end(), arguments.classes.begin(),
                                                           arguments.classes.end()) != classes.end();
  };
  std::erase_if(cases, [&has_class](const KnownCase* known) { return !has_class(known); });
  if (cases.empty()) console.note("there is no such case");
  return Reply{cases_reply(cases, arguments.store.format, session), {}};
}

void add_case_list(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("list", "List built-in cases and your own");
  auto arguments = std::make_shared<ListArguments>();
  add_class(*command, arguments->classes, "Only cases of this class");
  CLI::Option* own = command->add_flag("--own", arguments->own, "Only your own");
  command->add_flag("--all", arguments->all, "Your own and the built-in ones (the default)")->excludes(own);
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_list(*arguments, session, console), console);
  });
}

struct ShowArguments {
  StoreArguments store;
  std::string id;
};

Result<Reply> run_show(const ShowArguments& arguments, const Session& session, const Console& console) {
  const Result<CaseStore> store = open_store_to_read(arguments.store.store, console);
  if (!store) return fail(store.error());
  const KnownCase* known = store->find(arguments.id);
  if (known == nullptr) {
    std::vector<std::string> ids;
    for (const KnownCase* other : store->list()) ids.push_back(other->id);
    return fail("there is no case `{}`{}; see: qnn-debug case list", arguments.id, did_you_mean(arguments.id, ids));
  }
  if (arguments.store.format == "json") return Reply{case_document({&known, 1}), {}};
  return Reply{case_text(*known, store->about(known->id), output_style(session.color)), {}};
}

void add_case_show(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("show", "Show all of one case");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("ID", arguments->id, "The case: C04, or U-...")->type_name("ID")->required();
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_show(*arguments, session, console), console);
  });
}

// --- search, match ---------------------------------------------------------------------------------------------------

struct SearchArguments {
  StoreArguments store;
  std::vector<std::string> words;
  std::size_t limit = kDefaultHits;
};

Result<Reply> run_search(const SearchArguments& arguments, const Session& session, const Console& console) {
  const Result<CaseStore> store = open_store_to_read(arguments.store.store, console);
  if (!store) return fail(store.error());
  const std::string text = fmt::format("{}", fmt::join(arguments.words, " "));
  const Result<std::vector<const KnownCase*>> found = store->search(text, arguments.limit);
  if (!found) return fail(found.error());
  if (found->empty()) console.note("no case has all of these words: {}", text);
  return Reply{cases_reply(*found, arguments.store.format, session), {}};
}

void add_case_search(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("search", "Find cases by words, the best first");
  auto arguments = std::make_shared<SearchArguments>();
  command->add_option("TEXT", arguments->words, "Words that a case must have; each may be the beginning of a word")
      ->type_name("WORD")
      ->required();
  add_limit(*command, arguments->limit);
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_search(*arguments, session, console), console);
  });
}

struct MatchArguments {
  StoreArguments store;
  std::string log;  // empty: only what the options say
  FingerprintArguments fingerprint;
  std::size_t limit = kDefaultMatches;
};

/// Where to go from a run that matches nothing: one code alone fits too many cases to tell them apart.
std::string search_advice(const Fingerprint& run) {
  if (run.codes.empty()) return "try words: qnn-debug case search TEXT";
  return fmt::format("for all cases with the code: qnn-debug case search {}", run.codes.front());
}

/// What a log shows, with what the options add to it.
Result<Fingerprint> run_fingerprint(const MatchArguments& arguments) {
  Result<Fingerprint> run = fingerprint_of(arguments.fingerprint);
  if (!run || arguments.log.empty()) return run;
  const Result<Explanation> log = explain_log_file(arguments.log);
  if (!log) return fail(log.error());
  const Fingerprint seen = qnndbg::fingerprint_of(*log);
  run->codes.insert(run->codes.end(), seen.codes.begin(), seen.codes.end());
  for (const FingerprintList& list : fingerprint_lists()) {
    std::vector<std::string>& values = (*run).*list.values;
    const std::vector<std::string>& more = seen.*list.values;
    values.insert(values.end(), more.begin(), more.end());
  }
  return run;
}

Result<Reply> run_match(const MatchArguments& arguments, const Session& session, const Console& console) {
  const Result<Fingerprint> run = run_fingerprint(arguments);
  if (!run) return fail(run.error());
  if (*run == Fingerprint())
    return fail(
        "nothing to match: name a log, or what the run showed with --code, --pattern, --operator, --class, ...");
  const Result<CaseStore> store = open_store_to_read(arguments.store.store, console);
  if (!store) return fail(store.error());
  const std::vector<SimilarCase> matches = store->nearest(*run, arguments.limit);
  if (matches.empty()) console.note("no known case is near enough; {}", search_advice(*run));
  const bool json = arguments.store.format == "json";
  return Reply{json ? case_matches_json(matches) : case_matches_text(matches, output_style(session.color)), {}};
}

void add_case_match(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("match", "Find cases that look like a run, the nearest first");
  auto arguments = std::make_shared<MatchArguments>();
  command->add_option("LOG", arguments->log, "Log of the run; - for standard input")->type_name(kFileType);
  add_fingerprint(*command, arguments->fingerprint);
  add_limit(*command, arguments->limit);
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_match(*arguments, session, console), console);
  });
}

// --- export, import --------------------------------------------------------------------------------------------------

struct ExportArguments {
  StoreArguments store;
  std::string output;
  bool all = false;
};

Result<Reply> run_export(const ExportArguments& arguments, const Console& console) {
  const Result<CaseStore> store = open_store_to_read(arguments.store.store, console);
  if (!store) return fail(store.error());
  if (!arguments.all && store->own().empty())
    console.note("there are no cases of your own; --all adds the built-in ones");
  return Reply{store->export_text(arguments.all), arguments.output};
}

void add_case_export(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("export", "Write your own cases as a JSON document");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->add_flag("--all", arguments->all, "The built-in cases too");
  add_store(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_export(*arguments, console), console);
  });
}

struct ImportArguments {
  StoreArguments store;
  std::string file;
};

std::string import_text(const ImportReport& report) {
  std::string text = fmt::format("{} added, {} updated, {} unchanged", report.added, report.updated, report.unchanged);
  if (report.built_in > 0) text += fmt::format(", {} built-in left out", report.built_in);
  return text + '\n';
}

std::string import_json(const ImportReport& report) {
  return fmt::format(
      R"({{"schema": "qnn-debug/case-import/1", "added": {}, "updated": {}, "unchanged": {}, "kept": {}, )"
      R"("built_in": {}}})"
      "\n",
      report.added, report.updated, report.unchanged, report.kept, report.built_in);
}

Result<Reply> run_import(const ImportArguments& arguments, const Console& console) {
  const Result<std::string> text = read_text(arguments.file, kLargestCaseDocument);
  if (!text) return fail(text.error());
  // Before the store is opened, so that a bad document makes no file.
  if (const auto cases = parse_case_document(*text); !cases)
    return fail("{}: {}; nothing was imported", arguments.file, cases.error().message);
  Result<CaseStore> store = open_store_to_write(arguments.store.store);
  if (!store) return fail(std::move(store.error()));
  const Result<ImportReport> report = store->import_text(*text);
  if (!report) return fail(report.error());
  if (report->kept > 0)
    console.note("{} in the store differ, but the document's are not newer: left as they are (`updated` decides)",
                 plural(static_cast<long long>(report->kept), "case"));
  return Reply{arguments.store.format == "json" ? import_json(*report) : import_text(*report), {}};
}

void add_case_import(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("import", "Read cases from a JSON document into your store: all, or none");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("FILE", arguments->file, "A document that `case export` wrote; - for standard input")
      ->type_name(kFileType)
      ->required();
  add_store(*command, arguments->store);
  add_format(*command, arguments->store);
  command->callback([arguments, &session] {
    const Console console(session.color);
    session.exit_status = deliver_reply(run_import(*arguments, console), console);
  });
}

}  // namespace

void add_case(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("case", "Known cases: those that come with the program, and your own");
  command->require_subcommand(1);
  add_case_add(*command, session);
  add_case_list(*command, session);
  add_case_show(*command, session);
  add_case_search(*command, session);
  add_case_match(*command, session);
  add_case_export(*command, session);
  add_case_import(*command, session);
}

}  // namespace qnndbg::cli
