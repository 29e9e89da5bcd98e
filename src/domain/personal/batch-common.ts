import type { Day } from '../time/days.js';
import type { AccountDefaults, BatchTerms } from './account-request.js';

/** Terms of a batch; terms of earlier versions have no defaults. */
export type CommonTerms = Omit<BatchTerms, 'batch_id' | 'defaults'> & { readonly defaults?: AccountDefaults };

/** Data shared by all accounts of a batch. */
export interface BatchCommon {
  readonly terms: CommonTerms;
  readonly asOf: Day;
  /**
   * Securities that an account may hold. Those of the parent come first; other priced securities of the risk model
   * follow.
   */
  readonly identifiers: readonly string[];
  /**
   * Further securities of the data. Accounts cannot hold them, but may exclude them. Absent in data of earlier
   * versions.
   */
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
  /** Groups that constraint rows limit, with their members. */
  readonly groups: readonly GroupOfRow[];
}

export interface GroupOfRow {
  /** Index of the row in the terms. */
  readonly row: number;
  readonly group: string;
  /** Indices of the members in `identifiers`. */
  readonly members: readonly number[];
}

/** Returns the indices of securities by identifier. The map is created once per batch. */
export function indexSecurities(common: BatchCommon): ReadonlyMap<string, number> {
  const cachedPositions =
    positionsCache.get(common) ?? new Map(common.identifiers.map((name, position) => [name, position]));
  positionsCache.set(common, cachedPositions);
  return cachedPositions;
}

const positionsCache = new WeakMap<BatchCommon, ReadonlyMap<string, number>>();

/** Returns the set of `others`, created once per batch. */
export function listOtherSecurities(common: BatchCommon): ReadonlySet<string> {
  const cachedOthers = otherSecuritiesCache.get(common) ?? new Set(common.others);
  otherSecuritiesCache.set(common, cachedOthers);
  return cachedOthers;
}

const otherSecuritiesCache = new WeakMap<BatchCommon, ReadonlySet<string>>();
