import type { z } from 'zod';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import type { Beneath, Remark } from './remarks.js';

/** An index beneath an overlay, in its own currency. */
export interface OverlaySource {
  /** Growth over each session, 1 on the first, [T]. */
  readonly growth: Float64Array;
  /** Growth over each session of its own before the first of the overlay, ascending, [P]. */
  readonly before: Float64Array;
}

/** What an overlay may ask. T sessions; nothing of a session depends on a later one. */
export interface OverlayContext {
  /** Of the overlay, for refusals. */
  readonly indexId: string;
  /** Days of the sessions, [T]. */
  readonly days: Int32Array;
  readonly baseValue: number;
  /** Sessions of a year on its calendar. */
  readonly periods: number;
  readonly sources: readonly OverlaySource[];
  /** A rate of interest as it was last known at each close, fraction a year, [T]. @throws Refusal NO_DATA_AT_DATE, RATE_OUT_OF_RANGE */
  rate(series: string): Float64Array;
  /** Price of a currency, of that beneath if none is named, in that of the overlay, [T]. @throws Refusal FX_MISSING */
  exchange(of?: string): Float64Array;
  /** Weight in the index beneath of the names quoted in one of `weighed`, after each close, in its own variant, [T]. */
  weightIn(currency: string): Float64Array;
  /** Day of the first last-session-of-a-month after each session, [T]. */
  monthEnds(): Int32Array;
  /** 1 where a schedule rebalances at the close, [T]. */
  resets(rebalance: RebalanceSpec): Uint8Array;
  /** A session as a date, for refusals. */
  dateOf(t: number): string;
}

/** What an overlay does with the indices beneath it. */
export interface OverlayPath {
  /** Growth over each session, 1 on the first, [T]. */
  readonly growth: Float64Array;
  /** Fraction that holds each index beneath after each close, [sources][T]. */
  readonly exposures: readonly Float64Array[];
  /** Growth of the exchange rate over each session, [T]; null without conversion. */
  readonly exchange: Float64Array | null;
  /** Contributions of its own to the return of each session, [T] each. */
  readonly parts: readonly OverlayPart[];
  /** 1 where exposures are set anew at the close by a schedule, [T]; null where none is. */
  readonly resets: Uint8Array | null;
  /** Why the exposure after a close is what it is; absent of a type whose exposure follows no target. */
  readonly explain?: (t: number) => ExposureStep;
}

/** Reasons for an exposure. */
export const EXPOSURE_REASONS = {
  target: 'it is the target',
  max_change: 'the target is further away than the largest change',
  within_tolerance: 'the target is within the tolerance of the exposure before',
  no_review: 'the session is no review',
} as const;

/** How an overlay came to its exposure after a close. */
export interface ExposureStep {
  readonly exposure: number;
  /** Exposure that it aims at. */
  readonly target: number;
  /** Exposure after the close before; null on the first session. */
  readonly before: number | null;
  /** Volatility a year behind the target; null before the first return is known. */
  readonly volatility: number | null;
  readonly reason: keyof typeof EXPOSURE_REASONS;
}

export interface OverlayPart {
  readonly part: PartName;
  readonly contributions: Float64Array;
}

/** Own parts of overlays, with what they are. */
export const OVERLAY_PARTS = {
  cash: 'interest earned or given up on cash',
  costs: 'costs of changed exposures',
  currency: 'the exchange rate on what lies in cash beneath',
  decrement: 'the synthetic dividend',
  fee: 'the fee',
  financing: 'interest paid for borrowed money, or earned on the proceeds of short positions',
  hedge: 'gains and losses of currency forwards',
} as const;
export type PartName = keyof typeof OVERLAY_PARTS;
export const OVERLAY_PART_NAMES = Object.keys(OVERLAY_PARTS) as [PartName, ...PartName[]]; // Object.keys returns plain strings.
export const OVERLAY_PART_HELP = OVERLAY_PART_NAMES.map((name) => `${name} (${OVERLAY_PARTS[name]})`).join(', ');

/** A series of the store that an overlay reads. */
export interface SeriesUse {
  readonly path: string;
  readonly series: string;
  /** Currency that the rate is of, null for that of the index beneath; absent where a rate of another may be meant. */
  readonly currency?: string | null;
}

/** One kind of overlay: everything the service knows of it. */
export interface OverlayType<S extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  readonly label: string;
  readonly help: string;
  /** As the guide prints it. */
  readonly formula: string;
  /** Where the formula comes from. */
  readonly reference: string;
  readonly schema: S;
  readonly example: Readonly<Record<string, unknown>>;
  /** Series of rates. */
  readonly series: (spec: z.output<S>) => readonly SeriesUse[];
  /** Currency that it leads into, null where it stays in that beneath. */
  readonly currency: (spec: z.output<S>) => string | null;
  /** Whether it needs the exchange rate into that currency. */
  readonly converts: boolean;
  /** Currencies whose weights in the index beneath it asks for. */
  readonly weighed: (spec: z.output<S>) => readonly string[];
  readonly sentences: (spec: z.output<S>) => readonly string[];
  /** Members that contradict each other, or do nothing beside the others. */
  readonly remarks: (spec: z.output<S>, beneath: Beneath) => readonly Remark[];
  /** @cost O(T sources) */
  readonly path: (spec: z.output<S>, context: OverlayContext) => OverlayPath;
}

type Optional = 'series' | 'currency' | 'converts' | 'weighed' | 'remarks';

/** Keeps the parameter types of an entry for its behaviour. */
export function overlayType<S extends z.ZodObject>(
  entry: Omit<OverlayType<S>, Optional> & Partial<Pick<OverlayType<S>, Optional>>,
): OverlayType<S> {
  return { series: () => [], currency: () => null, converts: true, weighed: () => [], remarks: () => [], ...entry };
}
