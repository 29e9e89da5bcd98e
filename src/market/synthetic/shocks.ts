import type { CounterRandom } from '#kernels/random/counter-random.js';
import { computeNormalQuantile } from '#kernels/random/normal-quantile.js';

/** Probability that a draw comes from the wide distribution, which causes the fat tails of returns. */
const FAT_TAIL_PROBABILITY = 0.04;
const FAT_TAIL_SCALE = 2.5;
/** Scale of the narrow distribution. With it, the mixture of both distributions has variance 1. */
const ORDINARY_SCALE = Math.sqrt(
  (1 - FAT_TAIL_PROBABILITY * FAT_TAIL_SCALE * FAT_TAIL_SCALE) / (1 - FAT_TAIL_PROBABILITY),
);

/**
 * Draws a number with mean 0, variance 1 and kurtosis 6.4. A single uniform number determines both the distribution and
 * the quantile.
 */
function drawFatTailed(random: CounterRandom): number {
  const uniform = random.uniform();
  if (uniform < FAT_TAIL_PROBABILITY) return FAT_TAIL_SCALE * computeNormalQuantile(uniform / FAT_TAIL_PROBABILITY);
  // Stretches the remaining interval to (0, 1). Its ends may round to values for which the quantile is not defined.
  const ordinaryUniform = (uniform - FAT_TAIL_PROBABILITY) / (1 - FAT_TAIL_PROBABILITY);
  return ORDINARY_SCALE * computeNormalQuantile(Math.min(Math.max(ordinaryUniform, UNIFORM_MIN), 1 - UNIFORM_MIN));
}

const UNIFORM_MIN = 2 ** -53;

/** Generator of shocks with volatility clusters: a GARCH(1,1) process. */
export interface Shocks {
  /** Returns the shock of the next session. */
  next(): number;
  /** Returns the standard deviation of the last shock, as known before the shock. */
  volatility(): number;
}

/**
 * Creates a generator of shocks. It uses only sums, products and square roots of uniform numbers, so that the shocks
 * are bit-identical on every platform.
 * @param persistence weight of the previous variance; `reaction` is the weight of the previous squared shock. Their sum
 * is below 1.
 * @source Bollerslev (1986), Journal of Econometrics 31, 307-327.
 */
export function drawClusteredShocks(
  random: CounterRandom,
  {
    deviation,
    reaction,
    persistence,
  }: { readonly deviation: number; readonly reaction: number; readonly persistence: number },
): Shocks {
  const longRun = deviation * deviation;
  let variance = longRun;
  let sigma = deviation;
  return {
    next() {
      sigma = Math.sqrt(variance);
      const shock = sigma * drawFatTailed(random);
      // Limits the effect of a shock on volatility to four standard deviations. Otherwise one crash would dominate a
      // year.
      const cappedSquare = Math.min(shock * shock, 16 * variance);
      variance = (1 - reaction - persistence) * longRun + reaction * cappedSquare + persistence * variance;
      return shock;
    },
    volatility: () => sigma,
  };
}
