#include "diagnose/threads.h"

#include <omp.h>

namespace qnndbg {

void use_threads(int threads) {
  if (threads > 0) omp_set_num_threads(threads);
}

}  // namespace qnndbg
