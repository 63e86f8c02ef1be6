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
       "  qnn-debug report --compare before.json after.json                     what was fixed, and what got worse\n"
       "  qnn-debug inspect m.mnn                                               operators and tensors of a model\n"
       "  qnn-debug baseline --model m.mnn --inputs inputs.json --output ref    every tensor in fp32, as .npy\n"
       "  qnn-debug explain run.log                                             what a log means; also: explain 1002\n"
       "  qnn-debug case match --code 1002 --operator LayerNorm                 seen before?\n"
       "  qnn-debug doctor --soc SM8650 --library folder                        do the installed libraries fit "
       "together?\n"
       "  qnn-debug htp validate --model m.mnn --soc 57                         which operators does Qualcomm's own "
       "library accept?\n"
       "  qnn-debug emulate --model m.mnn --inputs inputs.json --dump dump      run a model on it, and write the dump\n"
       "  source <(qnn-debug completion bash)                                   complete commands and options\n"},
      {"diagnose",
       "  qnn-debug diagnose --model m.mnn --inputs inputs.json --dump dump\n"
       "  qnn-debug diagnose --model m.mnn --inputs inputs.json --dump dump --log run.log\n"
       "  qnn-debug diagnose --model m.mnn --log run.log                      nothing ran: what the log says\n"
       "  qnn-debug diagnose --model m.mnn --inputs image=x.npy --dump dump --soc 57 -v\n"
       "  qnn-debug diagnose --model m.mnn --dump dump --format json --output diagnosis.json\n"},
      {"inspect",
       "  qnn-debug inspect m.mnn\n"
       "  qnn-debug inspect m.mnn --inputs inputs.json --format json\n"},
      {"baseline", "  qnn-debug baseline --model m.mnn --inputs inputs.json --output ref\n"},
      {"quantize",
       "  qnn-debug quantize --model m.mnn --inputs inputs.json --output q.mnn\n"
       "  qnn-debug quantize --model m.mnn --inputs inputs.json --output q.mnn --bits 16\n"},
      {"calibrate",
       "  qnn-debug calibrate --model m.mnn --arch v75 dump1 dump2\n"
       "  qnn-debug calibrate --runs runs.tsv --arch v75 --library 2.51 --output bounds.json\n"},
      {"replay",
       "  qnn-debug replay --model m.mnn --dump dump --op upsample\n"
       "  qnn-debug replay --model m.mnn --dump dump --op '#25' --format json\n"
       "  qnn-debug replay --model m.mnn --dump dump --op t25 --extract case\n"},
      {"report",
       "  qnn-debug diagnose --model m.mnn --dump dump --format json --output diagnosis.json\n"
       "  qnn-debug report diagnosis.json -v                                the text view, without running anything\n"
       "  qnn-debug report diagnosis.json --format markdown                 to paste into an issue\n"
       "  qnn-debug report diagnosis.json --format sarif -o qnn.sarif       for code scanning\n"
       "  qnn-debug report --compare before.json after.json                 exit status 1 if something got worse\n"},
      {"explain",
       "  qnn-debug explain 1002                                what an error number means, by stage\n"
       "  qnn-debug explain 0xc26 --stage validate\n"
       "  qnn-debug explain QNN_GRAPH_ERROR_INVALID_TENSOR\n"
       "  qnn-debug explain QD0203                              a finding of diagnose\n"
       "  qnn-debug explain run.log --model m.mnn               what a log means, with the model's operators\n"
       "  adb logcat | qnn-debug explain -                      until Ctrl-C\n"
       "  qnn-debug explain 'Failed to load skel, error: 4000'  one line\n"
       "  qnn-debug explain m.mnn                               are its quantization scales valid?\n"},
      {"case",
       "  qnn-debug case match --code 1002 --pattern op-creation-failure --operator LayerNorm   seen before?\n"
       "  qnn-debug case show C04                                                               all of one case\n"
       "  qnn-debug case search mismatching datatypes                                           find words\n"
       "  qnn-debug case add --title '...' --class validation_refused --code 3110 --fix '...'   remember one\n"
       "  qnn-debug case export -o cases.json                                                   hand them on\n"},
      {"case add",
       "  qnn-debug case add --title 'Pad refused on v73' --class validation_refused --code 3110 --operator Pad \\\n"
       "      --arch v73 --cause 'negative padding' --evidence established --fix 'slice instead'\n"
       "  qnn-debug case add --annotates C04 --title 'also in our OCR model' --class finalize_op_not_created\n"
       "  qnn-debug case add case.json\n"},
      {"case list",
       "  qnn-debug case list\n"
       "  qnn-debug case list --own --format json\n"
       "  qnn-debug case list --class context_refused --class skel_load_failed\n"},
      {"case show", "  qnn-debug case show C04\n"},
      {"case search",
       "  qnn-debug case search mismatching datatypes\n"
       "  qnn-debug case search 0x3ea layernorm\n"},
      {"case match",
       "  qnn-debug case match --code 1002 --pattern op-creation-failure --operator LayerNorm\n"
       "  qnn-debug case match --class skel_load_failed --code 4000 --arch v75 --format json\n"},
      {"case export",
       "  qnn-debug case export -o cases.json\n"
       "  qnn-debug case export --all\n"},
      {"case import",
       "  qnn-debug case import cases.json\n"
       "  qnn-debug case export --store a.sqlite | qnn-debug case import - --store b.sqlite\n"},
      {"doctor",
       "  qnn-debug doctor\n"
       "  qnn-debug doctor --soc \"8 Gen 3\" --library app/lib/arm64-v8a --model m.mnn\n"
       "  qnn-debug doctor --adb --phone-library /data/local/tmp/qnn --format json\n"},
      {"htp",
       "  qnn-debug htp install                       get Qualcomm's library from PyPI, after its licence was "
       "accepted\n"
       "  qnn-debug htp info --soc \"8 Gen 3\"         which library is used, and what it knows\n"
       "  qnn-debug htp validate --model m.mnn        which operators it accepts\n"
       "  qnn-debug htp context --info m.bin          what is in a context binary\n"},
      {"htp info",
       "  qnn-debug htp info\n"
       "  qnn-debug htp info --sdk /opt/qcom/aistack/qairt/2.31.0 --format json\n"},
      {"htp install",
       "  qnn-debug htp install\n"
       "  qnn-debug htp install --yes --from onnxruntime_qnn-2.7.0-cp311-cp311-manylinux_2_35_x86_64.whl\n"},
      {"htp validate",
       "  qnn-debug htp validate --model m.mnn --soc \"8 Gen 3\"\n"
       "  qnn-debug htp validate --model m.mnn --soc 57 --as model       would sound nodes be accepted?\n"
       "  qnn-debug htp validate --model m.mnn --soc 57 --only t25 -v    one operator, every line of the library\n"
       "  qnn-debug htp validate --model m.mnn --soc 57 --format json --output validation.json\n"},
      {"htp context",
       "  qnn-debug htp context --model m.mnn --soc 57 --output m.bin\n"
       "  qnn-debug htp context --info m.bin\n"
       "  qnn-debug htp context --info m.bin --soc \"8 Gen 2\" --runtime 2.37    does it run there?\n"
       "  qnn-debug htp context --info m.bin --model m.mnn                     is it of this model?\n"},
      {"emulate",
       "  qnn-debug emulate --model m.mnn --inputs inputs.json --dump dump --soc 57\n"
       "  qnn-debug emulate --model m.mnn --inputs inputs.json --dump right --soc 57 --as model    without MNN's "
       "mistakes\n"
       "  qnn-debug emulate --model m.mnn --inputs inputs.json --dump dump --soc 57 --profile      which nodes cost "
       "most\n"},
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

