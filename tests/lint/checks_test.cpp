#include "lint/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace qnndbg::lint {
namespace {

using testing::HasSubstr;

constexpr const char* kOld = "v2.28.0.241029232508_102474";
constexpr const char* kNew = "v2.51.0.260929181845";

SharedLibrary library(const std::string& path, Machine machine, const std::string& build = kNew) {
  return {.path = path, .name = path.substr(path.rfind('/') + 1), .machine = machine, .build = build};
}

/// All that a v75 phone needs, in one directory.
Deployment phone_folder(Place place = Place::named) {
  return {.place = place,
          .directories = {{.path = "app",
                           .libraries = {library("app/libQnnHtp.so", Machine::aarch64),
                                         library("app/libQnnHtpPrepare.so", Machine::aarch64),
                                         library("app/libQnnHtpV75Skel.so", Machine::hexagon),
                                         library("app/libQnnHtpV75Stub.so", Machine::aarch64),
                                         library("app/libQnnSystem.so", Machine::aarch64, "")}}}};
}

std::vector<SharedLibrary>& files(Deployment& deployment) { return deployment.directories.front().libraries; }

void remove(Deployment& deployment, std::string_view name) {
  std::erase_if(files(deployment), [&](const SharedLibrary& one) { return one.name == name; });
}

SharedLibrary& file(Deployment& deployment, std::string_view name) {
  return *std::find_if(files(deployment).begin(), files(deployment).end(),
                       [&](const SharedLibrary& one) { return one.name == name; });
}

Environment laptop() {
  Environment environment;
  environment.version = "1.2.3";
  environment.host = Machine::x86_64;
  environment.working_directory = {
      .path = "/home", .exists = true, .is_directory = true, .writable = true, .free_bytes = std::uint64_t{1} << 40U};
  return environment;
}

Environment with(Deployment deployment) {
  Environment environment = laptop();
  environment.deployments.push_back(std::move(deployment));
  return environment;
}

std::vector<Check> of(const Environment& environment, std::string_view id) {
  std::vector<Check> checks = check(environment);
  std::erase_if(checks, [&](const Check& one) { return one.id != id; });
  return checks;
}

std::vector<Check> problems(const Environment& environment) {
  std::vector<Check> checks = check(environment);
  std::erase_if(checks, [](const Check& one) { return one.status != CheckStatus::problem; });
  return checks;
}

/// The only check of an id.
Check only(const Environment& environment, std::string_view id) {
  const std::vector<Check> checks = of(environment, id);
  EXPECT_EQ(checks.size(), 1U) << id;
  return checks.empty() ? Check{} : checks.front();
}

TEST(Checks, ABareLaptopHasNoProblem) {
  EXPECT_TRUE(problems(laptop()).empty());
  EXPECT_EQ(only(laptop(), "libraries.found").status, CheckStatus::note);
  EXPECT_EQ(only(laptop(), "program.version").found, "qnn-debug 1.2.3");
}

TEST(Checks, IdsAreUniqueAndOrdered) {
  std::set<std::string_view> ids;
  for (const CheckType& type : check_types()) {
    EXPECT_TRUE(ids.insert(type.id).second) << type.id;
    EXPECT_TRUE(type.why.ends_with('.')) << type.id;
  }
  // Groups stay together, so that a view can print one heading each.
  std::set<std::string_view> groups;
  std::string_view group;
  for (const CheckType& type : check_types()) {
    if (group_of(type.id) == group) continue;
    group = group_of(type.id);
    EXPECT_TRUE(groups.insert(group).second) << group;
  }
}

// --- Libraries

TEST(Libraries, AWholeFolderIsRight) {
  Environment environment = with(phone_folder());
  environment.target.arch = 75;
  EXPECT_TRUE(problems(environment).empty());
  EXPECT_EQ(only(environment, "libraries.complete").found, "app: all that v75 needs is there");
  EXPECT_EQ(only(environment, "libraries.one_build").status, CheckStatus::ok);
}

TEST(Libraries, EachMissingFileIsNamedWithTheCommandThatCopiesIt) {
  for (const char* name : {"libQnnHtp.so", "libQnnHtpV75Stub.so", "libQnnHtpV75Skel.so"}) {
    Deployment folder = phone_folder();
    remove(folder, name);
    Environment environment = with(folder);
    environment.target.arch = 75;
    const Check check = only(environment, "libraries.complete");
    EXPECT_EQ(check.status, CheckStatus::problem);
    EXPECT_EQ(check.found, fmt::format("{} is missing in app", name));
    EXPECT_THAT(check.fix, testing::MatchesRegex("cp \"\\$QNN_SDK_ROOT\"/lib/.*" + std::string(name) + " app"));
  }
}

TEST(Libraries, ASkelComesFromTheHexagonDirectory) {
  Deployment folder = phone_folder();
  remove(folder, "libQnnHtpV75Skel.so");
  Environment environment = with(folder);
  EXPECT_THAT(only(environment, "libraries.complete").fix, HasSubstr("lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so"));
  EXPECT_EQ(only(environment, "libraries.complete").cause, "skel_load_failed");
  // With an SDK at hand the command names its file.
  environment.deployments.push_back(
      {.place = Place::sdk_device,
       .directories = {
           {.path = "/sdk", .libraries = {library("/sdk/hex agon/libQnnHtpV75Skel.so", Machine::hexagon)}}}});
  EXPECT_EQ(only(environment, "libraries.complete").fix, "cp '/sdk/hex agon/libQnnHtpV75Skel.so' app");
}

TEST(Libraries, AnotherArchitectureIsMissing) {
  Environment environment = with(phone_folder());
  environment.target.arch = 79;
  const std::vector<Check> checks = of(environment, "libraries.complete");
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_THAT(checks[0].found, HasSubstr("libQnnHtpV79Stub.so is missing"));
  EXPECT_THAT(checks[1].found, HasSubstr("libQnnHtpV79Skel.so is missing"));
}

TEST(Libraries, TheModelDecidesAboutPrepareAndSystem) {
  Deployment folder = phone_folder();
  remove(folder, "libQnnHtpPrepare.so");
  remove(folder, "libQnnSystem.so");
  Environment environment = with(folder);
  for (const Check& check : of(environment, "libraries.complete")) EXPECT_EQ(check.status, CheckStatus::warning);
  EXPECT_EQ(of(environment, "libraries.complete").size(), 2U);
  environment.model = ModelFile{.path = "m.mnn", .compiled = true};
  EXPECT_THAT(only(environment, "libraries.complete").found, HasSubstr("libQnnSystem.so is missing"));
  EXPECT_EQ(only(environment, "libraries.complete").status, CheckStatus::problem);
  environment.model->compiled = false;
  EXPECT_THAT(only(environment, "libraries.complete").found, HasSubstr("libQnnHtpPrepare.so is missing"));
  EXPECT_EQ(only(environment, "libraries.complete").status, CheckStatus::problem);
}

TEST(Libraries, AFileThatCannotBeLoadedIsSaidOnce) {
  Deployment folder = phone_folder();
  file(folder, "libQnnHtpV75Skel.so").problem = "is cut off after 7 bytes";
  const Environment environment = with(folder);
  EXPECT_EQ(only(environment, "libraries.readable").found, "app/libQnnHtpV75Skel.so is cut off after 7 bytes");
  EXPECT_EQ(only(environment, "libraries.readable").cause, "skel_load_failed");
  EXPECT_TRUE(of(environment, "libraries.complete").empty()) << "neither missing nor whole";
}

TEST(Libraries, AFileOfAnUnknownMachineBelongsToNoHost) {
  Deployment folder = phone_folder();
  file(folder, "libQnnHtpV75Skel.so").machine = Machine::unknown;
  file(folder, "libQnnHtpV75Skel.so").problem = "is empty";
  const std::vector<Check> found = problems(with(folder));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "libraries.readable");
}

