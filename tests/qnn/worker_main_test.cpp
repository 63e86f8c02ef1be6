// main() of these tests: a worker is this program itself.
#include <gmock/gmock.h>

#include <string_view>

#include "qnn/worker.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == qnndbg::qnn::kWorkerArgument)
    return qnndbg::qnn::serve_worker() ? 0 : 2;
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
