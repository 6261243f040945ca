// A line of a log, as a terminal or a launcher left it.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cairn::measure {

// The line without colours and other control bytes; of text that carriage returns wrote over, what was written last.
std::string shown_text(std::string_view line);

// What was printed into the line before a message of NCCL's own log, "host:pid:thread [device] NCCL INFO ..."; all of
// it where there is none. NCCL writes to the stream of the test, so a message may follow a half-printed row without a
// space; `hosts` tell the two apart there.
std::string_view before_nccl_message(std::string_view line, const std::set<std::string>& hosts);

}  // namespace cairn::measure
