#include "lint/collect.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "lint/checks.h"
#include "lint/made_up_files.h"

namespace qnndbg::lint {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kBuild = "v2.51.0.260929181845";

class CollectTest : public LintTest {
 protected:
  std::string at(const std::string& name) const { return (root_ / name).string(); }

  /// Only what the test made is on the path, besides the shell's own tools where stand-ins need them.
  Environment collect_with(Variables variables, const Request& request = {}) const {
    variables.emplace("PATH", at("bin"));
    return collect(request, variables);
  }

  static const Deployment* deployment(const Environment& environment, Place place) {
    for (const Deployment& one : environment.deployments)
      if (one.place == place) return &one;
    return nullptr;
  }
};

TEST_F(CollectTest, AnEmptyEnvironmentIsDescribed) {
  const Environment environment = collect_with({});
  EXPECT_TRUE(environment.sdks.empty());
  EXPECT_TRUE(environment.python.path.empty());
  EXPECT_TRUE(environment.phone.adb.empty());
  EXPECT_FALSE(environment.dump_directory.has_value());
  EXPECT_TRUE(environment.working_directory.is_directory);
}

TEST_F(CollectTest, DirectoriesGivenAreListed) {
  write("app/libQnnHtp.so", aarch64(kBuild));
  write("app/libQnnHtpV75Skel.so", hexagon(kBuild));
  write("app/libother.so", aarch64(kBuild));
  write("app/libQnn\x1b[31m.so", "no library");
  const Environment environment = collect_with({}, {.libraries = {at("app"), at("missing"), at("app/libQnnHtp.so")}});
  const Deployment* named = deployment(environment, Place::named);
  ASSERT_NE(named, nullptr);
  ASSERT_EQ(named->directories.size(), 3U);
  ASSERT_EQ(named->directories[0].libraries.size(), 3U);
  EXPECT_EQ(named->directories[0].libraries[0].problem, "is not an ELF file");
  EXPECT_EQ(named->directories[0].libraries[1].build, kBuild);
  EXPECT_EQ(named->directories[1].problem, "does not exist");
  EXPECT_EQ(named->directories[2].problem, "is not a directory");
}

TEST_F(CollectTest, UnreadableDirectoriesAndLoopsAreProblems) {
  fs::create_symlink("loop", root_ / "loop");
  fs::create_directory(root_ / "closed");
  ::chmod(at("closed").c_str(), 0);
  const Environment environment = collect_with({}, {.libraries = {at("loop"), at("closed")}});
  const Deployment* named = deployment(environment, Place::named);
  EXPECT_NE(named->directories[0].problem, "");
  if (::geteuid() != 0) {
    EXPECT_THAT(named->directories[1].problem, HasSubstr("cannot be listed"));
  }
  ::chmod(at("closed").c_str(), 0700);
}

TEST_F(CollectTest, ADirectoryThatTwoEntriesNameIsListedOnce) {
  write("lib/libQnnHtp.so", x86_64(kBuild));
  fs::create_symlink("lib", root_ / "link");
  const Environment environment =
      collect_with({{"LD_LIBRARY_PATH", at("lib") + ":" + at("link") + "::" + at("missing")}});
  EXPECT_EQ(environment.loader_path.size(), 4U);
  const Deployment* loader = deployment(environment, Place::loader);
  ASSERT_NE(loader, nullptr);
  const auto named = std::count_if(loader->directories.begin(), loader->directories.end(),
                                   [&](const LibraryDirectory& one) { return one.path.starts_with(root_.string()); });
  EXPECT_EQ(named, 1);
}

TEST_F(CollectTest, AnSdkIsReadFromItsDirectory) {
  write("sdk/sdk.yaml", "name: qairt\nproduct:\n  version: \"2.51.0.260929\"\n");
  write("sdk/lib/x86_64-linux-clang/libQnnHtp.so", x86_64(kBuild));
  write("sdk/lib/aarch64-android/libQnnHtpV75Stub.so", aarch64(kBuild));
  write("sdk/lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so", hexagon(kBuild));
  write_program("sdk/bin/x86_64-linux-clang/qnn-context-binary-generator", "");
  Environment environment = collect_with({{"QNN_SDK_ROOT", at("sdk")}, {"QAIRT_SDK_ROOT", at("sdk")}});
  ASSERT_EQ(environment.sdks.size(), 2U);
  EXPECT_EQ(environment.sdks[0].version, "2.51.0.260929");
  EXPECT_EQ(environment.sdks[0].problem, "");
  EXPECT_EQ(std::count_if(environment.deployments.begin(), environment.deployments.end(),
                          [](const Deployment& one) { return one.place == Place::sdk_device; }),
            1)
      << "both variables name one SDK";
  if (environment.host == Machine::x86_64) {
    EXPECT_EQ(environment.sdks[0].missing_tools,
              (std::vector<std::string>{"bin/x86_64-linux-clang/qnn-model-lib-generator"}));
  }
  environment.target.arch = 75;
  for (const Check& one : check(environment)) EXPECT_NE(one.status, CheckStatus::problem) << one.found;
}

TEST_F(CollectTest, TheVersionMayStandInTheDirectorysName) {
  fs::create_directories(root_ / "qairt/2.30.0.250109/lib");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("qairt/2.30.0.250109/")}}).sdks[0].version, "2.30.0.250109");
  fs::create_directories(root_ / "plain/lib");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("plain")}}).sdks[0].version, "");
  write("noise/sdk.yaml", std::string(3000, 'x') + "version: 1.2.3\n");
  fs::create_directories(root_ / "noise/lib");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("noise")}}).sdks[0].version, "");
}

