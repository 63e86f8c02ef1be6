# Embeds a data file: generates <variable>_data.cpp that defines `extern const std::string_view <variable>` in namespace
# qnndbg::embedded. The bytes go in as numbers, so that no quoting rule can change them.
function(qnndbg_embed target file variable)
  set(source ${PROJECT_SOURCE_DIR}/${file})
  set(generated ${PROJECT_BINARY_DIR}/generated/embedded/${variable}.cpp)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  file(CONFIGURE OUTPUT ${generated} CONTENT "#include <string_view>
namespace qnndbg::embedded {
static const char kBytes[] = {@bytes@ 0};
extern const std::string_view @variable@;
const std::string_view @variable@{kBytes, sizeof(kBytes) - 1};
}
" @ONLY)
  target_sources(${target} PRIVATE ${generated})
endfunction()
