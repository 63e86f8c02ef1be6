// Weights and bias of the convolution family (wire table Convolution2D).
#include <cmath>

#include "graph/elements.h"
#include "graph/mnn_wire.h"
#include "graph/model.h"
#include "graph/weights.h"

namespace qnndbg {
namespace {

/// An IDSTQuan table that holds weights. Others carry only the scales of activations.
bool holds_weights(const wire::IDSTQuan& coded) { return coded.buffer() != nullptr || coded.index() != nullptr; }

/// Dims of the weights as far as the parameters tell. Files of early converters leave out the input count (0); it then
/// follows from `stored`, the number of weights.
Result<Dims> weight_dims(const OpNode& op, const wire::Convolution2DCommon& common, std::int64_t stored) {
  const std::int64_t out = common.outputCount(), group = common.group(), kx = common.kernelX(), ky = common.kernelY();
  if (out < 1 || group < 1 || kx < 1 || ky < 1 || common.inputCount() < 0) {
    return fail("impossible parameters: {} outputs, {} inputs, {} groups, kernel {}x{}", out, common.inputCount(),
                group, ky, kx);
  }
  const bool depthwise = op.type == wire::Kind_ConvolutionDepthwise || op.type == wire::Kind_DeconvolutionDepthwise ||
                         op.type == wire::Kind_DepthwiseConvInt8;
  const bool transposed = op.type == wire::Kind_Deconvolution;
  if (depthwise) return Dims{out, 1, ky, kx};

  const std::int64_t in = common.inputCount();
  if ((transposed ? out : in) % group != 0) {
    return fail("{} channels do not divide into {} groups", transposed ? out : in, group);
  }
  if (in > 0) return transposed ? Dims{in, out / group, ky, kx} : Dims{out, in / group, ky, kx};
  const Dims known{transposed ? out / group : out, ky, kx};
  const Result<std::int64_t> unit = check_dims(known);
  if (!unit) return fail(unit.error());
  if (stored < 1 || stored % *unit != 0)
    return fail("{} weights for {} outputs and a {}x{} kernel", stored, out, ky, kx);
  return transposed ? Dims{stored / *unit, out / group, ky, kx} : Dims{out, stored / *unit, ky, kx};
}

Result<void> check_weight_count(const OpNode& op, const wire::Convolution2DCommon& common, std::int64_t stored) {
  const Result<Dims> dims = weight_dims(op, common, stored);
  if (!dims) return fail(dims.error());
  const Result<std::int64_t> expected = check_dims(*dims);
  if (!expected) return fail(expected.error());
  if (*expected != stored)
    return fail("{} weights are stored, but the parameters mean {} ({})", stored, *expected, to_string(*dims));
  return {};
}

/// The parts of an IDSTQuan record, from the model or from its side file.
struct CodedParts {
  Bytes buffer;
  Bytes alpha;
  Bytes index;
};

bool is_old_int8_form(const wire::IDSTQuan& coded) {
  return coded.type() == static_cast<int>(WeightCoding::int8) && coded.aMin() == 0 &&
         std::abs(coded.quantScale()) < 1e-6F;
}

/// Weights that are plain integers times alpha: no minima, no list of positions, no factor on top.
bool holds_symmetric_integers(const wire::IDSTQuan& coded) {
  const auto type = static_cast<WeightCoding>(coded.type());
  const bool integers =
      type == WeightCoding::palette || type == WeightCoding::sparse_palette || type == WeightCoding::int8;
  const bool plain = coded.has_scaleInt() || coded.quantScale() == 1.0F;
  return integers && plain && coded.readType() == 0 && coded.index() == nullptr && !is_old_int8_form(coded);
}

Result<FloatArray> decode(const wire::IDSTQuan& coded, const CodedParts& parts, const OpNode& op,
                          const wire::Convolution2DCommon& common) {
  const bool half_alpha = coded.scaleStorage() == wire::ScaleStore_FP16;
  const Result<FloatArray> alpha = half_alpha ? halves_as_floats(parts.alpha) : as_floats(parts.alpha);
  if (!alpha) return fail("scales: {}", alpha.error().message);
  const Result<std::vector<std::uint32_t>> index = copy_as<std::uint32_t>(parts.index);
  if (!index) return fail("positions: {}", index.error().message);

  CodedWeights weights;
  weights.coding = coded.type();
  weights.payload = parts.buffer;
  weights.alpha = alpha->values();
  weights.pairs = coded.readType() != 0 || is_old_int8_form(coded);
  weights.lowest = coded.aMin();
  weights.factor = coded.has_scaleInt() || is_old_int8_form(coded) ? 1.0F : coded.quantScale();
  weights.wide_dims = coded.shapeInt32();
  weights.index = *index;
  weights.has_index = coded.index() != nullptr || !parts.index.empty();
  weights.index_elements = coded.weightSize();

  const Result<std::int64_t> stored = stored_elements(weights);
  if (!stored) return fail(stored.error());
  if (const Result<void> counted = check_weight_count(op, common, *stored); !counted) return fail(counted.error());
  return decode_weights(weights, *stored).map([](std::vector<float> values) { return FloatArray(std::move(values)); });
}

Result<const wire::Convolution2D*> convolution_of(const wire::Op& op) {
  const wire::Convolution2D* convolution = op.main_as_Convolution2D();
  if (convolution == nullptr || convolution->common() == nullptr) return fail("it carries no convolution parameters");
  return convolution;
}

/// Parts of a Convolution2D side-file record.
enum FloatPart { kFloatWeight, kFloatBias };
enum CodedPart { kCodedBuffer, kCodedAlpha, kCodedBias, kCodedIndex };

Error no_weights(const wire::Convolution2D& convolution) {
  if (convolution.symmetricQuan() != nullptr && convolution.symmetricQuan()->weight() != nullptr) {
    // In this form `scale` may or may not contain the scales of input and output, and the file does not say which.
    return Error{
        "its int8 weights have the form of early converters, whose scale is ambiguous; convert the model again"};
  }
  return Error{"it stores no weights"};
}

}  // namespace

Result<FloatArray> Model::convolution_weight(int op) const {
  const auto at_op = [&](const Error& error) { return located(op, error); };
  const Result<const wire::Convolution2D*> found = convolution_of(wire_op(op));
  if (!found) return fail(at_op(found.error()));
  const wire::Convolution2D& convolution = **found;
  const auto* external = is_external(convolution.external()) ? convolution.external() : nullptr;
  const auto part = [&](int number, Bytes inline_bytes) {
    return external == nullptr ? Result<Bytes>(inline_bytes) : external_part(op, *external, number);
  };

  const wire::IDSTQuan* coded = convolution.quanParameter();
  if (coded != nullptr && (external != nullptr || holds_weights(*coded))) {
    const bool half_alpha = coded->scaleStorage() == wire::ScaleStore_FP16;
    const Result<Bytes> buffer = part(kCodedBuffer, bytes_of(coded->buffer()));
    const Result<Bytes> alpha = part(kCodedAlpha, half_alpha ? bytes_of(coded->alphaFp16()) : bytes_of(coded->alpha()));
    const Result<Bytes> index = part(kCodedIndex, bytes_of(coded->index()));
    for (const Result<Bytes>* bytes : {&buffer, &alpha, &index}) {
      if (!*bytes) return fail(at_op(bytes->error()));
    }
    return decode(*coded, {*buffer, *alpha, *index}, node(op), *convolution.common()).map_error(at_op);
  }
  if (external == nullptr && (convolution.weight() == nullptr || convolution.weight()->size() == 0)) {
    return fail(at_op(no_weights(convolution)));
  }
  Result<FloatArray> weight = part(kFloatWeight, bytes_of(convolution.weight())).and_then(as_floats);
  if (!weight) return fail(at_op(weight.error()));
  const auto stored = static_cast<std::int64_t>(weight->size());
  const Result<void> counted = check_weight_count(node(op), *convolution.common(), stored);
  if (!counted) return fail(at_op(counted.error()));
  return weight;
}

Result<Model::StoredScales> Model::stored_weight_scales(int op) const {
  const auto at_op = [&](const Error& error) { return located(op, error); };
  const Result<const wire::Convolution2D*> found = convolution_of(wire_op(op));
  if (!found) return fail(at_op(found.error()));
  const wire::Convolution2D& convolution = **found;
  const auto* external = is_external(convolution.external()) ? convolution.external() : nullptr;
  const wire::IDSTQuan* coded = convolution.quanParameter();
  if (coded == nullptr || (external == nullptr && !holds_weights(*coded))) return StoredScales{};
  const bool half_alpha = coded->scaleStorage() == wire::ScaleStore_FP16;
  Bytes stored = half_alpha ? bytes_of(coded->alphaFp16()) : bytes_of(coded->alpha());
  if (external != nullptr) {
    const Result<Bytes> part = external_part(op, *external, kCodedAlpha);
    if (!part) return fail(at_op(part.error()));
    stored = *part;
  }
  Result<FloatArray> scales = half_alpha ? halves_as_floats(stored) : as_floats(stored);
  if (!scales) return fail(at_op(Error{fmt::format("scales: {}", scales.error().message)}));
  return StoredScales{std::move(*scales), coded->readType() != 0 || is_old_int8_form(*coded)};
}

Result<FloatArray> Model::integer_weight_scales(int op) const {
  const Result<const wire::Convolution2D*> found = convolution_of(wire_op(op));
  if (!found) return fail(located(op, found.error()));
  const wire::IDSTQuan* coded = (*found)->quanParameter();
  if (coded == nullptr || !holds_symmetric_integers(*coded)) return FloatArray();
  Result<StoredScales> scales = stored_weight_scales(op);
  if (!scales) return fail(std::move(scales.error()));
  const bool one_block = static_cast<std::int64_t>(scales->values.size()) == (*found)->common()->outputCount();
  return one_block ? std::move(scales->values) : FloatArray();
}

Result<FloatArray> Model::convolution_bias(int op) const {
  const auto at_op = [&](const Error& error) { return located(op, error); };
  const Result<const wire::Convolution2D*> found = convolution_of(wire_op(op));
  if (!found) return fail(at_op(found.error()));
  const wire::Convolution2D& convolution = **found;
  const int part = convolution.quanParameter() != nullptr ? static_cast<int>(kCodedBias) : static_cast<int>(kFloatBias);
  Result<FloatArray> bias = float_part(op, convolution.bias(), convolution.external(), part);
  if (!bias || bias->empty()) return bias;
  const std::int64_t outputs = convolution.common()->outputCount();
  if (static_cast<std::int64_t>(bias->size()) != outputs) {
    return fail(at_op(Error{fmt::format("{} biases for {} outputs", bias->size(), outputs)}));
  }
  return bias;
}

}  // namespace qnndbg
