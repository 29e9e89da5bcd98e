import { mirrorUpper } from '../algebra/products.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { demean } from './sample-covariance.js';
import {
  computeLedoitWolfIntensity,
  createTarget,
  type Distances,
  measureTargetDistances,
  type ShrinkageTarget,
  type CovarianceTarget,
} from './shrinkage.js';

/** Engine operations for products with a covariance that is never formed, and for its estimation. */
type PanelEngine = Pick<Engine, 'symmetricRankK' | 'gemm' | 'gemv' | 'gemvTransposed' | 'allocate' | 'scope'>;
type EstimatingEngine = PanelEngine & Pick<Engine, 'centreColumns' | 'squaredRowSums'>;

/**
 * Minimum ratio of a squared distance to |S|^2. A smaller distance has lost digits as a difference of two norms, and is
 * computed entry by entry.
 */
const CANCELLED_RATIO = 1e-4;

export interface Shrinkage {
  readonly target: ShrinkageTarget;
  /** Weight on the target in [0, 1]; null: computed by `method`. */
  readonly intensity: number | null;
  /** Formula of the intensity. `shape`: securities / (securities + observations). `ledoit_wolf`: from the data. */
  readonly method: 'shape' | 'ledoit_wolf';
  /** Weights of the observations, [observations], summing to 1; equal if absent. */
  readonly weights?: Float64Array;
  /** Scale of the covariance: the number of periods per year. */
  readonly scale: number;
  /** Returns cached moments of the panel, or calls `measure` and caches the result. Default: always calls `measure`. */
  readonly remember?: (measure: () => SampleMoments) => SampleMoments;
}

/** Sample moments from which a shrinkage target is computed. */
export interface SampleMoments {
  /** Variances of the sample covariance, [assets]. */
  readonly variances: Float64Array;
  /** Mean off-diagonal correlation. */
  readonly correlation: number;
}

/**
 * Shrunk covariance in low-rank form, Sigma = scale ((1 - intensity) X'X + intensity F) with the shrinkage target F. A
 * product with it takes two passes over X and needs no matrix of order assets^2.
 */
export interface LowRankCovariance {
  /** X, [observations x assets] row-major: X'X is the sample covariance. */
  readonly panel: Float64Array;
  readonly observations: number;
  readonly assets: number;
  /** Weight on the shrinkage target. */
  readonly intensity: number;
  readonly target: CovarianceTarget;
  readonly scale: number;
  /** Variances of the sample covariance, [assets]. */
  readonly variances: Float64Array;
}

/**
 * Estimates a shrunk covariance in low-rank form.
 *
 * @param engine     Engine that multiplies.
 * @param panel      [observations x assets] row-major returns, finite. Overwritten; it becomes part of the result.
 * @param assets     Columns of `panel`, at least 1.
 * @param shrinkage  Target, intensity, weights and scale.
 * @returns          Low-rank covariance with `panel` as its panel.
 * @throws           KernelFault on a shape mismatch, fewer than two observations or an intensity outside [0, 1].
 * @cost             Three passes over the panel, and for the Ledoit-Wolf intensity the smaller of the products X'X and
 *                   XX'. The intensity and the covariance are NaN if powers of the returns overflow.
 * @source           Ledoit & Wolf (2004), J. Portfolio Management 30(4), 110-119; mean correlation in one pass: sum_ij
 *                   r_ij = sum_t (sum_i x_ti / s_i)^2.
 */
export function estimateLowRankCovariance(
  engine: EstimatingEngine,
  panel: Float64Array,
  assets: number,
  shrinkage: Shrinkage,
): LowRankCovariance {
  const demeanedPanel = demean(panel, assets, shrinkage.weights, new Float64Array(assets), engine);
  const observations = demeanedPanel.rowFactors.length;
  const { variances, correlation } = (shrinkage.remember ?? callMeasure)(() =>
    computeSampleMoments(engine, panel, demeanedPanel.variances),
  );
  const target = createTarget(shrinkage.target, variances, correlation);
  const fixedIntensity = shrinkage.intensity;
  assert(
    fixedIntensity === null || (fixedIntensity >= 0 && fixedIntensity <= 1),
    `intensity: ${fixedIntensity}, outside [0, 1]`,
  );
  const estimateByData = () =>
    computeLedoitWolfIntensity(
      panel,
      target,
      computeDistances(engine, { panel, observations, target, variances }),
      demeanedPanel,
    );
  const intensity =
    fixedIntensity ?? (shrinkage.method === 'shape' ? assets / (assets + observations) : estimateByData());
  return { panel, observations, assets, intensity, target, scale: shrinkage.scale, variances };
}

/**
 * Multiplies a low-rank covariance by a vector.
 *
 * @param engine      Engine that multiplies.
 * @param covariance  Low-rank covariance.
 * @param v           [assets].
 * @param out         [assets], overwritten; must not be `v`.
 * @throws            KernelFault on a shape mismatch.
 * @cost              2 * observations * assets multiply-adds, two passes over the panel.
 * @source            Definition: scale ((1 - intensity) X'X + intensity F) v, evaluated from the right.
 */