/// "case add"; empty for the program.
std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string parent = path_of(*app.get_parent());
  return parent.empty() ? app.get_name() : fmt::format("{} {}", parent, app.get_name());
}

/// "qnn-debug case add"
std::string command_line_of(const CLI::App& app) {
  const std::string path = path_of(app);
  return path.empty() ? "qnn-debug" : fmt::format("qnn-debug {}", path);
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const bool is_program = app->get_parent() == nullptr;
    std::string page = is_program ? fmt::format("qnn-debug {}: {}\n", QNNDBG_VERSION, app->get_description())
                                  : fmt::format("{}\n", app->get_description());
    if (const auto found = examples().find(is_program ? "qnn-debug" : path_of(*app)); found != examples().end())
      page += fmt::format("\nExamples:\n{}", found->second);
    page += fmt::format("\n{}", make_usage(app, std::move(name)));
    page += make_positionals(app);
    page += make_groups(app, mode);
    page += make_subcommands(app, mode);
    if (!page.ends_with('\n')) page += '\n';
    if (is_program) page += fmt::format("\n{}", kExitStatuses);
    return page;
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    // CLI11 puts the parents' names in front only where they are part of `name`; a command is always called through the
    // program.
    return CLI::Formatter::make_usage(app, name.empty() ? app->get_name() : command_line_of(*app));
  }
};

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The innermost command that was named.
const CLI::App& selected_command(const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? program : selected_command(*chosen.front());
}

void collect_long_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
}

std::string explain_option(const std::string& typed, const CLI::App& program) {
  const std::string name = typed.substr(0, typed.find('='));
  const CLI::App& command = selected_command(program);
  std::vector<std::string> known;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) collect_long_options(*app, known);
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
  const CLI::App& command = selected_command(program);
  if (const std::vector<std::string> names = command_names(command); !names.empty()) {
    if (extras.empty()) return "no command given";
    return fmt::format("unknown command `{}`{}", extras.front(), did_you_mean(extras.front(), names));
  }
  if (!extras.empty()) return fmt::format("unexpected argument `{}`", extras.front());
  return error.what();
}

std::string help_command(const CLI::App& program) {
  return fmt::format("{} --help", command_line_of(selected_command(program)));
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
