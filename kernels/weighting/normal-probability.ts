/**
 * Computes the probability that a standard normal variable is at most z.
 * @param z  Finite number.
 * @returns  P(Z <= z) in (0, 1), with a relative error below 1e-13 for |z| <= 7. To working precision, it is 0 below
 *   -37 and 1 above 8.3.
 * @cost     16 multiply-adds, an exponential and a division.
 * @source   Hart et al. (1968), Computer Approximations, formula 5666, in the form of West (2005), Better
 *   approximations to cumulative normal functions.
 */
export function computeNormalProbability(z: number): number {
  const size = Math.abs(z);
  const tail =
    size > 37
      ? 0
      : Math.exp(-0.5 * size * size) * (size < 7.07106781186547 ? computeRatio(size) : computeMillsFraction(size));
  return z > 0 ? 1 - tail : tail;
}

function computeRatio(x: number): number {
  const upperPart =
    (((((3.52624965998911e-2 * x + 0.700383064443688) * x + 6.37396220353165) * x + 33.912866078383) * x +
      112.079291497871) *
      x +
      221.213596169931) *
      x +
    220.206867912376;
  const tailProbability =
    ((((((8.83883476483184e-2 * x + 1.75566716318264) * x + 16.064177579207) * x + 86.7807322029461) * x +
      296.564248779674) *
      x +
      637.333633378831) *
      x +
      793.826512519948) *
      x +
    440.413735824752;
  return upperPart / tailProbability;
}

/** Returns the continued fraction of Mills' ratio, five levels deep, divided by the square root of 2 pi. */
function computeMillsFraction(x: number): number {
  return 1 / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / 2.506628274631;
}