TEST(Libraries, WithoutStubAndSkelNoArchitectureIsServed) {
  Deployment folder = phone_folder();
  remove(folder, "libQnnHtpV75Stub.so");
  remove(folder, "libQnnHtpV75Skel.so");
  EXPECT_THAT(only(with(folder), "libraries.complete").found, HasSubstr("neither stub nor skel"));
}

TEST(Libraries, TwoSdksAreAProblem) {
  Deployment folder = phone_folder();
  file(folder, "libQnnHtpV75Stub.so").build = kOld;
  const Check check = only(with(folder), "libraries.one_build");
  EXPECT_EQ(check.status, CheckStatus::problem);
  EXPECT_EQ(check.cause, "sdk_mix");
  EXPECT_THAT(check.found, HasSubstr("libQnnHtpV75Stub.so of 2.28.0.241029232508"));
}

TEST(Libraries, AnSdkThatHasThemAllReplacesThem) {
  const Deployment folder = phone_folder();
  Environment environment = with(folder);
  file(environment.deployments[0], "libQnnHtpV75Stub.so").build = kOld;
  Deployment sdk = phone_folder(Place::sdk_device);
  for (SharedLibrary& one : files(sdk)) one.path = "/sdk/" + one.name;
  environment.deployments.push_back(sdk);
  EXPECT_EQ(of(environment, "libraries.one_build").front().fix,
            "cp /sdk/libQnnHtp.so /sdk/libQnnHtpPrepare.so /sdk/libQnnHtpV75Skel.so /sdk/libQnnHtpV75Stub.so "
            "/sdk/libQnnSystem.so app");
  remove(environment.deployments[1], "libQnnHtpPrepare.so");
  EXPECT_THAT(of(environment, "libraries.one_build").front().fix, HasSubstr("from one SDK"));
}

