#include "knowledge/case_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "dump/temp_dir.h"
#include "knowledge/case_json.h"

namespace qnndbg {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Access = CaseStore::Access;

KnownCase draft(const std::string& title) {
  KnownCase known;
  known.title = title;
  known.fingerprint.classes = {"validation_refused"};
  known.fingerprint.codes = {3110};
  return known;
}

std::string open_error(const fs::path& path, Access access) {
  const auto store = CaseStore::open(path, access);
  return store ? "opened" : store.error().message;
}

/// How many cases of a user's own a file holds; -1, and a failure, when it cannot be read.
int own_count(const fs::path& path) {
  const auto store = CaseStore::open(path, Access::read);
  EXPECT_TRUE(store) << store.error().message;
  return store ? static_cast<int>(store->own().size()) : -1;
}

std::vector<std::string> files_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  return names;
}

/// Runs SQL that the store itself would never run.
void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(connection);
}

/// A store with one case; returns its id.
std::string make_store(const fs::path& path) {
  auto store = CaseStore::open(path, Access::write);
  EXPECT_TRUE(store) << store.error().message;
  const auto known = store->add(draft("first"));
  EXPECT_TRUE(known) << known.error().message;
  return known->id;
}

/// Exit status of `work` in a child process; -1 when it was killed.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The same without root's right to write everywhere.
int in_unprivileged_child(const std::function<int()>& work) {
  constexpr uid_t kNobody = 65534;
  return in_child([&work] {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return 99;
    return work();
  });
}

// --- Built-in cases --------------------------------------------------------------------------------------------------

TEST(BuiltInCases, AreValidAndNumberedWithoutGaps) {
  const std::vector<KnownCase>& cases = built_in_cases();
  ASSERT_EQ(cases.size(), 29U);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const KnownCase& known = cases[i];
    EXPECT_EQ(known.id, fmt::format("C{:02}", i + 1));
    const auto checked = check_case(known);
    EXPECT_TRUE(checked) << known.id << ": " << checked.error().message;
    for (const CaseText& text : case_texts()) EXPECT_FALSE((known.*text.text).empty()) << known.id << ' ' << text.key;
    EXPECT_FALSE(known.sources.empty()) << known.id;
    // They fit a table of 100 columns.
    EXPECT_LE(known.title.size(), 65U) << known.id;
    for (const std::string& name : known.fingerprint.classes)
      EXPECT_TRUE(is_case_class(name)) << known.id << ' ' << name;
  }
}

TEST(BuiltInCases, EachIsTheOneNearestToItsOwnFingerprint) {
  const auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  for (const KnownCase& known : built_in_cases()) {
    const std::vector<SimilarCase> nearest = store->nearest(known.fingerprint, 2);
    ASSERT_FALSE(nearest.empty()) << known.id;
    EXPECT_EQ(nearest[0].known, known);
    EXPECT_EQ(nearest[0].similarity, 1.0) << known.id;
    if (nearest.size() > 1) {
      EXPECT_LT(nearest[1].similarity, 0.8) << known.id << " and " << nearest[1].known.id;
    }
  }
}

TEST(BuiltInCases, EachIsFoundByTheWordsOfItsTitle) {
  const auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  for (const KnownCase& known : built_in_cases()) {
    const auto found = store->search(known.title, 3);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_FALSE(found->empty()) << known.id;
    EXPECT_EQ(found->front()->id, known.id);
  }
}

