// QNN's C ABI, declared by us: Qualcomm's headers are not part of this project.
//
// Basis: record layouts of the QNN headers of SDK 2.13 (core API 2.7) and SDK 2.30 (core API 2.23), computed by a
// compiler on x86-64; what SDK 2.51 (core API 2.40) does differently was found by calling it. LP64 only. Every size and
// every offset that a call depends on is asserted below, so that an edit cannot move a field unnoticed.
//
// Names are ours. A comment behind a structure gives QNN's name for it.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace qnndbg::qnn::abi {

static_assert(sizeof(void*) == 8 && sizeof(long) == 8, "the layouts below are those of LP64 systems");

/// What every function returns: 0, or an error whose low 16 bits are its number (knowledge/codes.h).
using Status = std::uint64_t;
constexpr Status kSuccess = 0;
constexpr Status kErrorNumberMask = 0xFFFF;

/// QNN's fillers that make an enum 32 bits wide; also "not given" where a field may be left open.
constexpr std::uint32_t kUndefined = 0x7FFFFFFF;

// Opaque objects; nullptr is none. Incomplete types of their own, so that a mixed-up handle does not compile.
struct LogObject;
struct BackendObject;
struct DeviceObject;
struct ContextObject;
struct GraphObject;
struct ProfileObject;
struct SignalObject;
struct SystemContextObject;
using LogHandle = LogObject*;
using BackendHandle = BackendObject*;
using DeviceHandle = DeviceObject*;
using ContextHandle = ContextObject*;
using GraphHandle = GraphObject*;
using ProfileHandle = ProfileObject*;
using SignalHandle = SignalObject*;
using SystemContextHandle = SystemContextObject*;

// --- Versions and providers ------------------------------------------------------------------------------------------

struct Version {  // Qnn_Version_t
  std::uint32_t major_number;
  std::uint32_t minor_number;
  std::uint32_t patch_number;
};
static_assert(sizeof(Version) == 12 && alignof(Version) == 4);

struct ApiVersion {  // Qnn_ApiVersion_t
  Version core;
  Version backend;
};
static_assert(sizeof(ApiVersion) == 24 && offsetof(ApiVersion, backend) == 12);

/// A function pointer of unknown type; slots are given their type in api.cpp.
using AnyFunction = void (*)();

/// QnnInterface_t. The table is longer than one slot, and longer in newer libraries: never copy a Provider, never step
/// from one to the next by its size.
struct Provider {
  std::uint32_t backend_id;
  const char* name;
  ApiVersion version;
  AnyFunction slots[1];
};
static_assert(offsetof(Provider, name) == 8 && offsetof(Provider, version) == 16 && offsetof(Provider, slots) == 40);

constexpr std::uint32_t kHtpBackendId = 6;

/// QnnSystemInterface_t, of libQnnSystem.so.
struct SystemProvider {
  std::uint32_t backend_id;
  const char* name;
  Version version;
  AnyFunction slots[4];
};
static_assert(sizeof(SystemProvider) == 64 && offsetof(SystemProvider, version) == 16 &&
              offsetof(SystemProvider, slots) == 32);

constexpr const char* kGetProvidersSymbol = "QnnInterface_getProviders";
constexpr const char* kGetSystemProvidersSymbol = "QnnSystemInterface_getProviders";
using GetProviders = Status (*)(const Provider*** list, std::uint32_t* count);
using GetSystemProviders = Status (*)(const SystemProvider*** list, std::uint32_t* count);

// --- Log -------------------------------------------------------------------------------------------------------------

// Level 4 is verbose and 5 is debug: 5 prints the most.
enum class LogLevel : std::uint32_t { error = 1, warning = 2, info = 3, verbose = 4, debug = 5 };

/// A printf format and its arguments. May be called from several threads at once.
using LogCallback = void (*)(const char* format, LogLevel level, std::uint64_t timestamp, std::va_list arguments);

// --- Tensors ---------------------------------------------------------------------------------------------------------

enum class TensorKind : std::uint32_t {  // Qnn_TensorType_t
  app_write = 0,                         // graph input
  app_read = 1,                          // graph output
  app_readwrite = 2,
  native = 3,  // internal
  static_data = 4,
  null = 5,  // place of an optional operand that is left out
};

enum class Definition : std::uint32_t {  // Qnn_Definition_t
  by_backend = 0,
  defined = 1,
  undefined = kUndefined,
};

