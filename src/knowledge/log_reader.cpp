#include "knowledge/log_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "knowledge/codes.h"
#include "knowledge/log_text.h"

namespace qnndbg {
namespace {

// A log can have millions of refused nodes or different lines; what is kept of it is bounded.
constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kMaxEventsOfPattern = 8;
constexpr std::size_t kMaxCodes = 64;
constexpr std::size_t kMaxReasons = 8;
constexpr std::size_t kMaxUnknownErrors = 8;
constexpr std::size_t kMaxSets = 64;
constexpr std::size_t kMaxOperands = 32;
constexpr std::size_t kMaxMembers = 4096;                      // of the lists of one node
constexpr std::size_t kMaxKeptMembers = std::size_t{1} << 16;  // of all nodes together
constexpr std::size_t kMaxCapture = 256;
/// A reason stands directly before the line that names its node; other threads may print between.
constexpr std::uint64_t kReasonReach = 48;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

const LogPattern& pattern_of(int index) { return log_patterns()[at(index)]; }

/// Group that the same error has with another value each time: addresses and sizes do not make it another error.
bool tells_apart(std::string_view group) {
  return group == "node" || group == "kernel" || group == "code" || group == "library" || group == "type" ||
         group == "mnn_type" || group == "tensor" || group == "index" || group == "attempt" || group == "token" ||
         group == "sdk";
}

/// The line that is being read. Its text is made printable only when something of it is kept.
class CurrentLine {
 public:
  CurrentLine(std::uint64_t number, std::string_view bytes) : number_(number), bytes_(bytes) {}

  std::uint64_t number() const { return number_; }
  const EvidenceLine& evidence() const {
    if (!evidence_) evidence_.emplace(EvidenceLine{number_, printable_line(bytes_, kMaxEvidenceText)});
    return *evidence_;
  }

 private:
  std::uint64_t number_;
  std::string_view bytes_;
  mutable std::optional<EvidenceLine> evidence_;
};

/// Counts occurrences of each candidate and names the commonest; the first seen wins among equals.
class Ballot {
 public:
  void add(const std::string& name) {
    for (auto& [key, count] : votes_)
      if (key == name) {
        ++count;
        return;
      }
    if (votes_.size() < kMaxCodes) votes_.emplace_back(name, 1);
  }
  std::string winner() const {
    const auto best = std::max_element(votes_.begin(), votes_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return best == votes_.end() ? "" : best->first;
  }
  std::string only() const { return votes_.size() == 1 ? votes_.front().first : ""; }

 private:
  std::vector<std::pair<std::string, std::uint64_t>> votes_;
};

}  // namespace

std::string tensor_class(std::string_view mangled) {
  // An Itanium-mangled name: ...IN5Tdefs14F16Crouton_TCMEE is Tdefs::F16Crouton_TCM. A number tells the length of what
  // follows.
  constexpr std::string_view kScope = "Tdefs";
  const std::size_t scope = mangled.find(kScope);
  if (scope == std::string_view::npos) return printable_line(mangled, kMaxCapture);
  const std::string_view rest = mangled.substr(scope + kScope.size());
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const std::string_view name = rest.substr(static_cast<std::size_t>(end - rest.data()));
  if (error != std::errc() || length == 0 || length > name.size()) return printable_line(mangled, kMaxCapture);
  return printable_line(name.substr(0, length), kMaxCapture);
}

std::optional<int> log_error_code(std::string_view text) {
  const std::optional<ParsedCode> parsed = parse_error_code(text);
  if (!parsed || parsed->transport || parsed->number < 0 || parsed->number > 0xFFFF) return std::nullopt;
  return static_cast<int>(parsed->number);
}

const LogEvent* LogRecord::event(std::string_view pattern_id) const {
  const int pattern = find_log_pattern(pattern_id);
  const auto found =
      std::find_if(events.begin(), events.end(), [&](const LogEvent& e) { return e.pattern == pattern; });
  return found == events.end() ? nullptr : &*found;
}

struct LogReader::Implementation {
  LogRecord record;
  LineBlocks blocks{[this](std::string_view block) { read_block(block); }};
  bool in_line = false;  // the last block ended within a line
  std::vector<std::vector<std::size_t>> events_of{std::vector<std::vector<std::size_t>>(log_patterns().size())};
  std::unordered_map<std::string, std::size_t> node_index;
  Ballot stacks, socs, archs, library_archs, soc_names;

