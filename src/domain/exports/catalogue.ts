import { INDEX_FILE_TABLES } from './index-file-tables.js';
import { DEFAULT_RISK_WINDOW } from '../analytics/rolling-risk.js';
import {
  countColumn,
  createDateColumn,
  createFractionColumn,
  createMoneyColumn,
  createNumberColumn,
  createPointsColumn,
  createTextColumn,
  type ExportColumn,
  type ExportTable,
} from './export-table.js';

/** Tables that can be exported from a stored run. Money is in the currency of the index. */
export const EXPORTS = {
  levels: {
    help: 'Levels, returns and costs of the portfolio, with the index and its return variants.',
    row: 'a date of the run',
    columns: {
      date: createDateColumn('Session.'),
      level: createPointsColumn('Level of the portfolio after costs, rebased to 100.'),
      index_level: createPointsColumn(
        'Level of the index before costs, rebased to 100. A portfolio of a strategy follows this index.',
      ),
      price: createPointsColumn(
        'Price return level of the index, from its base value; null if prices include dividends.',
      ),
      total: createPointsColumn('Total return level of the index.'),
      net: createPointsColumn('Net total return level of the index; null if prices include dividends.'),
      divisor: createNumberColumn(
        'Divisor of the index after the trades and exits of the close, which is the divisor at the next opening. All return variants have the same divisor if dividends are reinvested in the whole index.',
      ),
      dividend_points: createPointsColumn(
        'Ordinary dividends of the session in points of the price return; null if they are reinvested in the security that pays them.',
      ),
      net_dividend_points: createPointsColumn(
        'Ordinary dividends after withholding tax, in points of the price return.',
      ),
      return: createFractionColumn('Return of the portfolio since the previous session; null on the first date.'),
      drawdown: createFractionColumn('Level relative to its running maximum, less 1.'),
      costs: createMoneyColumn('Costs of the trades of the session.'),
      index_points: createPointsColumn(
        'Level of the index before costs, in points from its base value: its price, total or net return level.',
      ),
    },
  },
  weights: {
    help: 'Holdings at every close.',
    row: 'a security held at the close of a date, by date then identifier',
    columns: {
      date: createDateColumn('Session.'),
      identifier: createTextColumn('Identifier of the security.'),
      weight: createFractionColumn('Weight in the index, or in the portfolio of a strategy, as in the view `weights`.'),
      index_weight: createFractionColumn('Weight in the index; null for a strategy.'),
      portfolio_weight: createFractionColumn(
        'Weight in the portfolio that follows the index. It differs from the index weight if an order is waiting.',
      ),
    },
  },
  constituents: {
    help: 'Holdings at the last close on or before `end`. Default: the last close of the run.',
    row: 'a holding, by identifier',
    isOfSession: true,
    readsMarket: true,
    columns: {
      identifier: createTextColumn('Identifier of the security.'),
      name: createTextColumn('NAME of the reference data.'),
      sector: createTextColumn('SECTOR of the reference data.'),
      country: createTextColumn('COUNTRY of the reference data; null unless the store of the run is active.'),
      currency: createTextColumn('Currency of the prices; null unless the store of the run is active.'),
      weight: createFractionColumn('Weight as in the export `weights`.'),
      decided_weight: createFractionColumn('Weight decided at the rebalance in force.'),
      uncapped_weight: createFractionColumn('Decided weight before capping.'),
      shares: createNumberColumn('Shares in the portfolio, on the share basis of the date.', 'shares'),
      price: createMoneyColumn('Price per share: the last close, in the currency of the index.'),
      value: createMoneyColumn('Value of the holding of the portfolio.'),
    },
  },
  ...INDEX_FILE_TABLES,
  rebalances: {
    help: 'Rebalances of the run, including the rebalance in force at its start.',
    row: 'a rebalance, by date',
    columns: {
      date: createDateColumn('Effective date in the schedule.'),
      decision_date: createDateColumn(
        'Last day of the data of the decision, which is the effective date if there is no effective lag. Null for a separate rebalance of a strategy, and for rebalances before the latest 400.',
      ),
      cause: createTextColumn(
        '`schedule`, `breach`, or a change between reviews: `replacement`, `fast_exit`, `fast_entry`.',
      ),
      review: createTextColumn(
        'Reviews that decided the rebalance, in order. Null for a change between reviews, and for rebalances before the latest 400.',
      ),
      constituents: countColumn('Securities with a weight above 0.'),
      added: countColumn(
        'Number of securities with a position that were not held just before; at the first rebalance, all securities.',
      ),
      removed: countColumn('Number of securities that were held just before and are no longer held.'),
      turnover: createFractionColumn(
        'One-way turnover relative to the weights before the trades; null for the first purchase.',
      ),
      cost: createMoneyColumn('Costs of the session of the rebalance; null for a rebalance before the run.'),
      gross_constituents: countColumn('Securities with a position, long or short.'),
    },
  },
  trades: {
    help: 'Trades of the portfolio, at most the latest million.',
    row: 'a trade, by date then identifier',
    columns: {
      date: createDateColumn('Session at whose close the trade was made.'),
      identifier: createTextColumn('Identifier of the security.'),
      side: createTextColumn('`buy` or `sell`.'),
      weight_before: createFractionColumn('Weight before the trades of the session.'),
      weight_after: createFractionColumn('Weight after the trades of the session.'),
      value: createMoneyColumn('Traded.'),
      cost: createMoneyColumn('Paid.'),
      reason: createTextColumn('`rebalance`, `retry` (an order that waited for a price), or `delisting`.'),
    },
  },
  attribution: {
    help: 'Contribution of each security to the return of the portfolio from `start` to `end`, including the parts of an overlay. The contributions are linked, so that they add up to the return.',
    row: 'a security held or traded in the window, by identifier; then a part of an overlay',
    columns: {
      identifier: createTextColumn('Identifier of the security, or of the index of a part.'),
      contribution: createFractionColumn('Contribution to the total return.'),
      average_weight: createFractionColumn('Mean weight over the sessions of the window; 0 for a part.'),
      total_return: createFractionColumn('Return of the security while it was held; null for a part.'),
      part: createTextColumn(
        'Part of an overlay that does not come from a security, such as financing; null for a security.',
      ),
    },
  },
  events: {
    help: 'Corporate actions on index holdings, and their effect on the divisor.',
    row: 'an event, by date then identifier',
    columns: {
      date: createDateColumn('Session.'),
      identifier: createTextColumn('Identifier of the security.'),
      type: createTextColumn(
        '`split`, `rights`, `dividend` (ordinary, reinvested in the whole index), `special_dividend` (adjusts the previous close), `cash` (reinvested in the security that pays it), `share_change` (shares or free float that changed between reviews), or `exit` (the security was delisted, acquired, merged or without a price for too long).',
      ),
      per_share: createNumberColumn(
        'Share-count multiplier, cash or new shares per share, or shares after the event divided by shares before; null for an exit.',
      ),
      effect: createFractionColumn('Effect on the divisor. The effects of a session are additive.'),
      divisor_before: createNumberColumn('Divisor at the previous close.'),
      divisor_after: createNumberColumn('Divisor at the close.'),
    },
  },
  exposures: {
    help: 'Weights by group at every close, of the index or of a strategy. `by` is the reference column (default: SECTOR).',
    row: 'a group with a weight on a date, by date then group',
    readsMarket: true,
    isGrouped: 'groups',
    columns: {
      date: createDateColumn('Session.'),
      group: createTextColumn(
        'Group as known on the date. UNCLASSIFIED if there is no value, and for every security unless the store of the run is active. Sectors of the last date are stored with the run.',
      ),
      weight: createFractionColumn('Sum of the weights of the group.'),
      names: countColumn('Number of securities with a weight.'),
    },
  },
  limits: {
    help: 'Published concentration rules on every session. `by` is the reference column of issuers (default: ISSUER). Without that column, each security is a separate issuer.',
    row: 'a rule on a date, by date',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      date: createDateColumn('Session.'),
      rule: createTextColumn('Rule, with the name used in `limits` of the analytics.'),
      headroom: createFractionColumn('Distance to the nearest bound; negative beyond the bound.'),
      state: createTextColumn('`within` or `breached`.'),
      nearest: createTextColumn(
        'Security with the smallest price move that causes a breach; null beyond a bound, or if no move causes a breach.',
      ),
      move: createFractionColumn(
        'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      ),
    },
  },
  breaches: {
    help: 'Breaches of the published concentration rules.',
    row: 'a breach, by its first session',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      begin: createDateColumn('First session beyond the bound, possibly before `start`.'),
      end: createDateColumn('Last session beyond the bound; null if the breach continues.'),
      rule: createTextColumn('The rule.'),
      row: createTextColumn('Bound of the rule.'),
      cause: createTextColumn('Cause of the breach: `price`, `action` or `rebalance`.'),
      worst_date: createDateColumn('Session with the smallest headroom.'),
      worst_value: createFractionColumn('Value compared with the bound on that session.'),
      limit: createFractionColumn('The bound.'),
    },
  },
  risk: {
    help: `Risk of the portfolio over the latest ${DEFAULT_RISK_WINDOW} returns, annualised.`,
    row: 'a date with at least that many returns',
    columns: {
      date: createDateColumn('Session.'),
      volatility: createFractionColumn('Volatility of the portfolio.'),
      index_volatility: createFractionColumn('Volatility of the index that the portfolio follows.'),
      tracking_error: createFractionColumn('Volatility of the return differences.'),
      beta: createNumberColumn('Beta of the portfolio relative to the index.'),
      correlation: createNumberColumn('Correlation of portfolio and index.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExportTableName = keyof typeof EXPORTS;
export const EXPORT_NAMES = Object.keys(EXPORTS) as [ExportTableName, ...ExportTableName[]]; // Object.keys returns plain strings.

/**
 * Returns the columns of a table. A column that repeats a column of the store is included only if the store has it.
 * @param referenceColumns reference columns of the store; empty if it is not active
 */
export function listExportColumns(
  name: ExportTableName,
  referenceColumns: readonly string[],
): Readonly<Record<string, ExportColumn>> {
  const entries = Object.entries<ExportColumn>(EXPORTS[name].columns);
  return Object.fromEntries(
    entries.filter(([, { ofStore }]) => ofStore === undefined || referenceColumns.includes(ofStore)),
  );
}

/** Returns the entry of a table by its name. */
export function findExportTable(name: ExportTableName): ExportTable {
  return EXPORTS[name];
}
