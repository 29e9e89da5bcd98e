import { normalQuantile } from './normal-quantile';
import { startStream, drawWord } from './philox';

/** 2^-32, an exact factor. */
const UNIT: f64 = 2.3283064365386963e-10;

/**
 * Simulates paths by blocks of the observed growth factors. See `simulation/simulate-paths`. `circle` is the history,
 * [length], extended by its first `block` entries. `steps` is scratch for one path.
 */
export function bootstrapPaths(
  circle: usize, length: i32, block: i32, horizon: i32, seedLow: u32, seedHigh: u32, first: f64, paths: i32,
  low: usize, scale: usize, bins: i32, counts: usize, finals: usize, lows: usize, drawdowns: usize, underwater: usize, steps: usize,
): void {
  for (let p = 0; p < paths; p++) {
    startPath(seedLow, seedHigh, first + <f64>p);
    for (let t = 0; t < horizon; t += block) {
      const from = <i32>floor(<f64>drawWord() * UNIT * <f64>length);
      memory.copy(steps + (<usize>t << 3), circle + (<usize>from << 3), <usize>min(block, horizon - t) << 3);
    }
    followPath(p, horizon, low, scale, bins, counts, finals, lows, drawdowns, underwater, steps);
  }
}

/** Simulates paths of independent normal returns. */
export function gaussianPaths(
  mean: f64, deviation: f64, horizon: i32, seedLow: u32, seedHigh: u32, first: f64, paths: i32,
  low: usize, scale: usize, bins: i32, counts: usize, finals: usize, lows: usize, drawdowns: usize, underwater: usize, steps: usize,
): void {
  for (let p = 0; p < paths; p++) {
    startPath(seedLow, seedHigh, first + <f64>p);
    for (let t = 0; t < horizon; t++) {
      const high = drawWord();
      const lower = drawWord();
      const uniform = (<f64>high * 1048576 + <f64>(lower >> 12) + 0.5) * 2.220446049250313e-16;
      store<f64>(steps + (<usize>t << 3), max<f64>(0, 1 + mean + deviation * normalQuantile(uniform)));
    }
    followPath(p, horizon, low, scale, bins, counts, finals, lows, drawdowns, underwater, steps);
  }
}

function startPath(seedLow: u32, seedHigh: u32, path: f64): void {
  const high = floor(path * UNIT);
  startStream(seedLow, seedHigh, <u32>(path - high * 4294967296), <u32>high);
}

/** Computes the levels of one path and counts them. */
function followPath(
  p: i32, horizon: i32, low: usize, scale: usize, bins: i32,
  counts: usize, finals: usize, lows: usize, drawdowns: usize, underwater: usize, steps: usize,
): void {
  const last = <f64>(bins - 1);
  let level: f64 = 1;
  let peak: f64 = 1;
  let lowest: f64 = Infinity;
  let lowestRatio: f64 = 1;
  let under = 0;
  let longest = 0;
  for (let t = 0; t < horizon; t++) {
    const o = <usize>t << 3;
    level *= load<f64>(steps + o);
    const bin = <i32>max<f64>(0, min<f64>(last, floor((level - load<f64>(low + o)) * load<f64>(scale + o))));
    const cell = counts + (<usize>bin << 2);
    store<u32>(cell, load<u32>(cell) + 1);
    counts += <usize>bins << 2;
    if (level < lowest) lowest = level;
    if (level >= peak) {
      peak = level;
      under = 0;
    } else {
      under++;
      if (under > longest) longest = under;
      if (level < lowestRatio * peak) lowestRatio = level / peak;
    }
  }
  const o = <usize>p << 3;
  store<f64>(finals + o, level);
  store<f64>(lows + o, lowest);
  store<f64>(drawdowns + o, 1 - lowestRatio);
  store<i32>(underwater + (<usize>p << 2), longest);
}
