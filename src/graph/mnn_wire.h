// The generated classes of mnn.fbs (namespace qnndbg::wire), for files that read operator parameters.
//
//   const wire::Op& op = model.wire_op(index);
//   if (const wire::Pool* pool = op.main_as_Pool()) ...   // nullptr when the operator carries another table
//
// Everything that the FlatBuffers verifier accepts is here as stored: vectors and strings may be absent (nullptr),
// numbers may be negative, huge, or without a name in their enum. Vectors of 64-bit numbers may be misaligned; read
// them through Model (float_part, blob).
#pragma once

#include "graph/mnn_generated.h"
