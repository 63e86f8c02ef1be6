// Per-channel constants (bias, gamma, beta, scale) as the device's output shows them, and what explains them.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/half.h"

namespace qnndbg {

/// The values that a constant may have had, judging by the device's output: every element narrows it.
struct Interval {
  double low = -HUGE_VAL;
  double high = HUGE_VAL;
  std::int64_t equations = 0;  // elements that narrowed both sides

  bool empty() const { return low > high; }
  bool contains(double v) const { return v >= low && v <= high; }
  void meet(double l, double h);  // an element that shows the value: low..high
  void at_most(double h);         // a clipped element
  void at_least(double l);
};

enum class ConstantMistakeKind : std::uint8_t {
  dropped,     // all zeros
  ignored,     // all ones
  misordered,  // the same values on other channels
  scaled,      // times one factor
  differs,     // other values
};

struct ConstantMistake {
  ConstantMistakeKind kind = ConstantMistakeKind::differs;
  std::string used;           // "zeros", "rolled by 1", "x 1.25"
  std::vector<float> values;  // one per channel, on the half grid
  int free_parameters = 0;    // see Hypothesis
};

/// Constants of the model, and as the device should hold them.
struct ChannelConstants {
  std::vector<float> model;   // fp32
  std::vector<float> device;  // on the half grid
  HalfRounding rounding = HalfRounding::toward_zero;
};

/// The ways in which a factor and the rounding to half may have met: a number was scaled before its rounding, or after
/// it and rounded again.
struct ScaledRounding {
  bool before = true;
  HalfRounding rounding = HalfRounding::toward_zero;
};
std::vector<ScaledRounding> scaled_roundings(HalfRounding constants);
float scaled(float model, float device, double factor, ScaledRounding how);

/// The simplest explanations of the observed intervals, best first: nothing when an interval is empty (no constant
/// explains the output) or when the right values fit.
std::vector<ConstantMistake> explain_constants(const ChannelConstants& constants, std::span<const Interval> observed);

}  // namespace qnndbg
