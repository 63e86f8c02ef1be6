#include "graph/quantized_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "graph/operator_copy.h"
#include "graph/weights.h"

namespace qnndbg {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Numbers of a few bits each, the most significant bit first.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::int8_t>& out) : out_(out) {}

  void put(unsigned value, unsigned bits) {
    for (unsigned b = bits; b-- > 0;) {
      if (used_ == 0) out_.push_back(0);
      const auto byte = static_cast<unsigned>(static_cast<std::uint8_t>(out_.back()));
      out_.back() = static_cast<std::int8_t>(byte | (((value >> b) & 1U) << (7 - used_)));
      used_ = (used_ + 1) % 8;
    }
  }

 private:
  std::vector<std::int8_t>& out_;
  unsigned used_ = 0;  // bits of the last byte
};

/// The payload of WeightCoding::palette: number of dims, dims, table, one index per weight.
struct PalettePayload {
  std::vector<std::int8_t> bytes;
  bool wide_dims = false;
};

PalettePayload palette_payload(const std::vector<std::int8_t>& integers, std::size_t groups) {
  PalettePayload payload;
  const std::array<std::size_t, 2> dims{groups, integers.size() / groups};
  payload.wide_dims = *std::max_element(dims.begin(), dims.end()) > std::numeric_limits<std::uint16_t>::max();
  const auto put_bytes = [&](std::size_t value, int count) {
    for (int b = 0; b < count; ++b)
      payload.bytes.push_back(static_cast<std::int8_t>(static_cast<std::uint8_t>(value >> (8 * b))));
  };
  put_bytes(dims.size(), 1);
  for (const std::size_t extent : dims) put_bytes(extent, payload.wide_dims ? 4 : 2);
  std::vector<std::int8_t> table = integers;
  std::sort(table.begin(), table.end());
  table.erase(std::unique(table.begin(), table.end()), table.end());
  put_bytes(table.size(), 1);  // at most 255: -128 is no weight
  payload.bytes.insert(payload.bytes.end(), table.begin(), table.end());
  const unsigned bits = std::max(1U, static_cast<unsigned>(std::bit_width(table.size() - 1)));
  BitWriter writer(payload.bytes);
  for (const std::int8_t q : integers)
    writer.put(static_cast<unsigned>(std::lower_bound(table.begin(), table.end(), q) - table.begin()), bits);
  return payload;
}

object::IDSTQuanT coded(QuantizedWeights weights, float scale_in, float scale_out) {
  PalettePayload payload = palette_payload(weights.integers, weights.scales.size());
  object::IDSTQuanT table;
  table.buffer = std::move(payload.bytes);
  table.alpha = std::move(weights.scales);
  table.type = static_cast<int>(WeightCoding::palette);
  table.quantScale = 1;
  table.scaleIn = scale_in;
  table.scaleOut = scale_out;
  table.aMaxOrBits = 8;
  table.shapeInt32 = payload.wide_dims;
  return table;
}

/// Says to MNN's CPU backend that the convolution's data are integers too.
object::QuantizedFloatParamT integer_data() {
  object::QuantizedFloatParamT table;
  table.clampMin = -127;
  table.clampMax = 127;
  return table;
}

Result<void> check_quantizable(const Model& model) {
  const std::string file = model.path().string();
  if (model.is_offline_qnn_plugin())
    return fail("{}: this is an offline QNN model; quantize the model that it was made from", file);
  const wire::Net& net = model.wire_net();
  if (net.subgraphs() != nullptr && net.subgraphs()->size() > 0)
    return fail("{}: models with subgraphs (If, While) cannot be quantized", file);
  if (net.usage() == wire::Use_INFERENCE_STATIC)
    return fail("{}: this is a static model, with its shapes written in; quantize the model that it was made from",
                file);
  for (std::size_t t = 0; t < model.graph().tensors.size(); ++t) {
    const wire::TensorDescribe* record = model.tensor_record(static_cast<int>(t));
    if (record != nullptr && record->regions() != nullptr)
      return fail("{}: {} is cut into regions; quantize the model that this one was made from", file,
                  tensor_id(static_cast<int>(t)));
    if (model.graph().tensors[t].encoding)
      return fail("{}: it is quantized already ({} has a scale)", file, tensor_id(static_cast<int>(t)));
  }
  return {};
}

