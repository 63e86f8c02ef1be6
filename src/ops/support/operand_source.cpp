#include "ops/support/operand_source.h"

#include <algorithm>
#include <cmath>

namespace qnndbg {
namespace {

constexpr std::size_t kMostPeers = 32;
constexpr std::size_t kScreenedElements = 32;

}  // namespace

LoadOperand stage_input(std::size_t k) {
  return [k](const RunContext& run) -> Result<OperandValue> {
    if (k >= run.inputs.size() || run.inputs[k] == nullptr) return fail("operand {} is omitted", k);
    return OperandValue(std::shared_ptr<void>(), run.inputs[k]);  // the context owns it
  };
}

LoadOperand peer_operand(Peer peer) {
  return [load = std::move(peer.load)](const RunContext&) -> Result<OperandValue> {
    auto value = load();
    if (!value) return fail(value.error());
    return std::make_shared<const Tensor>(std::move(*value));
  };
}

LoadOperand changed(LoadOperand operand, std::function<Tensor(const Tensor&)> f) {
  return [operand = std::move(operand), f = std::move(f)](const RunContext& run) -> Result<OperandValue> {
    auto own = operand(run);
    if (!own) return fail(own.error());
    return std::make_shared<const Tensor>(f(**own));
  };
}

std::vector<Peer> nearest_peers(const Evidence& evidence, const Dims& dims) {
  if (!evidence.peers) return {};
  std::vector<Peer> peers = evidence.peers(dims);
  std::reverse(peers.begin(), peers.end());
  if (peers.size() > kMostPeers) peers.resize(kMostPeers);
  return peers;
}

float ViewedOperand::at(std::int64_t element) const {
  if (source) element = source(element);
  return element < 0 ? 0.0F : tensor->f32()[static_cast<std::size_t>(element)];
}

OperandValue ViewedOperand::whole() const {
  if (!source && tensor->dims() == dims) return tensor;
  Tensor copy = Tensor::f32(dims);
  std::int64_t element = 0;
  for (float& v : copy.f32()) v = at(element++);
  return std::make_shared<const Tensor>(std::move(copy));
}

Result<ViewedOperand> look(const OperandView& view, const RunContext& run) {
  auto tensor = view.load(run);
  if (!tensor) return fail(tensor.error());
  if ((*tensor)->type() != DType::f32) return fail("integer data is not implemented for this mistake");
  if (!view.source && (*tensor)->size() != element_count(view.dims))
    return fail("{} cannot be seen as {}", to_string((*tensor)->dims()), to_string(view.dims));
  return ViewedOperand{std::move(*tensor), view.dims, view.source};
}

OperandView given_operand(Tensor tensor) {
  auto value = std::make_shared<const Tensor>(std::move(tensor));
  Dims dims = value->dims();
  return {.load = [value = std::move(value)](const RunContext&) -> Result<OperandValue> { return value; },
          .dims = std::move(dims)};
}

OperandView zeros_for(OperandView operand) {
  operand.source = [](std::int64_t) { return std::int64_t{-1}; };
  return operand;
}

std::vector<LayoutMistake> layout_mistakes(const Dims& dims) {
  if (dims.size() < 3 || element_count(dims) == 0) return {};
  const std::int64_t channels = dims[1];
  const std::int64_t plane = element_count(dims) / (dims[0] * channels);
  if (channels == 1 || plane == 1) return {};
  // Element (row, column) of one [rows, columns] image, taken from its transpose.
  const auto transposed = [](std::int64_t rows, std::int64_t columns) {
    return [rows, columns](std::int64_t i) {
      const std::int64_t within = i % (rows * columns);
      return i - within + within % columns * rows + within / columns;
    };
  };
  return {{"data in the model's order, read as channel-last", transposed(channels, plane)},
          {"channel-last data, read in the model's order", transposed(plane, channels)}};
}

bool fits_sample(const Hypothesis& hypothesis, const Evidence& evidence) {
  if (!hypothesis.exact || evidence.device.empty()) return false;
  auto value = hypothesis.exact(evidence.context);
  if (!value) return false;
  const std::span<const float> device = evidence.device.f32();
  for (std::size_t s = 0; s < kScreenedElements; ++s) {
    const std::size_t i = (s * device.size() / kScreenedElements + s * 7919) % device.size();
    const double v = (*value)(static_cast<std::int64_t>(i));
    if (!std::isfinite(v)) continue;
    if (!(std::fabs(device[i] - v) <= 4 * kHalfUnitRoundoff * std::fabs(v) + kHalfMinNormal)) return false;
  }
  return true;
}

bool any_fits_sample(const std::vector<Hypothesis>& list, const Evidence& evidence) {
  return std::any_of(list.begin(), list.end(), [&](const Hypothesis& h) { return fits_sample(h, evidence); });
}

}  // namespace qnndbg