enum class EncodingKind : std::uint32_t {  // Qnn_QuantizationEncoding_t
  scale_offset = 0,
  axis_scale_offset = 1,
  bw_scale_offset = 2,
  bw_axis_scale_offset = 3,
  block = 4,
  blockwise_expansion = 5,
  vector = 6,
  undefined = kUndefined,
};

/// real = (q + offset) * scale
struct ScaleOffset {  // Qnn_ScaleOffset_t
  float scale;
  std::int32_t offset;
};
static_assert(sizeof(ScaleOffset) == 8 && offsetof(ScaleOffset, offset) == 4);

struct AxisScaleOffset {  // Qnn_AxisScaleOffset_t
  std::int32_t axis;
  std::uint32_t count;
  const ScaleOffset* values;
};
static_assert(sizeof(AxisScaleOffset) == 16 && offsetof(AxisScaleOffset, count) == 4 &&
              offsetof(AxisScaleOffset, values) == 8);

/// Numbers of fewer bits in a wider container.
struct BwScaleOffset {  // Qnn_BwScaleOffset_t
  std::uint32_t bitwidth;
  float scale;
  std::int32_t offset;
};
static_assert(sizeof(BwScaleOffset) == 12 && offsetof(BwScaleOffset, scale) == 4 &&
              offsetof(BwScaleOffset, offset) == 8);

struct BwAxisScaleOffset {  // Qnn_BwAxisScaleOffset_t
  std::uint32_t bitwidth;
  std::int32_t axis;
  std::uint32_t count;
  const float* scales;
  const std::int32_t* offsets;  // nullptr: all zero
};
static_assert(sizeof(BwAxisScaleOffset) == 32 && offsetof(BwAxisScaleOffset, axis) == 4 &&
              offsetof(BwAxisScaleOffset, count) == 8 && offsetof(BwAxisScaleOffset, scales) == 16 &&
              offsetof(BwAxisScaleOffset, offsets) == 24);

enum class BlockScaleStorage : std::uint32_t { eight_bits = 0, sixteen_bits = 1 };

struct BlockwiseExpansion {  // Qnn_BlockwiseExpansion_t
  std::int32_t axis;
  const ScaleOffset* scale_offsets;
  std::uint32_t blocks_per_axis;
  std::uint32_t block_scale_bitwidth;
  BlockScaleStorage storage;
  const void* block_scales;
};
static_assert(sizeof(BlockwiseExpansion) == 40 && offsetof(BlockwiseExpansion, scale_offsets) == 8 &&
              offsetof(BlockwiseExpansion, blocks_per_axis) == 16 &&
              offsetof(BlockwiseExpansion, block_scale_bitwidth) == 20 && offsetof(BlockwiseExpansion, storage) == 24 &&
              offsetof(BlockwiseExpansion, block_scales) == 32);

struct QuantizeParams {  // Qnn_QuantizeParams_t
  Definition definition;
  EncodingKind kind;
  union {
    ScaleOffset scale_offset;
    AxisScaleOffset axis;
    BwScaleOffset bw;
    BwAxisScaleOffset bw_axis;
    const BlockwiseExpansion* blockwise;  // a pointer, unlike the others
  };
};
static_assert(sizeof(QuantizeParams) == 40 && alignof(QuantizeParams) == 8 && offsetof(QuantizeParams, kind) == 4 &&
              offsetof(QuantizeParams, scale_offset) == 8 && offsetof(QuantizeParams, axis) == 8 &&
              offsetof(QuantizeParams, bw) == 8 && offsetof(QuantizeParams, bw_axis) == 8 &&
              offsetof(QuantizeParams, blockwise) == 8);

struct ClientBuffer {  // Qnn_ClientBuffer_t
  void* data;
  std::uint32_t bytes;  // 32 bits: a buffer ends at 4 GiB
};
static_assert(sizeof(ClientBuffer) == 16 && offsetof(ClientBuffer, bytes) == 8);

enum class MemoryKind : std::uint32_t { raw = 0, handle = 1, retrieve_raw = 2 };  // Qnn_TensorMemType_t

constexpr std::uint32_t kDenseFormat = 0;  // Qnn_TensorDataFormat_t

