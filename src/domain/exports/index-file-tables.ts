import {
  createDateColumn,
  createFractionColumn,
  createMoneyColumn,
  createNumberColumn,
  createStoreColumn,
  createPointsColumn,
  createTextColumn,
} from './export-table.js';

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
