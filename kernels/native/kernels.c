// All kernels of one instruction set.
#include "products.c"
#include "cholesky.c"
#include "solves.c"
#include "symmetric-products.c"
