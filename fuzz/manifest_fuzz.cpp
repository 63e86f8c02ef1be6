// A dump manifest from a stranger: no text may crash the parser, and what it calls usable must be usable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dump/dump.h"
#include "dump/paths.h"

using namespace qnndbg;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

const DumpNames& names() {
  static const DumpNames kNames = [] {
    Graph graph;
    graph.tensors.resize(92);
    for (const char* name : {"stem_c", "q__matmul_converted", "BinaryOp16", "a/b.c", "a_b", ""}) {
      OpNode op;
      op.index = static_cast<int>(graph.ops.size());
      op.name = name;
      graph.ops.push_back(op);
    }
    return DumpNames(graph);
  }();
  return kNames;
}

void check_entry(const DumpEntry& entry, const std::filesystem::path& directory) {
  const DumpRole role = names().role(entry.name);
  require(role.tensor < 92 && role.op < 6);
  if (!entry.problem.empty()) return;
  require(!entry.name.empty());
  require(check_dims(entry.dims).has_value());
  const auto relative = entry.file.lexically_normal().lexically_relative(directory);
  require(!relative.empty() && *relative.begin() != "..");
  require(entry.encoding.has_value() == (entry.quant_encoding == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path directory = "/dump";
  const Execution execution = parse_manifest(text, directory / "manifest_000000.tsv", directory);
  std::size_t unusable = 0;
  for (const DumpEntry& entry : execution.entries) {
    check_entry(entry, directory);
    if (!entry.problem.empty()) ++unusable;
  }
  require(execution.problems.size() >= unusable);
  if (execution.complete) require(unusable == 0 && !execution.entries.empty() && text.ends_with('\n'));
  return 0;
}
