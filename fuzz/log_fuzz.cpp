// A log from a stranger, in portions that the input chooses. Portions must not matter, what is kept must be small, and
// what is said about it must be text that a terminal and a JSON reader can take.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "knowledge/explanation.h"
#include "knowledge/log_reader.h"
#include "knowledge/log_text.h"
#include "report/explanation.h"
#include "report/style.h"

namespace {

using namespace qnndbg;

constexpr std::size_t kMaxText = 4096;  // of one value; evidence and names are shorter

void require(bool holds) {
  if (!holds) std::abort();
}

/// The first byte chooses how long portions are, the bytes of the log where they end.
LogRecord read_in_portions(std::string_view log, std::size_t seed) {
  LogReader reader;
  for (std::size_t round = seed; !log.empty(); ++round) {
    const std::size_t wanted = 1 + (round * 31 + static_cast<unsigned char>(log.front())) % (1 + seed * 8);
    const std::size_t length = std::min(wanted, log.size());
    reader.feed(log.substr(0, length));
    log.remove_prefix(length);
  }
  return std::move(reader).finish();
}

/// Valid UTF-8 without control characters: printing it again changes nothing but blanks at its ends.
void require_text(const std::string& text) {
  require(text.size() <= kMaxText);
  require(text.find_first_of(std::string_view("\0\n\r\x1b", 4)) == std::string::npos);
  require(nlohmann::json(text).dump().size() >= text.size());  // throws, and so aborts, on bytes that are no UTF-8
}

void check_record(const LogRecord& record, std::size_t bytes) {
  require(record.bytes == bytes && record.lines <= bytes && record.noise_lines <= bytes);
  require(record.nodes.size() <= 4096 && record.codes.size() <= 64 && record.unknown_errors.size() <= 8);
  for (const LogEvent& event : record.events) {
    require(event.count > 0 && event.first.line > 0 && event.first.line <= record.lines);
    require_text(event.first.text);
    for (const auto& [name, value] : event.captures) require_text(value);
  }
  for (const LogNode& node : record.nodes) {
    require_text(node.name);
    require_text(node.type);
    require(node.reasons.size() == node.reason_patterns.size());
    for (const EvidenceLine& reason : node.reasons) require(!reason.text.empty() && reason.line <= record.lines);
  }
  for (const LogCode& code : record.codes) require(code.number > 0 && code.number <= 0xFFFF);
  for (const auto& [name, version] : record.versions) require_text(version);
}

void check_explanation(const Explanation& explanation) {
  require(find_explanation_class(explanation.class_id) != nullptr);
  require(!explanation.summary.empty() && !explanation.next_steps.empty());
  require(explanation.evidence.size() <= 16);
  const nlohmann::json document = nlohmann::json::parse(explanation_json(explanation, {}));
  require(document.at("class") == explanation.class_id);
  const std::string text = explanation_text(explanation, {}, TextStyle{});
  require(text.find('\x1b') == std::string::npos && nlohmann::json(text).dump().size() >= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view log(reinterpret_cast<const char*>(data) + 1, size - 1);
  const LogRecord record = read_log(log);
  check_record(record, log.size());
  const Explanation whole = explain_record(record);
  check_explanation(whole);
  const Explanation pieces = explain_record(read_in_portions(log, data[0]));
  require(explanation_json(pieces, {}) == explanation_json(whole, {}));
  return 0;
}