TEST(CaseClasses, AreDocumented) {
  std::ifstream file(std::string(QNNDBG_SOURCE_DIR) + "/docs/known-cases.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const std::string_view name : case_classes())
    EXPECT_THAT(text, HasSubstr('`' + std::string(name) + '`')) << name;
}

// --- Adding, listing, searching --------------------------------------------------------------------------------------

TEST(CaseStore, ReadingAStoreThatIsNotThereMakesNoFile) {
  const TempDir directory;
  const auto store = CaseStore::open(directory.path() / "cases.sqlite", Access::read);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->list().size(), built_in_cases().size());
  EXPECT_TRUE(store->own().empty());
  EXPECT_TRUE(store->search("layernorm", 5));
  EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(CaseStore, AnAddedCaseIsThereWhenOpenedAgain) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  KnownCase known = draft("Pad refused");
  known.cause = "negative padding\nof \xc3\xa4";
  known.fingerprint.archs = {"73"};
  std::string id;
  {
    auto store = CaseStore::open(path, Access::write);
    ASSERT_TRUE(store) << store.error().message;
    const auto added = store->add(known);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_TRUE(is_own_id(added->id)) << added->id;
    EXPECT_EQ(added->created, added->updated);
    EXPECT_EQ(store->own().size(), 1U);
    id = added->id;
  }
  const auto store = CaseStore::open(path, Access::read);
  ASSERT_TRUE(store) << store.error().message;
  const KnownCase* const found = store->find(id);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->title, "Pad refused");
  EXPECT_EQ(found->cause, known.cause);
  EXPECT_EQ(found->fingerprint.archs, std::vector<std::string>{"v73"});
  EXPECT_EQ(store->list().size(), built_in_cases().size() + 1);
  EXPECT_EQ(files_in(directory.path()), std::vector<std::string>{"cases.sqlite"});
}

TEST(CaseStore, AStoreOpenForReadingTakesNothing) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  auto store = CaseStore::open(path, Access::read);
  ASSERT_TRUE(store);
  EXPECT_FALSE(store->add(draft("x")));
  EXPECT_FALSE(store->import_text(store->export_text(false)));
}

TEST(CaseStore, CasesThatMayNotBeKeptAreRefused) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  const auto refusal = [&store](KnownCase known) {
    const auto added = store->add(std::move(known));
    return added ? "added" : added.error().message;
  };
  EXPECT_THAT(refusal({}), HasSubstr("title: missing"));
  KnownCase known = draft("x");
  known.notes = "\xff";
  EXPECT_THAT(refusal(known), HasSubstr("notes: not UTF-8"));
  known = draft("x");
  known.id = "C04";
  EXPECT_THAT(refusal(known), HasSubstr("built-in"));
  known = draft("x");
  known.supersedes = "C99";
  EXPECT_THAT(refusal(known), HasSubstr("there is no built-in case C99"));
  known = draft("x");
  known.id = "U-00000000000000aa";
  EXPECT_EQ(refusal(known), "added");
  EXPECT_THAT(refusal(known), HasSubstr("already"));
  EXPECT_EQ(store->own().size(), 1U);
}

TEST(CaseStore, AUsersCaseSupersedesABuiltInOne) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  const KnownCase& original = *store->find("C23");
  KnownCase mine;
  mine.title = "mine";
  mine.fingerprint = original.fingerprint;
  mine.supersedes = "C23";
  const auto added = store->add(mine);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(store->list().size(), built_in_cases().size());
  const auto nearest = store->nearest(original.fingerprint, 5);
  ASSERT_FALSE(nearest.empty());
  EXPECT_EQ(nearest.front().known.id, added->id);
  for (const SimilarCase& match : nearest) EXPECT_NE(match.known.id, "C23");
  ASSERT_NE(store->find("C23"), nullptr);  // it can still be shown, with what replaced it
  ASSERT_EQ(store->about("C23").size(), 1U);
  EXPECT_EQ(store->about("C23").front()->id, added->id);
}

TEST(CaseStore, ANoteIsNoCandidateOfItsOwn) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  KnownCase note;
  note.title = "also here";
  note.fingerprint = store->find("C23")->fingerprint;
  note.annotates = "C23";
  ASSERT_TRUE(store->add(note));
  const auto nearest = store->nearest(note.fingerprint, 5);
  ASSERT_FALSE(nearest.empty());
  EXPECT_EQ(nearest.front().known.id, "C23");
  EXPECT_EQ(nearest.front().similarity, 1.0);
  EXPECT_EQ(store->about("C23").size(), 1U);
  EXPECT_EQ(store->list().size(), built_in_cases().size() + 1);
}

