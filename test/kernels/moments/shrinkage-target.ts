import { computeAverageCorrelation, createTarget, type ShrinkageTarget } from '#kernels/moments/shrinkage.js';

/** Computes the shrinkage target of a matrix of order n entry by entry. The contract and the papers define it. */
export function computeTargetByDefinition(kind: ShrinkageTarget, a: Float64Array, n: number): Float64Array {
  const computeScale = (i: number, j: number) => Math.sqrt(a[i * n + i]! * a[j * n + j]!);
  let correlations = 0;
  let trace = 0;
  for (let i = 0; i < n; i++) {
    trace += a[i * n + i]!;
    for (let j = 0; j < n; j++)
      if (i !== j && computeScale(i, j) > 0) correlations += a[i * n + j]! / computeScale(i, j);
  }
  const rbar = n === 1 ? 0 : correlations / (n * (n - 1));
  return a.map((value, index) => {
    const i = Math.floor(index / n);
    const j = index % n;
    if (kind === 'scaled_identity') return i === j ? trace / n : 0;
    return i === j ? value : rbar * computeScale(i, j);
  });
}

export const createMatrixTarget = (kind: ShrinkageTarget, a: Float64Array, n: number) =>
  createTarget(
    kind,
    Float64Array.from({ length: n }, (_, i) => a[i * n + i]!),
    computeAverageCorrelation(a, n),
  );
