/** Maximum number of rounds in the search for the noise edge. The edge falls by at least one eigenvalue per round. */
const ROUNDS_MAX = 1000;

/**
 * Replaces the noise eigenvalues of a correlation matrix by their mean. Noise eigenvalues are those below the upper
 * edge of the Marchenko-Pastur distribution with their mean as variance.
 *
 * @param eigenvalues   Eigenvalues of a correlation matrix, [assets], ascending.
 * @param observations  Number of observations of the sample.
 * @returns             Eigenvalues with unchanged sum and order, [assets], and the number of unchanged (signal)
 *                      eigenvalues.
 * @throws              Nothing.
 * @cost                Order assets per round; a handful of rounds.
 * @source              Laloux, Cizeau, Bouchaud & Potters (1999), Noise dressing of financial correlation matrices,
 *                      Physical Review Letters 83, 1467; Lopez de Prado (2020), Machine Learning for Asset Managers,
 *                      section 2.5 (constant residual eigenvalue).
 */
export function denoise(
  eigenvalues: Float64Array,
  observations: number,
): { readonly values: Float64Array; readonly signals: number } {
  const n = eigenvalues.length;
  const computeMeanBelow = (count: number): number =>
    Math.max(
      0,
      eigenvalues.subarray(0, count).reduce((sum, value) => sum + value, 0),
    ) / count;
  const spread = (1 + Math.sqrt(n / observations)) ** 2;
  let noise = n;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const edge = computeMeanBelow(noise) * spread; // the edge is above the mean, so at least one eigenvalue is below it
    const countBelow = eigenvalues.findLastIndex((value, k) => k < noise && value <= edge) + 1;
    if (countBelow === noise) break;
    noise = countBelow;
  }
  return { values: eigenvalues.slice().fill(computeMeanBelow(noise), 0, noise), signals: n - noise };
}
