// A worker with an open session that comes back after a crash: whoever asks many questions asks the rest of them again.
#pragma once

#include <optional>

#include "qnn/worker.h"

namespace qnndbg::qnn {

class Engine {
 public:
  /// Starts a worker and opens the library in it.
  static CallResult<Engine> open(WorkerOptions worker, SessionOptions session);

  const SessionInfo& info() const { return info_; }
  Worker& worker() { return worker_; }

  /// After a call that ended the worker: starts another one. Errors: as open().
  CallResult<void> restart_if_gone();

 private:
  Engine(WorkerOptions worker_options, SessionOptions session, Worker worker, SessionInfo info);

  WorkerOptions worker_options_;
  SessionOptions session_;
  Worker worker_;
  SessionInfo info_;
};

}  // namespace qnndbg::qnn
