#include "cli/htp_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "knowledge/soc.h"
#include "report/json_object.h"

namespace qnndbg::cli {
namespace {

constexpr std::size_t kLabelColumns = 16;

/// "SM8650 (57)"; the number alone where the library tells no name.
std::string soc_words(int number, std::string_view name) {
  return name.empty() ? std::to_string(number) : fmt::format("{} ({})", terminal_safe(name), number);
}

std::string_view name_of_soc(int number) {
  const Soc* soc = find_soc(std::to_string(number));
  return soc == nullptr ? std::string_view() : soc->name;
}

std::string line(const TextStyle& style, std::string_view label, std::string_view text) {
  return fmt::format("  {}{}\n", paint(style, Paint::faint, fmt::format("{:<{}}", label, kLabelColumns - 2)),
                     wrap(text, kLabelColumns, static_cast<std::size_t>(style.width)));
}

std::string target_words(const HtpView& view) {
  const qnn::Target& target = view.info.target;
  return fmt::format("{}, {}{}", soc_words(target.soc, name_of_soc(target.soc)), arch_name(target.arch),
                     view.default_target ? ": the newest that it can compute for; --soc or --arch names another" : "");
}

/// One line per architecture.
std::string soc_lines(const HtpView& view, const TextStyle& style) {
  std::map<int, std::vector<std::string>> by_arch;
  for (const qnn::KnownSoc& soc : view.socs) by_arch[soc.arch].push_back(soc_words(soc.soc, soc.name));
  std::string out;
  for (const auto& [arch, socs] : by_arch)
    out += line(style, "SoCs " + arch_name(arch), fmt::format("{}", fmt::join(socs, ", ")));
  return out;
}

bool has_system_library(const HtpView& view) {
  std::error_code error;
  return std::filesystem::exists(view.place.system, error);
}

Json socs_json(const std::vector<qnn::KnownSoc>& socs) {
  Json list = Json::array();
  for (const qnn::KnownSoc& soc : socs)
    list.push_back(Json{{"soc", soc.soc}, {"name", text_or_null(soc.name)}, {"arch", arch_name(soc.arch)}});
  return list;
}

Json library_json(const HtpView& view) {
  const qnn::LibraryInfo& library = view.info.library;
  return Json{{"path", library.path},
              {"found_by", qnn::name_of(view.place.origin)},
              {"provider", library.provider},
              {"build", text_or_null(library.build_id)},
              {"core_api", library.core_api},
              {"htp_api", library.backend_api},
              {"api_checked", library.api_checked},
              {"system_library", has_system_library(view) ? Json(view.place.system) : Json(nullptr)}};
}

Json target_json(const HtpView& view) {
  const qnn::Target& target = view.info.target;
  return Json{{"soc", target.soc},
              {"name", text_or_null(std::string(name_of_soc(target.soc)))},
              {"arch", arch_name(target.arch)},
              {"default", view.default_target}};
}

}  // namespace

std::string htp_info_text(const HtpView& view, const TextStyle& style) {
  const qnn::LibraryInfo& library = view.info.library;
  const std::string build = library.build_id.empty() ? "of an unknown build" : terminal_safe(library.build_id);
  std::string out = fmt::format("{}   Qualcomm's HTP library, QNN {}\n",
                                paint(style, Paint::bold, fmt::format("qnn-debug {}", style.version)), build);
  out += line(style, "library", terminal_safe(library.path));
  out += line(style, "found by", qnn::name_of(view.place.origin));
  out += line(
      style, "API",
      fmt::format("core {}, HTP {}{}", library.core_api, library.backend_api,
                  library.api_checked ? "" : " (this version was never checked: taken to be like its neighbours)"));
  if (!has_system_library(view)) out += line(style, "missing", view.place.system + ", which reads context binaries");
  out += line(style, "operators", std::to_string(view.operations.size()));
  out += line(style, "computes for", target_words(view));
  return out + soc_lines(view, style);
}

std::string htp_info_json(const HtpView& view) {
  Json operators = Json::array();
  for (const qnn::OperationId& operation : view.operations)
    operators.push_back(Json{{"package", operation.package}, {"name", operation.name}});
  return dump_json(Json{{"schema", "qnn-debug/htp-info/1"},
                        {"library", library_json(view)},
                        {"target", target_json(view)},
                        {"socs", socs_json(view.socs)},
                        {"operators", std::move(operators)}});
}

}  // namespace qnndbg::cli
