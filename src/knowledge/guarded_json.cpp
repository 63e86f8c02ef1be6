#include "knowledge/guarded_json.h"

#include <algorithm>
#include <string>
#include <vector>

namespace qnndbg {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestNamed = 80;  // bytes

/// "line 3, column 7" of a byte of the text.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last_break = before.rfind('\n');
  const std::size_t column = last_break == std::string_view::npos ? byte : byte - last_break - 1;
  return fmt::format("line {}, column {}", line, column + 1);
}

/// Goes over a document before anything is built from it, and stops at what exceeds the limits. The parser behind
/// it needs no stack, however deep the nesting is.
class Guard final : public nlohmann::json_sax<Json> {
 public:
  Guard(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (level.keys.size() == limits_.members)
      return stop(fmt::format("more than {} fields in one object", limits_.members));
    if (std::find(level.keys.begin(), level.keys.end(), name) != level.keys.end())
      return stop(fmt::format("\"{}\" appears twice", short_word(name)));
    level.keys.push_back(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    const bool encoding = std::string_view(error.what()).find("ill-formed UTF-8") != std::string_view::npos;
    // The position is the number of bytes read, the wrong one included.
    problem_ = fmt::format("{}: not {}", place_of(text_, position > 0 ? position - 1 : 0),
                           encoding ? "UTF-8" : "JSON, or cut off");
    return false;
  }

 private:
  struct Level {
    std::size_t elements = 0;
    std::vector<std::string> keys;  // of an object; of a list none
  };

  bool stop(const std::string& why) {
    problem_ = path() + why;
    return false;
  }

  /// "cases[3].fingerprint: "
  std::string path() const {
    std::string out;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) {
      const Level& level = levels_[i];
      if (level.keys.empty())
        out += fmt::format("[{}]", level.elements - 1);
      else
        out += (out.empty() ? "" : ".") + short_word(level.keys.back());
    }
    return out.empty() ? out : out + ": ";
  }

  bool value() {
    if (++values_ > limits_.values) return stop("too many values in one document");
    if (levels_.empty()) return true;
    if (++levels_.back().elements > limits_.elements)
      return stop(fmt::format("more than {} entries", limits_.elements));
    return true;
  }

  bool open() {
    if (!value()) return false;
    levels_.emplace_back();
    return levels_.size() <= limits_.depth || stop(fmt::format("nested more than {} deep", limits_.depth));
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  const JsonLimits& limits_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
  std::string problem_;
};

}  // namespace

std::string short_word(std::string_view word) {
  if (word.size() <= kLongestNamed) return std::string(word);
  return std::string(word.substr(0, kLongestNamed)) + "...";
}

Result<Json> parse_guarded(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) return fail("{} bytes, at most {} are read", text.size(), limits.bytes);
  Guard guard(text, limits);
  if (!Json::sax_parse(text, &guard)) return fail("{}", guard.problem());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace qnndbg
