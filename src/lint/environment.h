// Where models are converted and run, described as plain data: what `doctor` judges. collect.h fills it from the
// machine; tests write it down.
//
// Words used here: a *deployment* is a set of directories whose QNN libraries are meant to work together in one process
// (and on the DSP that it talks to): all directories given by the user, an SDK's Android part, the host's loader path.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/python_packages.h"
#include "lint/shared_library.h"

namespace qnndbg::lint {

// Every member has an initializer, so that a description names only what it is about.

/// What a deployment is for.
enum class Place : unsigned char {
  named,         // --library
  loader,        // the loader's search path on this machine: LD_LIBRARY_PATH (and, on aarch64, ADSP_LIBRARY_PATH)
  sdk_host,      // the SDK's libraries for this machine
  sdk_device,    // the SDK's libraries for phones
  python,        // inside a Python package
  phone,         // directories of a connected phone, as they were asked for
  phone_vendor,  // directories of the phone's firmware
};

std::string_view name_of(Place place);

struct LibraryDirectory {
  std::string path{};
  std::string problem{};                   // "does not exist", "is not a directory", ...; empty: it was listed
  std::vector<SharedLibrary> libraries{};  // QNN libraries, by name
  bool truncated = false;                  // more entries than are looked at
};

struct Deployment {
  Place place = Place::named;
  std::vector<LibraryDirectory> directories{};
};

/// A directory that a variable names.
struct DirectoryState {
  std::string path{};
  bool exists = false;
  bool is_directory = false;
  bool writable = false;
  bool parent_writable = false;  // it could be created
  std::optional<std::uint64_t> free_bytes{};
};

/// One entry of a search path.
struct PathEntry {
  std::string text{};
  bool exists = false;  // as a directory on this machine
};

struct SdkRoot {
  std::string source{};  // "QNN_SDK_ROOT", "QAIRT_SDK_ROOT" or "--sdk"
  std::string path{};
  std::string problem{};                     // why it is no SDK; empty: it is one
  std::string version{};                     // by sdk.yaml or the name of the directory; empty: not told
  std::vector<std::string> missing_tools{};  // of those that MNN2QNNModel runs
};

/// An MNN program or library.
struct MnnFile {
  std::string path{};
  std::string name{};
  Machine machine = Machine::unknown;
  std::string problem{};
  bool qnn = false;      // the QNN backend is in it
  bool convert = false;  // with the converter's runtime (type 32)
  bool nnapi = false;    // the NNAPI backend, which claims the same number 5
};

struct Mnn {
  std::vector<MnnFile> tools{};                     // found on PATH or in a directory of --mnn
  std::vector<MnnFile> libraries{};                 // libMNN*.so beside them and in the loader path
  std::vector<LibraryDirectory> bad_directories{};  // of --mnn, with their problems
};

struct Python {
  std::string path{};  // empty: none on PATH
  std::string problem{};
  std::vector<PythonPackage> packages{};  // those that matter here
};

struct PhoneDevice {
  std::string serial{};
  std::string state{};  // "device", "unauthorized", "offline", ...
};

struct Phone {
  bool asked = false;     // --adb
  std::string adb{};      // path; empty: not on PATH
  std::string problem{};  // adb failed or answered nothing
  std::vector<PhoneDevice> devices{};
  std::string soc{};     // "SM8650", as the phone says; empty: not told
  std::string serial{};  // ANDROID_SERIAL, if set
};

struct ModelFile {
  std::string path{};
  std::string problem{};  // why it cannot be read
  bool compiled = false;  // compiled beforehand: its operators are one Plugin
};

/// The user's case store (`qnn-debug case`).
struct CaseFile {
  std::string path{};  // empty: there is no place for it
  bool exists = false;
  std::string problem{};  // why it cannot be read; empty: it can
};

/// What the user wants to run, as far as told.
struct Target {
  int arch = 0;       // HTP architecture, 75 for v75; 0: not told
  std::string soc{};  // "SM8650"; empty: not told
};

struct Environment {
  std::string version{};  // of this program
  Machine host = Machine::unknown;
  Target target;
  std::map<std::string, std::string, std::less<>> variables;  // those of kVariables that are set
  std::vector<PathEntry> loader_path{};                       // LD_LIBRARY_PATH
  std::vector<PathEntry> dsp_path{};                          // ADSP_LIBRARY_PATH
  std::vector<SdkRoot> sdks{};
  std::vector<std::string> installed_sdks{};  // in the installer's usual places, whether a variable names them or not
  std::vector<Deployment> deployments{};
  Mnn mnn;
  Python python;
  Phone phone;
  std::optional<ModelFile> model{};
  CaseFile cases{};
  std::optional<DirectoryState> dump_directory{};  // MNN_QNN_DUMP_DIR
  DirectoryState working_directory;                // where the dump goes without it
  std::optional<std::uint64_t> stack_limit{};      // bytes; nullopt: unlimited
};

}  // namespace qnndbg::lint
