// Runs a check on every instruction set that the program has kernels for and this processor understands.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace qnndbg {

template <class Check>
void on_every_target(const Check& check) {
  for (std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS; targets != 0; targets &= targets - 1) {
    const std::int64_t target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();  // the choice is made once, on the first call
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace qnndbg
