// Qualcomm's SoCs and the HTP architecture that each of them has.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace qnndbg {

struct Soc {
  int id = 0;             // QNN's SoC model number (MNN's and QNN's "soc_id"; not the number that Android prints)
  std::string_view name;  // "SM8650"; empty where the SDK names none
  int arch = 0;           // HTP architecture, 75 for v75; 0: the SDK tells none
};

/// All SoCs that are known, by number.
std::span<const Soc> known_socs();

/// The SoC that a user means by its QNN number ("57"), model ("SM8650"), or the name it is sold under ("8 Gen 3",
/// "Snapdragon 8 Elite"); case, spaces and dashes do not matter. nullptr when unknown.
const Soc* find_soc(std::string_view text);

/// "v75"
std::string arch_name(int arch);

/// The number in "v75", "V75" or "75"; nullopt when the text is something else.
std::optional<int> parse_arch(std::string_view text);

/// True when some known SoC has this architecture.
bool is_known_arch(int arch);

}  // namespace qnndbg
