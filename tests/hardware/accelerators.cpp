// The constants that fits are relative to, and what follows from them.
#include "catch.h"
#include "hardware/support.h"

namespace cairn::hardware {

using numerics::Format;

namespace {

struct Constants {
  const char* name;
  int multiprocessors;
  double clock, bf16, fp8, bandwidth, l2;  // GHz, TFLOP/s, TFLOP/s (0: none), TB/s, MB
};

double rate(const Accelerator& a, Format format) {
  const auto peak = a.matrix_peak(format);
  return peak ? *peak / core::k_teraflop_per_second : 0.0;
}

}  // namespace

TEST_CASE("machine constants of the 2026-11 fits", "[hardware]") {
  const Constants table[] = {{"a100-sxm4-80gb", 108, 1.41, 312, 0, 2.04, 40},
                             {"h100-sxm5-80gb", 132, 1.83, 989, 1979, 3.35, 50},
                             {"h200-sxm-141gb", 132, 1.83, 989, 1979, 4.8, 50},
                             {"b200-sxm-180gb", 148, 1.85, 2250, 4500, 8.0, 126},
                             {"gb200-186gb", 148, 1.90, 2450, 4900, 8.0, 126}};
  for (const Constants& row : table) {
    CAPTURE(row.name);
    const Accelerator a = load_accelerator(test::shipped(), row.name);
    CHECK(a.multiprocessors == row.multiprocessors);
    CHECK(a.clock.base() == Approx(row.clock * 1e9).epsilon(1e-12));
    CHECK(rate(a, Format::bf16) == Approx(row.bf16).epsilon(1e-12));
    CHECK(rate(a, Format::fp8_e5m2) == Approx(row.fp8).epsilon(1e-12));
    CHECK(a.device_memory().bandwidth->base() == Approx(row.bandwidth * 1e12).epsilon(1e-12));
    CHECK(a.find_memory("l2")->capacity.base() == Approx(row.l2 * 1e6).epsilon(1e-12));
  }
}

TEST_CASE("memory on the chip, every level of it", "[hardware]") {
  // 50 MB of second-level cache, and in each of 132 multiprocessors a data cache of 256 KiB and registers of 256 KiB.
  const Accelerator h100 = load_accelerator(test::shipped(), "h100-sxm5-80gb");
  CHECK(h100.on_chip_capacity()->base() == 50e6 + 132.0 * 512.0 * 1024.0);
  // 40 MB; 108 of 192 KiB and 256 KiB.
  const Accelerator a100 = load_accelerator(test::shipped(), "a100-sxm4-80gb");
  CHECK(a100.on_chip_capacity()->base() == 40e6 + 108.0 * 448.0 * 1024.0);
  // Caches of 256 MB and 32 MiB; 304 of 64 KiB, 32 KiB and 512 KiB.
  const Accelerator mi300x = load_accelerator(test::shipped(), "mi300x");
  CHECK(mi300x.on_chip_capacity()->base() == 256e6 + 32.0 * 1048576.0 + 304.0 * 608.0 * 1024.0);
  for (const std::string& name : test::shipped().names("accelerators")) {
    CAPTURE(name);
    CHECK(load_accelerator(test::shipped(), name).on_chip_capacity().has_value());
  }
  Accelerator partial = h100;
  partial.memory.pop_back();  // the registers
  CHECK_FALSE(partial.on_chip_capacity().has_value());
}

TEST_CASE("peaks follow from the units a generation has", "[hardware]") {
  const Accelerator p100 = load_accelerator(test::shipped(), "p100-pcie-16gb");
  CHECK(rate(p100, Format::fp16) == Approx(18.7));  // no matrix units: the ordinary lanes
  CHECK(rate(p100, Format::fp32) == Approx(9.3));
  CHECK_FALSE(p100.matrix_peak(Format::bf16).has_value());
  const Accelerator v100 = load_accelerator(test::shipped(), "v100-sxm2-32gb");
  CHECK(rate(v100, Format::fp16) == Approx(125));
  CHECK(rate(v100, Format::fp32) == Approx(15.7));
  CHECK_FALSE(v100.matrix_peak(Format::tf32).has_value());
  const Accelerator a100 = load_accelerator(test::shipped(), "a100-sxm4-80gb");
  CHECK(rate(a100, Format::tf32) == Approx(156));
  CHECK_FALSE(a100.matrix_peak(Format::fp8_block).has_value());
  CHECK(a100.vector_peak(Format::fp16) / core::k_teraflop_per_second == Approx(78));
  CHECK(a100.vector_peak(Format::tf32) / core::k_teraflop_per_second == Approx(19.5));  // not listed: fp32
}

TEST_CASE("one device's part of what data sheets give for boards, without sparsity", "[hardware]") {
  struct Part {
    const char* name;
    double devices;         // on the board, die count or rack of the data sheet
    double bf16, fp8, fp4;  // PFLOP/s of all; bf16 and fp8 with 2:4 sparsity where `sparse`, FP4 dense
    bool sparse;
    double bandwidth;  // TB/s of all
  };
  // HGX B300: 36 / 72 / 108 PFLOP/s and 62 TB/s. GB300 NVL72: 360 / 720 / 1080 PFLOP/s and 576 TB/s.
  // MI250X: 0.383 PFLOP/s and 3.2768 TB/s, two dies. MI300X: 1.3074 / 2.6149 PFLOP/s and 5.3 TB/s, dense;
  // MI325X the same and 6 TB/s. MI350X, MI355X: 256 units of 4096 and 8192 FLOP per clock at 2.2 and 2.4 GHz, 8 TB/s.
  for (const Part& part :
       {Part{"b300-270gb", 8, 36, 72, 108, true, 62}, Part{"gb300-279gb", 72, 360, 720, 1080, true, 576},
        Part{"mi250x", 2, 0.383, 0, 0, false, 3.2768}, Part{"mi300x", 1, 1.3074, 2.6149, 0, false, 5.3},
        Part{"mi325x", 1, 1.3074, 2.6149, 0, false, 6}, Part{"mi350x", 1, 2.3069, 4.6137, 0, false, 8},
        Part{"mi355x", 1, 2.5166, 5.0332, 0, false, 8}}) {
    CAPTURE(part.name);
    const Accelerator a = load_accelerator(test::shipped(), part.name);
    const double teras = 1000.0 / part.devices / (part.sparse ? 2.0 : 1.0);
    CHECK(rate(a, Format::bf16) == Approx(part.bf16 * teras).epsilon(1e-12));
    CHECK(rate(a, Format::fp8_e4m3) == Approx(part.fp8 * teras).epsilon(1e-12));
    CHECK(rate(a, Format::nvfp4) == Approx(part.fp4 * 1000.0 / part.devices).epsilon(1e-12));
    CHECK(a.device_memory().bandwidth->base() == Approx(part.bandwidth * 1e12 / part.devices).epsilon(1e-12));
  }
  // Cards: A10 data sheet (125 and 62.5 TFLOP/s), L20 as vendors publish it (119.5, 239, 59.8).
  const Accelerator a10 = load_accelerator(test::shipped(), "a10-24gb");
  CHECK(rate(a10, Format::fp16) == Approx(125));
  CHECK(rate(a10, Format::tf32) == Approx(62.5));
  CHECK_FALSE(a10.matrix_peak(Format::fp8_e4m3).has_value());
  const Accelerator l20 = load_accelerator(test::shipped(), "l20-48gb");
  CHECK(rate(l20, Format::bf16) == Approx(119.5));
  CHECK(rate(l20, Format::fp8_e4m3) == Approx(239));
  CHECK(rate(l20, Format::tf32) == Approx(59.8));
  // P40: no matrix units and no fast half precision: fp32 on the lanes, nothing in 16 bits.
  const Accelerator p40 = load_accelerator(test::shipped(), "p40-24gb");
  CHECK(rate(p40, Format::fp32) == Approx(11.76));
  CHECK_FALSE(p40.matrix_peak(Format::fp16).has_value());
  CHECK(p40.vector_peak(Format::fp16) == p40.vector_peak(Format::fp32));
  // The 500 W H100 keeps the chip's rates; its memory is slower and larger.
  const Accelerator capped = load_accelerator(test::shipped(), "h100-96gb-hbm2e-500w");
  CHECK(rate(capped, Format::bf16) == Approx(989));
  CHECK(capped.device_memory().bandwidth->base() == Approx(2.4e12));
  CHECK(capped.usable_memory() / core::k_gibibyte == Approx(96 - 1.1 - 0.6 - 1.0).epsilon(1e-12));
}

TEST_CASE("vector peaks agree with lanes and clock", "[hardware]") {
  // fp32: 2 FLOP x lanes per multiprocessor (64; 128 from H100 on) x multiprocessors x clock. The H100's vector rate is
  // quoted at 1.98 GHz, 8 % above the clock of its tensor rates, so only the older ones agree.
  const std::pair<const char*, double> lanes[] = {
      {"p100-pcie-16gb", 64}, {"v100-sxm2-32gb", 64}, {"a100-sxm4-80gb", 64}, {"h100-pcie-80gb", 128},
      {"p40-24gb", 128},      {"a10-24gb", 128},      {"l20-48gb", 128},      {"mi250x", 64},
      {"mi300x", 128},        {"mi325x", 128},        {"mi350x", 128},        {"mi355x", 128}};
  for (const auto& [name, per_sm] : lanes) {
    CAPTURE(name);
    const Accelerator a = load_accelerator(test::shipped(), name);
    CHECK(a.vector_peak(Format::fp32).base() ==
          Approx(2 * per_sm * static_cast<double>(a.multiprocessors) * a.clock.base()).epsilon(0.01));
  }
}

TEST_CASE("usable memory", "[hardware]") {
  // A100 80 GB: 80 - 0.75 - 0.5 - 1 = 77.75 GiB.
  const Accelerator a100 = load_accelerator(test::shipped(), "a100-sxm4-80gb");
  CHECK(a100.usable_memory() / core::k_gibibyte == Approx(77.75).epsilon(1e-12));

  config::Node block = test::parse("{file: a100-sxm4-80gb, reserved_memory: 2 GiB}");
  core::Diagnostics diagnostics;
  const Loaded<Accelerator> plain = read_accelerator(test::shipped(), block, "cluster.accelerator", diagnostics);
  CHECK(plain.value.usable_memory() / core::k_gibibyte == Approx(78.0).epsilon(1e-12));
  CHECK(provenance(plain.origins, "cluster.accelerator.memory[0].bandwidth")->source == config::Source::datasheet);
}

TEST_CASE("what can be wrong in an accelerator file", "[hardware]") {
  core::Diagnostics diagnostics;
  read_accelerator(test::shipped(),
                   test::parse("name: x\n"
                               "peak: {tensor: {bf17: 1 TFLOP/s}, vector: {fp32: 2 TB/s}}\n"
                               "multiprocessors: 0\n"
                               "clock: 1.4\n"
                               "memory: [{name: hbm, capacity: 1 GiB, bandwidth: 1 TB/s}]\n"
                               "power: 400 W\nlaunch_floor: 1 us\nlunch: 1\n"),
                   {}, diagnostics);
  std::string text;
  for (const auto& found : diagnostics.all()) text += found.to_string() + "\n";
  CHECK(text.find("test.yaml:2:") != std::string::npos);
  CHECK(text.find("peak.vector.fp32") != std::string::npos);  // a bandwidth is no rate of operations
  CHECK(text.find("test.yaml:3:18: error: multiprocessors") != std::string::npos);
  CHECK(text.find("test.yaml:4:8: error: clock") != std::string::npos);  // no unit
  CHECK(text.find("lunch: unknown key") != std::string::npos);
}

}  // namespace cairn::hardware
