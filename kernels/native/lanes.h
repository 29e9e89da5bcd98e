// Vectors of LANES doubles and the size of tiles, by instruction set. Each source is compiled once for every instruction set of
// the processor family. Its functions have the name of the set as a suffix, for example `product_avx2`.
#ifndef LANES_H
#define LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(SET) || !defined(LANES)
#error "compile with -DSET=<name of the instruction set> -DLANES=<doubles in a vector>"
#endif

// A tile has TILE_ROWS x TILE_COLUMNS accumulators, which fill the registers. LANES divides TILE_ROWS, TILE_ROWS divides
// TILE_COLUMNS and 64, and TILE_COLUMNS divides 48.
#if LANES == 8
#define TILE_ROWS 8
#define TILE_VECTORS 3
#elif LANES == 4
#define TILE_ROWS 4
#define TILE_VECTORS 3
#elif defined(__aarch64__)
#define TILE_ROWS 4
#define TILE_VECTORS 4
#else
#define TILE_ROWS 4
#define TILE_VECTORS 2
#endif
#define TILE_COLUMNS (TILE_VECTORS * LANES)

typedef double vector __attribute__((vector_size(LANES * 8)));
typedef double vector_anywhere __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

#define NAME_OF(name, set) name##_##set
#define NAME_IN(name, set) NAME_OF(name, set)
/** Name of the function `name` for this instruction set. */
#define KERNEL(name) NAME_IN(name, SET)
#define INLINE static inline __attribute__((always_inline))

INLINE vector load(const double *from) { return *(const vector_anywhere *)from; }

INLINE void store(double *to, vector value) { *(vector_anywhere *)to = value; }

/** Unrolled loop with a small constant number of iterations, so that the arrays that it indexes stay in registers. */
#define EACH _Pragma("GCC unroll 8") for

/**
 * Multiplies each element of a vector by a number. GCC would first broadcast the number to a register, which uses the slot of
 * an addition on AMD processors. A broadcast within the multiplication is free: 16.1 operations per cycle instead of 11.9.
 */
INLINE vector times(const double *number, vector by) {
#if LANES == 8 && defined(__x86_64__)
  vector product;
  __asm__("vmulpd %1%{1to8%}, %2, %0" : "=v"(product) : "m"(*number), "v"(by));
  return product;
#else
  return *number * by;
#endif
}

/** Returns the workspace from the next cache line on, because wide loads that cross cache lines take twice as long. */
static inline double *at_line(double *scratch) { return (double *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63); }

static inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

static inline int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

/** Returns the number of tile columns, or of groups of another size, that cover n. */
static inline int32_t covering(int32_t n, int32_t size) { return (n + size - 1) / size; }

#endif
