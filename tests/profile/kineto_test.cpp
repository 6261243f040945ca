// Traces as they are written, and everything that can be wrong with one.
#include "cairn/profile/kineto.h"

#include <zlib.h>

#include "catch.h"
#include "profile/written.h"

using namespace cairn;
using namespace cairn::profile_tests;
using profile::KernelClass;

namespace {

std::string compressed(const std::string& text) {
  std::string result(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

void refused(const std::string& text, const std::vector<std::string>& words) {
  try {
    read(text);
    FAIL_CHECK("accepted: " << text);
  } catch (const core::ConfigurationError& error) {
    for (const std::string& each : words) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(each) != std::string::npos);
    }
  }
}

const std::string k_good = trace(step(3, "100", "900"), call("110", 1), kernel("sgemm", "200.5", "99.25", 7, 1));

}  // namespace

TEST_CASE("a trace has its kernels, calls, steps and rank") {
  const profile::Trace read_back = read(k_good);
  CHECK(read_back.file == "trace.json");
  CHECK(read_back.rank == 3);
  CHECK(read_back.ranks == 8);
  REQUIRE(read_back.events.size() == 1);
  // From the first time that is read, the step's 100 us.
  CHECK(read_back.events[0].start == 100'500);
  CHECK(read_back.events[0].duration == 99'250);
  CHECK(read_back.events[0].stream == 7);
  CHECK(read_back.kernels[0].kind == KernelClass::matmul);
  REQUIRE(read_back.calls.size() == 1);
  CHECK(read_back.calls[0].start == 10'000);
  REQUIRE(read_back.steps.size() == 1);
  CHECK(read_back.steps[0].name == "ProfilerStep#3");
  CHECK(read_back.steps[0].end == 900'000);
  CHECK(read_back.warnings.empty());
}

TEST_CASE("times since 1970 keep their nanoseconds") {
  const profile::Trace read_back =
      read(trace(kernel("a", "1712195495985358.123", "1.001"), kernel("b", "1712195495985360", "2"),
                 kernel("c", "1712195495985362.1239", "0")));
  CHECK(read_back.events[0].duration == 1'001);
  CHECK(read_back.events[1].start == 1'877);
  CHECK(read_back.events[2].start == 4'000);  // what is below a nanosecond is dropped
}

TEST_CASE("a trace may be compressed, a bare list of events, and have what nobody asked for") {
  CHECK(read(compressed(k_good)).events.size() == 1);
  CHECK(read(compressed(k_good.substr(0, 40)) + compressed(k_good.substr(40))).events.size() == 1);
  CHECK(read("[" + kernel("a", "1", "2") + "]").events.size() == 1);
  CHECK(read(R"({"x": [[{"traceEvents": 1}], null], "traceEvents": [[1], 2, {"args": {"args": {"stream": []}}}, )" +
             kernel("a", "1", "2") + R"(], "y": {"z": {}}})")
            .events.size() == 1);
  // Older releases write categories with a capital, and no device beside the process.
  const profile::Trace old = read(R"x([{"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 2,
                                       "tid": 9, "ts": 1, "dur": 2}])x");
  CHECK(old.device == 2);
  CHECK(old.events[0].stream == 9);
  CHECK(old.kernels[0].kind == KernelClass::host_copy);
}

TEST_CASE("an NCCL kernel that does not say what it does is what the trace says beside it") {
  const auto kind = [](const std::string& collective) {
    return read(trace(event("kernel", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "1", "2",
                            fmt::format(R"({{"stream": 1, "Collective name": "{}"}})", collective))))
        .kernels[0]
        .kind;
  };
  CHECK(kind("_allgather_base") == KernelClass::all_gather);
  CHECK(kind("_reduce_scatter_base") == KernelClass::reduce_scatter);
  CHECK(kind("allreduce") == KernelClass::all_reduce);
  CHECK(kind("all_to_allv") == KernelClass::exchange);
  CHECK(kind("coalesced") == KernelClass::collective);
}

TEST_CASE("several devices, and kernels listed twice, are told") {
  const profile::Trace read_back =
      read(trace(kernel("a", "1", "2"), kernel("a", "1", "2"),
                 event("kernel", "b", "1", "9", R"({"device": 1, "stream": 7})"), kernel("a", "10", "20")));
  CHECK(read_back.device == 0);
  CHECK(read_back.events.size() == 2);
  REQUIRE(read_back.warnings.size() == 2);
  CHECK(read_back.warnings[0].message.find("2 devices") != std::string::npos);
  CHECK(read_back.warnings[1].message.find("listed twice") != std::string::npos);
}

TEST_CASE("what is no trace is refused with its place") {
  refused("", {"trace.json:1:", "cut off"});
  refused(k_good.substr(0, k_good.size() / 2), {"trace.json:", "cut off here"});
  refused(compressed(k_good).substr(0, 60), {"the compressed file is cut off"});
  std::string damaged = compressed(k_good);
  for (std::size_t i = 40; i < 60; ++i) damaged[i] = '\0';
  refused(damaged, {"trace.json", "compressed file"});
  refused("step,time\n1,2\n", {"trace.json:1:1", "no JSON from here on"});
  refused(R"({"schema": "cairn.run/1", "result": {}})", {"'traceEvents' is missing"});
  for (const char* none : {"1", "null", "{}", R"("x")"})
    refused(fmt::format(R"({{"traceEvents": {}}})", none), {"trace.json: error: no trace: 'traceEvents' is no list"});
  for (const char* empty : {"[]", R"({"traceEvents": []})", R"({"traceEvents": [], "schemaVersion": 1})", "[1, [2]]"})
    refused(empty,
            {"trace.json: error: no kernel ran on a device", "its list of events is empty", "ProfilerActivity.CUDA"});
  refused(R"({"traceEvents": [{"ph": "M", "name": "process_name"}]})", {"no kernel ran on a device in this trace ("});
  refused(trace(step(1, "1", "2"), call("1", 1)), {"no kernel ran"});
  CHECK_THROWS_AS(profile::read_kineto("/nowhere/at all.json"), core::ConfigurationError);
  CHECK_THROWS_AS(profile::read_kineto(std::filesystem::temp_directory_path()), core::ConfigurationError);
  // A text without an end does not fill the memory.
  refused(R"({"traceEvents": [{"name": ")" + std::string(std::size_t{9} << 20, 'a') + R"("}]})",
          {"a value of more than 8 MiB"});
  CHECK_THROWS_AS(read(std::string(std::size_t{1} << 20, '[')), core::ConfigurationError);
}

TEST_CASE("wrong times are refused with the event's place and name, all at once") {
  refused(trace(kernel("a", "1", "2"), kernel("b", "3", "-2"), kernel("c", "null", "1")),
          {"trace.json:3:1: error: 'b': dur is negative", "trace.json:4:1: error: 'c': ts is no number"});
  refused(trace(kernel("a", "1", "NaN")), {"trace.json:2:", "NaN and infinity are none"});
  refused(trace(kernel("a", "1", "1e999")), {"trace.json:2:"});
  refused(trace(kernel("a", "1", "1e30")), {"dur is out of range"});
  refused(trace(kernel("a", "1", "\"2 ms\"")), {"dur is no number"});
  refused(trace(kernel("a", "1", "1e12")), {"more than a day", "mixed units"});
  refused(trace(kernel("a", "1", "1"), kernel("b", "1e13", "1")),
          {"'b': ts is more than a day from the trace's first"});
  refused(R"([{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "args": {"stream": 7}}])", {"'a': dur is missing"});
  refused(R"([{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1}])", {"'a': it names no stream"});
}

TEST_CASE("starts in microseconds beside durations in nanoseconds are refused") {
  std::string all = "[";
  for (int i = 0; i < 20; ++i) all += (i > 0 ? "," : "") + kernel("a", std::to_string(10 * i), "8000");
  refused(all + "]", {"stream 7", "mixed units"});
}
