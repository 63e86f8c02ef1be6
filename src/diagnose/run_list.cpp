#include "diagnose/run_list.h"

#include "knowledge/soc.h"
#include "tensor/mapped_file.h"

namespace qnndbg {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> fields;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    fields.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  fields.emplace_back(text);
  return fields;
}

Result<ListedRun> run_of(std::string_view line, const std::filesystem::path& directory) {
  const std::vector<std::string> fields = split(line, '\t');
  if (fields.size() < 3 || fields.size() > 4)
    return fail(
        "{} fields; model, inputs (or -), dump and, where it is known, the architecture are wanted, with tabs "
        "between them",
        fields.size());
  if (fields[0].empty() || fields[2].empty()) return fail("the model or the dump is not named");
  ListedRun run{.model = directory / fields[0], .inputs = {}, .dump = directory / fields[2], .arch = {}};
  if (!fields[1].empty() && fields[1] != "-") run.inputs = directory / fields[1];
  if (fields.size() == 4 && !fields[3].empty()) {
    const std::optional<int> arch = parse_arch(fields[3]);
    if (!arch) return fail("`{}` is not an HTP architecture such as v75", fields[3]);
    run.arch = arch_name(*arch);
  }
  return run;
}

}  // namespace

Result<std::vector<ListedRun>> parse_run_list(std::string_view text, const std::string& name,
                                              const std::filesystem::path& directory) {
  std::vector<ListedRun> runs;
  std::size_t number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (line.find('\0') != std::string::npos) return fail("{}:{}: a NUL byte; this is no text", name, number);
    auto run = run_of(line, directory);
    if (!run) return fail("{}:{}: {}", name, number, run.error().message);
    runs.push_back(std::move(*run));
  }
  if (runs.empty()) return fail("{}: lists no run", name);
  return runs;
}

Result<std::vector<ListedRun>> read_run_list(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return fail(file.error());
  const std::span<const std::byte> bytes = file->bytes();
  return parse_run_list({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string(), path.parent_path());
}

}  // namespace qnndbg
