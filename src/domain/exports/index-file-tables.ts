import { date, fraction, money, number, points, text } from './export-table.js';

/** Columns of an index in index shares on one session. */
const columns = {
  date: date('Session.'),
  identifier: text('The security.'),
  name: text('NAME of the reference data.'),
  isin: text(
    'ISIN of the reference data; null where the store has none. The other identifiers are read in the same way.',
  ),
  sedol: text('SEDOL.'),
  cusip: text('CUSIP.'),
  figi: text('FIGI.'),
  ric: text('RIC.'),
  ticker: text('TICKER.'),
  currency: text('Currency of its price; null unless the store of the run is served.'),
  price: number('Of a share, in that currency.', 'money of the security'),
  fx: number('Price of that currency in the currency of the index.'),
  shares: number('Shares outstanding; null without a count.', 'shares'),
  float: fraction('Free float; 1 without a value, null without a share count.'),
  weighting_factor: number('Index shares over float-adjusted shares; null without a share count.'),
  index_shares: number('Shares of the security in the index.', 'shares'),
  market_value: money('Index shares times price times fx.'),
  weight: fraction('Market value over that of the index.'),
  dividend_points: points('Ordinary dividends of the session before tax, in points of the price return.'),
  divisor: number('Market value of the index over this is its level.'),
};

/** Index files as clients load them: one session each. */
export const INDEX_FILE_TABLES = {
  closing: {
    help: 'The index at the close of `date`: closes, index shares and divisor of the session, before what is traded at the close.',
    row: 'a security held, by identifier',
    readsMarket: true,
    columns,
  },
  opening: {
    help: 'The index before `date` opens: the closing file of the session before, after the trades at its close and the corporate actions of the session.',
    row: 'a security held, by identifier',
    readsMarket: true,
    columns,
  },
} as const;
