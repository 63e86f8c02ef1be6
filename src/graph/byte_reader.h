// Bounds-checked little-endian reading, and streams of narrow numbers with the most significant bit first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace qnndbg {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::size_t left() const { return rest_.size(); }

  /// The next `count` bytes; nullopt when fewer are left.
  std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  /// The next number of type T (little-endian, as are all hosts that this program runs on).
  template <class T>
  std::optional<T> number() {
    const auto bytes = take(sizeof(T));
    if (!bytes) return std::nullopt;
    T value;
    std::memcpy(&value, bytes->data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> rest_;
};

/// Numbers of `bits` bits (0 to 8) packed without gaps, the most significant bit first.
class PackedNumbers {
 public:
  /// Bytes that `count` numbers fill; the last byte is padded.
  static std::uint64_t bytes_for(std::uint64_t count, unsigned bits) { return (count * bits + 7) / 8; }

  /// Precondition: bits <= 8.
  PackedNumbers(std::span<const std::byte> bytes, unsigned bits) : bytes_(bytes), bits_(bits) {}

  /// Number `i`. Precondition: bytes_for(i + 1, bits) bytes were given.
  unsigned operator[](std::uint64_t i) const {
    const std::uint64_t bit = i * bits_;
    const std::size_t at = static_cast<std::size_t>(bit / 8);
    const unsigned skip = static_cast<unsigned>(bit % 8);
    if (bits_ == 0) return 0;
    unsigned window = std::to_integer<unsigned>(bytes_[at]) << 8;
    if (skip + bits_ > 8) window |= std::to_integer<unsigned>(bytes_[at + 1]);
    return (window >> (16 - skip - bits_)) & ((1U << bits_) - 1);
  }

 private:
  std::span<const std::byte> bytes_;
  unsigned bits_;
};

}  // namespace qnndbg
