// Qualcomm's library as a witness (diagnose/witness.h).
#pragma once

#include "diagnose/witness.h"
#include "ops/qnn_graph.h"
#include "qnn/engine.h"

namespace qnndbg::qnn {

class HtpWitness final : public Witness {
 public:
  explicit HtpWitness(Engine engine) : engine_(std::move(engine)) {}

  std::string name() const override;
  Result<WitnessAnswer> compute(const WitnessQuestion& question) override;

 private:
  Engine engine_;
};

/// How two ways to write an operator differ: node types and parameters, as sentences. `mnn` and `meant` are graphs of
/// that operator alone.
std::vector<std::string> mapping_differences(const QnnGraph& mnn, const QnnGraph& meant);

}  // namespace qnndbg::qnn
