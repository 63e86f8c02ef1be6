// A line of blocks: how large a figure is along the network.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace qnndbg {

struct Sparkline {
  std::string blocks;        // one column per group: "▁" to "█", "·" where nothing of the group is known
  std::size_t group = 1;     // values per column
  double low = 0, high = 0;  // values at the lowest and the highest block
};

/// One block per group of consecutive values, at most `columns` of them; each shows the largest value of its group on a
/// log scale from 0.1 or less to the largest value of all (at least 10). Values that are not finite count as the
/// largest.
Sparkline sparkline(const std::vector<std::optional<double>>& values, std::size_t columns);

}  // namespace qnndbg
