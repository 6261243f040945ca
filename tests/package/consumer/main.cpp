// Exits 0 when a library function, a header-only quantity, a module that needs Boost and the shipped configurations
// work through the package.
#include <cstdlib>

#include <cairn/config/loader.h>
#include <cairn/config/shipped.h>
#include <cairn/core/diagnostics.h>
#include <cairn/core/quantity.h>
#include <cairn/loopnest/affine.h>

int main() {
  using namespace cairn;
  const bool library = core::nearest("bandwdith", {"latency", "bandwidth"}) == "bandwidth";
  // 1 GiB at 1 GiB/s takes 1 s.
  const bool quantity = core::k_gibibyte / core::BytesPerSecond::from_base(core::k_gibibyte.base()) == core::k_second;
  const loopnest::Projection projection{loopnest::Affine::of(0), loopnest::Affine::of(2, 2)};
  const bool loop_nest = loopnest::uses(projection, 2) && !loopnest::uses(projection, 1);
  const config::Loader loader(config::shipped_folders());
  const bool configurations = !loader.find_shipped("dgx-h100", "clusters").empty();
  return library && quantity && loop_nest && configurations ? EXIT_SUCCESS : EXIT_FAILURE;
}