  struct Reason {
    EvidenceLine line;
    int pattern = -1;
  };
  std::vector<Reason> pending;  // reasons whose node is not named yet
  std::string pending_kernel;
  std::vector<KernelInput> pending_inputs;
  DatatypeSet requested;
  std::vector<SupportedDatatypes> supported;
  DatatypePart section = DatatypePart::none;  // which list the next member belongs to
  std::size_t members = 0;                    // in the lists that are being read
  std::size_t kept_members = 0;               // in those of all nodes

  // --- Blocks and lines ---

  void read_block(std::string_view block) {
    std::size_t from = 0;  // begin of what is not counted yet; always a line's begin
    if (!in_line) ++record.lines;
    while (from < block.size()) {
      const std::size_t hit = find_log_literal(block, from);
      if (hit == std::string_view::npos) break;
      const std::size_t newline = block.substr(0, hit).rfind('\n');
      const std::size_t begin = newline == std::string_view::npos || newline < from ? from : newline + 1;
      record.lines += count_newlines(block.substr(from, begin - from));
      const std::size_t end = std::min(block.find('\n', hit), block.size());
      read_line(block.substr(begin, end - begin));
      from = end;
    }
    record.lines += count_newlines(block.substr(from));
    in_line = block.back() != '\n';
    if (!in_line) --record.lines;  // the line after the last newline begins with the next block
  }

  /// By memchr, which looks at many bytes at a time.
  static std::uint64_t count_newlines(std::string_view text) {
    std::uint64_t count = 0;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++count;
    return count;
  }

  void read_line(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.empty()) return;
    std::vector<PatternMatch> matches = match_log_line(line);
    if (matches.empty()) return;
    std::size_t glue = 0;
    for (PatternMatch& match : matches) {
      if (pattern_of(match.pattern).role == PatternRole::glue && match.end < line.size()) glue = match.end;
      for (auto& [name, value] : match.captures) value = printable_line(value, kMaxCapture);
    }
    const CurrentLine here(record.lines, line.substr(glue));
    std::string_view stage;
    for (const PatternMatch& match : matches)
      if (stage.empty()) stage = pattern_of(match.pattern).stage;
    for (const PatternMatch& match : matches) take(match, here, stage);
  }

  // --- One match ---

  /// `stage` is what the patterns of the line say together.
  void take(const PatternMatch& match, const CurrentLine& here, std::string_view stage) {
    const LogPattern& pattern = pattern_of(match.pattern);
    if (!pattern.stack.empty()) stacks.add(pattern.stack);
    switch (pattern.role) {
      case PatternRole::noise: ++record.noise_lines; return;
      case PatternRole::glue: return;
      case PatternRole::other:
        ++record.unknown_error_lines;
        if (record.unknown_errors.size() < kMaxUnknownErrors) record.unknown_errors.push_back(here.evidence());
        add_reason(match.pattern, here);  // a refusal whose words the table does not know yet
        return;
      default: break;
    }
    if (pattern.role == PatternRole::code && !is_known_code(match)) return;
    take_facts(match.captures);
    take_codes(match, stage, here);
    take_datatypes(match, pattern);
    take_kernel(match, pattern);
    if (pattern.reason) add_reason(match.pattern, here);
    if (pattern.fate != NodeFate::none) take_node(match, pattern, here);
    add_event(match, here);
  }

  void add_event(const PatternMatch& match, const CurrentLine& here) {
    std::vector<std::size_t>& mine = events_of[at(match.pattern)];
    for (const std::size_t index : mine) {
      LogEvent& event = record.events[index];
      if (!says_the_same(event.captures, match.captures)) continue;
      ++event.count;
      return;
    }
    if (mine.size() == kMaxEventsOfPattern) {
      ++record.events[mine.back()].count;
      return;
    }
    mine.push_back(record.events.size());
    record.events.push_back({match.pattern, here.evidence(), 1, match.captures});
  }

  static bool says_the_same(const Captures& a, const Captures& b) {
    return std::all_of(b.begin(), b.end(), [&](const auto& group) {
      return !tells_apart(group.first) || capture(a, group.first) == group.second;
    });
  }

