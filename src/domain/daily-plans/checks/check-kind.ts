import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatNumber } from '../../catalogue/sentence-numbers.js';
import type { DeskState } from '../../corporate-actions/action-desk.js';
import type { CorporateAction } from '../../market/market-data.js';
import type { Day } from '../../time/days.js';

/** Holding of an index at a close. */
export interface CheckedHolding {
  readonly identifier: string;
  /** Index shares times price times exchange rate, in the currency of the index. */
  readonly marketValue: number;
  /** Market value divided by the market value of the index. */
  readonly weight: number;
}

/** Holdings and divisor of an index on a session. */
export interface CheckedComposition {
  /** Holdings of securities, without cash. */
  readonly holdings: readonly CheckedHolding[];
  /** Cash in the currency of the index, and as a fraction of its market value; negative for borrowed money. */
  readonly cash: Pick<CheckedHolding, 'marketValue' | 'weight'>;
  readonly divisor: number | null;
  /** Return variant whose level equals market value divided by divisor. */
  readonly variant: (typeof LEVEL_VARIANTS)[number];
}

/** Levels of an index at a close; null for a variant without a level. */
export interface CheckedLevels {
  readonly price: number | null;
  readonly total: number | null;
  readonly net: number | null;
}

export const LEVEL_VARIANTS = ['price', 'total', 'net'] as const;

/** Data of one index on one session, from which checks are computed. */
export interface CheckInput {
  readonly indexId: string;
  readonly date: Day;
  /** Session before `date`. */
  readonly previous: Day;
  /**
   * Composition at the close of the session, or at the close of the run's last session if that is earlier. Null without
   * a run.
   */
  readonly closing: CheckedComposition | null;
  /** Composition before the session opens. Null if the run has no opening file. */
  readonly opening: CheckedComposition | null;
  /** Levels of the run by session, up to `date`. */
  readonly levels: ReadonlyMap<Day, CheckedLevels>;
  /** Published levels in force, by session. */
  readonly published: ReadonlyMap<Day, CheckedLevels>;
  /** Number of decimals to which levels, divisors and weights are rounded; null without rounding. */
  readonly decimals: Readonly<Record<'level' | 'divisor' | 'weights', number | null>>;
  /** True if the index may hold short positions. */
  readonly maySellShort: boolean;
  /** Returns the close of a security on a day. Returns NaN without a price. */
  closeOn(identifier: string, day: Day): number;
  /** Returns the last days with any price, up to `date`, ascending. */
  lastDays(count: number): readonly Day[];
  /** Returns the corporate actions of a security, by ex-date. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Returns the desk state of a constituent's action that takes effect on the session. */
  deskStateOf(action: CorporateAction): DeskState;
  /** Returns true if the exchange of a security was closed on the session. */
  isClosed(identifier: string): boolean;
  /** Returns true for a session of the index calendar. */
  isSession(day: Day): boolean;
  /** Returns the issuer of a security. */
  issuerOf(identifier: string): string;
  /** Returns the value of a series on a day. Returns NaN without a value. */
  seriesOn(identifier: string, day: Day): number;
  /** Securities whose changed history the refresh of the day rejected. Null on a day without a refresh. */
  readonly restated: ReadonlySet<string> | null;
}

/** Number measured by a check, with its limit. */
export const CheckMeasure = defineObject(() => ({
  value: z.number().meta({ description: 'Measured value.' }),
  limit: z.number().meta({ description: 'Limit of the check.' }),
  unit: z
    .enum(['fraction', 'bp', 'sessions', 'constituents'])
    .meta({ description: 'Unit of the value and the limit.' }),
})).meta({ id: 'CheckMeasure' });
export type CheckMeasure = z.infer<typeof CheckMeasure>;

/** Prices of a security on two successive days with prices, and its weight in the checked composition. */
export interface MoveEvidence {
  /** Day of the previous close, YYYY-MM-DD. */
  readonly previous_date: string;
  readonly previous_close: number;
  readonly close: number;
  readonly weight: number;
}

/** Problem found by a check. */
export interface CheckFinding {
  /** Affected security; null for the index as a whole. */
  readonly identifier: string | null;
  readonly message: string;
  /** Measured number; absent for a finding without a number. */
  readonly measure?: CheckMeasure;
  /** Prices of a price move; absent for other findings. */
  readonly evidence?: MoveEvidence;
}

export type CheckSeverity = 'block' | 'warn';

/** Kind of check. */
export interface CheckKind<P = never> {
  readonly schema: z.ZodObject;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /** True if the check needs the run of the session. A step before the runs cannot perform it. */
  readonly needsRun: boolean;
  /** Data that the check reads: members of `CheckInput`, or `decisions` of the desk of corporate actions. */
  readonly reads: readonly ('closing' | 'opening' | 'levels' | 'published' | 'decisions')[];
  judge(input: CheckInput, params: P): readonly CheckFinding[];
}

/** Creates a kind of check and keeps the literal types of its schema. */
export function defineCheckKind<const S extends z.ZodObject>(
  kind: { readonly schema: S } & Omit<CheckKind<z.infer<S>>, 'schema'>,
) {
  return kind;
}

/** Returns the schema of the severity of a check, with a default. */
export const defineSeverity = (standard: CheckSeverity) =>
  z
    .enum(['block', 'warn'])
    .default(standard)
    .meta({
      description: `Findings block the index (block), or are only reported (warn). Default: ${standard}.`,
    });

export const formatPercent = (fraction: number): string => `${formatNumber(Number((100 * fraction).toFixed(2)))}%`;
