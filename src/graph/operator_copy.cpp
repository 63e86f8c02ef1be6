#include "graph/operator_copy.h"

#include <memory>

#include "graph/elements.h"
#include "graph/mnn_reader.h"
#include "graph/weights.h"

namespace qnndbg {
namespace {

/// True for a table of numbers, vectors of numbers and single strings. Others are not unpacked: parts that a file
/// shares would multiply, lists of strings stand as plain offsets in our schema, and the verifier does not see to the
/// alignment of 64-bit vectors.
bool is_flat(const flatbuffers::TypeTable& type) {
  for (std::size_t i = 0; i < type.num_elems; ++i) {
    const flatbuffers::TypeCode code = type.type_codes[i];
    if (code.base_type == flatbuffers::ET_SEQUENCE || code.base_type == flatbuffers::ET_UTYPE) return false;
    if (code.is_repeating != 0 && code.base_type != flatbuffers::ET_INT && code.base_type != flatbuffers::ET_FLOAT &&
        code.base_type != flatbuffers::ET_CHAR && code.base_type != flatbuffers::ET_UCHAR)
      return false;
  }
  return true;
}

void round_all(std::vector<float>& values, const std::optional<ConstantGrid>& grid) {
  if (grid) round_to_half(values, grid->rounding, grid->half);
}

std::vector<float> copy_of(const FloatArray& array) { return {array.values().begin(), array.values().end()}; }

class OperatorCopier {
 public:
  OperatorCopier(const Model& model, int op, std::optional<ConstantGrid> grid)
      : model_(model), op_(op), stored_(model.wire_op(op)), grid_(grid) {}

  Result<CopiedOp> copy() {
    const OpNode& node = model_.graph().ops[static_cast<std::size_t>(op_)];
    copied_.op.name = node.name;
    copied_.op.type = static_cast<object::Kind>(stored_.type());
    copied_.op.defaultDimentionFormat = static_cast<object::Layout>(stored_.defaultDimentionFormat());
    if (auto done = copy_parameters(node); !done) return fail(std::move(done.error()));
    return std::move(copied_);
  }

 private:
  Result<void> copy_parameters(const OpNode& node) {
    if (stored_.main() == nullptr || stored_.main_type() == wire::OpParameter_NONE) return {};
    switch (stored_.main_type()) {
      case wire::OpParameter_Convolution2D: return copy_convolution(*stored_.main_as_Convolution2D());
      case wire::OpParameter_LayerNorm: return copy_layer_norm(*stored_.main_as_LayerNorm());
      case wire::OpParameter_Scale: return copy_scale(*stored_.main_as_Scale());
      default: break;
    }
    const flatbuffers::TypeTable* type = table_of(stored_.main_type());
    if (type == nullptr || type == object::OpaqueTypeTable() || !is_flat(*type))
      return fail("{}: its parameters ({}) cannot be copied into another model", describe(node),
                  type == nullptr ? "of an unknown kind" : wire::EnumNameOpParameter(stored_.main_type()));
    copied_.op.main.type = static_cast<object::OpParameter>(stored_.main_type());
    copied_.op.main.value = object::OpParameterUnion::UnPack(stored_.main(), copied_.op.main.type, nullptr);
    if (object::PReluT* prelu = copied_.op.main.AsPRelu()) round_all(prelu->slope, grid_);
    if (object::ReluT* relu = copied_.op.main.AsRelu(); relu != nullptr && grid_)
      round_to_half({&relu->slope, 1}, grid_->rounding, grid_->half);
    return {};
  }

  /// `array` on the grid, or the reason why it cannot be read.
  static Result<void> take(Result<FloatArray> array, std::vector<float>& out, const std::optional<ConstantGrid>& grid) {
    if (!array) return fail(std::move(array.error()));
    out = copy_of(*array);
    round_all(out, grid);
    return {};
  }

  Result<void> copy_convolution(const wire::Convolution2D& stored) {
    object::Convolution2DT table;
    if (stored.common() != nullptr)
      table.common.reset(as_object<object::Convolution2DCommon>(stored.common())->UnPack());
    if (stored.symmetricQuan() != nullptr)
      table.symmetricQuan.reset(as_object<object::QuantizedFloatParam>(stored.symmetricQuan())->UnPack());
    const wire::IDSTQuan* coded = stored.quanParameter();
    if (coded != nullptr && keeps_integers(stored)) {
      if (auto done = copy_coded(stored, table); !done) return done;
      copied_.rounded = false;
    } else {
      if (auto done = take(model_.convolution_weight(op_), table.weight, grid_); !done) return done;
    }
    if (auto done = take(model_.convolution_bias(op_), table.bias, grid_); !done) return done;
    set_main(copied_.op, object::OpParameter_Convolution2D, std::move(table));
    return {};
  }

  /// MNN's QNN backend may hand integer weights to the device as integers, so they are no floats in other clothes.
  static bool keeps_integers(const wire::Convolution2D& stored) {
    const wire::IDSTQuan& coded = *stored.quanParameter();
    const bool has_weights = is_external(stored.external()) || coded.buffer() != nullptr || coded.index() != nullptr;
    return has_weights && coded.type() != static_cast<int>(WeightCoding::half);
  }

