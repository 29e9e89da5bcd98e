import { countColumn, createDateColumn, createNumberColumn, createTextColumn, type ExportColumn, EXPORTS, type ExportTableName } from './exports.js';

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

export const listRunViewColumns = (view: RunSqlView): Columns => ({ ...INDEX_ID, ...EXPORTS[view].columns });

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

export const LIST_COLUMNS = {
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