  // --- Facts and codes ---

  void take_facts(const Captures& captures) {
    for (const auto& [name, value] : captures) {
      if (name == "soc" && value != "0") socs.add(value);  // 0: none was chosen
      if (name == "soc_name") soc_names.add(value);
      if (name == "arch")
        archs.add(value.starts_with('v') || value.starts_with('V') ? "v" + value.substr(1) : "v" + value);
      if (name == "arch_soc") archs.add("v" + value);
      if (name == "library_arch") library_archs.add("v" + value);
      if (name == "sdk" || name == "onnxruntime" || name == "mnn" || name == "expected" || name == "detected")
        record.versions.try_emplace(name, value);
    }
  }

  static bool is_known_code(const PatternMatch& match) {
    const std::string_view token = capture(match.captures, "token");
    if (!token.empty()) return find_error_code(token) != nullptr;
    const std::optional<int> number = log_error_code(capture(match.captures, "code"));
    return number && find_error_code(std::int64_t{*number}) != nullptr;
  }

  void take_codes(const PatternMatch& match, std::string_view stage, const CurrentLine& here) {
    for (const std::string_view group : {"code", "code2"})
      if (const std::string_view text = capture(match.captures, group); !text.empty())
        if (const std::optional<int> number = log_error_code(text); number && *number != 0)
          add_code(*number, stage, here);
    if (const std::string_view token = capture(match.captures, "token"); !token.empty())
      if (const ErrorCode* code = find_error_code(token); code != nullptr)
        add_code(static_cast<int>(code->number), stage, here);
  }

  void add_code(int number, std::string_view stage, const CurrentLine& here) {
    for (LogCode& code : record.codes) {
      if (code.number != number || (code.stage != stage && !stage.empty() && !code.stage.empty())) continue;
      if (code.stage.empty()) code.stage = stage;
      ++code.count;
      return;
    }
    if (record.codes.size() < kMaxCodes) record.codes.push_back({number, std::string(stage), here.evidence(), 1});
  }

  // --- Nodes and what is said about them ---

  void add_reason(int pattern, const CurrentLine& here) {
    std::erase_if(pending, [&](const Reason& r) { return r.line.line + kReasonReach < here.number(); });
    const bool known = std::any_of(pending.begin(), pending.end(),
                                   [&](const Reason& r) { return r.line.text == here.evidence().text; });
    if (!known && pending.size() < kMaxReasons) pending.push_back({here.evidence(), pattern});
  }

  LogNode* node_of(std::string name, const CurrentLine& here) {
    if (const auto found = node_index.find(name); found != node_index.end()) return &record.nodes[found->second];
    if (record.nodes.size() >= kMaxNodes) {
      ++record.nodes_left_out;
      return nullptr;
    }
    node_index.emplace(name, record.nodes.size());
    LogNode node;
    node.name = std::move(name);
    node.first = here.evidence();
    record.nodes.push_back(std::move(node));
    return &record.nodes.back();
  }

  void take_node(const PatternMatch& match, const LogPattern& pattern, const CurrentLine& here) {
    const std::string_view name = capture(match.captures, "node");
    if (name.empty()) return;
    LogNode* node = node_of(std::string(name), here);
    if (node == nullptr) return;
    ++node->count;
    if (node->fate == NodeFate::none || pattern.fate == NodeFate::refused) node->fate = pattern.fate;
    node->refused = node->refused || pattern.fate == NodeFate::refused;
    node->not_created = node->not_created || pattern.fate == NodeFate::not_created;
    if (node->type.empty()) node->type = capture(match.captures, "type");
    if (const std::string_view number = capture(match.captures, "mnn_type"); !number.empty())
      std::from_chars(number.data(), number.data() + number.size(), node->mnn_type);
    if (node->code == 0) node->code = log_error_code(capture(match.captures, "code")).value_or(0);
    give_reasons(*node, pattern, here);
    if (pattern.fate == NodeFate::not_created) give_kernel(*node);
    if (pattern.fate == NodeFate::refused) give_datatypes(*node);
  }