TEST(CaseStore, SearchFindsCodesInBothBasesAndBeginningsOfWords) {
  const auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  const auto ids = [&store](std::string_view text) {
    std::set<std::string> found;
    const auto cases = store->search(text, 50);
    EXPECT_TRUE(cases) << cases.error().message;
    for (const KnownCase* known : cases.value_or(std::vector<const KnownCase*>())) found.insert(known->id);
    return found;
  };
  EXPECT_EQ(ids("0x3f0"), ids("1008"));
  EXPECT_EQ(ids("1008"), std::set<std::string>{"C23"});
  EXPECT_TRUE(ids("quantiz").contains("C14"));
  EXPECT_TRUE(ids("op-creation-failure LayerNorm").contains("C04"));
  EXPECT_TRUE(ids("libQnnHtp.so").contains("C01"));
  EXPECT_TRUE(ids("layernorm zebra").empty());
}

TEST(CaseStore, SearchTextIsNeverQueryLanguage) {
  const auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  for (const char* text : {"\"", "a\"b", "title:x", "NEAR(a b)", "x OR y", "NOT x", "^x", "x*", "a AND", "-", "( x",
                           "{a b}: c", "\xff\xfe", "\xe2\x80\x94", "'; DROP TABLE cases; --"}) {
    const auto found = store->search(text, 5);
    if (!found) {
      EXPECT_THAT(found.error().message, HasSubstr("no word")) << text;
    }
  }
  EXPECT_FALSE(store->search("", 5));
  EXPECT_FALSE(store->search("...", 5));
  EXPECT_FALSE(store->search(std::string(2000, 'x'), 5));
}

// --- Import and export -----------------------------------------------------------------------------------------------

TEST(CaseImport, RoundTripIsTheSameAndIdempotent) {
  auto first = CaseStore::open_in_memory();
  auto second = CaseStore::open_in_memory();
  ASSERT_TRUE(first && second);
  for (const char* title : {"one", "two", "three"}) ASSERT_TRUE(first->add(draft(title)));
  const std::string document = first->export_text(false);
  const auto report = second->import_text(document);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->added, 3U);
  EXPECT_EQ(second->export_text(false), document);
  const auto again = second->import_text(document);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->added, 0U);
  EXPECT_EQ(again->unchanged, 3U);
}

TEST(CaseImport, BuiltInCasesOfADocumentAreLeftOut) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  const auto report = store->import_text(store->export_text(true));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->built_in, built_in_cases().size());
  EXPECT_EQ(report->added, 0U);
  EXPECT_TRUE(store->own().empty());
}

TEST(CaseImport, TheNewerVersionStays) {
  auto store = CaseStore::open_in_memory();
  ASSERT_TRUE(store);
  KnownCase known = draft("old");
  known.created = "2026-01-01";
  known.updated = "2026-06-01";
  known = store->add(known).value();
  const auto import_version = [&](const char* title, const char* updated) {
    KnownCase version = known;
    version.title = title;
    version.updated = updated;
    const KnownCase* const one = &version;
    return store->import_text(case_document({&one, 1})).value();
  };
  EXPECT_EQ(import_version("older", "2026-05-31").kept, 1U);
  EXPECT_EQ(import_version("same day", "2026-06-01").kept, 1U);
  EXPECT_EQ(store->find(known.id)->title, "old");
  EXPECT_EQ(import_version("newer", "2026-06-01T00:00:01Z").updated, 1U);
  EXPECT_EQ(store->find(known.id)->title, "newer");
  EXPECT_EQ(store->own().size(), 1U);
}