TEST_F(CollectTest, WhatIsNoSdkIsSaid) {
  write("file", "");
  fs::create_directories(root_ / "empty");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("missing")}}).sdks[0].problem, "does not exist");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("file")}}).sdks[0].problem, "is not a directory");
  EXPECT_EQ(collect_with({{"QNN_SDK_ROOT", at("empty")}}).sdks[0].problem, "has neither include/QNN nor lib");
}

TEST_F(CollectTest, MnnFilesTellWhatIsBuiltIn) {
  write("mnn/libMNN.so", x86_64("MNN_QNN: Failed QNNConvertor ANeuralNetworksModel_create"));
  write_program("mnn/MNNConvert", x86_64("nothing"));
  write_program("bin/MNN2QNNModel", x86_64("MNN_QNN: x"));
  write("mnn/unrelated", "");
  const Environment environment = collect_with({}, {.mnn = {at("mnn"), at("missing")}});
  ASSERT_EQ(environment.mnn.libraries.size(), 1U);
  EXPECT_TRUE(environment.mnn.libraries[0].qnn && environment.mnn.libraries[0].convert &&
              environment.mnn.libraries[0].nnapi);
  ASSERT_EQ(environment.mnn.tools.size(), 2U);
  EXPECT_EQ(environment.mnn.tools[0].name, "MNNConvert");
  EXPECT_FALSE(environment.mnn.tools[0].qnn);
  EXPECT_TRUE(environment.mnn.tools[1].qnn);
  ASSERT_EQ(environment.mnn.bad_directories.size(), 1U);
}

TEST_F(CollectTest, PythonTellsItsPathAndNothingElseRuns) {
  write("site/onnxruntime_qnn-2.7.0.dist-info/METADATA", "Name: onnxruntime-qnn\nVersion: 2.7.0\n\n");
  write("site/onnxruntime_qnn/libQnnHtp.so", x86_64(kBuild));
  write_program("bin/python3", "#!/bin/sh\necho; echo " + at("site") + "; echo relative; echo " + at("missing") + "\n");
  const Environment environment = collect_with({});
  EXPECT_EQ(environment.python.path, at("bin/python3"));
  ASSERT_EQ(environment.python.packages.size(), 1U);
  EXPECT_EQ(environment.python.packages[0].version, "2.7.0");
  ASSERT_NE(deployment(environment, Place::python), nullptr);
}

TEST_F(CollectTest, ABrokenPythonIsNotChecked) {
  write_program("bin/python3", "#!/bin/sh\nexit 7\n");
  const Environment environment = collect_with({});
  EXPECT_EQ(environment.python.problem, at("bin/python3") + " ended with status 7");
}

/// adb whose phone is this machine's shell, with the directories that the test made.
class CollectPhoneTest : public CollectTest {
 protected:
  void stand_in(const std::string& devices) {
    write_program("bin/adb", "#!/bin/sh\nPATH=/usr/bin:/bin\necho called >> " + at("log") +
                                 "\ncase $1 in devices) printf 'List of devices attached\\n" + devices +
                                 "' ;; shell) getprop() { echo SM8650; }; eval \"$2\" ;; esac\n");
  }
  Environment collect_phone_with(const std::string& directory) const {
    return collect_with({}, {.adb = true, .phone_directories = {directory}});
  }
};

