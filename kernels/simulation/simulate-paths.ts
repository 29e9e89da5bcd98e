import { assert } from '../assert.js';
import { computePhilox } from '../random/counter-random.js';
import { computeNormalQuantile } from '../random/normal-distribution.js';

/** Model from which the growth factor of each session is drawn. */
export type PathModel =
  /** Blocks of consecutive observed growth factors, from a history that is closed to a circle. */
  | { readonly kind: 'block_bootstrap'; readonly growth: Float64Array; readonly block: number }
  /** Independent normal returns; a negative growth factor becomes 0. */
  | { readonly kind: 'gaussian'; readonly mean: number; readonly deviation: number };

/**
 * Bins of the level after each session. Bin k of session t starts at low + k / scale. The first and last bins include
 * values beyond the range.
 */
export interface LevelBins {
  readonly low: Float64Array;
  readonly scale: Float64Array;
  readonly count: number;
}

export interface PathRequest {
  readonly model: PathModel;
  readonly horizon: number;
  readonly seed: number;
  /** Index of the first path. A path has the same random numbers in any chunk. */
  readonly first: number;
  readonly bins: LevelBins;
}

/** Results of simulated paths: counts by bin and four figures per path. */
export interface PathTallies {
  /** Number of paths whose level is in a bin, [horizon x bins]; counts are added to the existing ones. */
  readonly counts: Uint32Array;
  /** Level at the end of each path, 1 at its start. */
  readonly finals: Float64Array;
  /** Lowest level of each path after its start. */
  readonly lows: Float64Array;
  /** Largest loss of each path from a previous high, a positive fraction; the start counts as a high. */
  readonly drawdowns: Float64Array;
  /** Longest run of sessions of each path below a previous high. */
  readonly underwater: Int32Array;
}

/**
 * Simulates paths of a level. Stores counts and four numbers per path, so that memory does not depend on the number of
 * sessions.
 * @param request  Model, horizon, seed, first path and bins.
 * @param tallies  Counts are added to the existing ones; the other arrays are overwritten.
 * @throws         KernelFault on a shape mismatch, an empty history or a block length outside 1 to the length of the
 *                 history.
 * @cost           paths * horizon steps of about 10 operations; a bootstrap block costs a quarter of a Philox block, a
 *                 normal number half of one and an inversion.
 * @source         Politis & Romano (1992), A circular block-resampling procedure for stationary data, in Exploring the
 *                 Limits of Bootstrap.
 */
export function simulatePaths(request: PathRequest, tallies: PathTallies): void {
  assertPaths(request, tallies);
  const draw = createPathDrawer(request);
  const path = new Float64Array(request.horizon);
  for (let p = 0; p < tallies.finals.length; p++) {
    draw(p, path);
    for (let t = 1; t < path.length; t++) path[t]! *= path[t - 1]!;
    tallyPath(path, request.bins, tallies, p);
  }
}

/** Creates a function that draws the growth factors of a path by its index within the chunk. */
export function createPathDrawer({ model, seed, first }: PathRequest): (p: number, steps: Float64Array) => void {
  if (model.kind === 'gaussian') return (p, steps) => drawNormals(steps, model, createPathDraws(seed, first + p));
  const circle = closeCircle(model.growth, model.block);
  return (p, steps) => drawBlocks(steps, circle, model, createPathDraws(seed, first + p));
}

/** Checks the arguments of every simulation. */
export function assertPaths(
  { model, horizon, bins }: PathRequest,
  { counts, finals, lows, drawdowns, underwater }: PathTallies,
): void {
  assert(
    horizon >= 1 && bins.low.length === horizon && bins.scale.length === horizon,
    `bins: ${bins.low.length} sessions for a horizon of ${horizon}`,
  );
  assert(counts.length === horizon * bins.count, `counts: ${counts.length} values for ${horizon} x ${bins.count}`);
  const paths = finals.length;
  assert(
    [lows, drawdowns, underwater].every(({ length }) => length === paths),
    `tallies: lists of different lengths for ${paths} paths`,
  );
  if (model.kind === 'block_bootstrap') {
    const { growth, block } = model;
    assert(
      growth.length >= 1 && Number.isInteger(block) && block >= 1 && block <= growth.length,
      `block: ${block} of ${growth.length} growth factors`,
    );
  }
}

/**
 * Random words of one path: Philox blocks under the key of the seed, with the path in the upper half of the counter.
 */
interface Draws {
  word(): number;
}

const WORD_VALUES = 2 ** 32;

function createPathDraws(seed: number, path: number): Draws {
  const counter = Uint32Array.of(0, 0, path % WORD_VALUES, Math.floor(path / WORD_VALUES));
  const key = Uint32Array.of(seed % WORD_VALUES, Math.floor(seed / WORD_VALUES));
  const words = new Uint32Array(4);
  let usedWords = 4;
  return {
    word() {
      if (usedWords === 4) {
        computePhilox(counter, key, words);
        counter[0]!++;
        usedWords = 0;
      }
      return words[usedWords++]!;
    },
  };
}

/** Returns the history followed by its own beginning, so that a block may start at any position. */
export function closeCircle(growth: Float64Array, block: number): Float64Array {
  const circle = new Float64Array(growth.length + block);
  circle.set(growth);
  circle.set(growth.subarray(0, block), growth.length);
  return circle;
}