TEST(CaseImport, AllOrNothing) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  auto store = CaseStore::open(path, Access::write);
  ASSERT_TRUE(store);
  auto other = CaseStore::open_in_memory();
  ASSERT_TRUE(other->add(draft("good")) && other->add(draft("bad")));
  std::string document = other->export_text(false);
  document.replace(document.find("\"bad\""), 5, "\"\"");
  const auto report = store->import_text(document);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("].title: missing"));
  EXPECT_EQ(store->own().size(), 1U);
  EXPECT_EQ(own_count(path), 1);
}

// --- Files that are no store -----------------------------------------------------------------------------------------

TEST(CaseFile, WhatIsNoStoreIsRefusedByName) {
  const TempDir directory;
  const fs::path text = directory.write("notes.txt", std::string(5000, 'x'));
  const fs::path short_text = directory.write("short.txt", "hello");
  for (const Access access : {Access::read, Access::write}) {
    EXPECT_THAT(open_error(text, access),
                testing::AllOf(HasSubstr(text.string()), HasSubstr("not an SQLite database")));
    EXPECT_THAT(open_error(short_text, access), HasSubstr("not an SQLite database"));
    EXPECT_THAT(open_error(directory.path(), access), HasSubstr("is a directory"));
    EXPECT_THAT(open_error("/dev/null", access), HasSubstr("no regular file"));
  }
  const fs::path fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(open_error(fifo, Access::read), HasSubstr("no regular file"));  // and does not wait for a writer
  EXPECT_THAT(open_error(directory.path() / "no" / "cases.sqlite", Access::write), HasSubstr("cannot be opened"));
  std::ifstream unchanged(text);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(unchanged), {}), std::string(5000, 'x'));
}

TEST(CaseFile, AnEmptyFileIsAnEmptyStore) {
  const TempDir directory;
  const fs::path path = directory.write("cases.sqlite", "");
  const auto empty = CaseStore::open(path, Access::read);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_TRUE(empty->own().empty());
  make_store(path);
  EXPECT_EQ(own_count(path), 1);
}

TEST(CaseFile, ADatabaseOfAnotherProgramIsLeftAlone) {
  const TempDir directory;
  const fs::path path = directory.path() / "other.sqlite";
  run_sql(path, "CREATE TABLE bookmarks(url TEXT)");
  for (const Access access : {Access::read, Access::write})
    EXPECT_THAT(open_error(path, access), HasSubstr("of another program"));
}

TEST(CaseFile, ALaterVersionIsRefused) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  run_sql(path, "PRAGMA user_version=2");
  for (const Access access : {Access::read, Access::write})
    EXPECT_THAT(open_error(path, access), testing::AllOf(HasSubstr("later version"), HasSubstr("update qnn-debug")));
}

TEST(CaseFile, ForeignObjectsInTheSchemaAreRefused) {
  for (const char* sql : {"CREATE TABLE more(x)", "CREATE VIEW v AS SELECT * FROM cases",
                          "CREATE TRIGGER t AFTER INSERT ON cases BEGIN DELETE FROM cases; END",
                          "DROP TABLE cases; CREATE VIEW cases AS SELECT 'U-0000000000000000' AS id, '{}' AS document",
                          "DROP TABLE cases; CREATE TABLE cases(id, document)", "DROP TABLE cases"}) {
    const TempDir directory;
    const fs::path path = directory.path() / "cases.sqlite";
    make_store(path);
    run_sql(path, sql);
    for (const Access access : {Access::read, Access::write})
      EXPECT_THAT(open_error(path, access), HasSubstr("not used")) << sql;
  }
}

