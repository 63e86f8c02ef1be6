#include "lint/python_packages.h"

#include "lint/made_up_files.h"

namespace qnndbg::lint {
namespace {

using PythonPackagesTest = LintTest;

TEST_F(PythonPackagesTest, ReadsNameVersionAndRequirements) {
  write("onnxruntime_qnn-2.7.0.dist-info/METADATA",
        "Metadata-Version: 2.1\r\nName: onnxruntime-qnn\r\nVersion: 2.7.0\r\nRequires-Dist: numpy>=1.21.6\r\n"
        "Requires-Dist: onnxruntime (>=1.24.2,<3)\r\nRequires-Dist: sympy; extra == \"symbolic\"\r\n\r\n"
        "Name: of the description\r\n");
  write("numpy-2.4.6.dist-info/METADATA", "Name: numpy\nVersion: 2.4.6\n\n");
  write("other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n");
  const std::vector<PythonPackage> packages = read_python_packages(root_, {"numpy", "onnxruntime-qnn"});
  ASSERT_EQ(packages.size(), 2U);
  EXPECT_EQ(packages[0].name, "numpy");
  EXPECT_EQ(packages[0].version, "2.4.6");
  EXPECT_EQ(packages[0].directory, root_.string());
  EXPECT_EQ(packages[1].version, "2.7.0");
  ASSERT_EQ(packages[1].requirements.size(), 2U);
  EXPECT_EQ(packages[1].requirements[0].name, "numpy");
  EXPECT_EQ(packages[1].requirements[0].versions, ">=1.21.6");
  EXPECT_EQ(packages[1].requirements[1].versions, ">=1.24.2,<3");
}

TEST_F(PythonPackagesTest, LeavesDamagedPackagesOut) {
  std::filesystem::create_directories(root_ / "numpy-1.dist-info");
  write("numpy-2.dist-info/METADATA", "Version: 2\n");
  write("numpy-3.dist-info/METADATA", "Name: numpy\n");
  write("numpy-4.dist-info/METADATA", std::string(1000000, 'x'));
  std::filesystem::create_directories(root_ / "numpy-5.dist-info/METADATA");
  std::filesystem::create_directories(root_ / "numpy-6.dist-info");
  std::filesystem::create_symlink("METADATA", root_ / "numpy-6.dist-info/METADATA");
  write("numpy-7.dist-info/METADATA", "Name: another\nVersion: 7\n");
  EXPECT_TRUE(read_python_packages(root_, {"numpy"}).empty());
  EXPECT_TRUE(read_python_packages(root_ / "missing", {"numpy"}).empty());
}

TEST(NormalizedPackage, FollowsPythonsRule) {
  EXPECT_EQ(normalized_package("onnxruntime_qnn"), "onnxruntime-qnn");
  EXPECT_EQ(normalized_package("MNN"), "mnn");
  EXPECT_EQ(normalized_package("a._-b"), "a-b");
}

TEST(Satisfies, ComparesNumbers) {
  EXPECT_TRUE(satisfies("1.32.0", ">=1.24.2"));
  EXPECT_FALSE(satisfies("1.9", ">=1.24.2"));
  EXPECT_TRUE(satisfies("1.24", ">=1.24.0"));
  EXPECT_TRUE(satisfies("1.24.0", "==1.24"));
  EXPECT_FALSE(satisfies("3.0", ">=1.24.2,<3"));
  EXPECT_FALSE(satisfies("2.0", "!=2"));
  EXPECT_FALSE(satisfies("2.0", "> 2"));
  EXPECT_TRUE(satisfies("2.0", "<=2"));
  EXPECT_TRUE(satisfies("2.0rc1", ">=2"));
  EXPECT_TRUE(satisfies("7", ""));
}

TEST(Satisfies, UnknownConditionsHold) {
  EXPECT_TRUE(satisfies("1.0", "~=2.0"));
  EXPECT_TRUE(satisfies("1.0", "==2.*"));
  EXPECT_TRUE(satisfies("1.0", "nonsense"));
}

}  // namespace
}  // namespace qnndbg::lint
