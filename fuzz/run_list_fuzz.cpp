// parse_run_list on arbitrary text: no crash; what it returns names a model and a dump, what it refuses says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "diagnose/run_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace qnndbg;
  const auto runs = parse_run_list({reinterpret_cast<const char*>(data), size}, "runs.tsv", "/runs");
  if (!runs) {
    if (runs.error().message.find("runs.tsv") == std::string::npos) std::abort();
    return 0;
  }
  if (runs->empty() || runs->size() > size) std::abort();
  for (const ListedRun& run : *runs) {
    if (run.model.empty() || run.dump.empty()) std::abort();
    if (!run.arch.empty() && run.arch.front() != 'v') std::abort();
  }
  return 0;
}
