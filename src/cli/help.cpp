#include "cli/help.h"

#include <fmt/format.h>

#include <map>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"

namespace qnndbg::cli {
namespace {

const std::map<std::string, std::string, std::less<>>& examples() {
  static const std::map<std::string, std::string, std::less<>> table = {
      {"qnn-debug",
       "  qnn-debug diagnose --model m.mnn --inputs inputs.json --dump dump     which operators are broken, and why\n"
       "  qnn-debug replay --model m.mnn --dump dump --op upsample              one operator in depth\n"
       "  qnn-debug inspect m.mnn                                               operators and tensors of a model\n"
       "  qnn-debug baseline --model m.mnn --inputs inputs.json --output ref    every tensor in fp32, as .npy\n"
       "  qnn-debug doctor --soc SM8650 --library folder                        do the installed libraries fit together?\n"
       "  source <(qnn-debug completion bash)                                   complete commands and options\n"},
      {"diagnose",
       "  qnn-debug diagnose --model m.mnn --inputs inputs.json --dump dump\n"
       "  qnn-debug diagnose --model m.mnn --inputs image=x.npy --dump dump --soc 57 -v\n"
       "  qnn-debug diagnose --model m.mnn --dump dump --format json --output diagnosis.json\n"},
      {"inspect",
       "  qnn-debug inspect m.mnn\n"
       "  qnn-debug inspect m.mnn --inputs inputs.json --format json\n"},
      {"baseline", "  qnn-debug baseline --model m.mnn --inputs inputs.json --output ref\n"},
      {"calibrate",
       "  qnn-debug calibrate --model m.mnn --arch v75 dump1 dump2\n"
       "  qnn-debug calibrate --runs runs.tsv --arch v75 --library 2.51 --output bounds.json\n"},
      {"replay",
       "  qnn-debug replay --model m.mnn --dump dump --op upsample\n"
       "  qnn-debug replay --model m.mnn --dump dump --op '#25' --format json\n"
       "  qnn-debug replay --model m.mnn --dump dump --op t25 --extract case\n"},
      {"doctor",
       "  qnn-debug doctor\n"
       "  qnn-debug doctor --soc \"8 Gen 3\" --library app/lib/arm64-v8a --model m.mnn\n"
       "  qnn-debug doctor --adb --phone-library /data/local/tmp/qnn --format json\n"},
      {"completion",
       "  source <(qnn-debug completion bash)\n"
       "  qnn-debug completion zsh > \"${fpath[1]}/_qnn-debug\"\n"
       "  qnn-debug completion fish > ~/.config/fish/completions/qnn-debug.fish\n"},
      {"help", "  qnn-debug help diagnose\n"},
  };
  return table;
}

constexpr const char* kExitStatuses =
    "Exit status: 0 verdict clean, 1 any other verdict, 2 nothing could be written, 130 interrupted.\n"
    "Data goes to standard output, messages and progress to standard error.\n";

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const bool is_program = app->get_parent() == nullptr;
    std::string page = is_program ? fmt::format("qnn-debug {}: {}\n", QNNDBG_VERSION, app->get_description())
                                  : fmt::format("{}\n", app->get_description());
    if (const auto found = examples().find(app->get_name()); found != examples().end())
      page += fmt::format("\nExamples:\n{}", found->second);
    page += fmt::format("\n{}", make_usage(app, std::move(name)));
    page += make_positionals(app);
    page += make_groups(app, mode);
    page += make_subcommands(app, mode);
    if (is_program) page += fmt::format("\n{}", kExitStatuses);
    return page;
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    // CLI11 puts the parents' names in front only where they are part of `name`; a command is always called through the
    // program.
    std::string path = app->get_parent() == nullptr ? "qnn-debug" : fmt::format("qnn-debug {}", app->get_name());
    if (name.empty()) path = app->get_name();
    return CLI::Formatter::make_usage(app, path);
  }
};

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

const CLI::App& selected_command(const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? program : *chosen.front();
}

void collect_long_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
}

std::string explain_option(const std::string& typed, const CLI::App& program) {
  const std::string name = typed.substr(0, typed.find('='));
  const CLI::App& command = selected_command(program);
  std::vector<std::string> known;
  collect_long_options(command, known);
  if (&command != &program) collect_long_options(program, known);
  return fmt::format("unknown option `{}`{}", name, did_you_mean(name, known));
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(34);
  return formatter;
}

std::string explain(const CLI::ParseError& error, const CLI::App& program) {
  // A misspelt option leaves a required one missing; the misspelling is what the user needs to hear about.
  for (const std::string& extra : program.remaining(/*recurse=*/true))
    if (extra.size() > 1 && extra.front() == '-') return explain_option(extra, program);
  const std::vector<std::string> extras = program.remaining(/*recurse=*/true);
  if (program.get_subcommands().empty()) {
    if (extras.empty()) return "no command given";
    return fmt::format("unknown command `{}`{}", extras.front(), did_you_mean(extras.front(), command_names(program)));
  }
  if (!extras.empty()) return fmt::format("unexpected argument `{}`", extras.front());
  return error.what();
}

std::string help_command(const CLI::App& program) {
  const CLI::App& command = selected_command(program);
  return &command == &program ? "qnn-debug --help" : fmt::format("qnn-debug {} --help", command.get_name());
}

void add_help(CLI::App& program, Session& session) {
  CLI::App* command = program.add_subcommand("help", "Show the help of a command");
  auto name = std::make_shared<std::string>();
  CLI::Option* argument = command->add_option("command", *name, "The command; default: the program itself");
  argument->type_name(fmt::format("{}", fmt::join(command_names(program), "|")));
  command->callback([name, &program, &session] {
    const std::vector<std::string> names = command_names(program);
    if (!name->empty() && std::find(names.begin(), names.end(), *name) == names.end())
      throw CLI::ValidationError("help", fmt::format("unknown command `{}`{}", *name, did_you_mean(*name, names)));
    const std::string page = name->empty()
                                 ? help_formatter()->make_help(&program, "qnn-debug", CLI::AppFormatMode::Normal)
                                 : program.get_subcommand(*name)->help("qnn-debug", CLI::AppFormatMode::Normal);
    session.exit_status = deliver("", page, Console(session.color));
  });
}

}  // namespace qnndbg::cli
