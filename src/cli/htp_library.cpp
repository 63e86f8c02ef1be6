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

struct Choice {
  qnn::LibraryPlace place;
  qnn::Target target;
  bool default_target = false;
};

qnn::CallResult<qnn::LibraryPlace> find(const HtpArguments& arguments) {
  Result<qnn::LibraryPlace> place = qnn::find_library({.library = arguments.library,
                                                       .sdk = arguments.sdk,
                                                       .sdk_variable = variable("QNN_SDK_ROOT"),
                                                       .cache = htp_cache()});
  if (!place) return qnn::fail(qnn::Failure::library, "{}", place.error().message);
  return std::move(*place);
}

qnn::CallResult<Choice> choose(const HtpArguments& arguments, const qnn::WorkerOptions& options) {
  const Result<qnn::Target> target = qnn::target_from(arguments.soc, arguments.arch);
  if (!target) return qnn::fail(qnn::Failure::bad_request, "{}", target.error().message);
  const qnn::CallResult<qnn::LibraryPlace> place = find(arguments);
  if (!place) return qnn::fail(place.error());
  const bool is_default = *target == qnn::Target{};
  const qnn::CallResult<qnn::Target> chosen =
      is_default ? qnn::newest_target(place->htp, options) : qnn::CallResult<qnn::Target>(*target);
  if (!chosen) return qnn::fail(chosen.error());
  return Choice{*place, *chosen, is_default};
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
  const qnn::WorkerOptions options{.keep_going = [](const qnn::CallProgress&) { return !interrupted(); }};
  const qnn::CallResult<Choice> choice = choose(arguments, options);
  if (!choice) return qnn::fail(choice.error());
  qnn::CallResult<qnn::Worker> worker = qnn::Worker::start(options);
  if (!worker) return qnn::fail(std::move(worker.error()));
  qnn::CallResult<qnn::SessionInfo> info = worker->open({.library = choice->place.htp, .target = choice->target});
  if (!info) return qnn::fail(std::move(info.error()));
  return OpenedHtp{.place = choice->place,
                   .info = std::move(*info),
                   .default_target = choice->default_target,
                   .worker = std::move(*worker)};
}

qnn::CallResult<OpenedEngine> open_htp_engine(const HtpArguments& arguments,
                                              std::function<bool(const qnn::CallProgress&)> progress) {
  const qnn::WorkerOptions options{.keep_going = [progress = std::move(progress)](const qnn::CallProgress& state) {
    return !interrupted() && (!progress || progress(state));
  }};
  const qnn::CallResult<Choice> choice = choose(arguments, options);
  if (!choice) return qnn::fail(choice.error());
  qnn::CallResult<qnn::Engine> engine =
      qnn::Engine::open(options, {.library = choice->place.htp, .target = choice->target});
  if (!engine) return qnn::fail(std::move(engine.error()));
  return OpenedEngine{choice->default_target, std::move(*engine)};
}

qnn::CallResult<qnn::BinaryInfo> read_context(const HtpArguments& arguments, qnn::ByteView binary) {
  const qnn::CallResult<qnn::LibraryPlace> place = find(arguments);
  if (!place) return qnn::fail(place.error());
  qnn::CallResult<qnn::Worker> worker =
      qnn::Worker::start({.keep_going = [](const qnn::CallProgress&) { return !interrupted(); }});
  if (!worker) return qnn::fail(std::move(worker.error()));
  return worker->read_binary(place->system, binary);
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
