#include "qnn/worker.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "dump/temp_dir.h"
#include "graphs.h"

namespace qnndbg::qnn {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const std::vector<std::uint16_t> kInput = {0x0102, 0x0304};

CallResult<Worker> opened_worker(WorkerOptions options = {}) {
  CallResult<Worker> worker = Worker::start(std::move(options));
  if (!worker) return worker;
  const CallResult<SessionInfo> info = worker->open({.library = fake_library(), .target = {57, 75}});
  if (!info) return fail(info.error());
  return worker;
}

TEST(Worker, ValidatesFinalizesAndExecutes) {
  const FakeBehaviour fake("core=2.40");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker) << worker.error().message;
  const GraphSpec graph = relu_graph();
  const CallResult<Verdict> verdict = worker->validate(graph.nodes[0], graph.tensors);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->accepted);
  const CallResult<FinalizeReport> ready = worker->finalize(graph, {.profiling = Profiling::detailed});
  ASSERT_TRUE(ready) << ready.error().message;
  ASSERT_EQ(ready->profile.size(), 2U);
  EXPECT_EQ(ready->profile[1].value, 2000U);
  ASSERT_EQ(ready->profile[1].children.size(), 1U);
  EXPECT_EQ(ready->profile[1].children[0].name, "relu:OpId_1 (cycles)");
  const std::vector<NamedData> inputs = {{"x", view_of(kInput)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->outputs.size(), 1U);
  EXPECT_EQ(run->outputs[0].name, "y");
  EXPECT_EQ(values_of<std::uint16_t>(run->outputs[0].data), kInput);
  const CallResult<Bytes> binary = worker->context_binary();
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->size(), 5U);
}

TEST(Worker, OperationsAndSocsAreListed) {
  const FakeBehaviour fake("core=2.40,soc=60");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker) << worker.error().message;
  const CallResult<std::vector<OperationId>> operations = worker->operations();
  ASSERT_TRUE(operations);
  EXPECT_EQ(*operations, (std::vector<OperationId>{{"qti.aisw", "Conv2d"}, {"qti.aisw", "Relu"}}));
  const CallResult<std::vector<KnownSoc>> socs = worker->known_socs();
  ASSERT_TRUE(socs) << socs.error().message;
  EXPECT_THAT(*socs, testing::Contains(KnownSoc{57, "SM8650", 75}));
  EXPECT_THAT(*socs, testing::Contains(KnownSoc{43, "SM8550", 73}));
  EXPECT_THAT(*socs, testing::Each(testing::Field(&KnownSoc::arch, testing::Ge(68))));
}

TEST(Worker, ARefusalCarriesCodeAndLines) {
  const FakeBehaviour fake("core=2.40,refuse=Relu");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  const GraphSpec graph = relu_graph();
  const CallResult<Verdict> verdict = worker->validate(graph.nodes[0], graph.tensors);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->accepted);
  EXPECT_EQ(verdict->code, 3110U);
  EXPECT_THAT(log_text(verdict->log), HasSubstr("qti.aisw::Relu relu"));
  const CallResult<FinalizeReport> refused = worker->finalize(graph, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().failure, Failure::refused);
  EXPECT_EQ(refused.error().code, 6005U);
  EXPECT_EQ(refused.error().node, "relu");
  const CallResult<FinalizeReport> skipped = worker->finalize(graph, {.validate_nodes = true, .skip_refused = true});
  ASSERT_TRUE(skipped) << skipped.error().message;
  ASSERT_EQ(skipped->refused.size(), 2U);
  EXPECT_EQ(skipped->refused[0].function, "backendValidateOpConfig");
  EXPECT_EQ(skipped->refused[1].function, "graphAddNode");
  EXPECT_TRUE(worker->alive());
}

TEST(Worker, ACrashNamesTheNode) {
  const FakeBehaviour fake("core=2.40,crash=graphAddNode");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  const CallResult<FinalizeReport> report = worker->finalize(relu_graph(), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().failure, Failure::crashed);
  EXPECT_EQ(report.error().signal, SIGSEGV);
  EXPECT_EQ(report.error().function, "graphAddNode");
  EXPECT_EQ(report.error().node, "relu");
  EXPECT_EQ(report.error().message, "the library crashed (SIGSEGV) in graphAddNode of `relu`");
  EXPECT_FALSE(worker->alive());
  EXPECT_FALSE(worker->finalize(relu_graph(), {}));
}

