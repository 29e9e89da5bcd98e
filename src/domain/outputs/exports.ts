import { DEFAULT_RISK_WINDOW } from '../analytics/returns.js';
import type { AccountOutcome, SolvedResult } from '../personal/account-result.js';
import type { Difference, DifferenceStep } from '../studies/difference-result.js';

/** Kinds of values in a column: a day, a text, a number, or an integer count. */
export type ColumnType = 'date' | 'text' | 'number' | 'count';

export interface ExportColumn<T extends ColumnType = ColumnType> {
  readonly type: T;
  /** Unit of the numbers: `fraction`, `money`, `points`; null without a unit. */
  readonly unit: string | null;
  readonly meaning: string;
  /** Reference column of the store that this column repeats. If the store lacks it, tables omit this column. */
  readonly ofStore?: string;
}

/**
 * Table that can be exported from a stored run, with its columns in order. `#views/exports/tables` produces its rows.
 */
export interface ExportTable {
  readonly help: string;
  readonly row: string;
  /** Present if the table reads the current market. The current market must then be the market of the run. */
  readonly readsMarket?: true;
  /** Present if the rows require that the decisions of the run are repeated on its market. */
  readonly readsDefinition?: true;
  /** Present if the rows belong to one session, which `date` selects. */
  readonly isOfSession?: true;
  /** Kind of groups into which a reference column divides the securities. The client may choose the column. */
  readonly isGrouped?: 'groups' | 'issuers';
  readonly columns: Readonly<Record<string, ExportColumn>>;
}

const createColumn =
  <T extends ColumnType>(type: T) =>
  (meaning: string, unit: string | null = null): ExportColumn<T> => ({ type, unit, meaning });

const createDateColumn = createColumn('date');
const createTextColumn = createColumn('text');
/** Returns a column that repeats a text of the reference data, for stores that have it. */
const createStoreColumn = (name: string): ExportColumn<'text'> => ({
  ...createTextColumn(`${name} of the reference data.`),
  ofStore: name,
});
const countColumn = createColumn('count');
const createNumberColumn = createColumn('number');
const createFractionColumn = (meaning: string): ExportColumn<'number'> => createNumberColumn(meaning, 'fraction');
const createMoneyColumn = (meaning: string): ExportColumn<'number'> => createNumberColumn(meaning, 'money');
const createPointsColumn = (meaning: string): ExportColumn<'number'> => createNumberColumn(meaning, 'points');

/** Formats of an export, the default one first. */
export const EXPORT_FORMATS = {
  json: { media: 'application/json', extension: 'json', help: 'rows as arrays, and a list of the column names' },
  csv: {
    media: 'text/csv',
    extension: 'csv',
    help: 'UTF-8 as defined in RFC 4180; numbers have the smallest number of digits from which the same double can be read',
  },
  arrow: {
    media: 'application/vnd.apache.arrow.stream',
    extension: 'arrow',
    help: 'an Arrow IPC stream; the metadata of the fields contains units and meanings',
  },
  parquet: {
    media: 'application/vnd.apache.parquet',
    extension: 'parquet',
    help: 'an uncompressed Parquet file; dates and texts are dictionary-encoded, and the metadata contains units and meanings',
  },
  xlsx: {
    media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extension: 'xlsx',
    help: 'an Excel workbook with typed cells and a frozen header row; rows beyond 1,048,576 are in further sheets',
  },
} as const satisfies Readonly<
  Record<string, { readonly media: string; readonly extension: string; readonly help: string }>
>;

export type ExportFormat = keyof typeof EXPORT_FORMATS;
export const FORMAT_NAMES = Object.keys(EXPORT_FORMATS) as [ExportFormat, ...ExportFormat[]]; // Object.keys returns plain strings.

/** Position at which the next part of an export starts. */
export interface ExportPosition {
  /** Position in the source of the table. For a workbook, this is a position in the bytes of the output. */
  readonly at: number;
  /** Number of rows before the position; not counted for a workbook. */
  readonly rows: number;
  /** Row groups before the position, for Parquet. */
  readonly groups?: WrittenRowGroups;
}

