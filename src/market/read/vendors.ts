import type { Mapping } from '#domain/definition/mapping.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Question } from './questions.js';

/** Format of a vendor's tables, recognised by its columns. */
export interface Vendor {
  readonly name: string;
  /** Columns that together identify the vendor, in lower case. */
  readonly columns: readonly string[];
  /** Pattern of the file name, if the columns alone are not sufficient. */
  readonly file?: RegExp;
  /** Part of the mapping that does not follow from column headings. */
  readonly mapping: Partial<Mapping>;
  /** Price basis of closes; null if the vendor supplies several. */
  readonly adjustment: MarketData['adjustment'] | null;
  /** Questions that only the user can answer. */
  readonly questions: readonly Question[];
}

const STOOQ: Question = {
  field: 'adjustment',
  question: 'Stooq adjusts closes for splits and, by default, for dividends. Is the adjustment total?',
  taken: 'splits',
  others: ['total', 'none'],
  required: false,
};

const YFINANCE: Question = {
  field: 'adjustment',
  question:
    'yfinance adjusts closes for splits and dividends. With auto_adjust=False, it adjusts only for splits and adds Adj Close. Is the adjustment total?',
  taken: 'total',
  others: ['splits', 'none'],
  required: false,
};

/** Non-price columns of Yahoo Finance. */
const YAHOO_EXTRA_COLUMNS = ['Dividends', 'Stock Splits', 'Capital Gains', 'Repaired?'];

/**
 * Returns the question about closes that are not adjusted for splits and dividends.
 * @param factors columns of the vendor with adjustment factors
 */
const createTradedQuestion = (factors: string): Question => ({
  field: 'adjustment',
  question: `CRSP closes are as traded, and ${factors} are not read as splits and dividends. Supply the table corporate_actions; without it, a split appears as a loss.`,
  taken: 'none',
  others: ['splits', 'total'],
  required: false,
});

