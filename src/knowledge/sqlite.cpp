#include "knowledge/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <cstring>

namespace qnndbg {
namespace {

constexpr int kPatienceMilliseconds = 10'000;  // with another writer; a write of ours takes milliseconds

/// Whole sentence about a failed call.
Error explain(const std::string& file, sqlite3* connection) {
  const int code = sqlite3_extended_errcode(connection);
  const int system_error = sqlite3_system_errno(connection);
  const std::string reason = system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(connection);
  if (code == SQLITE_READONLY_ROLLBACK)
    return {
        fmt::format("{}: a writer was killed and left its journal; run `qnn-debug case list` as somebody who may write "
                    "to the file and its directory",
                    file)};
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return {fmt::format("{}: not an SQLite database; name another file, or move this one away", file)};
    case SQLITE_CORRUPT:
      return {fmt::format("{}: damaged ({}); restore a copy, or save what is left with: sqlite3 FILE .recover", file,
                          sqlite3_errmsg(connection))};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {fmt::format("{}: another process has been writing to it for {} s; try again", file,
                          kPatienceMilliseconds / 1000)};
    case SQLITE_READONLY:
      return {fmt::format("{}: cannot be written: the file or its directory is read-only; nothing was changed", file)};
    case SQLITE_FULL: return {fmt::format("{}: the disk is full; nothing was changed", file)};
    case SQLITE_CANTOPEN:
      // Also the journal, which is made beside the file.
      return {fmt::format("{}: the file, or its journal in the same directory, cannot be opened: {}", file, reason)};
    case SQLITE_IOERR: return {fmt::format("{}: cannot be read or written: {}", file, reason)};
    case SQLITE_TOOBIG: return {fmt::format("{}: holds a value beyond the limits of this program", file)};
    default: return {fmt::format("{}: {}", file, sqlite3_errmsg(connection))};
  }
}

struct Setting {
  int option;
  int value;
};

// What https://www.sqlite.org/security.html advises for database files from untrusted sources.
constexpr auto kSettings = std::to_array<Setting>({
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
});
constexpr auto kLimits = std::to_array<Setting>({
    {SQLITE_LIMIT_LENGTH, 8 << 20},  // bytes of a row: a case with all its lists full fits
    {SQLITE_LIMIT_SQL_LENGTH, 100'000},
    {SQLITE_LIMIT_COLUMN, 100},
    {SQLITE_LIMIT_EXPR_DEPTH, 1000},  // FTS5 parses what it makes of a search
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
});

}  // namespace

// --- Statement -------------------------------------------------------------------------------------------------------

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), file_(other.file_) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Result<void> Statement::bind(int parameter, std::string_view text) {
  const int status = sqlite3_bind_text64(statement_, parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (status != SQLITE_OK) return fail(explain(*file_, sqlite3_db_handle(statement_)));
  return {};
}

Result<void> Statement::bind(int parameter, std::int64_t value) {
  if (sqlite3_bind_int64(statement_, parameter, value) != SQLITE_OK)
    return fail(explain(*file_, sqlite3_db_handle(statement_)));
  return {};
}

Result<bool> Statement::step() {
  const int status = sqlite3_step(statement_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  Error error = explain(*file_, sqlite3_db_handle(statement_));
  sqlite3_reset(statement_);
  return fail(std::move(error));
}

std::string_view Statement::text(int column) const {
  // The order matters: column_bytes counts the bytes of the form that column_text made.
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

// --- Database --------------------------------------------------------------------------------------------------------

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Database(sqlite3* connection, std::string file)
    : connection_(connection), file_(std::make_unique<std::string>(std::move(file))) {}

Result<Database> Database::connect(const std::string& name, const std::string& shown, int flags) {
  sqlite3* connection = nullptr;
  const int status = sqlite3_open_v2(name.c_str(), &connection, flags, nullptr);
  if (connection == nullptr) return fail("{}: out of memory", shown);
  Database database(connection, shown);
  if (status != SQLITE_OK) return fail(explain(shown, connection));
  if (Result<void> done = database.refuse_wal(); !done) return fail(std::move(done.error()));
  if (Result<void> done = database.harden(); !done) return fail(std::move(done.error()));
  return database;
}

Result<Database> Database::open(const std::filesystem::path& path, Mode mode) {
  // The real name: no other means something to SQLite (":memory:", "file:..."), and the journal lies beside it.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  if (error) return fail("{}: {}", path.string(), error.message());
  if (mode == Mode::write) return connect(real, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  // A journal belongs to a writer that is at work, or that was killed: then this connection has to roll it back.
  const bool journal = std::filesystem::exists(real.string() + "-journal", error);
  return connect(real, path, journal ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
}

Result<Database> Database::open_in_memory() {
  return connect(":memory:", "(memory)", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<void> Database::harden() {
  for (const Setting& setting : kSettings)
    if (sqlite3_db_config(connection_.get(), setting.option, setting.value, nullptr) != SQLITE_OK)
      return fail(explain(*file_, connection_.get()));
  for (const Setting& limit : kLimits) sqlite3_limit(connection_.get(), limit.option, limit.value);
  sqlite3_extended_result_codes(connection_.get(), 1);
  sqlite3_busy_timeout(connection_.get(), kPatienceMilliseconds);
  // mmap: a file that another process cuts short must be an error, not a SIGBUS. synchronous: a commit that was
  // reported has reached the disk, the removal of its journal included.
  for (const std::string_view pragma : {"PRAGMA mmap_size=0", "PRAGMA cell_size_check=1", "PRAGMA synchronous=EXTRA"}) {
    Result<Statement> statement = prepare(pragma);
    if (!statement) return fail(std::move(statement.error()));
    if (Result<bool> done = statement->step(); !done) return fail(std::move(done.error()));
  }
  return {};
}

/// A database in WAL mode cannot be read without writing two more files beside it, which a reader must not do. Ours
/// never is. The header is read through SQLite's own file handle: closing a second one would drop the locks of every
/// connection that this process has to the file (https://www.sqlite.org/howtocorrupt.html, 2.2).
Result<void> Database::refuse_wal() {
  constexpr std::size_t kHeaderBytes = 100;
  constexpr std::size_t kReadVersion = 19;  // offset in the header: 1 rollback journal, 2 WAL
  std::array<unsigned char, kHeaderBytes> header{};
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (file == nullptr || file->pMethods == nullptr) return {};
  if (file->pMethods->xRead(file, header.data(), kHeaderBytes, 0) != SQLITE_OK)
    return {};  // too short: new or no database
  if (std::memcmp(header.data(), "SQLite format 3", 16) != 0 || header[kReadVersion] != 2) return {};
  return fail("{}: another program has put it into WAL mode; undo that with: sqlite3 FILE 'PRAGMA journal_mode=DELETE'",
              *file_);
}

Result<void> Database::execute(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return fail(std::move(statement.error()));
  const Result<bool> done = statement->step();
  if (!done) return fail(done.error());
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
    return fail(explain(*file_, connection_.get()));
  return Statement(statement, *file_);
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) return fail(std::move(statement.error()));
  const Result<bool> row = statement->step();
  if (!row) return fail(row.error());
  return *row ? statement->integer(0) : 0;
}

bool Database::is_read_only() const { return sqlite3_db_readonly(connection_.get(), "main") == 1; }

// --- Transaction -----------------------------------------------------------------------------------------------------

Result<Transaction> Transaction::begin(Database& database, Kind kind) {
  const Result<void> begun = database.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
  if (!begun) return fail(begun.error());
  return Transaction(database);
}

Transaction::~Transaction() {
  // Fails only where SQLite has rolled back by itself (disk full), which is what is wanted.
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  Result<void> done = database_->execute("COMMIT");
  if (done) database_ = nullptr;
  return done;
}

}  // namespace qnndbg
