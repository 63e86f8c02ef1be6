// Messages between two processes of this program: a short header over a socket, and behind it the body in anonymous
// shared memory, so that large tensors are not squeezed through a pipe.
//
// The header is 16 bytes: "QNDW", a kind, and the size of the body, whose memory comes along as a file descriptor. The
// receiver seals that memory against shrinking before it maps it; nothing that the sender does later can pull it away.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "qnn/archive.h"
#include "tensor/result.h"

namespace qnndbg::qnn {

/// A body larger than this is refused unread.
inline constexpr std::uint64_t kLargestBody = std::uint64_t{64} << 30U;

/// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// Shared memory mapped into this process.
class SharedMemory {
 public:
  /// New, zeroed and writable.
  static Result<SharedMemory> create(std::size_t size);
  /// Of a descriptor that somebody sent. Errors: it is no such memory, or not of this size.
  static Result<SharedMemory> map(Descriptor descriptor, std::size_t size, bool writable);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  ByteView bytes() const { return {data_, size_}; }
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedMemory(Descriptor descriptor, std::byte* data, std::size_t size)
      : descriptor_(std::move(descriptor)), data_(data), size_(size) {}

  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Message {
  std::uint32_t kind = 0;
  std::shared_ptr<SharedMemory> body;
};

/// Sends a body that was made with SharedMemory::create.
Result<void> send_message(int socket, std::uint32_t kind, const SharedMemory& body);

template <class T>
Result<void> send_value(int socket, std::uint32_t kind, const T& value) {
  Writer counter;
  counter(value);
  Result<SharedMemory> body = SharedMemory::create(counter.size());
  if (!body) return tl::unexpected(std::move(body.error()));
  Writer writer(body->data());
  writer(value);
  return send_message(socket, kind, *body);
}

/// Waits for a message. nullopt: the other end was closed. Errors: something else than a message came.
Result<std::optional<Message>> receive_message(int socket);

/// The value of a message's body. Views in it point into the body. Errors: it is no such value.
template <class T>
Result<T> value_of(const Message& message) {
  T value{};
  Reader reader(message.body->bytes());
  reader(value);
  if (!reader.complete()) return fail("a message of {} bytes makes no sense", message.body->bytes().size());
  return value;
}

}  // namespace qnndbg::qnn
