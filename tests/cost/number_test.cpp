// Tables of numbers: what holds of every row, and what scaling changes.
#include <array>
#include <cstddef>
#include <set>
#include <string_view>

#include "cairn/cost/calibration.h"
#include "catch.h"

namespace cairn::cost {
namespace {

template <class Structure, std::size_t N>
void require_sound(const std::array<Number<Structure>, N>& table) {
  std::set<std::string_view> keys;
  for (const Number<Structure>& number : table) {
    INFO(number.key);
    CHECK(number.member != nullptr);
    CHECK((number.fit_only || keys.insert(number.key).second));
    CHECK((!number.zero_is_absent || number.dimension));
    CHECK((!number.per_root_byte || number.dimension == Dimension::seconds));
    const FreeRange& free = number.free;
    if (free.when == FreeWhen::never) continue;
    CHECK(free.low > 0.0);  // fits are in logarithms
    CHECK(free.low <= free.start);
    CHECK(free.start <= free.high);
    CHECK(free.prior > 0.0);
    // What a fit may find can be written.
    if (number.fit_only || free.relative_to != RelativeTo::nothing) continue;
    CHECK(free.low >= number.rule.minimum);
    CHECK(free.high <= number.rule.maximum);
  }
}

}  // namespace

TEST_CASE("numbers have a key each, and a fit looks for them where files may have them", "[cost][calibration]") {
  require_sound(k_gemm_numbers);
  require_sound(k_attention_numbers);
  require_sound(k_flash_point_numbers);
  require_sound(k_flash_numbers);
  require_sound(k_memory_bound_numbers);
  require_sound(k_kernel_law_numbers);
  require_sound(k_protocol_line_numbers);
  require_sound(k_protocol_form_numbers);
  require_sound(k_short_form_numbers);
  require_sound(k_tree_channel_numbers);
  require_sound(k_domain_numbers);
  require_sound(k_fabric_numbers);
  require_sound(k_communication_numbers);
}

TEST_CASE("scaling multiplies the numbers of one dimension and no other", "[cost][calibration]") {
  FabricLaws fabric{.efficiency = 0.5, .step_s = 1.0, .ramp = 2.0, .peer_s = 3.0, .message_s = 4.0};
  scale(fabric, k_fabric_numbers, Dimension::seconds, 2.0);
  CHECK(fabric.efficiency == 0.5);
  CHECK(fabric.step_s == 2.0);
  CHECK(fabric.ramp == 4.0);
  CHECK(fabric.peer_s == 6.0);
  CHECK(fabric.message_s == 8.0);
  TreeChannel channel{.two = 1.0, .more = 3.0};
  scale(channel, k_tree_channel_numbers, Dimension::bytes_per_second, 2.0);
  CHECK(channel.two == 2.0);
  CHECK(channel.more == 6.0);
  scale(channel, k_tree_channel_numbers, Dimension::seconds, 2.0);
  CHECK(channel.two == 2.0);
}

}  // namespace cairn::cost
