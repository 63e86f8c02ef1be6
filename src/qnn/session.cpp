#include "qnn/session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>

#include "knowledge/soc.h"

namespace qnndbg::qnn {
namespace {

constexpr int kOldestHtp = 68;       // architectures before v68 have no HTP, which is what this library computes for
constexpr int kMostSocNumber = 255;  // the largest number seen is 123
constexpr std::uint32_t kMostEvents = 1U << 20U;
constexpr int kMostEventDepth = 8;

using Clock = std::chrono::steady_clock;

std::uint64_t microseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count());
}

/// The architecture's first phone chip, for which most was measured.
const Soc* usual_soc(int arch) {
  for (const std::string_view name : {"SM8350", "SM8450", "SM8550", "SM8650", "SM8750", "SM8850"})
    if (const Soc* soc = find_soc(name); soc != nullptr && soc->arch == arch) return soc;
  for (const Soc& soc : qnndbg::known_socs())
    if (soc.arch == arch && !soc.name.empty()) return &soc;
  return nullptr;
}

/// The word behind `before` in the first line that has it: "75" of "... will overwrite it to 75". Empty: no line has.
std::string word_after(const std::vector<LogLine>& lines, std::string_view before) {
  for (const LogLine& line : lines) {
    const std::size_t at = line.text.find(before);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + before.size();
    return line.text.substr(begin, line.text.find_first_of(" \t\r\n", begin) - begin);
  }
  return {};
}

/// What this process has finalized a graph for, in whichever session.
std::optional<Target>& finalized_for() {
  static std::optional<Target> target;
  return target;
}

/// What the library's warnings tell of the SoC that was just set (seen in SDK 2.51), completed from our own table.
KnownSoc soc_of_log(int number, const std::vector<LogLine>& lines) {
  constexpr std::string_view kUnknownName = "UNKNOWN_SDM";
  KnownSoc known{.soc = number, .name = word_after(lines, "unsupported on soc "), .arch = 0};
  if (known.name == kUnknownName) known.name.clear();
  const std::string arch = word_after(lines, "will overwrite it to ");
  const Soc* soc = find_soc(std::to_string(number));
  if (known.name.empty() && soc != nullptr) known.name = soc->name;
  if (!arch.empty())
    known.arch = std::atoi(arch.c_str());
  else
    known.arch = soc != nullptr && soc->arch != 0 ? soc->arch : kOldestHtp;  // the library's default, left as it is
  return known;
}

}  // namespace

Result<Target> target_from(std::string_view soc, std::string_view arch) {
  if (!soc.empty()) {
    const Soc* found = find_soc(soc);
    if (found == nullptr) return fail("--soc: `{}` is no SoC that this version knows", soc);
    if (found->arch != 0 && found->arch < kOldestHtp)
      return fail("--soc: {} has Hexagon {}, which is no HTP: that begins with v68", found->name,
                  arch_name(found->arch));
    return Target{.soc = found->id, .arch = found->arch};
  }
  if (arch.empty()) return Target{};
  const std::optional<int> number = parse_arch(arch);
  if (!number) return fail("--arch: `{}` is not an HTP architecture such as v75", arch);
  const Soc* found = *number < kOldestHtp ? nullptr : usual_soc(*number);
  if (found == nullptr) return fail("--arch: no SoC with {} is known", arch_name(*number));
  return Target{.soc = found->id, .arch = found->arch};
}

/// The graph of a session with its context, which frees it, and the tensors that it is executed with.
class Session::BuiltGraph {
 public:
  BuiltGraph(std::string graph_name, Owned<abi::ContextHandle> owner, abi::GraphHandle handle)
      : name(std::move(graph_name)), context(std::move(owner)), graph(handle) {}

  const LoweredTensor* find(std::string_view tensor) const {
    const auto found = by_name.find(tensor);
    return found == by_name.end() ? nullptr : found->second;
  }
  std::vector<const LoweredTensor*> of_kind(TensorKind kind) const {
    std::vector<const LoweredTensor*> list;
    for (const LoweredTensor& tensor : tensors)
      if (tensor.kind() == kind) list.push_back(&tensor);
    return list;
  }

  std::string name;
  Owned<abi::ContextHandle> context;
  abi::GraphHandle graph;
  bool finalized = false;
  std::deque<LoweredTensor> tensors;  // a deque does not move its elements
  std::map<std::string_view, LoweredTensor*> by_name;
  std::map<std::string_view, std::uint64_t> sizes;
};