TEST_F(CollectPhoneTest, IsNotAskedUnlessTold) {
  stand_in("abc\\tdevice\\n");
  EXPECT_EQ(collect_with({}).phone.adb, at("bin/adb"));
  EXPECT_FALSE(fs::exists(root_ / "log"));
}

TEST_F(CollectPhoneTest, LibrariesOfThePhoneAreListed) {
  stand_in("abc\\tdevice\\n");
  write("it's a phone/libQnnHtp.so", aarch64(kBuild));
  write("it's a phone/libQnnHtpV75Skel.so", hexagon("none"));
  const Environment environment = collect_phone_with(at("it's a phone"));
  EXPECT_EQ(environment.phone.problem, "");
  EXPECT_EQ(environment.phone.soc, "SM8650");
  ASSERT_EQ(environment.phone.devices.size(), 1U);
  const Deployment* phone = deployment(environment, Place::phone);
  ASSERT_NE(phone, nullptr);
  ASSERT_EQ(phone->directories.size(), 1U);
  EXPECT_EQ(phone->directories[0].path, at("it's a phone"));
  ASSERT_EQ(phone->directories[0].libraries.size(), 2U);
  EXPECT_EQ(phone->directories[0].libraries[0].machine, Machine::aarch64);
  EXPECT_EQ(phone->directories[0].libraries[0].build, kBuild);
  EXPECT_EQ(phone->directories[0].libraries[1].machine, Machine::hexagon);
  EXPECT_EQ(phone->directories[0].libraries[1].build, "");
  EXPECT_NE(deployment(environment, Place::phone_vendor), nullptr);
}

TEST_F(CollectPhoneTest, AMissingDirectoryIsSaid) {
  stand_in("abc\\tdevice\\n");
  const Environment environment = collect_phone_with("/no; touch " + at("injected"));
  EXPECT_EQ(deployment(environment, Place::phone)->directories[0].problem, "does not exist on the phone");
  EXPECT_FALSE(fs::exists(root_ / "injected"));
}

TEST_F(CollectPhoneTest, TwoPhonesAreNotSearched) {
  stand_in("abc\\tdevice\\ndef\\tdevice\\nghi\\tunauthorized\\n");
  const Environment environment = collect_phone_with("/x");
  EXPECT_EQ(environment.phone.devices.size(), 3U);
  EXPECT_EQ(environment.phone.devices[2].state, "unauthorized");
  EXPECT_EQ(deployment(environment, Place::phone), nullptr);
}

TEST_F(CollectPhoneTest, NonsenseFromThePhoneIsAProblem) {
  write_program("bin/adb",
                "#!/bin/sh\ncase $1 in devices) printf 'abc\\tdevice\\n' ;; *) echo 'error: closed' ;; esac\n");
  EXPECT_EQ(collect_phone_with("/x").phone.problem, "adb shell answered: error: closed\n");
}

TEST_F(CollectTest, TheDumpDirectoryIsDescribed) {
  const Environment environment = collect_with({{"MNN_QNN_DUMP_DIR", at("dump")}});
  ASSERT_TRUE(environment.dump_directory.has_value());
  EXPECT_FALSE(environment.dump_directory->exists);
  EXPECT_TRUE(environment.dump_directory->parent_writable);
  EXPECT_TRUE(environment.dump_directory->free_bytes.has_value());
  EXPECT_FALSE(collect_with({{"MNN_QNN_DUMP_DIR", at("a/b")}}).dump_directory->parent_writable);
}

TEST_F(CollectTest, TheCaseStoreIsLookedAt) {
  EXPECT_FALSE(collect_with({{"HOME", at("home")}}).cases.exists);
  write("home/.local/share/qnn-debug/cases.sqlite", std::string("SQLite format 3\0rest", 20));
  EXPECT_EQ(collect_with({{"HOME", at("home")}}).cases.problem, "");
  EXPECT_TRUE(collect_with({{"HOME", at("home")}}).cases.exists);
  write("other", "text that is longer than a header");
  EXPECT_EQ(collect_with({{"QNN_DEBUG_CASES", at("other")}}).cases.problem, "is not an SQLite database");
  EXPECT_EQ(collect_with({{"QNN_DEBUG_CASES", root_.string()}}).cases.problem, "is not a regular file");
}

}  // namespace
}  // namespace qnndbg::lint
