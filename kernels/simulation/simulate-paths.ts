import { assert } from '../assert.js';
import { philox } from '../random/counter-random.js';
import { computeNormalQuantile } from '../random/normal-quantile.js';

/** Model that draws the growth factor of a session. */
export type PathModel =
  /** Blocks of consecutive observed growth factors, the history closed to a circle. */
  | { readonly kind: 'block_bootstrap'; readonly growth: Float64Array; readonly block: number }
  /** Independent normal returns; a growth factor below 0 is 0. */
  | { readonly kind: 'gaussian'; readonly mean: number; readonly deviation: number };

/**
 * Bins of the level after each session: bin k of session t starts at low + k / scale; the first and last bins include
 * values beyond the range.
 */
export interface LevelBins {
  readonly low: Float64Array;
  readonly scale: Float64Array;
  /** Bins a session. */
  readonly count: number;
}

export interface PathRequest {
  readonly model: PathModel;
  /** Sessions of a path. */
  readonly horizon: number;
  readonly seed: number;
  /** Number of the first path: the same path has the same numbers whatever chunk it is drawn in. */
  readonly first: number;
  readonly bins: LevelBins;
}

/** Number of the first path. A path has the same random numbers in any chunk. */
export interface PathTallies {
  /** Number of paths whose level is in a bin, [horizon x bins], accumulated. */
  readonly counts: Uint32Array;
  /** Level at the end of each path, 1 at its start. */
  readonly finals: Float64Array;
  /** Lowest level of each path after its start. */
  readonly lows: Float64Array;
  /** Largest loss from a previous high, a positive fraction; the start counts as a high. */
  readonly drawdowns: Float64Array;
  /** Longest run of sessions below a previous high. */
  readonly underwater: Int32Array;
}

/**
 * Simulates paths of a level and stores counts and four numbers per path, so that memory does not depend on the number
 * of sessions.
 *
 * @param request  Model, horizon, seed, first path and bins.
 * @param tallies  Counts are added to, the lists overwritten.
 * @returns        Nothing; the tallies are filled.
 * @throws         KernelFault on a shape mismatch, an empty history or a block that is not 1 to the length of the
 *                 history.
 * @cost           paths * horizon steps of about 10 operations; a block costs a quarter of a Philox block, a normal
 *                 half of one and an inversion.
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

/** Draws the growth factors of a path of the request by its number within the chunk. */
export function createPathDrawer({ model, seed, first }: PathRequest): (p: number, steps: Float64Array) => void {
  if (model.kind === 'gaussian') return (p, steps) => drawNormals(steps, model, pathDraws(seed, first + p));
  const circle = closeCircle(model.growth, model.block);
  return (p, steps) => drawBlocks(steps, circle, model, pathDraws(seed, first + p));
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

/** Words of one path: blocks of Philox under the key of the seed, the path in the upper half of the counter. */
interface Draws {
  word(): number;
}

const WORD = 2 ** 32;

function pathDraws(seed: number, path: number): Draws {
  const counter = Uint32Array.of(0, 0, path % WORD, Math.floor(path / WORD));
  const key = Uint32Array.of(seed % WORD, Math.floor(seed / WORD));
  const words = new Uint32Array(4);
  let used = 4;
  return {
    word() {
      if (used === 4) {
        philox(counter, key, words);
        counter[0]!++;
        used = 0;
      }
      return words[used++]!;
    },
  };
}

/** Returns the history followed by its own beginning, so that a block may start anywhere. */
export function closeCircle(growth: Float64Array, block: number): Float64Array {
  const circle = new Float64Array(growth.length + block);
  circle.set(growth);
  circle.set(growth.subarray(0, block), growth.length);
  return circle;
}

/**
 * Each block starts at a position drawn from a word by scaling: the bias of 2^-32 per position is far below a path's
 * weight.
 */
function drawBlocks(
  steps: Float64Array,
  circle: Float64Array,
  { growth, block }: PathModel & { kind: 'block_bootstrap' },
  draws: Draws,
): void {
  for (let t = 0; t < steps.length; t += block) {
    const start = Math.floor((draws.word() / WORD) * growth.length);
    const length = Math.min(block, steps.length - t);
    for (let k = 0; k < length; k++) steps[t + k] = circle[start + k]!;
  }
}

/** A normal a session from two words, by inversion. */
function drawNormals(steps: Float64Array, { mean, deviation }: PathModel & { kind: 'gaussian' }, draws: Draws): void {
  for (let t = 0; t < steps.length; t++) {
    const high = draws.word();
    const low = draws.word();
    const uniform = (high * 2 ** 20 + (low >>> 12) + 0.5) / 2 ** 52;
    steps[t] = Math.max(0, 1 + mean + deviation * computeNormalQuantile(uniform));
  }
}

/** Computes the levels of one path and counts them. */
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
  let retained = 1; // smallest level over its previous high
  let under = 0;
  let longest = 0;
  for (let t = 0, row = 0; t < levels.length; t++, row += count) {
    const level = levels[t]!;
    counts[row + Math.max(0, Math.min(last, Math.floor((level - low[t]!) * scale[t]!)))]!++;
    if (level < lowest) lowest = level;
    if (level >= peak) {
      peak = level;
      under = 0;
    } else {
      under++;
      if (under > longest) longest = under;
      if (level < retained * peak) retained = level / peak;
    }
  }
  tallies.finals[p] = levels[levels.length - 1]!;
  tallies.lows[p] = lowest;
  tallies.drawdowns[p] = 1 - retained;
  tallies.underwater[p] = longest;
}
