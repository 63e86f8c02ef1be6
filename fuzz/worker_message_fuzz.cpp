// What comes through the socket between the tool and its worker, whose memory a library may have overwritten. The first
// byte says what the rest is taken for; what is read whole can be written, and is read whole again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "qnn/archive.h"
#include "qnn/messages.h"

namespace {

using namespace qnndbg::qnn;

template <class T>
void read_as(ByteView bytes) {
  T value;
  Reader reader(bytes);
  reader(value);
  if (!reader.complete()) return;
  Writer counter;
  counter(value);
  Bytes written(counter.size());
  Writer writer(written.data());
  writer(value);
  T back;
  Reader again(written);
  again(back);
  if (!again.complete()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 10) {
    case 0: read_as<SessionOptions>(bytes); break;
    case 1: read_as<ValidateRequest>(bytes); break;
    case 2: read_as<FinalizeRequest>(bytes); break;
    case 3: read_as<ExecuteRequest>(bytes); break;
    case 4: read_as<ReadBinaryRequest>(bytes); break;
    case 5: read_as<Reply<SessionInfo>>(bytes); break;
    case 6: read_as<Reply<Verdict>>(bytes); break;
    case 7: read_as<Reply<FinalizeReport>>(bytes); break;
    case 8: read_as<Reply<ExecuteReport>>(bytes); break;
    case 9: read_as<Reply<BinaryInfo>>(bytes); break;
  }
  return 0;
}
