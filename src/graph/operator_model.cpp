#include "graph/operator_model.h"

#include <flatbuffers/minireflect.h>

#include <algorithm>
#include <array>
#include <memory>

#include "graph/operator_copy.h"

namespace qnndbg {
namespace {

// --- The new model ---------------------------------------------------------------------------------------------------

object::DType wire_type(DType type) { return type == DType::i32 ? object::DType_DT_INT32 : object::DType_DT_FLOAT; }

/// Where the channels stand, in the words of the model that the operator comes from.
object::Layout wire_layout(Layout layout, MnnFormat origin) {
  if (layout == Layout::channel_last) return object::Layout_NC4HW4;
  return origin == MnnFormat::nhwc ? object::Layout_NHWC : object::Layout_NCHW;
}

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
      set_main(*op, object::OpParameter_Blob, blob_of(*operand.constant, wire_layout(Layout::logical, node_.origin)));
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
    net_.tensorNumber = static_cast<std::int32_t>(net_.tensorName.size());
    Result<std::vector<std::byte>> bytes = write_net(net_, model_);
    if (!bytes) return fail("{}: its model of one operator is not valid: {}", describe(node_), bytes.error().message);
    out_.bytes = std::move(*bytes);
    return std::move(out_);
  }

  const Model& model_;
  const OpNode& node_;
  std::vector<int> tensors_;  // by operand
  object::NetT net_;
  OperatorModel out_;
};

/// Bytes that the parameters and constants of the new model take.
std::size_t payload_with(const object::OpT& op, const std::vector<ModelOperand>& operands) {
  std::size_t bytes = payload_of(op);
  for (const ModelOperand& operand : operands) {
    if (operand.constant != nullptr) bytes += static_cast<std::size_t>(operand.constant->size()) * sizeof(float);
  }
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
  Result<CopiedOp> copied = copy_operator(model, op, grid);
  if (!copied) return fail(std::move(copied.error()));
  const std::size_t payload = payload_with(copied->op, operands);
  if (payload > kMaxPayload)
    return fail("{}: its constants take {} bytes, more than a .mnn file can hold",
                describe(model.graph().ops[static_cast<std::size_t>(op)]), payload);
  return ModelAssembler(model, op).assemble(std::move(*copied), operands);
}

std::vector<OperatorParameter> operator_parameters(const Model& model, int op) {
  Result<CopiedOp> copied = copy_operator(model, op, std::nullopt);
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
