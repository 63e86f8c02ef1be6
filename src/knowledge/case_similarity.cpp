#include "knowledge/case_similarity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace qnndbg {
namespace {

enum class Role : std::uint8_t {
  telling,  // can tell one problem from another
  context,  // where it happened
};

struct Kind {
  std::vector<std::string> Fingerprint::* values;  // nullptr: the codes
  std::string_view label;
  double weight;
  Role role;
  double contradiction;  // factor when run and case have values of this kind, but none in common
};

// Weights and factors are judgement: a kernel names one implementation, a class is already an interpretation, and the
// context of a problem says little about its cause. tests/knowledge/case_similarity_test.cpp holds them to examples.
constexpr std::array<Kind, 11> kKinds = {{
    {nullptr, "code", 1.0, Role::telling, 1.0},
    {&Fingerprint::classes, "class", 0.6, Role::telling, 0.5},
    {&Fingerprint::patterns, "pattern", 1.0, Role::telling, 1.0},
    {&Fingerprint::operators, "operator", 1.0, Role::telling, 0.6},
    {&Fingerprint::kernels, "kernel", 1.0, Role::telling, 1.0},
    {&Fingerprint::stages, "stage", 0.4, Role::context, 0.5},
    {&Fingerprint::archs, "architecture", 0.3, Role::context, 1.0},
    {&Fingerprint::socs, "SoC", 0.3, Role::context, 1.0},
    {&Fingerprint::stacks, "stack", 0.2, Role::context, 1.0},
    {&Fingerprint::sdk_versions, "SDK version", 0.3, Role::context, 1.0},
    {&Fingerprint::mnn_versions, "MNN version", 0.3, Role::context, 1.0},
}};
constexpr std::size_t kClasses = 1;  // in kKinds
constexpr std::size_t kPatterns = 2;
constexpr std::size_t kKernels = 4;
constexpr double kOwnPatternsMissing = 0.6;  // factor: none of the patterns that only this case has

/// Values of one kind as they are compared (lower case), with the spelling to show.
using Values = std::map<std::string, std::string>;
using Traits = std::array<Values, kKinds.size()>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

Traits traits_of(const Fingerprint& fingerprint) {
  Traits traits;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (kKinds[kind].values == nullptr) {
      for (const int code : fingerprint.codes) traits[kind].emplace(std::to_string(code), std::to_string(code));
      continue;
    }
    for (const std::string& value : fingerprint.*kKinds[kind].values) traits[kind].emplace(lower(value), value);
  }
  // Two runs that nobody can explain have nothing in common by that.
  traits[kClasses].erase("not_decidable");
  return traits;
}

/// How many cases have each trait.
class Frequencies {
 public:
  explicit Frequencies(std::span<const Traits> cases) : cases_(static_cast<double>(cases.size())) {
    for (const Traits& traits : cases)
      for (std::size_t kind = 0; kind < kKinds.size(); ++kind)
        for (const auto& [value, shown] : traits[kind]) ++counts_[kind][value];
  }

  std::size_t count(std::size_t kind, const std::string& value) const {
    const auto found = counts_[kind].find(value);
    return found == counts_[kind].end() ? 0 : found->second;
  }

  /// A trait that no case has weighs as much as one that a single case has: it is as telling, and speaks against all.
  double weight(std::size_t kind, const std::string& value) const {
    const double n = static_cast<double>(std::max<std::size_t>(count(kind, value), 1));
    return kKinds[kind].weight * std::log(1 + cases_ / n) / std::log(1 + cases_);
  }

  /// Replaces each kernel of a run by the longest kernel of the cases that it begins with: names of HTP's kernels end
  /// in their variant (q::layernorm_2d_fp16_oneshot_...).
  void shorten_kernels(Values& kernels) const {
    Values shortened;
    for (const auto& [value, shown] : kernels) {
      std::string known = value;
      while (!known.empty() && count(kKernels, known) == 0) known.pop_back();
      shortened.emplace(known.empty() ? value : known, known.empty() ? shown : shown.substr(0, known.size()));
    }
    kernels = std::move(shortened);
  }

 private:
  double cases_;
  std::array<std::unordered_map<std::string, std::size_t>, kKinds.size()> counts_;
};

struct SharedTrait {
  double weight = 0;
  std::string text;
};