/// What both versions of a tensor have in common, at the same offsets.
struct TensorFields {  // Qnn_TensorV1_t
  std::uint32_t id;    // written when the tensor is created; graphExecute finds the tensor by it
  const char* name;
  TensorKind kind;
  std::uint32_t format;
  std::uint32_t type;  // Qnn_DataType_t, see tensor/dtype.h
  QuantizeParams quantization;
  std::uint32_t rank;
  std::uint32_t* dims;  // the last one varies fastest
  MemoryKind memory;
  ClientBuffer buffer;  // or a handle, as `memory` says
};
static_assert(sizeof(TensorFields) == 112 && alignof(TensorFields) == 8 && offsetof(TensorFields, name) == 8 &&
              offsetof(TensorFields, kind) == 16 && offsetof(TensorFields, format) == 20 &&
              offsetof(TensorFields, type) == 24 && offsetof(TensorFields, quantization) == 32 &&
              offsetof(TensorFields, rank) == 72 && offsetof(TensorFields, dims) == 80 &&
              offsetof(TensorFields, memory) == 88 && offsetof(TensorFields, buffer) == 96);

/// What version 2 adds.
struct TensorExtension {
  std::uint8_t* is_dynamic;        // one flag per dimension; nullptr: all fixed
  std::uint32_t sparse_layout[3];  // only with a sparse format
  std::uint8_t is_produced;        // written by the backend for optional outputs
};
static_assert(sizeof(TensorExtension) == 24 && offsetof(TensorExtension, sparse_layout) == 8 &&
              offsetof(TensorExtension, is_produced) == 20);

constexpr std::uint32_t kTensorVersion1 = 1;
constexpr std::uint32_t kTensorVersion2 = 2;

/// A tensor of core API 2.10 and later. An array of them has this stride whichever version is inside.
struct Tensor {  // Qnn_Tensor_t
  std::uint32_t version;
  TensorFields fields;
  TensorExtension extension;  // only looked at in version 2
};
static_assert(sizeof(Tensor) == 144 && offsetof(Tensor, fields) == 8 && offsetof(Tensor, extension) == 120);
// The offsets of Qnn_TensorV2_t count from the union, at 8.
static_assert(offsetof(Tensor, extension) - 8 == 112);
static_assert(offsetof(Tensor, extension) + offsetof(TensorExtension, sparse_layout) - 8 == 120);
static_assert(offsetof(Tensor, extension) + offsetof(TensorExtension, is_produced) - 8 == 132);

/// A tensor of core API 2.7.
struct Tensor27 {
  std::uint32_t version;
  TensorFields fields;
};
static_assert(sizeof(Tensor27) == 120 && offsetof(Tensor27, fields) == 8);

// --- Nodes -----------------------------------------------------------------------------------------------------------

union ScalarValue {
  float f32;
  double f64;
  std::uint64_t u64;
  std::int64_t i64;
  std::uint32_t u32;
  std::int32_t i32;
  std::uint16_t u16;
  std::int16_t i16;
  std::uint8_t u8;
  std::int8_t i8;
  std::uint8_t boolean;
  const char* text;
};
static_assert(sizeof(ScalarValue) == 8);

struct Scalar {  // Qnn_Scalar_t
  std::uint32_t type;
  ScalarValue value;
};
static_assert(sizeof(Scalar) == 16 && offsetof(Scalar, value) == 8);

union ScalarValue27 {
  float f32;
  std::uint32_t u32;
  std::int32_t i32;
  std::uint16_t u16;
  std::int16_t i16;
  std::uint8_t u8;
  std::int8_t i8;
  std::uint8_t boolean;
};

struct Scalar27 {
  std::uint32_t type;
  ScalarValue27 value;
};
static_assert(sizeof(Scalar27) == 8 && offsetof(Scalar27, value) == 4);

enum class ParamKind : std::uint32_t { scalar = 0, tensor = 1 };  // Qnn_ParamType_t

struct Param {  // Qnn_Param_t
  ParamKind kind;
  const char* name;
  union {
    Scalar scalar;
    Tensor tensor;
  };
};
static_assert(sizeof(Param) == 160 && offsetof(Param, name) == 8 && offsetof(Param, scalar) == 16 &&
              offsetof(Param, tensor) == 16);

struct Param27 {
  ParamKind kind;
  const char* name;
  union {
    Scalar27 scalar;
    Tensor27 tensor;
  };
};
static_assert(sizeof(Param27) == 136 && offsetof(Param27, name) == 8 && offsetof(Param27, scalar) == 16 &&
              offsetof(Param27, tensor) == 16);

constexpr std::uint32_t kOpConfigVersion1 = 1;

