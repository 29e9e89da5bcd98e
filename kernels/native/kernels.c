// One instruction set: all of its kernels.
#include "products.c"
#include "cholesky.c"
#include "solves.c"
#include "symmetric-products.c"
