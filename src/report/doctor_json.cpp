#include "knowledge/soc.h"
#include "report/doctor.h"
#include "report/json_object.h"

namespace qnndbg {
namespace {

using lint::Check;
using lint::CheckStatus;

Json text_or_null(std::string_view text) { return qnndbg::text_or_null(std::string(text)); }

std::string_view why_of(std::string_view id) {
  for (const lint::CheckType& type : lint::check_types())
    if (type.id == id) return type.why;
  return {};
}

Json check_json(const Check& check) {
  return Json{{"id", check.id},          {"status", lint::name_of(check.status)}, {"found", check.found},
              {"why", why_of(check.id)}, {"fix", text_or_null(check.fix)},        {"class", text_or_null(check.cause)}};
}

Json library_json(const lint::SharedLibrary& library, lint::Place place) {
  return Json{{"path", library.path},
              {"place", lint::name_of(place)},
              {"machine", lint::name_of(library.machine)},
              {"build", text_or_null(library.build)},
              {"problem", text_or_null(library.problem)}};
}

Json libraries_json(const lint::Environment& environment) {
  Json list = Json::array();
  for (const lint::Deployment& deployment : environment.deployments)
    for (const lint::LibraryDirectory& directory : deployment.directories)
      for (const lint::SharedLibrary& library : directory.libraries)
        list.push_back(library_json(library, deployment.place));
  return list;
}

Json target_json(const lint::Target& target) {
  return Json{{"arch", target.arch == 0 ? Json(nullptr) : Json(arch_name(target.arch))},
              {"soc", text_or_null(target.soc)}};
}

}  // namespace

std::string doctor_json(const DoctorView& view) {
  Json counts = Json::object();
  for (const CheckStatus status :
       {CheckStatus::ok, CheckStatus::note, CheckStatus::warning, CheckStatus::problem, CheckStatus::not_checked})
    counts[std::string(lint::name_of(status))] = count_of(view.checks, status);
  Json checks = Json::array();
  for (const Check& check : view.checks) checks.push_back(check_json(check));
  return dump_json(Json{{"schema", "qnn-debug/doctor/1"},
                        {"summary", doctor_summary(view.checks)},
                        {"version", view.environment.version},
                        {"host", lint::name_of(view.environment.host)},
                        {"target", target_json(view.environment.target)},
                        {"counts", std::move(counts)},
                        {"checks", std::move(checks)},
                        {"libraries", libraries_json(view.environment)}});
}

}  // namespace qnndbg
