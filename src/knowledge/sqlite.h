// A small layer over SQLite: errors as values, statements that are always prepared and bound, transactions that roll
// back unless committed, and settings for files that may come from a stranger.
//
// Messages of errors begin with the file and say what to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tensor/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace qnndbg {

/// A prepared statement. Parameters and columns are counted as SQLite does: from 1 and from 0.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  ~Statement();

  /// The text must live until the statement is stepped for the last time.
  Result<void> bind(int parameter, std::string_view text);
  Result<void> bind(int parameter, std::int64_t value);

  /// True: there is a row; false: done. After "done" the statement can be bound and stepped again.
  Result<bool> step();

  /// Columns of the row. Text lives until the next step.
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, const std::string& file) : statement_(statement), file_(&file) {}

  sqlite3_stmt* statement_;
  const std::string* file_;
};

class Database {
 public:
  enum class Mode : std::uint8_t {
    read,   // the file must exist; it is not changed, but for what a killed writer left half done: that is rolled back
    write,  // the file is made if it does not exist
  };

  static Result<Database> open(const std::filesystem::path& path, Mode mode);
  static Result<Database> open_in_memory();

  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  /// Runs one statement without parameters and results.
  Result<void> execute(std::string_view sql);
  /// The statement must not outlive the database.
  Result<Statement> prepare(std::string_view sql);
  /// Value of a query with one row and one column.
  Result<std::int64_t> integer(std::string_view sql);

  /// The connection cannot write, whatever mode was asked for.
  bool is_read_only() const;
  /// The file as it was named.
  const std::string& file() const { return *file_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };

  Database(sqlite3* connection, std::string file);
  static Result<Database> connect(const std::string& name, const std::string& shown, int flags);
  Result<void> harden();
  Result<void> refuse_wal();

  std::unique_ptr<sqlite3, Close> connection_;
  std::unique_ptr<std::string> file_;  // for messages; statements point to it
};

/// A transaction that is rolled back unless it is committed.
class Transaction {
 public:
  enum class Kind : std::uint8_t {
    read,   // all that is read is of one moment
    write,  // and nobody else writes meanwhile
  };

  static Result<Transaction> begin(Database& database, Kind kind);

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;
};

}  // namespace qnndbg
