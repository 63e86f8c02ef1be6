#include "cli/known_cases.h"

#include <system_error>

#include "cli/case_store_path.h"
#include "cli/options.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
void add_store_option(CLI::App& command, std::string& store) {
  command.add_option("--store", store, kCaseStoreHelp)->type_name(kFileType);
}

Result<CaseStore> open_store_to_read(const std::string& store, const Console& console) {
  const Result<CaseStorePath> place = case_store_path(store);
  if (!place) return fail(place.error());
  std::error_code error;
  if (!place->is_default && fs::status(place->path, error).type() == fs::file_type::not_found)
    console.note("{} does not exist yet; there are only the built-in cases", place->path.string());
  return CaseStore::open(place->path, CaseStore::Access::read);
}

Result<CaseStore> open_store_to_write(const std::string& store) {
  const Result<CaseStorePath> place = case_store_path(store);
  if (!place) return fail(place.error());
  std::error_code error;
  if (place->is_default) fs::create_directories(place->path.parent_path(), error);
  if (error) return fail("{}: {}; name another file with --store", place->path.parent_path().string(), error.message());
  return CaseStore::open(place->path, CaseStore::Access::write);
}

std::vector<SimilarCase> nearest_known_cases(const std::string& store, const Fingerprint& fingerprint,
                                             std::size_t limit, const Console& console) {
  // Without a home directory there are no own cases, which is nothing to complain about here.
  Result<CaseStore> cases = case_store_path(store) ? open_store_to_read(store, console) : CaseStore::open_in_memory();
  if (!cases) {
    console.note("your own cases are left out: {}", cases.error().message);
    cases = CaseStore::open_in_memory();
  }
  return cases ? cases->nearest(fingerprint, limit) : std::vector<SimilarCase>();
}

}  // namespace qnndbg::cli
