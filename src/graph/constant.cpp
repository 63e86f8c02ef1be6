// Values of Const and TrainableParam operators (wire table Blob).
#include <algorithm>
#include <cstring>

#include "graph/elements.h"
#include "graph/mnn_wire.h"
#include "graph/model.h"

namespace qnndbg {
namespace {

/// The payload of a constant and the size of its elements; half payloads lie in the bytes.
struct Payload {
  Bytes bytes;
  std::size_t element_bytes = 0;
};

Result<Payload> payload_of(const wire::Blob& blob) {
  switch (blob.dataType()) {
    case wire::DType_DT_FLOAT: return Payload{bytes_of(blob.float32s()), 4};
    case wire::DType_DT_INT32: return Payload{bytes_of(blob.int32s()), 4};
    case wire::DType_DT_INT64: return Payload{bytes_of(blob.int64s()), 8};
    case wire::DType_DT_HALF: return Payload{bytes_of(blob.uint8s()), 2};
    case wire::DType_DT_UINT8: return Payload{bytes_of(blob.uint8s()), 1};
    case wire::DType_DT_INT8: return Payload{bytes_of(blob.int8s()), 1};
    default: break;
  }
  return fail("constants of element type {} are not supported", static_cast<int>(blob.dataType()));
}

template <class T>
void widen(Bytes bytes, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int32_t>(value);
  }
}

Result<void> narrow(Bytes bytes, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    if (value != static_cast<std::int32_t>(value))
      return fail("element {} is {}, which does not fit 32 bits", i, value);
    out[i] = static_cast<std::int32_t>(value);
  }
  return {};
}

/// `bytes` holds exactly the elements of `dims`.
Result<Tensor> to_tensor(wire::DType type, Bytes bytes, const Dims& dims) {
  if (type == wire::DType_DT_FLOAT || type == wire::DType_DT_HALF) {
    const Result<FloatArray> values = type == wire::DType_DT_FLOAT ? as_floats(bytes) : halves_as_floats(bytes);
    if (!values) return fail(values.error());
    Tensor tensor = Tensor::f32(dims);
    std::copy(values->values().begin(), values->values().end(), tensor.f32().begin());
    return tensor;
  }
  Tensor tensor = Tensor::i32(dims);
  switch (type) {
    case wire::DType_DT_INT64:
      if (const Result<void> fits = narrow(bytes, tensor.i32()); !fits) return fail(fits.error());
      break;
    case wire::DType_DT_INT32: widen<std::int32_t>(bytes, tensor.i32()); break;
    case wire::DType_DT_UINT8: widen<std::uint8_t>(bytes, tensor.i32()); break;
    default: widen<std::int8_t>(bytes, tensor.i32()); break;
  }
  return tensor;
}

/// MNN's own tensors have at most 9 dims; operators need not be ready for a thousand.
constexpr flatbuffers::uoffset_t kMaxRank = 16;

Result<Dims> dims_of(const wire::Blob& blob) {
  Dims dims;
  if (blob.dims() != nullptr && blob.dims()->size() > kMaxRank)
    return fail("a constant of {} dims", blob.dims()->size());
  if (blob.dims() != nullptr) dims.assign(blob.dims()->begin(), blob.dims()->end());
  const Result<std::int64_t> count = check_dims(dims);
  if (!count) return fail(count.error());
  return dims;
}

}  // namespace

Result<Tensor> Model::constant(int op) const {
  const wire::Blob* stored = wire_op(op).main_as_Blob();
  if (stored == nullptr) return fail(located(op, Error{"it holds no constant"}));
  return blob(op, *stored);
}

Result<Tensor> Model::blob(int op, const wire::Blob& blob) const {
  const auto at_op = [&](const Error& error) { return located(op, error); };
  const Result<Dims> dims = dims_of(blob);
  if (!dims) return fail(at_op(dims.error()));
  Result<Payload> payload = payload_of(blob);
  if (!payload) return fail(at_op(payload.error()));
  if (is_external(blob.external())) {
    const Result<Bytes> outside = external_part(op, *blob.external(), 0);
    if (!outside) return fail(at_op(outside.error()));
    payload->bytes = *outside;
  }
  const std::uint64_t expected = static_cast<std::uint64_t>(element_count(*dims)) * payload->element_bytes;
  if (payload->bytes.size() != expected) {
    return fail(at_op(Error{fmt::format("a constant of dims {} takes {} bytes, but {} are stored", to_string(*dims),
                                        expected, payload->bytes.size())}));
  }
  return to_tensor(blob.dataType(), payload->bytes, *dims).map_error(at_op);
}

}  // namespace qnndbg
