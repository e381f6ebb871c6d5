// Causal attention within documents and the gate of the feed-forward network, forward and backward, for processors with
// AVX-512 BF16. Inputs and outputs are bfloat16, everything in between is float32. Heads have 64 dimensions.
//
// Rows hold many short documents. A framework's attention computes all pairs of a row and masks most of them; this computes
// the pairs within a document only.

#include <immintrin.h>

#include <cstdint>
#include <vector>

namespace {

constexpr int DIM = 64;
constexpr int BLOCK = 8;  // rows of a product that are computed together
constexpr float SCALE = 0.125f;  // 1 / sqrt(DIM)

int rounded(int value, int to) { return (value + to - 1) / to * to; }

__m512 from_bf16(const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16));
}

void to_bf16(uint16_t* to, __m512 value) { _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value)); }

// e^x by a polynomial of degree 5 for the fraction of x / ln 2.
__m512 exponential(__m512 x) {
    __m512 scaled = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    scaled = _mm512_min_ps(_mm512_max_ps(scaled, _mm512_set1_ps(-120.0f)), _mm512_set1_ps(120.0f));
    const __m512 whole = _mm512_roundscale_ps(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 f = _mm512_sub_ps(scaled, whole);
    __m512 p = _mm512_set1_ps(1.3333558e-3f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(9.6181291e-3f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(5.5504109e-2f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(2.4022651e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(6.9314718e-1f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, whole);
}

// C[8][16 V] = sum over k of A(r, k) B[k], where A(r, k) lies at a[r * row + k * column].
template <int V>
void product_block(const float* a, long row, long column, const float* b, long ldb, float* c, long ldc, int k0, int k1, bool add) {
    __m512 sums[BLOCK][V];
    for (int r = 0; r < BLOCK; r++)
        for (int v = 0; v < V; v++) sums[r][v] = add ? _mm512_loadu_ps(c + r * ldc + 16 * v) : _mm512_setzero_ps();
    for (int k = k0; k < k1; k++) {
        __m512 right[V];
        for (int v = 0; v < V; v++) right[v] = _mm512_loadu_ps(b + k * ldb + 16 * v);
        for (int r = 0; r < BLOCK; r++) {
            const __m512 left = _mm512_set1_ps(a[r * row + k * column]);
            for (int v = 0; v < V; v++) sums[r][v] = _mm512_fmadd_ps(left, right[v], sums[r][v]);
        }
    }
    for (int r = 0; r < BLOCK; r++)
        for (int v = 0; v < V; v++) _mm512_storeu_ps(c + r * ldc + 16 * v, sums[r][v]);
}

// The same for any number of columns that is a multiple of 16.
void product(const float* a, long row, long column, const float* b, long ldb, float* c, long ldc, int columns, int k0, int k1,
    bool add = false) {
    int n = 0;
    for (; n + 32 <= columns; n += 32) product_block<2>(a, row, column, b + n, ldb, c + n, ldc, k0, k1, add);
    if (n < columns) product_block<1>(a, row, column, b + n, ldb, c + n, ldc, k0, k1, add);
}

// Rows of one head and document, zero beyond their number; `stride` separates tokens.
void load(const uint16_t* from, long stride, int length, std::vector<float>& to) {
    to.assign((size_t)rounded(length, 16) * DIM, 0.0f);
    for (int i = 0; i < length; i++)
        for (int d = 0; d < DIM; d += 16) _mm512_storeu_ps(&to[i * DIM + d], from_bf16(from + i * stride + d));
}

void store(const std::vector<float>& from, uint16_t* to, long stride, int length) {
    for (int i = 0; i < length; i++)
        for (int d = 0; d < DIM; d += 16) to_bf16(to + i * stride + d, _mm512_loadu_ps(&from[i * DIM + d]));
}

void transpose(const std::vector<float>& from, int padded, std::vector<float>& to) {
    to.resize((size_t)padded * DIM);
    for (int i = 0; i < padded; i++)
        for (int d = 0; d < DIM; d++) to[(size_t)d * padded + i] = from[(size_t)i * DIM + d];
}

// Calls `visit(first token, length)` for each document of a row.
template <typename Visit>
void each_document(const int64_t* documents, long length, Visit visit) {
    for (long start = 0; start < length;) {
        long end = start + 1;
        while (end < length && documents[end] == documents[start]) end++;
        visit(start, (int)(end - start));
        start = end;
    }
}

// Weights of row i from its scores, zero after i up to `columns`; `log_sum` is the logarithm of the sum of exponentials.
void weigh(float* scores, int i, int columns, float log_sum) {
    for (int j = 0; j < columns; j += 16) {
        const __mmask16 seen = j + 15 <= i ? 0xffff : (j > i ? 0 : (__mmask16)((1u << (i - j + 1)) - 1));
        const __m512 x = _mm512_fmadd_ps(_mm512_loadu_ps(scores + j), _mm512_set1_ps(SCALE), _mm512_set1_ps(-log_sum));
        _mm512_storeu_ps(scores + j, _mm512_maskz_mov_ps(seen, exponential(x)));
    }
}

float log_sum_of(const float* scores, int i) {
    __m512 largest = _mm512_set1_ps(-1e30f);
    for (int j = 0; j <= i; j += 16) {
        const __mmask16 seen = j + 15 <= i ? 0xffff : (__mmask16)((1u << (i - j + 1)) - 1);
        largest = _mm512_mask_max_ps(largest, seen, largest, _mm512_loadu_ps(scores + j));
    }
    const float top = _mm512_reduce_max_ps(largest) * SCALE;
    __m512 sum = _mm512_setzero_ps();
    for (int j = 0; j <= i; j += 16) {
        const __mmask16 seen = j + 15 <= i ? 0xffff : (__mmask16)((1u << (i - j + 1)) - 1);
        const __m512 x = _mm512_fmadd_ps(_mm512_loadu_ps(scores + j), _mm512_set1_ps(SCALE), _mm512_set1_ps(-top));
        sum = _mm512_mask_add_ps(sum, seen, sum, exponential(x));
    }
    return top + __builtin_logf(_mm512_reduce_add_ps(sum));
}

}  // namespace

// Shapes: query and output [rows, length, heads, 64], key and value [rows, length, kv_heads, 64], log_sums
// [rows, length, heads], documents [rows, length].
extern "C" void attention_forward(const uint16_t* query, const uint16_t* key, const uint16_t* value, const int64_t* documents,
    uint16_t* output, float* log_sums, long rows, long length, long heads, long kv_heads) {
    std::vector<float> q, k, v, keys, scores, out;
    const long q_stride = heads * DIM, kv_stride = kv_heads * DIM;
    for (long row = 0; row < rows; row++)
        for (int head = 0; head < (int)heads; head++)
            each_document(documents + row * length, length, [&](long start, int size) {
                const long token = row * length + start;
                const long at = token * q_stride + head * DIM;
                const long kv_at = token * kv_stride + head / (heads / kv_heads) * DIM;
                const int padded = rounded(size, 16);
                load(query + at, q_stride, size, q);
                load(key + kv_at, kv_stride, size, k);
                load(value + kv_at, kv_stride, size, v);
                transpose(k, padded, keys);
                scores.resize((size_t)BLOCK * padded);
                out.resize((size_t)padded * DIM);
                for (int i0 = 0; i0 < size; i0 += BLOCK) {
                    const int columns = rounded(i0 + BLOCK, 16);
                    product(&q[(size_t)i0 * DIM], DIM, 1, keys.data(), padded, scores.data(), padded, columns, 0, DIM);
                    for (int r = 0; r < BLOCK; r++) {
                        const float log_sum = log_sum_of(&scores[(size_t)r * padded], i0 + r);
                        if (i0 + r < size) log_sums[(token + i0 + r) * heads + head] = log_sum;
                        weigh(&scores[(size_t)r * padded], i0 + r, columns, log_sum);
                    }
                    product(scores.data(), padded, 1, v.data(), DIM, &out[(size_t)i0 * DIM], DIM, DIM, 0, i0 + BLOCK);
                }
                store(out, output + at, q_stride, size);
            });
}

extern "C" void attention_backward(const uint16_t* query, const uint16_t* key, const uint16_t* value, const int64_t* documents,
    const uint16_t* output, const float* log_sums, const uint16_t* d_output, uint16_t* d_query, uint16_t* d_key,
    uint16_t* d_value, long rows, long length, long heads, long kv_heads) {
    std::vector<float> q, k, v, o, d_o, keys, values, weights, d_scores, d_q, d_k, d_v;
    const long q_stride = heads * DIM, kv_stride = kv_heads * DIM;
    const int group = (int)(heads / kv_heads);
    for (long row = 0; row < rows; row++)
        for (int kv_head = 0; kv_head < (int)kv_heads; kv_head++)
            each_document(documents + row * length, length, [&](long start, int size) {
                const long token = row * length + start;
                const long kv_at = token * kv_stride + kv_head * DIM;
                const int padded = rounded(size, 16);
                load(key + kv_at, kv_stride, size, k);
                load(value + kv_at, kv_stride, size, v);
                transpose(k, padded, keys);
                transpose(v, padded, values);
                weights.resize((size_t)padded * padded);
                d_scores.resize((size_t)padded * padded);
                d_q.resize((size_t)padded * DIM);
                d_k.resize((size_t)padded * DIM);
                d_v.resize((size_t)padded * DIM);
                for (int member = 0; member < group; member++) {
                    const int head = kv_head * group + member;
                    const long at = token * q_stride + head * DIM;
                    load(query + at, q_stride, size, q);
                    load(output + at, q_stride, size, o);
                    load(d_output + at, q_stride, size, d_o);
                    for (int i0 = 0; i0 < size; i0 += BLOCK) {
                        const int columns = rounded(i0 + BLOCK, 16);
                        float* w = &weights[(size_t)i0 * padded];
                        float* d = &d_scores[(size_t)i0 * padded];
                        product(&q[(size_t)i0 * DIM], DIM, 1, keys.data(), padded, w, padded, columns, 0, DIM);
                        product(&d_o[(size_t)i0 * DIM], DIM, 1, values.data(), padded, d, padded, columns, 0, DIM);
                        for (int i = i0; i < i0 + BLOCK; i++, w += padded, d += padded) {
                            // Rows after the end have no output and must add nothing: their weights are zero.
                            weigh(w, i, columns, i < size ? log_sums[(token + i) * heads + head] : 1e30f);
                            __m512 dot = _mm512_setzero_ps();
                            for (int c = 0; c < DIM; c += 16)
                                dot = _mm512_fmadd_ps(_mm512_loadu_ps(&o[(size_t)i * DIM + c]),
                                    _mm512_loadu_ps(&d_o[(size_t)i * DIM + c]), dot);
                            const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(dot));
                            for (int j = 0; j < columns; j += 16)
                                _mm512_storeu_ps(d + j, _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(w + j),
                                    _mm512_sub_ps(_mm512_loadu_ps(d + j), mean)), _mm512_set1_ps(SCALE)));
                        }
                        product(&d_scores[(size_t)i0 * padded], padded, 1, k.data(), DIM, &d_q[(size_t)i0 * DIM], DIM, DIM, 0,
                            i0 + BLOCK);
                    }
                    const int last = rounded(size, BLOCK);
                    for (int j0 = 0; j0 < size; j0 += BLOCK) {
                        product(&weights[j0], 1, padded, d_o.data(), DIM, &d_v[(size_t)j0 * DIM], DIM, DIM, j0, last, member > 0);
                        product(&d_scores[j0], 1, padded, q.data(), DIM, &d_k[(size_t)j0 * DIM], DIM, DIM, j0, last, member > 0);
                    }
                    store(d_q, d_query + at, q_stride, size);
                }
                store(d_k, d_key + kv_at, kv_stride, size);
                store(d_v, d_value + kv_at, kv_stride, size);
            });
}

// `gate_up` [rows, length, 2 width] holds gates and values; output [rows, length, width] = silu(gate) * value. The width is a
// multiple of 16.
extern "C" void gate_forward(const uint16_t* gate_up, uint16_t* output, long rows, long length, long width) {
    const __m512 one = _mm512_set1_ps(1.0f);
    for (long token = 0; token < rows * length; token++, gate_up += 2 * width, output += width)
        for (int i = 0; i < width; i += 16) {
            const __m512 gate = from_bf16(gate_up + i);
            const __m512 inverse = _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), gate)));
            to_bf16(output + i, _mm512_mul_ps(_mm512_div_ps(gate, inverse), from_bf16(gate_up + width + i)));
        }
}

extern "C" void gate_backward(const uint16_t* gate_up, const uint16_t* d_output, uint16_t* d_gate_up, long rows, long length,
    long width) {
    const __m512 one = _mm512_set1_ps(1.0f);
    for (long token = 0; token < rows * length; token++, gate_up += 2 * width, d_gate_up += 2 * width, d_output += width)
        for (int i = 0; i < width; i += 16) {
            const __m512 gate = from_bf16(gate_up + i), d = from_bf16(d_output + i);
            const __m512 sigmoid =
                _mm512_div_ps(one, _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), gate))));
            const __m512 silu = _mm512_mul_ps(gate, sigmoid);
            // silu' = sigmoid + silu (1 - sigmoid)
            const __m512 slope = _mm512_fmadd_ps(silu, _mm512_sub_ps(one, sigmoid), sigmoid);
            to_bf16(d_gate_up + i, _mm512_mul_ps(_mm512_mul_ps(d, slope), from_bf16(gate_up + width + i)));
            to_bf16(d_gate_up + width + i, _mm512_mul_ps(d, silu));
        }
}
