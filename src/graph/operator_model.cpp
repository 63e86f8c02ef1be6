#include "graph/operator_model.h"

#include <flatbuffers/minireflect.h>

#include <algorithm>
#include <array>
#include <memory>

#include "graph/elements.h"
#include "graph/mnn_object_generated.h"
#include "graph/mnn_reader.h"
#include "graph/mnn_wire.h"
#include "graph/weights.h"

namespace qnndbg {
namespace {

namespace object = wire_object;

/// The same bytes under the classes that can be unpacked (cmake/flatbuffers.cmake says why there are two).
template <class Object, class Wire>
const Object* as_object(const Wire* table) {
  return reinterpret_cast<const Object*>(table);
}

struct CopiedOp {
  object::OpT op;
  bool rounded = true;
};

/// Gives `op` this parameter table. (The generated union has no setter, because several members share the Opaque
/// table.)
template <class Table>
void set_main(object::OpT& op, object::OpParameter type, Table table) {
  op.main.Reset();
  op.main.type = type;
  op.main.value = new Table(std::move(table));
}

// --- Parameter tables ------------------------------------------------------------------------------------------------

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

/// Reflection of the table behind a union member; nullptr for a number that the schema does not know.
const flatbuffers::TypeTable* table_of(wire::OpParameter member) {
  const flatbuffers::TypeTable* all = object::OpParameterTypeTable();
  const auto index = static_cast<std::size_t>(member);
  if (member == wire::OpParameter_NONE || index >= all->num_elems) return nullptr;
  return all->type_refs[all->type_codes[index].sequence_ref]();
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

// --- The new model ---------------------------------------------------------------------------------------------------

object::DType wire_type(DType type) { return type == DType::i32 ? object::DType_DT_INT32 : object::DType_DT_FLOAT; }

/// Where the channels stand, in the words of the model that the operator comes from.
object::Layout wire_layout(Layout layout, MnnFormat origin) {
  if (layout == Layout::channel_last) return object::Layout_NC4HW4;
  return origin == MnnFormat::nhwc ? object::Layout_NHWC : object::Layout_NCHW;
}

std::vector<std::int32_t> wire_dims(const Dims& dims) { return {dims.begin(), dims.end()}; }

class ModelAssembler {
 public:
  ModelAssembler(const Model& model, int op) : model_(model), node_(model.graph().ops[static_cast<std::size_t>(op)]) {}

  Result<OperatorModel> assemble(CopiedOp copied, const std::vector<ModelOperand>& operands) {
    out_.rounded = copied.rounded;
    copied.op.inputIndexes.clear();
    for (std::size_t k = 0; k < operands.size(); ++k) copied.op.inputIndexes.push_back(add_operand(operands, k));
    for (std::size_t k = 0; k < node_.outputs.size(); ++k) {
      const std::string name = fmt::format("output{}", k);
      const int tensor = add_tensor(name, node_.outputs[k]);
      out_.outputs.push_back({name, tensor, node_.outputs[k], k});
      copied.op.outputIndexes.push_back(tensor);
      net_.outputName.push_back(name);
    }
    net_.oplists.push_back(std::make_unique<object::OpT>(std::move(copied.op)));
    return finish();
  }

 private:
  int add_operand(const std::vector<ModelOperand>& operands, std::size_t k) {
    const ModelOperand& operand = operands[k];
    if (operand.tensor < 0) return -1;
    // x * x reads one tensor twice.
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      if (operands[earlier].tensor == operand.tensor) return tensors_[earlier];
    }
    const std::string name = fmt::format("{}{}", operand.constant != nullptr ? "constant" : "input", k);
    const int tensor = add_tensor(name, operand.tensor);
    tensors_.resize(k + 1, -1);
    tensors_[k] = tensor;
    auto op = std::make_unique<object::OpT>();
    op->name = name;
    op->outputIndexes = {tensor};
    op->defaultDimentionFormat = wire_layout(Layout::logical, node_.origin);
    if (operand.constant != nullptr) {
      op->type = object::Kind_Const;
      set_main(*op, object::OpParameter_Blob, blob_of(*operand.constant));
    } else {
      op->type = object::Kind_Input;
      object::InputT input;
      input.dims = wire_dims(operand.dims);
      input.dtype = wire_type(operand.type);
      input.dformat = wire_layout(operand.layout, node_.origin);
      set_main(*op, object::OpParameter_Input, std::move(input));
      out_.inputs.push_back({name, tensor, operand.tensor, k});
    }
    net_.oplists.push_back(std::move(op));
    return tensor;
  }

  object::BlobT blob_of(const Tensor& value) const {
    object::BlobT blob;
    blob.dims = wire_dims(value.dims());
    blob.dataFormat = wire_layout(Layout::logical, node_.origin);
    blob.dataType = wire_type(value.type());
    if (value.type() == DType::i32)
      blob.int32s.assign(value.i32().begin(), value.i32().end());
    else
      blob.float32s.assign(value.f32().begin(), value.f32().end());
    return blob;
  }

  /// The new number of a tensor; the quantization that the model declares for it comes along.
  int add_tensor(const std::string& name, int origin) {
    const int tensor = static_cast<int>(net_.tensorName.size());
    net_.tensorName.push_back(name);
    const wire::Net& net = model_.wire_net();
    if (net.extraTensorDescribe() == nullptr) return tensor;
    for (const wire::TensorDescribe* record : *net.extraTensorDescribe()) {
      if (record->index() != origin || record->quantInfo() == nullptr) continue;
      auto copy = std::make_unique<object::TensorDescribeT>();
      copy->index = tensor;
      copy->name = name;
      copy->quantInfo.reset(as_object<object::TensorQuantInfo>(record->quantInfo())->UnPack());
      net_.extraTensorDescribe.push_back(std::move(copy));
      break;
    }
    return tensor;
  }

  Result<OperatorModel> finish() {
    net_.sourceType = static_cast<object::Source>(model_.wire_net().sourceType());
    net_.tensorNumber = static_cast<std::int32_t>(net_.tensorName.size());
    if (!model_.converter_version().empty()) {
      net_.extraInfo = std::make_unique<object::ExtraInfoT>();
      net_.extraInfo->version = model_.converter_version();
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(object::Net::Pack(builder, &net_));
    const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    out_.bytes.assign(begin, begin + builder.GetSize());
    if (auto valid = verified_net(out_.bytes); !valid)
      return fail("{}: its model of one operator is not valid: {}", describe(node_), valid.error().message);
    return std::move(out_);
  }

  const Model& model_;
  const OpNode& node_;
  std::vector<int> tensors_;  // by operand
  object::NetT net_;
  OperatorModel out_;
};

/// Bytes that the parameters and constants of the new model take.
std::size_t payload_of(const object::OpT& op, const std::vector<ModelOperand>& operands) {
  std::size_t bytes = 0;
  for (const ModelOperand& operand : operands) {
    if (operand.constant != nullptr) bytes += static_cast<std::size_t>(operand.constant->size()) * sizeof(float);
  }
  if (const object::Convolution2DT* table = op.main.AsConvolution2D()) {
    bytes += (table->weight.size() + table->bias.size()) * sizeof(float);
    if (table->quanParameter != nullptr)
      bytes += table->quanParameter->buffer.size() +
               (table->quanParameter->alpha.size() + table->quanParameter->index.size()) * sizeof(float);
  }
  if (const object::MatMulT* table = op.main.AsMatMul())
    bytes += (table->weight.size() + table->bias.size()) * sizeof(float);
  return bytes;
}

// --- Parameters as text ----------------------------------------------------------------------------------------------

/// Collects "table.field" and its value; long vectors are counted.
class ParameterVisitor : public flatbuffers::IterationVisitor {
 public:
  std::vector<OperatorParameter> take() { return std::move(parameters_); }

  void StartSequence() override {
    if (depth_++ > 0) path_.push_back(field_);
  }
  void EndSequence() override {
    if (--depth_ > 0) path_.pop_back();
  }
  void Field(std::size_t /*index*/, std::size_t /*set*/, flatbuffers::ElementaryType /*type*/, bool /*vector*/,
             const flatbuffers::TypeTable* /*table*/, const char* name, const std::uint8_t* /*value*/) override {
    field_ = name == nullptr ? "" : name;
  }
  void StartVector() override {
    in_vector_ = true;
    count_ = 0;
    elements_.clear();
  }
  void EndVector() override {
    in_vector_ = false;
    add(count_ > kShown ? fmt::format("{} numbers", count_) : fmt::format("[{}]", fmt::join(elements_, ", ")));
  }
  void UType(std::uint8_t value, const char* name) override { number(value, name); }
  void Bool(bool value) override {
    scalar([&] { return std::string(value ? "true" : "false"); });
  }
  void Char(std::int8_t value, const char* name) override { number(value, name); }
  void UChar(std::uint8_t value, const char* name) override { number(value, name); }
  void Short(std::int16_t value, const char* name) override { number(value, name); }
  void UShort(std::uint16_t value, const char* name) override { number(value, name); }
  void Int(std::int32_t value, const char* name) override { number(value, name); }
  void UInt(std::uint32_t value, const char* name) override { number(value, name); }
  void Float(float value) override {
    scalar([&] { return fmt::format("{}", value); });
  }
  void String(const flatbuffers::String* value) override {
    scalar([&] { return value->str(); });
  }

 private:
  static constexpr std::size_t kShown = 8;

  void number(int value, const char* name) {
    scalar([&] { return name == nullptr ? std::to_string(value) : std::string(name); });
  }
  void number(std::uint32_t value, const char* /*name*/) {
    scalar([&] { return std::to_string(value); });
  }

  template <class Text>
  void scalar(Text text) {
    if (!in_vector_) return add(text());
    if (++count_ <= kShown) elements_.push_back(text());
  }

  void add(std::string value) {
    std::string name;
    for (const std::string& table : path_) name += table + '.';
    parameters_.push_back({name + field_, std::move(value)});
  }

  std::vector<OperatorParameter> parameters_;
  std::vector<std::string> path_;
  std::string field_;
  int depth_ = 0;
  bool in_vector_ = false;
  std::size_t count_ = 0;
  std::vector<std::string> elements_;
};

}  // namespace

Result<OperatorModel> cut_operator(const Model& model, int op, const std::vector<ModelOperand>& operands,
                                   const ConstantGrid& grid) {
  Result<CopiedOp> copied = OperatorCopier(model, op, grid).copy();
  if (!copied) return fail(std::move(copied.error()));
  const std::size_t payload = payload_of(copied->op, operands);
  // The rest of the file is small; without the margin its offsets could still overflow.
  constexpr std::size_t kMargin = std::size_t{64} << 20;
  if (payload > FLATBUFFERS_MAX_BUFFER_SIZE - kMargin)
    return fail("{}: its constants take {} bytes, more than a .mnn file can hold",
                describe(model.graph().ops[static_cast<std::size_t>(op)]), payload);
  return ModelAssembler(model, op).assemble(std::move(*copied), operands);
}

std::vector<OperatorParameter> operator_parameters(const Model& model, int op) {
  Result<CopiedOp> copied = OperatorCopier(model, op, std::nullopt).copy();
  if (!copied || copied->op.main.type == object::OpParameter_NONE) return {};
  const flatbuffers::TypeTable* type = table_of(model.wire_op(op).main_type());
  if (type == nullptr) return {};
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);  // a parameter that the file leaves out has a value, too
  builder.Finish(copied->op.main.Pack(builder));
  ParameterVisitor visitor;
  flatbuffers::IterateObject(flatbuffers::GetRoot<std::uint8_t>(builder.GetBufferPointer()), type, &visitor);
  return visitor.take();
}

}  // namespace qnndbg
