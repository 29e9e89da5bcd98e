import { z } from 'zod';
import { raiseToPower } from '#kernels/power.js';
import type { Finding } from '../base/findings.js';
import { Refusal } from '../base/refusals.js';
import type { RebalanceSpec } from './schedule.js';

/** Day count basis, a field shared by several overlays. */

export const defineBasis = (usual: 360 | 365) =>
  z
    .union([z.literal(360), z.literal(365)])
    .default(usual)
    .meta({ description: 'Number of days per year.' });

/** Member of overlay specifications. Optional, so that stored documents without it are unchanged. */
export const annualisation = z.int().min(1).max(366).optional().meta({
  description:
    'Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day.',
});

/** Schema of a rate in percent per year. It is below 100%, because 100% would consume the whole value. */
export const percent = z.number().min(0).lt(100).meta({ description: 'Percent per year: 5 is 5%.' });

const defineSeries = (description: string) => z.string().min(1).max(64).meta({ description, format: 'series' });

/** Schema of an interest rate: a series of the data in percent per year. */
export const defineRateSeries = (meaning: string) =>
  defineSeries(`Series of the data with the ${meaning}, percent per year.`);

/** Member of overlay specifications. Optional, so that stored documents without it are unchanged. */
export const costBps = z.number().min(0).max(10_000).optional().meta({
  description: 'Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.',
});

/** Returns sentences for clients about costs. */
export const describeCosts = (bps: number | undefined): string[] =>
  bps === undefined ? [] : [`A change of exposure at the close costs ${bps} basis points of the traded amount.`];

/** Finding about members of an overlay, with a path relative to the overlay. */
export type Remark = Pick<Finding, 'severity' | 'code' | 'path' | 'message' | 'value'>;

export interface UnderlyingTerms {
  /** Currency of the first underlying index; undefined if that index is not stored. */
  readonly currency: string | undefined;
  readonly baseValue: number;
  /** True if the first underlying index is an overlay. */
  readonly isOverlay?: boolean;
}

/** Returns a warning about a member without effect in combination with other members. */
export const reportWithoutEffect = (path: string, value: unknown, why: string): Remark => ({
  severity: 'warning',
  code: 'NO_EFFECT',
  path,
  message: `overlay.${path}${typeof value === 'object' ? '' : ` is ${JSON.stringify(value)} and`} has no effect: ${why}.`,
  value,
});

/** Reports members that differ from their default but have no effect, all for one reason. */
export function reportIdleMembers<S extends z.ZodObject>(
  schema: S,
  spec: z.output<S>,
  { members, why }: { readonly members: readonly (keyof z.output<S> & string)[]; readonly why: string },
): Remark[] {
  return members.flatMap((member) => {
    const value: unknown = spec[member];
    if (value === undefined || value === null || value === 0) return [];
    const defaultValue: unknown = (schema.shape[member] as z.ZodType).safeParse(undefined).data;
    return JSON.stringify(value) === JSON.stringify(defaultValue) ? [] : [reportWithoutEffect(member, value, why)];
  });
}

/** Underlying index of an overlay, in the currency of the index. */
interface OverlaySource {
  /** Growth over each session, 1 on the first, [T]. */
  readonly growth: Float64Array;
  /** Growth over each session of the index before the first session of the overlay, ascending, [P]. */
  readonly before: Float64Array;
  /** Returns the growth over each session without reinvested income, 1 on the first, [T]. */
  priceGrowth(): Float64Array;
  /** Returns the fraction of the value that securities release by leaving the index at each close, [T]. */
  exitShares(): Float64Array;
}

/** Data available to an overlay over T sessions. Values of a session do not depend on later sessions. */
export interface OverlayContext {
  readonly indexId: string;
  /** Days of the sessions, [T]. */
  readonly days: Int32Array;
  readonly baseValue: number;
  /** Number of sessions per year on the calendar of the overlay. */
  readonly periods: number;
  readonly sources: readonly OverlaySource[];
  /**
   * Returns an interest rate as last known at each close, fraction per year, [T]. @throws Refusal NO_DATA_AT_DATE,
   * RATE_OUT_OF_RANGE
   */
  rate(series: string): Float64Array;
  /**
   * Returns the price of a currency in the currency of the overlay, [T]. Default: the currency of the underlying index.
   * @throws Refusal FX_MISSING
   */
  exchange(quoted?: string): Float64Array;
  /**
   * Returns the weight of securities that are quoted in one of the currencies of `weighed`, after each close, [T]. It
   * is the weight in the underlying index, in the return variant of the index.
   */
  weightIn(currency: string): Float64Array;
  /** Returns the day of the next month-end session for each session, [T]. */
  monthEnds(): Int32Array;
  /** Returns 1 for sessions at whose close a schedule rebalances, [T]. */
  resets(rebalance: RebalanceSpec): Uint8Array;
  /** Returns the date of a session, for refusals. */
  dateOf(t: number): string;
}

