#include "knowledge/case_store.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <random>
#include <set>
#include <system_error>
#include <unordered_map>

#include "knowledge/case_json.h"

namespace qnndbg {

namespace fs = std::filesystem;

namespace embedded {
extern const std::string_view known_cases_json;
}

namespace {

constexpr std::int64_t kApplicationId = 0x516E4361;  // "QnCa": tells our files from other SQLite databases

/// A row is the id and the case as a line of JSON: the text is what is checked, whoever wrote it, and a new field of
/// cases needs no new column.
constexpr std::string_view kTable =
    "CREATE TABLE cases(id TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL) WITHOUT ROWID, STRICT";

/// What brings a file from version n (PRAGMA user_version) to n + 1. New classes and fields of cases are a new version
/// too (its statement is then "SELECT 1"), so that programs that do not know them say so instead of calling a case
/// damaged.
constexpr auto kMigrations = std::to_array<std::string_view>({kTable});
constexpr std::int64_t kVersion = kMigrations.size();

// --- The file --------------------------------------------------------------------------------------------------------

Result<void> check_schema(Database& database) {
  Result<Statement> statement = database.prepare("SELECT type, sql FROM sqlite_schema");
  if (!statement) return fail(std::move(statement.error()));
  bool has_table = false;
  while (true) {
    const Result<bool> row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) break;
    // SQLite keeps the text of CREATE as it was written, so the whole definition can be compared.
    if (has_table || statement->text(0) != "table" || statement->text(1) != kTable)
      return fail("{}: has tables or other objects that qnn-debug did not make; it is not used", database.file());
    has_table = true;
  }
  if (!has_table) return fail("{}: has no table of cases; it is not used", database.file());
  return {};
}

/// Version of the file; 0 for an empty one. Errors: not ours, or of a later version of the program.
Result<std::int64_t> version_of(Database& database) {
  Result<std::int64_t> version = database.integer("PRAGMA user_version");
  if (!version) return version;
  Result<std::int64_t> application = database.integer("PRAGMA application_id");
  if (!application) return application;
  Result<std::int64_t> objects = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects;
  if (*application == 0 && *version == 0 && *objects == 0) return 0;
  if (*application != kApplicationId || *version < 1)
    return fail("{}: a database of another program, not a case store of qnn-debug; name another file", database.file());
  if (*version > kVersion)
    return fail(
        "{}: written by a later version of qnn-debug (format {}, this one knows {}); update qnn-debug, or name "
        "another file",
        database.file(), *version, kVersion);
  return version;
}

Result<void> check_integrity(Database& database) {
  Result<Statement> statement = database.prepare("PRAGMA quick_check(1)");
  if (!statement) return fail(std::move(statement.error()));
  const Result<bool> row = statement->step();
  if (!row) return fail(row.error());
  if (*row && statement->text(0) == "ok") return {};
  return fail("{}: damaged ({}); restore a copy, or save what is left with: sqlite3 FILE .recover", database.file(),
              statement->text(0));
}

Result<void> migrate(Database& database, std::int64_t version) {
  for (std::int64_t next = version; next < kVersion; ++next)
    if (Result<void> done = database.execute(kMigrations[static_cast<std::size_t>(next)]); !done) return done;
  // A pragma takes no parameters; both values are constants of this program.
  if (Result<void> done = database.execute(fmt::format("PRAGMA application_id={}", kApplicationId)); !done) return done;
  return database.execute(fmt::format("PRAGMA user_version={}", kVersion));
}

bool comes_before(const KnownCase& a, const KnownCase& b) {
  return a.created != b.created ? a.created < b.created : a.id < b.id;
}

Result<std::vector<KnownCase>> read_rows(Database& database) {
  Result<Statement> statement = database.prepare("SELECT id, document FROM cases ORDER BY id");
  if (!statement) return fail(std::move(statement.error()));
  std::vector<KnownCase> cases;
  while (true) {
    const Result<bool> row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) break;
    if (cases.size() == kMostCases) return fail("{}: holds more than {} cases", database.file(), kMostCases);
    Result<KnownCase> known = parse_case(statement->text(1));
    if (!known) return fail("{}: case {} is damaged: {}", database.file(), statement->text(0), known.error().message);
    if (known->id != statement->text(0) || !is_own_id(known->id))
      return fail("{}: case {} is damaged: its row has another id", database.file(), known->id);
    cases.push_back(std::move(*known));
  }
  std::sort(cases.begin(), cases.end(), comes_before);
  return cases;
}

