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

interface RuleCloses extends Pick<WatchedDates, 'issuersOn'> {
  readonly rule: LimitRuleName;
  /** Positions of the closes. */
  readonly positions: readonly number[];
}

/** Issuers whose weights form the value of each row of a rule. Rows whose value has no such issuers are omitted. */
type RowIssuers = ReadonlyMap<string, readonly IssuerWeight[]>;

/**
 * Returns the issuers whose weights form the value of each row of a rule, largest first, by the position of the close.
 * @cost one read of [H] weights for each distinct close
 */
export function listRuleIssuers(
  columns: RunColumns,
  { rule, positions, issuersOn }: RuleCloses,
): ReadonlyMap<number, RowIssuers> {
  const { names, has_index_weights: hasIndexWeights } = columns.header;
  const days = columns.i32('days');
  const closes = [...new Set(positions)].toSorted((a, b) => a - b);
  const [from = 0, to = 0] = [closes[0], closes.at(-1)];
  const weights = openPanelRows(columns, hasIndexWeights ? 'indexWeights' : 'weights', { from, to });
  const sumHoldings = sumByIssuer(names.length);
  return new Map(
    closes.map((at) => {
      const issuers = issuersOn?.(days[at]!) ?? null;
      const holdings = sumHoldings(weights.at(at), issuers);
      const createEntry = (issuer: number): IssuerWeight => ({
        issuer: (issuers ?? names)[holdings.issuerOf.indexOf(issuer)]!,
        weight: holdings.issuers[issuer]!,
      });
      const rowIssuers = LIMIT_RULES[rule].rows.flatMap(({ row, measure }) =>
        measure.issuersIn === undefined ? [] : [[row, measure.issuersIn(holdings).map(createEntry)] as const],
      );
      return [at, new Map(rowIssuers)];
    }),
  );
}