TEST(CaseFile, RowsThatAreNoCasesAreRefused) {
  for (const char* sql : {"UPDATE cases SET document = '{}'", "UPDATE cases SET document = 'x'",
                          "UPDATE cases SET id = 'U-0000000000000000'",
                          "UPDATE cases SET document = replace(document, 'first', char(27))"}) {
    const TempDir directory;
    const fs::path path = directory.path() / "cases.sqlite";
    make_store(path);
    run_sql(path, sql);
    EXPECT_THAT(open_error(path, Access::read), testing::AllOf(HasSubstr(path.string()), HasSubstr("is damaged")))
        << sql;
  }
}

TEST(CaseFile, ADamagedFileIsAnErrorAndNoCrash) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  {
    auto store = CaseStore::open(path, Access::write);
    ASSERT_TRUE(store);
    for (int i = 0; i < 40; ++i) {
      KnownCase known = draft(fmt::format("case {}", i));
      known.notes = std::string(1000, 'n');
      ASSERT_TRUE(store->add(known));
    }
  }
  std::ifstream file(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  int refused = 0;
  constexpr std::size_t kStep = 509;
  for (std::size_t at = 0; at < whole.size(); at += kStep) {
    std::string damaged = whole;
    for (std::size_t i = at; i < std::min(at + 16, whole.size()); ++i) damaged[i] = static_cast<char>(~damaged[i]);
    const fs::path copy = directory.write("damaged.sqlite", damaged);
    const std::string error = open_error(copy, Access::read);
    if (error == "opened") continue;  // the bytes were not in use
    ++refused;
    EXPECT_THAT(error, HasSubstr("damaged.sqlite"));
  }
  EXPECT_GT(refused, 20);
  const fs::path cut = directory.write("cut.sqlite", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(open_error(cut, Access::read), testing::AllOf(HasSubstr("cut.sqlite"), HasSubstr("damaged")));
}

TEST(CaseFile, WalModeIsRefusedBecauseReadersWouldMakeFiles) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  run_sql(path, "PRAGMA journal_mode=WAL");
  for (const Access access : {Access::read, Access::write})
    EXPECT_THAT(open_error(path, access), HasSubstr("WAL mode"));
  EXPECT_EQ(files_in(directory.path()), std::vector<std::string>{"cases.sqlite"});
}

TEST(CaseFile, NamesThatSqliteKnowsAreFilesAllTheSame) {
  const TempDir directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  for (const char* name : {":memory:", "file:x?mode=memory"}) {
    make_store(name);
    EXPECT_TRUE(fs::exists(directory.path() / name)) << name;
  }
  fs::current_path(before);
}

TEST(CaseFile, AReadOnlyFileIsReadAndNotWritten) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  fs::permissions(path, fs::perms(0444));
  EXPECT_EQ(in_unprivileged_child([&path] {
              const auto store = CaseStore::open(path, Access::read);
              if (!store || store->own().size() != 1) return 1;
              const std::string error = open_error(path, Access::write);
              return error.find("read-only; nothing was changed") != std::string::npos ? 0 : 2;
            }),
            0);
}

TEST(CaseFile, AReadOnlyDirectoryLosesNothing) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  fs::permissions(path, fs::perms(0666));
  fs::permissions(directory.path(), fs::perms(0555));
  EXPECT_EQ(in_unprivileged_child([&path] {
              const auto reader = CaseStore::open(path, Access::read);
              if (!reader || reader->own().size() != 1) return 1;
              auto store = CaseStore::open(path, Access::write);
              if (!store) return 2;
              const auto added = store->add(draft("x"));  // its journal cannot be made
              if (added) return 3;
              return added.error().message.find("directory is read-only; nothing was changed") != std::string::npos ? 0
                                                                                                                    : 4;
            }),
            0);
  fs::permissions(directory.path(), fs::perms(0755));
  EXPECT_EQ(own_count(path), 1);
}

TEST(CaseFile, AFileThatMayNotBeReadSaysSo) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  fs::permissions(path, fs::perms(0000));
  EXPECT_EQ(in_unprivileged_child([&path] {
              return open_error(path, Access::read).find("Permission denied") != std::string::npos ? 0 : 1;
            }),
            0);
}