/** Row groups of a Parquet file that have been written; its footer lists them. */
export interface WrittenRowGroups {
  readonly fileBytes: number;
  readonly count: number;
  /** Encoded footer entries of the row groups. */
  readonly bytes: Uint8Array;
}

/** Formats whose parts can be produced independently. A workbook is a single continuous stream. */
export type RowFormat = Exclude<ExportFormat, 'xlsx'>;

export const BATCH_TABLES = {
  accounts: {
    account_id: createTextColumn('Id of the account.'),
    position: countColumn('Position in the request, from 0.'),
    status: createTextColumn('`optimal`, `feasible`, `infeasible` or `refused`.'),
    value: createMoneyColumn('Value at the prices of the day.'),
    tracking_error: createFractionColumn('Annual tracking error after the trades.'),
    short_gain: createMoneyColumn('Realised short-term gains.'),
    long_gain: createMoneyColumn('Realised long-term gains.'),
    disallowed_loss: createMoneyColumn('Losses that the wash sale rule adds to the basis of other shares.'),
    tax: createMoneyColumn('Tax of the year after the trades.'),
    tax_saved: createMoneyColumn('Tax saved compared with selling the oldest lots first.'),
    costs: createMoneyColumn('Trading costs.'),
    trades: countColumn('Number of trades.'),
    avoided_wash_sales: countColumn('Trades that the wash sale rule prevented.'),
    one_more_bp_saves: createMoneyColumn(
      'Maximum saving in tax and costs if the tracking error limit is one basis point higher.',
    ),
    gap: createFractionColumn('Gap of the certificate, as a fraction of the value.'),
    conflicts: createTextColumn(
      'Conflicting rules of an infeasible account, separated by semicolons, with the amounts by which they must be relaxed.',
    ),
    findings: createTextColumn('Reasons why the account was refused, separated by semicolons.'),
  },
  trades: {
    account_id: createTextColumn('Id of the account.'),
    identifier: createTextColumn('Security.'),
    side: createTextColumn('`buy` or `sell`.'),
    shares: createNumberColumn('Number of shares.'),
    price: createMoneyColumn('Price per share.'),
    value: createMoneyColumn('Shares times price.'),
    lot: countColumn('Position of the sold lot in the account.'),
    acquired: createDateColumn('Day on which the lot was bought.'),
    cost: createMoneyColumn('Cost basis per share.'),
    gain: createMoneyColumn('Realised gain that is taxed; 0 if the loss is disallowed.'),
    disallowed_loss: createMoneyColumn('Loss added to the basis of the replacement.'),
    term: createTextColumn('Holding period: `short` or `long`; with a tax regime, the pot.'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExportColumn>>>>;

export type BatchTable = keyof typeof BATCH_TABLES;
export const BATCH_TABLE_NAMES = Object.keys(BATCH_TABLES) as [BatchTable, ...BatchTable[]]; // Object.keys returns plain strings.

type Row = Readonly<Record<string, string | number | null>>;

/** Returns the rows of a table for consecutive accounts. @param first position of the first account in the batch */
export function createBatchRows(table: BatchTable, outcomes: readonly AccountOutcome[], first: number): readonly Row[] {
  return table === 'accounts'
    ? outcomes.map((outcome, position) => createAccountRow(outcome, first + position))
    : outcomes.flatMap((outcome) =>
        outcome.status === 'refused' || outcome.status === 'infeasible'
          ? []
          : outcome.trades.map((trade) => ({ ...trade, account_id: outcome.account_id }) as Row),
      );
}

/** Infeasible result. Results of earlier versions lack `conflict_amounts`. */
type ResultWithConflicts = Omit<SolvedResult, 'conflict_amounts'> & Partial<Pick<SolvedResult, 'conflict_amounts'>>;

function createAccountRow(outcome: AccountOutcome, position: number): Row {
  const { account_id, status } = outcome;
  if (outcome.status === 'refused')
    return { account_id, position, status, findings: outcome.findings.map(({ message }) => message).join('; ') };
  if (outcome.status === 'infeasible') {
    const { value, conflicts, conflict_amounts: amounts = {} } = outcome as ResultWithConflicts;
    const conflictTexts = conflicts.map((rule) => {
      const amount = amounts[rule] ?? null;
      return amount === null ? rule : `${rule} by ${Number(amount.toPrecision(6))}`;
    });
    return { account_id, position, status, value, trades: 0, conflicts: conflictTexts.join('; ') };
  }
  const { trades, avoided_wash_sales, certificate, conflicts, ...rest } = outcome;
  return {
    ...(rest as unknown as Row), // only the columns of the table are used
    position,
    trades: trades.length,
    avoided_wash_sales: avoided_wash_sales.length,
    gap: certificate.gap,
    conflicts: conflicts.join('; '),
  };
}

/** Tables of the explanation of a level from outside. */
export const DIFFERENCE_TABLES = {
  causes: {
    date: createDateColumn('Ex-date, session or effective date; null for a convention from the start.'),
    through: createDateColumn('Last session of a state that lasts.'),
    subject: createTextColumn('Event, price, rule or convention that differs.'),
    manner: createTextColumn('Action of the outside level, compared with the run.'),
    identifier: createTextColumn('Security, exchange rate or country; null for the whole index.'),
    value: createNumberColumn('Price, amount, rate or ratio of the outside level.'),
    sentence: createTextColumn('Action of the outside level, in words.'),
    sessions: countColumn('Sessions that agree only with this cause.'),
    effect_bps: createNumberColumn('Effect of the cause alone on the last common level.', 'basis points'),
    ties: createTextColumn('Other causes that explain the same sessions equally well, one sentence each.'),
    change: createTextColumn('Change with which a run reproduces the outside level, as JSON.'),
  },
  unexplained: {
    date: createDateColumn('Session.'),
    difference_bps: createNumberColumn('Outside level over own level, less 1.', 'basis points'),
    sentence: createTextColumn('What the session shows, in words.'),
  },
  remaining: {
    date: createDateColumn('Common session; of many sessions, equally spaced ones and those at the largest changes.'),
    removed: countColumn('Number of causes that are removed, in the order of the table of causes.'),
    difference_bps: createNumberColumn('Difference that remains.', 'basis points'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ExportColumn>>>>;

export type DifferenceTable = keyof typeof DIFFERENCE_TABLES;
export const DIFFERENCE_TABLE_NAMES = Object.keys(DIFFERENCE_TABLES) as [DifferenceTable, ...DifferenceTable[]]; // Object.keys returns plain strings.

/** Explanation as the service reads it: one of release 0.11.0 has its steps too. */
export interface ReadDifference extends Difference {
  readonly steps: readonly DifferenceStep[];
}

type ExportedDifference = Pick<ReadDifference, 'causes' | 'sessions' | 'remaining' | 'steps'>;

export const createDifferenceRows = (table: DifferenceTable, difference: ExportedDifference): readonly Row[] =>
  DIFFERENCE_ROWS[table](difference);

const DIFFERENCE_ROWS: Readonly<Record<DifferenceTable, (difference: ExportedDifference) => readonly Row[]>> = {
  causes: ({ causes }) =>
    causes.map(({ ties, change, ...cause }) => ({
      ...cause,
      ties: ties.length === 0 ? null : ties.map(({ sentence }) => sentence).join(' '),
      change: JSON.stringify(change),
    })),
  unexplained: ({ sessions }) =>
    sessions.unexplained.map(({ date, difference_bps, sentence = null }) => ({ date, difference_bps, sentence })),
  remaining: ({ steps, remaining: { dates, bps } }) =>
    [0, ...steps.map(({ causes }) => causes.at(-1)! + 1)].flatMap((removed) =>
      dates.map((date, t) => ({ date, removed, difference_bps: bps[removed]![t]! })),
    ),
};

/** Reference columns with external identifiers of securities, by their column in a file. */
export const ID_COLUMNS = {
  isin: 'ISIN',
  sedol: 'SEDOL',
  cusip: 'CUSIP',
  figi: 'FIGI',
  ric: 'RIC',
  ticker: 'TICKER',
  bloomberg: 'BLOOMBERG',
  valor: 'VALOR',
  wkn: 'WKN',
  permno: 'PERMNO',
  permid: 'PERMID',
  gvkey: 'GVKEY',
  lei: 'LEI',
} as const;

export type IdColumn = keyof typeof ID_COLUMNS;

const { isin: _isin, ...others } = ID_COLUMNS;
const idColumns = Object.fromEntries(
  Object.entries(others).map(([column, field]) => [column, createStoreColumn(field)]),
) as {
  readonly [C in Exclude<IdColumn, 'isin'>]: ReturnType<typeof createStoreColumn>;
}; // The keys are those of the entries.

const CASH = 'CASH/';
/** Returns the identifier of cash in files. It contains a slash, so no security has the same identifier. */
export const formatCashName = (currency: string): string => `${CASH}${currency}`;
export const isCashName = (identifier: string): boolean => identifier.startsWith(CASH);

/** Columns of an index on one session, with its index shares. */
const columns = {
  date: createDateColumn('Session.'),
  identifier: createTextColumn('Identifier of the security, or `CASH/USD` for cash in that currency.'),
  name: createTextColumn('NAME of the reference data; `Cash` for cash.'),
  isin: createTextColumn('ISIN of the reference data; null if the store has none.'),
  ...idColumns,
  currency: createTextColumn('Currency of the price; null unless the store of the run is active.'),
  price: createNumberColumn('Price per share, in the currency of the price.', 'money of the security'),
  fx: createNumberColumn('Exchange rate: price of this currency in the currency of the index.'),
  shares: createNumberColumn('Shares outstanding; null without a count.', 'shares'),
  float: createFractionColumn('Free float; 1 if there is no value, null without a share count.'),
  weighting_factor: createNumberColumn('Index shares divided by float-adjusted shares; null without a share count.'),
  index_shares: createNumberColumn(
    'Shares of the security in the index. For cash, the amount of cash, negative if money is borrowed.',
    'shares',
  ),
  market_value: createMoneyColumn('Index shares times price times exchange rate.'),
  weight: createFractionColumn('Market value divided by the market value of the index, including cash.'),
  dividend_points: createPointsColumn('Ordinary dividends of the session before tax, in points of the price return.'),
  divisor: createNumberColumn(
    'Divisor. The market value of the index, including cash, divided by this number is the level.',
  ),
  variant: createTextColumn('Return variant of the level: price, total or net.'),
};

const { date: session, dividend_points: _paid, variant: _variant, divisor, ...ofSecurities } = columns;

/** Index files that clients load, with one session per file. */
export const INDEX_FILE_TABLES = {
  closing: {
    help: 'The index at the close of `date`: closes, index shares and divisor of the session, before the trades of the close.',
    row: 'a security that the index holds, or the cash that an overlay or a derived index holds or owes, by identifier',
    isOfSession: true,
    readsMarket: true,
    columns,
  },
  opening: {
    help: 'The index before the opening of `date`: the closing file of the previous session after the trades of its close, with the changes of share counts and the corporate actions of the session.',
    row: 'a security that the index holds, or the cash that an overlay or a derived index holds or owes, by identifier',
    isOfSession: true,
    readsMarket: true,
    columns,
  },
  proforma: {
    help: 'The announced composition at the close of `date`, from its announcement to the close at which it takes effect. Its index shares are adjusted for the corporate actions of each session, and scaled to the market value of the index.',
    row: 'a security or the cash of the announced composition, by identifier',
    isOfSession: true,
    readsMarket: true,
    readsDefinition: true,
    columns: {
      date: session,
      effective_date: createDateColumn('Effective date of the composition, which takes effect at the close.'),
      ...ofSecurities,
      divisor,
    },
  },
} as const;

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
        'Divisor of the index after the trades and exits of the close, which is the divisor at the next opening. All return variants have this divisor if dividends are reinvested in the whole index; otherwise it is that of the price return.',
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
    row: 'a security held at the close of a date, or the cash that an overlay holds or owes, by date then identifier, with cash last',
    columns: {
      date: createDateColumn('Session.'),
      identifier: createTextColumn('Identifier of the security, or `CASH/USD` for cash in that currency.'),
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

export function findExportTable(name: ExportTableName): ExportTable {
  return EXPORTS[name];
}

const definePercentile = (share: string, description: string) =>
  createNumberColumn(
    `Value for which the securities with at most this value have ${share} of the weights ${description}.`,
  );

/** Tables of the exposures of a run, with one row per date and item. Missing values are null. */
export const EXPOSURE_TABLES = {
  groups: {
    help: 'Weights by group.',
    row: 'a group, by date then in listed order',
    columns: {
      date: createDateColumn('Session.'),
      group: createTextColumn('Group. OTHERS contains all groups that are not listed.'),
      weight: createFractionColumn('Weight in the group.'),
      benchmark_weight: createFractionColumn('Weight of the benchmark in the group.'),
    },
  },
  fields: {
    help: 'Datapoints weighted by the holdings.',
    row: 'a datapoint, by date then in requested order',
    columns: {
      date: createDateColumn('Session.'),
      field: createTextColumn('The datapoint.'),
      mean: createNumberColumn('Weighted mean.'),
      coverage: createFractionColumn('Fraction of the absolute weights that belongs to securities with a value.'),
      p10: definePercentile('10%', 'held'),
      p25: definePercentile('25%', 'held'),
      p50: definePercentile('Half', 'held'),
      p75: definePercentile('75%', 'held'),
      p90: definePercentile('90%', 'held'),
      benchmark_mean: createNumberColumn('Mean of the benchmark.'),
      benchmark_coverage: createFractionColumn('Coverage of the benchmark.'),
      benchmark_p10: definePercentile('10%', 'of the benchmark'),
      benchmark_p25: definePercentile('25%', 'of the benchmark'),
      benchmark_p50: definePercentile('Half', 'of the benchmark'),
      benchmark_p75: definePercentile('75%', 'of the benchmark'),
      benchmark_p90: definePercentile('90%', 'of the benchmark'),
    },
  },
  concentration: {
    help: 'Concentration and turnover.',
    row: 'a date',
    columns: {
      date: createDateColumn('Session.'),
      herfindahl: createNumberColumn('Sum of the squared weights.'),
      effective: createNumberColumn('1 divided by herfindahl.', 'assets'),
      largest: createFractionColumn('Largest weight.'),
      turnover: createFractionColumn('One-way turnover since the previous row.'),
      active_share: createFractionColumn('Half the sum of the absolute differences from the weights of the benchmark.'),
      gross_effective: createNumberColumn('Squared sum of the absolute weights, divided by herfindahl.', 'positions'),
      gross_largest: createFractionColumn('Largest absolute weight, long or short.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ExposureTable = keyof typeof EXPOSURE_TABLES;
export const EXPOSURE_TABLE_NAMES = Object.keys(EXPOSURE_TABLES) as [ExposureTable, ...ExposureTable[]]; // Object.keys returns plain strings.

/** Tables of limits monitored over a run. Missing values are null. */
export const LIMIT_TABLES = {
  state: {
    help: 'Headroom on every session.',
    row: 'a date',
    columns: {
      date: createDateColumn('Session.'),
      headroom: createNumberColumn(
        'Distance to the nearest bound, in the unit of the bound; negative beyond it, null if no constraint applies.',
      ),
      nearest: createTextColumn(
        'Security with the smallest price move that causes a breach; null beyond a bound, or if no move causes a breach.',
      ),
      move: createNumberColumn(
        'Smallest relative price move of this security that causes a breach, while all other prices are unchanged.',
      ),
    },
  },
  rows: {
    help: 'Each constraint over the window.',
    row: 'a bound of a constraint',
    columns: {
      row: createTextColumn('The row.'),
      side: createTextColumn('`lower` or `upper`.'),
      unit: createTextColumn('`fraction`, `count` or `value`.'),
      breached_sessions: countColumn('Number of sessions beyond the bound.'),
      least_date: createDateColumn('Session with the smallest headroom.'),
      least_value: createNumberColumn('Value of the constraint on that session.'),
      least_limit: createNumberColumn('Bound on that session.'),
    },
  },
  breaches: {
    help: 'Breaches.',
    row: 'a breach, by its first session',
    columns: {
      row: createTextColumn('The row.'),
      begin: createDateColumn('First session beyond the bound, possibly before `start`.'),
      end: createDateColumn('Last session beyond the bound; null if the breach continues.'),
      cause: createTextColumn('Cause of the breach: `price`, `action` or `rebalance`.'),
      worst_date: createDateColumn('Session with the smallest headroom.'),
      worst_value: createNumberColumn('Value of the constraint on that session.'),
      limit: createNumberColumn('Bound on that session.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type LimitTable = keyof typeof LIMIT_TABLES;
export const LIMIT_TABLE_NAMES = Object.keys(LIMIT_TABLES) as [LimitTable, ...LimitTable[]]; // Object.keys returns plain strings.

const scenario = createTextColumn('Name of the scenario.');

/** Tables of the scenarios of a composition. Missing values are null. */
export const SCENARIO_TABLES = {
  scenarios: {
    help: 'One row per scenario.',
    row: 'a scenario',
    columns: {
      scenario,
      return: createFractionColumn('Sum of the contributions; null for a window that the data does not cover.'),
      standard_error: createFractionColumn('Standard error from the estimate of the slopes; null without factors.'),
      covered_weight: createFractionColumn(
        'Absolute weight of the securities with a return in the window, divided by the total absolute weight.',
      ),
      start: createDateColumn('Close at which the window starts; null for shocks.'),
      end: createDateColumn('Close at which the window ends.'),
      r_squared: createNumberColumn(
        'R-squared of the regression of the composition on the factors; null without factors.',
      ),
      observations: countColumn('Number of returns in the regression.'),
      finding: createTextColumn('Remarks, such as dates that the data does not contain; null if there are none.'),
    },
  },
  names: {
    help: 'Contributions by security, beginning with the lowest.',
    row: 'a security in a scenario',
    columns: {
      scenario,
      identifier: createTextColumn('Identifier of the security.'),
      weight: createFractionColumn('Weight on the date.'),
      return: createFractionColumn('Return of the security.'),
      contribution: createFractionColumn('Weight times return.'),
      standard_error: createFractionColumn('Standard error of a response by regression.'),
      proxy: createTextColumn(
        'Group whose return is used, or all securities; null if the return of the security is used.',
      ),
    },
  },
  groups: {
    help: 'Contributions by group, beginning with the lowest.',
    row: 'a group in a scenario',
    columns: {
      scenario,
      group: createTextColumn('The group.'),
      weight: createFractionColumn('Weight on the date.'),
      contribution: createFractionColumn('Sum of the contributions of the securities.'),
    },
  },
  sessions: {
    help: 'The worst sessions of the windows, beginning with the worst.',
    row: 'a session of a scenario',
    columns: {
      scenario,
      date: createDateColumn('Session.'),
      return: createFractionColumn('Return of the composition.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ScenarioTable = keyof typeof SCENARIO_TABLES;
export const SCENARIO_TABLE_NAMES = Object.keys(SCENARIO_TABLES) as [ScenarioTable, ...ScenarioTable[]]; // Object.keys returns plain strings.

/** Table of the orders of a pack. Money is in the currency of the index. */
export const ORDERS = {
  help: 'The orders of every account.',
  row: 'an order, by account then identifier',
  columns: {
    account: createTextColumn('Name of the account.'),
    identifier: createTextColumn('Identifier of the security.'),
    side: createTextColumn('`buy` or `sell`.'),
    shares: createNumberColumn('Number of shares traded, in whole lots.', 'shares'),
    price: createMoneyColumn('Price per share.'),
    value: createMoneyColumn('Traded.'),
    weight_before: createFractionColumn('Weight in the value before the trades.'),
    weight_target: createFractionColumn('Wanted.'),
    weight_after: createFractionColumn('Weight in the value after trades and costs.'),
    adv_shares: createNumberColumn('Mean volume; null if unknown.', 'shares'),
    adv_share: createFractionColumn('Traded shares divided by the mean volume; null if unknown.'),
    days_to_trade: createNumberColumn('Number of days at the requested participation; null without a volume.', 'days'),
    cost: createMoneyColumn('Expected.'),
    reason: createTextColumn('`add`, `delete` or `reweight`.'),
  },
} as const satisfies ExportTable;

type Columns = Readonly<Record<string, ExportColumn>>;

/** SQL views of tables of runs; each begins with the column `index_id`. */
export const RUN_SQL_VIEWS = [
  'levels',
  'weights',
  'trades',
  'rebalances',
  'attribution',
  'events',
] as const satisfies readonly ExportTableName[];
export type RunSqlView = (typeof RUN_SQL_VIEWS)[number];

export const MARKET_VIEWS = ['prices', 'actions', 'reference'] as const;
export type MarketViewName = (typeof MARKET_VIEWS)[number];

export const LIST_VIEWS = ['indices', 'runs'] as const;
export type ListViewName = (typeof LIST_VIEWS)[number];

export type SqlViewName = RunSqlView | MarketViewName | ListViewName;

const INDEX_ID = { index_id: createTextColumn('Id of the index or strategy.') };

const listRunViewColumns = (view: RunSqlView): Columns => ({ ...INDEX_ID, ...EXPORTS[view].columns });

/** Columns of prices in addition to the fields of the market. */
export const PRICE_KEYS = {
  identifier: createTextColumn('Security.'),
  date: createDateColumn('Session.'),
} as const satisfies Columns;

export const ACTION_COLUMNS = {
  identifier: createTextColumn('Security.'),
  type: createTextColumn('Type of the action, such as DIVIDEND or SPLIT.'),
  value: createNumberColumn('Cash per share, share-count multiplier or ratio, depending on the type.'),
  ex_date: createDateColumn('Ex-date.'),
  pay_date: createDateColumn('Payment date.'),
  status: createTextColumn('announced, paid or cancelled.'),
  announced: createDateColumn('Day of the announcement.'),
  related: createTextColumn('Other security of a spin-off, merger or ticker change.'),
  subscription_price: createNumberColumn('Subscription price of rights.'),
  cash: createNumberColumn('Cash per share of a merger in addition to the shares.'),
} as const satisfies Columns;

/** Columns of reference data in addition to those of the store. */
export const REFERENCE_KEYS = {
  identifier: createTextColumn('Security.'),
  valid_from: createDateColumn('Day from which the row is valid; null from the beginning.'),
} as const satisfies Columns;

const LIST_COLUMNS = {
  indices: {
    ...INDEX_ID,
    name: createTextColumn('Name.'),
    kind: createTextColumn('rule, derived or overlay.'),
    source_index_id: createTextColumn('Index from which it is derived.'),
    calendar: createTextColumn('Exchange calendar.'),
    currency: createTextColumn('Currency.'),
    base_date: createDateColumn('Base date.'),
  },
  runs: {
    ...INDEX_ID,
    run_id: createTextColumn('Id of the newest run.'),
    name: createTextColumn('Name of the index or strategy at the time of the run.'),
    run_at: createTextColumn('Time of the run.'),
    start: createDateColumn('First date.'),
    end: createDateColumn('Last date.'),
    index_version: countColumn('Version of the definition.'),
    store_id: createTextColumn('Data store.'),
    store_version: countColumn('Version of the data.'),
    store_content_hash: createTextColumn('SHA-256 of the data.'),
    engine_version: createTextColumn('Version of the program.'),
  },
} as const satisfies Readonly<Record<ListViewName, Columns>>;

export const SQL_VIEWS: Readonly<Record<SqlViewName, { readonly help: string; readonly columns: Columns }>> = {
  levels: { help: EXPORTS.levels.help, columns: listRunViewColumns('levels') },
  weights: { help: EXPORTS.weights.help, columns: listRunViewColumns('weights') },
  trades: { help: EXPORTS.trades.help, columns: listRunViewColumns('trades') },
  rebalances: { help: EXPORTS.rebalances.help, columns: listRunViewColumns('rebalances') },
  attribution: { help: EXPORTS.attribution.help, columns: listRunViewColumns('attribution') },
  events: { help: EXPORTS.events.help, columns: listRunViewColumns('events') },
  prices: {
    help: 'Price bars of the data as stored, with a column for each field (CLOSE, VOLUME and so on).',
    columns: PRICE_KEYS,
  },
  actions: { help: 'Corporate actions of the data.', columns: ACTION_COLUMNS },
  reference: {
    help: 'Reference data, with a column for each field (SECTOR and so on).',
    columns: REFERENCE_KEYS,
  },
  indices: { help: 'Stored indices.', columns: LIST_COLUMNS.indices },
  runs: {
    help: 'Newest run of each index and strategy. The views of runs contain these runs.',
    columns: LIST_COLUMNS.runs,
  },
};

/** Cell of a list view; dates are YYYY-MM-DD. */
export type ListCell = string | number | null;
