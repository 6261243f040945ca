#include "cairn/pebble/generators.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "cairn/core/diagnostics.h"

namespace cairn::pebble {

namespace {

void require(bool holds, const std::string& generator, const std::string& message) {
  if (!holds) throw core::ConfigurationError("graph." + generator, message, "choose sizes in range");
}

// A dense array of vertices, the last index fastest.
class Grid {
 public:
  Grid(int rows, int columns) : columns_(columns), cells_(static_cast<std::size_t>(rows) * columns) {}
  Vertex& at(int row, int column) { return cells_[static_cast<std::size_t>(row) * columns_ + column]; }

 private:
  int columns_;
  std::vector<Vertex> cells_;
};

Grid input_grid(CdagBuilder& builder, int rows, int columns) {
  Grid grid(rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) grid.at(i, j) = builder.input();
  }
  return grid;
}

// C = A B as FMA chains with k outermost.
Grid fma_product(CdagBuilder& builder, Grid& a, Grid& b, MatmulShape shape) {
  Grid c(shape.m, shape.n);
  for (int k = 0; k < shape.k; ++k) {
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; ++j) {
        c.at(i, j) =
            k == 0 ? builder.compute({a.at(i, k), b.at(k, j)}) : builder.compute({a.at(i, k), b.at(k, j), c.at(i, j)});
      }
    }
  }
  return c;
}

// The same with the results one after the other.
Grid fma_product_by_result(CdagBuilder& builder, Grid& a, Grid& b, MatmulShape shape) {
  Grid c(shape.m, shape.n);
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < shape.n; ++j) {
      c.at(i, j) = builder.compute({a.at(i, 0), b.at(0, j)});
      for (int k = 1; k < shape.k; ++k) c.at(i, j) = builder.compute({a.at(i, k), b.at(k, j), c.at(i, j)});
    }
  }
  return c;
}

void label_outputs(CdagBuilder& builder, Grid& grid, int rows, int columns) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) builder.label_output(grid.at(i, j));
  }
}

Vertex chained_sum(CdagBuilder& builder, const std::vector<Vertex>& terms) {
  Vertex sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) sum = builder.compute({sum, terms[i]});
  return sum;
}

}  // namespace

Cdag chain_graph(int n) {
  require(n >= 1, "chain", "needs n >= 1");
  CdagBuilder builder;
  Vertex last = builder.input();
  for (int i = 0; i < n; ++i) last = builder.compute({last});
  builder.label_output(last);
  return builder.build();
}

Cdag binary_tree_graph(int leaves) {
  require(leaves >= 2 && std::has_single_bit(static_cast<unsigned>(leaves)), "bintree",
          "needs a power of two of leaves, at least 2");
  CdagBuilder builder;
  const std::function<Vertex(int)> sum = [&](int width) {
    if (width == 1) return builder.input();
    const Vertex left = sum(width / 2), right = sum(width / 2);
    return builder.compute({left, right});
  };
  builder.label_output(sum(leaves));
  return builder.build();
}

Cdag linear_sum_graph(int n) {
  require(n >= 2, "linsum", "needs n >= 2");
  CdagBuilder builder;
  std::vector<Vertex> terms;
  for (int i = 0; i < n; ++i) terms.push_back(builder.input());
  builder.label_output(chained_sum(builder, terms));
  return builder.build();
}

Cdag pyramid_graph(int r) {
  require(r >= 1, "pyramid", "needs r >= 1");
  CdagBuilder builder;
  std::vector<Vertex> row;
  for (int i = 0; i <= r; ++i) row.push_back(builder.input());
  while (row.size() > 1) {
    std::vector<Vertex> next;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) next.push_back(builder.compute({row[i], row[i + 1]}));
    row = std::move(next);
  }
  builder.label_output(row[0]);
  return builder.build();
}

