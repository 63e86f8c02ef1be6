#include "report/html.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace qnndbg {

#ifdef QNNDBG_HTML

namespace embedded {
extern const std::string_view report_page;  // made by web/build.mjs
}  // namespace embedded

namespace {

// In JSON these stand only inside strings, where an escape means the same. U+2028 and U+2029 end a line for older
// readers of scripts.
void append_for_script(std::string& page, std::string_view json) {
  for (std::size_t at = 0; at < json.size(); ++at) {
    const std::string_view rest = json.substr(at, 3);
    if (json[at] == '<') {
      page += "\\u003c";
    } else if (json[at] == '>') {
      page += "\\u003e";
    } else if (json[at] == '&') {
      page += "\\u0026";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      page += rest.back() == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      page += json[at];
    }
  }
}

void append_for_markup(std::string& page, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '<': page += "&lt;"; break;
      case '>': page += "&gt;"; break;
      case '&': page += "&amp;"; break;
      case '"': page += "&quot;"; break;
      case '\'': page += "&#39;"; break;
      default: page += c;
    }
  }
}

/// A JSON string, or an array of them; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// The same text with bytes that are not UTF-8 replaced.
std::string valid_utf8(std::string_view text) {
  const std::string json = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(json).get<std::string>();
}

void append_data(std::string& page, const HtmlReport& report) {
  page += R"({"tool":{"name":"qnn-debug","version":)";
  append_for_script(page, json_text(report.version));
  page += R"(},"diagnosis":)";
  append_for_script(page, report.diagnosis);
  page += R"(,"details":)";
  append_for_script(page, report.details.empty() ? "null" : report.details);
  page += R"(,"missing":)";
  append_for_script(page, json_text(std::vector<std::string>(report.missing.begin(), report.missing.end())));
  page += '}';
}

struct Placeholder {
  std::string_view mark;
  void (*append)(std::string& page, const HtmlReport& report);
};

constexpr std::array<Placeholder, 3> kPlaceholders = {{
    {"@TITLE@", [](std::string& page, const HtmlReport& r) { append_for_markup(page, valid_utf8(r.title)); }},
    {"@SUMMARY@", [](std::string& page, const HtmlReport& r) { append_for_markup(page, valid_utf8(r.summary)); }},
    {"@DATA@", append_data},
}};

/// The first placeholder of `text` and where it is; nullopt when there is none.
std::optional<std::pair<std::size_t, const Placeholder*>> next_placeholder(std::string_view text) {
  std::optional<std::pair<std::size_t, const Placeholder*>> first;
  for (const Placeholder& placeholder : kPlaceholders) {
    const std::size_t at = text.find(placeholder.mark);
    if (at != std::string_view::npos && (!first || at < first->first)) first = {at, &placeholder};
  }
  return first;
}

}  // namespace

Result<std::string> to_html(const HtmlReport& report) {
  std::string_view rest = embedded::report_page;
  std::string page;
  page.reserve(rest.size() + report.diagnosis.size() + report.details.size() + 4096);
  // Only the template is searched: what was filled in may look like a placeholder.
  while (const auto found = next_placeholder(rest)) {
    page += rest.substr(0, found->first);
    found->second->append(page, report);
    rest.remove_prefix(found->first + found->second->mark.size());
  }
  return page += rest;
}

#else

Result<std::string> to_html(const HtmlReport&) {
  return fail(
      "this qnn-debug was built without the HTML report (QNNDBG_HTML=OFF); build it with Node.js 20 or newer, or take "
      "another format");
}

#endif

}  // namespace qnndbg
