// The worker's end: requests in, calls into the library, replies out.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "qnn/channel.h"
#include "qnn/messages.h"
#include "qnn/worker.h"
#include "qnn/worker_process.h"

namespace qnndbg::qnn {
namespace {

class Server {
 public:
  explicit Server(SharedMemory marker)
      : memory_(std::move(marker)), marker_(reinterpret_cast<Marker*>(memory_.data())) {}

  void serve() {
    while (true) {
      const Result<std::optional<Message>> message = receive_message(kWorkerSocket);
      if (!message || !*message) return;
      if (!handle(**message)) return;
    }
  }

 private:
  /// False: the other end is gone, or talks nonsense.
  bool handle(const Message& message) {
    switch (static_cast<RequestKind>(message.kind)) {
      case RequestKind::open:
        return answer<SessionOptions>(message, [this](const SessionOptions& options) { return open(options); });
      case RequestKind::operations:
        return in_session<NoArguments>(message, [](Session& session, const auto&) { return session.operations(); });
      case RequestKind::known_socs:
        return in_session<NoArguments>(message, [](Session& session, const auto&) { return session.known_socs(); });
      case RequestKind::validate:
        return in_session<ValidateRequest>(message, [](Session& session, const ValidateRequest& request) {
          return session.validate(request.node, request.tensors);
        });
      case RequestKind::finalize:
        return in_session<FinalizeRequest>(message, [](Session& session, const FinalizeRequest& request) {
          return session.finalize(request.graph, request.options);
        });
      case RequestKind::execute:
        return in_session<ExecuteRequest>(message, [](Session& session, const ExecuteRequest& request) {
          return session.execute(request.inputs, request.profiling);
        });
      case RequestKind::context_binary:
        return in_session<NoArguments>(message, [](Session& session, const auto&) { return session.context_binary(); });
      case RequestKind::read_binary:
        return answer<ReadBinaryRequest>(message, [this](const ReadBinaryRequest& request) {
          mark("systemContextGetBinaryInfo", request.library, 0, 0);
          return read_context_binary(request.library, request.binary);
        });
    }
    return false;
  }

  CallResult<SessionInfo> open(const SessionOptions& options) {
    session_.reset();
    CallResult<std::unique_ptr<Session>> session =
        Session::open(options, [this](std::string_view function, std::string_view about, std::size_t done,
                                      std::size_t total) { mark(function, about, done, total); });
    if (!session) return fail(std::move(session.error()));
    session_ = std::move(*session);
    return session_->info();
  }

  template <class Request, class Call>
  bool in_session(const Message& message, Call call) {
    return answer<Request>(message, [&](const Request& request) -> decltype(call(*session_, request)) {
      if (session_ == nullptr) return fail(Failure::bad_request, "no session was opened");
      return call(*session_, request);
    });
  }

  template <class Request, class Call>
  bool answer(const Message& message, Call call) {
    const Result<Request> request = value_of<Request>(message);
    if (!request) return false;
    auto result = call(*request);
    Reply<typename decltype(result)::value_type> reply;
    reply.good = result.has_value();
    if (result)
      reply.value = std::move(*result);
    else
      reply.error = std::move(result.error());
    mark({}, {}, 0, 0);
    return send_value(kWorkerSocket, message.kind, reply).has_value();
  }

  void mark(std::string_view function, std::string_view about, std::size_t done, std::size_t total) {
    put_text(marker_->function, function);
    put_text(marker_->about, about);
    marker_->done = done;
    marker_->total = total;
  }

  SharedMemory memory_;
  Marker* marker_;
  std::unique_ptr<Session> session_;
};

bool is_socket(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

/// Ends this process when the tool is gone, even in the middle of a call that takes minutes.
void end_with_the_tool() {
  std::thread([] {
    pollfd event{.fd = kWorkerSocket, .events = 0, .revents = 0};
    while (::poll(&event, 1, -1) < 0 && errno == EINTR) continue;
    ::_exit(1);
  }).detach();
}

}  // namespace

bool serve_worker() {
  if (!is_socket(kWorkerSocket)) return false;
  Result<SharedMemory> marker = SharedMemory::map(Descriptor(kWorkerMarker), sizeof(Marker), /*writable=*/true);
  if (!marker) return false;
  // A core file of a process with the library in it has hundreds of MB.
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  end_with_the_tool();
  Server(std::move(*marker)).serve();
  // Without the destructors of the library's static objects, which nobody needs and which may hang.
  ::_exit(0);
}

}  // namespace qnndbg::qnn
