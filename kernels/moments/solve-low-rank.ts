import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { multiplyLowRank, type LowRankCovariance } from './low-rank-covariance.js';

/** What an engine must offer to solve with a covariance that is never formed. */
type SolvingEngine = Pick<Engine, 'symmetricRankK' | 'gemm' | 'gemv' | 'gemvTransposed' | 'scaleRows' | 'cholesky' | 'solveLower' | 'solveLowerTransposed' | 'allocate' | 'scope'>;

/** Corrections by the residual at most: one brings working precision unless the diagonal is next to nothing. */
const CORRECTIONS_MAX = 3;

/** A residual of this share of the right-hand side is rounding. */
const RESIDUAL = 1e-15;

/** A low-rank covariance ready to be solved with: A = D + keep X'X, and what the common part adds to it. */
export interface LowRankFactor {
  readonly covariance: LowRankCovariance;
  /** 1 / D, [assets]. */
  readonly inverse: Float64Array;
  /** Cholesky factor of I + keep X D^-1 X', [observations x observations]. */
  readonly factor: Float64Array;
  /** Factor on X'X. */
  readonly keep: number;
  /** A^-1 s, [assets], and common / (1 + common s' A^-1 s): what the rank one of the target takes away. */
  readonly along: Float64Array;
  readonly common: number;
}

/**
 * Prepares a low-rank covariance for solves: Woodbury's identity for the panel, Sherman and Morrison's for the common part of the target.
 *
 * @param engine      Engine that computes. What is returned lies on its memory: it lives as long as the scope around the call.
 * @param covariance  The covariance, better with fewer observations than names.
 * @returns           The factor; undefined when there is nothing to stand on: an intensity of 0, a name without variance of its own, or a
 *                    matrix that is not positive definite. The matrix must be formed then.
 * @throws            KernelFault on a shape mismatch.
 * @cost              observations^2 * assets / 2 + observations^3 / 6 multiply-adds, scratch of one more panel.
 * @source            Woodbury (1950), Inverting modified matrices, Princeton Statistical Research Group Memo 42; Sherman & Morrison (1950),
 *                    Ann. Math. Statist. 21(1), 124-127.
 */
export function factorLowRank(engine: SolvingEngine, covariance: LowRankCovariance): LowRankFactor | undefined {
  const { observations, assets, intensity, target, scale } = covariance;
  const pull = scale * intensity;
  const inverse = engine.allocate(assets);
  for (let i = 0; i < assets; i++) {
    const own = pull * target.own[i]!;
    if (!(own > 0)) return undefined;
    inverse[i] = 1 / own;
  }
  const keep = scale * (1 - intensity);
  const factor = engine.allocate(observations * observations);
  engine.scope(() => engine.symmetricRankK(scaledByNames(engine, covariance, inverse, keep), observations, factor));
  for (let t = 0; t < observations; t++) factor[t * (observations + 1)]! += 1;
  if (engine.cholesky(factor, observations) < observations) return undefined;

  const along = engine.allocate(assets);
  const plain = { covariance, inverse, factor, keep, along, common: 0 };
  if (target.common === 0) return plain;
  applyInverse(engine, plain, target.scale, along);
  let reach = 0;
  for (let i = 0; i < assets; i++) reach += target.scale[i]! * along[i]!;
  const common = pull * target.common;
  const left = 1 + common * reach; // the determinant of the whole by that of A
  return left > 0 ? { ...plain, common: common / left } : undefined;
}

/**
 * Solves Sigma x = b for a covariance that is never formed.
 *
 * @param engine  Engine that computes.
 * @param factor  What `factorLowRank` made of the covariance, on the same engine.
 * @param b       [assets].
 * @param out     [assets], overwritten; must not be `b`.
 * @returns       |Sigma x - b| / |b|, the residual that was left; 0 for b = 0. Above 1e-10 the diagonal was too small beside the
 *                rest: form the matrix.
 * @throws        KernelFault on a shape mismatch.
 * @cost          2 * observations * assets + observations^2 multiply-adds, twice that again for each correction (one, as a rule).
 * @source        Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd ed., ch. 12 (iterative refinement).
 */
export function solveLowRank(engine: SolvingEngine, factor: LowRankFactor, b: Float64Array, out: Float64Array): number {
  const { assets } = factor.covariance;
  assert(b.length === assets && out.length === assets, `b: ${b.length}, out: ${out.length} values for ${assets} assets`);
  return engine.scope(() => {
    const rest = engine.allocate(assets);
    const step = engine.allocate(assets);
    const best = engine.allocate(assets);
    const size = lengthOf(b);
    if (size === 0) {
      out.fill(0);
      return 0;
    }
    applyInverse(engine, factor, b, out);
    let residual = residualOf(engine, factor, b, out, rest) / size;
    for (let correction = 0; correction < CORRECTIONS_MAX && residual > RESIDUAL; correction++) {
      best.set(out);
      applyInverse(engine, factor, rest, step);
      for (let i = 0; i < assets; i++) out[i]! += step[i]!;
      const next = residualOf(engine, factor, b, out, rest) / size;
      if (!(next < residual)) {
        out.set(best);
        break;
      }
      const isDone = next > 0.5 * residual; // rounding is reached
      residual = next;
      if (isDone) break;
    }
    return residual;
  });
}

/** The panel with each name scaled by sqrt(keep / D), transposed: its product with itself is keep X D^-1 X'. */
function scaledByNames(engine: SolvingEngine, { panel, observations, assets }: LowRankCovariance, inverse: Float64Array, keep: number): Float64Array {
  const transposed = engine.allocate(panel.length);
  for (let i = 0; i < assets; i++) {
    const factor = Math.sqrt(keep * inverse[i]!);
    const row = i * observations;
    for (let t = 0; t < observations; t++) transposed[row + t] = factor * panel[t * assets + i]!;
  }
  return transposed;
}

/** out = (A + common part)^-1 b = y - common * along (s' y), y = A^-1 b = D^-1 (b - keep X' F^-1 X D^-1 b), F the factored matrix. */
function applyInverse(engine: SolvingEngine, { covariance, inverse, factor, keep, along, common }: LowRankFactor, b: Float64Array, out: Float64Array): void {
  const { panel, observations, assets, target } = covariance;
  engine.scope(() => {
    const scaled = engine.allocate(assets);
    const rows = engine.allocate(observations);
    for (let i = 0; i < assets; i++) scaled[i] = inverse[i]! * b[i]!;
    engine.gemv(panel, scaled, rows);
    engine.solveLower(factor, observations, rows);
    engine.solveLowerTransposed(factor, observations, rows);
    engine.gemvTransposed(panel, rows, out);
    for (let i = 0; i < assets; i++) out[i] = scaled[i]! - keep * inverse[i]! * out[i]!;
  });
  if (common === 0) return;
  let reach = 0;
  for (let i = 0; i < assets; i++) reach += target.scale[i]! * out[i]!;
  for (let i = 0; i < assets; i++) out[i]! -= common * reach * along[i]!;
}

/** rest = b - Sigma x; its length. */
function residualOf(engine: SolvingEngine, { covariance }: LowRankFactor, b: Float64Array, x: Float64Array, rest: Float64Array): number {
  multiplyLowRank(engine, covariance, x, rest);
  for (let i = 0; i < b.length; i++) rest[i] = b[i]! - rest[i]!;
  return lengthOf(rest);
}

function lengthOf(values: Float64Array): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]! * values[i]!;
  return Math.sqrt(total);
}
