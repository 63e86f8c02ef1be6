#include "diagnose/verdict.h"

#include <algorithm>
#include <utility>

#include "tensor/result.h"

namespace qnndbg {
namespace {

constexpr double kJudgedShareForClean = 0.95;

bool has(const Diagnosis& diagnosis, FindingKind kind) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [&](const Finding& f) { return f.kind == kind; });
}

int count_status(const Diagnosis& diagnosis, OpStatus status) {
  return static_cast<int>(std::count_if(diagnosis.operators.begin(), diagnosis.operators.end(),
                                        [&](const OperatorRow& o) { return o.status == status; }));
}

/// The first operator that no verdict was reached on and that a graph output depends on; -1 if there is none.
int unjudged_on_the_way(const Graph& graph, const Diagnosis& diagnosis) {
  std::vector<bool> needed(graph.ops.size(), false);
  const auto need = [&](int tensor) {
    const int producer = tensor < 0 ? -1 : graph.tensors[static_cast<std::size_t>(tensor)].producer;
    if (producer >= 0) needed[static_cast<std::size_t>(producer)] = true;
  };
  for (int output : graph.outputs) need(output);
  // Operators are stored in execution order, so one backward pass reaches everything.
  for (std::size_t op = graph.ops.size(); op-- > 0;) {
    if (!needed[op]) continue;
    if (diagnosis.operators[op].status == OpStatus::not_judged) return static_cast<int>(op);
    for (int input : graph.ops[op].inputs) need(input);
  }
  return -1;
}

/// "2 operators are"
std::string operators_are(int count) { return count == 1 ? "1 operator is" : fmt::format("{} operators are", count); }

/// The first finding that changes the verdict. Precondition: there is one.
const Finding& first_that_counts(const Diagnosis& diagnosis) {
  return *std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                       [](const Finding& f) { return f.kind != FindingKind::warning; });
}

std::string first_culprit(const Diagnosis& diagnosis) {
  const auto found = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::bug || f.kind == FindingKind::input;
  });
  return found == diagnosis.findings.end() ? "" : fmt::format("{} ({})", found->title, found->cause);
}

/// At one operator the refusal stands before what follows from it.
int order_of(FindingKind kind) { return kind == FindingKind::rejected || kind == FindingKind::unregistered ? 0 : 1; }

const Finding* first_of_kind(const Diagnosis& diagnosis, FindingKind kind) {
  const auto found = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                  [&](const Finding& f) { return f.kind == kind; });
  return found == diagnosis.findings.end() ? nullptr : &*found;
}

std::string rejected_summary(const Diagnosis& diagnosis, int broken) {
  std::string summary = first_of_kind(diagnosis, FindingKind::rejected)->title;
  const int wrong = count_status(diagnosis, OpStatus::consequence);
  if (diagnosis.coverage.ops_dumped == 0) return summary;
  summary += wrong == 0 ? "; no operator that the dump shows computed wrongly because of it"
                        : fmt::format("; {} wrong at or after it", operators_are(wrong));
  if (broken > 0) summary += fmt::format(", {} broken elsewhere", operators_are(broken));
  return summary;
}

/// What stopped the run: an operator without a creator, else the log's own words.
std::string load_summary(const Diagnosis& diagnosis) {
  const Finding* unregistered = first_of_kind(diagnosis, FindingKind::unregistered);
  if (unregistered != nullptr) return unregistered->title;
  const Finding* load = first_of_kind(diagnosis, FindingKind::load);
  const Finding* refused = first_of_kind(diagnosis, FindingKind::rejected);
  return refused != nullptr && load->consequence_of ? fmt::format("{}; {}", refused->title, load->title) : load->title;
}

}  // namespace

void conclude(const Graph& graph, Diagnosis& d) {
  std::stable_sort(d.findings.begin(), d.findings.end(), [](const Finding& a, const Finding& b) {
    return std::pair(a.op_index, order_of(a.kind)) < std::pair(b.op_index, order_of(b.kind));
  });
  const Coverage& c = d.coverage;
  const int unjudged = unjudged_on_the_way(graph, d);
  const bool covered = c.ops_dumped > 0 && c.ops_judged >= kJudgedShareForClean * c.ops_dumped;
  // What was dumped did run, whatever the log says.
  const bool nothing_ran = c.ops_dumped == 0 && c.ops_judged == 0;
  if (nothing_ran && (has(d, FindingKind::load) || has(d, FindingKind::unregistered))) {
    d.verdict = Verdict::load_failed;
  } else if (has(d, FindingKind::rejected)) {
    d.verdict = Verdict::rejected;
  } else if (has(d, FindingKind::bug) || has(d, FindingKind::input)) {
    d.verdict = Verdict::bug;
  } else if (has(d, FindingKind::range)) {
    d.verdict = Verdict::range;
  } else if (covered && unjudged < 0) {
    d.verdict = Verdict::clean;
  } else {
    d.verdict = Verdict::inconclusive;
  }

  const int broken = count_status(d, OpStatus::broken);
  const int sound = count_status(d, OpStatus::right) + count_status(d, OpStatus::inherited);
  const int not_judged = count_status(d, OpStatus::not_judged);
  switch (d.verdict) {
    case Verdict::bug:
      d.summary = fmt::format("{}; {} broken, {} right, {} not judged", first_culprit(d), operators_are(broken), sound,
                              not_judged);
      break;
    case Verdict::range:
      d.summary = fmt::format("{} ({}); every judged operator is right within the range of half precision",
                              first_that_counts(d).title, first_that_counts(d).cause);
      break;
    case Verdict::clean:
      d.summary =
          fmt::format("every one of {} judged operators is within its bound: what remains is rounding", c.ops_judged);
      break;
    case Verdict::inconclusive:
      d.summary =
          nothing_ran && d.log ? fmt::format("there is no dump to judge; the log says: {}", d.log->summary)
          : !covered
              ? fmt::format("only {} of {} dumped operators could be judged; none of them is broken", c.ops_judged,
                            c.ops_dumped)
              : fmt::format(
                    "no judged operator is broken, but the output depends on {} `{}`, which could not be judged ({})",
                    d.operators[static_cast<std::size_t>(unjudged)].type,
                    d.operators[static_cast<std::size_t>(unjudged)].name,
                    d.operators[static_cast<std::size_t>(unjudged)].reason);
      break;
    case Verdict::rejected: d.summary = rejected_summary(d, broken); break;
    case Verdict::load_failed: d.summary = load_summary(d); break;
  }
}

}  // namespace qnndbg
