// Models of one LayerNorm, described in numbers.
#pragma once

#include "ops/oracle.h"

namespace qnndbg::test {

struct Norm {
  std::vector<int> axes = {};
  int group = 1;
  bool rms = false;
  float epsilon = 1e-5F;
  std::vector<float> gamma = {}, beta = {};
};

inline OneOp model_of(const Norm& n) {
  return OneOp(wire::Kind_LayerNorm, 1, wire::OpParameter_LayerNorm, [n](Builder& b) {
    const auto axes = b.CreateVector(n.axes);
    const auto gamma = b.CreateVector(n.gamma);
    const auto beta = b.CreateVector(n.beta);
    wire::LayerNormBuilder norm(b);
    norm.add_axis(axes);
    norm.add_epsilon(n.epsilon);
    norm.add_group(n.group);
    norm.add_useRMSNorm(n.rms);
    if (!n.gamma.empty()) {
      norm.add_gamma(gamma);
      norm.add_beta(beta);
    }
    return norm.Finish().Union();
  });
}

}  // namespace qnndbg::test
