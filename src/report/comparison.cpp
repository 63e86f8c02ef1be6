#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "report/finding_text.h"
#include "report/network.h"
#include "report/style.h"

namespace qnndbg {
namespace {

// --- States ----------------------------------------------------------------------------------------------------------

/// The better, the smaller.
int badness(Verdict verdict) {
  constexpr auto kOrder = std::to_array(
      {Verdict::clean, Verdict::inconclusive, Verdict::range, Verdict::bug, Verdict::rejected, Verdict::load_failed});
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), verdict) - kOrder.begin());
}

Trend trend_of(int before, int after) {
  return after > before ? Trend::worse : after < before ? Trend::better : Trend::same;
}

bool is_wrong(OpStatus status) { return status == OpStatus::broken || status == OpStatus::consequence; }
bool is_judged(OpStatus status) {
  return is_wrong(status) || status == OpStatus::right || status == OpStatus::inherited;
}

/// Right, wrong, not judged, or not on the device at all. Whether something upstream is broken is no state of its own.
int state_of(OpStatus status) {
  if (is_wrong(status)) return 1;
  if (is_judged(status)) return 0;
  return status == OpStatus::not_judged ? 2 : 3;
}

/// To be judged is better than not to be, whatever the judgement says; then to be right.
Trend trend_of(OpStatus before, OpStatus after) {
  if (before == OpStatus::set_aside || after == OpStatus::set_aside) return Trend::same;
  if (is_judged(before) != is_judged(after)) return is_judged(after) ? Trend::better : Trend::worse;
  return trend_of(state_of(before), state_of(after));
}

/// Whether a maximum differs noticeably. Not finite is the largest there is.
Trend trend_of(double before, double after, double smallest) {
  const auto value = [smallest](double v) { return std::isfinite(v) ? std::max(v, smallest) : HUGE_VAL; };
  if (value(before) == value(after)) return Trend::same;
  if (value(after) > kNoticeableFactor * value(before)) return Trend::worse;
  return value(before) > kNoticeableFactor * value(after) ? Trend::better : Trend::same;
}

// --- Operators -------------------------------------------------------------------------------------------------------

using OperatorPair = std::pair<const OperatorRow*, const OperatorRow*>;

class OperatorPairs {
 public:
  OperatorPairs(const Diagnosis& before, const Diagnosis& after) {
    pair_by_name(before, after);
    pair_by_index();
    std::sort(pairs_.begin(), pairs_.end(), [](const OperatorPair& a, const OperatorPair& b) {
      return std::pair(a.second->index, a.first->index) < std::pair(b.second->index, b.first->index);
    });
  }

  const std::vector<OperatorPair>& pairs() const { return pairs_; }
  const std::vector<const OperatorRow*>& only_before() const { return only_before_; }
  const std::vector<const OperatorRow*>& only_after() const { return only_after_; }

 private:
  using Key = std::tuple<std::string_view, std::string_view, int>;  // name, type, how many of that name came before it

  static std::map<Key, const OperatorRow*> by_key(const Diagnosis& diagnosis) {
    std::map<Key, const OperatorRow*> rows;
    std::map<std::pair<std::string_view, std::string_view>, int> seen;
    for (const OperatorRow& row : diagnosis.operators)
      rows.emplace(Key{row.name, row.type, seen[{row.name, row.type}]++}, &row);
    return rows;
  }

  void pair_by_name(const Diagnosis& before, const Diagnosis& after) {
    std::map<Key, const OperatorRow*> others = by_key(after);
    for (const auto& [key, row] : by_key(before)) {
      const auto same = others.find(key);
      if (same == others.end()) {
        only_before_.push_back(row);
        continue;
      }
      pairs_.emplace_back(row, same->second);
      others.erase(same);
    }
    for (const auto& [key, row] : others) only_after_.push_back(row);
  }

  /// Of the operators that are left, those of one type at one place: a converter gave it another name.
  void pair_by_index() {
    const auto by_index = [](const OperatorRow* a, const OperatorRow* b) { return a->index < b->index; };
    std::sort(only_before_.begin(), only_before_.end(), by_index);
    std::sort(only_after_.begin(), only_after_.end(), by_index);
    std::unordered_map<int, std::size_t> places;
    for (std::size_t i = 0; i < only_after_.size(); ++i) places.emplace(only_after_[i]->index, i);
    for (const OperatorRow*& row : only_before_) {
      const auto place = places.find(row->index);
      if (place == places.end() || only_after_[place->second]->type != row->type) continue;
      pairs_.emplace_back(row, std::exchange(only_after_[place->second], nullptr));
      places.erase(place);
      row = nullptr;
    }
    std::erase(only_before_, nullptr);
    std::erase(only_after_, nullptr);
  }

