// The ABI, judged by a library that reads the structures by its own offsets (fake_qnn.cpp), and what Library::open
// refuses.
#include "qnn/library.h"

#include <gmock/gmock.h>

#include "dump/temp_dir.h"
#include "graphs.h"
#include "qnn/session.h"

namespace qnndbg::qnn {
namespace {

using testing::HasSubstr;

std::string open_error(const std::string& path) {
  const CallResult<Library> library = Library::open(path);
  return library ? "opened" : library.error().message;
}

TEST(Library, TellsItsVersions) {
  const FakeBehaviour fake("core=2.40,htp=5.51");
  const CallResult<Library> library = Library::open(fake_library());
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(library->info().build_id, "v2.99.0.260101000000");
  EXPECT_EQ(library->info().core_api, "2.40.0");
  EXPECT_EQ(library->info().backend_api, "5.51.0");
  EXPECT_EQ(library->info().provider, "FAKE");
  EXPECT_TRUE(library->info().api_checked);
}

TEST(Library, VersionsWithoutAKnownLayoutAreRefused) {
  for (const char* version : {"1.9", "3.0", "2.6", "2.8", "2.9"}) {
    const FakeBehaviour fake(std::string("core=") + version);
    EXPECT_THAT(open_error(fake_library()), HasSubstr(std::string("core API ") + version)) << version;
  }
  const FakeBehaviour fake("core=2.30");
  const CallResult<Library> library = Library::open(fake_library());
  ASSERT_TRUE(library);
  EXPECT_FALSE(library->info().api_checked);
}

TEST(Library, SaysWhatIsWrongWithAFile) {
  const TempDir directory;
  EXPECT_THAT(open_error((directory.path() / "libQnnHtp.so").string()), HasSubstr("there is no such file"));
  EXPECT_THAT(open_error(directory.write("text.so", "hello, this is a text and no library at all, is it?").string()),
              HasSubstr("is not an ELF file"));
  EXPECT_THAT(open_error(directory.write("empty.so", "").string()), HasSubstr("is empty"));
  EXPECT_THAT(open_error(QNNDBG_PLAIN_LIBRARY),
              HasSubstr("not a QNN library: it has no function QnnInterface_getProv"));
}

TEST(Library, RefusesAnotherMachine) {
  const TempDir directory;
  std::string header(64, '\0');
  header.replace(0, 7, std::string("\x7f\x45\x4c\x46\x02\x01\x01", 7));
  header[18] = static_cast<char>(183);  // aarch64
#if defined(__aarch64__)
  header[18] = 62;
#endif
  EXPECT_THAT(open_error(directory.write("libQnnHtp.so", header).string()), HasSubstr("a library for "));
}

TEST(Library, RefusesOtherBackendsAndNoProviderAndMissingFunctions) {
  {
    const FakeBehaviour fake("backend=3");
    EXPECT_THAT(open_error(fake_library()), HasSubstr("another backend (FAKE, number 3)"));
  }
  {
    const FakeBehaviour fake("providers=0");
    EXPECT_THAT(open_error(fake_library()), HasSubstr("offers no provider"));
  }
  const FakeBehaviour fake("null=graphFinalize");
  EXPECT_THAT(open_error(fake_library()), HasSubstr("has no function graphFinalize"));
}

std::string only_line(const std::vector<LogLine>& log) { return log.size() == 1 ? message_of(log[0]) : log_text(log); }

const std::vector<std::uint32_t> kPerm = {1, 0};

/// A node with all that nodes have.
struct Everything {
  Everything() {
    TensorSpec perm = tensor("perm_PARAM", TensorKind::static_data, DType::u32, {2});
    perm.data = view_of(kPerm);
    node.params = {{"perm", perm},
                   {"flag", ScalarSpec(true)},
                   {"axis", ScalarSpec(std::int32_t{-3})},
                   {"count", ScalarSpec(std::uint32_t{4000000000U})},
                   {"alpha", ScalarSpec(0.25F)}};
    TensorSpec quantized = tensor("q", TensorKind::native, DType::ufixed16, {3, 4});
    quantized.quantization = {.kind = QuantizationSpec::Kind::tensor, .scales = {0.5F}, .offsets = {-7}};
    TensorSpec per_axis = tensor("a", TensorKind::native, DType::sfixed8, {3, 2});
    per_axis.quantization = {
        .kind = QuantizationSpec::Kind::axis, .axis = 1, .scales = {0.5F, 0.125F}, .offsets = {0, 3}};
    TensorSpec narrow = per_axis;
    narrow.name = "n";
    narrow.quantization.bitwidth = 4;
    TensorSpec narrow_tensor = quantized;
    narrow_tensor.name = "nt";
    narrow_tensor.quantization.bitwidth = 12;
    TensorSpec blocks = tensor("b", TensorKind::native, DType::sfixed8, {4, 1});
    blocks.quantization = {.kind = QuantizationSpec::Kind::blockwise,
                           .axis = 1,
                           .scales = {0.75F},
                           .blocks_per_slice = 2,
                           .block_scale_bits = 4,
                           .block_scales = {9, 11}};
    tensors = {
        tensor("x", TensorKind::app_write, DType::f16, {1, 2, 3}), quantized, per_axis, narrow, narrow_tensor, blocks,
        tensor("y", TensorKind::app_read, DType::f32, {})};
  }

