# The page of the HTML report. web/build.mjs bundles it with Node.js into build/web, once for all build directories, and gives
# it to each as a C++ string; npm installs the packages into web/node_modules when web/package-lock.json has changed.

# At least version 20: what the bundler and the browser test need.
function(qnndbg_node_is_new_enough result node)
  execute_process(COMMAND ${node} --version OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" version "${version}")
  if(NOT version VERSION_GREATER_EQUAL 20)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Embeds the page into `target` as qnndbg::embedded::report_page.
function(qnndbg_embed_page target)
  # ./x puts a Node.js of its own into .node when the system has none that is new enough.
  find_program(QNNDBG_NODE node HINTS ${PROJECT_SOURCE_DIR}/.node/bin VALIDATOR qnndbg_node_is_new_enough
               DOC "Node.js 20 or newer, which bundles the page of the HTML report")
  if(NOT QNNDBG_NODE)
    message(FATAL_ERROR "The page of the HTML report is built with Node.js 20 or newer. Install it with npm, name it with "
                        "-DQNNDBG_NODE=..., or build without the report: -DQNNDBG_HTML=OFF")
  endif()
  get_filename_component(node_directory ${QNNDBG_NODE} DIRECTORY)
  find_program(QNNDBG_NPM npm HINTS ${node_directory} REQUIRED DOC "The npm that goes with QNNDBG_NODE")

  # Two build directories may be built at the same time.
  find_program(QNNDBG_FLOCK flock)
  set(locked "")
  if(QNNDBG_FLOCK)
    file(MAKE_DIRECTORY ${PROJECT_SOURCE_DIR}/build)
    set(locked ${QNNDBG_FLOCK} ${PROJECT_SOURCE_DIR}/build/web.lock)
  endif()

  set(page ${PROJECT_BINARY_DIR}/generated/embedded/report_page.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*)
  add_custom_command(
    OUTPUT ${page}
    # npm starts the `node` of the search path.
    COMMAND ${locked} ${CMAKE_COMMAND} -E env NPM=${QNNDBG_NPM} PATH=${node_directory}:$ENV{PATH}
            ${QNNDBG_NODE} ${PROJECT_SOURCE_DIR}/web/build.mjs --cpp ${page}
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/web/build.mjs ${PROJECT_SOURCE_DIR}/web/package.json ${PROJECT_SOURCE_DIR}/web/package-lock.json
    COMMENT "Bundling the page of the HTML report"
    VERBATIM)
  target_sources(${target} PRIVATE ${page})
  target_compile_definitions(${target} PUBLIC QNNDBG_HTML)
endfunction()