/** Growth and exposures of an overlay, computed from its underlying indices. */
export interface OverlayPath {
  /** Growth over each session, 1 on the first, [T]. */
  readonly growth: Float64Array;
  /** Fraction in each underlying index after each close, [sources][T]. */
  readonly exposures: readonly Float64Array[];
  /** Growth of the exchange rate over each session, [T]. Null without conversion. */
  readonly exchange: Float64Array | null;
  /** Separate contributions to the return of each session, [T] each. */
  readonly parts: readonly OverlayPart[];
  /** 1 for sessions at whose close a schedule resets exposures, [T]; null without a schedule. */
  readonly resets: Uint8Array | null;
  /** Explains the exposure after a close. Absent if the type has no target exposure. */
  readonly explain?: (t: number) => ExposureStep;
}

export const EXPOSURE_REASONS = {
  target: 'the exposure is the target',
  max_change: 'the difference from the target exceeds the largest change',
  within_tolerance: 'the target is within the tolerance of the previous exposure',
  no_review: 'the session is not a review',
} as const;

/** Derivation of the exposure of an overlay after a close. */
export interface ExposureStep {
  readonly exposure: number;
  readonly target: number;
  /** Exposure after the previous close; null on the first session. */
  readonly before: number | null;
  /** Annual volatility from which the target is computed. Null before the first return is known. */
  readonly volatility: number | null;
  readonly reason: keyof typeof EXPOSURE_REASONS;
}

export interface OverlayPart {
  readonly part: PartName;
  readonly contributions: Float64Array;
}

const OVERLAY_PARTS = {
  cash: 'interest that is earned or lost on cash',
  costs: 'costs of changes of the exposure',
  currency: 'the exchange rate on cash of the underlying index',
  decrement: 'the synthetic dividend',
  fee: 'the fee',
  financing: 'interest that is paid on borrowed money, or earned on the proceeds of short positions',
  hedge: 'gains and losses of currency forwards',
} as const;
export type PartName = keyof typeof OVERLAY_PARTS;
export const OVERLAY_PART_NAMES = Object.keys(OVERLAY_PARTS) as [PartName, ...PartName[]]; // Object.keys returns plain strings.
export const OVERLAY_PART_HELP = OVERLAY_PART_NAMES.map((name) => `${name} (${OVERLAY_PARTS[name]})`).join(', ');

/**
 * Returns the id of a part of an overlay among contributions, such as `overlay/DOUBLE/financing`. No security has it,
 * because an identifier contains no slash.
 */
export const formatPartId = (indexId: string, part: PartName): string => `overlay/${indexId}/${part}`;

interface SeriesUse {
  readonly path: string;
  readonly series: string;
  /**
   * Currency of the rate. Null means the currency of the underlying index. Absent if the rate may intentionally be of
   * another currency.
   */
  readonly currency?: string | null;
}

export interface OverlayType<S extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  readonly label: string;
  readonly help: string;
  readonly formula: string;
  /** Source of the formula. */
  readonly reference: string;
  readonly schema: S;
  readonly example: Readonly<Record<string, unknown>>;
  readonly series: (spec: z.output<S>) => readonly SeriesUse[];
  /**
   * Returns the currency into which the overlay converts. Returns null if it keeps the currency of the underlying
   * index.
   */
  readonly currency: (spec: z.output<S>) => string | null;
  /** True if the overlay needs the exchange rate into that currency. */
  readonly converts: boolean;
  /** Returns the currencies whose weights the overlay reads. The weights are those in the underlying index. */
  readonly weighed: (spec: z.output<S>) => readonly string[];
  readonly sentences: (spec: z.output<S>) => readonly string[];
  /** Reports members that contradict each other or have no effect. */
  readonly remarks: (spec: z.output<S>, underlying: UnderlyingTerms) => readonly Remark[];
  /** Computes the path of the overlay. @cost O(T sources) */
  readonly path: (spec: z.output<S>, context: OverlayContext) => OverlayPath;
}

type Optional = 'series' | 'currency' | 'converts' | 'weighed' | 'remarks';

