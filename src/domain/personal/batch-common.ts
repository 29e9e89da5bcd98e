import type { Day } from '../time/days.js';
import type { AccountDefaults, BatchTerms } from './account-request.js';

/** Terms of a batch; those of earlier releases have no defaults. */
export type CommonTerms = Omit<BatchTerms, 'batch_id' | 'defaults'> & { readonly defaults?: AccountDefaults };

/** Data that all accounts of a batch share. */
export interface BatchCommon {
  readonly terms: CommonTerms;
  readonly asOf: Day;
  /**
   * Securities that an account may hold: first those of the parent, then others of the risk model that have a price.
   */
  readonly identifiers: readonly string[];
  /** Other securities of the data: accounts cannot hold them, but may exclude them. Absent in earlier releases. */
  readonly others?: readonly string[];
  /** Price per share in the currency of the index, [N]. */
  readonly prices: Float64Array;
  /** Weights in the parent, [N]. */
  readonly weights: Float64Array;
  /** Number of factors. */
  readonly factors: number;
  /** [N x factors], annualised. */
  readonly loadings: Float64Array;
  /** [N] */
  readonly specific: Float64Array;
  /** Members of each group of each row, by security. */
  readonly groups: readonly GroupOfRow[];
}

export interface GroupOfRow {
  /** Position of the row in the terms. */
  readonly row: number;
  readonly group: string;
  /** Positions in `identifiers`. */
  readonly members: readonly number[];
}

/** Returns positions by identifier. The map is created once per batch. */
export function indexSecurities(common: BatchCommon): ReadonlyMap<string, number> {
  const known = places.get(common) ?? new Map(common.identifiers.map((name, at) => [name, at]));
  places.set(common, known);
  return known;
}

const places = new WeakMap<BatchCommon, ReadonlyMap<string, number>>();

/** Returns the names of `others`. The set is created once per batch. */
export function listOtherSecurities(common: BatchCommon): ReadonlySet<string> {
  const known = others.get(common) ?? new Set(common.others);
  others.set(common, known);
  return known;
}

const others = new WeakMap<BatchCommon, ReadonlySet<string>>();
