import type { Day } from '../time/days.js';
import type { SeriesTable } from './series.js';

/** Price basis of CLOSE in a store: as traded, divided by later splits, or by splits and dividends. */
export type Adjustment = 'none' | 'splits' | 'total';

/** How the cash of ordinary dividends enters a return: not at all, whole, or after withholding tax. */
export const RETURN_VARIANTS = ['price', 'total', 'net'] as const;
export type ReturnVariant = (typeof RETURN_VARIANTS)[number];

/** Returns of levels that are compared with: raw ones are taken as they stand. */
export const MEASURED_VARIANTS = [...RETURN_VARIANTS, 'raw'] as const;
export type MeasuredVariant = (typeof MEASURED_VARIANTS)[number];

/**
 * One loaded version of a store: dense panels over two integer axes, and the tables beside them.
 * Immutable by convention: the panels lie in shared memory that every worker reads.
 */
export interface MarketData {
  readonly datasetId: string;
  /** SHA-256 over the canonical content; changes exactly when a value changes. */
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Currency of names whose reference data has none; null, like nothing, where the store declares none. */
  readonly currency?: string | null;
  /** Column axis: identifiers in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Row axis: every day on which any name has a bar, ascending, [T]. */
  readonly dates: Int32Array;
  /** Field name to panel [T x N], row-major, NaN where there is no value. `CLOSE` is always there. */
  readonly fields: ReadonlyMap<string, Float64Array>;
  readonly reference: ReferenceTable;
  /** In the order of identifier, ex day, type. */
  readonly actions: readonly CorporateAction[];
  /** Last ex day of the cash that has been left out of the actions; absent when all of them are there. */
  readonly settledTo?: number;
  /** Whether any cash has been left out. */
  readonly settledCash?: boolean;
  /** In the order of universe, identifier, start. */
  readonly universes: readonly Membership[];
  /** Prices that are never constituents; absent where the store has none. None of them is a name of the market. */
  readonly series?: SeriesTable;
}

export type ReferenceValue = string | number | boolean | null;

export interface ReferenceTable {
  /** Columns held, in file order, keys excluded. */
  readonly columns: readonly string[];
  /** Identifier to its rows, by `validFrom` ascending, null (always valid) first. */
  readonly rows: ReadonlyMap<string, readonly ReferenceRow[]>;
}

export interface ReferenceRow {
  readonly validFrom: Day | null;
  /** One value per column of the table. */
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
  /** Per-share cash, share-count multiplier or structural ratio, by the type's kind. */
  readonly value: number;
  readonly exDay: Day;
  readonly payDay: Day | null;
  readonly status: ActionStatus | null;
  readonly announcedDay: Day | null;
  /** Other identifier of a spin-off, merger or ticker change. */
  readonly related: string | null;
  readonly subscriptionPrice: number | null;
  /** Of a merger, money paid per share besides the shares of `related`; absent where none is. */
  readonly cash?: number;
  /** Of a dividend that may be taken in shares: new shares for one held; absent where there is no such choice. */
  readonly scripRatio?: number;
  /** Last day on which a holder elects; absent where unknown. */
  readonly electionDay?: Day;
  /** What a holder gets who elects nothing; absent where unknown. */
  readonly electionDefault?: ElectionDefault;
}

const PAYMENTS = ['cash', 'shares'] as const;
const RIGHTS = ['take_up', 'sell', 'sell_to_fund', 'lapse'] as const;
/** What a holder of rights can do with them. */
export type RightsChoice = (typeof RIGHTS)[number];
export const ELECTION_DEFAULTS = [...PAYMENTS, ...RIGHTS] as const;
export type ElectionDefault = (typeof ELECTION_DEFAULTS)[number];

/** What a holder can elect, by the actions that one may have to decide about. */
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

/** One spell of a name in a universe: from `start` (null: always) until before `end` (null: still a member). */
export interface Membership {
  readonly universe: string;
  readonly identifier: string;
  readonly start: Day | null;
  readonly end: Day | null;
}

/** Value of a reference column as known on a day: the latest row valid at or before it. */
export function referenceAt(table: ReferenceTable, identifier: string, column: string, day: Day): ReferenceValue {
  const position = table.columns.indexOf(column);
  if (position < 0) return null;
  let value: ReferenceValue = null;
  for (const row of table.rows.get(identifier) ?? []) {
    if (row.validFrom !== null && row.validFrom > day) break;
    value = row.values[position] ?? null;
  }
  return value;
}