  std::vector<OperatorPair> pairs_;
  std::vector<const OperatorRow*> only_before_, only_after_;
};

// --- Findings --------------------------------------------------------------------------------------------------------

/// Why a diagnosis could not have shown a finding of another one; empty: it could have. `row`: the finding's operator
/// in that diagnosis.
std::string why_not_shown(const Finding& finding, const std::optional<OperatorRow>& row, const Diagnosis& d) {
  const bool from_log = finding.kind == FindingKind::rejected || finding.kind == FindingKind::unregistered ||
                        finding.kind == FindingKind::load;
  const bool ran = !d.run.dump.empty();
  // A graph that ran has loaded, and all its operators have nodes; of refusals only the log tells.
  if (from_log && d.run.log.empty() && (finding.kind == FindingKind::rejected || !ran)) return "no log was read";
  if (finding.op_index >= 0 && !row) return "the model has no such operator";
  if (from_log) return {};
  if (!ran) return "there is no dump";
  if (finding.kind == FindingKind::input)
    return finding.cause == "input_differs" && !d.run.inputs_given ? "no inputs were given to compare with" : "";
  if (!row || is_judged(row->status)) return {};
  return row->reason.empty() ? "its operator was not judged" : "its operator was not judged: " + row->reason;
}

class FindingPairs {
 public:
  FindingPairs(const Diagnosis& before, const Diagnosis& after, const OperatorPairs& operators)
      : before_(before), after_(after) {
    for (const OperatorPair& pair : operators.pairs()) {
      by_before_.emplace(pair.first->index, &pair);
      by_after_.emplace(pair.second->index, &pair);
    }
    for (const OperatorRow* row : operators.only_before()) only_before_.insert(row->index);
    for (const OperatorRow* row : operators.only_after()) only_after_.insert(row->index);
    for (const Finding& f : before_.findings) rest_before_.push_back(&f);
    for (const Finding& f : after_.findings) rest_after_.push_back(&f);
  }

  std::vector<ComparedFinding> compare() {
    // From the strictest idea of "the same finding" to the loosest; who found a partner leaves.
    pair_by(
        [](const Finding& f) { return fmt::format("{}/{}/{}/{}", name_of(f.kind), f.output, f.cause, f.dump_tensor); });
    pair_by([](const Finding& f) { return fmt::format("{}/{}/{}", name_of(f.kind), f.output, f.cause); });
    // Another cause or kind. A warning is no other kind of bug, and what the log says no other kind of what tensors
    // say.
    pair_by([](const Finding& f) {
      return fmt::format("{}/{}/{}", f.kind == FindingKind::warning, f.local_error.has_value(), f.output);
    });
    add_rest();
    std::stable_sort(out_.begin(), out_.end(), [](const Placed& a, const Placed& b) { return a.place < b.place; });
    std::vector<ComparedFinding> findings;
    for (Placed& placed : out_) findings.push_back(std::move(placed.finding));
    return findings;
  }

 private:
  using ByIndex = std::unordered_map<int, const OperatorPair*>;
  struct Placed {
    int place = 0;  // index of the operator in `after`, or else in `before`
    ComparedFinding finding;
  };

  static const OperatorPair* find(const ByIndex& pairs, int index) {
    const auto found = pairs.find(index);
    return found == pairs.end() ? nullptr : found->second;
  }

  /// What a finding is about, in terms of `after`: an operator, or a node that none is known for. Operators that a
  /// document does not list are told apart by their index.
  std::string place_of(const Finding& f, bool is_before) const {
    if (f.op_index < 0) return fmt::format("node/{}/{}", f.op_type, f.node);
    const OperatorPair* pair = find(is_before ? by_before_ : by_after_, f.op_index);
    if (pair != nullptr) return fmt::format("operator/{}", pair->second->index);
    const bool listed = (is_before ? only_before_ : only_after_).contains(f.op_index);
    return fmt::format("{}/{}", !listed ? "unlisted" : is_before ? "before" : "after", f.op_index);
  }

  template <class Key>
  void pair_by(Key key) {
    std::unordered_map<std::string, std::deque<const Finding*>> partners;
    for (const Finding* f : rest_after_) partners[place_of(*f, false) + '/' + key(*f)].push_back(f);
    std::unordered_set<const Finding*> paired;
    std::erase_if(rest_before_, [&](const Finding* f) {
      const auto found = partners.find(place_of(*f, true) + '/' + key(*f));
      if (found == partners.end() || found->second.empty()) return false;
      const Finding* partner = found->second.front();
      found->second.pop_front();
      paired.insert(partner);
      out_.push_back({partner->op_index, with_operators(compared(*f, *partner))});
      return true;
    });
    std::erase_if(rest_after_, [&](const Finding* f) { return paired.contains(f); });
  }