/** Returns an overlay type with default operations; it infers the type of `spec` from the schema. */
export function defineOverlayType<S extends z.ZodObject>(
  entry: Omit<OverlayType<S>, Optional> & Partial<Pick<OverlayType<S>, Optional>>,
): OverlayType<S> {
  return { series: () => [], currency: () => null, converts: true, weighed: () => [], remarks: () => [], ...entry };
}

interface SingleHoldingTerms {
  readonly indexId: string;
  readonly transactionCostBps: number;
  readonly hasConstraints: boolean;
}

/**
 * Reports settings that a portfolio of an overlay cannot have. The overlay is a single holding, without costs and
 * optimisation.
 */
export function checkSingleHolding({
  indexId,
  transactionCostBps: cost,
  hasConstraints,
}: SingleHoldingTerms): Finding[] {
  return [
    ...(cost === 0
      ? []
      : [
          createRefusal(
            'transaction_cost_bps',
            `The overlay ${indexId} is a single holding. transaction_cost_bps is ${cost}, but must be 0. cost_bps of the overlay charges its internal trades.`,
          ),
        ]),
    ...(hasConstraints
      ? [
          createRefusal(
            'constraint_set_id',
            `The overlay ${indexId} is a single holding. A constraint set needs the securities of the underlying index.`,
          ),
        ]
      : []),
  ];
}

function createRefusal(path: string, message: string): Finding {
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, message };
}

export const BASIS_POINT = 1e-4;

/**
 * Returns the number of days from the previous session to each session, divided by the days per year, [T]. 0 on the
 * first session.
 */
export function computeYearFractions(days: Int32Array, basis: number): Float64Array {
  return Float64Array.from(days, (day, t) => (t === 0 ? 0 : (day - days[t - 1]!) / basis));
}

/**
 * Returns the interest of each session at the rate known at the previous close, [T]. 0 on the first session.
 * @param series null for a rate of 0
 */
export function computeAccruals(context: OverlayContext, series: string | null, basis: number): Float64Array {
  const fractions = computeYearFractions(context.days, basis);
  if (series === null) return fractions.fill(0);
  const rate = context.rate(series);
  return fractions.map((fraction, t) => (t === 0 ? 0 : rate[t - 1]! * fraction));
}

/** Returns the path of an overlay that holds a single index, given its growth over each session. */
export function createWholeHolding(
  context: OverlayContext,
  part: PartName,
  growthOf: (growth: number, t: number) => number,
): OverlayPath {
  const { growth: underlyingGrowth } = context.sources[0]!;
  const growth = underlyingGrowth.map((own, t) => (t === 0 ? 1 : assertPositive(growthOf(own, t), context, t)));
  return {
    growth,
    exposures: [new Float64Array(growth.length).fill(1)],
    exchange: null,
    parts: [{ part, contributions: growth.map((own, t) => own - underlyingGrowth[t]!) }],
    resets: null,
  };
}

/**
 * Subtracts the costs of changing exposures from a path. At each close, the previous exposures after growth are
 * compared with the new ones, and costs are charged on the difference. The first purchase is free.
 * @param bps undefined: no costs
 */
export function subtractCosts(
  path: OverlayPath,
  context: NamedContext & { readonly sources: readonly Pick<OverlaySource, 'growth'>[] },
  bps: number | undefined,
): OverlayPath {
  if (bps === undefined) return path;
  const { sources } = context;
  const { growth: before, exposures } = path;
  const growth = before.map((growthBefore, t) => {
    if (t === 0) return growthBefore;
    let tradedExposure = 0;
    for (let k = 0; k < exposures.length; k++)
      tradedExposure += Math.abs(exposures[k]![t]! - (exposures[k]![t - 1]! * sources[k]!.growth[t]!) / growthBefore);
    return assertPositive(growthBefore * (1 - bps * BASIS_POINT * tradedExposure), context, t);
  });
  const costs = { part: 'costs' as const, contributions: growth.map((own, t) => own - before[t]!) };
  return { ...path, growth, parts: [...path.parts, costs] };
}

/** Id of the overlay, and dates of its sessions, for refusals. */
type NamedContext = Pick<OverlayContext, 'indexId' | 'dateOf'>;

/**
 * Asserts that the level stays positive and returns the growth. @throws Refusal NUMERIC_FAILURE if the level is 0 or
 * less
 */
export function assertPositive(growth: number, { indexId, dateOf }: NamedContext, t: number): number {
  if (growth > 0) return growth;
  const changeText = `${Number((100 * (growth - 1)).toPrecision(6))}%`;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The overlay ${indexId} loses its whole value on ${dateOf(t)}, with a change of ${changeText}. It has no level afterwards.`,
    { index_id: indexId, date: dateOf(t) },
  );
}

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
