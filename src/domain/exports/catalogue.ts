import { INDEX_FILE_TABLES } from './index-file-tables.js';
import { DEFAULT_RISK_WINDOW } from '../analytics/rolling-risk.js';
import {
  countColumn,
  dateColumn,
  createFractionColumn,
  createMoneyColumn,
  numberColumn,
  createPointsColumn,
  textColumn,
  type ExportColumn,
  type ExportTable,
} from './export-table.js';

/** Tables that can be exported from a stored run. Money is in the currency of the index. */
export const EXPORTS = {
  levels: {
    help: 'Levels, returns and costs of the portfolio, with the index and its return variants.',
    row: 'a date of the run',
    columns: {
      date: dateColumn('Session.'),
      level: createPointsColumn('The portfolio, rebased to 100.'),
      index_level: createPointsColumn('The index that it follows, rebased to 100.'),
      price: createPointsColumn('The index as a price return, from its base value; null if prices include dividends.'),
      total: createPointsColumn('The index as a total return.'),
      net: createPointsColumn('The index as a net total return; null if prices include dividends.'),
      divisor: numberColumn(
        'Divisor of the index after the close, with its trades and exits: that of the next opening. Common to all return variants if it reinvests dividends in itself.',
      ),
      dividend_points: createPointsColumn(
        'Ordinary dividends of the session in points of the price return; null if they buy more of the paying security.',
      ),
      net_dividend_points: createPointsColumn(
        'Ordinary dividends after withholding tax, in points of the price return.',
      ),
      return: createFractionColumn('Return of the portfolio since the previous session; null on the first date.'),
      drawdown: createFractionColumn('Level relative to its running maximum.'),
      costs: createMoneyColumn('Costs of the trades of the session.'),
    },
  },
  weights: {
    help: 'Holdings at every close.',
    row: 'a security held at the close of a date, by date then identifier',
    columns: {
      date: dateColumn('Session.'),
      identifier: textColumn('Identifier of the security.'),
      weight: createFractionColumn(
        'As in `weights` of the analytics: weight in the index, or in the portfolio of a strategy.',
      ),
      index_weight: createFractionColumn('Weight in the index; null for a strategy.'),
      portfolio_weight: createFractionColumn(
        'Weight in the portfolio that follows it, which differs if an order waited.',
      ),
    },
  },
  constituents: {
    help: 'Holdings at the last close at or before `end`. Default: the last close of the run.',
    row: 'a holding, by identifier',
    isOfSession: true,
    readsMarket: true,
    columns: {
      identifier: textColumn('Identifier of the security.'),
      name: textColumn('NAME of the reference data.'),
      sector: textColumn('SECTOR of the reference data.'),
      country: textColumn('COUNTRY of the reference data; null unless the store of the run is active.'),
      currency: textColumn('Currency of its prices; null unless the store of the run is active.'),
      weight: createFractionColumn('As in `weights`.'),
      decided_weight: createFractionColumn('Weight decided at the rebalance in force.'),
      uncapped_weight: createFractionColumn('Decided weight before capping.'),
      shares: numberColumn('Shares in the portfolio, on the share basis of the date.', 'shares'),
      price: createMoneyColumn('Price per share: the last close, in the currency of the index.'),
      value: createMoneyColumn('Value of the holding of the portfolio.'),
    },
  },
  ...INDEX_FILE_TABLES,
  rebalances: {
    help: 'The rebalances of the run, including the one in force at its start.',
    row: 'a rebalance, by date',
    columns: {
      date: dateColumn('Effective date by the schedule.'),
      decision_date: dateColumn(
        'Last day of the data of the decision: the effective date without an effective lag. Null for a separate rebalance of a strategy, and beyond the latest 400.',
      ),
      cause: textColumn('`schedule`, `breach`, or a change between reviews: `replacement`, `fast_exit`, `fast_entry`.'),
      review: textColumn(
        'Reviews that decided it, in order; null for a change between reviews and beyond the latest 400.',
      ),
      constituents: countColumn('Securities with a weight above 0.'),
      added: countColumn('Securities with a position that were not held just before; all at the first.'),
      removed: countColumn('Securities held just before and no longer.'),
      turnover: createFractionColumn(
        'One-way turnover from the weights before the trades; null for the first purchase.',
      ),
      cost: createMoneyColumn('Costs of its session; null for a rebalance before the run.'),
      gross_constituents: countColumn('Securities with a position, long or short.'),
    },
  },
  trades: {
    help: 'Trades of the portfolio, at most the latest million.',
    row: 'a trade, by date then identifier',
    columns: {
      date: dateColumn('Session at whose close the trade was made.'),
      identifier: textColumn('Identifier of the security.'),
      side: textColumn('`buy` or `sell`.'),
      weight_before: createFractionColumn('Weight before the trades of the session.'),
      weight_after: createFractionColumn('Weight after the trades of the session.'),
      value: createMoneyColumn('Traded.'),
      cost: createMoneyColumn('Paid.'),
      reason: textColumn('`rebalance`, `retry` of an order that waited for a price, or `delisting`.'),
    },
  },
  attribution: {
    help: 'Contribution of each security to the return of the portfolio from `start` to `end`, linked so that they sum to it, including the parts of an overlay.',
    row: 'a security held or traded in the window, by identifier; then a part of an overlay',
    columns: {
      identifier: textColumn('Identifier of the security, or of the index of a part.'),
      contribution: createFractionColumn('Contribution to the total return.'),
      average_weight: createFractionColumn('Mean over the sessions of the window; 0 for a part.'),
      total_return: createFractionColumn('Return of the security while it was held; null for a part.'),
      part: textColumn('Part of an overlay that is not a security, such as financing; null for a security.'),
    },
  },
  events: {
    help: 'Corporate actions on index holdings, and their effect on the divisor.',
    row: 'an event, by date then identifier',
    columns: {
      date: dateColumn('Session.'),
      identifier: textColumn('Identifier of the security.'),
      type: textColumn(
        '`split`, `rights`, `dividend` (ordinary, reinvested in the whole index), `special_dividend` (adjusts the previous close), `cash` (buys more of the paying security), `share_change` (shares or float that changed between reviews), or `exit` of a security that was delisted, acquired, merged or without a price for too long.',
      ),
      per_share: numberColumn(
        'Share-count multiplier, cash or new shares per share, shares after over shares before; null for an exit.',
      ),
      effect: createFractionColumn('Change of the divisor; changes of a session are additive.'),
      divisor_before: numberColumn('Divisor at the previous close.'),
      divisor_after: numberColumn('Divisor at the close.'),
    },
  },
  exposures: {
    help: 'Weights by group at every close, of the index or of a strategy. `by` is the reference column. Default: SECTOR.',
    row: 'a group with a weight on a date, by date then group',
    readsMarket: true,
    isGrouped: 'groups',
    columns: {
      date: dateColumn('Session.'),
      group: textColumn(
        'Group as known on the date; UNCLASSIFIED without a value, and for every security unless the store of the run is active. Sectors of the last date are stored with the run.',
      ),
      weight: createFractionColumn('Sum of the weights in `weights`.'),
      names: countColumn('Number of securities with a weight.'),
    },
  },
  limits: {
    help: 'Published concentration rules on every session. `by` is the reference column of issuers. Default: ISSUER; without that column each security counts as its own issuer.',
    row: 'a rule on a date, by date',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      date: dateColumn('Session.'),
      rule: textColumn('Rule, with the name used in `limits` of the analytics.'),
      headroom: createFractionColumn('Distance to the nearest bound, negative beyond it.'),
      state: textColumn('`within` or `breached`.'),
      nearest: textColumn(
        'Security whose price is closest to causing a breach; null beyond a bound, or if none can cause one.',
      ),
      move: createFractionColumn('Smallest relative change of that price that passes a bound, all others unchanged.'),
    },
  },
  breaches: {
    help: 'Breaches of these rules.',
    row: 'a breach, by its first session',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      begin: dateColumn('First session beyond the bound, possibly before `start`.'),
      end: dateColumn('Last session beyond it; null while it lasts.'),
      rule: textColumn('The rule.'),
      row: textColumn('Bound of the rule.'),
      cause: textColumn('`price`, `action` or `rebalance`.'),
      worst_date: dateColumn('Session with the smallest headroom.'),
      worst_value: createFractionColumn('Value compared with the bound on that session.'),
      limit: createFractionColumn('The bound.'),
    },
  },
  risk: {
    help: `Risk of the portfolio over the latest ${DEFAULT_RISK_WINDOW} returns, annualised.`,
    row: 'a date with at least that many returns',
    columns: {
      date: dateColumn('Session.'),
      volatility: createFractionColumn('Volatility of the portfolio.'),
      index_volatility: createFractionColumn('Volatility of the index that it follows.'),
      tracking_error: createFractionColumn('Volatility of the differences of their returns.'),
      beta: numberColumn('Beta of the portfolio to the index.'),
      correlation: numberColumn('Correlation of portfolio and index.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExportTableName = keyof typeof EXPORTS;
export const EXPORT_NAMES = Object.keys(EXPORTS) as [ExportTableName, ...ExportTableName[]]; // Object.keys returns plain strings.

/**
 * Returns the columns of a table. Columns that repeat a column of the store are included only if the store has that
 * column.
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
