// How many threads the reference may use.
#pragma once

namespace qnndbg {

/// Sets the number of OpenMP threads of this process (oneDNN uses them); 0 or less leaves OpenMP's own choice.
void use_threads(int threads);

}  // namespace qnndbg
