#include "ops/support/activation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/support/elementwise.h"
#include "ops/support/snap.h"

namespace qnndbg {
namespace {

float absolute(float x) { return std::fabs(x); }

constexpr auto kActivations = std::to_array<Activation>({
    {"none", "exact", [](float x) { return x; }, nullptr},
    {"ReLU", "exact", [](float x) { return x < 0 ? 0.0F : x; }, nullptr},
    {"ReLU6", "exact", [](float x) { return std::min(std::max(x, 0.0F), 6.0F); }, nullptr},
    {"Sigmoid", "Sigmoid", sigmoid, nullptr},
    {"Tanh", "Tanh", [](float x) { return std::tanh(x); }, nullptr},
    {"HardSwish", "HardSwish", hard_swish, nullptr},
    {"SiLU", "Silu", silu, absolute},
    {"GELU", "Gelu", gelu_erf, nullptr},
    {"ELU", "Elu", [](float x) { return x < 0 ? std::expm1(x) : x; }, nullptr},
    {"Abs", "exact", absolute, nullptr},
    {"Neg", "exact", [](float x) { return -x; }, nullptr},
    {"Exp", "Exp", [](float x) { return std::exp(x); }, nullptr},
});

}  // namespace

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

float silu(float x) { return x * sigmoid(x); }

float hard_swish(float x) { return x * std::min(6.0F, std::max(0.0F, x + 3.0F)) / 6.0F; }

float gelu_tanh(float x) {
  const float u = std::min(5.0F, std::max(-5.0F, 0.79788458F * (x + 0.044715F * x * x * x)));
  const float u2 = u * u;
  const float tanh_u = u * (135135.0F + u2 * (17325.0F + u2 * (378.0F + u2))) /
                       (135135.0F + u2 * (62370.0F + u2 * (3150.0F + u2 * 28.0F)));
  return 0.5F * x * (1.0F + tanh_u);
}

float gelu_erf(float x) { return 0.5F * x * (1.0F + std::erf(x * 0.70710678F)); }

std::span<const Activation> known_activations() { return kActivations; }

std::vector<Hypothesis> activation_mistakes(std::string_view meant, std::string parameter, std::string file) {
  std::vector<Hypothesis> list;
  for (const Activation& other : kActivations) {
    if (other.name == meant) continue;
    Stage wrong = unary_stage("", std::string(other.bound), other.f, other.magnitude);
    list.push_back({.cause = other.name == "none" ? "activation_dropped" : "activation_wrong",
                    .parameter = parameter,
                    .used = std::string(other.name),
                    .meant = std::string(meant),
                    .file = file,
                    .bound = std::string(other.bound),
                    .compute = std::move(wrong.compute)});
  }
  return list;
}

std::vector<Hypothesis> slope_mistakes(const Evidence& evidence, double meant, float (*f)(float), std::string bound,
                                       std::string file) {
  std::vector<Hypothesis> list;
  const std::span<const float> x = evidence.context.inputs[0]->f32();
  const std::span<const float> device = evidence.device.f32();
  if (x.size() != device.size()) return list;
  double fd = 0;
  double ff = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] < 0)) continue;
    const double value = f(x[i]);
    fd += value * device[i];
    ff += value * value;
  }
  if (!(ff > 0) || !std::isfinite(fd / ff)) return list;
  for (double slope : snap_candidates(fd / ff)) {
    // The coefficient is a half on the device, whatever was typed.
    auto rounded = static_cast<float>(slope);
    round_to_half({&rounded, 1}, HalfRounding::nearest, HalfKind::htp);
    list.push_back({.cause = "activation_slope_wrong",
                    .parameter = "slope below zero",
                    .used = fmt::format("{:g}", slope),
                    .meant = fmt::format("{:g}", meant),
                    .file = file,
                    .free_parameters = 1,
                    .bound = bound,
                    .compute = [f, rounded](const RunContext& run) -> Result<StageResult> {
                      return StageResult{
                          .value = map_elements(*run.inputs[0], [&](float v) { return v < 0 ? rounded * f(v) : v; })};
                    }});
  }
  return list;
}

std::vector<Hypothesis> clip_mistakes(const Evidence& evidence, float low, float high, std::string file) {
  std::vector<Hypothesis> list;
  const std::span<const float> device = evidence.device.f32();
  if (device.empty()) return list;
  const auto [min, max] = std::minmax_element(device.begin(), device.end());
  const auto text = [](float limit) { return std::isinf(limit) ? std::string("none") : fmt::format("{:g}", limit); };
  const auto consider = [&](float l, float h, int moved) {
    if (!(l < h)) return;
    const auto both = [&](float first, float second) { return fmt::format("{} and {}", text(first), text(second)); };
    list.push_back({.cause = "clip_range_wrong",
                    .parameter = l != low && h != high ? "min_value and max_value"
                                 : l == low            ? "max_value"
                                                       : "min_value",
                    .used = l != low && h != high ? both(l, h) : text(l == low ? h : l),
                    .meant = l != low && h != high ? both(low, high) : text(l == low ? high : low),
                    .file = file,
                    .free_parameters = moved,
                    .compute = [l, h](const RunContext& run) -> Result<StageResult> {
                      return StageResult{
                          .value = map_elements(*run.inputs[0], [=](float v) { return std::min(std::max(v, l), h); })};
                    }});
  };
  if (low != 0 || high != 6) consider(0, 6, 0);
  if (*max != high) consider(low, *max, 1);
  if (*min != low) consider(*min, high, 1);
  if (*max != high && *min != low) consider(*min, *max, 2);
  return list;
}

}  // namespace qnndbg
