#include "qnn/package.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "dump/temp_dir.h"
#include "qnn/locate.h"

namespace qnndbg::qnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? "/usr/bin" : path;
}

/// A package of two files, and its wheel made by Python.
class MadeUpPackage : public testing::Test {
 protected:
  void SetUp() override {
    package_ = {.name = "made-up", .version = "1.0", .wheel = "made_up-1.0-py3-none-any.whl"};
    package_.files = {"made_up/libQnnHtp.so", "made_up.libs/libc++.so.1"};
    python_ = lint::find_program(search_path(), "python3");
    ASSERT_FALSE(python_.empty());
    directory_.write("site/made_up/libQnnHtp.so", "not really a library");
    directory_.write("site/made_up.libs/libc++.so.1", "neither");
    make_wheel();
  }

  void make_wheel() {
    const std::string script =
        "import hashlib, sys, zipfile\n"
        "root, wheel = sys.argv[1:3]\n"
        "with zipfile.ZipFile(wheel, 'w') as archive:\n"
        "    for name in sys.argv[3:]: archive.write(f'{root}/{name}', name)\n"
        "print(hashlib.sha256(open(wheel, 'rb').read()).hexdigest())\n";
    wheel_ = (directory_.path() / package_.wheel).string();
    std::vector<std::string> arguments = {"-I", "-c", script, (directory_.path() / "site").string(), wheel_};
    arguments.insert(arguments.end(), package_.files.begin(), package_.files.end());
    const Result<lint::ProgramOutput> run = lint::run_program(python_, arguments, std::chrono::seconds(60));
    ASSERT_TRUE(run);
    ASSERT_EQ(run->status, 0) << run->text;
    package_.sha256 = run->text.substr(0, 64);
  }

  InstallRequest request(const std::string& from) const {
    return {.cache = directory_.path() / "cache", .from = from, .search_path = search_path()};
  }
  std::string error_of(const InstallRequest& request) const {
    const Result<Installation> installation = install(package_, request);
    return installation ? "installed" : installation.error().message;
  }
  /// Nothing but the versions that are installed.
  std::size_t entries_in_cache() const {
    std::error_code error;
    const fs::directory_iterator begin(directory_.path() / "cache", error);
    return error ? 0 : static_cast<std::size_t>(std::distance(begin, fs::directory_iterator()));
  }

  TempDir directory_;
  Package package_;
  std::string python_;
  std::string wheel_;
};

TEST_F(MadeUpPackage, IsInstalledOnceFromAWheel) {
  const Result<Installation> first = install(package_, request(wheel_));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->was_there);
  EXPECT_EQ(first->directory, directory_.path() / "cache" / "1.0");
  EXPECT_TRUE(fs::is_regular_file(first->directory / "libQnnHtp.so"));
  EXPECT_EQ(fs::file_size(first->directory / "libc++.so.1"), 7U);
  EXPECT_EQ(entries_in_cache(), 1U);
  const Result<Installation> second = install(package_, request("/nonexistent.whl"));
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->was_there);
}

TEST_F(MadeUpPackage, AnIncompleteInstallationIsReplaced) {
  directory_.write("cache/1.0/libQnnHtp.so", "half");
  EXPECT_FALSE(installation_of(package_, directory_.path() / "cache").was_there);
  ASSERT_TRUE(install(package_, request(wheel_)));
  EXPECT_EQ(fs::file_size(directory_.path() / "cache" / "1.0" / "libQnnHtp.so"), 20U);
}

TEST_F(MadeUpPackage, AnotherWheelIsRefusedAndLeavesNothing) {
  const std::string other = directory_.write("other.whl", "PK and something else").string();
  EXPECT_THAT(error_of(request(other)), HasSubstr("is not the expected wheel: its SHA-256 is "));
  EXPECT_EQ(entries_in_cache(), 0U);
}

TEST_F(MadeUpPackage, AWheelThatIsBrokenOrLacksAFileIsRefused) {
  package_.files.emplace_back("made_up/more.so");
  EXPECT_THAT(error_of(request(wheel_)), HasSubstr("There is no item named 'made_up/more.so' in the archive"));
  const std::string text = directory_.write("text.whl", "text").string();
  package_.sha256 = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";  // of "text"
  EXPECT_THAT(error_of(request(text)), HasSubstr("cannot be unpacked: File is not a zip file"));
  EXPECT_EQ(entries_in_cache(), 0U);
}

TEST_F(MadeUpPackage, AMissingWheelIsNamed) {
  EXPECT_EQ(error_of(request("/nonexistent/x.whl")), "--from: /nonexistent/x.whl is not there");
}

TEST_F(MadeUpPackage, PythonIsNeeded) {
  InstallRequest without = request(wheel_);
  without.search_path = "/nonexistent";
  EXPECT_THAT(error_of(without), HasSubstr("python3 is not in PATH"));
}

TEST_F(MadeUpPackage, ACacheThatCannotBeWrittenIsNamed) {
  InstallRequest blocked = request(wheel_);
  blocked.cache = directory_.write("file", "") / "cache";
  EXPECT_THAT(error_of(blocked), HasSubstr("XDG_CACHE_HOME names another cache"));
  if (::geteuid() == 0) return;  // root writes everywhere
  const fs::path locked = directory_.path() / "locked";
  fs::create_directory(locked);
  ::chmod(locked.c_str(), 0500);
  blocked.cache = locked / "cache";
  EXPECT_THAT(error_of(blocked), HasSubstr("cannot be written: Permission denied"));
}

