#include "qnn/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include "qnn/channel.h"
#include "qnn/messages.h"
#include "qnn/worker_process.h"

namespace qnndbg::qnn {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{100};
constexpr std::size_t kMostOutput = std::size_t{64} << 10U;
/// Above the descriptors that the worker finds open, so that moving one there overwrites none of the others.
constexpr int kFirstFreeDescriptor = 10;

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

Descriptor moved_up(int descriptor) {
  const Descriptor old(descriptor);
  return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
}

/// Both ends of something, out of the way.
struct Ends {
  Descriptor ours = Descriptor();
  Descriptor theirs = Descriptor();
  bool good() const { return ours && theirs; }
};

Ends socket_pair() {
  std::array<int, 2> ends = {-1, -1};
  // Packets: a header is never cut in two.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  return {.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
}

Ends output_pipe() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  // Only our end: the library must find an ordinary, blocking standard output.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
}

/// A process group of its own, so that Ctrl-C reaches the tool first and what the library starts ends with it.
Result<pid_t> spawn(const std::string& program, int socket, int marker, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  posix_spawn_file_actions_adddup2(&actions, marker, kWorkerMarker);
  sigset_t all_signals;
  sigfillset(&all_signals);
  posix_spawnattr_setsigdefault(&attributes, &all_signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::array<char*, 3> argv = {const_cast<char*>(program.c_str()), const_cast<char*>(kWorkerArgument), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail("{}: cannot be started: {}", program, reason(error));
  return child;
}

/// "SIGSEGV"
std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

}  // namespace

class Worker::Process {
 public:
  Process(WorkerOptions options, pid_t child, Descriptor socket, Descriptor output, SharedMemory marker)
      : options_(std::move(options)),
        child_(child),
        socket_(std::move(socket)),
        output_(std::move(output)),
        marker_memory_(std::move(marker)),
        marker_(reinterpret_cast<Marker*>(marker_memory_.data())) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  static CallResult<std::unique_ptr<Process>> start(WorkerOptions options);

  int child() const { return child_; }
  const WorkerLimits& limits() const { return options_.limits; }

  /// Sends a request and waits for what comes back.
  template <class Value, class Request>
  CallResult<Value> call(RequestKind kind, const Request& request, milliseconds limit) {
    const CallResult<Message> message = exchange(kind, request, limit);
    if (!message) return fail(message.error());
    Result<Reply<Value>> reply = value_of<Reply<Value>>(*message);
    if (!reply) return fail(give_up(Failure::protocol, reply.error().message));
    if (!reply->good) {
      reply->error.output = take_output();
      return fail(std::move(reply->error));
    }
    if constexpr (std::is_same_v<Value, ExecuteReport>) reply->value.memory = message->body;
    return std::move(reply->value);
  }

 private:
  template <class Request>
  CallResult<Message> exchange(RequestKind kind, const Request& request, milliseconds limit) {
    if (child_ < 0) return fail(Failure::protocol, "the process with the library has ended; start another");
    output_text_.clear();
    const auto number = static_cast<std::uint32_t>(kind);
    if (const Result<void> sent = send_value(socket_.get(), number, request); !sent) {
      // The process may have died between two calls.
      if (std::optional<CallError> death = died()) return fail(std::move(*death));
      return fail(give_up(Failure::protocol, sent.error().message));
    }
    return wait(number, limit);
  }

  CallResult<Message> wait(std::uint32_t kind, milliseconds limit);
  void read_output();
  std::string take_output() {
    read_output();
    return std::exchange(output_text_, {});
  }
  CallError describe(Failure failure, std::string message);
  CallError give_up(Failure failure, std::string message);
  CallError crash(int status);
  std::optional<CallError> died();
  void end();
  int collect();

  WorkerOptions options_;
  pid_t child_;
  Descriptor socket_;
  Descriptor output_;
  SharedMemory marker_memory_;
  Marker* marker_;
  std::string output_text_;
};

CallResult<std::unique_ptr<Worker::Process>> Worker::Process::start(WorkerOptions options) {
  Ends sockets = socket_pair();
  Ends pipe = output_pipe();
  if (!sockets.good() || !pipe.good()) return fail(Failure::protocol, "no channel to a worker: {}", reason(errno));
  Result<SharedMemory> marker = SharedMemory::create(sizeof(Marker));
  if (!marker) return fail(Failure::protocol, "{}", marker.error().message);
  const Descriptor marker_descriptor(::fcntl(marker->descriptor(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  const std::string program = options.program.empty() ? "/proc/self/exe" : options.program;
  const Result<pid_t> child = spawn(program, sockets.theirs.get(), marker_descriptor.get(), pipe.theirs.get());
  if (!child) return fail(Failure::protocol, "{}", child.error().message);
  return std::make_unique<Process>(std::move(options), *child, std::move(sockets.ours), std::move(pipe.ours),
                                   std::move(*marker));
}

CallResult<Message> Worker::Process::wait(std::uint32_t kind, milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  while (true) {
    std::array<pollfd, 2> events = {pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = output_.get(), .events = POLLIN, .revents = 0}};
    // Once the worker has closed its output that end would make poll() return at once.
    ::poll(events.data(), output_ ? 2 : 1, static_cast<int>(kTick.count()));
    if (output_) read_output();
    if (events[0].revents != 0) {
      Result<std::optional<Message>> message = receive_message(socket_.get());
      if (!message) return fail(give_up(Failure::protocol, message.error().message));
      if (!*message) return fail(crash(collect()));
      if ((*message)->kind != kind) return fail(give_up(Failure::protocol, "an answer to another request came"));
      return std::move(**message);
    }
    const CallProgress progress{.done = marker_->done, .total = marker_->total};
    if (options_.keep_going && !options_.keep_going(progress)) return fail(give_up(Failure::stopped, "stopped"));
    if (Clock::now() >= deadline) {
      const double seconds = static_cast<double>(limit.count()) / 1000.0;
      return fail(give_up(Failure::timed_out, fmt::format("the library did not answer within {} s", seconds)));
    }
  }
}

void Worker::Process::read_output() {
  std::array<char, 4096> buffer{};
  while (output_) {
    const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
    if (got == 0) output_ = Descriptor();
    if (got <= 0) return;
    output_text_.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMostOutput - output_text_.size()));
  }
}

/// An error with what the process was doing. Call it when the process is gone.
CallError Worker::Process::describe(Failure failure, std::string message) {
  CallError error{.failure = failure, .message = std::move(message)};
  error.function = get_text(marker_->function);
  error.node = get_text(marker_->about);
  if (!error.function.empty()) {
    error.message += " in " + error.function;
    if (!error.node.empty()) error.message += fmt::format(" of `{}`", error.node);
  }
  error.output = take_output();
  return error;
}

CallError Worker::Process::give_up(Failure failure, std::string message) {
  end();
  return describe(failure, std::move(message));
}

CallError Worker::Process::crash(int status) {
  const bool by_signal = WIFSIGNALED(status);
  CallError error = describe(
      Failure::crashed, by_signal ? fmt::format("the library crashed ({})", signal_name(WTERMSIG(status)))
                                  : fmt::format("the library ended its process (exit status {})", WEXITSTATUS(status)));
  if (by_signal)
    error.signal = WTERMSIG(status);
  else
    error.exit_status = WEXITSTATUS(status);
  return error;
}

std::optional<CallError> Worker::Process::died() {
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) != child_) return std::nullopt;
  child_ = -1;
  return crash(status);
}