TEST(Worker, ALibraryThatEndsTheProcessIsACrash) {
  const FakeBehaviour fake("core=2.40,exit=QnnInterface_getProviders");
  const CallResult<Worker> worker = opened_worker();
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().failure, Failure::crashed);
  EXPECT_EQ(worker.error().exit_status, 3);
  EXPECT_THAT(worker.error().message, HasSubstr("in loading the library of `"));
}

TEST(Worker, AHangEndsAtTheLimit) {
  const FakeBehaviour fake("core=2.40,hang=graphFinalize");
  CallResult<Worker> worker = opened_worker({.limits = {.finalize = milliseconds(300)}});
  ASSERT_TRUE(worker);
  const pid_t process = worker->process();
  const CallResult<FinalizeReport> report = worker->finalize(relu_graph(), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().failure, Failure::timed_out);
  EXPECT_EQ(report.error().message, "the library did not answer within 0.3 s in graphFinalize of `g`");
  EXPECT_EQ(::kill(process, 0), -1);  // gone, and waited for
}

TEST(Worker, TheCallerCanStopACall) {
  const FakeBehaviour fake("core=2.40,hang=graphExecute");
  bool stop = false;
  CallResult<Worker> worker = opened_worker({.keep_going = [&stop](const CallProgress&) { return !stop; }});
  ASSERT_TRUE(worker);
  ASSERT_TRUE(worker->finalize(relu_graph(), {}));
  stop = true;
  const std::vector<NamedData> inputs = {{"x", view_of(kInput)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().failure, Failure::stopped);
  EXPECT_FALSE(worker->alive());
}

TEST(Worker, KillNineIsACrash) {
  const FakeBehaviour fake("core=2.40,hang=graphFinalize");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  std::thread killer([process = worker->process()] {
    std::this_thread::sleep_for(milliseconds(200));
    ::kill(process, SIGKILL);
  });
  const CallResult<FinalizeReport> report = worker->finalize(relu_graph(), {});
  killer.join();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().signal, SIGKILL);
  EXPECT_EQ(report.error().function, "graphFinalize");
}

TEST(Worker, AProcessThatDiedBetweenCallsIsACrash) {
  const FakeBehaviour fake("core=2.40");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  ::kill(worker->process(), SIGKILL);
  const CallResult<std::vector<OperationId>> operations = worker->operations();
  ASSERT_FALSE(operations);
  EXPECT_EQ(operations.error().failure, Failure::crashed);
  EXPECT_EQ(operations.error().signal, SIGKILL);
}

TEST(Worker, WhatTheLibraryPrintsComesWithTheError) {
  const FakeBehaviour fake("core=2.40,print=graphFinalize,refuse=finalize");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  const CallResult<FinalizeReport> report = worker->finalize(relu_graph(), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, 1002U);
  EXPECT_THAT(report.error().output, HasSubstr("words of the library\n"));
}

TEST(Worker, WrongInputsAreNotHandedToTheLibrary) {
  const FakeBehaviour fake("core=2.40,crash=graphExecute");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->execute({}, Profiling::off).error().failure, Failure::bad_request);
  ASSERT_TRUE(worker->finalize(relu_graph(), {}));
  EXPECT_EQ(worker->execute({}, Profiling::off).error().message, "no values for input `x` of the graph");
  const std::vector<std::uint16_t> short_input = {1};
  const std::vector<NamedData> inputs = {{"x", view_of(short_input)}};
  EXPECT_EQ(worker->execute(inputs, Profiling::off).error().message, "input `x` needs 4 bytes and has 2");
  EXPECT_TRUE(worker->alive());
}

