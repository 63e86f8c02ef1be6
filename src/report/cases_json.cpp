#include "report/cases_json.h"

#include "knowledge/case_json.h"

namespace qnndbg {

Json similar_cases_json(std::span<const SimilarCase> matches) {
  Json list = Json::array();
  for (const SimilarCase& match : matches)
    list.push_back(Json{{"similarity", match.similarity},
                        {"shared", match.shared},
                        {"case", Json::parse(case_line(match.known), nullptr, /*allow_exceptions=*/false)}});
  return list;
}

std::string case_matches_json(std::span<const SimilarCase> matches) {
  return dump_json(Json{{"schema", "qnn-debug/case-matches/1"}, {"matches", similar_cases_json(matches)}});
}

}  // namespace qnndbg
