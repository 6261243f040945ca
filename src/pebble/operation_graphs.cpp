#include "operation_graphs.h"

#include <algorithm>

namespace cairn::pebble {

namespace {

using Row = std::vector<Vertex>;

std::vector<Row> input_rows(CdagBuilder& builder, Words rows, Words columns) {
  std::vector<Row> all(static_cast<std::size_t>(rows));
  for (Row& row : all) {
    for (Words i = 0; i < columns; ++i) row.push_back(builder.input());
  }
  return all;
}

// sum over i of a[i] b[i] as one running sum.
Vertex dot_product(CdagBuilder& builder, const Row& a, const Row& b) {
  Vertex sum = builder.compute({a[0], b[0]});
  for (std::size_t i = 1; i < a.size(); ++i) sum = builder.compute({a[i], b[i], sum});
  return sum;
}

// One query row against `keys` rows of keys and values.
void attend(CdagBuilder& builder, const Row& query, std::size_t keys, const std::vector<Row>& k,
            const std::vector<Row>& v) {
  Row weights;
  for (std::size_t j = 0; j < keys; ++j) weights.push_back(builder.compute({dot_product(builder, query, k[j])}));
  Vertex sum = weights[0];
  for (std::size_t j = 1; j < keys; ++j) sum = builder.compute({sum, weights[j]});
  for (std::size_t c = 0; c < query.size(); ++c) {
    Vertex out = builder.compute({weights[0], v[0][c]});
    for (std::size_t j = 1; j < keys; ++j) out = builder.compute({weights[j], v[j][c], out});
    builder.label_output(builder.compute({out, sum}));
  }
}

// The same with a running maximum.
void attend_online(CdagBuilder& builder, const Row& query, std::size_t keys, const std::vector<Row>& k,
                   const std::vector<Row>& v) {
  Vertex maximum = dot_product(builder, query, k[0]);
  Vertex sum = builder.compute({maximum});
  Row out;
  for (std::size_t c = 0; c < query.size(); ++c) out.push_back(builder.compute({sum, v[0][c]}));
  for (std::size_t j = 1; j < keys; ++j) {
    const Vertex score = dot_product(builder, query, k[j]);
    const Vertex larger = builder.compute({maximum, score});
    const Vertex weight = builder.compute({score, larger});
    const Vertex scale = builder.compute({maximum, larger});
    maximum = larger;
    sum = builder.compute({scale, sum, weight});
    for (std::size_t c = 0; c < query.size(); ++c) out[c] = builder.compute({weight, v[j][c], scale, out[c]});
  }
  for (const Vertex each : out) builder.label_output(builder.compute({each, sum}));
}

}  // namespace

Cdag copies(const Cdag& graph, Words times) {
  CdagBuilder builder;
  for (Words copy = 0; copy < times; ++copy) {
    const auto base = static_cast<Vertex>(builder.size());
    for (Vertex v = 0; v < graph.size(); ++v) {
      builder.vertex(graph.weight(v));
      if (graph.is_input(v)) builder.label_input(base + v);
      if (graph.is_output(v)) builder.label_output(base + v);
    }
    for (Vertex v = 0; v < graph.size(); ++v) {
      for (Vertex p : graph.predecessors(v)) builder.edge(base + p, base + v);
    }
  }
  return builder.build();
}

Cdag attention_graph(const AttentionSizes& sizes) {
  CdagBuilder builder;
  const Words group = sizes.heads / sizes.kv_heads;
  for (Words shared = 0; shared < sizes.batch * sizes.kv_heads; ++shared) {
    const auto q = input_rows(builder, group * sizes.sequence, sizes.head_dim);
    const auto k = input_rows(builder, sizes.sequence, sizes.head_dim);
    const auto v = input_rows(builder, sizes.sequence, sizes.head_dim);
    for (std::size_t row = 0; row < q.size(); ++row) {
      const auto position = row % static_cast<std::size_t>(sizes.sequence);
      const std::size_t keys = sizes.causal ? position + 1 : k.size();
      if (sizes.online)
        attend_online(builder, q[row], keys, k, v);
      else
        attend(builder, q[row], keys, k, v);
    }
  }
  return builder.build();
}

Cdag attention_backward_graph(const AttentionSizes& sizes) {
  CdagBuilder builder;
  const auto channels = static_cast<std::size_t>(sizes.head_dim);
  const auto add = [&](Row& sums, std::size_t c, Vertex a, Vertex b) {
    if (sums.size() == c)
      sums.push_back(builder.compute({a, b}));
    else
      sums[c] = builder.compute({a, b, sums[c]});
  };
  const auto finish = [&](const std::vector<Row>& rows) {
    for (const Row& row : rows)
      for (Vertex v : row) builder.label_output(v);
  };
  const Words group = sizes.heads / sizes.kv_heads;
  for (Words shared = 0; shared < sizes.batch * sizes.kv_heads; ++shared) {
    const auto q = input_rows(builder, group * sizes.sequence, sizes.head_dim);
    const auto d_o = input_rows(builder, group * sizes.sequence, sizes.head_dim);
    const auto statistics = input_rows(builder, group * sizes.sequence, 2);
    const auto k = input_rows(builder, sizes.sequence, sizes.head_dim);
    const auto v = input_rows(builder, sizes.sequence, sizes.head_dim);
    std::vector<Row> dq(q.size()), dk(k.size()), dv(k.size());
    for (std::size_t j = 0; j < k.size(); ++j) {
      for (std::size_t i = 0; i < q.size(); ++i) {
        if (sizes.causal && i % k.size() < j) continue;
        const Vertex p = builder.compute({dot_product(builder, q[i], k[j]), statistics[i][0]});
        const Vertex dp = dot_product(builder, d_o[i], v[j]);
        const Vertex ds = builder.compute({p, dp, statistics[i][1]});
        for (std::size_t c = 0; c < channels; ++c) {
          add(dv[j], c, p, d_o[i][c]);
          add(dq[i], c, ds, k[j][c]);
          add(dk[j], c, ds, q[i][c]);
        }
      }
    }
    finish(dq);
    finish(dk);
    finish(dv);
  }
  return builder.build();
}

Cdag embedding_graph(const EmbeddingSizes& sizes) {
  CdagBuilder builder;
  const auto rows = input_rows(builder, sizes.distinct_rows, sizes.width);
  for (Words token = 0; token < sizes.tokens; ++token) {
    const Vertex id = builder.input();
    for (Vertex word : rows[static_cast<std::size_t>(token % sizes.distinct_rows)])
      builder.label_output(builder.compute({id, word}));
  }
  return builder.build();
}

Cdag syrk_graph(Words n, Words m) {
  CdagBuilder builder;
  const auto a = input_rows(builder, n, m);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) builder.label_output(dot_product(builder, a[i], a[j]));
  }
  return builder.build();
}

Cdag star_stencil_graph(const JacobiSizes& sizes) {
  CdagBuilder builder;
  const Words n = sizes.points_per_dimension;
  Words points = 1;
  for (int d = 0; d < sizes.dimensions; ++d) points *= n;
  Row now;
  for (Words i = 0; i < points; ++i) now.push_back(builder.input());
  for (Words step = 0; step < sizes.steps; ++step) {
    Row next;
    for (Words point = 0; point < points; ++point) {
      Row reads{now[static_cast<std::size_t>(point)]};
      Words stride = 1;
      for (int d = 0; d < sizes.dimensions; ++d, stride *= n) {
        const Words at = point / stride % n;
        if (at > 0) reads.push_back(now[static_cast<std::size_t>(point - stride)]);
        if (at + 1 < n) reads.push_back(now[static_cast<std::size_t>(point + stride)]);
      }
      next.push_back(builder.compute(reads));
    }
    now = std::move(next);
  }
  for (Vertex v : now) builder.label_output(v);
  return builder.build();
}

}  // namespace cairn::pebble