export function multiplyLowRank(
  engine: PanelEngine,
  covariance: LowRankCovariance,
  v: Float64Array,
  out: Float64Array,
): void {
  const { panel, observations, assets, intensity, target, scale } = covariance;
  assert(
    v.length === assets && out.length === assets,
    `v: ${v.length}, out: ${out.length} values for ${assets} assets`,
  );
  engine.scope(() => {
    const projectedRows = engine.allocate(observations);
    engine.gemv(panel, v, projectedRows);
    engine.gemvTransposed(panel, projectedRows, out);
  });
  let projection = 0;
  for (let i = 0; i < assets; i++) projection += target.scale[i]! * v[i]!;
  const keep = scale * (1 - intensity);
  const targetScale = scale * intensity;
  const common = target.common * projection;
  for (let i = 0; i < assets; i++)
    out[i] = keep * out[i]! + targetScale * (common * target.scale[i]! + target.addedVariances[i]! * v[i]!);
}

/**
 * Expands a low-rank covariance to a full matrix.
 *
 * @param engine      Engine that multiplies.
 * @param covariance  Low-rank covariance.
 * @param out         [assets x assets] row-major, overwritten; exactly symmetric.
 * @throws            KernelFault on a shape mismatch.
 * @cost              observations * assets^2 / 2 multiply-adds and one pass over the matrix.
 * @source            Definition.
 */
export function expandCovariance(
  engine: Pick<Engine, 'symmetricRankK'>,
  covariance: LowRankCovariance,
  out: Float64Array,
): void {
  const { panel, assets, intensity, target, scale } = covariance;
  assert(out.length === assets * assets, `out: ${out.length} values for ${assets} assets`);
  engine.symmetricRankK(panel, assets, out);
  const keep = scale * (1 - intensity);
  const targetScale = scale * intensity;
  for (let i = 0; i < assets; i++) {
    const row = i * assets;
    const common = targetScale * target.common * target.scale[i]!;
    out[row + i] = keep * out[row + i]! + common * target.scale[i]! + targetScale * target.addedVariances[i]!;
    for (let j = i + 1; j < assets; j++) out[row + j] = keep * out[row + j]! + common * target.scale[j]!;
  }
  mirrorUpper(out, assets);
}

const callMeasure = (measure: () => SampleMoments): SampleMoments => measure();

function computeSampleMoments(engine: EstimatingEngine, panel: Float64Array, variances: Float64Array): SampleMoments {
  return { variances, correlation: computeMeanCorrelation(engine, panel, variances) };
}

/** Computes the mean off-diagonal correlation. A security without variance has correlation 0. */
function computeMeanCorrelation(engine: EstimatingEngine, panel: Float64Array, variances: Float64Array): number {
  const assets = variances.length;
  if (assets === 1) return 0;
  const inverses = variances.map((variance) => (variance > 0 ? 1 / Math.sqrt(variance) : 0));
  let movingCount = 0;
  for (let i = 0; i < assets; i++) if (variances[i]! > 0) movingCount++;
  return (engine.squaredRowSums(panel, inverses) - movingCount) / (assets * (assets - 1));
}

type PanelMoments = Pick<LowRankCovariance, 'panel' | 'observations' | 'target' | 'variances'>;

/** Computes |S|^2 and |F - S|^2 from the smaller of X'X and XX', whose squared entries have equal sums. */
function computeDistances(engine: PanelEngine, moments: PanelMoments): Distances {
  const assets = moments.target.addedVariances.length;
  if (moments.observations < assets) {
    const rowDistances = computeDistancesByRows(engine, moments);
    if (rowDistances.gamma > CANCELLED_RATIO * rowDistances.frobenius2) return rowDistances;
  }
  return engine.scope(() => {
    const covariance = engine.allocate(assets * assets);
    engine.symmetricRankK(moments.panel, assets, covariance);
    return measureTargetDistances(covariance, moments.target);
  });
}

function computeDistancesByRows(
  engine: PanelEngine,
  { panel, observations, target, variances }: PanelMoments,
): Distances {
  return engine.scope(() => {
    const gram = engine.allocate(observations * observations);
    engine.gemm(
      { rows: observations, inner: target.addedVariances.length, columns: observations, transposeB: true },
      panel,
      panel,
      gram,
    );
    return computeDistancesByGram(gram, panel, target, variances);
  });
}

/** Computes |F - S|^2 = |F|^2 - 2 <F, S> + |S|^2, with |S|^2 from the T x T products of the rows. */
function computeDistancesByGram(
  gram: Float64Array,
  panel: Float64Array,
  target: CovarianceTarget,
  variances: Float64Array,
): Distances {
  const assets = target.addedVariances.length;
  let frobenius2 = 0;
  for (let k = 0; k < gram.length; k++) frobenius2 += gram[k]! * gram[k]!;
  let targetForm = 0; // s'Ss
  for (let row = 0; row < panel.length; row += assets) {
    let sum = 0;
    for (let i = 0; i < assets; i++) sum += panel[row + i]! * target.scale[i]!;
    targetForm += sum * sum;
  }
  let length2 = 0; // |s|^2
  let ownOwn = 0;
  let ownCommon = 0;
  let ownSample = 0;
  for (let i = 0; i < assets; i++) {
    length2 += target.scale[i]! ** 2;
    ownOwn += target.addedVariances[i]! ** 2;
    ownCommon += target.addedVariances[i]! * target.scale[i]! ** 2;
    ownSample += target.addedVariances[i]! * variances[i]!;
  }
  const targetNorm2 = target.common ** 2 * length2 ** 2 + 2 * target.common * ownCommon + ownOwn;
  return { frobenius2, gamma: Math.max(0, targetNorm2 - 2 * (target.common * targetForm + ownSample) + frobenius2) };
}
