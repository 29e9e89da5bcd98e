/** Maximum number of rounds in the search for the edge. The edge falls by at least one eigenvalue each time. */
const ROUNDS_MAX = 1000;

/**
 * Replaces the eigenvalues of a correlation matrix that are consistent with noise by their mean: those below the edge
 * of the Marchenko-Pastur law, whose variance is their mean.
 *
 * @param eigenvalues   [assets], of a correlation matrix, ascending.
 * @param observations  Of the sample.
 * @returns             [assets], of the same sum, in the same order, and how many stay.
 * @throws              Nothing.
 * @cost                order assets a round; a handful of rounds.
 * @source              Laloux, Cizeau, Bouchaud & Potters (1999), Noise dressing of financial correlation matrices,
 *                      Physical Review Letters 83, 1467; Lopez de Prado (2020), Machine Learning for Asset Managers,
 *                      section 2.5 (constant residual eigenvalue).
 */
export function denoise(
  eigenvalues: Float64Array,
  observations: number,
): { readonly values: Float64Array; readonly signals: number } {
  const n = eigenvalues.length;
  const meanBelow = (count: number): number =>
    Math.max(
      0,
      eigenvalues.subarray(0, count).reduce((sum, value) => sum + value, 0),
    ) / count;
  const spread = (1 + Math.sqrt(n / observations)) ** 2;
  let noise = n;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const edge = meanBelow(noise) * spread; // above the mean: never all of them lie beyond it
    const below = eigenvalues.findLastIndex((value, k) => k < noise && value <= edge) + 1;
    if (below === noise) break;
    noise = below;
  }
  return { values: eigenvalues.slice().fill(meanBelow(noise), 0, noise), signals: n - noise };
}
