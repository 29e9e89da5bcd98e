import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { sumByIssuer } from '#domain/compliance/issuer-sums.js';
import { LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import { openPanelRows } from '../panel-rows.js';
import type { WatchedDates } from './watched-dates.js';

/** Issuer with the magnitude of its net weight. */
interface IssuerWeight {
  readonly issuer: string;
  readonly weight: number;
}

interface RuleClose extends Pick<WatchedDates, 'issuersOn'> {
  readonly rule: LimitRuleName;
  /** Position of the close. */
  readonly at: number;
}

/**
 * Returns the issuers whose weights form the value of each row of a rule at a close, largest first. Rows whose value has
 * no such issuers are omitted.
 */
export function listRuleIssuers(
  columns: RunColumns,
  { rule, at, issuersOn }: RuleClose,
): ReadonlyMap<string, readonly IssuerWeight[]> {
  const { names, has_index_weights: hasIndexWeights } = columns.header;
  const weights = openPanelRows(columns, hasIndexWeights ? 'indexWeights' : 'weights', { from: at, to: at }).at(at);
  const issuers = issuersOn?.(columns.i32('days')[at]!) ?? null;
  const holdings = sumByIssuer(names.length)(weights, issuers);
  const createEntry = (issuer: number): IssuerWeight => ({
    issuer: (issuers ?? names)[holdings.issuerOf.indexOf(issuer)]!,
    weight: holdings.issuers[issuer]!,
  });
  return new Map(
    LIMIT_RULES[rule].rows.flatMap(({ row, measure }) =>
      measure.issuersIn === undefined ? [] : [[row, measure.issuersIn(holdings).map(createEntry)] as const],
    ),
  );
}