/** Vendors with the columns that identify their tables. If several match, the vendor with the most columns is used. */
export const VENDORS: readonly Vendor[] = [
  {
    name: 'Yahoo Finance',
    columns: ['open', 'high', 'low', 'close', 'adj close', 'volume'],
    mapping: { ignore: YAHOO_EXTRA_COLUMNS },
    adjustment: 'splits',
    questions: [],
  },
  {
    name: 'Yahoo Finance',
    columns: ['open', 'high', 'low', 'close', 'adj close', 'volume', 'dividends', 'stock splits'],
    mapping: { ignore: YAHOO_EXTRA_COLUMNS },
    adjustment: 'splits',
    questions: [],
  },
  {
    name: 'Yahoo Finance, yfinance',
    columns: ['open', 'high', 'low', 'close', 'volume', 'dividends', 'stock splits'],
    mapping: { ignore: YAHOO_EXTRA_COLUMNS },
    adjustment: 'total',
    questions: [YFINANCE],
  },
  {
    name: 'Kaggle, New York Stock Exchange',
    columns: ['date', 'symbol', 'open', 'close', 'low', 'high', 'volume'],
    file: /^prices(-split-adjusted)?\.csv$/,
    mapping: {},
    adjustment: null,
    questions: [],
  },
  {
    name: 'Kaggle, S&P 500 stocks',
    columns: ['symbol', 'adj close', 'close', 'high', 'low', 'open', 'volume'],
    mapping: {},
    adjustment: 'splits',
    questions: [],
  },
  {
    name: 'Kaggle, S&P 500 of five years',
    columns: ['date', 'open', 'high', 'low', 'close', 'volume', 'name'],
    mapping: {},
    adjustment: 'splits',
    questions: [],
  },
  {
    name: 'Stooq',
    columns: ['<ticker>', '<date>', '<close>'],
    mapping: { ignore: ['<PER>', '<TIME>', '<OPENINT>'] },
    adjustment: 'splits',
    questions: [STOOQ],
  },
  {
    name: 'Stooq',
    columns: ['date', 'open', 'high', 'low', 'close', 'volume'],
    file: /_[a-z]{2}_d\.csv$/,
    mapping: {},
    adjustment: 'splits',
    questions: [STOOQ],
  },
  {
    name: 'Tiingo',
    columns: ['date', 'close', 'adjclose', 'divcash', 'splitfactor'],
    mapping: { ignore: ['adjHigh', 'adjLow', 'adjOpen', 'adjVolume', 'divCash', 'splitFactor'] },
    adjustment: 'none',
    questions: [],
  },
  {
    name: 'Polygon flat file',
    columns: ['ticker', 'open', 'close', 'high', 'low', 'volume', 'window_start', 'transactions'],
    mapping: { time_zone: 'America/New_York' },
    adjustment: 'none',
    questions: [],
  },
  {
    name: 'Databento',
    columns: ['ts_event', 'open', 'high', 'low', 'close', 'volume'],
    mapping: { ignore: ['rtype', 'publisher_id', 'instrument_id'], price_divisor: 1e9 },
    adjustment: 'none',
    questions: [],
  },
  {
    name: 'EOD Historical Data',
    columns: ['date', 'close', 'adjusted_close', 'volume'],
    mapping: { ignore: ['Ex', 'exchange_short_name', 'MarketCapitalization'] },
    adjustment: 'none',
    questions: [],
  },
  {
    name: 'CRSP',
    columns: ['permno', 'prc'],
    mapping: {
      columns: { identifier: 'PERMNO' },
      zero_prices: 'missing',
      negative_prices: 'absolute',
      ignore: [
        'RET',
        'RETX',
        'DLRET',
        'DLRETX',
        'COMNAM',
        'TICKER',
        'NCUSIP',
        'CUSIP',
        'SHRCLS',
        'NAICS',
        'SICCD',
        'TRTSCD',
      ],
    },
    adjustment: 'none',
    questions: [
      {
        field: 'columns',
        question: 'SHROUT is in thousands of shares. It is read as a custom datapoint, not as SHARES_OUTSTANDING.',
        taken: null,
        others: [],
        required: false,
      },
      createTradedQuestion('CFACPR and RET'),
    ],
  },
  {
    name: 'CRSP',
    columns: ['permno', 'dlycaldt', 'dlyprc'],
    mapping: { columns: { identifier: 'PERMNO' }, zero_prices: 'missing', negative_prices: 'absolute' },
    adjustment: 'none',
    questions: [
      {
        field: 'columns',
        question: 'ShrOut is in thousands of shares. It is read as a custom datapoint, not as SHARES_OUTSTANDING.',
        taken: null,
        others: [],
        required: false,
      },
      createTradedQuestion('DlyFacPrc and DlyRet'),
    ],
  },
  {
    name: 'Bloomberg',
    columns: ['px_last'],
    mapping: {},
    adjustment: null,
    questions: [],
  },
  {
    name: 'Refinitiv',
    columns: ['instrument', 'price close'],
    mapping: {},
    adjustment: null,
    questions: [],
  },
  {
    name: 'Refinitiv',
    columns: ['exchange date', 'close'],
    mapping: {},
    adjustment: null,
    questions: [],
  },
  {
    name: 'Refinitiv',
    columns: ['timestamp', 'trdprc_1'],
    mapping: {},
    adjustment: null,
    questions: [],
  },
  {
    name: 'Refinitiv',
    columns: ['trade close'],
    mapping: {},
    adjustment: null,
    questions: [],
  },
];

/**
 * Returns the vendor of a table; undefined if it is unknown. @param names of its columns, or of the fields in two
 * header rows
 */
export function detectVendor(names: readonly string[], file: string): Vendor | undefined {
  const nameSet = new Set(names.map((name) => name.trim().toLowerCase()));
  return VENDORS.filter(
    ({ columns, file: called }) => columns.every((column) => nameSet.has(column)) && (called?.test(file) ?? true),
  )
    .toSorted((a, b) => b.columns.length - a.columns.length)
    .at(0);
}