  void give_reasons(LogNode& node, const LogPattern& pattern, const CurrentLine& here) {
    // MNN itself tells of these, between QNN's reasons and the node that they belong to.
    if (pattern.fate == NodeFate::unregistered) return;
    for (Reason& reason : pending) {
      if (reason.line.line + kReasonReach < here.number()) continue;
      const bool known = std::any_of(node.reasons.begin(), node.reasons.end(),
                                     [&](const EvidenceLine& line) { return line.text == reason.line.text; });
      if (known || node.reasons.size() >= kMaxReasons) continue;
      node.reasons.push_back(std::move(reason.line));
      node.reason_patterns.push_back(reason.pattern);
    }
    pending.clear();
  }

  void take_kernel(const PatternMatch& match, const LogPattern& pattern) {
    if (const std::string_view kernel = capture(match.captures, "kernel"); !kernel.empty()) {
      if (kernel != pending_kernel) pending_inputs.clear();
      pending_kernel = kernel;
    }
    const std::string_view layout = capture(match.captures, "layout");
    if (layout.empty() || pattern.stage != "finalize" || pending_inputs.size() >= kMaxOperands) return;
    KernelInput input;
    const std::string_view index = capture(match.captures, "index");
    std::from_chars(index.data(), index.data() + index.size(), input.index);
    input.layout = tensor_class(layout);
    pending_inputs.push_back(std::move(input));
  }

  void give_kernel(LogNode& node) {
    if (node.kernel.empty()) node.kernel = std::exchange(pending_kernel, {});
    if (node.inputs.empty()) node.inputs = std::exchange(pending_inputs, {});
  }

  void take_datatypes(const PatternMatch& match, const LogPattern& pattern) {
    switch (pattern.datatypes) {
      case DatatypePart::none: return;
      case DatatypePart::requested:
        requested.clear();
        supported.clear();
        members = 0;
        break;
      case DatatypePart::supported:
        if (supported.size() < kMaxSets)
          supported.push_back({std::string(capture(match.captures, "configuration")), {}});
        break;
      case DatatypePart::member:
        add_member(std::string(capture(match.captures, "operand")), std::string(capture(match.captures, "datatype")));
        return;
    }
    section = pattern.datatypes;
  }

  void add_member(std::string operand, std::string datatype) {
    if (members == kMaxMembers) return;
    ++members;
    if (section == DatatypePart::requested) {
      if (requested.size() < kMaxOperands) requested.emplace_back(std::move(operand), std::move(datatype));
    } else if (section == DatatypePart::supported && !supported.empty()) {
      std::vector<DatatypeSet>& sets = supported.back().sets;
      // A set has each operand once: the first one again begins the next set.
      const bool begins = sets.empty() || std::any_of(sets.back().begin(), sets.back().end(),
                                                      [&](const auto& member) { return member.first == operand; });
      if (begins && sets.size() < kMaxSets) sets.emplace_back();
      if (sets.back().size() < kMaxOperands) sets.back().emplace_back(std::move(operand), std::move(datatype));
    }
  }

  void give_datatypes(LogNode& node) {
    if (requested.empty()) return;
    DatatypeSet asked = std::exchange(requested, {});
    std::vector<SupportedDatatypes> known = std::exchange(supported, {});
    section = DatatypePart::none;
    // A node that is refused again brings its lists again.
    if (!node.requested.empty() || kept_members + members > kMaxKeptMembers) return;
    kept_members += members;
    node.requested = std::move(asked);
    node.supported = std::move(known);
  }

  LogRecord finish() {
    blocks.finish();
    record.stack = stacks.winner();
    record.soc = socs.winner();
    record.soc_name = soc_names.winner();
    // Many architectures' libraries are named where somebody lists a directory; one alone is the one in use.
    record.arch = archs.winner().empty() ? library_archs.only() : archs.winner();
    return std::move(record);
  }
};

LogReader::LogReader() : implementation_(std::make_unique<Implementation>()) {}
LogReader::~LogReader() = default;

void LogReader::feed(std::string_view bytes) {
  implementation_->record.bytes += bytes.size();
  implementation_->blocks.feed(bytes);
}

LogRecord LogReader::finish() && { return implementation_->finish(); }

LogRecord read_log(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return std::move(reader).finish();
}

}  // namespace qnndbg