TEST(Worker, LargeTensorsGoThroughWhole) {
  const FakeBehaviour fake("core=2.40");
  CallResult<Worker> worker = opened_worker();
  ASSERT_TRUE(worker);
  GraphSpec graph = relu_graph();
  for (TensorSpec& tensor : graph.tensors) tensor.dims = {8, 1024, 1024};
  ASSERT_TRUE(worker->finalize(graph, {}));
  std::vector<std::uint16_t> values(8 * 1024 * 1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i * 7);
  const std::vector<NamedData> inputs = {{"x", view_of(values)}};
  const CallResult<ExecuteReport> run = worker->execute(inputs, Profiling::off);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(values_of<std::uint16_t>(run->outputs.at(0).data), values);
}

TEST(Worker, AProgramThatIsNoneIsAnError) {
  const CallResult<Worker> worker = Worker::start({.program = "/nonexistent/program"});
  ASSERT_FALSE(worker);
  EXPECT_THAT(worker.error().message, HasSubstr("cannot be started"));
  CallResult<Worker> other = Worker::start({.program = "/bin/true"});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->operations().error().failure, Failure::crashed);
}

TEST(Worker, TheNewestSocIsOneThatTheLibraryComputesFor) {
  {
    const FakeBehaviour fake("core=2.40,soc=70");
    const CallResult<Target> target = newest_target(fake_library(), {});
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_EQ(*target, (Target{.soc = 69, .arch = 79}));
  }
  {
    const FakeBehaviour fake("core=2.40,refuse=finalize");
    EXPECT_THAT(newest_target(fake_library(), {}).error().message,
                HasSubstr("computes for no SoC: graphFinalize failed"));
  }
  const FakeBehaviour fake("core=2.40,crash=graphFinalize");
  EXPECT_EQ(newest_target(fake_library(), {}).error().failure, Failure::crashed);
}

TEST(Worker, NonsenseFromTheOtherEndEndsTheWorker) {
  const TempDir directory;
  const std::filesystem::path program =
      directory.write("nonsense", "#!/bin/sh\nprintf 'QNDW and no message' >&3\nexec sleep 60\n");
  ::chmod(program.c_str(), 0755);
  CallResult<Worker> worker = Worker::start({.program = program.string()});
  ASSERT_TRUE(worker) << worker.error().message;
  const CallResult<std::vector<OperationId>> operations = worker->operations();
  ASSERT_FALSE(operations);
  EXPECT_EQ(operations.error().failure, Failure::protocol);
  EXPECT_THAT(operations.error().message, HasSubstr("that are no message"));
  EXPECT_FALSE(worker->alive());
}

Bytes bytes_of(std::string_view text) {
  const ByteView view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

TEST(Worker, ReadsContextBinariesOfAllVersions) {
  for (const char* version : {"1", "2", "3"}) {
    const FakeBehaviour fake(std::string("description=") + version);
    CallResult<Worker> worker = Worker::start({});
    ASSERT_TRUE(worker);
    const CallResult<BinaryInfo> info = worker->read_binary(fake_library(), bytes_of("QNNB and more"));
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->build_id, "v2.51.0");
    EXPECT_EQ(info->core_api, "2.40.0");
    EXPECT_EQ(info->backend_api, "5.51.0");
    EXPECT_EQ(info->soc_version, "soc words");
    EXPECT_EQ(info->soc, *version == '3' ? 69 : 0);
    EXPECT_EQ(info->arch, *version == '3' ? 79 : 0);
    ASSERT_EQ(info->graphs.size(), 2U);
    EXPECT_EQ(info->graphs[1].name, "h");
    ASSERT_EQ(info->graphs[1].outputs.size(), 2U);
    const BinaryTensor& last = info->graphs[1].outputs[1];
    EXPECT_EQ(last.name, "z");
    EXPECT_EQ(last.type, 0x416U);
    EXPECT_EQ(last.dims, (std::vector<std::uint32_t>{2, 5}));
    EXPECT_EQ(last.quantization.scales, std::vector<float>{0.5F});
    EXPECT_EQ(last.quantization.offsets, std::vector<std::int32_t>{-2});
  }
}

TEST(Worker, RefusesWhatIsNoContextBinary) {
  const FakeBehaviour fake("core=2.40");
  CallResult<Worker> worker = Worker::start({});
  ASSERT_TRUE(worker);
  const CallResult<BinaryInfo> info = worker->read_binary(fake_library(), bytes_of("something else"));
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, 30010U);
}

}  // namespace
}  // namespace qnndbg::qnn