class ModelQuantizer {
 public:
  ModelQuantizer(const Model& model, const std::vector<std::optional<ObservedRange>>& ranges, DType type)
      : model_(model), graph_(model.graph()), type_(type), encodings_(choose_encodings(graph_, ranges, type)) {
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!ranges[t] || ranges[t]->finite) continue;
      out_.left.push_back(
          {static_cast<int>(t), graph_.tensors[t].producer, "it holds NaN or infinity, which no scale covers"});
    }
  }

  Result<QuantizedModel> run() {
    for (const OpNode& op : graph_.ops) {
      if (auto done = add_operator(op); !done) return fail(std::move(done.error()));
    }
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      net_.tensorName.push_back(graph_.tensors[t].name);
      if (encodings_[t]) add_encoding(static_cast<int>(t), *encodings_[t]);
    }
    return finish();
  }

 private:
  Result<void> add_operator(const OpNode& op) {
    Result<object::OpT> copy = is_constant(op) ? constant(op) : parameters(op);
    if (!copy) return fail(std::move(copy.error()));
    copy->inputIndexes = op.inputs;
    copy->outputIndexes = op.outputs;
    payload_ += payload_of(*copy);
    if (payload_ > kMaxPayload)
      return fail("{}: its weights and constants take more than a .mnn file can hold", model_.path().string());
    net_.oplists.push_back(std::make_unique<object::OpT>(std::move(*copy)));
    return {};
  }

  static bool is_constant(const OpNode& op) {
    return op.type == wire::Kind_Const || op.type == wire::Kind_TrainableParam;
  }

  Result<object::OpT> constant(const OpNode& op) const {
    const Result<Tensor> value = model_.constant(op.index);
    if (!value) return fail(value.error());
    const wire::Op& stored = model_.wire_op(op.index);
    const wire::Blob* blob = stored.main_as_Blob();
    const auto layout = blob == nullptr ? object::Layout_NCHW : static_cast<object::Layout>(blob->dataFormat());
    object::OpT copy;
    copy.name = op.name;
    copy.type = static_cast<object::Kind>(op.type);
    copy.defaultDimentionFormat = static_cast<object::Layout>(stored.defaultDimentionFormat());
    set_main(copy, object::OpParameter_Blob, blob_of(*value, layout));
    return copy;
  }

  Result<object::OpT> parameters(const OpNode& op) {
    Result<CopiedOp> copied = copy_operator(model_, op.index, std::nullopt);
    if (!copied) return fail(std::move(copied.error()));
    if (takes_integer_weights(op)) {
      if (object::Convolution2DT* table = copied->op.main.AsConvolution2D()) quantize_convolution(op, *table);
    }
    return std::move(copied->op);
  }

  /// MNN runs no other convolution on integer weights.
  bool takes_integer_weights(const OpNode& op) const {
    return (op.type == wire::Kind_Convolution || op.type == wire::Kind_ConvolutionDepthwise) && op.inputs.size() == 1 &&
           op.outputs.size() == 1 && op.inputs[0] >= 0 && encodings_[at(op.inputs[0])] && encodings_[at(op.outputs[0])];
  }

  void quantize_convolution(const OpNode& op, object::Convolution2DT& table) {
    if (table.weight.empty() || table.common == nullptr) return;  // integers, which stay
    const Encoding& in = *encodings_[at(op.inputs[0])];
    const Encoding& out = *encodings_[at(op.outputs[0])];
    const auto channels = static_cast<std::size_t>(std::max(0, table.common->outputCount));
    std::optional<QuantizedWeights> weights = quantize_weights(table.weight, table.bias, channels, in.scale);
    if (!weights) {
      out_.left.push_back({-1, op.index, "its weights or bias are not finite, or do not fit its output channels"});
      return;
    }
    table.weight.clear();
    table.quanParameter = std::make_unique<object::IDSTQuanT>(
        coded(std::move(*weights), static_cast<float>(in.scale), static_cast<float>(out.scale)));
    table.symmetricQuan = std::make_unique<object::QuantizedFloatParamT>(integer_data());
    ++out_.weights;
  }

  void add_encoding(int tensor, const Encoding& encoding) {
    auto info = std::make_unique<object::TensorQuantInfoT>();
    info->scale = static_cast<float>(encoding.scale);
    if (type_ == DType::sfixed8) {
      info->min = -127;
      info->max = 127;
      info->type = object::DType_DT_INT8;
    } else {
      // Read as unsigned 16 bits; `zero` has QNN's sign there. A float holds every offset of 16 bits.
      info->zero = static_cast<float>(encoding.offset);
      info->min = 0;
      info->max = std::numeric_limits<std::uint16_t>::max();
      info->type = object::DType_DT_INT16;
    }
    auto record = std::make_unique<object::TensorDescribeT>();
    record->index = tensor;
    record->quantInfo = std::move(info);
    net_.extraTensorDescribe.push_back(std::move(record));
    ++out_.tensors;
  }

  Result<QuantizedModel> finish() {
    const wire::Net& net = model_.wire_net();
    net_.preferForwardType = static_cast<object::Forward>(net.preferForwardType());
    if (net.bizCode() != nullptr) net_.bizCode = net.bizCode()->str();
    for (const int output : graph_.outputs) net_.outputName.push_back(graph_.tensors[at(output)].name);
    Result<std::vector<std::byte>> bytes = write_net(net_, model_);
    if (!bytes) return fail("{}: its quantized form is not valid: {}", model_.path().string(), bytes.error().message);
    out_.bytes = std::move(*bytes);
    return std::move(out_);
  }

  const Model& model_;
  const Graph& graph_;
  DType type_;
  std::vector<std::optional<Encoding>> encodings_;
  object::NetT net_;
  std::size_t payload_ = 0;
  QuantizedModel out_;
};

}  // namespace

Result<QuantizedModel> quantize_model(const Model& model, const std::vector<std::optional<ObservedRange>>& ranges,
                                      DType type) {
  if (auto checked = check_quantizable(model); !checked) return fail(std::move(checked.error()));
  return ModelQuantizer(model, ranges, type).run();
}

}  // namespace qnndbg