  Result<void> copy_coded(const wire::Convolution2D& stored, object::Convolution2DT& table) {
    table.quanParameter.reset(as_object<object::IDSTQuan>(stored.quanParameter())->UnPack());
    if (!is_external(stored.external())) return {};
    // Parts of the record: payload, scales, bias (convolution_bias reads it), positions.
    object::IDSTQuanT& coded = *table.quanParameter;
    if (auto done = take_part(stored, 0, coded.buffer); !done) return done;
    auto done = coded.scaleStorage == object::ScaleStore_FP16 ? take_part(stored, 1, coded.alphaFp16)
                                                              : take_part(stored, 1, coded.alpha);
    if (!done) return done;
    return take_part(stored, 3, coded.index);
  }

  template <class T>
  Result<void> take_part(const wire::Convolution2D& stored, int part, std::vector<T>& out) {
    const Result<Bytes> bytes = model_.external_part(op_, *stored.external(), part);
    if (!bytes) return fail(bytes.error());
    Result<std::vector<T>> values = copy_as<T>(*bytes);
    if (!values) return fail(std::move(values.error()));
    if (!values->empty()) out = std::move(*values);
    return {};
  }

  Result<void> copy_layer_norm(const wire::LayerNorm& stored) {
    object::LayerNormT table;
    if (stored.axis() != nullptr) table.axis.assign(stored.axis()->begin(), stored.axis()->end());
    table.epsilon = stored.epsilon();
    table.group = stored.group();
    table.useRMSNorm = stored.useRMSNorm();
    if (auto done = take(model_.float_part(op_, stored.gamma(), stored.external(), 0), table.gamma, grid_); !done)
      return done;
    if (auto done = take(model_.float_part(op_, stored.beta(), stored.external(), 1), table.beta, grid_); !done)
      return done;
    set_main(copied_.op, object::OpParameter_LayerNorm, std::move(table));
    return {};
  }

  Result<void> copy_scale(const wire::Scale& stored) {
    object::ScaleT table;
    table.channels = stored.channels();
    if (auto done = take(model_.float_part(op_, stored.scaleData(), stored.external(), 0), table.scaleData, grid_);
        !done)
      return done;
    if (auto done = take(model_.float_part(op_, stored.biasData(), stored.external(), 1), table.biasData, grid_); !done)
      return done;
    set_main(copied_.op, object::OpParameter_Scale, std::move(table));
    return {};
  }

  const Model& model_;
  int op_;
  const wire::Op& stored_;
  std::optional<ConstantGrid> grid_;
  CopiedOp copied_;
};

}  // namespace

const flatbuffers::TypeTable* table_of(wire::OpParameter member) {
  const flatbuffers::TypeTable* all = object::OpParameterTypeTable();
  const auto index = static_cast<std::size_t>(member);
  if (member == wire::OpParameter_NONE || index >= all->num_elems) return nullptr;
  return all->type_refs[all->type_codes[index].sequence_ref]();
}

Result<CopiedOp> copy_operator(const Model& model, int op, const std::optional<ConstantGrid>& grid) {
  return OperatorCopier(model, op, grid).copy();
}

std::vector<std::int32_t> wire_dims(const Dims& dims) { return {dims.begin(), dims.end()}; }

object::BlobT blob_of(const Tensor& value, object::Layout layout) {
  object::BlobT blob;
  blob.dims = wire_dims(value.dims());
  blob.dataFormat = layout;
  if (value.type() == DType::i32) {
    blob.dataType = object::DType_DT_INT32;
    blob.int32s.assign(value.i32().begin(), value.i32().end());
  } else {
    blob.dataType = object::DType_DT_FLOAT;
    blob.float32s.assign(value.f32().begin(), value.f32().end());
  }
  return blob;
}

std::size_t payload_of(const object::OpT& op) {
  std::size_t bytes = 0;
  if (const object::Convolution2DT* table = op.main.AsConvolution2D()) {
    bytes += (table->weight.size() + table->bias.size()) * sizeof(float);
    if (table->quanParameter != nullptr)
      bytes += table->quanParameter->buffer.size() +
               (table->quanParameter->alpha.size() + table->quanParameter->index.size()) * sizeof(float);
  }
  if (const object::MatMulT* table = op.main.AsMatMul())
    bytes += (table->weight.size() + table->bias.size()) * sizeof(float);
  if (const object::BlobT* table = op.main.AsBlob())
    bytes += (table->float32s.size() + table->int32s.size()) * sizeof(float);
  return bytes;
}

Result<std::vector<std::byte>> write_net(object::NetT& net, const Model& origin) {
  net.sourceType = static_cast<object::Source>(origin.wire_net().sourceType());
  if (!origin.converter_version().empty()) {
    net.extraInfo = std::make_unique<object::ExtraInfoT>();
    net.extraInfo->version = origin.converter_version();
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(object::Net::Pack(builder, &net));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  std::vector<std::byte> bytes(begin, begin + builder.GetSize());
  if (auto valid = verified_net(bytes); !valid) return fail(std::move(valid.error()));
  return bytes;
}

}  // namespace qnndbg