TEST(Libraries, APhonesLibrariesOnALaptopsPathAreOnlyMisplaced) {
  const Environment environment =
      with({.place = Place::loader,
            .directories = {{.path = "/phone",
                             .libraries = {library("/phone/libQnnHtp.so", Machine::aarch64),
                                           library("/phone/libQnnHtpV75Stub.so", Machine::aarch64)}}}});
  EXPECT_TRUE(of(environment, "libraries.complete").empty());
  Environment board = environment;
  board.host = Machine::aarch64;
  EXPECT_THAT(of(board, "libraries.complete").front().found, HasSubstr("libQnnHtpV75Skel.so is missing"));
  EXPECT_TRUE(of(board, "libraries.machine").empty());
}

TEST(Libraries, TheNumberBehindTheTimeMayDiffer) {
  Deployment folder = phone_folder();
  file(folder, "libQnnHtpV75Stub.so").build = std::string(kNew) + "_1";
  EXPECT_EQ(only(with(folder), "libraries.one_build").status, CheckStatus::ok);
}

TEST(Libraries, TwoDirectoriesGivenAreOneRun) {
  Deployment folder = phone_folder();
  const SharedLibrary skel = library("dsp/libQnnHtpV75Skel.so", Machine::hexagon, kOld);
  remove(folder, "libQnnHtpV75Skel.so");
  folder.directories.push_back({.path = "dsp", .libraries = {skel}});
  const Environment environment = with(folder);
  EXPECT_EQ(only(environment, "libraries.complete").status, CheckStatus::ok);
  EXPECT_EQ(only(environment, "libraries.one_build").status, CheckStatus::problem);
}

TEST(Libraries, AnEmptyFolderExplainsExtraction) {
  const Environment environment = with({.place = Place::named, .directories = {{.path = "lib"}}});
  EXPECT_EQ(only(environment, "libraries.found").status, CheckStatus::problem);
  EXPECT_THAT(only(environment, "libraries.found").fix, HasSubstr("extractNativeLibs"));
  const Environment missing =
      with({.place = Place::named, .directories = {{.path = "lib", .problem = "does not exist"}}});
  EXPECT_EQ(only(missing, "libraries.found").found, "lib does not exist");
}

