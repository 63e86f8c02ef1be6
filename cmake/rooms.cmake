# One static library per room of the code (src/<room>), so that an include that goes against the arrows does not link,
# plus the flags that hold for every target.

add_library(qnndbg_flags INTERFACE)
target_compile_options(qnndbg_flags INTERFACE -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's std::stable_sort uses a function that it declares deprecated itself.
  target_compile_options(qnndbg_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(QNNDBG_SANITIZE)
  target_compile_options(qnndbg_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(qnndbg_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
endif()
if(QNNDBG_FUZZ)
  target_compile_options(qnndbg_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# For the sources of tests, which call for more compile time than the product's: assertions expand to much code that runs
# once. Under sanitizers they keep AddressSanitizer; the product that they call keeps both.
add_library(qnndbg_test_flags INTERFACE)
target_link_libraries(qnndbg_test_flags INTERFACE qnndbg_flags)
if(QNNDBG_SANITIZE)
  target_compile_options(qnndbg_test_flags INTERFACE -O0 -fno-sanitize=undefined)
else()
  target_compile_options(qnndbg_test_flags INTERFACE -O1)
endif()

function(qnndbg_room name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/${name}_empty.cpp "")
    set(sources ${PROJECT_BINARY_DIR}/generated/${name}_empty.cpp)
  endif()
  # Object libraries keep the self-registering operator files: a linker may drop unreferenced members of an archive.
  add_library(qnndbg_${name} OBJECT ${sources})
  target_include_directories(qnndbg_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  # SYSTEM: generated code is not held to our warnings.
  target_include_directories(qnndbg_${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/generated ${FLATBUFFERS_INCLUDE})
  add_dependencies(qnndbg_${name} qnndbg_wire)
  set(rooms "")
  foreach(dep IN LISTS ARG_DEPENDS)
    if(TARGET qnndbg_${dep})
      list(APPEND rooms qnndbg_${dep})
    else()
      list(APPEND rooms ${dep})
    endif()
  endforeach()
  target_link_libraries(qnndbg_${name} PUBLIC ${rooms} PRIVATE qnndbg_flags ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY QNNDBG_ROOMS qnndbg_${name})
endfunction()

function(qnndbg_program name)
  cmake_parse_arguments(ARG "" "ROOM" "DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ARG_ROOM}/*.cpp)
  get_property(rooms GLOBAL PROPERTY QNNDBG_ROOMS)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE qnndbg_flags ${rooms} ${ARG_PRIVATE_DEPENDS})
  target_compile_definitions(${name} PRIVATE QNNDBG_VERSION="${PROJECT_VERSION}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  # Nothing runs the program under sanitizers: the tests call the rooms. It can still be asked for by name.
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${QNNDBG_SANITIZE})
endfunction()
