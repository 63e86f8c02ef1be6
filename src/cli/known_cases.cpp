#include "cli/known_cases.h"

#include <cstdlib>
#include <system_error>

#include "cli/options.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

/// Non-empty value of an environment variable, else nullptr.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

void add_store_option(CLI::App& command, std::string& store) {
  command
      .add_option(
          "--store", store,
          "File of your own cases; default: $QNN_DEBUG_CASES, else qnn-debug/cases.sqlite in your data directory")
      ->type_name(kFileType);
}

Result<StorePath> store_path(const std::string& store) {
  if (!store.empty()) return StorePath{store, false};
  if (const char* file = variable("QNN_DEBUG_CASES")) return StorePath{file, false};
  const fs::path file = fs::path("qnn-debug") / "cases.sqlite";
  if (const char* data = variable("XDG_DATA_HOME"); data != nullptr && fs::path(data).is_absolute())
    return StorePath{fs::path(data) / file, true};
  if (const char* home = variable("HOME")) return StorePath{fs::path(home) / ".local" / "share" / file, true};
  return fail("no place for the case store: HOME is not set; name a file with --store");
}

Result<CaseStore> open_store_to_read(const std::string& store, const Console& console) {
  const Result<StorePath> place = store_path(store);
  if (!place) return fail(place.error());
  std::error_code error;
  if (!place->is_default && fs::status(place->path, error).type() == fs::file_type::not_found)
    console.note("{} does not exist yet; there are only the built-in cases", place->path.string());
  return CaseStore::open(place->path, CaseStore::Access::read);
}

Result<CaseStore> open_store_to_write(const std::string& store) {
  const Result<StorePath> place = store_path(store);
  if (!place) return fail(place.error());
  std::error_code error;
  if (place->is_default) fs::create_directories(place->path.parent_path(), error);
  if (error) return fail("{}: {}; name another file with --store", place->path.parent_path().string(), error.message());
  return CaseStore::open(place->path, CaseStore::Access::write);
}

std::vector<SimilarCase> nearest_known_cases(const std::string& store, const Fingerprint& fingerprint, std::size_t limit,
                                             const Console& console) {
  // Without a home directory there are no own cases, which is nothing to complain about here.
  Result<CaseStore> cases = store_path(store) ? open_store_to_read(store, console) : CaseStore::open_in_memory();
  if (!cases) {
    console.note("your own cases are left out: {}", cases.error().message);
    cases = CaseStore::open_in_memory();
  }
  return cases ? cases->nearest(fingerprint, limit) : std::vector<SimilarCase>();
}

}  // namespace qnndbg::cli
