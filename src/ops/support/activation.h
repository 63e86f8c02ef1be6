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

}  // namespace qnndbg