/// A node. The functions take it by value.
struct OpConfig {  // Qnn_OpConfig_t with Qnn_OpConfigV1_t inside
  std::uint32_t version;
  const char* name;
  const char* package;
  const char* type;
  std::uint32_t param_count;
  void* params;  // Param or Param27
  std::uint32_t input_count;
  void* inputs;  // Tensor or Tensor27
  std::uint32_t output_count;
  void* outputs;
};
static_assert(sizeof(OpConfig) == 80 && offsetof(OpConfig, name) == 8 && offsetof(OpConfig, package) == 16 &&
              offsetof(OpConfig, type) == 24 && offsetof(OpConfig, param_count) == 32 &&
              offsetof(OpConfig, params) == 40 && offsetof(OpConfig, input_count) == 48 &&
              offsetof(OpConfig, inputs) == 56 && offsetof(OpConfig, output_count) == 64 &&
              offsetof(OpConfig, outputs) == 72);

struct OperationName {  // QnnBackend_OperationName_t
  const char* package;
  const char* name;
  const char* target;  // may be nullptr
};
static_assert(sizeof(OperationName) == 24 && offsetof(OperationName, name) == 8);

// --- Configuration ---------------------------------------------------------------------------------------------------
// Functions take arrays of pointers that end with nullptr. HTP's own structures hang from an option `custom`; each of
// them carries one option.

/// A configuration that is only a pointer to a structure of the backend's.
struct CustomConfig {    // QnnDevice_Config_t, QnnGraph_Config_t, QnnContext_Config_t, QnnBackend_Config_t
  std::uint32_t option;  // 0 in all four
  const void* custom;
};
static_assert(sizeof(CustomConfig) == 16 && offsetof(CustomConfig, custom) == 8);
constexpr std::uint32_t kCustomOption = 0;

enum class HtpDeviceOption : std::uint32_t { soc = 0, arch = 1, signed_pd = 2 };

/// QnnHtpDevice_CustomConfig_t as a library may read it: its union is at 4 by the headers up to SDK 2.30 and at 8 in
/// SDK 2.51. A SoC number can stand at both places. An architecture (a pair of device number and architecture) cannot,
/// the pairs would overlap: where the union is must be known.
struct HtpDeviceConfig {
  HtpDeviceOption option;
  std::uint32_t words[9];  // zero beyond the option's value; long enough for whatever SDK 2.51 reads
};
static_assert(sizeof(HtpDeviceConfig) == 40 && offsetof(HtpDeviceConfig, words) == 4);

enum class HtpGraphOption : std::uint32_t {
  optimization = 1,
  precision = 2,
  vtcm_megabytes = 3,
  fold_relu_off = 4,
  hvx_threads = 6,
};
enum class HtpOptimization : std::uint32_t { finalize_level = 3 };
enum class Precision : std::uint32_t { float32 = 0, float16 = 1 };  // Qnn_Precision_t

struct HtpGraphConfig {  // QnnHtpGraph_CustomConfig_t
  HtpGraphOption option;
  union {
    struct {
      HtpOptimization type;
      float value;  // a float also where the value is a whole number
    } optimization;
    Precision precision;
    std::uint32_t vtcm_megabytes;
    std::uint64_t hvx_threads;
    std::uint8_t flag;
    std::uint64_t room[3];  // the widest option of SDK 2.30 has 24 bytes
  };
};
static_assert(sizeof(HtpGraphConfig) == 32 && offsetof(HtpGraphConfig, precision) == 8 &&
              offsetof(HtpGraphConfig, optimization) == 8);

// --- Profile ---------------------------------------------------------------------------------------------------------

enum class ProfileLevel : std::uint32_t { basic = 1, detailed = 2, htp_linting = 7001 };

using ProfileEventId = std::uint64_t;

struct ProfileEventData {  // QnnProfile_EventData_t
  std::uint32_t type;
  std::uint32_t unit;
  std::uint64_t value;
  const char* identifier;  // lives as long as the profile
};
static_assert(sizeof(ProfileEventData) == 24 && offsetof(ProfileEventData, unit) == 4 &&
              offsetof(ProfileEventData, value) == 8 && offsetof(ProfileEventData, identifier) == 16);

// --- Context binaries (libQnnSystem.so) ------------------------------------------------------------------------------

