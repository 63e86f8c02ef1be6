# Generates graph/mnn_generated.h from our schema of the model format. Every room waits for it (qnndbg_room), because an
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
add_custom_target(qnndbg_wire DEPENDS ${mnn_header})
