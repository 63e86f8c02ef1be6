// How operators and tensors are called, by the device, in messages, and by people who mistype.
#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/graph.h"

namespace qnndbg {
namespace {

// Longer texts are no mistyped names; the limit bounds the quadratic work below.
constexpr std::size_t kMaxCompared = 512;

/// Optimal string alignment distance: insertions, deletions, substitutions, and swaps of neighbours, each one step.
/// Stops early and returns limit + 1 when the distance exceeds the limit.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t best = row[0];
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      best = std::min(best, row[j]);
    }
    if (best > limit) return limit + 1;
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

/// Position at or before `at` where no UTF-8 character is cut.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

std::string shortened(const std::string& name) {
  constexpr std::size_t kShown = 120;
  if (name.size() <= kShown) return name;
  const std::size_t head = character_start(name, kShown / 2);
  const std::size_t tail = character_start(name, name.size() - kShown / 2);
  return fmt::format("{}...{}", std::string_view(name).substr(0, head), std::string_view(name).substr(tail));
}

}  // namespace

std::string_view name_of(MnnFormat format) {
  switch (format) {
    case MnnFormat::nchw: return "NCHW";
    case MnnFormat::nhwc: return "NHWC";
    case MnnFormat::nc4hw4: return "NC4HW4";
    case MnnFormat::unknown: break;
  }
  return "unknown";
}

std::string qnn_node_name(std::string_view op_name) {
  std::string name(op_name);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '/' || c == ':'; }, '_');
  return name;
}

std::string tensor_id(int tensor) { return fmt::format("t{}", tensor); }

std::string describe(const OpNode& op) {
  if (op.name.empty()) return fmt::format("operator #{} ({})", op.index, op.type_name);
  return fmt::format("operator #{} \"{}\" ({})", op.index, shortened(op.name), op.type_name);
}

std::vector<std::string> nearest_names(std::string_view text, const std::vector<std::string>& candidates,
                                       std::size_t limit) {
  if (text.empty() || text.size() > kMaxCompared) return {};
  const std::size_t furthest = std::max<std::size_t>(2, text.size() / 3);
  std::vector<std::pair<std::size_t, std::size_t>> near;  // distance, position: equal distances keep the given order
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& candidate = candidates[i];
    const std::size_t longer = std::max(candidate.size(), text.size());
    if (candidate.empty() || longer - std::min(candidate.size(), text.size()) > furthest) continue;
    const std::size_t distance = edit_distance(text, candidate, furthest);
    if (distance <= furthest && distance < longer) near.emplace_back(distance, i);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (const auto& [distance, position] : near) {
    if (names.size() == limit) break;
    const std::string& candidate = candidates[position];
    if (std::find(names.begin(), names.end(), candidate) == names.end()) names.push_back(candidate);
  }
  return names;
}

}  // namespace qnndbg