Session::Session(Library library, ProgressMark mark) : library_(std::move(library)), mark_(std::move(mark)) {
  info_.library = library_.info();
}

Session::~Session() = default;

void Session::mark(std::string_view function, std::string_view about, std::size_t done, std::size_t total) const {
  if (mark_) mark_(function, about, done, total);
}

CallResult<std::unique_ptr<Session>> Session::open(const SessionOptions& options, ProgressMark mark) {
  take_log();
  if (mark) mark("loading the library", options.library, 0, 0);
  CallResult<Library> library = Library::open(options.library);
  if (!library) return fail(std::move(library.error()));
  std::unique_ptr<Session> session(new Session(std::move(*library), std::move(mark)));
  if (CallResult<void> started = session->start(options); !started) return fail(std::move(started.error()));
  return session;
}

CallResult<void> Session::start(const SessionOptions& options) {
  mark("logCreate");
  CallResult<Owned<abi::LogHandle>> log = library_.create_log(options.log_level);
  if (!log) return fail(std::move(log.error()));
  log_ = std::move(*log);
  mark("backendCreate");
  CallResult<Owned<abi::BackendHandle>> backend = library_.create_backend(log_.get());
  if (!backend) return fail(std::move(backend.error()));
  backend_ = std::move(*backend);
  return options.target.soc == 0 ? CallResult<void>() : use_target(options.target);
}

CallResult<void> Session::use_target(const Target& target) {
  if (finalized_for() && *finalized_for() != target)
    return fail(Failure::bad_request, "this process has finalized a graph for SoC {}; SoC {} needs another one",
                finalized_for()->soc, target.soc);
  mark("deviceCreate", fmt::format("SoC {}", target.soc));
  CallResult<Owned<abi::DeviceHandle>> device = library_.create_device(log_.get(), target.soc, target.arch);
  if (!device) return fail(std::move(device.error()));
  device_ = std::move(*device);
  info_.target = target;
  return {};
}

CallResult<std::vector<OperationId>> Session::operations() {
  mark("backendGetSupportedOperations");
  return library_.operations(backend_.get());
}

CallResult<std::vector<KnownSoc>> Session::known_socs() {
  // The library remembers the last SoC that was set, whoever set it: the session's comes last.
  device_ = {};
  graph_.reset();
  std::vector<KnownSoc> known;
  CallResult<Owned<abi::LogHandle>> log = library_.create_log(abi::LogLevel::warning);
  if (!log) return fail(std::move(log.error()));
  for (int number = 1; number <= kMostSocNumber; ++number) {
    mark("deviceCreate", fmt::format("SoC {}", number), static_cast<std::size_t>(number), kMostSocNumber);
    take_log();
    if (const CallResult<Owned<abi::DeviceHandle>> device = library_.create_device(log->get(), number, 0); !device)
      continue;
    const KnownSoc soc = soc_of_log(number, take_log().lines);
    if (soc.arch >= kOldestHtp) known.push_back(soc);
  }
  if (info_.target.soc == 0) return known;
  if (CallResult<void> back = use_target(info_.target); !back) return fail(std::move(back.error()));
  return known;
}

Verdict Session::ask(const abi::OpConfig& config, std::string_view name) {
  mark("backendValidateOpConfig", name);
  take_log();
  const abi::Status status = library_.functions().backend_validate_node(backend_.get(), config);
  return {.accepted = status == abi::kSuccess,
          .code = static_cast<std::uint32_t>(status & abi::kErrorNumberMask),
          .log = take_log().lines};
}

CallResult<Verdict> Session::validate(const NodeSpec& node, std::span<const TensorSpec> tensors) {
  GraphSpec graph{.name = "validate", .tensors = {tensors.begin(), tensors.end()}, .nodes = {node}};
  if (const Result<void> checked = check(graph); !checked)
    return fail(Failure::bad_request, "{}", checked.error().message);
  std::deque<LoweredTensor> lowered;
  std::map<std::string_view, const LoweredTensor*> by_name;
  for (const TensorSpec& tensor : tensors) by_name[tensor.name] = &lowered.emplace_back(tensor);
  const LoweredNode c_node(
      library_.traits().structs, node, [&](std::string_view name) { return by_name.at(name); },
      [](LoweredTensor&) { return true; });
  return ask(c_node.config(), node.name);
}

