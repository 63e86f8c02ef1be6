// QNN for one SoC in this process: ask whether nodes are accepted, build, finalize and execute a graph.
//
// The library may crash or hang in any of these calls: use Worker (worker.h), which has the same calls and runs this
// class in a process of its own. One session at a time in a process; a session holds at most one graph. A process that
// has finalized a graph for one SoC can do so for no other: the library keeps tables of the first architecture and then
// fails with "registry list changed between prepares" (SDK 2.51).
//
//   CallResult<std::unique_ptr<Session>> session = Session::open({.library = "libQnnHtp.so", .target = {57, 75}});
//   CallResult<Verdict> verdict = (*session)->validate(node, tensors);
//   CallResult<FinalizeReport> ready = (*session)->finalize(graph, {});
//   CallResult<ExecuteReport> run = (*session)->execute(inputs, {});
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qnn/library.h"
#include "qnn/lowering.h"
#include "qnn/specs.h"

namespace qnndbg::qnn {

/// What the library computes for.
struct Target {
  int soc = 0;   // QNN's number (knowledge/soc.h)
  int arch = 0;  // 75 for v75; 0: not known
  bool operator==(const Target&) const = default;
};

/// From what a user types: --soc ("57", "8 Gen 3") or --arch ("v75", for which the best-known SoC stands). Both empty:
/// Target{}. Errors: no such SoC or architecture, one without an HTP.
Result<Target> target_from(std::string_view soc, std::string_view arch);

enum class Profiling : std::uint8_t { off, basic, detailed };

struct SessionOptions {
  std::string library;  // libQnnHtp.so
  Target target = {};   // without a SoC nothing can be finalized; newest_target() of worker.h chooses one
  abi::LogLevel log_level = abi::LogLevel::error;  // level 1 has the reasons of refusals; more lines cost time
};

struct SessionInfo {
  LibraryInfo library;
  Target target;
};

/// What a SoC number means to the library.
struct KnownSoc {
  int soc = 0;
  std::string name;  // "SM8650"; empty: it tells none
  int arch = 0;      // 0: it tells none
  bool operator==(const KnownSoc&) const = default;
};

/// Whether one node is accepted.
struct Verdict {
  bool accepted = false;
  std::uint32_t code = 0;    // QNN's number; 0 when accepted
  std::vector<LogLine> log;  // the reasons
};

struct ProfileEvent {
  std::string name;        // "conv:OpId_12 (cycles)"; a node's event begins with the node's name
  std::uint32_t type = 0;  // QNN's number: 404 a node, 3000-3999 HTP's figures of an execution, ...
  std::uint32_t unit = 0;  // 1 microseconds, 2 bytes, 3 cycles, 4 a count
  std::uint64_t value = 0;
  std::vector<ProfileEvent> children;
};

struct FinalizeOptions {
  GraphConfig config = {};
  Profiling profiling = Profiling::off;
  /// Validate every node before it is added, as MNN does. A refused one is added all the same, as MNN does; what comes
  /// of it is in FinalizeReport::refused.
  bool validate_nodes = false;
  /// Go on without nodes that graphAddNode refuses. Off: the first one is an error.
  bool skip_refused = false;
};

struct NodeRefusal {
  std::string node;
  std::string function;  // "backendValidateOpConfig", "graphAddNode"
  Verdict verdict;
};

struct FinalizeReport {
  std::vector<NodeRefusal> refused;
  std::vector<LogLine> log;
  std::vector<ProfileEvent> profile;
  std::uint64_t microseconds = 0;  // of graphFinalize
};

struct ExecuteReport {
  std::vector<NamedData> outputs;  // all tensors of kind app_read, in the graph's order; views into `memory`
  std::vector<LogLine> log;
  std::vector<ProfileEvent> profile;
  std::uint64_t microseconds = 0;  // of graphExecute
  std::shared_ptr<const void> memory;
};

/// Told before each call into the library: what is about to happen, and how far it is. `about` is a node, tensor or
/// graph.
using ProgressMark =
    std::function<void(std::string_view function, std::string_view about, std::size_t done, std::size_t total)>;

class Session {
 public:
  static CallResult<std::unique_ptr<Session>> open(const SessionOptions& options, ProgressMark mark = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionInfo& info() const { return info_; }

  CallResult<std::vector<OperationId>> operations();
  /// Asks for every number below 256. The device of this session stays what it is.
  CallResult<std::vector<KnownSoc>> known_socs();

  /// A refusal is a Verdict; an error means that the library was not asked (bad_request).
  CallResult<Verdict> validate(const NodeSpec& node, std::span<const TensorSpec> tensors);

  /// Builds and finalizes a graph in a context of its own; a graph that was there before is freed.
  CallResult<FinalizeReport> finalize(const GraphSpec& graph, const FinalizeOptions& options);

  /// Runs the finalized graph. `inputs` are all tensors of kind app_write, in any order.
  CallResult<ExecuteReport> execute(std::span<const NamedData> inputs, Profiling profiling);

  /// The finalized graph as a context binary.
  CallResult<Bytes> context_binary();

 private:
  class BuiltGraph;

  Session(Library library, ProgressMark mark);
  CallResult<void> start(const SessionOptions& options);
  CallResult<void> use_target(const Target& target);
  void mark(std::string_view function, std::string_view about = {}, std::size_t done = 0, std::size_t total = 0) const;
  Verdict ask(const abi::OpConfig& config, std::string_view name);
  CallResult<void> add_tensors(const GraphSpec& graph);
  CallResult<void> add_node(const NodeSpec& node, const FinalizeOptions& options, FinalizeReport& report);
  CallResult<Owned<abi::ProfileHandle>> profile_for(Profiling profiling) const;
  std::vector<ProfileEvent> events_of(abi::ProfileHandle profile) const;

  Library library_;
  ProgressMark mark_;
  SessionInfo info_;
  // In the order of their making: the library wants them freed the other way round.
  Owned<abi::LogHandle> log_;
  Owned<abi::BackendHandle> backend_;
  Owned<abi::DeviceHandle> device_;
  std::unique_ptr<BuiltGraph> graph_;
};

}  // namespace qnndbg::qnn
