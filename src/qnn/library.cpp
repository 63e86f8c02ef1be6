#include "qnn/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "lint/shared_library.h"

namespace qnndbg::qnn {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kMostProviders = 16;
constexpr std::uint32_t kMostOperations = 65536;

lint::Machine this_machine() {
#if defined(__x86_64__)
  return lint::Machine::x86_64;
#elif defined(__aarch64__)
  return lint::Machine::aarch64;
#else
  return lint::Machine::other;
#endif
}

CallResult<void> check_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(Failure::library, "{}: there is no such file", path.string());
  const lint::SharedLibrary file = lint::read_shared_library(path);
  if (!file.problem.empty()) return fail(Failure::library, "{} {}", path.string(), file.problem);
  if (file.machine != this_machine())
    return fail(Failure::library, "{}: a library for {}, but this program runs on {}", path.string(),
                lint::name_of(file.machine), lint::name_of(this_machine()));
  return {};
}

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/// The provider of HTP. Every library seen has exactly one.
CallResult<const abi::Provider*> htp_provider(const fs::path& path, abi::GetProviders get_providers) {
  const abi::Provider** list = nullptr;
  std::uint32_t count = 0;
  const abi::Status status = get_providers(&list, &count);
  if (status != abi::kSuccess) return fail(refusal("QnnInterface_getProviders", path.string(), status));
  if (list == nullptr || count == 0) return fail(Failure::library, "{}: the library offers no provider", path.string());
  const abi::Provider* other = nullptr;
  for (std::uint32_t i = 0; i < std::min(count, kMostProviders); ++i) {
    if (list[i] == nullptr) continue;
    if (list[i]->backend_id == abi::kHtpBackendId) return list[i];
    other = list[i];
  }
  if (other == nullptr) return fail(Failure::library, "{}: the library offers no provider", path.string());
  return fail(Failure::library, "{}: a QNN library of another backend ({}, number {}); HTP's is libQnnHtp.so",
              path.string(), text_of(other->name), other->backend_id);
}

std::string build_id_of(const Functions& functions) {
  const char* text = nullptr;
  if (functions.backend_get_build_id == nullptr || functions.backend_get_build_id(&text) != abi::kSuccess) return {};
  return text_of(text);
}

/// Configurations as QNN wants them: an array of pointers that ends with nullptr.
template <std::size_t kMost>
class ConfigList {
 public:
  void add(const void* custom) {
    configs_.at(size_) = {.option = abi::kCustomOption, .custom = custom};
    pointers_.at(size_) = &configs_.at(size_);
    ++size_;
  }
  const abi::CustomConfig** get() { return size_ == 0 ? nullptr : pointers_.data(); }

 private:
  std::size_t size_ = 0;
  std::array<abi::CustomConfig, kMost> configs_{};
  std::array<const abi::CustomConfig*, kMost + 1> pointers_{};
};

/// The number stands where either layout looks for it.
abi::HtpDeviceConfig soc_config(int soc) {
  abi::HtpDeviceConfig config{.option = abi::HtpDeviceOption::soc, .words = {}};
  config.words[0] = config.words[1] = static_cast<std::uint32_t>(soc);
  return config;
}

/// Device number 0, then the architecture.
abi::HtpDeviceConfig arch_config(int arch, HtpDeviceLayout layout) {
  abi::HtpDeviceConfig config{.option = abi::HtpDeviceOption::arch, .words = {}};
  config.words[layout == HtpDeviceLayout::at_4 ? 1 : 2] = static_cast<std::uint32_t>(arch);
  return config;
}

}  // namespace

CallResult<void*> load_symbol(const fs::path& path, const char* symbol, std::string_view what) {
  if (CallResult<void> checked = check_file(path); !checked) return fail(std::move(checked.error()));
  // By its absolute path: a name without a slash would be searched for elsewhere.
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  void* const library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(Failure::library, "the loader refuses the library: {}", text_of(::dlerror()));
  void* const found = ::dlsym(library, symbol);
  if (found == nullptr) return fail(Failure::library, "{}: not {}: it has no function {}", path.string(), what, symbol);
  return found;
}

CallResult<Library> Library::open(const fs::path& path) {
  CallResult<void*> symbol = load_symbol(path, abi::kGetProvidersSymbol, "a QNN library");
  if (!symbol) return fail(std::move(symbol.error()));
  CallResult<const abi::Provider*> provider = htp_provider(path, reinterpret_cast<abi::GetProviders>(*symbol));
  if (!provider) return fail(std::move(provider.error()));
  const abi::ApiVersion version = (*provider)->version;
  const Result<ApiTraits> traits = traits_of(version);
  if (!traits) return fail(Failure::library, "{}: {}", path.string(), traits.error().message);
  const Result<Functions> functions = functions_of(**provider);
  if (!functions) return fail(Failure::library, "{}: {}", path.string(), functions.error().message);
  LibraryInfo info{.path = path.string(),
                   .provider = text_of((*provider)->name),
                   .build_id = build_id_of(*functions),
                   .core_api = to_string(version.core),
                   .backend_api = to_string(version.backend),
                   .api_checked = traits->checked};
  return Library(std::move(info), *traits, *functions);
}