  NodeSpec node{.name = "n0", .type = "Everything", .inputs = {"x", "q", "a", "n", "nt", "b"}, .outputs = {"y", "x"}};
  std::vector<TensorSpec> tensors;
};

std::string understood(const std::string& behaviour) {
  const FakeBehaviour fake(behaviour);
  const Everything all;
  const CallResult<std::unique_ptr<Session>> session = Session::open({.library = fake_library(), .target = {57, 75}});
  if (!session) return session.error().message;
  const CallResult<Verdict> verdict = (*session)->validate(all.node, all.tensors);
  return verdict ? only_line(verdict->log) : verdict.error().message;
}

TEST(Abi, ALibraryUnderstandsEveryFieldInBothLayouts) {
  const std::string wanted =
      "qti.aisw::Everything n0"
      " | perm=[perm_PARAM#0 v1 kind=4 type=0x132 2 bytes=8 first=1] | flag=bool:1 | axis=i32:-3"
      " | count=u32:4000000000 | alpha=f32:0.25"
      " | in x#0 v1 kind=0 type=0x216 1x2x3 | in q#0 v1 kind=3 type=0x416 3x4 q=0.5-7"
      " | in a#0 v1 kind=3 type=0x308 3x2 axis=1 n=2 last=0.125+3"
      " | in n#0 v1 kind=3 type=0x308 3x2 bits=4 axis=1 n=2 last=0.125+3"
      " | in nt#0 v1 kind=3 type=0x416 3x4 bits=12 q=0.5-7"
      " | in b#0 v1 kind=3 type=0x308 4x1 blocks axis=1 per=2 bits=4 storage=0 first=0.75 factor=11"
      " | out y#0 v1 kind=1 type=0x232  | out x#0 v1 kind=0 type=0x216 1x2x3";
  EXPECT_EQ(understood("core=2.40"), wanted);
  EXPECT_EQ(understood("core=2.23"), wanted);
  EXPECT_EQ(understood("core=2.10"), wanted);
  EXPECT_EQ(understood("core=2.7,htp=5.13"), wanted);
}

std::string device_line(const std::string& behaviour) {
  const FakeBehaviour fake(behaviour);
  take_log();
  const CallResult<Library> library = Library::open(fake_library());
  const CallResult<Owned<abi::LogHandle>> log = library->create_log(abi::LogLevel::error);
  const CallResult<Owned<abi::DeviceHandle>> device = library->create_device(log->get(), 57, 75);
  return device ? only_line(take_log().lines) : device.error().message;
}

TEST(Abi, SocAndArchitectureArriveWhereverTheUnionIs) {
  EXPECT_EQ(device_line("core=2.23,htp=5.30"), "device soc=57 arch=75");
  EXPECT_EQ(device_line("core=2.40,htp=5.51"), "device soc=57 arch=75");
  // Between them nobody knows where the union is: the SoC, which arrives anyway, decides the architecture.
  EXPECT_EQ(device_line("core=2.35,htp=5.40"), "device soc=57 arch=68");
}

TEST(Abi, GraphOptionsArrive) {
  const FakeBehaviour fake("core=2.40");
  const CallResult<std::unique_ptr<Session>> session = Session::open({.library = fake_library(), .target = {57, 75}});
  ASSERT_TRUE(session);
  const FinalizeOptions options{.config = {.precision = GraphPrecision::float16, .optimization_level = 3}};
  const CallResult<FinalizeReport> report = (*session)->finalize(relu_graph(), options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(log_text(report->log), HasSubstr("graph g precision=1 optimization=3:3"));
  EXPECT_THAT(log_text(report->log), HasSubstr("in x#1 v1 kind=0 type=0x216 1x2 | out y#2 v1 kind=1"));
}

TEST(Session, AProcessFinalizesForOneSocOnly) {
  const FakeBehaviour fake("core=2.40");
  {
    const CallResult<std::unique_ptr<Session>> session = Session::open({.library = fake_library(), .target = {57, 75}});
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->finalize(relu_graph(), {}));
  }
  const CallResult<std::unique_ptr<Session>> other = Session::open({.library = fake_library(), .target = {69, 79}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().failure, Failure::bad_request);
}

TEST(Session, WithoutASocNothingIsFinalized) {
  const FakeBehaviour fake("core=2.40");
  const CallResult<std::unique_ptr<Session>> session = Session::open({.library = fake_library()});
  ASSERT_TRUE(session) << session.error().message;
  const GraphSpec graph = relu_graph();
  EXPECT_TRUE((*session)->validate(graph.nodes[0], graph.tensors)->accepted);
  EXPECT_EQ((*session)->finalize(graph, {}).error().message, "a session without a SoC cannot finalize a graph");
}

TEST(Session, ARefusedSocIsAnError) {
  const FakeBehaviour fake("core=2.40,soc=20");
  const CallResult<std::unique_ptr<Session>> session = Session::open({.library = fake_library(), .target = {57, 75}});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, 14001U);
  EXPECT_EQ(session.error().function, "deviceCreate");
  EXPECT_THAT(session.error().message, HasSubstr("14001 = 0x36b1 QNN_DEVICE_ERROR_INVALID_CONFIG"));
}

TEST(Target, IsWhatAUserTypes) {
  EXPECT_EQ(target_from("57", "").value(), (Target{57, 75}));
  EXPECT_EQ(target_from("8 Gen 3", "").value(), (Target{57, 75}));
  EXPECT_EQ(target_from("", "v79").value(), (Target{69, 79}));
  EXPECT_EQ(target_from("", "").value(), Target{});
  EXPECT_THAT(target_from("nothing", "").error().message, HasSubstr("is no SoC"));
  EXPECT_THAT(target_from("SM8250", "").error().message, HasSubstr("v66, which is no HTP"));
  EXPECT_THAT(target_from("", "v66").error().message, HasSubstr("no SoC with v66"));
}

}  // namespace
}  // namespace qnndbg::qnn