Cdag fft_graph(int n) {
  require(n >= 2 && std::has_single_bit(static_cast<unsigned>(n)), "fft", "needs a power of two of points, at least 2");
  CdagBuilder builder;
  std::vector<Vertex> level;
  for (int i = 0; i < n; ++i) level.push_back(builder.input());
  for (int stride = 1; stride < n; stride *= 2) {
    std::vector<Vertex> next;
    for (int i = 0; i < n; ++i) next.push_back(builder.compute({level[i], level[i ^ stride]}));
    level = std::move(next);
  }
  for (Vertex v : level) builder.label_output(v);
  return builder.build();
}

Cdag outer_product_graph(int m, int n) {
  require(m >= 1 && n >= 1, "outer", "needs M, N >= 1");
  return matmul_graph({.m = m, .n = n, .k = 1});
}

Cdag matvec_graph(int m, int n) {
  require(m >= 1 && n >= 1, "matvec", "needs M, N >= 1");
  CdagBuilder builder;
  Grid a = input_grid(builder, m, n), x = input_grid(builder, n, 1);
  for (int i = 0; i < m; ++i) {
    Vertex sum = builder.compute({a.at(i, 0), x.at(0, 0)});
    for (int j = 1; j < n; ++j) sum = builder.compute({a.at(i, j), x.at(j, 0), sum});
    builder.label_output(sum);
  }
  return builder.build();
}

Cdag conv1d_graph(int n, int taps) {
  require(n >= 1 && taps >= 1, "conv1d", "needs n, k >= 1");
  CdagBuilder builder;
  std::vector<Vertex> x, w;
  for (int i = 0; i < n + taps - 1; ++i) x.push_back(builder.input());
  for (int j = 0; j < taps; ++j) w.push_back(builder.input());
  for (int i = 0; i < n; ++i) {
    Vertex sum = builder.compute({x[i], w[0]});
    for (int j = 1; j < taps; ++j) sum = builder.compute({x[i + j], w[j], sum});
    builder.label_output(sum);
  }
  return builder.build();
}

Cdag jacobi1d_graph(int n, int steps) {
  require(n >= 2 && steps >= 1, "jacobi1d", "needs n >= 2 and T >= 1");
  CdagBuilder builder;
  std::vector<Vertex> row;
  for (int i = 0; i < n; ++i) row.push_back(builder.input());
  for (int t = 0; t < steps; ++t) {
    std::vector<Vertex> next;
    for (int i = 0; i < n; ++i) {
      std::vector<Vertex> reads;
      for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) reads.push_back(row[j]);
      next.push_back(builder.compute(reads));
    }
    row = std::move(next);
  }
  for (Vertex v : row) builder.label_output(v);
  return builder.build();
}

Cdag diamond_graph(int n) {
  require(n >= 2, "diamond", "needs n >= 2");
  CdagBuilder builder;
  Grid grid(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      std::vector<Vertex> reads;
      if (i > 0) reads.push_back(grid.at(i - 1, j));
      if (j > 0) reads.push_back(grid.at(i, j - 1));
      grid.at(i, j) = reads.empty() ? builder.input() : builder.compute(reads);
    }
  }
  builder.label_output(grid.at(n - 1, n - 1));
  return builder.build();
}

Cdag dp_grid_graph(int m, int n) {
  require(m >= 1 && n >= 1, "dpgrid", "needs m, n >= 1");
  CdagBuilder builder;
  std::vector<Vertex> left, top;
  for (int i = 0; i < m; ++i) left.push_back(builder.input());
  for (int j = 0; j < n; ++j) top.push_back(builder.input());
  for (int i = 0; i < m; ++i) {
    Vertex before = left[i];
    for (int j = 0; j < n; ++j) {
      before = top[j] = builder.compute({top[j], before});
      if (i == m - 1 || j == n - 1) builder.label_output(before);
    }
  }
  return builder.build();
}

Cdag reduce_broadcast_graph(int n) {
  require(n >= 2, "reduce_bcast", "needs n >= 2");
  CdagBuilder builder;
  std::vector<Vertex> x;
  for (int i = 0; i < n; ++i) x.push_back(builder.input());
  const Vertex sum = chained_sum(builder, x);
  for (Vertex v : x) builder.label_output(builder.compute({sum, v}));
  return builder.build();
}