  static ComparedFinding compared(const Finding& b, const Finding& a) {
    ComparedFinding out;
    out.before = b;
    out.after = a;
    if (b.cause != a.cause) out.what.emplace_back("cause");
    if (b.kind != a.kind) out.what.emplace_back("kind");
    if (b.proven != a.proven) out.what.emplace_back("proven");
    if (b.local_error && a.local_error && b.local_error->bound_ratio && a.local_error->bound_ratio)
      out.error = trend_of(*b.local_error->bound_ratio, *a.local_error->bound_ratio, 1);
    if (out.error != Trend::same) out.what.emplace_back("error");
    out.change = out.what.empty() ? FindingChange::still : FindingChange::changed;
    return out;
  }

  ComparedFinding with_operators(ComparedFinding finding) const {
    const OperatorPair* pair =
        finding.after ? find(by_after_, finding.after->op_index) : find(by_before_, finding.before->op_index);
    if (pair == nullptr) return finding;
    finding.operator_before = *pair->first;
    finding.operator_after = *pair->second;
    return finding;
  }

  void add_rest() {
    for (const Finding* f : rest_before_) {
      ComparedFinding out;
      out.before = *f;
      out = with_operators(std::move(out));
      out.reason = why_not_shown(*f, out.operator_after, after_);
      out.change = out.reason.empty() ? FindingChange::fixed : FindingChange::gone;
      const int place = out.operator_after ? out.operator_after->index : f->op_index;
      out_.push_back({place, std::move(out)});
    }
    for (const Finding* f : rest_after_) {
      ComparedFinding out;
      out.after = *f;
      out = with_operators(std::move(out));
      out.reason = why_not_shown(*f, out.operator_before, before_);
      out.change = out.reason.empty() ? FindingChange::appeared : FindingChange::found;
      out_.push_back({f->op_index, std::move(out)});
    }
  }

  const Diagnosis& before_;
  const Diagnosis& after_;
  ByIndex by_before_, by_after_;
  std::unordered_set<int> only_before_, only_after_;
  std::vector<const Finding*> rest_before_, rest_after_;
  std::vector<Placed> out_;
};

// --- Facts and outputs -----------------------------------------------------------------------------------------------

std::vector<ComparedFact> facts_of(const Diagnosis& before, const Diagnosis& after) {
  std::vector<ComparedFact> facts;
  const auto add = [&facts](std::string_view what, const auto& b, const auto& a) {
    // As text, for NaN is not equal to itself.
    ComparedFact fact{std::string(what), fmt::format("{}", b), fmt::format("{}", a)};
    if (fact.before != fact.after) facts.push_back(std::move(fact));
  };
  add("model.bytes", before.model.bytes, after.model.bytes);
  add("model.operators", before.model.operators, after.model.operators);
  add("model.converter_version", before.model.converter_version, after.model.converter_version);
  add("run.soc", before.run.soc, after.run.soc);
  add("run.arch", before.run.arch, after.run.arch);
  add("run.library", before.run.library, after.run.library);
  add("run.mnn", before.run.mnn, after.run.mnn);
  add("run.constant_rounding", before.run.constant_rounding, after.run.constant_rounding);
  add("run.tolerance_scale", before.run.tolerance_scale, after.run.tolerance_scale);
  add("run.inputs_given", before.run.inputs_given, after.run.inputs_given);
  return facts;
}

bool is_output(const OperatorRow& row, const Network& network) {
  return row.end_to_end && std::any_of(row.outputs.begin(), row.outputs.end(),
                                       [&](const std::string& tensor) { return !network.has_consumer(tensor); });
}

std::vector<ComparedOutput> outputs_of(const OperatorPairs& operators, const Diagnosis& before,
                                       const Diagnosis& after) {
  const Network network_before(before);
  const Network network_after(after);
  std::vector<ComparedOutput> outputs;
  for (const auto& [b, a] : operators.pairs())
    if (is_output(*b, network_before) && is_output(*a, network_after))
      outputs.push_back({*b, *a, trend_of(b->end_to_end->max_rel, a->end_to_end->max_rel, kSmallestEndToEnd)});
  return outputs;
}

// --- Sums ------------------------------------------------------------------------------------------------------------

bool is_no_warning(const ComparedFinding& finding) { return finding.shown().kind != FindingKind::warning; }

