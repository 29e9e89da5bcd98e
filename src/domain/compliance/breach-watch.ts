import type { Day } from '../time/days.js';
import { createGroupsByDay } from '../market/groups-by-day.js';
import { listIssuerSpells } from '../market/market-groups.js';
import type { MarketData } from '../market/market-data.js';
import { sumByIssuer } from './issuer-sums.js';
import { computeHeadroom } from './limit-row.js';
import { TOLERANCE, type Holdings } from './measure.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULES, type LimitRuleName } from './rules.js';

/** Reference column of issuers. */
export const ISSUER = 'ISSUER';

/** Breach settings of an index definition. */
export interface BreachTreatment {
  readonly on_breach?: 'none' | 'rebalance' | undefined;
  readonly breach_rule?: LimitRuleName | undefined;
}

/** Returns the rule whose breach triggers a rebalance of an index. Returns null if there is none. */
export function findBreachRule(treatment: BreachTreatment | undefined): LimitRuleName | null {
  return treatment?.on_breach === 'rebalance' ? (treatment.breach_rule ?? DEFAULT_LIMIT_RULE) : null;
}

/** Watch over the rows of a published rule. */
export interface BreachWatch {
  /**
   * Returns true if a row that was within its bound at the previous close exceeds it now.
   * @param weights [H], in the order of the securities; days must be passed in ascending order
   */
  begins(day: Day, weights: Float64Array): boolean;
}

export interface WatchedSecurities {
  readonly rule: LimitRuleName;
  readonly market: MarketData;
  /** [H] */
  readonly names: readonly string[];
  /** Rows that currently exceed their bound. `begins` updates them. */
  readonly open: Set<string>;
}

/** Creates a function that detects breaches of a rule over the closes of a book. */
export function createBreachWatch({ rule, market, names, open }: WatchedSecurities): BreachWatch {
  const readHoldings = createIssuerHoldings(market, names);
  return {
    begins(day, weights) {
      const holdings = readHoldings(day, weights);
      let hasBegun = false;
      for (const { row, isBeyond } of listRuleRows(rule, holdings)) {
        if (isBeyond && !open.has(row)) hasBegun = true;
        if (isBeyond) open.add(row);
        else open.delete(row);
      }
      return hasBegun;
    },
  };
}

/** Returns the distance of weights to the nearest bound of a rule. It is negative if a bound is exceeded. */
export function computeRuleHeadroom(
  { rule, market, names }: Omit<WatchedSecurities, 'open'>,
  day: Day,
  weights: Float64Array,
): number {
  const holdings = createIssuerHoldings(market, names)(day, weights);
  return Math.min(...LIMIT_RULES[rule].rows.map((row) => computeHeadroom(row, row.measure.valueOf(holdings))));
}

/**
 * Returns a function that sums weights by issuer as known on a day. A security without an issuer counts as a separate
 * issuer.
 */
function createIssuerHoldings(
  market: MarketData,
  names: readonly string[],
): (day: Day, weights: Float64Array) => Holdings {
  const hasIssuers = market.reference.columns.includes(ISSUER);
  const readIssuers = hasIssuers ? createGroupsByDay(names, listIssuerSpells(market, ISSUER)) : null;
  const sumHoldings = sumByIssuer(names.length);
  return (day, weights) => sumHoldings(weights, readIssuers?.(day) ?? null);
}

function* listRuleRows(rule: LimitRuleName, holdings: Holdings): Iterable<{ readonly row: string; isBeyond: boolean }> {
  for (const row of LIMIT_RULES[rule].rows)
    yield { row: row.row, isBeyond: computeHeadroom(row, row.measure.valueOf(holdings)) < -TOLERANCE };
}
