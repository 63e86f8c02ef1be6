// Activation functions: their definitions, and the mistake of applying another one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace qnndbg {

float sigmoid(float x);
float silu(float x);
float hard_swish(float x);
/// The tanh form, with tanh as MNN's CPU computes it: a rational function of degree 7/6 on [-5, 5].
float gelu_tanh(float x);
float gelu_erf(float x);

/// One function that QNN has a node for.
struct Activation {
  std::string_view name;  // as printed: "ReLU", "none"
  std::string_view bound;
  float (*f)(float);
  float (*magnitude)(float);  // M_i of the bound; nullptr: none
};

/// The functions that a node may compute by mistake; "none" passes its input through.
std::span<const Activation> known_activations();

/// What-ifs on a stage with one data input (input 0): none of the activation (`activation_dropped`), then every other
/// known function (`activation_wrong`). `meant` is the right one's name; `parameter` names what is wrong ("node type").
std::vector<Hypothesis> activation_mistakes(std::string_view meant, std::string parameter, std::string file);

/// Least squares of device = s * f(x) over the elements with x < 0: `activation_slope_wrong` with the slope s, snapped
/// to plain values. For functions that pass x >= 0 through; f is the identity for a leaky ReLU, exp(x) - 1 for ELU.
std::vector<Hypothesis> slope_mistakes(const Evidence& evidence, double meant, float (*f)(float), std::string bound,
                                       std::string file);

/// A clamp with other limits, read off the device's extremes: `clip_range_wrong`, one or both limits moved.
std::vector<Hypothesis> clip_mistakes(const Evidence& evidence, float low, float high, std::string file);

}  // namespace qnndbg
