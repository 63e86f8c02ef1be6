# Generates graph/mnn_generated.h from our schema of the model format, and graph/mnn_object_generated.h: the same format in
# namespace wire_object, with FlatBuffers' object API and reflection. Every room waits for them (qnndbg_room), because an
# operator file may be compiled before src/graph is.
set(QNNDBG_GENERATED ${PROJECT_BINARY_DIR}/generated)
set(mnn_schema ${PROJECT_SOURCE_DIR}/src/graph/mnn.fbs)
set(mnn_header ${QNNDBG_GENERATED}/graph/mnn_generated.h)

add_custom_command(
  OUTPUT ${mnn_header}
  # Enum constants stay plain (wire::Bin_ADD): the numbers on the wire may have no name, a plain enum can hold them.
  COMMAND ${FLATC} --cpp --no-warnings --filename-suffix _generated -o ${QNNDBG_GENERATED}/graph ${mnn_schema}
  DEPENDS ${mnn_schema}
  COMMENT "Generating graph/mnn_generated.h"
  VERBATIM)

# A header of its own: the object API triples what the compiler reads, and only the files that write models need it. Another
# namespace, because two definitions of one class in a program are an error.
set(mnn_object_schema ${QNNDBG_GENERATED}/schema/mnn_object.fbs)
set(mnn_object_header ${QNNDBG_GENERATED}/graph/mnn_object_generated.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mnn_schema})
file(READ ${mnn_schema} mnn_object_text)
string(REPLACE "namespace qnndbg.wire;" "namespace qnndbg.wire_object;" mnn_object_text "${mnn_object_text}")
file(CONFIGURE OUTPUT ${mnn_object_schema} CONTENT "@mnn_object_text@" @ONLY)
add_custom_command(
  OUTPUT ${mnn_object_header}
  COMMAND ${FLATC} --cpp --gen-object-api --reflect-names --no-warnings --filename-suffix _generated -o ${QNNDBG_GENERATED}/graph
          ${mnn_object_schema}
  DEPENDS ${mnn_object_schema}
  COMMENT "Generating graph/mnn_object_generated.h"
  VERBATIM)
add_custom_target(qnndbg_wire DEPENDS ${mnn_header} ${mnn_object_header})