TEST(Libraries, AnAndroidLibraryInTheHostsPathIsAProblem) {
  const Environment environment =
      with({.place = Place::loader,
            .directories = {{.path = "/phone", .libraries = {library("/phone/libQnnHtp.so", Machine::aarch64)}}}});
  const Check check = only(environment, "libraries.machine");
  EXPECT_EQ(check.found, "/phone/libQnnHtp.so is for aarch64, this machine is x86-64");
  EXPECT_THAT(check.fix, HasSubstr("LD_LIBRARY_PATH"));
}

TEST(Libraries, TheNameOfASkelPromisesHexagon) {
  Deployment folder = phone_folder();
  file(folder, "libQnnHtpV75Skel.so").machine = Machine::aarch64;
  EXPECT_THAT(only(with(folder), "libraries.machine").found, HasSubstr("must be for Hexagon"));
  EXPECT_TRUE(of(with(folder), "libraries.complete").empty());
}

TEST(Libraries, OneDirectoryForTwoMachinesIsAProblem) {
  Deployment folder = phone_folder();
  files(folder).push_back(library("app/libQnnIr.so", Machine::x86_64));
  EXPECT_THAT(of(with(folder), "libraries.machine").back().found, HasSubstr("mixes"));
}

TEST(Libraries, AHostFolderNeedsNoSkel) {
  const Environment environment =
      with({.place = Place::named,
            .directories = {{.path = "host", .libraries = {library("host/libQnnHtp.so", Machine::x86_64)}}}});
  EXPECT_TRUE(problems(environment).empty());
  EXPECT_THAT(only(environment, "libraries.complete").found, HasSubstr("emulates"));
}

TEST(Libraries, OnTheLoadersPathTheFirstCopyCounts) {
  SharedLibrary first = library("/a/libQnnHtp.so", Machine::x86_64, kNew);
  SharedLibrary second = library("/b/libQnnHtp.so", Machine::x86_64, kOld);
  first.inode = 1;
  second.inode = 2;
  Environment environment =
      with({.place = Place::loader,
            .directories = {{.path = "/a", .libraries = {first}}, {.path = "/b", .libraries = {second}}}});
  EXPECT_EQ(only(environment, "libraries.one_build").status, CheckStatus::ok);
  EXPECT_THAT(only(environment, "libraries.copies").found, HasSubstr("of different builds"));
  EXPECT_EQ(only(environment, "libraries.copies").cause, "sdk_mix");
  // A library that only the second directory has meets the first copy's build.
  environment.deployments[0].directories[1].libraries.push_back(library("/b/libQnnIr.so", Machine::x86_64, kOld));
  EXPECT_EQ(only(environment, "libraries.one_build").status, CheckStatus::problem);
  environment.deployments[0].directories[1].libraries = {first};
  EXPECT_TRUE(of(environment, "libraries.copies").empty()) << "two names of one file";
}

TEST(Libraries, ARuntimeOlderThanTheCompilerIsAWarning) {
  Environment environment = with(phone_folder());
  environment.deployments.push_back(
      {.place = Place::sdk_host,
       .directories = {{.path = "/sdk", .libraries = {library("/sdk/libQnnHtp.so", Machine::x86_64, kOld)}}}});
  EXPECT_EQ(only(environment, "libraries.runtime").status, CheckStatus::ok);
  for (SharedLibrary& one : files(environment.deployments[0])) one.build = "v2.9.0.230101";
  EXPECT_EQ(only(environment, "libraries.runtime").status, CheckStatus::warning) << "2.9 is older than 2.28";
  EXPECT_EQ(only(environment, "libraries.runtime").cause, "version_mismatch");
}

TEST(Sdk, MustHaveTheArchitecture) {
  Environment environment = with(phone_folder(Place::sdk_device));
  EXPECT_EQ(only(environment, "sdk.architectures").found, "the SDK has stub and skel for v75");
  environment.target.arch = 81;
  EXPECT_EQ(only(environment, "sdk.architectures").status, CheckStatus::problem);
  EXPECT_EQ(only(environment, "sdk.architectures").cause, "soc_arch_mismatch");
}

