#include "qnn/emulate.h"

#include <algorithm>
#include <cstring>

#include "dump/dump_writer.h"
#include "tensor/half.h"
#include "tensor/layout.h"

namespace qnndbg::qnn {
namespace {

Dims logical_dims(const QnnGraphTensor& tensor) { return to_logical_dims(tensor.dims, tensor.layout); }

template <class T>
Bytes as_bytes(std::span<const T> values) {
  Bytes bytes(values.size_bytes());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A given input in the device's order and type.
Result<Bytes> input_bytes(const QnnGraphTensor& tensor, const std::string& name, const Tensor& value) {
  const Dims dims = logical_dims(tensor);
  if (value.dims() != dims)
    return fail("input `{}` has dims {}, the graph takes {}", name, qnndbg::to_string(value.dims()),
                qnndbg::to_string(dims));
  if (value.type() == DType::f32 && (tensor.type.type == DType::f32 || tensor.type.type == DType::f16)) {
    std::vector<float> device(value.f32().size());
    to_device_order(value.f32(), dims, tensor.layout, device);
    if (tensor.type.type == DType::f32) return as_bytes<float>(device);
    std::vector<std::uint16_t> halves(device.size());
    std::transform(device.begin(), device.end(), halves.begin(),
                   [](float v) { return float_to_half(v, HalfRounding::nearest); });
    return as_bytes<std::uint16_t>(halves);
  }
  if (tensor.type.type == DType::i32 && value.type() == DType::i32) return as_bytes<std::int32_t>(value.i32());
  return fail("input `{}` is {}, the graph takes {}", name, qnndbg::name_of(value.type()),
              qnndbg::name_of(tensor.type.type));
}

const GraphInput* model_input(const Model& model, int tensor) {
  for (const GraphInput& input : model.graph().inputs)
    if (input.tensor == tensor) return &input;
  return nullptr;
}

Result<Bytes> given_input(const Model& model, const QnnGraphTensor& tensor, const InputMap& inputs,
                          const std::map<int, Tensor>& operands) {
  if (const auto operand = operands.find(tensor.tensor); operand != operands.end())
    return input_bytes(tensor, tensor.name, operand->second);
  for (const auto& [name, value] : inputs) {
    const GraphInput* input = model.graph().find_input(name);
    if (input != nullptr && input->tensor == tensor.tensor) return input_bytes(tensor, name, value);
  }
  const std::string name =
      tensor.tensor < 0 ? tensor.name : model.graph().tensors[static_cast<std::size_t>(tensor.tensor)].name;
  return fail("no value was given for input `{}`", name);
}

std::optional<Encoding> dumped_encoding(const QnnEncoding& encoding) {
  if (encoding.kind != QnnEncoding::Kind::per_tensor || encoding.values.empty()) return std::nullopt;
  return encoding.values.front();
}

const NamedData* find_output(const ExecuteReport& run, const std::string& name) {
  for (const NamedData& output : run.outputs)
    if (output.name == name) return &output;
  return nullptr;
}

Result<std::size_t> write_dump(const QnnGraph& graph, const ExecuteReport& run, const EmulateOptions& options) {
  DumpWriter writer(options.dump, options.execution);
  std::size_t written = 0;
  for (const int index : graph.dumped()) {
    const QnnGraphTensor& tensor = graph.tensors[static_cast<std::size_t>(index)];
    const NamedData* output = find_output(run, tensor.name);
    // What only refused nodes make does not exist.
    if (output == nullptr) continue;
    if (auto added = writer.add({tensor.name, tensor.type.type, tensor.dims, dumped_encoding(tensor.type.encoding)},
                                output->data);
        !added)
      return fail(added.error());
    ++written;
  }
  if (auto finished = std::move(writer).finish(); !finished) return fail(finished.error());
  return written;
}

CallError bad_request(const Error& error) {
  return CallError{.failure = Failure::bad_request, .message = error.message};
}

}  // namespace

std::vector<int> operands_of(const Model& model, const QnnGraph& graph) {
  std::vector<int> operands;
  for (const int index : graph.inputs) {
    const int tensor = graph.tensors[static_cast<std::size_t>(index)].tensor;
    if (tensor >= 0 && model_input(model, tensor) == nullptr) operands.push_back(tensor);
  }
  return operands;
}

CallResult<EmulationReport> emulate(Engine& engine, const Model& model, const ModelGraph& graph, const InputMap& inputs,
                                    const EmulateOptions& options) {
  std::vector<Bytes> storage;
  std::vector<NamedData> given;
  for (const int index : graph.source().inputs) {
    const QnnGraphTensor& tensor = graph.source().tensors[static_cast<std::size_t>(index)];
    Result<Bytes> bytes = given_input(model, tensor, inputs, options.operands);
    if (!bytes) return fail(bad_request(bytes.error()));
    storage.push_back(std::move(*bytes));
    given.push_back({tensor.name, {}});
  }
  for (std::size_t i = 0; i < given.size(); ++i) given[i].data = storage[i];

  EmulationReport report;
  report.session = engine.info();
  CallResult<FinalizeReport> ready = engine.worker().finalize(
      graph.spec(),
      {.config = options.config, .profiling = options.profiling, .validate_nodes = true, .skip_refused = true});
  if (!ready) return fail(std::move(ready.error()));
  report.refused = std::move(ready->refused);
  report.finalize_microseconds = ready->microseconds;
  CallResult<ExecuteReport> run = engine.worker().execute(given, options.profiling);
  if (!run) return fail(std::move(run.error()));
  report.execute_microseconds = run->microseconds;
  report.profile = std::move(run->profile);
  const Result<std::size_t> written = write_dump(graph.source(), *run, options);
  if (!written) return fail(bad_request(written.error()));
  report.tensors = *written;
  return report;
}

}  // namespace qnndbg::qnn
