// Mistakes of a porter, put into one operator of a described network.
//
// Most are an edit of the operator's description: the device then runs the right code on a wrong model. Where no
// description says it (a buffer that nobody wrote, data in another order), the device's tensor itself is changed.
// Every cause id of docs/causes.md that a half-precision dump can show is here, except those that QNN refuses before
// anything runs (another group, a concat or gather axis that changes the shape).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faults/device.h"
#include "faults/random_network.h"

namespace qnndbg::faults {

struct Fault {
  int op = -1;
  std::string cause;  // id of docs/causes.md
  std::string what;   // "weights x 1.25"
  /// Other ids that name the same mistake, whatever the numbers.
  std::vector<std::string> also = {};
  /// Changes the description; may be empty.
  std::function<void(Network&)> edit = {};
  /// The edited operator may give a larger plane, of which the device keeps the leading window.
  bool window = false;
  /// Changes what the device stored; operands are the device's, empty for an input. May be empty.
  std::function<void(const std::vector<const Tensor*>& operands, OpRecord& record)> tamper = {};
};

/// Same element type and the same values in logical order, whatever the dims.
bool same_values(const Tensor& a, const Tensor& b);

/// Every fault that fits operator `op`, random ones drawn from `rng`. Some may have no effect on given data.
std::vector<Fault> faults_of(const Program& program, int op, Rng& rng);

/// What the device makes of the faulty operator. An error when the fault does not fit (another shape).
Result<OpRecord> execute_faulty(const Program& program, const Fault& fault, const std::vector<Tensor>& tensors);

/// One run of the network with faults in different operators.
Result<Recording> run(const Program& program, std::vector<Tensor> given, const std::vector<Fault>& faults);

/// Size of a fault in a run: the largest error of its operator in units of the bound; up to 1 it is invisible.
Result<double> size_of(const Program& program, int op, const Recording& recording, const Bounds& bounds);

/// Causes of all other faults of the same operator that reproduce the device's tensors within the bound: by the
/// numbers alone they are as right as the one that was put in.
std::vector<std::string> equivalent_causes(const Program& program, const Fault& fault, const Recording& recording,
                                           const Bounds& bounds);

}  // namespace qnndbg::faults