Cdag softmax_graph(int n) {
  require(n >= 2, "softmax_nomax", "needs n >= 2");
  CdagBuilder builder;
  std::vector<Vertex> x, e;
  for (int i = 0; i < n; ++i) x.push_back(builder.input());
  for (Vertex v : x) e.push_back(builder.compute({v}));
  const Vertex sum = chained_sum(builder, e);
  for (Vertex v : e) builder.label_output(builder.compute({sum, v}));
  return builder.build();
}

Cdag ladder_graph(int n, int m) {
  require(n >= 1 && m >= 0, "ladder", "needs n >= 1 and m >= 0");
  CdagBuilder builder;
  std::vector<Vertex> rungs;
  Vertex last = builder.input();
  for (int i = 0; i < n; ++i) rungs.push_back(last = builder.compute({last}));
  for (int i = 0; i < m; ++i) last = builder.compute({last});
  for (Vertex rung : rungs) last = builder.compute({last, rung});
  builder.label_output(last);
  return builder.build();
}

Cdag cholesky_graph(int n) {
  require(n >= 1, "cholesky", "needs n >= 1");
  CdagBuilder builder;
  Grid a(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) a.at(i, j) = builder.input();
  }
  for (int k = 0; k < n; ++k) {
    a.at(k, k) = builder.compute({a.at(k, k)});
    for (int i = k + 1; i < n; ++i) a.at(i, k) = builder.compute({a.at(i, k), a.at(k, k)});
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j <= i; ++j) a.at(i, j) = builder.compute({a.at(i, j), a.at(i, k), a.at(j, k)});
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) builder.label_output(a.at(i, j));
  }
  return builder.build();
}

Cdag lu_graph(int n) {
  require(n >= 1, "lu", "needs n >= 1");
  CdagBuilder builder;
  Grid a = input_grid(builder, n, n);
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) a.at(i, k) = builder.compute({a.at(i, k), a.at(k, k)});
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j < n; ++j) a.at(i, j) = builder.compute({a.at(i, j), a.at(i, k), a.at(k, j)});
    }
  }
  for (int i = 1; i < n; ++i) {
    for (int j = 0; j < n; ++j) builder.label_output(a.at(i, j));
  }
  return builder.build();
}

Cdag attention_graph(int n, int d) {
  require(n >= 1 && d >= 1, "attention_nomax", "needs N, d >= 1");
  CdagBuilder builder;
  Grid q = input_grid(builder, n, d), k = input_grid(builder, n, d), v = input_grid(builder, n, d);
  for (int i = 0; i < n; ++i) {
    std::vector<Vertex> e;
    for (int j = 0; j < n; ++j) {
      Vertex score = builder.compute({q.at(i, 0), k.at(j, 0)});
      for (int c = 1; c < d; ++c) score = builder.compute({q.at(i, c), k.at(j, c), score});
      e.push_back(builder.compute({score}));
    }
    const Vertex row_sum = chained_sum(builder, e);
    for (int c = 0; c < d; ++c) {
      Vertex o = builder.compute({e[0], v.at(0, c)});
      for (int j = 1; j < n; ++j) o = builder.compute({e[j], v.at(j, c), o});
      builder.label_output(builder.compute({o, row_sum}));
    }
  }
  return builder.build();
}

Cdag matmul_chain_graph(int m, int k, int n, int l) {
  require(m >= 1 && k >= 1 && n >= 1 && l >= 1, "matmul_chain2", "needs M, K, N, L >= 1");
  CdagBuilder builder;
  Grid a = input_grid(builder, m, k), b = input_grid(builder, k, n), d = input_grid(builder, n, l);
  Grid t = fma_product_by_result(builder, a, b, {.m = m, .n = n, .k = k});
  Grid out = fma_product_by_result(builder, t, d, {.m = m, .n = l, .k = n});
  label_outputs(builder, out, m, l);
  return builder.build();
}