TEST_F(MadeUpPackage, ADirectoryMustHoldTheBuildOfThePackage) {
  package_.build = "v2.51.0.260929181845";
  EXPECT_THAT(error_of(request((directory_.path() / "site").string())), HasSubstr("libQnnHtp.so is not an ELF file"));
  EXPECT_THAT(error_of(request(directory_.path().string())),
              HasSubstr("made_up/libQnnHtp.so cannot be copied: No such"));
  EXPECT_EQ(entries_in_cache(), 0U);
}

/// A python3 that answers as pip does.
class FakePip : public MadeUpPackage {
 protected:
  std::string error_with(const std::string& script) {
    const fs::path python = directory_.write("bin/python3", "#!/bin/sh\n" + script);
    ::chmod(python.c_str(), 0755);
    InstallRequest from_pypi = request("");
    from_pypi.search_path = (directory_.path() / "bin").string();
    from_pypi.stop = stop_;
    return error_of(from_pypi);
  }

  lint::Stop stop_;
};

TEST_F(FakePip, MissingPipIsNamed) {
  EXPECT_THAT(error_with("echo '/usr/bin/python3: No module named pip'; exit 1\n"),
              HasSubstr("has no pip (Debian: python3-pip); a wheel from elsewhere goes in with --from"));
}

TEST_F(FakePip, AStoppedDownloadLeavesNothing) {
  stop_ = [] { return true; };
  EXPECT_THAT(error_with("exec /bin/sleep 60\n"), HasSubstr("was stopped"));
  EXPECT_EQ(entries_in_cache(), 0U);
}

TEST_F(FakePip, NoNetworkIsTold) {
  EXPECT_THAT(error_with("echo \"WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\"\n"
                         "echo 'ERROR: No matching distribution found for made-up==1.0'; exit 1\n"),
              HasSubstr("the package index cannot be reached: no network"));
}

TEST_F(FakePip, PipsOwnWordsAreShown) {
  EXPECT_THAT(
      error_with("echo 'WARNING: old'; echo 'ERROR: No matching distribution found'; echo; exit 1\n"),
      HasSubstr("pip could not download made-up 1.0: No matching distribution found; made_up-1.0-py3-none-any.whl "
                "from elsewhere goes in with --from"));
}

TEST_F(FakePip, ADownloadIsUnpacked) {
  const std::string script = fmt::format(
      "case \" $* \" in\n"
      "*' download '*) while [ $# -gt 0 ]; do [ \"$1\" = --dest ] && to=$2; [ \"$1\" = --requirement ] && list=$2; "
      "shift; "
      "done\n"
      "  grep -q '^made-up==1.0 --hash=sha256:{}$' \"$list\" && exec /bin/cp {} \"$to\" ;;\n"
      "*) exec {} \"$@\" ;;\nesac\n",
      package_.sha256, wheel_, python_);
  EXPECT_EQ(error_with("PATH=/usr/bin:/bin\n" + script), "installed");
  EXPECT_EQ(entries_in_cache(), 1U);
}

TEST(Package, ThePinnedOneIsWhole) {
  const Package& package = pinned_package();
  EXPECT_EQ(package.sha256.size(), 64U);
  EXPECT_THAT(package.wheel, HasSubstr(package.version));
  EXPECT_THAT(package.files, testing::Contains("onnxruntime_qnn/libQnnHtp.so"));
  EXPECT_FALSE(package.licence.empty());
}

TEST(Locate, TheFirstThatWasToldCounts) {
  const TempDir directory;
  const std::string sdk = directory.path().string();
  directory.write("lib/x86_64-linux-clang/libQnnHtp.so", "");
  const std::string cached = directory.write("cache/" + pinned_package().version + "/libQnnHtp.so", "").string();
  const Result<LibraryPlace> by_sdk = find_library({.sdk = sdk});
  ASSERT_TRUE(by_sdk) << by_sdk.error().message;
  EXPECT_EQ(by_sdk->htp, sdk + "/lib/x86_64-linux-clang/libQnnHtp.so");
  EXPECT_EQ(by_sdk->system, sdk + "/lib/x86_64-linux-clang/libQnnSystem.so");
  const Result<LibraryPlace> by_cache = find_library({.cache = directory.path() / "cache"});
  ASSERT_TRUE(by_cache);
  EXPECT_EQ(by_cache->htp, cached);
  EXPECT_EQ(by_cache->origin, LibraryOrigin::cache);
  const Result<LibraryPlace> by_directory =
      find_library({.library = fs::path(cached).parent_path().string(), .sdk = "/nonexistent"});
  ASSERT_TRUE(by_directory);
  EXPECT_EQ(by_directory->htp, cached);
  EXPECT_THAT(find_library({.sdk = "/nonexistent", .cache = directory.path() / "cache"}).error().message,
              HasSubstr("--sdk: no SDK for this machine"));
  EXPECT_THAT(find_library({.sdk_variable = "/nonexistent"}).error().message, HasSubstr("QNN_SDK_ROOT: no SDK"));
  EXPECT_THAT(find_library({.cache = "/nonexistent"}).error().message, HasSubstr("qnn-debug htp install"));
}

TEST(Locate, TheCacheFollowsXdg) {
  EXPECT_EQ(cache_root("/x", "/home/a"), "/x/qnn-debug/htp");
  EXPECT_EQ(cache_root("relative", "/home/a"), "/home/a/.cache/qnn-debug/htp");
  EXPECT_EQ(cache_root("", ""), fs::path());
}

}  // namespace
}  // namespace qnndbg::qnn