long long count_of(const Comparison& c, FindingChange change) {
  return std::count_if(c.findings.begin(), c.findings.end(),
                       [&](const ComparedFinding& f) { return f.change == change && is_no_warning(f); });
}

long long judged_change(const Comparison& c, Trend trend) {
  return std::count_if(c.operators.begin(), c.operators.end(), [&](const ComparedOperator& row) {
    return row.trend == trend && is_judged(row.before.status) != is_judged(row.after.status);
  });
}

long long right_change(const Comparison& c, Trend trend) {
  return std::count_if(c.operators.begin(), c.operators.end(), [&](const ComparedOperator& row) {
    return row.trend == trend && is_judged(row.before.status) && is_judged(row.after.status);
  });
}

/// How to say it, by trend.
struct Words {
  std::string_view findings, right, judged, output;
};

std::vector<std::string> list_of(const Comparison& c, Trend trend, FindingChange alone, const Words& words) {
  std::vector<std::string> out;
  const auto add = [&out](long long count, std::string_view before, std::string_view noun, std::string_view after) {
    if (count > 0) out.push_back(fmt::format("{} {}{}{}{}", count, before, noun, count == 1 ? "" : "s", after));
  };
  if (c.verdict == trend)
    out.push_back(fmt::format("the verdict, {} after {}", name_of(c.after.verdict), name_of(c.before.verdict)));
  add(count_of(c, alone), words.findings, "finding", "");
  if (trend == Trend::worse)
    add(count_of(c, FindingChange::found), "", "finding", " where nothing could be shown before");
  add(right_change(c, trend), "", "operator", words.right);
  add(judged_change(c, trend), "", "operator", words.judged);
  if (c.before.verdict != Verdict::clean || c.after.verdict != Verdict::clean) return out;
  for (const ComparedOutput& row : c.outputs)
    if (row.trend == trend)
      out.push_back(fmt::format("the end-to-end error of {}, {} {}", op_title(row.after.type, row.after.name),
                                words.output, figure(row.after.end_to_end->max_rel)));
  return out;
}

}  // namespace

long long Comparison::count(FindingChange change) const {
  return std::count_if(findings.begin(), findings.end(), [&](const auto& f) { return f.change == change; });
}

Comparison compare(Diagnosis before, Diagnosis after) {
  Comparison out;
  out.before = std::move(before);
  out.after = std::move(after);
  const OperatorPairs operators(out.before, out.after);
  out.verdict = trend_of(badness(out.before.verdict), badness(out.after.verdict));
  out.facts = facts_of(out.before, out.after);
  out.findings = FindingPairs(out.before, out.after, operators).compare();
  for (const auto& [b, a] : operators.pairs())
    if (state_of(b->status) != state_of(a->status)) out.operators.push_back({*b, *a, trend_of(b->status, a->status)});
  out.outputs = outputs_of(operators, out.before, out.after);
  out.paired = operators.pairs().size();
  for (const OperatorRow* row : operators.only_before()) out.removed.push_back(*row);
  for (const OperatorRow* row : operators.only_after()) out.added.push_back(*row);
  return out;
}

Result<void> check_comparable(const Comparison& c) {
  const std::size_t larger = std::max(c.before.operators.size(), c.after.operators.size());
  if (2 * c.paired >= larger) return {};
  return fail("these are diagnoses of different models: only {} of {} operators are in both; compare runs of one model",
              c.paired, larger);
}

std::vector<std::string> what_got_worse(const Comparison& c) {
  return list_of(
      c, Trend::worse, FindingChange::appeared,
      {.findings = "new ", .right = " wrong now and right before", .judged = " no longer judged", .output = "up to"});
}

std::vector<std::string> what_got_better(const Comparison& c) {
  return list_of(c, Trend::better, FindingChange::fixed,
                 {.findings = "fixed ",
                  .right = " right now and wrong before",
                  .judged = " judged now and not before",
                  .output = "down to"});
}

std::string_view outcome_of(const Comparison& c) {
  const bool worse = !what_got_worse(c).empty();
  const bool better = !what_got_better(c).empty();
  return worse && better ? "mixed" : worse ? "worse" : better ? "better" : "same";
}

std::string_view name_of(FindingChange change) {
  switch (change) {
    case FindingChange::fixed: return "fixed";
    case FindingChange::gone: return "gone";
    case FindingChange::appeared: return "new";
    case FindingChange::found: return "found";
    case FindingChange::changed: return "changed";
    case FindingChange::still: return "still";
  }
  return "still";
}

std::string_view name_of(Trend trend) {
  switch (trend) {
    case Trend::same: return "same";
    case Trend::better: return "better";
    case Trend::worse: return "worse";
  }
  return "same";
}

}  // namespace qnndbg