Result<void> write_row(Database& database, const KnownCase& known) {
  Result<Statement> statement =
      database.prepare("INSERT INTO cases(id, document) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET document = ?2");
  if (!statement) return fail(std::move(statement.error()));
  const std::string line = case_line(known);
  if (Result<void> bound = statement->bind(1, std::string_view(known.id)); !bound) return bound;
  if (Result<void> bound = statement->bind(2, std::string_view(line)); !bound) return bound;
  const Result<bool> done = statement->step();
  if (!done) return fail(done.error());
  return {};
}

/// Whether there is such a file; an error for what cannot be a store.
Result<bool> store_exists(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) return fail("{}: {}", path.string(), error.message());
  if (fs::is_directory(status)) return fail("{}: is a directory; name the file of the case store", path.string());
  if (!fs::is_regular_file(status)) return fail("{}: is no regular file", path.string());
  return true;
}

// --- Ids and dates ---------------------------------------------------------------------------------------------------

std::string new_id() {
  std::random_device device;
  const std::uint64_t high = device();
  const std::uint64_t low = device();
  return fmt::format("U-{:08x}{:08x}", high & 0xFFFFFFFFU, low & 0xFFFFFFFFU);
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

// --- Search ----------------------------------------------------------------------------------------------------------

constexpr std::size_t kLongestSearch = 1000;  // bytes
constexpr std::size_t kMostWords = 32;

/// Words of a text, separated as FTS5's tokenizer unicode61 does it: bytes beyond ASCII belong to words.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// A query in FTS5's language: every word, each as a quoted string, so that none of them can be an operator.
std::string query_of(const std::vector<std::string>& words) {
  std::string query;
  for (const std::string& word : words) query += fmt::format("{}\"{}\"*", query.empty() ? "" : " AND ", word);
  return query;
}

/// What of a fingerprint can be searched for: codes in both bases, and all values.
std::string traits_text(const KnownCase& known) {
  std::string text = known.id;
  for (const int code : known.fingerprint.codes) text += fmt::format(" {} 0x{:x}", code, code);
  for (const FingerprintList& list : fingerprint_lists())
    text += fmt::format(" {}", fmt::join(known.fingerprint.*list.values, " "));
  return text;
}

/// The index is made for each search and in memory: it holds built-in and own cases alike, so that they can be ranked
/// together, and a store from a stranger brings no index structures of its own.
Result<Database> make_index(const std::vector<const KnownCase*>& cases) {
  Result<Database> index = Database::open_in_memory();
  if (!index) return index;
  if (auto done = index->execute("CREATE VIRTUAL TABLE texts USING fts5(title, traits, symptom, cause, fix, notes, "
                                 "content='', tokenize='unicode61 remove_diacritics 2')");
      !done)
    return fail(std::move(done.error()));
  Result<Transaction> transaction = Transaction::begin(*index, Transaction::Kind::write);
  if (!transaction) return fail(std::move(transaction.error()));
  Result<Statement> insert = index->prepare(
      "INSERT INTO texts(rowid, title, traits, symptom, cause, fix, notes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  if (!insert) return fail(std::move(insert.error()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KnownCase& known = *cases[i];
    const std::string traits = traits_text(known);
    if (auto bound = insert->bind(1, static_cast<std::int64_t>(i)); !bound) return fail(std::move(bound.error()));
    const std::array<std::string_view, 6> texts = {known.title, traits,    known.symptom,
                                                   known.cause, known.fix, known.notes};
    for (std::size_t column = 0; column < texts.size(); ++column)
      if (auto bound = insert->bind(static_cast<int>(column) + 2, texts[column]); !bound)
        return fail(std::move(bound.error()));
    if (const auto done = insert->step(); !done) return fail(done.error());
  }
  if (auto done = transaction->commit(); !done) return fail(std::move(done.error()));
  return index;
}

}  // namespace

const std::vector<KnownCase>& built_in_cases() {
  // A test reads the document; it is part of the program and cannot be wrong at run time only.
  static const std::vector<KnownCase> kCases =
      parse_case_document(embedded::known_cases_json).value_or(std::vector<KnownCase>());
  return kCases;
}

