// Qualcomm's library in a process of its own. A crash, a call that never returns or a killed process becomes a
// CallError that names what was being handled; the tool goes on.
//
//   CallResult<Worker> worker = Worker::start({});
//   CallResult<SessionInfo> info = worker->open({.library = path, .target = {57, 75}});
//   CallResult<Verdict> verdict = worker->validate(node, tensors);
//   if (!verdict && verdict.error().failure == Failure::crashed) ...   // and start another worker
//
// The process is this program itself, started again with kWorkerArgument; its main() must then call serve_worker().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qnn/call_error.h"
#include "qnn/session.h"
#include "qnn/system_library.h"

namespace qnndbg::qnn {

/// The only argument of a program that is to be a worker.
inline constexpr const char* kWorkerArgument = "--qnn-worker";

/// Answers requests until the other end is closed. False: this process was not started by Worker::start.
bool serve_worker();

/// Time limits of calls. Finalizing is what takes long.
struct WorkerLimits {
  std::chrono::milliseconds call{60'000};
  std::chrono::milliseconds finalize{600'000};
  std::chrono::milliseconds execute{600'000};
};

/// How far the running call is; `total` 0: it has no parts.
struct CallProgress {
  std::size_t done = 0;
  std::size_t total = 0;
};

struct WorkerOptions {
  std::string program = {};  // empty: this program (/proc/self/exe)
  WorkerLimits limits = {};
  /// Asked some ten times a second while a call runs; false stops it and ends the worker.
  std::function<bool(const CallProgress& progress)> keep_going = {};
};

/// Not for several threads at once. After an error of kind crashed, timed_out, stopped or protocol the process is gone
/// and every further call fails: start another worker.
class Worker {
 public:
  static CallResult<Worker> start(WorkerOptions options);
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();  // ends the process

  bool alive() const;
  /// Process id, for tests; -1 when it is gone.
  int process() const;

  // The same as Session's.
  CallResult<SessionInfo> open(const SessionOptions& options);
  CallResult<std::vector<OperationId>> operations();
  CallResult<std::vector<KnownSoc>> known_socs();
  CallResult<Verdict> validate(const NodeSpec& node, std::span<const TensorSpec> tensors);
  CallResult<FinalizeReport> finalize(const GraphSpec& graph, const FinalizeOptions& options);
  CallResult<ExecuteReport> execute(std::span<const NamedData> inputs, Profiling profiling);
  CallResult<Bytes> context_binary();

  /// read_context_binary(); needs no open session.
  CallResult<BinaryInfo> read_binary(const std::string& system_library, ByteView binary);

 private:
  class Process;
  explicit Worker(std::unique_ptr<Process> process);

  std::unique_ptr<Process> process_;
};

/// The newest SoC that a library computes for: of the newest of each architecture the first for which it finalizes a
/// graph of one Relu, each tried in a worker of its own. That it takes a SoC is not enough: SDK 2.51 takes one of v89,
/// whose operators it does not have. Errors: the library cannot be used, or fails for all of them.
CallResult<Target> newest_target(const std::string& library, const WorkerOptions& options);

}  // namespace qnndbg::qnn