namespace {

using Column = std::vector<Vertex>;

// y_i from x_{i-1}, x_i, x_{i+1}.
Column line_matrix_times(CdagBuilder& builder, const Column& x) {
  Column y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Column reads(x.begin() + static_cast<std::ptrdiff_t>(i == 0 ? 0 : i - 1),
                 x.begin() + static_cast<std::ptrdiff_t>(std::min(i + 2, x.size())));
    y.push_back(builder.compute(reads));
  }
  return y;
}

Vertex dot(CdagBuilder& builder, const Column& x, const Column& y) {
  Vertex sum = builder.compute({x[0], y[0]});
  for (std::size_t i = 1; i < x.size(); ++i) sum = builder.compute({x[i], y[i], sum});
  return sum;
}

// z_i from the factor, x_i and y_i.
Column combined(CdagBuilder& builder, Vertex factor, const Column& x, const Column& y) {
  Column z;
  for (std::size_t i = 0; i < x.size(); ++i) z.push_back(builder.compute({factor, x[i], y[i]}));
  return z;
}

}  // namespace

Cdag cg_graph(int n, int iterations) {
  require(n >= 1 && iterations >= 1, "cg", "needs n, T >= 1");
  CdagBuilder builder;
  Column x, r;
  for (int i = 0; i < n; ++i) x.push_back(builder.input());
  for (int i = 0; i < n; ++i) r.push_back(builder.input());
  Column p = r;
  Vertex squares = dot(builder, r, r);
  for (int k = 0; k < iterations; ++k) {
    const Column q = line_matrix_times(builder, p);
    const Vertex step = builder.compute({squares, dot(builder, p, q)});
    x = combined(builder, step, x, p);
    r = combined(builder, step, r, q);
    if (k + 1 == iterations) break;
    const Vertex squares_after = dot(builder, r, r);
    p = combined(builder, builder.compute({squares_after, squares}), r, p);
    squares = squares_after;
  }
  for (Vertex v : x) builder.label_output(v);
  return builder.build();
}

Cdag gmres_graph(int n, int iterations) {
  require(n >= 1 && iterations >= 1, "gmres", "needs n, m >= 1");
  CdagBuilder builder;
  std::vector<Column> basis(1);
  for (int i = 0; i < n; ++i) basis[0].push_back(builder.input());
  for (int j = 0; j < iterations; ++j) {
    Column w = line_matrix_times(builder, basis.back());
    Column h;
    for (const Column& v : basis) h.push_back(dot(builder, w, v));
    for (std::size_t i = 0; i < basis.size(); ++i) w = combined(builder, h[i], w, basis[i]);
    const Vertex norm = dot(builder, w, w);
    Column next;
    for (Vertex v : w) next.push_back(builder.compute({norm, v}));
    for (Vertex v : next) builder.label_output(v);
    basis.push_back(std::move(next));
  }
  return builder.build();
}

Cdag matmul_graph(MatmulShape shape, MatmulForm form) {
  require(shape.m >= 1 && shape.n >= 1 && shape.k >= 1, "matmul", "needs M, N, K >= 1");
  CdagBuilder builder;
  Grid a = input_grid(builder, shape.m, shape.k), b = input_grid(builder, shape.k, shape.n);
  if (form == MatmulForm::fma) {
    Grid c = fma_product(builder, a, b, shape);
    label_outputs(builder, c, shape.m, shape.n);
    return builder.build();
  }
  Grid c(shape.m, shape.n);
  if (form == MatmulForm::accumulate) c = input_grid(builder, shape.m, shape.n);
  for (int k = 0; k < shape.k; ++k) {
    for (int i = 0; i < shape.m; ++i) {
      for (int j = 0; j < shape.n; ++j) {
        if (form == MatmulForm::accumulate) {
          c.at(i, j) = builder.compute({a.at(i, k), b.at(k, j), c.at(i, j)});
        } else {
          const Vertex product = builder.compute({a.at(i, k), b.at(k, j)});
          c.at(i, j) = k == 0 ? product : builder.compute({product, c.at(i, j)});
        }
      }
    }
  }
  label_outputs(builder, c, shape.m, shape.n);
  return builder.build();
}