CallResult<void> Session::add_tensors(const GraphSpec& graph) {
  for (const TensorSpec& spec : graph.tensors) {
    mark("tensorCreateGraphTensor", spec.name, graph_->tensors.size(), graph.tensors.size());
    LoweredTensor& tensor = graph_->tensors.emplace_back(spec);
    graph_->by_name[tensor.name()] = &tensor;
    graph_->sizes[tensor.name()] = *byte_size(spec);
    const abi::Status status = library_.functions().tensor_create(graph_->graph, &tensor.c);
    if (status != abi::kSuccess) return fail(refusal("tensorCreateGraphTensor", spec.name, status));
  }
  return {};
}

CallResult<void> Session::add_node(const NodeSpec& node, const FinalizeOptions& options, FinalizeReport& report) {
  const Functions& functions = library_.functions();
  abi::Status created = abi::kSuccess;
  const LoweredNode c_node(
      library_.traits().structs, node, [&](std::string_view name) { return graph_->find(name); },
      [&](LoweredTensor& tensor) {
        created = functions.tensor_create(graph_->graph, &tensor.c);
        return created == abi::kSuccess;
      });
  if (!c_node.complete()) return fail(refusal("tensorCreateGraphTensor", node.name, created));
  if (options.validate_nodes)
    if (Verdict verdict = ask(c_node.config(), node.name); !verdict.accepted)
      report.refused.push_back({node.name, "backendValidateOpConfig", std::move(verdict)});
  mark("graphAddNode", node.name);
  const abi::Status status = functions.graph_add_node(graph_->graph, c_node.config());
  if (status == abi::kSuccess) return {};
  CallError error = refusal("graphAddNode", node.name, status);
  if (!options.skip_refused) return fail(std::move(error));
  report.refused.push_back(
      {node.name, error.function, {.accepted = false, .code = error.code, .log = std::move(error.log)}});
  return {};
}

CallResult<FinalizeReport> Session::finalize(const GraphSpec& graph, const FinalizeOptions& options) {
  if (const Result<void> checked = check(graph); !checked)
    return fail(Failure::bad_request, "{}", checked.error().message);
  if (!device_) return fail(Failure::bad_request, "a session without a SoC cannot finalize a graph");
  graph_.reset();
  take_log();
  mark("contextCreate", graph.name);
  CallResult<Owned<abi::ContextHandle>> context = library_.create_context(backend_.get(), device_.get());
  if (!context) return fail(std::move(context.error()));
  mark("graphCreate", graph.name);
  const CallResult<abi::GraphHandle> handle = library_.create_graph(context->get(), graph.name, options.config);
  if (!handle) return fail(handle.error());
  graph_ = std::make_unique<BuiltGraph>(graph.name, std::move(*context), *handle);
  if (CallResult<void> added = add_tensors(graph); !added) return fail(std::move(added.error()));
  FinalizeReport report;
  for (const NodeSpec& node : graph.nodes)
    if (CallResult<void> added = add_node(node, options, report); !added) return fail(std::move(added.error()));
  const CallResult<Owned<abi::ProfileHandle>> profile = profile_for(options.profiling);
  if (!profile) return fail(profile.error());
  mark("graphFinalize", graph.name);
  finalized_for() = info_.target;
  const Clock::time_point start = Clock::now();
  const abi::Status status = library_.functions().graph_finalize(handle.value(), profile->get(), nullptr);
  report.microseconds = microseconds_since(start);
  if (status != abi::kSuccess) return fail(refusal("graphFinalize", graph.name, status));
  graph_->finalized = true;
  report.log = take_log().lines;
  report.profile = events_of(profile->get());
  return report;
}

