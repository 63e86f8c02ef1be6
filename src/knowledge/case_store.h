// The case base: the program's built-in cases, and a user's own in one SQLite file.
//
//   Result<CaseStore> store = CaseStore::open("cases.sqlite", CaseStore::Access::read);
//   for (const SimilarCase& seen : store->nearest(fingerprint, 3)) ...
//
// - The built-in cases are part of the program: they are there without a file, and no file changes them. A user's case
//   may supersede one of them, which then is neither listed nor matched, or annotate it.
// - Opening for reading makes and changes no file; a file that does not exist is an empty store. The one exception:
// what
//   a killed writer left half done is rolled back, if the user may write.
// - Every change is one transaction: killed at any moment it has happened or it has not. Writers in several processes
//   wait for each other. The rollback journal is used and not WAL, because WAL makes readers write files of their own
//   and does not work on network file systems.
// - The file may come from a stranger: it is opened with SQLite's defences on, must have exactly our schema, and every
//   case in it is checked as if it were imported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/case_similarity.h"
#include "knowledge/known_case.h"
#include "knowledge/sqlite.h"

namespace qnndbg {

/// The cases that come with the program, by id.
const std::vector<KnownCase>& built_in_cases();

/// What an import did with the cases of a document.
struct ImportReport {
  std::size_t added = 0;
  std::size_t updated = 0;    // the document's is newer
  std::size_t unchanged = 0;  // the same
  std::size_t kept = 0;       // different, but the document's is not newer: left as it is
  std::size_t built_in = 0;   // belong to the program: left out
};

class CaseStore {
 public:
  enum class Access : std::uint8_t { read, write };

  /// With Access::write the file is made if it does not exist; its directory must exist.
  static Result<CaseStore> open(const std::filesystem::path& path, Access access);
  /// A store that is gone with the object.
  static Result<CaseStore> open_in_memory();

  /// Built-in cases by id, then the user's own by date and id; superseded ones are left out. Pointers are good until
  /// the store is changed.
  std::vector<const KnownCase*> list() const;
  /// The user's own.
  std::vector<const KnownCase*> own() const;
  /// Any case, superseded ones too; nullptr if there is none.
  const KnownCase* find(std::string_view id) const;
  /// The user's cases that supersede or annotate this one.
  std::vector<const KnownCase*> about(std::string_view id) const;

  /// Cases with all words of `text` (each may be the beginning of a longer one), the best first: a word in the title or
  /// the fingerprint counts more than one in the notes (BM25). Punctuation separates words.
  Result<std::vector<const KnownCase*>> search(std::string_view text, std::size_t limit) const;

  /// Cases that look like a run (case_similarity.h).
  std::vector<SimilarCase> nearest(const Fingerprint& run, std::size_t limit) const;

  /// Adds one of the user's own. An empty id and empty dates are filled in. Errors: the case is not one that may be
  /// kept (check_case), or its id is taken. Returns the case as it is kept.
  Result<KnownCase> add(KnownCase known);

  /// Reads a document (case_json.h) into the store: all of it, or nothing and an error.
  Result<ImportReport> import_text(std::string_view document);

  /// The user's own cases as a document; with `all` also the built-in ones.
  std::string export_text(bool all) const;

 private:
  explicit CaseStore(std::optional<Database> database) : database_(std::move(database)) {}

  Result<void> load(Database& database);
  /// Begins a change: everybody else waits, and own_ is what the file holds now.
  Result<Transaction> begin_change();

  std::optional<Database> database_;  // of a store that may be written to
  std::vector<KnownCase> own_;        // by date and id
};

}  // namespace qnndbg
