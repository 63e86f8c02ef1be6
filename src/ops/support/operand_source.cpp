#include "ops/support/operand_source.h"

#include <algorithm>
#include <cmath>

#include "tensor/layout.h"

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

LoadOperand given_operand(Tensor tensor) {
  return [value = std::make_shared<const Tensor>(std::move(tensor))](const RunContext&) -> Result<OperandValue> {
    return value;
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

bool layout_matters(const Dims& dims) {
  if (dims.size() < 3 || dims[1] <= 1) return false;
  const std::int64_t count = element_count(dims);
  return count > 0 && count != dims[0] * dims[1];
}

Tensor read_as_channel_last(const Tensor& tensor) {
  Tensor out = Tensor::f32(tensor.dims());
  to_logical_order(tensor.f32(), tensor.dims(), Layout::channel_last, out.f32());
  return out;
}

Tensor read_as_logical(const Tensor& channel_last) {
  Tensor out = Tensor::f32(channel_last.dims());
  to_device_order(channel_last.f32(), channel_last.dims(), Layout::channel_last, out.f32());
  return out;
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
