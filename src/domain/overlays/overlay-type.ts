import type { z } from 'zod';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import type { UnderlyingTerms, Remark } from './remarks.js';

/** Underlying index of an overlay, in the currency of the index. */
export interface OverlaySource {
  /** Growth over each session, 1 on the first, [T]. */
  readonly growth: Float64Array;
  /** Growth over each session of the index before the first session of the overlay, ascending, [P]. */
  readonly before: Float64Array;
}

/** Data available to an overlay over T sessions. Values of a session do not depend on later sessions. */
export interface OverlayContext {
  /** Id of the overlay, for refusals. */
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

/** Reasons for an exposure after a close. */
export const EXPOSURE_REASONS = {
  target: 'the exposure is the target',
  max_change: 'the difference from the target exceeds the largest change',
  within_tolerance: 'the target is within the tolerance of the previous exposure',
  no_review: 'the session is not a review',
} as const;

/** Derivation of the exposure of an overlay after a close. */
export interface ExposureStep {
  readonly exposure: number;
  /** Target exposure. */
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

/** Separate parts of the return of overlays, with their meaning. */
export const OVERLAY_PARTS = {
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

/** Series of the data that an overlay reads. */
export interface SeriesUse {
  readonly path: string;
  readonly series: string;
  /**
   * Currency of the rate. Null means the currency of the underlying index. Absent if the rate may intentionally be of
   * another currency.
   */
  readonly currency?: string | null;
}

/** Type of overlay, with all its operations. */
export interface OverlayType<S extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  readonly label: string;
  readonly help: string;
  /** Formula for the guide. */
  readonly formula: string;
  /** Source of the formula. */
  readonly reference: string;
  readonly schema: S;
  readonly example: Readonly<Record<string, unknown>>;
  /** Returns the series of rates that the overlay reads. */
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
