#include "cli/htp_library.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "lint/run_program.h"

namespace qnndbg::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

void add_htp_library(CLI::App& command, HtpArguments& arguments) {
  CLI::Option* library =
      command.add_option("--library", arguments.library, "libQnnHtp.so, or its directory; default: see `htp install`")
          ->type_name(kFileType);
  command.add_option("--sdk", arguments.sdk, "An installed QAIRT SDK; default: QNN_SDK_ROOT")
      ->type_name(kDirectoryType)
      ->excludes(library);
}

void add_htp_target(CLI::App& command, HtpArguments& arguments) {
  CLI::Option* soc =
      command
          .add_option(
              "--soc", arguments.soc,
              "SoC to compute for: QNN number, model or trade name (57, SM8650, \"8 Gen 3\"); default: the newest")
          ->type_name("SOC");
  command.add_option("--arch", arguments.arch, "HTP architecture to compute for (v75): its usual SoC")
      ->type_name("vNN")
      ->excludes(soc);
}

std::filesystem::path htp_cache() { return qnn::cache_root(variable("XDG_CACHE_HOME"), variable("HOME")); }

qnn::CallResult<OpenedHtp> open_htp(const HtpArguments& arguments) {
  const Result<qnn::Target> target = qnn::target_from(arguments.soc, arguments.arch);
  if (!target) return qnn::fail(qnn::Failure::bad_request, "{}", target.error().message);
  const Result<qnn::LibraryPlace> place = qnn::find_library({.library = arguments.library,
                                                             .sdk = arguments.sdk,
                                                             .sdk_variable = variable("QNN_SDK_ROOT"),
                                                             .cache = htp_cache()});
  if (!place) return qnn::fail(qnn::Failure::library, "{}", place.error().message);
  const qnn::WorkerOptions options{.keep_going = [](const qnn::CallProgress&) { return !interrupted(); }};
  const bool is_default = *target == qnn::Target{};
  const qnn::CallResult<qnn::Target> chosen =
      is_default ? qnn::newest_target(place->htp, options) : qnn::CallResult<qnn::Target>(*target);
  if (!chosen) return qnn::fail(chosen.error());
  qnn::CallResult<qnn::Worker> worker = qnn::Worker::start(options);
  if (!worker) return qnn::fail(std::move(worker.error()));
  qnn::CallResult<qnn::SessionInfo> info = worker->open({.library = place->htp, .target = *chosen});
  if (!info) return qnn::fail(std::move(info.error()));
  return OpenedHtp{
      .place = *place, .info = std::move(*info), .default_target = is_default, .worker = std::move(*worker)};
}

void show_call_error(const Console& console, const qnn::CallError& error) {
  constexpr std::size_t kMostLines = 12;
  console.error("{}", error.message);
  for (std::size_t i = 0; i < std::min(error.log.size(), kMostLines); ++i)
    console.note("log: {}", qnn::message_of(error.log[i]));
  std::size_t shown = 0;
  for (const std::string& line : lint::split_list(error.output, '\n'))
    if (!line.empty() && shown++ < kMostLines) console.note("output: {}", line);
}

}  // namespace qnndbg::cli
