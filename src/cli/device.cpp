#include "cli/device.h"

#include <optional>
#include <vector>

#include "cli/options.h"
#include "knowledge/soc.h"

namespace qnndbg::cli {
namespace {

/// Architecture by --soc: an empty text when the table does not tell it.
Result<std::string> arch_of_soc(const std::string& text, const Console& console) {
  const Soc* soc = find_soc(text);
  if (soc == nullptr) {
    std::vector<std::string> names;
    for (const Soc& known : known_socs()) names.emplace_back(known.name);
    return fail("--soc: `{}` is no SoC that this version knows{}; --arch vNN tells the HTP architecture directly", text,
                did_you_mean(text, names));
  }
  if (soc->arch != 0) return arch_name(soc->arch);
  console.note("no HTP architecture is known for SoC {} (QNN number {}); the loosest bounds apply", soc->name, soc->id);
  return std::string();
}

}  // namespace

Result<std::string> arch_of(const DeviceArguments& arguments, const Console& console) {
  if (!arguments.soc.empty()) return arch_of_soc(arguments.soc, console);
  if (arguments.arch.empty()) return std::string();
  const std::optional<int> arch = parse_arch(arguments.arch);
  if (!arch) return fail("--arch: `{}` is not an HTP architecture such as v75", arguments.arch);
  if (!is_known_arch(*arch)) console.note("no SoC with HTP {} is known; the loosest bounds apply", arch_name(*arch));
  return arch_name(*arch);
}

void add_device(CLI::App& command, DeviceArguments& arguments) {
  CLI::Option* soc = command
                         .add_option("--soc", arguments.soc,
                                     "SoC of the device: QNN number, model or trade name (57, SM8650, \"8 Gen 3\")")
                         ->type_name("SOC");
  command
      .add_option("--arch", arguments.arch, "HTP architecture of the device (v75); default: unknown, loosest bounds")
      ->type_name("vNN")
      ->excludes(soc);
}

}  // namespace qnndbg::cli