/// The sums of the formula, and what is shared.
struct Overlap {
  double shared = 0;
  double context = 0;
  double run = 0;
  double other = 0;
  double factor = 1;
  std::size_t telling = 0;      // how many of the shared traits tell problems apart
  bool any_of_its_own = false;  // one of those only this case has
  std::vector<SharedTrait> traits;
};

double sum_of_weights(std::size_t kind, const Values& values, const Frequencies& frequencies) {
  double sum = 0;
  for (const auto& [value, shown] : values) sum += frequencies.weight(kind, value);
  return sum;
}

void add_kind(std::size_t kind, const Values& run, const Values& other, const Frequencies& frequencies,
              Overlap& overlap) {
  const bool telling = kKinds[kind].role == Role::telling;
  if (telling) {
    overlap.run += sum_of_weights(kind, run, frequencies);
    overlap.other += sum_of_weights(kind, other, frequencies);
  }
  bool any = false;
  for (const auto& [value, shown] : other) {
    if (!run.contains(value)) continue;
    any = true;
    if (telling) {
      ++overlap.telling;
      overlap.any_of_its_own |= frequencies.count(kind, value) == 1;
    }
    const double weight = frequencies.weight(kind, value);
    (telling ? overlap.shared : overlap.context) += weight;
    overlap.traits.push_back({weight, fmt::format("{} {}", kKinds[kind].label, shown)});
  }
  if (!any && !run.empty() && !other.empty()) overlap.factor *= kKinds[kind].contradiction;
}

/// True when the case has patterns of its own, the run has patterns, and none of them is one of those.
bool misses_own_patterns(const Values& run, const Values& other, const Frequencies& frequencies) {
  bool has_own = false;
  for (const auto& [value, shown] : other) {
    if (frequencies.count(kPatterns, value) != 1) continue;
    if (run.contains(value)) return false;
    has_own = true;
  }
  return has_own && !run.empty();
}

Overlap overlap_of(const Traits& run, const Traits& other, const Frequencies& frequencies) {
  Overlap overlap;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) add_kind(kind, run[kind], other[kind], frequencies, overlap);
  if (misses_own_patterns(run[kPatterns], other[kPatterns], frequencies)) overlap.factor *= kOwnPatternsMissing;
  return overlap;
}

double similarity_of(const Overlap& overlap) {
  if (overlap.telling == 0 || (overlap.telling == 1 && !overlap.any_of_its_own)) return 0;
  const double all = std::sqrt((overlap.run + overlap.context) * (overlap.other + overlap.context));
  const double similarity = overlap.factor * (overlap.shared + overlap.context) / all;
  // Rounded, so that the last bits of a logarithm never decide the order.
  constexpr double kSteps = 1000;
  return std::min(1.0, std::round(similarity * kSteps) / kSteps);
}

std::vector<std::string> texts_of(std::vector<SharedTrait> traits) {
  std::stable_sort(traits.begin(), traits.end(),
                   [](const SharedTrait& a, const SharedTrait& b) { return a.weight > b.weight; });
  std::vector<std::string> texts;
  for (SharedTrait& trait : traits) texts.push_back(std::move(trait.text));
  return texts;
}

struct Candidate {
  const KnownCase* known = nullptr;
  double similarity = 0;
  std::vector<SharedTrait> traits;
};

bool comes_before(const Candidate& a, const Candidate& b) {
  return a.similarity != b.similarity ? a.similarity > b.similarity : a.known->id < b.known->id;
}

}  // namespace

std::vector<SimilarCase> nearest_cases(std::span<const KnownCase* const> cases, const Fingerprint& run,
                                       std::size_t limit) {
  std::vector<Traits> traits;
  traits.reserve(cases.size());
  for (const KnownCase* known : cases) traits.push_back(traits_of(known->fingerprint));
  const Frequencies frequencies(traits);
  Traits of_run = traits_of(run);
  frequencies.shorten_kernels(of_run[kKernels]);

  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Overlap overlap = overlap_of(of_run, traits[i], frequencies);
    const double similarity = similarity_of(overlap);
    if (similarity >= kLeastSimilarity) candidates.push_back({cases[i], similarity, std::move(overlap.traits)});
  }
  std::sort(candidates.begin(), candidates.end(), comes_before);
  if (candidates.size() > limit) candidates.resize(limit);

  std::vector<SimilarCase> nearest;
  for (Candidate& candidate : candidates)
    nearest.push_back({*candidate.known, candidate.similarity, texts_of(std::move(candidate.traits))});
  return nearest;
}

}  // namespace qnndbg