TEST(Sdk, RootsAreJudged) {
  Environment environment = laptop();
  environment.sdks = {{.source = "QNN_SDK_ROOT", .path = "/a", .version = "2.30.0"},
                      {.source = "QAIRT_SDK_ROOT", .path = "/b", .version = "2.51.0"}};
  EXPECT_EQ(of(environment, "variables.sdk_root").back().cause, "sdk_mix");
  environment.sdks = {{.source = "QNN_SDK_ROOT", .path = "/a", .problem = "does not exist"}};
  EXPECT_EQ(only(environment, "variables.sdk_root").status, CheckStatus::problem);
  environment.sdks = {{.source = "--sdk", .path = "/a", .version = "2.30.0", .missing_tools = {"bin/x"}}};
  EXPECT_EQ(only(environment, "sdk.root").found, "--sdk=/a: SDK 2.30.0");
  EXPECT_EQ(only(environment, "sdk.tools").status, CheckStatus::warning);
}

// --- Variables

TEST(Variables, AColonInTheDspPathIsPartOfAName) {
  Environment environment = laptop();
  environment.variables["ADSP_LIBRARY_PATH"] = "/data/a:/dsp";
  const Check check = only(environment, "variables.dsp_path");
  EXPECT_EQ(check.status, CheckStatus::problem);
  EXPECT_EQ(check.fix, "export ADSP_LIBRARY_PATH='/data/a;/dsp'");
  environment.variables["ADSP_LIBRARY_PATH"] = "/data/a;/dsp";
  EXPECT_EQ(only(environment, "variables.dsp_path").status, CheckStatus::ok);
}

TEST(Variables, OnABoardTheDspPathMustExist) {
  Environment environment = laptop();
  environment.host = Machine::aarch64;
  environment.variables["ADSP_LIBRARY_PATH"] = "/data/a";
  environment.dsp_path = {{.text = "/data/a", .exists = false}};
  EXPECT_EQ(only(environment, "variables.dsp_path").status, CheckStatus::warning);
}

TEST(Variables, EntriesOfTheLoadersPathMustExist) {
  Environment environment = laptop();
  environment.loader_path = {
      {.text = "/a b", .exists = true}, {.text = "", .exists = false}, {.text = "/c", .exists = false}};
  const Check check = of(environment, "variables.loader_path").front();
  EXPECT_EQ(check.status, CheckStatus::warning);
  EXPECT_THAT(check.found, HasSubstr("(empty), /c"));
  EXPECT_EQ(check.fix, "export LD_LIBRARY_PATH='/a b'");
}

TEST(Variables, TheDumpDirectoryMustBeWritable) {
  Environment environment = laptop();
  const auto status = [&](const DirectoryState& state) {
    environment.dump_directory = state;
    return only(environment, "variables.dump_directory").status;
  };
  EXPECT_EQ(status({.path = "d", .exists = true, .is_directory = true, .writable = true}), CheckStatus::ok);
  EXPECT_EQ(status({.path = "d", .exists = true, .is_directory = true}), CheckStatus::problem);
  EXPECT_EQ(status({.path = "d", .exists = true}), CheckStatus::problem);
  EXPECT_EQ(status({.path = "d", .parent_writable = true}), CheckStatus::ok);
  EXPECT_EQ(status({.path = "d"}), CheckStatus::problem);
}

TEST(Variables, PreloadedLibrariesAreNamed) {
  Environment environment = laptop();
  environment.variables["LD_PRELOAD"] = "/x/libQnnHtp.so";
  EXPECT_EQ(only(environment, "variables.preload").status, CheckStatus::warning);
}

// --- MNN, Python