// --- Opening ---------------------------------------------------------------------------------------------------------

Result<CaseStore> CaseStore::open(const fs::path& path, Access access) {
  const Result<bool> there = store_exists(path);
  if (!there) return fail(there.error());
  if (access == Access::read && !*there) return CaseStore(std::nullopt);
  const bool writing = access == Access::write;
  Result<Database> database = Database::open(path, writing ? Database::Mode::write : Database::Mode::read);
  if (!database) return fail(std::move(database.error()));
  if (!writing) {
    CaseStore store(std::nullopt);
    if (Result<void> loaded = store.load(*database); !loaded) return fail(std::move(loaded.error()));
    return store;
  }
  if (database->is_read_only())
    return fail("{}: is read-only; nothing was changed. Name a store that you may write to with --store",
                path.string());
  CaseStore store(std::move(*database));
  if (Result<void> loaded = store.load(*store.database_); !loaded) return fail(std::move(loaded.error()));
  return store;
}

Result<CaseStore> CaseStore::open_in_memory() {
  Result<Database> database = Database::open_in_memory();
  if (!database) return fail(std::move(database.error()));
  return CaseStore(std::move(*database));
}

Result<void> CaseStore::load(Database& database) {
  const Result<Transaction> transaction = Transaction::begin(database, Transaction::Kind::read);
  if (!transaction) return fail(transaction.error());
  const Result<std::int64_t> version = version_of(database);
  if (!version) return fail(version.error());
  if (*version == 0) return {};
  if (Result<void> checked = check_schema(database); !checked) return checked;
  if (Result<void> checked = check_integrity(database); !checked) return checked;
  Result<std::vector<KnownCase>> cases = read_rows(database);
  if (!cases) return fail(std::move(cases.error()));
  own_ = std::move(*cases);
  return {};
}

// --- Reading ---------------------------------------------------------------------------------------------------------

std::vector<const KnownCase*> CaseStore::list() const {
  std::set<std::string_view> superseded;
  for (const KnownCase& known : own_) superseded.insert(known.supersedes);
  std::vector<const KnownCase*> cases;
  for (const KnownCase& known : built_in_cases())
    if (!superseded.contains(known.id)) cases.push_back(&known);
  for (const KnownCase& known : own_) cases.push_back(&known);
  return cases;
}

std::vector<const KnownCase*> CaseStore::own() const {
  std::vector<const KnownCase*> cases;
  for (const KnownCase& known : own_) cases.push_back(&known);
  return cases;
}

const KnownCase* CaseStore::find(std::string_view id) const {
  for (const std::vector<KnownCase>* cases : {&built_in_cases(), &own_})
    for (const KnownCase& known : *cases)
      if (known.id == id) return &known;
  return nullptr;
}

std::vector<const KnownCase*> CaseStore::about(std::string_view id) const {
  std::vector<const KnownCase*> cases;
  for (const KnownCase& known : own_)
    if (known.supersedes == id || known.annotates == id) cases.push_back(&known);
  return cases;
}

Result<std::vector<const KnownCase*>> CaseStore::search(std::string_view text, std::size_t limit) const {
  if (text.size() > kLongestSearch)
    return fail("the search text has {} bytes, at most {} are read", text.size(), kLongestSearch);
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return fail("the search text has no word in it");
  if (words.size() > kMostWords)
    return fail("the search text has {} words, at most {} are read", words.size(), kMostWords);
  const std::vector<const KnownCase*> cases = list();
  Result<Database> index = make_index(cases);
  if (!index) return fail(std::move(index.error()));
  // Weights of title, traits, symptom, cause, fix, notes.
  Result<Statement> statement = index->prepare(
      "SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY bm25(texts, 8, 6, 3, 2, 2, 1), rowid LIMIT ?2");
  if (!statement) return fail(std::move(statement.error()));
  const std::string query = query_of(words);
  if (auto bound = statement->bind(1, std::string_view(query)); !bound) return fail(std::move(bound.error()));
  if (auto bound = statement->bind(2, static_cast<std::int64_t>(std::min(limit, kMostCases))); !bound)
    return fail(std::move(bound.error()));
  std::vector<const KnownCase*> found;
  while (true) {
    const Result<bool> row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) return found;
    found.push_back(cases[static_cast<std::size_t>(statement->integer(0))]);
  }
}