struct GraphInfoV1 {  // QnnSystemContext_GraphInfoV1_t; versions 2 and 3 begin with it
  const char* name;
  std::uint32_t input_count;
  const Tensor* inputs;
  std::uint32_t output_count;
  const Tensor* outputs;
};
static_assert(sizeof(GraphInfoV1) == 40 && offsetof(GraphInfoV1, input_count) == 8 &&
              offsetof(GraphInfoV1, inputs) == 16 && offsetof(GraphInfoV1, output_count) == 24 &&
              offsetof(GraphInfoV1, outputs) == 32);

struct GraphInfo {  // QnnSystemContext_GraphInfo_t
  std::uint32_t version;
  GraphInfoV1 common;
  std::uint64_t rest[5];  // what versions 2 and 3 add; part of the stride
};
static_assert(sizeof(GraphInfo) == 88 && offsetof(GraphInfo, common) == 8);

/// Beginning of all versions of a binary's description.
struct BinaryInfoHead {
  std::uint32_t backend_id;
  const char* build_id;
  Version core_api;
  Version backend_api;
  const char* soc_version;
};
static_assert(sizeof(BinaryInfoHead) == 48 && offsetof(BinaryInfoHead, build_id) == 8 &&
              offsetof(BinaryInfoHead, core_api) == 16 && offsetof(BinaryInfoHead, backend_api) == 28 &&
              offsetof(BinaryInfoHead, soc_version) == 40);

/// Version 1; version 2 appends a pointer.
struct BinaryInfoV1 {
  BinaryInfoHead head;
  Version hardware_blob;
  Version context_blob;
  std::uint32_t hardware_blob_bytes;
  const void* hardware_blob_data;
  std::uint64_t context_blob_bytes;
  std::uint32_t context_tensor_count;
  const Tensor* context_tensors;
  std::uint32_t graph_count;
  const GraphInfo* graphs;
};
static_assert(sizeof(BinaryInfoV1) == 128 && offsetof(BinaryInfoV1, hardware_blob) == 48 &&
              offsetof(BinaryInfoV1, context_blob) == 60 && offsetof(BinaryInfoV1, hardware_blob_bytes) == 72 &&
              offsetof(BinaryInfoV1, hardware_blob_data) == 80 && offsetof(BinaryInfoV1, context_blob_bytes) == 88 &&
              offsetof(BinaryInfoV1, context_tensor_count) == 96 && offsetof(BinaryInfoV1, context_tensors) == 104 &&
              offsetof(BinaryInfoV1, graph_count) == 112 && offsetof(BinaryInfoV1, graphs) == 120);

/// Version 3 is not version 2 with more fields: those of the hardware are gone, and what follows moved.
struct BinaryInfoV3 {
  BinaryInfoHead head;
  Version context_blob;
  std::uint64_t context_blob_bytes;
  std::uint32_t context_tensor_count;
  const Tensor* context_tensors;
  std::uint32_t graph_count;
  const GraphInfo* graphs;
  const void* platform;
  std::uint32_t metadata_bytes;
  const void* metadata;
  std::uint32_t soc_model;
};
static_assert(sizeof(BinaryInfoV3) == 136 && offsetof(BinaryInfoV3, context_blob) == 48 &&
              offsetof(BinaryInfoV3, context_blob_bytes) == 64 && offsetof(BinaryInfoV3, context_tensor_count) == 72 &&
              offsetof(BinaryInfoV3, context_tensors) == 80 && offsetof(BinaryInfoV3, graph_count) == 88 &&
              offsetof(BinaryInfoV3, graphs) == 96 && offsetof(BinaryInfoV3, platform) == 104 &&
              offsetof(BinaryInfoV3, metadata_bytes) == 112 && offsetof(BinaryInfoV3, metadata) == 120 &&
              offsetof(BinaryInfoV3, soc_model) == 128);

struct BinaryInfo {  // QnnSystemContext_BinaryInfo_t
  std::uint32_t version;
  union {
    BinaryInfoV1 v1;
    BinaryInfoV3 v3;
  };
};
static_assert(sizeof(BinaryInfo) == 144 && offsetof(BinaryInfo, v1) == 8 && offsetof(BinaryInfo, v3) == 8);

/// What HTP keeps in `metadata`.
struct HtpContextBlob {   // QnnHtpSystemContext_ContextBlobInfo_t
  std::uint32_t version;  // 1
  std::uint32_t arch;
};
static_assert(sizeof(HtpContextBlob) == 8 && offsetof(HtpContextBlob, arch) == 4);

}  // namespace qnndbg::qnn::abi