CallResult<ExecuteReport> Session::execute(std::span<const NamedData> inputs, Profiling profiling) {
  if (graph_ == nullptr || !graph_->finalized)
    return fail(Failure::bad_request, "no graph was finalized in this session");
  const std::vector<const LoweredTensor*> written = graph_->of_kind(TensorKind::app_write);
  const std::vector<const LoweredTensor*> read = graph_->of_kind(TensorKind::app_read);
  TensorArray c_inputs(library_.traits().structs, written);
  TensorArray c_outputs(library_.traits().structs, read);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::string& name = written[i]->name();
    const auto given =
        std::find_if(inputs.begin(), inputs.end(), [&](const NamedData& input) { return input.name == name; });
    const std::uint64_t wanted = graph_->sizes.at(name);
    if (given == inputs.end()) return fail(Failure::bad_request, "no values for input `{}` of the graph", name);
    if (given->data.size() != wanted)
      return fail(Failure::bad_request, "input `{}` needs {} bytes and has {}", name, wanted, given->data.size());
    // Inputs are only read; see LoweredTensor.
    c_inputs.buffer(i) = {.data = const_cast<std::byte*>(given->data.data()),
                          .bytes = static_cast<std::uint32_t>(wanted)};
  }
  ExecuteReport report;
  auto buffers = std::make_shared<std::vector<Bytes>>();
  buffers->reserve(read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    Bytes& buffer = buffers->emplace_back(graph_->sizes.at(read[i]->name()));
    c_outputs.buffer(i) = {.data = buffer.data(), .bytes = static_cast<std::uint32_t>(buffer.size())};
    report.outputs.push_back({read[i]->name(), buffer});
  }
  report.memory = buffers;
  const CallResult<Owned<abi::ProfileHandle>> profile = profile_for(profiling);
  if (!profile) return fail(profile.error());
  mark("graphExecute", graph_->name);
  take_log();
  const Clock::time_point start = Clock::now();
  const abi::Status status = library_.functions().graph_execute(
      graph_->graph, c_inputs.data(), c_inputs.size(), c_outputs.data(), c_outputs.size(), profile->get(), nullptr);
  report.microseconds = microseconds_since(start);
  if (status != abi::kSuccess) return fail(refusal("graphExecute", graph_->name, status));
  report.log = take_log().lines;
  report.profile = events_of(profile->get());
  return report;
}

CallResult<Bytes> Session::context_binary() {
  if (graph_ == nullptr || !graph_->finalized)
    return fail(Failure::bad_request, "no graph was finalized in this session");
  const Functions& functions = library_.functions();
  if (functions.context_binary_size == nullptr || functions.context_binary == nullptr)
    return fail(Failure::library, "the library makes no context binaries");
  mark("contextGetBinary", graph_->name);
  std::uint64_t size = 0;
  abi::Status status = functions.context_binary_size(graph_->context.get(), &size);
  if (status != abi::kSuccess) return fail(refusal("contextGetBinarySize", graph_->name, status));
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30U;
  if (size == 0 || size > kMostBytes) return fail(Failure::protocol, "contextGetBinarySize asks for {} bytes", size);
  Bytes binary(size);
  std::uint64_t written = 0;
  status = functions.context_binary(graph_->context.get(), binary.data(), size, &written);
  if (status != abi::kSuccess) return fail(refusal("contextGetBinary", graph_->name, status));
  binary.resize(std::min(written, size));
  return binary;
}

CallResult<Owned<abi::ProfileHandle>> Session::profile_for(Profiling profiling) const {
  if (profiling == Profiling::off) return Owned<abi::ProfileHandle>();
  return library_.create_profile(
      backend_.get(), profiling == Profiling::basic ? abi::ProfileLevel::basic : abi::ProfileLevel::detailed);
}

namespace {

/// Reads a tree of events. The depth is bounded: the identifiers are the library's.
std::vector<ProfileEvent> read_events(const Functions& functions, const abi::ProfileEventId* ids, std::uint32_t count,
                                      int depth) {
  std::vector<ProfileEvent> events;
  if (ids == nullptr || depth > kMostEventDepth) return events;
  for (std::uint32_t i = 0; i < std::min(count, kMostEvents); ++i) {
    abi::ProfileEventData data{};
    if (functions.profile_event_data(ids[i], &data) != abi::kSuccess) continue;
    ProfileEvent event{.name = data.identifier == nullptr ? "" : data.identifier,
                       .type = data.type,
                       .unit = data.unit,
                       .value = data.value,
                       .children = {}};
    const abi::ProfileEventId* children = nullptr;
    std::uint32_t child_count = 0;
    if (functions.profile_sub_events(ids[i], &children, &child_count) == abi::kSuccess)
      event.children = read_events(functions, children, child_count, depth + 1);
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace

std::vector<ProfileEvent> Session::events_of(abi::ProfileHandle profile) const {
  if (profile == nullptr) return {};
  const abi::ProfileEventId* ids = nullptr;
  std::uint32_t count = 0;
  if (library_.functions().profile_events(profile, &ids, &count) != abi::kSuccess) return {};
  return read_events(library_.functions(), ids, count, 0);
}

}  // namespace qnndbg::qnn
