// What `htp info` shows.
#pragma once

#include <string>
#include <vector>

#include "qnn/locate.h"
#include "qnn/session.h"
#include "report/style.h"

namespace qnndbg::cli {

struct HtpView {
  qnn::LibraryPlace place;
  qnn::SessionInfo info;
  bool default_target = false;
  std::vector<qnn::OperationId> operations;
  std::vector<qnn::KnownSoc> socs;
};

std::string htp_info_text(const HtpView& view, const TextStyle& style);

/// The document of schema/htp-info.schema.json.
std::string htp_info_json(const HtpView& view);

}  // namespace qnndbg::cli
