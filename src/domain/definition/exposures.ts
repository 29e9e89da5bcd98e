import { raiseToPower } from '#kernels/power.js';
import type { ExposureStep, OverlayContext, OverlayPath, OverlaySource } from './overlay-type.js';

/** Deviations from which the volatility over a window is computed. */
export const DEVIATIONS = ['zero_mean', 'sample', 'population'] as const;

/**
 * Target exposures of an overlay, with the volatility of the underlying index, [T] each. The volatility is NaN before
 * the first return is known.
 */
interface TargetExposures {
  readonly exposure: Float64Array;
  readonly volatility: Float64Array;
}

export interface RiskControlTerms {
  readonly target: number;
  readonly half_lives: readonly number[] | null;
  readonly sessions: number | null;
  readonly windows?: readonly number[] | null | undefined;
  readonly deviation?: (typeof DEVIATIONS)[number] | undefined;
  readonly max_leverage: number;
  readonly lag: number;
}

/** Members that state which returns count in the volatility. */
export type VolatilitySpan = 'half_lives' | 'sessions' | 'windows';

interface AnnualTerms extends RiskControlTerms {
  /** Number of sessions per year. */
  readonly annualisation: number;
}

/**
 * Returns the exposures at which the index would have the target volatility, [T]. Before the first return the exposure
 * is 1, or the maximum exposure if that is less.
 */
export function computeTargetExposures(
  { target, half_lives, sessions, windows, deviation, max_leverage, lag, annualisation: year }: AnnualTerms,
  { growth, before }: Pick<OverlaySource, 'growth' | 'before'>,
): TargetExposures {
  const returns = Float64Array.from([...before, ...growth.subarray(1)], (own) => Math.log(own));
  const squares = returns.map((own) => own ** 2);
  const spans = sessions === null ? (windows ?? null) : [sessions];
  const volatilities =
    spans === null
      ? half_lives!.map((sessionsOfHalf) =>
          computeDecayed(squares, { decay: raiseToPower(0.5, 1 / sessionsOfHalf), year }),
        )
      : spans.map((length) =>
          deviation === undefined || deviation === 'zero_mean'
            ? computeWindowMean(squares, { sessions: length, year })
            : computeWindowDeviation(returns, { sessions: length, year, isSample: deviation === 'sample' }),
        );
  const volatility = growth.map((_, t) => {
    const observationIndex = before.length + t - 1 - lag;
    return observationIndex < 0 ? Number.NaN : Math.max(...volatilities.map((of) => of[observationIndex]!));
  });
  const exposure = volatility.map((own) =>
    Number.isNaN(own) ? Math.min(1, max_leverage) : Math.min(max_leverage, target / own),
  );
  return { exposure, volatility };
}

/** Returns the annual volatility up to each return from squared returns with exponentially decaying weights, [R]. */
function computeDecayed(
  squares: Float64Array,
  { decay, year }: { readonly decay: number; readonly year: number },
): Float64Array {
  let sum = 0;
  let weight = 0;
  return squares.map((square) => {
    sum = decay * sum + (1 - decay) * square;
    weight = decay * weight + (1 - decay);
    return Math.sqrt((year * sum) / weight);
  });
}

/**
 * Returns the annual volatility from the latest squared returns with equal weights, [R]. At the beginning there are
 * fewer returns.
 */
function computeWindowMean(
  squares: Float64Array,
  { sessions, year }: { readonly sessions: number; readonly year: number },
): Float64Array {
  return squares.map((_, position) => {
    const from = Math.max(0, position + 1 - sessions);
    let sum = 0;
    for (let k = from; k <= position; k++) sum += squares[k]!;
    return Math.sqrt((year * sum) / (position + 1 - from));
  });
}

/**
 * Returns the annual standard deviation of the latest returns about their mean, [R]. At the beginning there are fewer
 * returns. A sample needs two.
 */
function computeWindowDeviation(
  returns: Float64Array,
  { sessions, year, isSample }: { readonly sessions: number; readonly year: number; readonly isSample: boolean },
): Float64Array {
  return returns.map((_, position) => {
    const from = Math.max(0, position + 1 - sessions);
    const count = position + 1 - from;
    let sum = 0;
    for (let k = from; k <= position; k++) sum += returns[k]!;
    const mean = sum / count;
    let squares = 0;
    for (let k = from; k <= position; k++) squares += (returns[k]! - mean) ** 2;
    const divisor = isSample ? count - 1 : count;
    return divisor === 0 ? Number.NaN : Math.sqrt((year * squares) / divisor);
  });
}

/** Dates and limits of changes of exposure. */
interface ReviewTerms {
  readonly tolerance?: number | undefined;
  readonly max_change?: number | undefined;
  readonly review?: 'daily' | 'monthly' | undefined;
}

/** Exposures after each close, with a reason for each exposure, [T] each. */
interface ReviewedExposures {
  readonly exposure: Float64Array;
  readonly reasons: readonly ExposureStep['reason'][];
}

/**
 * Returns exposures that follow their targets. They change on review dates if the difference exceeds the tolerance, and
 * by no more than the maximum.
 */
export function reviewExposures(
  targets: Float64Array,
  { tolerance, max_change: most, review }: ReviewTerms,
  { monthEnds }: Pick<OverlayContext, 'monthEnds'>,
): ReviewedExposures {
  const ends = review === 'monthly' ? monthEnds() : null;
  const exposure = targets.slice();
  const reasons = Array.from(targets, (): ExposureStep['reason'] => 'target');
  for (let t = 1; t < targets.length; t++) {
    const before = exposure[t - 1]!;
    const change = targets[t]! - before;
    const isReview = ends === null || ends[t] !== ends[t - 1];
    if (!isReview || (tolerance !== undefined && Math.abs(change) <= tolerance)) {
      exposure[t] = before;
      reasons[t] = isReview ? 'within_tolerance' : 'no_review';
    } else if (most !== undefined && Math.abs(change) > most) {
      exposure[t] = before + Math.sign(change) * most;
      reasons[t] = 'max_change';
    }
  }
  return { exposure, reasons };
}

export function explainExposure(
  { exposure: targets, volatility }: TargetExposures,
  { exposure, reasons }: ReviewedExposures,
): NonNullable<OverlayPath['explain']> {
  return (t) => ({
    exposure: exposure[t]!,
    target: targets[t]!,
    before: t === 0 ? null : exposure[t - 1]!,
    volatility: Number.isNaN(volatility[t]) ? null : volatility[t]!,
    reason: reasons[t]!,
  });
}
