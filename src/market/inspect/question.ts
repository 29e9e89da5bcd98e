import type { Mapping } from '#domain/documents/mapping.js';
import type { RowConflict } from '../tables/row-conflicts.js';
import type { MarketData } from '#domain/market/market-data.js';

export type Adjustment = MarketData['adjustment'];

/** What the data does not say, what is taken for it, and the field that says it. */
export interface Question {
  readonly field: keyof Mapping | 'adjustment';
  readonly question: string;
  /** What is taken as long as nobody answers; null where nothing is. */
  readonly taken: string | null;
  /** What else it may be, as far as that is known. */
  readonly others: readonly string[];
  /** Whether nothing should be read before it is answered. */
  readonly required: boolean;
  /** Securities whose rows of one date differ, where that is asked about. */
  readonly conflicts?: readonly RowConflict[];
}

/** Fields that are said before they are asked. */
export type Answers = { readonly [Field in keyof Mapping]?: Mapping[Field] | undefined } & {
  readonly adjustment?: Adjustment | undefined;
};

/** Price basis that is taken for closes, and why. */
export interface Basis {
  readonly adjustment: Adjustment;
  readonly reason: string;
  /** What it would mean otherwise. */
  readonly others: readonly { readonly adjustment: Adjustment; readonly meaning: string }[];
}

const MEANINGS: Readonly<Record<Adjustment, string>> = {
  none: 'closes are as traded',
  splits: 'closes are divided by later splits',
  total: 'closes are adjusted for splits and dividends',
};

export const ADJUSTMENTS = Object.keys(MEANINGS) as readonly Adjustment[]; // its own keys

/** The other price bases. */
export const otherBases = (adjustment: Adjustment): Basis['others'] =>
  ADJUSTMENTS.filter((other) => other !== adjustment).map((other) => ({
    adjustment: other,
    meaning: MEANINGS[other],
  }));
