// The batch of an ONNX graph: how many samples, and which dimension of each tensor runs over them where another number
// than the file's was asked for.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "onnx_importer.h"

namespace cairn::models {
namespace {

const char* const k_batch_hint = "give a file that onnx.checker accepts";

std::int64_t product_from(const std::vector<std::int64_t>& sizes, std::size_t first) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(first), sizes.end(), std::int64_t{1},
                         std::multiplies<>());
}

// Views keep the distance of samples in elements, whatever their number: the dimensions that it may fall into. Several
// only for a single sample, at the border of two dimensions.
std::vector<OnnxBatchDim> possible_batch_dims(const std::vector<std::int64_t>& shape, std::int64_t distance,
                                              std::int64_t batch) {
  std::vector<OnnxBatchDim> found;
  std::int64_t inside = 1;
  for (std::size_t dim = shape.size(); dim-- > 0; inside *= shape[dim])
    if (distance % inside == 0 && inside * shape[dim] % (distance * batch) == 0)
      found.push_back({.dim = dim, .inside = distance / inside});
  return found;
}

// Of several the one in front, where samples are outermost, or the only one that is nothing but the batch.
OnnxSamples place_of(const std::vector<OnnxBatchDim>& possible, const std::vector<std::int64_t>& shape,
                     std::int64_t distance, std::int64_t batch) {
  const auto known = [](const OnnxBatchDim& at) { return OnnxSamples{.place = OnnxSamples::Place::known, .at = at}; };
  if (possible.empty()) return {.place = OnnxSamples::Place::lost};
  const bool in_front = possible.back().dim == 0 && distance * batch == product_from(shape, 0);
  if (possible.size() == 1 || in_front) return known(possible.back());
  const auto alone = [&](const OnnxBatchDim& each) { return shape[each.dim] == batch; };
  if (std::count_if(possible.begin(), possible.end(), alone) != 1) return {.place = OnnxSamples::Place::lost};
  return known(*std::find_if(possible.begin(), possible.end(), alone));
}

}  // namespace

void OnnxImporter::settle_batch(const std::vector<const OnnxValue*>& inputs) {
  const OnnxValue* open = nullptr;
  for (const OnnxValue* input : inputs) {
    if (input->elements == OnnxElements::others)
      refuse_onnx(file_, fmt::format("input {} is no tensor of numbers", core::quoted(input->name)), k_batch_hint);
    if (!input->has_shape || input->dims.empty() || input->dims.size() > ir::k_max_rank)
      refuse_onnx(file_,
                  fmt::format("input {} has {}", core::quoted(input->name),
                              !input->has_shape ? "no shape" : fmt::format("{} dimensions", input->dims.size())),
                  fmt::format("give it from 1 to {} dimensions, the first one for samples", ir::k_max_rank));
    for (std::size_t i = 1; i < input->dims.size(); ++i)
      if (!input->dims[i].has_size)
        refuse_onnx(file_,
                    fmt::format("input {} of shape {} is open in other dimensions than the first",
                                core::quoted(input->name), onnx_shape_text(input->dims)),
                    "export it with numbers there");
    if (!input->dims.front().has_size && open == nullptr) open = input;
  }
  if (inputs.empty()) refuse_onnx(file_, "nothing comes from outside: no output depends on an input", k_batch_hint);
  const auto refuse_batch = [](std::string message, std::string hint) {
    throw core::ConfigurationError("batch", std::move(message), std::move(hint));
  };
  if (asked_batch_ && *asked_batch_ < 1)
    refuse_batch(fmt::format("a batch of {} samples", *asked_batch_), "give a number of at least 1");
  if (open != nullptr) {
    if (!asked_batch_)
      refuse_batch(fmt::format("{} leaves it open: input {} of shape {}", core::quoted(file_.string()),
                               core::quoted(open->name), onnx_shape_text(open->dims)),
                   "give the number of samples, as in --batch 32");
    batch_ = *asked_batch_;
    return;
  }
  batch_ = inputs.front()->dims.front().size;
  if (!asked_batch_ || *asked_batch_ == batch_) return;
  for (const OnnxValue* input : inputs)
    if (input->dims.front().size != batch_)
      refuse_batch(fmt::format("{} has inputs of {} and of {} samples", core::quoted(file_.string()), batch_,
                               input->dims.front().size),
                   "leave the batch as it is in the file");
  file_batch_ = batch_;
  batch_ = *asked_batch_;
}

