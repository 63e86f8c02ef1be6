// One operator of a model as an object that can be changed and written again: for the files of this room that write
// models.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "graph/mnn_object_generated.h"
#include "graph/mnn_wire.h"
#include "graph/model.h"
#include "graph/operator_model.h"

namespace qnndbg {

namespace object = wire_object;

/// The same bytes under the classes that can be unpacked (cmake/flatbuffers.cmake says why there are two).
template <class Object, class Wire>
const Object* as_object(const Wire* table) {
  return reinterpret_cast<const Object*>(table);
}

/// Gives `op` this parameter table. (The generated union has no setter, because several members share the Opaque
/// table.)
template <class Table>
void set_main(object::OpT& op, object::OpParameter type, Table table) {
  op.main.Reset();
  op.main.type = type;
  op.main.value = new Table(std::move(table));
}

struct CopiedOp {
  object::OpT op;       // without its tensors
  bool rounded = true;  // as OperatorModel::rounded
};

/// Copies the operator's name, type and parameters, with weights of side files. With a grid its constants are rounded
/// to it. Errors: as cut_operator().
Result<CopiedOp> copy_operator(const Model& model, int op, const std::optional<ConstantGrid>& grid);

/// What a Const operator stores: the value, f32 or i32, in the order of the model's dims.
object::BlobT blob_of(const Tensor& value, object::Layout layout);

/// Reflection of the table behind a union member; nullptr for a number that the schema does not know.
const flatbuffers::TypeTable* table_of(wire::OpParameter member);

/// Bytes of the numbers among the operator's parameters.
std::size_t payload_of(const object::OpT& op);

/// A file beyond this cannot be written: offsets have 31 bits, and beside its numbers it holds names and tables.
inline constexpr std::size_t kMaxPayload = FLATBUFFERS_MAX_BUFFER_SIZE - (std::size_t{64} << 20);

/// The bytes of a model made from `origin`, with its source framework and converter version. Errors: what was put
/// together is no valid model.
Result<std::vector<std::byte>> write_net(object::NetT& net, const Model& origin);

/// Dims as the file has them.
std::vector<std::int32_t> wire_dims(const Dims& dims);

}  // namespace qnndbg
