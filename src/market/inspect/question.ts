import type { Mapping } from '#domain/documents/mapping.js';
import type { RowConflict } from '../tables/row-conflicts.js';
import type { MarketData } from '#domain/market/market-data.js';

export type Adjustment = MarketData['adjustment'];

/** Open question about the data. Contains the assumption that was made, and the field that answers the question. */
export interface Question {
  readonly field: keyof Mapping | 'adjustment';
  readonly question: string;
  /** Assumption that applies until the question is answered. It is null if there is none. */
  readonly taken: string | null;
  /** Known alternatives. */
  readonly others: readonly string[];
  /** True if the data must not be read before the question is answered. */
  readonly required: boolean;
  /** Securities that have different rows for one date. Present if the question is about duplicates. */
  readonly conflicts?: readonly RowConflict[];
}

/** Answers given in advance, by field. */
export type Answers = { readonly [Field in keyof Mapping]?: Mapping[Field] | undefined } & {
  readonly adjustment?: Adjustment | undefined;
};

/** Price basis assumed for closes, with the reason. */
export interface Basis {
  readonly adjustment: Adjustment;
  readonly reason: string;
  /** Alternatives with their meanings. */
  readonly others: readonly { readonly adjustment: Adjustment; readonly meaning: string }[];
}

const ADJUSTMENT_MEANINGS: Readonly<Record<Adjustment, string>> = {
  none: 'closes are as traded',
  splits: 'closes are adjusted for later splits',
  total: 'closes are adjusted for splits and dividends',
};

export const ADJUSTMENTS = Object.keys(ADJUSTMENT_MEANINGS) as readonly Adjustment[]; // the keys of the object are adjustments

/** Returns the other price bases. */
export const listAlternativeBases = (adjustment: Adjustment): Basis['others'] =>
  ADJUSTMENTS.filter((otherAdjustment) => otherAdjustment !== adjustment).map((otherAdjustment) => ({
    adjustment: otherAdjustment,
    meaning: ADJUSTMENT_MEANINGS[otherAdjustment],
  }));

/** Returns a price basis with its alternatives. */
export const createBasis = (adjustment: Adjustment, reason: string): Basis => ({
  adjustment,
  reason,
  others: listAlternativeBases(adjustment),
});
