#include "knowledge/soc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace qnndbg {
namespace {

// Basis: the table that Qualcomm's HTP library of QAIRT 2.51 reports for each number, and the SoC enumeration of the
// QAIRT 2.30 headers for one name that the library leaves out (SA8255).
constexpr auto kSocs = std::to_array<Soc>({
    {1, "SDM845", 65},     {5, "SDM801", 0},     {6, "SDM670", 65},        {10, "SDM630", 0},    {11, "SDM625", 0},
    {12, "SM8150", 66},    {13, "SDM710", 65},   {15, "SDM632", 0},        {16, "SM6150", 66},   {17, "SM7150", 65},
    {18, "QCS405", 66},    {19, "SM6125", 66},   {20, "QCS403", 66},       {21, "SM8250", 66},   {25, "SM7250", 66},
    {26, "SA8195", 66},    {27, "SM6250", 66},   {28, "SM4250", 66},       {29, "SM6350", 66},   {30, "SM8350", 68},
    {31, "SM4350", 66},    {32, "SM7350", 68},   {33, "QCS410", 66},       {34, "SM8325", 68},   {35, "SM7325", 68},
    {36, "SM8450", 69},    {37, "SC8280X", 68},  {38, "SM7315", 68},       {39, "SA8295", 68},   {40, "SM6225", 66},
    {41, "SM7450", 69},    {42, "SM8475", 69},   {43, "SM8550", 73},       {45, "SXR1230P", 73}, {46, "SSG2115P", 73},
    {47, "STP6225P", 66},  {48, "QCS6125", 66},  {49, "QRB4210", 66},      {50, "SM6450", 73},   {51, "QCS7230", 66},
    {52, "SA8255", 73},    {53, "SXR2230P", 69}, {54, "SM7475", 69},       {55, "SM4375", 66},   {56, "QCM4325", 66},
    {57, "SM8650", 75},    {58, "SSG2125P", 73}, {59, "SM4450", 0},        {60, "SC8380XP", 73}, {61, "SM7435", 73},
    {62, "", 68},          {63, "", 68},         {64, "SM7550", 73},       {65, "SM6450Q", 0},   {66, "QCS8550", 73},
    {67, "SA8620P", 75},   {68, "SM8635", 73},   {69, "SM8750", 79},       {70, "SM7675", 73},   {71, "SM4635", 0},
    {72, "", 81},          {73, "SM7635", 73},   {74, "SM6650", 73},       {75, "SXR2330P", 79}, {76, "SM6475", 73},
    {77, "", 73},          {78, "QCM6690", 73},  {82, "QCS8300", 75},      {83, "QCS2290", 0},   {84, "SA525M", 0},
    {85, "SM8735", 73},    {86, "SM7750", 73},   {87, "SM8850", 81},       {88, "SC8480XP", 81}, {89, "QCM8538", 73},
    {90, "QCS8625", 75},   {91, "SM7775", 73},   {92, "SM8850L", 81},      {93, "QCS6490", 68},  {94, "SC8440XP", 81},
    {95, "", 81},          {96, "SW6100", 81},   {97, "SM8845", 81},       {99, "QCM8838", 81},  {100, "SAR1165P", 73},
    {101, "SAR1180P", 73}, {102, "CQ7790M", 73}, {103, "SM8975", 85},      {104, "CQ8725S", 79}, {105, "CQ8750S", 79},
    {106, "SM6850", 0},    {107, "SM4850", 0},   {108, "CPN3050_SIM", 81}, {109, "QCS8845", 81}, {110, "XRV7200", 81},
    {111, "XRV7205", 81},  {112, "SM8975L", 85}, {113, "SM8950", 85},      {114, "", 85},        {115, "QMX115", 81},
    {116, "CQ2390M", 66},  {117, "IPQ9650", 81}, {118, "SM4875", 0},       {119, "IQX5121", 73}, {120, "SC8340XP", 73},
    {122, "CPN3050", 89},  {123, "SM7950", 81},
});

struct Marketing {
  std::string_view name;  // as normalized() leaves it
  std::string_view model;
};

// Names under which the chips are sold. Basis: Qualcomm's product pages.
constexpr auto kMarketingNames = std::to_array<Marketing>({
    {"888", "SM8350"},
    {"8gen1", "SM8450"},
    {"8+gen1", "SM8475"},
    {"8gen2", "SM8550"},
    {"8gen3", "SM8650"},
    {"8sgen3", "SM8635"},
    {"8elite", "SM8750"},
    {"xelite", "SC8380XP"},
});

/// Lower case without spaces, dashes and the word "Snapdragon".
std::string normalized(std::string_view text) {
  constexpr std::string_view kBrand = "snapdragon";
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (out.starts_with(kBrand)) out.erase(0, kBrand.size());
  return out;
}

const Soc* find_by_name(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found =
      std::find_if(kSocs.begin(), kSocs.end(), [&](const Soc& soc) { return normalized(soc.name) == name; });
  return found == kSocs.end() ? nullptr : &*found;
}

const Soc* find_by_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return nullptr;
  const auto found = std::find_if(kSocs.begin(), kSocs.end(), [&](const Soc& soc) { return soc.id == number; });
  return found == kSocs.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Soc> known_socs() { return kSocs; }

const Soc* find_soc(std::string_view text) {
  const std::string name = normalized(text);
  if (name.empty()) return nullptr;  // some rows have no name
  for (const Marketing& marketing : kMarketingNames)
    if (marketing.name == name) return find_by_name(normalized(marketing.model));
  const Soc* soc = find_by_number(text);  // before its sign is normalized away
  return soc != nullptr ? soc : find_by_name(name);
}

std::string arch_name(int arch) { return fmt::format("v{}", arch); }

std::optional<int> parse_arch(std::string_view text) {
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  int arch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch);
  const bool two_digits = text.size() == 2 && arch >= 10 && error == std::errc() && end == text.data() + text.size();
  return two_digits ? std::optional(arch) : std::nullopt;
}

bool is_known_arch(int arch) {
  return std::any_of(kSocs.begin(), kSocs.end(), [&](const Soc& soc) { return arch != 0 && soc.arch == arch; });
}

}  // namespace qnndbg