/**
 * Draws the start of each block by scaling a random word. The bias of 2^-32 per position is far below the weight of a
 * path.
 */
function drawBlocks(
  steps: Float64Array,
  circle: Float64Array,
  { growth, block }: PathModel & { kind: 'block_bootstrap' },
  draws: Draws,
): void {
  for (let t = 0; t < steps.length; t += block) {
    const start = Math.floor((draws.word() / WORD_VALUES) * growth.length);
    const length = Math.min(block, steps.length - t);
    for (let k = 0; k < length; k++) steps[t + k] = circle[start + k]!;
  }
}

/** Draws one normal return per session from two random words, by inversion. */
function drawNormals(steps: Float64Array, { mean, deviation }: PathModel & { kind: 'gaussian' }, draws: Draws): void {
  for (let t = 0; t < steps.length; t++) {
    const high = draws.word();
    const low = draws.word();
    const uniform = (high * 2 ** 20 + (low >>> 12) + 0.5) / 2 ** 52;
    steps[t] = Math.max(0, 1 + mean + deviation * computeNormalQuantile(uniform));
  }
}

export function tallyPath(
  levels: ArrayLike<number>,
  { low, scale, count }: LevelBins,
  tallies: PathTallies,
  p: number,
): void {
  const { counts } = tallies;
  const last = count - 1;
  let peak = 1;
  let lowest = Infinity;
  let lowestRatio = 1; // smallest ratio of a level to its previous high
  let sessionsUnder = 0;
  let longest = 0;
  for (let t = 0, row = 0; t < levels.length; t++, row += count) {
    const level = levels[t]!;
    counts[row + Math.max(0, Math.min(last, Math.floor((level - low[t]!) * scale[t]!)))]!++;
    if (level < lowest) lowest = level;
    if (level >= peak) {
      peak = level;
      sessionsUnder = 0;
    } else {
      sessionsUnder++;
      if (sessionsUnder > longest) longest = sessionsUnder;
      if (level < lowestRatio * peak) lowestRatio = level / peak;
    }
  }
  tallies.finals[p] = levels[levels.length - 1]!;
  tallies.lows[p] = lowest;
  tallies.drawdowns[p] = 1 - lowestRatio;
  tallies.underwater[p] = longest;
}

/**
 * Range of the bins on either side of the mean, in standard deviations. Values outside are counted in the outermost
 * bins.
 */
const REACH_DEVIATIONS = 6;

/**
 * Creates the bins for the levels of a path after each session.
 *
 * @param mean       Mean return of a session.
 * @param deviation  Standard deviation of a session's return.
 * @param horizon    Number of sessions, at least 1.
 * @param count      Number of bins per session, at least 2.
 * @returns          Bins around the mean path, up to six standard deviations to either side.
 * @throws           KernelFault if a number is out of range.
 * @cost             Order horizon.
 * @source           Quadratic bound of the exponential, so that no transcendental function decides a bin.
 */
export function createLevelBins({
  mean,
  deviation,
  horizon,
  count,
}: {
  readonly mean: number;
  readonly deviation: number;
  readonly horizon: number;
  readonly count: number;
}): LevelBins {
  assert(
    Number.isFinite(mean) && deviation >= 0 && Number.isFinite(deviation),
    `mean ${mean}, deviation ${deviation}: finite numbers needed`,
  );
  assert(horizon >= 1 && count >= 2, `horizon: ${horizon}, count: ${count}`);
  const low = new Float64Array(horizon);
  const scale = new Float64Array(horizon);
  let middle = 1;
  for (let t = 0; t < horizon; t++) {
    middle *= 1 + mean;
    const spread = REACH_DEVIATIONS * deviation * Math.sqrt(t + 1) + 1e-9;
    const factor = 1 + spread + spread * spread;
    low[t] = middle / factor;
    scale[t] = count / (middle * factor - low[t]!);
  }
  return { low, scale, count };
}

/**
 * Computes a quantile of the levels counted in the bins of one session, interpolated within its bin.
 *
 * @param bins    Bins of the levels.
 * @param counts  Number of paths in each bin, [horizon x count].
 * @param t       Index of the session.
 * @param share   Share of the paths below the quantile, in (0, 1).
 * @returns       Level below which this share of the paths lies, accurate to the width of a bin.
 * @throws        KernelFault if no path was counted.
 * @cost          Order count.
 * @source        Definition of a histogram quantile.
 */
export function findBinQuantile(bins: LevelBins, counts: Uint32Array, t: number, share: number): number {
  const row = counts.subarray(t * bins.count, (t + 1) * bins.count);
  let total = 0;
  for (let k = 0; k < row.length; k++) total += row[k]!;
  assert(total > 0, `counts: nothing at session ${t}`);
  const rank = share * total;
  let countBelow = 0;
  let k = 0;
  while (k < row.length - 1 && countBelow + row[k]! < rank) countBelow += row[k++]!;
  const binCount = row[k]!;
  const binFraction = binCount > 0 ? (rank - countBelow) / binCount : 0;
  return bins.low[t]! + (k + binFraction) / bins.scale[t]!;
}
