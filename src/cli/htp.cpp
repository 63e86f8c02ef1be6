// `htp`: Qualcomm's own library on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/htp_library.h"
#include "cli/htp_verbs.h"
#include "cli/htp_view.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "qnn/package.h"

namespace qnndbg::cli {
namespace {

// --- info ------------------------------------------------------------------------------------------------------------

struct InfoArguments {
  HtpArguments htp;
  std::string format = "text";
  std::string output;
};

qnn::CallResult<HtpView> look(const HtpArguments& arguments) {
  qnn::CallResult<OpenedHtp> htp = open_htp(arguments);
  if (!htp) return qnn::fail(std::move(htp.error()));
  qnn::CallResult<std::vector<qnn::OperationId>> operations = htp->worker.operations();
  if (!operations) return qnn::fail(std::move(operations.error()));
  qnn::CallResult<std::vector<qnn::KnownSoc>> socs = htp->worker.known_socs();
  if (!socs) return qnn::fail(std::move(socs.error()));
  return HtpView{.place = std::move(htp->place),
                 .info = std::move(htp->info),
                 .default_target = htp->default_target,
                 .operations = std::move(*operations),
                 .socs = std::move(*socs)};
}

int run_info(const InfoArguments& arguments, const Session& session) {
  const Console console(session.color);
  const qnn::CallResult<HtpView> view = look(arguments.htp);
  if (interrupted()) {
    console.error("interrupted");
    return kExitInterrupted;
  }
  if (!view) {
    show_call_error(console, view.error());
    return kExitFailed;
  }
  const bool json = arguments.format == "json";
  return deliver(arguments.output, json ? htp_info_json(*view) : htp_info_text(*view, output_style(session.color)),
                 console);
}

void add_htp_info(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("info", "Show which library is used, and what it knows");
  auto arguments = std::make_shared<InfoArguments>();
  add_htp_library(*command, arguments->htp);
  add_htp_target(*command, arguments->htp);
  add_choice(*command, "-f,--format", arguments->format, {"text", "json"}, "What to print: for people, or a document");
  command->add_option("-o,--output", arguments->output, "File to write instead of standard output")
      ->type_name(kFileType);
  command->callback([arguments, &session] { session.exit_status = run_info(*arguments, session); });
}

// --- install ---------------------------------------------------------------------------------------------------------

struct InstallArguments {
  std::string from;
  bool yes = false;
};

/// Whether the user accepts the licence. Without a terminal nobody can be asked.
Result<bool> accepted(const InstallArguments& arguments, const qnn::Package& package, const Console& console) {
  if (arguments.yes) return true;
  if (::isatty(STDIN_FILENO) == 0)
    return fail("nobody can be asked here: --yes accepts the licence, {}", package.licence);
  const std::string source =
      arguments.from.empty() ? fmt::format("PyPI ({} MB)", (package.bytes + 500'000) / 1'000'000) : arguments.from;
  console.note("{} {} carries the libraries of {}. Licence: {}", package.name, package.version, package.sdk,
               package.licence);
  console.help(fmt::format("From {}. Accept the licence and install? [y/N] ", source));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<std::string> install(const InstallArguments& arguments, const Console& console) {
#if !defined(__x86_64__)
  return fail("the package's libraries are for x86-64 Linux; --library names libraries for this machine");
#endif
  const qnn::Package& package = qnn::pinned_package();
  const std::filesystem::path cache = htp_cache();
  if (cache.empty()) return fail("no place for the libraries: neither XDG_CACHE_HOME nor HOME is set");
  const qnn::Installation present = qnn::installation_of(package, cache);
  if (present.was_there) return fmt::format("{} is there already\n", present.directory.string());
  const Result<bool> yes = accepted(arguments, package, console);
  if (!yes) return fail(yes.error());
  if (!*yes) return fail("not installed");
  if (arguments.from.empty())
    console.note("downloading {} {}, {} MB", package.name, package.version, (package.bytes + 500'000) / 1'000'000);
  const char* path = std::getenv("PATH");
  const Result<qnn::Installation> installation =
      qnn::install(package, {.cache = cache,
                             .from = arguments.from,
                             .search_path = path == nullptr ? "/usr/bin:/bin" : path,
                             .stop = interrupted});
  if (!installation) return fail(installation.error());
  return fmt::format("installed in {}\n", installation->directory.string());
}

int run_install(const InstallArguments& arguments, const Session& session) {
  const Console console(session.color);
  const Result<std::string> text = install(arguments, console);
  if (interrupted()) {
    console.error("interrupted; nothing was installed");
    return kExitInterrupted;
  }
  if (!text) {
    console.error("{}", text.error().message);
    return kExitFailed;
  }
  return deliver("", *text, console);
}

void add_htp_install(CLI::App& parent, Session& session) {
  CLI::App* command = parent.add_subcommand("install", "Put Qualcomm's library for this machine into your cache");
  auto arguments = std::make_shared<InstallArguments>();
  command
      ->add_option("--from", arguments->from,
                   "The package's wheel, or a directory with what is in it; default: download it from PyPI")
      ->type_name(kFileType);
  command->add_flag("-y,--yes", arguments->yes, "Accept the licence without being asked");
  command->callback([arguments, &session] { session.exit_status = run_install(*arguments, session); });
}

}  // namespace

void add_htp(CLI::App& program, Session& session) {
  CLI::App* command =
      program.add_subcommand("htp", "Qualcomm's own library on this machine: get it, ask it, compile with it");
  command->require_subcommand(1);
  add_htp_info(*command, session);
  add_htp_install(*command, session);
  add_htp_validate(*command, session);
  add_htp_context(*command, session);
}

}  // namespace qnndbg::cli
