#include "cairn/report/glossary.h"

#include <algorithm>
#include <cctype>

namespace cairn::report {
namespace {

constexpr Term k_terms[] = {
    {"activations", "What a forward pass keeps for the backward pass: inputs of operators that gradients need."},
    {"allocated_peak", "The most bytes of tensors that are alive at once on a device."},
    {"analytic", "The evaluation that adds up and compares times of whole layers, without simulating each kernel."},
    {"assumption",
     "What the answer takes for granted because nothing says otherwise; another value changes the answer."},
    {"B",
     "Of counts: a billion, 10^9, as K, M and T are 10^3, 10^6 and 10^12; bytes are counted in KiB, MiB, GiB: powers "
     "of 1,024."},
    {"balance", "Of work shared out over ranks: the average load over that of the rank that has most."},
    {"border", "Of placements: time of making whole what leaves the network."},
    {"bound", "A number that no execution goes below, proved for the computation and not for one program."},
    {"boxing", "Collectives that change how a tensor is placed between two operators that want it differently."},
    {"bubble", "Time in which a stage has nothing to do because it waits for another stage or rank."},
    {"bucket", "Gradients or parameters of several layers that are sent together."},
    {"busbw",
     "Bandwidth as nccl-tests reports it: bytes over time, times a factor that makes collectives of any number "
     "of ranks comparable with a link's bandwidth."},
    {"calibration", "Measured speeds of an accelerator's kernels and transfers, from which their times are computed."},
    {"capacity", "The memory of a device that processes can have: what is built in, less the driver's share."},
    {"chunk", "The layers of one virtual stage; a device of an interleaved schedule holds several."},
    {"compute", "Time in which kernels of the forward and backward pass run."},
    {"cp", "Context parallelism: ranks that share the tokens of each sequence."},
    {"cp_exposed", "Time of waiting for context-parallel transfers that nothing hides."},
    {"device_peak",
     "What nvidia-smi shows at the peak: reserved memory, and what the libraries and communicators take."},
    {"domain", "Accelerators that one fast network joins, such as the eight of a node or the 72 of a rack."},
    {"dp", "Data parallelism: ranks that hold the same parameters and take different sequences."},
    {"dp_exposed", "Time of waiting for gradients and parameters of data parallelism that nothing hides."},
    {"driver", "Memory of a device that no process can have, because the driver and error correction keep it."},
    {"edp", "Data parallelism among ranks that hold the same experts."},
    {"ep", "Expert parallelism: ranks that hold different experts and exchange tokens with all-to-alls."},
    {"ep_exposed", "Time of waiting for exchanges with experts that nothing hides."},
    {"etp", "Tensor parallelism inside an expert."},
    {"evaluated", "Of points of a search: those whose time is known."},
    {"event",
     "The evaluation that simulates each kernel and transfer in time, so that overlapping ones can share links."},
    {"excluded", "Of points of a search: those that a condition leaves out."},
    {"exposed", "Not hidden: time of a transfer in which no kernel runs beside it."},
    {"floor", "The least time or the fewest bytes that one piece of the work must take on its own, by the data sheet."},
    {"gradients", "Derivatives of the loss by the parameters, in the format that they are kept in."},
    {"headroom", "Memory that is left of the capacity at the peak; negative where it is missing."},
    {"HFU",
     "Hardware FLOPs utilisation: FLOPs that are executed, recomputation included, over what the dense peak would do."},
    {"host",
     "The processor and memory beside the accelerators: as time, waiting for it to issue kernels; as memory, what is "
     "offloaded to it."},
    {"illegal", "Of points of a search: those whose settings contradict one another, the model or the machine."},
    {"imbalance", "More work than the average stage has, for which the other stages wait."},
    {"interval",
     "Where eight runs in ten like this one were found around their predictions: wider where nothing like it was "
     "measured."},
    {"launch", "Time in which a device waits between two kernels because each takes a while to start."},
    {"links_exposed", "Time after all work, until links that overlapping transfers share have carried everything."},
    {"MFU",
     "Model FLOPs utilisation: FLOPs that the model needs, without recomputation, over what the dense peak of all "
     "accelerators would do in the step."},
    {"micro-batch", "The sequences that pass through a pipeline together; a step takes several, one after another."},
    {"offload", "State or activations that are kept on the host or on drives and copied when they are needed."},
    {"offload_exposed", "Time of waiting for copies from and to the host that nothing hides."},
    {"optimizer",
     "The update of the parameters at the end of a step; as memory, what it keeps between steps, such as a "
     "master copy and moments."},
    {"other", "Time that no other label explains; it is 0."},
    {"parameters", "Weights of the model in the format that kernels read."},
    {"placement",
     "How a tensor or an operator lies along each axis of a mesh: split over a dimension S(d), whole on each device B, "
     "or "
     "as summands P that are still to be added."},
    {"pp", "Pipeline parallelism: stages that hold different layers."},
    {"pp_exposed", "Time of waiting for messages between pipeline stages that nothing hides."},
    {"pruned", "Of points of a search: those that a bound proves no faster than what was found."},
    {"rank", "One process of the job, which has one accelerator."},
    {"ranks", "As time of a bubble: waiting for slower ranks of a group."},
    {"recompute", "Time in which forward kernels run again in the backward pass, because their results were not kept."},
    {"reserved_peak", "The most bytes that the framework's allocator holds, with gaps between tensors."},
    {"scale-out", "The network between domains, such as InfiniBand or Ethernet between nodes."},
    {"scale-up", "The fast network inside a domain, such as NVLink inside a node."},
    {"schedule",
     "The order in which stages do their passes; as time of a bubble, what filling and draining the pipeline takes."},
    {"sequence parallelism",
     "Norms and dropouts that tensor-parallel ranks share by tokens, in place of each doing all of them."},
    {"sharded",
     "Of layers: ranks that hold copies each keep a part of parameters, gradients and optimizer state, and gather the "
     "parameters before they use them."},
    {"sp", "Sequence parallelism."},
    {"stage", "The part of a pipeline that one device, or one tensor-parallel group of devices, holds."},
    {"statistics", "Of placements: time of adding up sums over rows that are split, as a normalisation needs."},
    {"step", "One update of the parameters: forward and backward of a global batch, and the optimizer."},
    {"storage", "Drives of a node to which state or activations are offloaded."},
    {"straggler", "A rank that is slower than the others, for whom they wait."},
    {"tight", "It fits, with less than 5 % of the capacity to spare, so that a real run may still run out of memory."},
    {"tp", "Tensor parallelism: ranks that share the matrices of each layer."},
    {"tp_exposed", "Time of waiting for tensor-parallel transfers that nothing hides."},
    {"transfers", "As time of a bubble: what transfers of other stages take."},
    {"unfit", "Of points of a search: those that need more memory than there is."},
    {"virtual stage", "One of several pieces of a pipeline that a device holds under an interleaved schedule."},
    {"warm-up", "The forward passes that a stage does before its first backward pass."},
    {"workspace",
     "Memory that kernels and collectives use while they run: temporary results, buffers and gathered parameters."},
    {"ZeRO 1", "Data-parallel ranks share the optimizer's state: each updates its part and gathers the others'."},
    {"ZeRO 2", "ZeRO 1 in which each rank also keeps only its part of the gradients."},
    {"ZeRO 3",
     "ZeRO 2 in which each rank also keeps only its part of the parameters and gathers a layer before it is used."},
};

char folded(char c) {
  return c == '_' || c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return folded(x) == folded(y); });
}

}  // namespace

std::span<const Term> glossary() { return k_terms; }

const Term* explained(std::string_view word) {
  const auto* found = std::find_if(std::begin(k_terms), std::end(k_terms),
                                   [&](const Term& term) { return same_word(term.word, word); });
  return found == std::end(k_terms) ? nullptr : found;
}

}  // namespace cairn::report
