#include "qnn/api.h"

namespace qnndbg::qnn {
namespace {

constexpr std::uint32_t kMajor = 2;
constexpr std::uint32_t kOldestMinor = 7;         // SDK 2.13
constexpr std::uint32_t kReorderedMinor = 10;     // from here on functions were only added at the end
constexpr std::uint32_t kHeadersMinor = 23;       // SDK 2.30: layouts were computed from its headers
constexpr std::uint32_t kNewestCalledMinor = 40;  // SDK 2.51: layouts were found right by calling it

/// Where a function stands in the table: from core API 2.10 on, and in 2.7.
struct Slot {
  int current;
  int core_2_7;
};

template <class Function>
void take(Function& function, const abi::Provider& provider, StructLayout layout, Slot slot) {
  const int index = layout == StructLayout::core_2_7 ? slot.core_2_7 : slot.current;
  function = reinterpret_cast<Function>(provider.slots[index]);
}

/// Which function of those that every caller needs is missing; nullptr: none.
const char* missing_function(const Functions& functions) {
  if (functions.backend_create == nullptr) return "backendCreate";
  if (functions.backend_validate_node == nullptr) return "backendValidateOpConfig";
  if (functions.backend_free == nullptr) return "backendFree";
  if (functions.context_create == nullptr) return "contextCreate";
  if (functions.context_free == nullptr) return "contextFree";
  if (functions.graph_create == nullptr) return "graphCreate";
  if (functions.graph_add_node == nullptr) return "graphAddNode";
  if (functions.graph_finalize == nullptr) return "graphFinalize";
  if (functions.graph_execute == nullptr) return "graphExecute";
  if (functions.tensor_create == nullptr) return "tensorCreateGraphTensor";
  if (functions.log_create == nullptr) return "logCreate";
  if (functions.log_free == nullptr) return "logFree";
  if (functions.device_create == nullptr) return "deviceCreate";
  if (functions.device_free == nullptr) return "deviceFree";
  return nullptr;
}

HtpDeviceLayout htp_device_layout(const abi::Version& backend) {
  constexpr std::uint32_t kHtpMajor = 5;
  constexpr std::uint32_t kLastMinorAt4 = 30;   // headers of SDK 2.30
  constexpr std::uint32_t kFirstMinorAt8 = 51;  // SDK 2.51, by calling it; where the change came is not known
  if (backend.major_number != kHtpMajor) return HtpDeviceLayout::unknown;
  if (backend.minor_number <= kLastMinorAt4) return HtpDeviceLayout::at_4;
  return backend.minor_number >= kFirstMinorAt8 ? HtpDeviceLayout::at_8 : HtpDeviceLayout::unknown;
}

}  // namespace

std::string to_string(const abi::Version& version) {
  return fmt::format("{}.{}.{}", version.major_number, version.minor_number, version.patch_number);
}

Result<ApiTraits> traits_of(const abi::ApiVersion& version) {
  const abi::Version& core = version.core;
  if (core.major_number != kMajor)
    return fail("core API {} is none of 2.x, the only ones that this version of qnn-debug knows", to_string(core));
  if (core.minor_number < kOldestMinor)
    return fail("core API {} is too old: 2.7 (QNN SDK 2.13) or 2.10 and later are needed", to_string(core));
  if (core.minor_number > kOldestMinor && core.minor_number < kReorderedMinor)
    return fail("core API {} is between 2.7 and 2.10, where the order of functions changed: use another QNN SDK",
                to_string(core));
  ApiTraits traits;
  traits.structs = core.minor_number == kOldestMinor ? StructLayout::core_2_7 : StructLayout::core_2_10;
  traits.htp_device = htp_device_layout(version.backend);
  traits.checked = core.minor_number == kOldestMinor || core.minor_number == kHeadersMinor ||
                   core.minor_number == kNewestCalledMinor;
  return traits;
}

Result<Functions> functions_of(const abi::Provider& provider) {
  const Result<ApiTraits> traits = traits_of(provider.version);
  if (!traits) return fail(traits.error());
  Functions f;
  const auto get = [&](auto& function, int current, int core_2_7) {
    take(function, provider, traits->structs, Slot{.current = current, .core_2_7 = core_2_7});
  };
  get(f.backend_create, 1, 1);
  get(f.backend_get_build_id, 4, 3);
  get(f.backend_get_operations, 6, 5);
  get(f.backend_validate_node, 7, 6);
  get(f.backend_free, 8, 7);
  get(f.context_create, 9, 8);
  get(f.context_binary_size, 11, 10);
  get(f.context_binary, 12, 11);
  get(f.context_free, 14, 13);
  get(f.graph_create, 15, 14);
  get(f.graph_add_node, 18, 16);
  get(f.graph_finalize, 19, 17);
  get(f.graph_execute, 21, 19);
  get(f.tensor_create, 24, 22);
  get(f.log_create, 25, 23);
  get(f.log_free, 27, 25);
  get(f.profile_create, 28, 26);
  get(f.profile_events, 30, 27);
  get(f.profile_sub_events, 31, 28);
  get(f.profile_event_data, 32, 29);
  get(f.profile_free, 34, 30);
  get(f.device_create, 40, 36);
  get(f.device_free, 43, 39);
  if (const char* name = missing_function(f)) return fail("the library has no function {}", name);
  return f;
}

}  // namespace qnndbg::qnn
