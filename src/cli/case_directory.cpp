#include "cli/case_directory.h"

#include <system_error>

#include "cli/output.h"
#include "report/json_object.h"
#include "report/replay.h"
#include "tensor/npy.h"

namespace qnndbg::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSchema = "qnn-debug/case/1";
constexpr const char* kModel = "model.mnn";
constexpr const char* kInputs = "inputs.json";
constexpr const char* kReplay = "replay.json";

Json element_type(const Tensor& tensor) { return name_of(tensor.type()); }

/// The elements as they lie in memory, which is little-endian wherever this program runs.
std::string_view raw_bytes(const Tensor& tensor) {
  return tensor.type() == DType::i32
             ? std::string_view(reinterpret_cast<const char*>(tensor.i32().data()), tensor.i32().size_bytes())
             : std::string_view(reinterpret_cast<const char*>(tensor.f32().data()), tensor.f32().size_bytes());
}

class CaseWriter {
 public:
  CaseWriter(fs::path path, const DeepReplay& replay)
      : path_(std::move(path)), replay_(replay), case_(*replay.extracted) {}

  Result<void> write() {
    return write_index(/*complete=*/false)
        .and_then([&] { return write_file(path_ / kModel, model_bytes()); })
        .and_then([&] { return write_inputs(); })
        .and_then([&] { return write_outputs(); })
        .and_then([&] { return write_stages(); })
        .and_then([&] { return write_file(path_ / kReplay, replay_json(replay_)); })
        .and_then([&] { return write_index(/*complete=*/true); });
  }

 private:
  std::string_view model_bytes() const {
    return {reinterpret_cast<const char*>(case_.model.bytes.data()), case_.model.bytes.size()};
  }

  Result<void> write_inputs() {
    Json listed = Json::array();
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      const CutTensor& cut = case_.model.inputs[i];
      const Tensor& value = case_.inputs[i];
      const std::string file = cut.name + ".raw";
      if (auto written = write_file(path_ / file, raw_bytes(value)); !written) return written;
      listed.push_back(
          Json{{"name", cut.name}, {"dims", value.dims()}, {"dtype", element_type(value)}, {"file", file}});
      inputs_.push_back(row_of(cut, value, replay_.inputs[cut.position]));
      inputs_.back()["file"] = file;
    }
    Json names = Json::array();
    for (const CutTensor& output : case_.model.outputs) names.push_back(output.name);
    return write_file(path_ / kInputs, dump_json(Json{{"inputs", std::move(listed)}, {"outputs", std::move(names)}}));
  }

  Result<void> write_outputs() {
    for (std::size_t k = 0; k < case_.replay.size(); ++k) {
      const CutTensor& cut = case_.model.outputs[k];
      Json row = row_of(cut, case_.replay[k], replay_.outputs[cut.position]);
      row["device"] = nullptr;
      if (case_.device[k]) {
        if (auto written = write_array(row, "device", cut.name + "_device.npy", *case_.device[k]); !written)
          return written;
      }
      if (auto written = write_array(row, "replay", cut.name + "_replay.npy", case_.replay[k]); !written)
        return written;
      outputs_.push_back(std::move(row));
    }
    return {};
  }

  Result<void> write_stages() {
    for (std::size_t s = 0; s < case_.stages.size(); ++s) {
      const CaseStage& stage = case_.stages[s];
      Json row{{"dump_tensor", stage.dump_tensor}, {"dims", stage.device.dims()}};
      const std::string name = fmt::format("stage{}", s);
      if (auto written = write_array(row, "device", name + "_device.npy", stage.device); !written) return written;
      if (auto written = write_array(row, "replay", name + "_replay.npy", stage.reference); !written) return written;
      stages_.push_back(std::move(row));
    }
    return {};
  }

  Result<void> write_array(Json& row, const char* key, const std::string& file, const Tensor& value) const {
    row[key] = file;
    return write_npy(path_ / file, value);
  }

  static Json row_of(const CutTensor& cut, const Tensor& value, const ReplayTensor& origin) {
    return Json{{"name", cut.name},
                {"tensor", tensor_id(cut.tensor)},
                {"origin", tensor_id(cut.origin)},
                {"origin_name", text_or_null(origin.name)},
                {"dump_tensor", text_or_null(origin.dump_tensor)},
                {"dims", value.dims()},
                {"device_layout", text_or_null(origin.layout)},
                {"dtype", element_type(value)}};
  }

  Result<void> write_index(bool complete) const {
    return write_file(path_ / "index.json",
                      dump_json(Json{{"schema", kSchema},
                                     {"complete", complete},
                                     {"program", "qnn-debug " QNNDBG_VERSION},
                                     {"origin", model_json(replay_.model)},
                                     {"run", run_json(replay_.run)},
                                     {"op_index", replay_.op_index},
                                     {"op", replay_.op},
                                     {"op_type", replay_.op_type},
                                     {"status", name_of(replay_.status)},
                                     {"cause", replay_.cause ? Json(replay_.cause->cause) : Json(nullptr)},
                                     {"model", kModel},
                                     {"inputs_file", kInputs},
                                     {"replay_file", kReplay},
                                     {"constants_rounded", case_.model.rounded},
                                     {"inputs", inputs_},
                                     {"outputs", outputs_},
                                     {"stages", stages_}}));
  }

  fs::path path_;
  const DeepReplay& replay_;
  const OperatorCase& case_;
  Json inputs_ = Json::array();
  Json outputs_ = Json::array();
  Json stages_ = Json::array();
};

}  // namespace

Result<void> check_case_directory(const fs::path& path, bool force) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  if (!fs::is_directory(path, error)) return fail("{}: is not a directory", path.string());
  const bool empty = fs::is_empty(path, error);
  if (error) return fail("{}: cannot be read: {}", path.string(), error.message());
  if (!empty && !force)
    return fail("{}: is not empty; name another directory, or use --force to write into it", path.string());
  return {};
}

Result<void> write_case(const fs::path& path, const DeepReplay& replay) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return fail("{}: cannot be created: {}", path.string(), error.message());
  return CaseWriter(path, replay).write();
}

}  // namespace qnndbg::cli