// --- Several writers, killed writers ---------------------------------------------------------------------------------

TEST(CaseWriters, ProcessesThatWriteAtOnceLoseNothing) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";  // is not there yet: they also race for making it
  constexpr int kWriters = 4;
  constexpr int kCases = 8;
  std::array<pid_t, kWriters> children{};
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    for (int i = 0; i < kCases; ++i) {
      auto store = CaseStore::open(path, Access::write);
      if (!store || !store->add(draft(fmt::format("{} {}", ::getpid(), i)))) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const auto store = CaseStore::open(path, Access::read);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(store->own().size(), static_cast<std::size_t>(kWriters * kCases));
}

/// A child that begins a transaction, has changed the file already and is killed then.
void kill_a_writer(const fs::path& path) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite3* connection = nullptr;
    sqlite3_open(path.c_str(), &connection);
    // A cache of one page spills into the file before the commit.
    const char* sql =
        "PRAGMA cache_size=1; BEGIN IMMEDIATE; DELETE FROM cases; "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "INSERT INTO cases SELECT printf('U-%016x', i), hex(zeroblob(500)) FROM n";
    const char result = sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? 'y' : 'n';
    if (::write(ready[1], &result, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(1);
  }
  char result = 0;
  ASSERT_EQ(::read(ready[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  ASSERT_TRUE(fs::exists(path.string() + "-journal")) << "the writer was not in the middle of anything";
  ASSERT_GT(fs::file_size(path), 500'000U) << "the writer had not changed the file";
}

TEST(CaseWriters, WhatWasCommittedSurvivesAKilledWriter) {
  for (const Access access : {Access::read, Access::write}) {
    const TempDir directory;
    const fs::path path = directory.path() / "cases.sqlite";
    const std::string id = make_store(path);
    kill_a_writer(path);
    const auto store = CaseStore::open(path, access);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_EQ(store->own().size(), 1U);
    EXPECT_EQ(store->own().front()->id, id);
    EXPECT_EQ(files_in(directory.path()), std::vector<std::string>{"cases.sqlite"});
  }
}

TEST(CaseWriters, AReaderWhoMayNotWriteIsToldOfTheKilledWriter) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  kill_a_writer(path);
  fs::permissions(path, fs::perms(0444));
  fs::permissions(path.string() + "-journal", fs::perms(0444));
  fs::permissions(directory.path(), fs::perms(0555));
  EXPECT_EQ(in_unprivileged_child([&path] {
              return open_error(path, Access::read).find("a writer was killed") != std::string::npos ? 0 : 1;
            }),
            0);
  fs::permissions(directory.path(), fs::perms(0755));
  fs::permissions(path, fs::perms(0644));
  EXPECT_EQ(own_count(path), 1);
}

/// Killed at moments that nobody chose: an import has happened as a whole or not at all.
TEST(CaseWriters, AnImportThatIsKilledIsWholeOrNotThere) {
  const TempDir directory;
  const fs::path path = directory.path() / "cases.sqlite";
  make_store(path);
  std::vector<KnownCase> cases(300, draft("imported"));
  std::vector<const KnownCase*> pointers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].id = fmt::format("U-{:016x}", i);
    cases[i].created = cases[i].updated = "2026-11-30";
    cases[i].notes = std::string(2000, 'n');
    pointers.push_back(&cases[i]);
  }
  const std::string document = case_document(pointers);
  constexpr int kRounds = 12;
  constexpr useconds_t kStepMicroseconds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = CaseStore::open(path, Access::write);
      ::_exit(store && store->import_text(document) ? 0 : 1);
    }
    ::usleep(static_cast<useconds_t>(round) * kStepMicroseconds);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto store = CaseStore::open(path, Access::read);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_THAT(store->own().size(), testing::AnyOf(1U, 1U + cases.size()));
  }
}

}  // namespace
}  // namespace qnndbg
