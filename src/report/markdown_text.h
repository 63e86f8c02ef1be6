// Foreign text in Markdown: names and sentences that stay text, in CommonMark and in what code hosts make of it.
#pragma once

#include <string>
#include <string_view>

namespace qnndbg {

/// A name as a code span: in code nothing is markup, a mention or a link. "``a`b``"
std::string markdown_code(std::string_view text);

/// A sentence: what stands between backticks in it is code; elsewhere whatever CommonMark, GitHub's and GitLab's
/// extensions could read as markup is escaped. Mentions ("@name") and references ("#12") are made after the markup is
/// read, so no escape helps; a zero-width space keeps them apart.
std::string markdown_sentence(std::string_view text);

/// Printable lines as a fenced block of plain text; none of them can end it. A newline at its end.
std::string markdown_block(std::string_view lines);

}  // namespace qnndbg