TEST(MnnChecks, WithoutTheBackendEverythingRunsOnTheCpu) {
  Environment environment = laptop();
  environment.mnn.libraries = {{.path = "/app/libMNN.so", .name = "libMNN.so", .machine = Machine::aarch64}};
  EXPECT_EQ(only(environment, "mnn.backend").status, CheckStatus::problem);
  EXPECT_EQ(only(environment, "mnn.backend").cause, "cpu_fallback");
  environment.mnn.libraries[0].machine = Machine::x86_64;
  EXPECT_EQ(only(environment, "mnn.backend").status, CheckStatus::warning) << "it may only convert";
  environment.mnn.libraries.push_back({.path = "/app/libMNN_QNN.so", .name = "libMNN_QNN.so", .qnn = true});
  EXPECT_EQ(only(environment, "mnn.backend").status, CheckStatus::ok) << "in a library beside it";
}

TEST(MnnChecks, TheCompilerNeedsTheConvertersRuntime) {
  Environment environment = laptop();
  environment.mnn.tools = {{.path = "/mnn/MNN2QNNModel", .name = "MNN2QNNModel"}};
  EXPECT_EQ(only(environment, "mnn.converter").cause, "backend_not_built");
  environment.mnn.libraries = {{.path = "/mnn/libMNN.so", .name = "libMNN.so", .qnn = true, .convert = true}};
  EXPECT_EQ(only(environment, "mnn.converter").status, CheckStatus::ok);
}

TEST(MnnChecks, NnapiBesideQnnIsAProblem) {
  Environment environment = laptop();
  environment.mnn.libraries = {{.path = "/mnn/libMNN.so", .name = "libMNN.so", .qnn = true, .nnapi = true}};
  EXPECT_EQ(only(environment, "mnn.nnapi").status, CheckStatus::problem);
}

Environment with_packages(std::vector<PythonPackage> packages) {
  Environment environment = laptop();
  environment.python = {.path = "/usr/bin/python3", .packages = std::move(packages)};
  return environment;
}

TEST(PythonChecks, RequirementsMustHold) {
  const PythonPackage qnn{.name = "onnxruntime-qnn",
                          .version = "2.7.0",
                          .directory = "/s",
                          .requirements = {{.name = "onnxruntime", .versions = ">=1.24.2"}, {.name = "sympy"}}};
  const Environment fits = with_packages({{.name = "onnxruntime", .version = "1.32.0", .directory = "/s"}, qnn});
  EXPECT_TRUE(of(fits, "python.versions").empty());
  const Environment old = with_packages({{.name = "onnxruntime", .version = "1.9", .directory = "/s"}, qnn});
  EXPECT_EQ(only(old, "python.versions").found, "onnxruntime-qnn 2.7.0 needs onnxruntime>=1.24.2, 1.9 is installed");
  EXPECT_EQ(only(old, "python.versions").fix, "/usr/bin/python3 -m pip install 'onnxruntime>=1.24.2'");
  EXPECT_THAT(only(with_packages({qnn}), "python.versions").found, HasSubstr("which is not installed"));
}

TEST(PythonChecks, OldPackagesOverwriteEachOther) {
  const PythonPackage plain{.name = "onnxruntime", .version = "1.22.0", .directory = "/s"};
  EXPECT_THAT(only(with_packages({plain, {.name = "onnxruntime-qnn", .version = "1.22.0", .directory = "/s"}}),
                   "python.versions")
                  .found,
              HasSubstr("same directory"));
  EXPECT_TRUE(
      of(with_packages({plain, {.name = "onnxruntime-qnn", .version = "2.0", .directory = "/s"}}), "python.versions")
          .empty());
}

TEST(PythonChecks, OnePackageTwiceIsAProblem) {
  EXPECT_THAT(only(with_packages({{.name = "numpy", .version = "1.0", .directory = "/s"},
                                  {.name = "numpy", .version = "2.0", .directory = "/s"}}),
                   "python.versions")
                  .found,
              HasSubstr("1.0 and 2.0"));
}

// --- Phone

