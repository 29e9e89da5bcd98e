import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import type { DeskState } from '../../corporate-actions/action-desk.js';
import type { CorporateAction } from '../../market/market-data.js';
import type { Day } from '../../time/days.js';

/** A security of an index at a close. */
export interface CheckedHolding {
  readonly identifier: string;
  /** Index shares times price times exchange rate, in the currency of the index. */
  readonly marketValue: number;
  /** Market value over the market value of the index. */
  readonly weight: number;
}

/** Holdings and divisor of an index on a session. */
export interface CheckedComposition {
  /** Securities, without cash. */
  readonly holdings: readonly CheckedHolding[];
  /** Cash in the currency of the index, and as a fraction of it; negative if money is borrowed. */
  readonly cash: Pick<CheckedHolding, 'marketValue' | 'weight'>;
  readonly divisor: number | null;
  /** Return variant of the level that market value over divisor is. */
  readonly variant: (typeof LEVEL_VARIANTS)[number];
}

/** Levels of an index at a close; null for a variant without a level. */
export interface CheckedLevels {
  readonly price: number | null;
  readonly total: number | null;
  readonly net: number | null;
}

export const LEVEL_VARIANTS = ['price', 'total', 'net'] as const;

/** Data of one index on one session. */
export interface CheckInput {
  readonly indexId: string;
  readonly date: Day;
  /** Session before it. */
  readonly previous: Day;
  /** Closing composition of the session; of the last session of the run where that is earlier; null without a run. */
  readonly closing: CheckedComposition | null;
  /** Index before the session opens; null if it has no such file. */
  readonly opening: CheckedComposition | null;
  /** Levels of the run by session, up to the session. */
  readonly levels: ReadonlyMap<Day, CheckedLevels>;
  /** Published levels in force by session. */
  readonly published: ReadonlyMap<Day, CheckedLevels>;
  /** Decimals to which levels, divisors and weights are rounded; null for those that are not. */
  readonly decimals: Readonly<Record<'level' | 'divisor' | 'weights', number | null>>;
  /** True if the index may hold short positions. */
  readonly maySellShort: boolean;
  /** Close of a security on a day; NaN without a price. */
  closeOn(identifier: string, day: Day): number;
  /** Last days with any price, up to the session, ascending. */
  lastDays(count: number): readonly Day[];
  /** Corporate actions of a security, by ex-date. */
  actionsOf(identifier: string): readonly CorporateAction[];
  /** Returns the state of a constituent's action that takes effect on the session. */
  deskStateOf(action: CorporateAction): DeskState;
  /** True if the exchange of a security was closed on the session. */
  isClosed(identifier: string): boolean;
  /** True for a session of the index calendar. */
  isSession(day: Day): boolean;
  /** Issuer of a security. */
  issuerOf(identifier: string): string;
  /** Value of a series on a day; NaN if the series has no value. */
  seriesOn(identifier: string, day: Day): number;
  /** Securities whose changed history the refresh of the day rejected; null for a day without a refresh. */
  readonly restated: ReadonlySet<string> | null;
}

/** Number that a check found, and its limit. */
export const CheckMeasure = defineObject(() => ({
  value: z.number().meta({ description: 'Number that the check found.' }),
  limit: z.number().meta({ description: 'Limit of the check.' }),
  unit: z.enum(['fraction', 'bp', 'sessions', 'constituents']).meta({ description: 'Unit of both.' }),
})).meta({ id: 'CheckMeasure' });
export type CheckMeasure = z.infer<typeof CheckMeasure>;

/** A problem that a check found. */
export interface CheckFinding {
  /** Security concerned; null for the index as a whole. */
  readonly identifier: string | null;
  readonly message: string;
  /** Absent of a finding without a number. */
  readonly measure?: CheckMeasure;
}

export type CheckSeverity = 'block' | 'warn';

/** One kind of check. */
export interface CheckKind<P = never> {
  readonly schema: z.ZodObject;
  /** A sentence for the guide and the contract. */
  readonly help: string;
  /** True if the check needs the run of the session, so that steps before the runs cannot perform it. */
  readonly needsRun: boolean;
  /** Data that the check reads. */
  readonly reads: readonly ('closing' | 'opening' | 'levels' | 'published' | 'decisions')[];
  judge(input: CheckInput, params: P): readonly CheckFinding[];
}

/** Keeps the literal types of an entry. */
export function checkKind<const S extends z.ZodObject>(
  kind: { readonly schema: S } & Omit<CheckKind<z.infer<S>>, 'schema'>,
) {
  return kind;
}

/** Severity of a check, with its default. */
export const severity = (standard: CheckSeverity) =>
  z
    .enum(['block', 'warn'])
    .default(standard)
    .meta({
      description: `Findings block the index (block), or are only reported (warn). Default: ${standard}.`,
    });

export const percent = (fraction: number): string => `${Number((100 * fraction).toPrecision(6))} %`;
