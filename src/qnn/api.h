// The functions of one QNN library under their own types, whatever the order in which its API version lists them.
#pragma once

#include <string>

#include "qnn/abi.h"
#include "tensor/result.h"

namespace qnndbg::qnn {

/// How structures are laid out that grew between core API 2.7 and 2.10.
enum class StructLayout : unsigned char {
  core_2_7,   // tensors of 120 bytes, scalars of 8
  core_2_10,  // tensors of 144 bytes, scalars of 16
};

/// Where the union of HTP's device configuration stands.
enum class HtpDeviceLayout : unsigned char { at_4, at_8, unknown };

/// What a version of the API means for a caller.
struct ApiTraits {
  StructLayout structs = StructLayout::core_2_10;
  HtpDeviceLayout htp_device = HtpDeviceLayout::unknown;
  bool checked = false;  // false: taken to be like its neighbours, nobody compared it with headers or a library
};

/// Errors: a version whose order of functions or layouts is not known (before 2.7, 2.8, 2.9, any major number but 2).
Result<ApiTraits> traits_of(const abi::ApiVersion& version);

/// "2.40.0"
std::string to_string(const abi::Version& version);

/// A function is nullptr when the library has none.
struct Functions {
  using Configs = const abi::CustomConfig**;

  abi::Status (*backend_create)(abi::LogHandle, Configs, abi::BackendHandle*) = nullptr;
  abi::Status (*backend_get_build_id)(const char**) = nullptr;
  abi::Status (*backend_get_operations)(abi::BackendHandle, std::uint32_t*, const abi::OperationName**) = nullptr;
  abi::Status (*backend_validate_node)(abi::BackendHandle, abi::OpConfig) = nullptr;
  abi::Status (*backend_free)(abi::BackendHandle) = nullptr;
  abi::Status (*context_create)(abi::BackendHandle, abi::DeviceHandle, Configs, abi::ContextHandle*) = nullptr;
  abi::Status (*context_binary_size)(abi::ContextHandle, std::uint64_t*) = nullptr;
  abi::Status (*context_binary)(abi::ContextHandle, void*, std::uint64_t, std::uint64_t*) = nullptr;
  abi::Status (*context_free)(abi::ContextHandle, abi::ProfileHandle) = nullptr;
  abi::Status (*graph_create)(abi::ContextHandle, const char*, Configs, abi::GraphHandle*) = nullptr;
  abi::Status (*graph_add_node)(abi::GraphHandle, abi::OpConfig) = nullptr;
  abi::Status (*graph_finalize)(abi::GraphHandle, abi::ProfileHandle, abi::SignalHandle) = nullptr;
  /// Tensors are abi::Tensor or abi::Tensor27.
  abi::Status (*graph_execute)(abi::GraphHandle, const void* inputs, std::uint32_t, void* outputs, std::uint32_t,
                               abi::ProfileHandle, abi::SignalHandle) = nullptr;
  abi::Status (*tensor_create)(abi::GraphHandle, void* tensor) = nullptr;
  abi::Status (*log_create)(abi::LogCallback, abi::LogLevel, abi::LogHandle*) = nullptr;
  abi::Status (*log_free)(abi::LogHandle) = nullptr;
  abi::Status (*profile_create)(abi::BackendHandle, abi::ProfileLevel, abi::ProfileHandle*) = nullptr;
  abi::Status (*profile_events)(abi::ProfileHandle, const abi::ProfileEventId**, std::uint32_t*) = nullptr;
  abi::Status (*profile_sub_events)(abi::ProfileEventId, const abi::ProfileEventId**, std::uint32_t*) = nullptr;
  abi::Status (*profile_event_data)(abi::ProfileEventId, abi::ProfileEventData*) = nullptr;
  abi::Status (*profile_free)(abi::ProfileHandle) = nullptr;
  abi::Status (*device_create)(abi::LogHandle, Configs, abi::DeviceHandle*) = nullptr;
  abi::Status (*device_free)(abi::DeviceHandle) = nullptr;
};

/// Errors as traits_of, and when a function is missing without which nothing can be done.
Result<Functions> functions_of(const abi::Provider& provider);

}  // namespace qnndbg::qnn
