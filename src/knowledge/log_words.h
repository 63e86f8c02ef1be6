// What a log writes in numbers and internal names, in words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "knowledge/log_reader.h"

namespace qnndbg {

/// "36 MiB", "2.24 GiB"; bytes below one KiB as they are.
std::string size_words(double bytes);

/// "fp16", "unsigned 16-bit fixed point" for QNN's name of a data type ("FLOAT_16", "QNN_DATATYPE_UFIXED_POINT_16") or
/// its number ("0x416"). The text itself when it is neither.
std::string datatype_words(std::string_view datatype);

/// "fp16" for HTP's internal tensor classes ("F16Crouton_TCM", "PlainFloat16"), "fp32" for "PlainFloat", ... The text
/// itself for others.
std::string tensor_class_words(std::string_view tensor_class);

/// "input 0 is fp16 (F16Crouton_TCM); inputs 1, 2 and 3 are fp32 (PlainFloat_TCM)". Empty without inputs.
std::string kernel_inputs_words(const std::vector<KernelInput>& inputs);

/// How the data types that were asked for differ from the nearest supported set: "out[0] is int32; the nearest
/// supported set (FP16) has bool". Empty when the log lists no sets, or when one fits.
std::string datatype_difference(const LogNode& node);

/// A line's message: without the times, levels, tags and places in the code that loggers put before it.
std::string_view message_of(std::string_view line);

/// A reason in the library's words, with numbers of data types told in words behind it.
std::string reason_words(const EvidenceLine& reason);

/// What a rule's template can name: the groups of the events and what follows from them.
///   node, type, code, code_name, kernel, library, ...   groups of the regular expressions, the first one seen
///   nodes, node_count     the nodes of the log with this class's fate
///   operator              name of an MNN operator type number
///   reason                why the first node was refused, in words
///   need, limit, parts    sizes in words, and how many parts would fit
///   length                size of a buffer in words
///   inputs                of the operator that could not be created
///   lines                 "21 lines": how many the log has
///   if_mnn, if_other      empty; if_mnn is there unless the log is that of another runtime, if_other when it is
using Values = std::map<std::string, std::string>;

Values values_of(const LogRecord& record, const std::vector<const LogEvent*>& events, std::string_view class_id);

/// Adds if_mnn or if_other. `stack` as in LogRecord.
void add_stack(Values& values, std::string_view stack);

/// Fills {name}; a part in square brackets is left out if a value in it is missing. A missing value outside brackets
/// becomes "?".
std::string fill_template(std::string_view text, const Values& values);

}  // namespace qnndbg