Environment with_phone(std::vector<PhoneDevice> devices) {
  Environment environment = laptop();
  environment.phone = {.asked = true, .adb = "/usr/bin/adb", .devices = std::move(devices), .soc = "SM8650"};
  return environment;
}

TEST(PhoneChecks, IsAskedOnlyOnRequest) {
  Environment environment = laptop();
  environment.phone.adb = "/usr/bin/adb";
  EXPECT_EQ(only(environment, "phone.adb").status, CheckStatus::not_checked);
  EXPECT_EQ(only(environment, "phone.adb").fix, "qnn-debug doctor --adb");
  environment.phone = {.asked = true};
  EXPECT_EQ(only(environment, "phone.adb").status, CheckStatus::problem);
}

TEST(PhoneChecks, ExactlyOnePhoneMustBeReady) {
  EXPECT_EQ(only(with_phone({}), "phone.devices").status, CheckStatus::problem);
  EXPECT_THAT(only(with_phone({{.serial = "a", .state = "unauthorized"}}), "phone.devices").fix, HasSubstr("accept"));
  const Environment two = with_phone({{.serial = "a", .state = "device"}, {.serial = "b", .state = "device"}});
  EXPECT_EQ(only(two, "phone.devices").fix, "export ANDROID_SERIAL=a");
  EXPECT_EQ(only(with_phone({{.serial = "a", .state = "device"}}), "phone.devices").status, CheckStatus::ok);
}

TEST(PhoneChecks, ItsSocDecidesTheArchitecture) {
  Environment environment = with_phone({{.serial = "a", .state = "device"}});
  EXPECT_EQ(only(environment, "phone.soc").found, "SoC SM8650, HTP v75");
  environment.target.arch = 79;
  EXPECT_EQ(only(environment, "phone.soc").cause, "soc_arch_mismatch");
  environment.target.arch = 0;
  environment.deployments.push_back(phone_folder(Place::phone));
  remove(environment.deployments[0], "libQnnHtpV75Skel.so");
  EXPECT_THAT(only(environment, "libraries.complete").fix, testing::StartsWith("adb push "));
}

TEST(PhoneChecks, FirmwareOfAnotherBuildIsAWarning) {
  Environment environment = with_phone({{.serial = "a", .state = "device"}});
  environment.deployments = {
      phone_folder(Place::phone),
      {.place = Place::phone_vendor,
       .directories = {
           {.path = "/vendor/lib64", .libraries = {library("/vendor/lib64/libQnnHtp.so", Machine::aarch64, kNew)}}}}};
  EXPECT_EQ(only(environment, "phone.firmware").status, CheckStatus::note);
  files(environment.deployments[1])[0].build = kOld;
  EXPECT_EQ(only(environment, "phone.firmware").cause, "sdk_mix");
}

// --- Machine, model, program

TEST(Machines, ASmallStackAndAFullDiskAreSaid) {
  Environment environment = laptop();
  environment.stack_limit = std::uint64_t{8} << 20U;
  EXPECT_EQ(only(environment, "machine.stack").fix, "ulimit -s unlimited");
  environment.stack_limit = std::uint64_t{64} << 20U;
  EXPECT_EQ(only(environment, "machine.stack").status, CheckStatus::ok);
  environment.working_directory.free_bytes = 5 << 20;
  EXPECT_EQ(only(environment, "machine.disk").status, CheckStatus::warning);
}

TEST(ModelCheck, AModelThatCannotBeReadIsAProblem) {
  Environment environment = laptop();
  environment.model = ModelFile{.path = "m.mnn", .problem = "m.mnn: is no model"};
  EXPECT_EQ(only(environment, "model.kind").status, CheckStatus::problem);
}

TEST(ProgramCheck, TheCaseStoreMustBeReadable) {
  Environment environment = laptop();
  environment.cases = {.path = "/c", .exists = true, .problem = "is not an SQLite database"};
  EXPECT_EQ(only(environment, "program.cases").status, CheckStatus::problem);
}

}  // namespace
}  // namespace qnndbg::lint