// The dimension of what an operator makes that is at the same index as that of the samples in what it reads.
const OnnxSamples& OnnxImporter::samples_of(ir::TensorId tensor) {
  const auto known = samples_.find(tensor);
  if (known != samples_.end()) return known->second;
  OnnxSamples result;
  const ir::OperatorId producer = net_.graph().producer(tensor);
  if (producer >= 0) {
    const ir::Operator& op = net_.graph().op(producer);
    const auto made = std::find_if(op.accesses.begin(), op.accesses.end(), [&](const ir::Access& access) {
      return access.mode != ir::Mode::read && access.tensor == tensor;
    });
    const auto same_index = [](const loopnest::Affine& a, const loopnest::Affine& b) {
      return a.terms.size() == 1 && b.terms.size() == 1 && a.terms[0].dim == b.terms[0].dim &&
             a.terms[0].stride == b.terms[0].stride && a.offset == b.offset;
    };
    for (const ir::Access& access : op.accesses) {
      if (access.mode != ir::Mode::read) continue;
      const OnnxSamples read = samples_of(access.tensor);
      if (read.place == OnnxSamples::Place::nowhere) continue;
      const auto& to = made->projection;
      const auto at = std::find_if(to.begin(), to.end(), [&](const loopnest::Affine& index) {
        return read.is_known() && same_index(index, access.projection[read.at.dim]);
      });
      const OnnxBatchDim dim{.dim = static_cast<std::size_t>(at - to.begin()), .inside = read.at.inside};
      const bool agrees =
          result.place == OnnxSamples::Place::nowhere || (result.at.dim == dim.dim && result.at.inside == dim.inside);
      result = at != to.end() && agrees && result.place != OnnxSamples::Place::lost
                   ? OnnxSamples{.place = OnnxSamples::Place::known, .at = dim}
                   : OnnxSamples{.place = OnnxSamples::Place::lost};
    }
  }
  return samples_.emplace(tensor, result).first->second;
}

OnnxSamples OnnxImporter::samples_in_view(ir::TensorId x, const Shape& to) {
  const OnnxSamples samples = samples_of(x);
  if (!samples.is_known()) return samples;
  const std::int64_t distance = samples.at.inside * product_from(shape_of(x), samples.at.dim + 1);
  return place_of(possible_batch_dims(to, distance, batch_), to, distance, batch_);
}

void OnnxImporter::view_as_at_asked_batch(const OnnxNode& node, const OnnxOperand& from, const Shape& stated) {
  const OnnxSamples samples =
      replaces_batch() && from.is(OnnxOperand::Kind::activation) ? samples_of(from.tensor) : OnnxSamples{};
  const auto refuse_batch = [&](const std::string& why, const std::string& hint) {
    refuse(node,
           fmt::format("takes {} for the constant {}: at another batch than the file's it is open {}",
                       onnx_shape_text(from.shape), onnx_shape_text(stated), why),
           hint);
  };
  if (samples.place == OnnxSamples::Place::nowhere) return view_as(node, resolved(node, from.shape, stated));
  if (!samples.is_known())
    refuse_batch("where the samples are in its input", "export it with a symbol for the batch, or leave its batch");
  Shape before = from.shape;
  before[samples.at.dim] = before[samples.at.dim] / batch_ * file_batch_;
  check_shape(node, before);
  Shape to = resolved(node, before, stated);
  check_shape(node, to);
  if (product_from(to, 0) != product_from(before, 0))
    refuse(node, fmt::format("takes {} for {}", onnx_shape_text(before), onnx_shape_text(to)),
           "as many elements are due");
  const std::int64_t distance = samples.at.inside * product_from(before, samples.at.dim + 1);
  const std::vector<OnnxBatchDim> possible = possible_batch_dims(to, distance, file_batch_);
  OnnxSamples made = place_of(possible, to, distance, file_batch_);
  // Of two neighbours the one that is left open follows the batch of itself.
  for (const OnnxBatchDim& each : possible)
    if (!made.is_known() && stated[each.dim] == -1) made = {.place = OnnxSamples::Place::known, .at = each};
  if (!made.is_known())
    refuse_batch("which dimension gets the samples",
                 "export it with a symbol for the batch, or with two samples or more, or leave its batch");
  to[made.at.dim] = to[made.at.dim] / file_batch_ * batch_;
  view_as(node, to, made);
}

}  // namespace cairn::models
