#include "qnn/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace qnndbg::qnn {
namespace {

struct Header {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t size;
};
static_assert(sizeof(Header) == 16);
constexpr std::uint32_t kMagic = 0x57444E51;  // "QNDW"

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

/// Room for one descriptor beside a header.
union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

/// The descriptor that came along; others are closed.
Descriptor received_descriptor(msghdr& message) {
  Descriptor first;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(control), sizeof number);
    Descriptor descriptor(number);
    if (!first) first = std::move(descriptor);
  }
  return first;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<SharedMemory> SharedMemory::create(std::size_t size) {
  Descriptor descriptor(::memfd_create("qnn-debug", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) return fail("no shared memory: {}", reason(errno));
  if (::ftruncate(descriptor.get(), static_cast<off_t>(size)) != 0)
    return fail("no shared memory of {} bytes: {}", size, reason(errno));
  return map(std::move(descriptor), size, /*writable=*/true);
}

Result<SharedMemory> SharedMemory::map(Descriptor descriptor, std::size_t size, bool writable) {
  // Whoever could still shrink it could end this process with SIGBUS.
  if (::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return fail("shared memory that cannot be sealed: {}", reason(errno));
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != size)
    return fail("shared memory of {} bytes instead of {}", status.st_size, size);
  if (size == 0) return SharedMemory(std::move(descriptor), nullptr, 0);
  void* const data =
      ::mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) return fail("{} bytes of shared memory cannot be mapped: {}", size, reason(errno));
  return SharedMemory(std::move(descriptor), static_cast<std::byte*>(data), size);
}

Result<void> send_message(int socket, std::uint32_t kind, const SharedMemory& body) {
  Header header{.magic = kMagic, .kind = kind, .size = body.bytes().size()};
  iovec part{.iov_base = &header, .iov_len = sizeof header};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = body.descriptor();
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A packet goes whole or not at all.
  if (sent != static_cast<ssize_t>(sizeof header)) return fail("a message cannot be sent: {}", reason(errno));
  return {};
}

Result<std::optional<Message>> receive_message(int socket) {
  Header header{};
  iovec part{.iov_base = &header, .iov_len = sizeof header};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  // A peer that died with a message of ours unread leaves ECONNRESET.
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return std::optional<Message>();
  if (got < 0) return fail("no message can be received: {}", reason(errno));
  Descriptor descriptor = received_descriptor(message);
  if (got != static_cast<ssize_t>(sizeof header) || header.magic != kMagic || !descriptor)
    return fail("{} bytes came that are no message", got);
  if (header.size > kLargestBody) return fail("a message of {} bytes is too large", header.size);
  // Writable: a reader of static data hands it to the library, whose pointers are not const.
  Result<SharedMemory> body = SharedMemory::map(std::move(descriptor), header.size, /*writable=*/true);
  if (!body) return fail(body.error());
  return Message{.kind = header.kind, .body = std::make_shared<SharedMemory>(std::move(*body))};
}

}  // namespace qnndbg::qnn
