// What both ends of a worker agree on besides the messages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace qnndbg::qnn {

// Descriptors that a worker finds open.
inline constexpr int kWorkerSocket = 3;
inline constexpr int kWorkerMarker = 4;

/// In memory that both share: what the worker was doing when it died. The tool reads the texts only after the process
/// is gone, the counters at any time.
struct Marker {
  std::atomic<std::uint64_t> done;
  std::atomic<std::uint64_t> total;
  std::array<char, 64> function;
  std::array<char, 512> about;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not work across processes");

/// Cuts what is too long.
template <std::size_t kSize>
void put_text(std::array<char, kSize>& to, std::string_view text) {
  const std::size_t length = text.copy(to.data(), kSize - 1);
  to[length] = '\0';
}

template <std::size_t kSize>
std::string get_text(const std::array<char, kSize>& from) {
  const std::string_view all(from.data(), kSize);
  return std::string(all.substr(0, all.find('\0')));
}

}  // namespace qnndbg::qnn