/// Kills what is left and waits for the end.
void Worker::Process::end() {
  if (child_ < 0) return;
  ::kill(-child_, SIGKILL);
  collect();
}

/// The wait status of a process that has closed its socket. Normally that is its end; one that lives on is killed.
int Worker::Process::collect() {
  constexpr milliseconds kPatience{2000};
  constexpr milliseconds kPause{5};
  int status = 0;
  const Clock::time_point deadline = Clock::now() + kPatience;
  pid_t got = 0;
  while ((got = ::waitpid(child_, &status, WNOHANG)) == 0 && Clock::now() < deadline)
    std::this_thread::sleep_for(kPause);
  if (got == 0) {
    ::kill(-child_, SIGKILL);
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
  }
  child_ = -1;
  return status;
}

Worker::Worker(std::unique_ptr<Process> process) : process_(std::move(process)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

CallResult<Worker> Worker::start(WorkerOptions options) {
  CallResult<std::unique_ptr<Process>> process = Process::start(std::move(options));
  if (!process) return fail(std::move(process.error()));
  return Worker(std::move(*process));
}

bool Worker::alive() const { return process_->child() >= 0; }
int Worker::process() const { return process_->child(); }

CallResult<SessionInfo> Worker::open(const SessionOptions& options) {
  return process_->call<SessionInfo>(RequestKind::open, options, process_->limits().call);
}

CallResult<std::vector<OperationId>> Worker::operations() {
  return process_->call<std::vector<OperationId>>(RequestKind::operations, NoArguments{}, process_->limits().call);
}

CallResult<std::vector<KnownSoc>> Worker::known_socs() {
  return process_->call<std::vector<KnownSoc>>(RequestKind::known_socs, NoArguments{}, process_->limits().call);
}

CallResult<Verdict> Worker::validate(const NodeSpec& node, std::span<const TensorSpec> tensors) {
  const ValidateRequest request{.node = node, .tensors = {tensors.begin(), tensors.end()}};
  return process_->call<Verdict>(RequestKind::validate, request, process_->limits().call);
}

CallResult<FinalizeReport> Worker::finalize(const GraphSpec& graph, const FinalizeOptions& options) {
  const FinalizeRequest request{.graph = graph, .options = options};
  return process_->call<FinalizeReport>(RequestKind::finalize, request, process_->limits().finalize);
}

CallResult<ExecuteReport> Worker::execute(std::span<const NamedData> inputs, Profiling profiling) {
  const ExecuteRequest request{.inputs = {inputs.begin(), inputs.end()}, .profiling = profiling};
  return process_->call<ExecuteReport>(RequestKind::execute, request, process_->limits().execute);
}

CallResult<Bytes> Worker::context_binary() {
  return process_->call<Bytes>(RequestKind::context_binary, NoArguments{}, process_->limits().finalize);
}

CallResult<BinaryInfo> Worker::read_binary(const std::string& system_library, ByteView binary) {
  const ReadBinaryRequest request{.library = system_library, .binary = binary};
  return process_->call<BinaryInfo>(RequestKind::read_binary, request, process_->limits().call);
}

namespace {

GraphSpec one_relu() {
  GraphSpec graph{.name = "try"};
  graph.tensors = {{.name = "x", .kind = TensorKind::app_write, .type = DType::f16, .dims = {1, 8}},
                   {.name = "y", .kind = TensorKind::app_read, .type = DType::f16, .dims = {1, 8}}};
  graph.nodes = {{.name = "relu", .type = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
  return graph;
}

/// Of each architecture the newest SoC that the library takes and has a name for, the newest first.
CallResult<std::vector<Target>> newest_targets(const std::string& library, const WorkerOptions& options) {
  CallResult<Worker> worker = Worker::start(options);
  if (!worker) return fail(std::move(worker.error()));
  CallResult<SessionInfo> info = worker->open({.library = library});
  if (!info) return fail(std::move(info.error()));
  CallResult<std::vector<KnownSoc>> socs = worker->known_socs();
  if (!socs) return fail(std::move(socs.error()));
  std::map<int, int, std::greater<>> newest;  // SoC by architecture
  for (const KnownSoc& soc : *socs)
    if (!soc.name.empty()) newest[soc.arch] = std::max(newest[soc.arch], soc.soc);
  std::vector<Target> targets;
  for (const auto& [arch, soc] : newest) targets.push_back({.soc = soc, .arch = arch});
  return targets;
}

CallResult<void> try_target(const std::string& library, const Target& target, const WorkerOptions& options) {
  CallResult<Worker> worker = Worker::start(options);
  if (!worker) return fail(std::move(worker.error()));
  CallResult<SessionInfo> info = worker->open({.library = library, .target = target});
  if (!info) return fail(std::move(info.error()));
  CallResult<FinalizeReport> report = worker->finalize(one_relu(), {});
  if (!report) return fail(std::move(report.error()));
  return {};
}

}  // namespace

CallResult<Target> newest_target(const std::string& library, const WorkerOptions& options) {
  CallResult<std::vector<Target>> targets = newest_targets(library, options);
  if (!targets) return fail(std::move(targets.error()));
  CallError last{.failure = Failure::library, .message = "it takes none"};
  for (const Target& target : *targets) {
    CallResult<void> tried = try_target(library, target, options);
    if (tried) return target;
    last = std::move(tried.error());
    // Anything but a refusal has nothing to do with the SoC.
    if (last.failure != Failure::refused) return fail(std::move(last));
  }
  last.message = fmt::format("{}: the library computes for no SoC: {}", library, last.message);
  return fail(std::move(last));
}

}  // namespace qnndbg::qnn
