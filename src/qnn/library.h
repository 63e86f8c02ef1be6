// Qualcomm's HTP library, loaded into this process.
//
// What is behind these calls may crash or never return: callers use worker.h, which runs them in a process of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "qnn/api.h"
#include "qnn/call_error.h"

namespace qnndbg::qnn {

/// An object of the library's, freed at the end of its life.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, std::function<void(Handle)> free) : handle_(handle), free_(std::move(free)) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), free_(std::move(other.free_)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(free_, other.free_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr && free_) free_(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
  std::function<void(Handle)> free_;
};

struct OperationId {
  std::string package;
  std::string name;
  bool operator==(const OperationId&) const = default;
  auto operator<=>(const OperationId&) const = default;
};

/// What a library says about itself.
struct LibraryInfo {
  std::string path;
  std::string provider;      // "HTP_QTI_AISW"
  std::string build_id;      // "v2.51.0.260929181845"; empty: it does not tell
  std::string core_api;      // "2.40.0"
  std::string backend_api;   // "5.51.0"
  bool api_checked = false;  // see ApiTraits::checked
};

/// Precision of floating-point graphs, an option of the graph.
enum class GraphPrecision : std::uint8_t { library_default, float16, float32 };

struct GraphConfig {
  GraphPrecision precision = GraphPrecision::library_default;
  int optimization_level = 0;  // 1, 2, 3: how hard finalize works; 0: the library's default
};

class Library {
 public:
  /// Loads a library and stays loaded: QNN's libraries leave threads behind that dlclose would pull the code from
  /// under. Errors say what is wrong with the file: missing, of another machine, no QNN library, another backend's, too
  /// old.
  static CallResult<Library> open(const std::filesystem::path& path);

  const LibraryInfo& info() const { return info_; }
  const ApiTraits& traits() const { return traits_; }
  const Functions& functions() const { return functions_; }

  CallResult<Owned<abi::LogHandle>> create_log(abi::LogLevel level) const;
  CallResult<Owned<abi::BackendHandle>> create_backend(abi::LogHandle log) const;
  /// For a SoC; the architecture goes along where the library's layout for it is known.
  CallResult<Owned<abi::DeviceHandle>> create_device(abi::LogHandle log, int soc, int arch) const;
  CallResult<Owned<abi::ContextHandle>> create_context(abi::BackendHandle backend, abi::DeviceHandle device) const;
  CallResult<Owned<abi::ProfileHandle>> create_profile(abi::BackendHandle backend, abi::ProfileLevel level) const;
  /// A graph is freed with its context.
  CallResult<abi::GraphHandle> create_graph(abi::ContextHandle context, const std::string& name,
                                            const GraphConfig& config) const;

  /// Sorted. Errors: the library has no such function.
  CallResult<std::vector<OperationId>> operations(abi::BackendHandle backend) const;

 private:
  Library(LibraryInfo info, ApiTraits traits, Functions functions)
      : info_(std::move(info)), traits_(traits), functions_(functions) {}

  LibraryInfo info_;
  ApiTraits traits_;
  Functions functions_;
};

/// Loads a shared library for good and finds a symbol in it. Errors: the file is missing or of another machine, the
/// loader refuses it, it has no such symbol (then it is "not <what>").
CallResult<void*> load_symbol(const std::filesystem::path& path, const char* symbol, std::string_view what);

}  // namespace qnndbg::qnn