namespace {

struct Generator {
  std::vector<std::string> parameters;
  std::function<Cdag(const std::vector<int>&)> make;
};

const std::map<std::string, Generator>& registry() {
  using P = const std::vector<int>&;
  static const std::map<std::string, Generator> generators = {
      {"chain", {{"n"}, [](P p) { return chain_graph(p[0]); }}},
      {"bintree", {{"leaves"}, [](P p) { return binary_tree_graph(p[0]); }}},
      {"linsum", {{"n"}, [](P p) { return linear_sum_graph(p[0]); }}},
      {"pyramid", {{"r"}, [](P p) { return pyramid_graph(p[0]); }}},
      {"fft", {{"n"}, [](P p) { return fft_graph(p[0]); }}},
      {"outer", {{"M", "N"}, [](P p) { return outer_product_graph(p[0], p[1]); }}},
      {"matvec", {{"M", "N"}, [](P p) { return matvec_graph(p[0], p[1]); }}},
      {"conv1d", {{"n", "k"}, [](P p) { return conv1d_graph(p[0], p[1]); }}},
      {"jacobi1d", {{"n", "T"}, [](P p) { return jacobi1d_graph(p[0], p[1]); }}},
      {"diamond", {{"n"}, [](P p) { return diamond_graph(p[0]); }}},
      {"cg", {{"n", "T"}, [](P p) { return cg_graph(p[0], p[1]); }}},
      {"gmres", {{"n", "m"}, [](P p) { return gmres_graph(p[0], p[1]); }}},
      {"dpgrid", {{"m", "n"}, [](P p) { return dp_grid_graph(p[0], p[1]); }}},
      {"reduce_bcast", {{"n"}, [](P p) { return reduce_broadcast_graph(p[0]); }}},
      {"softmax_nomax", {{"n"}, [](P p) { return softmax_graph(p[0]); }}},
      {"ladder", {{"n", "m"}, [](P p) { return ladder_graph(p[0], p[1]); }}},
      {"cholesky", {{"n"}, [](P p) { return cholesky_graph(p[0]); }}},
      {"lu", {{"n"}, [](P p) { return lu_graph(p[0]); }}},
      {"attention_nomax", {{"N", "d"}, [](P p) { return attention_graph(p[0], p[1]); }}},
      {"matmul_chain2", {{"M", "K", "N", "L"}, [](P p) { return matmul_chain_graph(p[0], p[1], p[2], p[3]); }}},
      {"matmul", {{"M", "N", "K"}, [](P p) { return matmul_graph({.m = p[0], .n = p[1], .k = p[2]}); }}},
      {"matmul_acc",
       {{"M", "N", "K"}, [](P p) { return matmul_graph({.m = p[0], .n = p[1], .k = p[2]}, MatmulForm::accumulate); }}},
      {"matmul_muladd",
       {{"M", "N", "K"},
        [](P p) { return matmul_graph({.m = p[0], .n = p[1], .k = p[2]}, MatmulForm::multiply_add); }}},
  };
  return generators;
}

}  // namespace

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const auto& [name, generator] : registry()) names.push_back(name);
  return names;
}

Cdag generate(const std::string& name, const Parameters& parameters) {
  const auto found = registry().find(name);
  if (found == registry().end()) {
    const std::string near = core::nearest(name, generator_names());
    throw core::ConfigurationError("graph", "unknown generator '" + name + "'",
                                   near.empty() ? "see the list of generators" : "did you mean '" + near + "'?");
  }
  std::vector<int> values;
  for (const std::string& key : found->second.parameters) {
    const auto value = parameters.find(key);
    if (value == parameters.end())
      throw core::ConfigurationError("graph." + name, "parameter " + key + " is missing", "give " + key + "=...");
    values.push_back(value->second);
  }
  for (const auto& [key, value] : parameters) {
    const auto& known = found->second.parameters;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw core::ConfigurationError("graph." + name, "unknown parameter " + key,
                                     "parameters are those of the generator's declaration");
    }
  }
  return found->second.make(values);
}

}  // namespace cairn::pebble
