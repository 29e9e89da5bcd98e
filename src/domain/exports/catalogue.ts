import { INDEX_FILE_TABLES } from './index-file-tables.js';
import { DEFAULT_RISK_WINDOW } from '../analytics/rolling-risk.js';
import {
  count,
  date,
  fraction,
  money,
  number,
  points,
  text,
  type ExportColumn,
  type ExportTable,
} from './export-table.js';

/** The tables that are exported of a stored run. Money is in the currency of the index. */
export const EXPORTS = {
  levels: {
    help: 'Levels, returns and costs of the portfolio, beside the index and its return variants.',
    row: 'a date of the run',
    columns: {
      date: date('Session.'),
      level: points('The portfolio, rebased to 100.'),
      index_level: points('The index that it follows, rebased to 100.'),
      price: points('The index as a price return, from its base value; null where prices include dividends.'),
      total: points('The same as a total return.'),
      net: points('The same as a net total return; null where prices include dividends.'),
      divisor: number(
        'Divisor of the index, one for all of its return variants where it reinvests dividends in itself.',
      ),
      dividend_points: points(
        'Ordinary dividends of the session in points of the price return; null where they buy more of the security that pays them.',
      ),
      net_dividend_points: points('The same after withholding tax.'),
      return: fraction('Return of the portfolio since the session before; null on the first date.'),
      drawdown: fraction('Level against its highest so far.'),
      costs: money('Paid for the trades of the session.'),
    },
  },
  weights: {
    help: 'What was held at every close.',
    row: 'a name held at the close of a date, by date then identifier',
    columns: {
      date: date('Session.'),
      identifier: text('The name.'),
      weight: fraction(
        'As `weights` of the analytics shows it: held in the index, by a strategy in its own portfolio.',
      ),
      index_weight: fraction('Held in the index; null for a strategy.'),
      portfolio_weight: fraction('Held in the portfolio that follows it: another where an order waited.'),
    },
  },
  constituents: {
    help: 'What is held at the last close at or before `end`, the last of the run unless given.',
    row: 'a name held, by identifier',
    readsMarket: true,
    columns: {
      identifier: text('The name.'),
      name: text('NAME of the reference data.'),
      sector: text('SECTOR of the reference data.'),
      country: text('COUNTRY of the reference data; null unless the store of the run is served.'),
      currency: text('Currency of its prices; null unless the store of the run is served.'),
      weight: fraction('As in `weights`.'),
      decided_weight: fraction('Decided at the rebalance in force.'),
      uncapped_weight: fraction('The same before capping.'),
      shares: number('Held by the portfolio, on the share basis of the date.', 'shares'),
      price: money('Of a share: the last close, in the currency of the index.'),
      value: money('Of the holding of the portfolio.'),
    },
  },
  ...INDEX_FILE_TABLES,
  rebalances: {
    help: 'The rebalances of the run, the one in force at its start included.',
    row: 'a rebalance, by date',
    columns: {
      date: date('Effective date by the schedule.'),
      decision_date: date(
        'Day up to which data decided it: the effective date without an effective lag. Null for a rebalance of a strategy of its own, and beyond the latest 400.',
      ),
      cause: text('`schedule`, `breach`, or a change between reviews: `replacement`, `fast_exit`, `fast_entry`.'),
      review: text(
        'Reviews that decided it, in their order; null for a change between reviews and beyond the latest 400.',
      ),
      constituents: count('Securities with a weight above 0.'),
      added: count('Securities with a position that were not held just before; all at the first.'),
      removed: count('Names held just before and no more.'),
      turnover: fraction('One-way, against the weights before the trades; null where the portfolio was bought.'),
      cost: money('Paid on its session; null for one before the run.'),
      gross_constituents: count('Securities with a position, long or short.'),
    },
  },
  trades: {
    help: 'The trades of the portfolio, the latest million where there are more.',
    row: 'a trade, by date then identifier',
    columns: {
      date: date('Session at whose close it was made.'),
      identifier: text('The name.'),
      side: text('`buy` or `sell`.'),
      weight_before: fraction('Held before the trades of the session.'),
      weight_after: fraction('Held after them.'),
      value: money('Traded.'),
      cost: money('Paid.'),
      reason: text('`rebalance`, `retry` of an order that waited for a price, or `delisting`.'),
    },
  },
  attribution: {
    help: 'Contribution of each name to the return of the portfolio from `start` to `end`, linked so that they add up to it, with the own parts of an overlay.',
    row: 'a name held or traded in the window, by identifier; then a part of an overlay',
    columns: {
      identifier: text('The name, or the index that a part is of.'),
      contribution: fraction('To the total return.'),
      average_weight: fraction('Mean over the sessions of the window; 0 of a part.'),
      total_return: fraction('Of the name while it was held; null of a part.'),
      part: text('What an overlay earned by itself, as financing; null of a name.'),
    },
  },
  events: {
    help: 'Corporate actions on what the index held, and how they moved its divisor.',
    row: 'an event, by date then identifier',
    columns: {
      date: date('Session.'),
      identifier: text('The name.'),
      type: text(
        '`split`, `rights`, `dividend` (ordinary, reinvested in the whole index), `special_dividend` (adjusts the previous close), `cash` (buys more of the security that paid it), `share_change` (shares or float that changed between reviews), or `exit` of a name that was delisted, acquired, merged or silent for too long.',
      ),
      per_share: number(
        'Share-count multiplier, cash or new shares per share, shares after over those before; null for an exit.',
      ),
      effect: fraction('Change of the divisor that it made; those of a session add up.'),
      divisor_before: number('Divisor at the close before.'),
      divisor_after: number('Divisor at the close.'),
    },
  },
  exposures: {
    help: 'Weights by group at every close: of the index, of a strategy its own. `by` names the reference column, SECTOR unless given.',
    row: 'a group with a weight on a date, by date then group',
    readsMarket: true,
    isGrouped: 'groups',
    columns: {
      date: date('Session.'),
      group: text(
        'As known on the date; UNCLASSIFIED without a value, and for every name unless the store of the run is served. Sectors of the last date are stored with the run.',
      ),
      weight: fraction('Sum of the weights as in `weights`.'),
      names: count('Names with a weight.'),
    },
  },
  limits: {
    help: 'Published rules of concentration on every session. `by` names the reference column of issuers, ISSUER unless given; without it each name is its own.',
    row: 'a rule on a date, by date',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      date: date('Session.'),
      rule: text('The rule, as `limits` of the analytics names it.'),
      headroom: fraction('Distance to the nearest bound, negative beyond it.'),
      state: text('`within` or `breached`.'),
      nearest: text('The name whose price comes nearest to a breach; null beyond a bound, or where none can pass one.'),
      move: fraction('The least relative change of that price behind which a bound is passed, the others unchanged.'),
    },
  },
  breaches: {
    help: 'Breaches of these rules.',
    row: 'a breach, by its first session',
    readsMarket: true,
    isGrouped: 'issuers',
    columns: {
      begin: date('First session beyond the bound; it may lie before `start`.'),
      end: date('Last session beyond it; null while it lasts.'),
      rule: text('The rule.'),
      row: text('Which of its bounds.'),
      cause: text('`price`, `action` or `rebalance`.'),
      worst_date: date('Session of the least headroom.'),
      worst_value: fraction('What the bound is compared with on it.'),
      limit: fraction('The bound.'),
    },
  },
  risk: {
    help: `Risk of the portfolio over the latest ${DEFAULT_RISK_WINDOW} returns, annualised.`,
    row: 'a date with that many returns behind it',
    columns: {
      date: date('Session.'),
      volatility: fraction('Of the portfolio.'),
      index_volatility: fraction('Of the index that it follows.'),
      tracking_error: fraction('Of the differences of their returns.'),
      beta: number('Of the portfolio on the index.'),
      correlation: number('Between them.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExportTableName = keyof typeof EXPORTS;
export const EXPORT_NAMES = Object.keys(EXPORTS) as [ExportTableName, ...ExportTableName[]]; // Object.keys returns plain strings.

/**
 * Columns of a table: those that repeat columns of the store, where it has them.
 * @param referenceColumns of the store; none where it is not served
 */
export function exportColumns(
  name: ExportTableName,
  referenceColumns: readonly string[],
): Readonly<Record<string, ExportColumn>> {
  const entries = Object.entries<ExportColumn>(EXPORTS[name].columns);
  return Object.fromEntries(
    entries.filter(([, { ofStore }]) => ofStore === undefined || referenceColumns.includes(ofStore)),
  );
}

/** The entry of a table, by its name. */
export function exportTable(name: ExportTableName): ExportTable {
  return EXPORTS[name];
}
