// qnn-debug: the option tree, and the way from exceptions and signals to exit statuses.
#include <exception>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "qnn/worker.h"

namespace qnndbg::cli {
namespace {

constexpr const char* kDescription = "find the operators of an MNN model that are really broken on Qualcomm's HTP";

/// The command line for repeating it.
std::string quoted(int argc, const char* const* argv) {
  std::string line = "qnn-debug";
  for (int i = 1; i < argc; ++i) line += ' ' + shell_word(argv[i]);
  return line;
}

/// --color has to be known before anything is printed, the refusal of the rest of the command line included.
ColorChoice color_of(const std::string& text) {
  if (text == "always") return ColorChoice::always;
  if (text == "never") return ColorChoice::never;
  return ColorChoice::automatic;
}

int run(int argc, char** argv) {
  install_signal_handlers();
  Session session;
  session.command_line = quoted(argc, argv);
  std::string color = "auto";

  CLI::App program(kDescription, "qnn-debug");
  program.formatter(help_formatter());
  program.set_help_flag("-h,--help", "Show this help");
  program.set_version_flag("--version", "qnn-debug " QNNDBG_VERSION, "Show the version");
  add_choice(program, "--color", color, {"auto", "always", "never"}, "When to colour text; auto: on a terminal")
      ->each([&session](const std::string& text) { session.color = color_of(text); });
  program.require_subcommand(1);
  program.fallthrough();
  add_diagnose(program, session);
  add_inspect(program, session);
  add_baseline(program, session);
  add_calibrate(program, session);
  add_replay(program, session);
  add_report(program, session);
  add_explain(program, session);
  add_doctor(program, session);
  add_case(program, session);
  add_htp(program, session);
  add_emulate(program, session);
  add_quantize(program, session);
  add_completion(program, session);
  add_help(program, session);

  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return deliver("", program.help("qnn-debug"), Console(session.color));
  } catch (const CLI::CallForVersion& version) {
    return deliver("", std::string(version.what()) + '\n', Console(session.color));
  } catch (const CLI::ParseError& error) {
    const Console console(session.color);
    console.error("{}", explain(error, program));
    console.help("see: " + help_command(program) + '\n');
    return kExitFailed;
  }
  return session.exit_status;
}

}  // namespace
}  // namespace qnndbg::cli

int main(int argc, char** argv) {
  using qnndbg::cli::ColorChoice;
  using qnndbg::cli::Console;
  try {
    // The process that runs Qualcomm's library is this program again; it has no command line of its own.
    if (argc == 2 && std::string_view(argv[1]) == qnndbg::qnn::kWorkerArgument)
      return qnndbg::qnn::serve_worker() ? qnndbg::cli::kExitClean : qnndbg::cli::kExitFailed;
    return qnndbg::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    Console(ColorChoice::automatic).error("out of memory");
  } catch (const std::exception& error) {
    Console(ColorChoice::automatic).error("internal error: {}", error.what());
  }
  return qnndbg::cli::kExitFailed;
}
