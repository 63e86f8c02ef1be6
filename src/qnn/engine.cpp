#include "qnn/engine.h"

namespace qnndbg::qnn {

Engine::Engine(WorkerOptions worker_options, SessionOptions session, Worker worker, SessionInfo info)
    : worker_options_(std::move(worker_options)),
      session_(std::move(session)),
      worker_(std::move(worker)),
      info_(std::move(info)) {}

CallResult<Engine> Engine::open(WorkerOptions worker_options, SessionOptions session) {
  CallResult<Worker> worker = Worker::start(worker_options);
  if (!worker) return fail(std::move(worker.error()));
  CallResult<SessionInfo> info = worker->open(session);
  if (!info) return fail(std::move(info.error()));
  // A target that the library chose stays the same in every later worker.
  session.target = info->target;
  return Engine(std::move(worker_options), std::move(session), std::move(*worker), std::move(*info));
}

CallResult<void> Engine::restart_if_gone() {
  if (worker_.alive()) return {};
  CallResult<Worker> worker = Worker::start(worker_options_);
  if (!worker) return fail(std::move(worker.error()));
  CallResult<SessionInfo> info = worker->open(session_);
  if (!info) return fail(std::move(info.error()));
  worker_ = std::move(*worker);
  return {};
}

}  // namespace qnndbg::qnn
