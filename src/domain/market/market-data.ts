import type { Day } from '../time/days.js';
import type { SeriesTable } from './series.js';

/** Price basis of CLOSE in a store: as traded, divided by later splits, or by splits and dividends. */
export type Adjustment = 'none' | 'splits' | 'total';

/** Treatment of the cash of ordinary dividends in a return: excluded, in full, or after withholding tax. */
export const RETURN_VARIANTS = ['price', 'total', 'net'] as const;
export type ReturnVariant = (typeof RETURN_VARIANTS)[number];

/** Return variants of comparison levels. `raw` levels are used unchanged. */
export const MEASURED_VARIANTS = [...RETURN_VARIANTS, 'raw'] as const;
export type MeasuredVariant = (typeof MEASURED_VARIANTS)[number];

/**
 * One loaded version of a store: dense panels over two integer axes, and tables. Nothing in it may be changed, because
 * all workers read the panels in shared memory.
 */
export interface MarketData {
  readonly datasetId: string;
  /** SHA-256 of the canonical content; it changes if and only if a value changes. */
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Currency of securities without a currency in the reference data. Null or absent if the store declares none. */
  readonly currency?: string | null;
  /** Column axis: identifiers in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Row axis: all days on which any security has a bar, ascending, [T]. */
  readonly dates: Int32Array;
  /** Panels [T x N] by field name, row-major; NaN is a missing value. `CLOSE` always exists. */
  readonly fields: ReadonlyMap<string, Float64Array>;
  readonly reference: ReferenceTable;
  /** Corporate actions, ordered by identifier, ex-date and type. */
  readonly actions: readonly CorporateAction[];
  /** Last day of the ex-dates for which ordinary dividends are omitted; absent if all actions are present. */
  readonly settledTo?: number;
  /** True if any ordinary dividend has been omitted. */
  readonly settledCash?: boolean;
  /** Memberships, ordered by universe, identifier and start. */
  readonly universes: readonly Membership[];
  /** Series of the store; absent if there are none. */
  readonly series?: SeriesTable;
}

export type ReferenceValue = string | number | boolean | null;

export interface ReferenceTable {
  /** Columns of the table in the order of the file, without keys. */
  readonly columns: readonly string[];
  /** Rows by identifier, ascending by `validFrom`, with null (always valid) first. */
  readonly rows: ReadonlyMap<string, readonly ReferenceRow[]>;
}

export interface ReferenceRow {
  readonly validFrom: Day | null;
  /** Values, one per column of the table. */
  readonly values: readonly ReferenceValue[];
}

export const ACTION_KINDS = {
  DIVIDEND: 'cash',
  SPECIAL_DIVIDEND: 'cash',
  RETURN_OF_CAPITAL: 'cash',
  SPLIT: 'ratio',
  STOCK_DIVIDEND: 'ratio',
  BONUS_ISSUE: 'ratio',
  RIGHTS_ISSUE: 'structural',
  SPIN_OFF: 'structural',
  MERGER: 'structural',
  ACQUISITION: 'structural',
  DELISTING: 'structural',
  TICKER_CHANGE: 'structural',
} as const;
export type ActionType = keyof typeof ACTION_KINDS;
export type ActionStatus = 'announced' | 'paid' | 'cancelled';

export interface CorporateAction {
  readonly identifier: string;
  readonly type: ActionType;
  /** Cash per share, share-count multiplier or structural ratio. The type of the action determines which. */
  readonly value: number;
  readonly exDay: Day;
  readonly payDay: Day | null;
  readonly status: ActionStatus | null;
  readonly announcedDay: Day | null;
  /** Other security of a spin-off, merger or ticker change. */
  readonly related: string | null;
  readonly subscriptionPrice: number | null;
  /** For a merger, cash per share in addition to the shares of `related`; absent without cash. */
  readonly cash?: number;
  /** For a dividend that may be taken in shares, new shares per share held; absent without this choice. */
  readonly scripRatio?: number;
  /** True for a delisting or an acquisition whose payment is not stated; `value` is then 0. Absent if it is stated. */
  readonly isUnpriced?: true;
  /** Last day of the election; absent if unknown. */
  readonly electionDay?: Day;
  /** Choice that applies to holders without an election; absent if unknown. */
  readonly electionDefault?: ElectionDefault;
  /** Value of the shares that a spin-off distributes per share, where a part of a market lacks the other security. */
  readonly worth?: number;
}

const PAYMENTS = ['cash', 'shares'] as const;
const RIGHTS = ['take_up', 'sell', 'sell_to_fund', 'lapse'] as const;
/** Choice of a holder of rights. */
export type RightsChoice = (typeof RIGHTS)[number];
export const ELECTION_DEFAULTS = [...PAYMENTS, ...RIGHTS] as const;
export type ElectionDefault = (typeof ELECTION_DEFAULTS)[number];

/** Choices by type of action. */
export const ELECTIONS: ReadonlyMap<ActionType, readonly ElectionDefault[]> = new Map<
  ActionType,
  readonly ElectionDefault[]
>([
  ['DIVIDEND', PAYMENTS],
  ['SPECIAL_DIVIDEND', PAYMENTS],
  ['RIGHTS_ISSUE', RIGHTS],
  ['MERGER', PAYMENTS],
  ['ACQUISITION', PAYMENTS],
]);

/** Membership of a security in a universe, from `start` (null: always) to `end`, exclusive (null: still a member). */
export interface Membership {
  readonly universe: string;
  readonly identifier: string;
  readonly start: Day | null;
  readonly end: Day | null;
}

/** Returns the value of a reference column known on a day, from the latest row valid on or before it. */
export function readReference(table: ReferenceTable, identifier: string, column: string, day: Day): ReferenceValue {
  const position = table.columns.indexOf(column);
  if (position < 0) return null;
  let value: ReferenceValue = null;
  for (const row of table.rows.get(identifier) ?? []) {
    if (row.validFrom !== null && row.validFrom > day) break;
    value = row.values[position] ?? null;
  }
  return value;
}
