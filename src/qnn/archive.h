// Plain data to bytes and back, for messages between the tool and its worker. One function `fields(archive, value)` per
// type says what it consists of, for both directions.
//
// Both ends are the same program on the same machine: numbers go as they lie in memory. The reader trusts nothing all
// the same, because a library that overwrote memory may have written what it reads: every count is checked against the
// bytes that are left, and a bad message fails as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "qnn/specs.h"

namespace qnndbg::qnn {

/// Static data begins at multiples of this, so that the library finds its numbers aligned.
inline constexpr std::size_t kDataAlignment = 64;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Writes into a buffer of the right size, or only counts when there is none.
class Writer {
 public:
  explicit Writer(std::byte* out = nullptr) : out_(out) {}

  static constexpr bool kReads = false;
  std::size_t size() const { return size_; }

  template <Number T>
  void operator()(const T& value) {
    put(&value, sizeof value);
  }
  void operator()(const std::string& text) {
    operator()(static_cast<std::uint64_t>(text.size()));
    put(text.data(), text.size());
  }
  void operator()(const ByteView& bytes) {
    operator()(static_cast<std::uint64_t>(bytes.size()));
    size_ = (size_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    put(bytes.data(), bytes.size());
  }
  void operator()(const Bytes& bytes) { operator()(ByteView(bytes)); }
  template <class T>
  void operator()(const std::vector<T>& values) {
    operator()(static_cast<std::uint64_t>(values.size()));
    if constexpr (Number<T>)
      put(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) operator()(value);
  }
  template <class... T>
  void operator()(const std::variant<T...>& value) {
    operator()(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& held) { (*this)(held); }, value);
  }
  template <class T>
    requires std::is_class_v<T>
  void operator()(const T& value) {
    fields(*this, const_cast<T&>(value));  // a writer changes nothing
  }

 private:
  void put(const void* from, std::size_t bytes) {
    if (out_ != nullptr && bytes > 0) std::memcpy(out_ + size_, from, bytes);
    size_ += bytes;
  }

  std::byte* out_;
  std::size_t size_ = 0;
};

class Reader {
 public:
  explicit Reader(ByteView from) : from_(from) {}

  static constexpr bool kReads = true;
  /// Everything was there, and nothing is left.
  bool complete() const { return good_ && at_ == from_.size(); }

  template <Number T>
  void operator()(T& value) {
    take(&value, sizeof value);
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    operator()(byte);
    value = byte != 0;
  }
  void operator()(std::string& text) {
    text.resize(count(1));
    take(text.data(), text.size());
  }
  /// A view into the message.
  void operator()(ByteView& bytes) {
    std::uint64_t size = 0;
    operator()(size);
    const std::size_t begin = (at_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    if (!good_ || begin > from_.size() || size > from_.size() - begin) {
      good_ = false;
      bytes = {};
      return;
    }
    bytes = from_.subspan(begin, size);
    at_ = begin + size;
  }
  void operator()(Bytes& bytes) {
    ByteView view;
    operator()(view);
    bytes.assign(view.begin(), view.end());
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    if constexpr (Number<T>) {
      values.resize(count(sizeof(T)));
      take(values.data(), values.size() * sizeof(T));
    } else {
      const std::size_t wanted = count(1);  // nothing takes less than a byte
      values.clear();
      // Not resized in one go: an element is larger in memory than in the message.
      for (std::size_t i = 0; i < wanted && good_; ++i) operator()(values.emplace_back());
    }
  }
  template <class... T>
  void operator()(std::variant<T...>& value) {
    std::uint8_t index = 0;
    operator()(index);
    if (index >= sizeof...(T)) good_ = false;
    if (good_) read_alternative<0>(index, value);
  }
  template <class T>
    requires std::is_class_v<T>
  void operator()(T& value) {
    // Events hold events: without a limit a message could nest them until the stack ends.
    if (++depth_ > kMostNesting) good_ = false;
    if (good_) fields(*this, value);
    --depth_;
  }

 private:
  static constexpr int kMostNesting = 32;

  std::size_t count(std::size_t bytes_each) {
    std::uint64_t number = 0;
    operator()(number);
    if (number > (from_.size() - at_) / bytes_each) good_ = false;
    return good_ ? static_cast<std::size_t>(number) : 0;
  }
  void take(void* to, std::size_t bytes) {
    if (!good_ || bytes > from_.size() - at_) {
      good_ = false;
      return;
    }
    if (bytes > 0) std::memcpy(to, from_.data() + at_, bytes);
    at_ += bytes;
  }
  template <std::size_t kIndex, class... T>
  void read_alternative(std::size_t index, std::variant<T...>& value) {
    if constexpr (kIndex < sizeof...(T)) {
      if (index == kIndex)
        operator()(value.template emplace<kIndex>());
      else
        read_alternative<kIndex + 1>(index, value);
    }
  }

  ByteView from_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool good_ = true;
};

}  // namespace qnndbg::qnn