CallResult<Owned<abi::LogHandle>> Library::create_log(abi::LogLevel level) const {
  abi::LogHandle log = nullptr;
  const abi::Status status = functions_.log_create(log_callback(), level, &log);
  if (status != abi::kSuccess) return fail(refusal("logCreate", {}, status));
  return Owned<abi::LogHandle>(log, functions_.log_free);
}

CallResult<Owned<abi::BackendHandle>> Library::create_backend(abi::LogHandle log) const {
  abi::BackendHandle backend = nullptr;
  const abi::Status status = functions_.backend_create(log, nullptr, &backend);
  if (status != abi::kSuccess) return fail(refusal("backendCreate", {}, status));
  return Owned<abi::BackendHandle>(backend, functions_.backend_free);
}

CallResult<Owned<abi::DeviceHandle>> Library::create_device(abi::LogHandle log, int soc, int arch) const {
  const abi::HtpDeviceConfig by_soc = soc_config(soc);
  const abi::HtpDeviceConfig by_arch = arch_config(arch, traits_.htp_device);
  ConfigList<2> configs;
  configs.add(&by_soc);
  if (arch != 0 && traits_.htp_device != HtpDeviceLayout::unknown) configs.add(&by_arch);
  abi::DeviceHandle device = nullptr;
  const abi::Status status = functions_.device_create(log, configs.get(), &device);
  if (status != abi::kSuccess) return fail(refusal("deviceCreate", fmt::format("SoC {}", soc), status));
  return Owned<abi::DeviceHandle>(device, functions_.device_free);
}

CallResult<Owned<abi::ContextHandle>> Library::create_context(abi::BackendHandle backend,
                                                              abi::DeviceHandle device) const {
  abi::ContextHandle context = nullptr;
  const abi::Status status = functions_.context_create(backend, device, nullptr, &context);
  if (status != abi::kSuccess) return fail(refusal("contextCreate", {}, status));
  return Owned<abi::ContextHandle>(context,
                                   [free = functions_.context_free](abi::ContextHandle old) { free(old, nullptr); });
}

CallResult<Owned<abi::ProfileHandle>> Library::create_profile(abi::BackendHandle backend,
                                                              abi::ProfileLevel level) const {
  if (functions_.profile_create == nullptr || functions_.profile_free == nullptr ||
      functions_.profile_events == nullptr || functions_.profile_sub_events == nullptr ||
      functions_.profile_event_data == nullptr)
    return fail(Failure::library, "the library cannot profile");
  abi::ProfileHandle profile = nullptr;
  const abi::Status status = functions_.profile_create(backend, level, &profile);
  if (status != abi::kSuccess) return fail(refusal("profileCreate", {}, status));
  return Owned<abi::ProfileHandle>(profile, functions_.profile_free);
}

CallResult<abi::GraphHandle> Library::create_graph(abi::ContextHandle context, const std::string& name,
                                                   const GraphConfig& config) const {
  abi::HtpGraphConfig precision{.option = abi::HtpGraphOption::precision, .room = {}};
  precision.precision = config.precision == GraphPrecision::float32 ? abi::Precision::float32 : abi::Precision::float16;
  abi::HtpGraphConfig optimization{.option = abi::HtpGraphOption::optimization, .room = {}};
  optimization.optimization = {.type = abi::HtpOptimization::finalize_level,
                               .value = static_cast<float>(config.optimization_level)};
  ConfigList<2> configs;
  if (config.precision != GraphPrecision::library_default) configs.add(&precision);
  if (config.optimization_level != 0) configs.add(&optimization);
  abi::GraphHandle graph = nullptr;
  const abi::Status status = functions_.graph_create(context, name.c_str(), configs.get(), &graph);
  if (status != abi::kSuccess) return fail(refusal("graphCreate", name, status));
  return graph;
}

CallResult<std::vector<OperationId>> Library::operations(abi::BackendHandle backend) const {
  if (functions_.backend_get_operations == nullptr)
    return fail(Failure::library, "the library does not list its operators");
  std::uint32_t count = 0;
  const abi::OperationName* list = nullptr;
  const abi::Status status = functions_.backend_get_operations(backend, &count, &list);
  if (status != abi::kSuccess) return fail(refusal("backendGetSupportedOperations", {}, status));
  std::vector<OperationId> operations;
  if (list == nullptr) return operations;
  for (std::uint32_t i = 0; i < std::min(count, kMostOperations); ++i)
    operations.push_back({.package = text_of(list[i].package), .name = text_of(list[i].name)});
  std::sort(operations.begin(), operations.end());
  return operations;
}

}  // namespace qnndbg::qnn