std::vector<SimilarCase> CaseStore::nearest(const Fingerprint& run, std::size_t limit) const {
  std::vector<const KnownCase*> candidates = list();
  // A note has the fingerprint of nothing; it is shown with the case that it is about.
  std::erase_if(candidates, [](const KnownCase* known) { return !known->annotates.empty(); });
  return nearest_cases(candidates, run, limit);
}

std::string CaseStore::export_text(bool all) const {
  std::vector<const KnownCase*> cases;
  if (all)
    for (const KnownCase& known : built_in_cases()) cases.push_back(&known);
  for (const KnownCase& known : own_) cases.push_back(&known);
  return case_document(cases);
}

// --- Changing --------------------------------------------------------------------------------------------------------

Result<Transaction> CaseStore::begin_change() {
  if (!database_) return fail("the case store is open for reading only");
  Result<Transaction> transaction = Transaction::begin(*database_, Transaction::Kind::write);
  if (!transaction) return transaction;
  // Again, because another process may have written since the file was opened, a later version of the program too.
  const Result<std::int64_t> version = version_of(*database_);
  if (!version) return fail(version.error());
  if (*version < kVersion)
    if (Result<void> done = migrate(*database_, *version); !done) return fail(std::move(done.error()));
  Result<std::vector<KnownCase>> cases = read_rows(*database_);
  if (!cases) return fail(std::move(cases.error()));
  own_ = std::move(*cases);
  return transaction;
}

Result<KnownCase> CaseStore::add(KnownCase known) {
  if (known.id.empty()) known.id = new_id();
  if (known.created.empty()) known.created = now();
  if (known.updated.empty()) known.updated = known.created;
  normalize(known);
  if (Result<void> checked = check_case(known); !checked) return fail(std::move(checked.error()));
  if (!is_own_id(known.id))
    return fail("id: {} is the id of a built-in case; leave it out, or use `supersedes`", known.id);
  for (const std::string& target : {known.supersedes, known.annotates})
    if (!target.empty() && find(target) == nullptr) return fail("there is no built-in case {}", target);

  Result<Transaction> transaction = begin_change();
  if (!transaction) return fail(std::move(transaction.error()));
  if (find(known.id) != nullptr) return fail("id: there is a case {} already; `case import` updates it", known.id);
  if (own_.size() >= kMostCases) return fail("{}: is full, it holds {} cases", database_->file(), own_.size());
  if (Result<void> written = write_row(*database_, known); !written) return fail(std::move(written.error()));
  if (Result<void> done = transaction->commit(); !done) return fail(std::move(done.error()));
  own_.insert(std::upper_bound(own_.begin(), own_.end(), known, comes_before), known);
  return known;
}

Result<ImportReport> CaseStore::import_text(std::string_view document) {
  Result<std::vector<KnownCase>> cases = parse_case_document(document);
  if (!cases) return fail(std::move(cases.error()));
  Result<Transaction> transaction = begin_change();
  if (!transaction) return fail(std::move(transaction.error()));

  ImportReport report;
  std::vector<KnownCase> merged = own_;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < own_.size(); ++i) places.emplace(own_[i].id, i);
  for (KnownCase& known : *cases) {
    if (is_built_in_id(known.id)) {
      ++report.built_in;
      continue;
    }
    const auto place = places.find(known.id);
    if (place != places.end()) {
      KnownCase& old = merged[place->second];
      if (known == old) {
        ++report.unchanged;
        continue;
      }
      if (known.updated <= old.updated) {
        ++report.kept;
        continue;
      }
      old = known;
      ++report.updated;
    } else {
      merged.push_back(known);
      ++report.added;
    }
    if (Result<void> written = write_row(*database_, known); !written) return fail(std::move(written.error()));
  }
  if (merged.size() > kMostCases)
    return fail("{}: would hold {} cases, at most {} are allowed", database_->file(), merged.size(), kMostCases);
  if (Result<void> done = transaction->commit(); !done) return fail(std::move(done.error()));
  std::sort(merged.begin(), merged.end(), comes_before);
  own_ = std::move(merged);
  return report;
}

}  // namespace qnndbg
