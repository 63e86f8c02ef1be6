#include "report/sha256.h"

#include <sodium.h>

#include <array>

namespace qnndbg {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::string text(2 * hash.size() + 1, '\0');  // the library ends it with a zero
  sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
  text.pop_back();
  return text;
}

}  // namespace qnndbg
