import { formatDay } from '#domain/base/time.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { findUnit, isCurrency } from '#domain/market/rates.js';
import type { Adjustment, MarketData } from '#domain/market/market-data.js';
import { type Cell, isTimeOfDay, readText } from '../formats/cells.js';
import { isFooterText } from '../mapping/footers.js';
import {
  createDayReader,
  createInstantReader,
  findThousandsMark,
  isGroupedCount,
  parseAnyThousands,
  readCommaNumber,
  splitUnits,
} from '../mapping/written-values.js';
import type { Answers, Question } from './questions.js';
import { FIELD_ROLES, findRole, type ColumnRole } from './roles.js';
import { detectDateFormat, type Sample } from './samples.js';

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
function detectVendor(names: readonly string[], file: string): Vendor | undefined {
  const nameSet = new Set(names.map((name) => name.trim().toLowerCase()));
  return VENDORS.filter(
    ({ columns, file: called }) => columns.every((column) => nameSet.has(column)) && (called?.test(file) ?? true),
  )
    .toSorted((a, b) => b.columns.length - a.columns.length)
    .at(0);
}

/** Maximum number of preamble rows before the header. */
export const PREAMBLE_MAX = 20;

/**
 * Minimum share of cells in a row that must be fields, identifiers or numbers. With this share, the whole row counts as
 * such.
 */
export const MAJORITY_SHARE = 0.6;

/** Returns true if a cell is a number in any notation, except a text for a missing number. */
export const isNumber = (written: Cell | undefined) => isPlainNumber(splitUnits(written)?.number ?? written);

/** Returns true for a number without signs and units. A text such as 3M, which has a unit, may be a company. */
export const isPlainNumber = (cell: Cell | undefined) => {
  const value = parseAnyThousands(cell) ?? readCommaNumber(cell);
  return value !== undefined && !Number.isNaN(value);
};

/** Proposal under construction. */
export interface ProposalDraft {
  readonly answers: Answers;
  mapping: Partial<Mapping>;
  adjustment: Adjustment | null;
  reason: string | null;
  recognisedAs: string | null;
  confidence: 'sure' | 'likely';
  readonly questions: Question[];
}

/** Returns true if a question already has an answer. Columns are checked individually. */
export const hasAnswer = (answers: Answers, field: Question['field']) =>
  field !== 'columns' && answers[field] !== undefined;

export const isDay = ({ date_format: format }: Answers, cell: Cell | undefined) =>
  typeof format === 'string'
    ? typeof createDayReader(format)(cell) === 'number'
    : detectDateFormat([cell]) !== undefined;

/** Returns true if a table contains a day. */
export const hasDays = (answers: Answers, { rows }: Sample) =>
  rows.some((row) => row.some((cell) => isDay(answers, cell)));

type QuestionDraft = Pick<Question, 'field' | 'question' | 'taken'> & Partial<Question>;

export function ask(draft: ProposalDraft, questionDraft: QuestionDraft): void {
  if (!hasAnswer(draft.answers, questionDraft.field))
    draft.questions.push({ others: [], required: true, ...questionDraft });
}

export const readRowTexts = (row: readonly (Cell | undefined)[]) => row.map((cell) => readText(cell) ?? '');

export function recognise(
  draft: ProposalDraft,
  names: readonly string[],
  file: string,
  otherwise: string | null,
): void {
  const vendor = detectVendor(names, file);
  draft.recognisedAs = vendor?.name ?? otherwise;
  if (vendor === undefined) return;
  draft.mapping = { ...vendor.mapping };
  draft.adjustment = vendor.adjustment;
  draft.reason = vendor.adjustment && `${vendor.name} writes closes ${ADJUSTMENT_TEXT[vendor.adjustment]}.`;
  for (const question of vendor.questions) ask(draft, question);
}

const ADJUSTMENT_TEXT: Readonly<Record<Adjustment, string>> = {
  none: 'as traded',
  splits: 'adjusted for splits, not for dividends',
  total: 'adjusted for splits and dividends',
};

export function useAdjustedAsClose(draft: ProposalDraft, adjusted: string): void {
  draft.mapping.columns = { ...draft.mapping.columns, CLOSE: adjusted };
  draft.adjustment = 'total';
  draft.reason = `The data contain only adjusted closes (${adjusted}).`;
  ask(draft, {
    field: 'adjustment',
    question: `The data contain only adjusted closes (${adjusted}). Are they adjusted for dividends (adjustment: total)?`,
    taken: 'total',
    others: ['splits', 'none'],
  });
}

export function selectMappedColumns(roles: Partial<Record<ColumnRole, string>>): Record<string, string> {
  const { adjusted: _own, ...named } = roles;
  return Object.fromEntries(Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export function proposeDays(draft: ProposalDraft, written: readonly (Cell | undefined)[]): void {
  const cells = removeFooter(written);
  const result = detectDateFormat(cells);
  if (result === undefined) {
    const firstText = JSON.stringify(readText(cells[0]) ?? '').slice(0, 80);
    const question = `What is the date format? The first date is ${firstText}.`;
    ask(draft, { field: 'date_format', question, taken: null });
    return;
  }
  const { format, others } = result;
  const findInstant = createInstantReader(format);
  if (!cells.some((cell) => isTimeOfDay(findInstant(cell) ?? 0))) delete draft.mapping.time_zone; // the cells are days
  if (format !== null) draft.mapping.date_format = format;
  const serial = readText(cells[0]);
  if (format === 'excel')
    ask(draft, {
      field: 'date_format',
      question: `The dates are numbers such as ${serial}, which is ${formatDay(createDayReader(format)(serial)!)} as a serial date of Excel. Are they serial dates?`,
      taken: format,
      others: [],
    });
  const question = `Every date fits ${[format, ...others].join(' and ')}. The first format is used.`;
  if (others.length > 0) ask(draft, { field: 'date_format', question, taken: format, others });
}

/**
 * Returns the cells with days. Words and empty cells of a footer below them, such as a source, a note or totals, are
 * omitted.
 */
function removeFooter(cells: readonly (Cell | undefined)[]): readonly (Cell | undefined)[] {
  const last = cells.findLastIndex((cell) => !isFooterText(readText(cell) ?? ''));
  return last < 0 ? cells : cells.slice(0, last + 1);
}

/** Describes a minor unit, which may be mistaken for its currency. */
function describeUnit(code: string): string {
  const { major, scale } = findUnit(code);
  return scale === 1
    ? ''
    : `. It is not a code of three capital letters for a currency, but a minor unit: ${scale} ${major}`;
}

/**
 * Reports that currencies next to prices are ignored. Names the setting that declares the currency. @param where column
 * or row
 */
export function askCurrency(draft: ProposalDraft, where: string, cells: readonly (Cell | undefined)[]): void {
  const codes = [...new Set(cells.map((cell) => readText(cell) ?? '').filter((text) => text !== ''))];
  const [code = ''] = codes;
  const listedCodes = codes.slice(0, 3).join(', ').slice(0, 40);
  const declaredCurrency =
    codes.length > 1
      ? 'Declare the CURRENCY of each security in the table reference'
      : isCurrency(code)
        ? `Declare it as the currency of the store (--currency ${code}) or as CURRENCY in the table reference${describeUnit(code)}`
        : 'It is not a code of ISO 4217. Declare the code of the currency, or of a minor unit such as GBX for pence';
  ask(draft, {
    field: 'ignore',
    question: `The ${where} (${listedCodes}) is not read. Prices are taken to be in the currency of the store. ${declaredCurrency}.`,
    taken: where.slice(where.indexOf(' ') + 1),
    required: false,
  });
}

/** Returns the field named in a file name: `close_split_adjusted.csv` contains closes. */
export function findFileRole(name: string): string | undefined {
  const nameWords = name.replace(/\.[a-z]+(\.gz)?$/i, '').split(/[^A-Za-z]+/);
  return nameWords
    .map((word) => findRole(word) ?? findRole(word.replace(/s$/i, '')))
    .find((role) => role !== undefined && role !== 'adjusted' && FIELD_ROLES.includes(role as never));
}

/** Sets the price basis if file names state it: `adj_close_2005.csv`, `close_split_adjusted.csv`. */
export function setBasisFromFiles(draft: ProposalDraft, samples: readonly Sample[]): void {
  const isCloseFile = ({ name }: Sample, words: RegExp) => findFileRole(name) === 'CLOSE' && words.test(name);
  const [splits, adjusted] = [/splits?[^a-z]*adj/i, /adj(usted)?[^a-z]*(close|price)|(close|price)s?[^a-z]*adj/i];
  const source = samples.find((sample) => isCloseFile(sample, splits) || isCloseFile(sample, adjusted));
  if (source === undefined) return;
  draft.adjustment = isCloseFile(source, splits) ? 'splits' : 'total';
  draft.reason = `The file name states the adjustment: ${source.name}.`;
}

/**
 * Numbers with a mark before three digits, which are ambiguous. In 1,234 and 1.234, the mark separates thousands or
 * decimals.
 */
const AMBIGUOUS_NUMBER = { ',': /^[+-]?[1-9]\d{0,2},\d{3}$/, '.': /^[+-]?[1-9]\d{0,2}\.\d{3}$/ } as const;

/** Share of texts with a decimal comma from which on the comma is the decimal mark. A note may contain a comma. */
const COMMAS_MIN = 0.1;

/**
 * Determines decimal and thousands marks from the numbers: 7,5 or 1.234,5 has a decimal comma, 7.5 or 1,234.5 a decimal
 * point. If all numbers are like 1,234, or all are like 1.234, the delimiter decides: a comma between cells implies a
 * decimal point. With another delimiter, a question is asked.
 * @param ofBars numbers of bars, which may have signs and units
 */
export function proposeNumberMarks(
  draft: ProposalDraft,
  cells: readonly (Cell | undefined)[],
  { delimiter }: Sample,
  ofBars: readonly (Cell | undefined)[] = cells,
): void {
  const numberTexts = listNumbers(cells);
  readUnits(draft, listNumbers(ofBars));
  const texts = numberTexts.map((text) => splitUnits(text)?.number ?? text);
  const filterAmbiguous = (mark: ',' | '.') => texts.filter((text) => AMBIGUOUS_NUMBER[mark].test(text));
  const [commas, points] = [filterAmbiguous(','), filterAmbiguous('.')];
  const decisiveTexts = texts.filter((text) => !AMBIGUOUS_NUMBER[','].test(text) && !AMBIGUOUS_NUMBER['.'].test(text));
  const pointTexts = decisiveTexts.filter((text) => /[.,]/.test(text) && isMarkedNumber(parseAnyThousands(text)));
  const commaTexts = decisiveTexts.filter((text) => /[.,]/.test(text) && isMarkedNumber(readCommaNumber(text)));
  const { decimal } = draft.answers;
  if (decimal === ',') return;
  if (decimal === undefined && commaTexts.length > texts.length * COMMAS_MIN && commaTexts.length > pointTexts.length) {
    draft.mapping.decimal = ',';
    return;
  }
  const isNumeric = delimiter === undefined && commas.length === 0; // numeric cells of a database, Parquet or a workbook
  const isPoint = decimal === '.' || pointTexts.length > 0 || delimiter === ',' || isNumeric;
  if (isPoint) {
    const mark = texts.map(findThousandsMark).find((each) => each !== undefined);
    if (mark !== undefined) draft.mapping.thousands = mark;
    return;
  }
  const [first] = commas.length > 0 ? commas : points;
  if (first === undefined) return;
  const mark = commas.length > 0 ? 'comma' : 'point';
  draft.mapping.decimal = commas.length > 0 ? ',' : '.';
  const question = `Is the ${mark} in ${first} a decimal mark or a thousands separator? The numbers fit both. It is read as a decimal mark.`;
  ask(draft, {
    field: 'decimal',
    question,
    taken: draft.mapping.decimal,
    others: [draft.mapping.decimal === ',' ? '.' : ','],
  });
}

const listNumbers = (cells: readonly (Cell | undefined)[]) =>
  cells.flatMap((cell) => (typeof cell === 'string' && /\d/.test(cell) ? [cell.trim()] : []));

/** Reads currency signs and units, and reports this in a question. The currency itself must be declared elsewhere. */
function readUnits(draft: ProposalDraft, texts: readonly string[]): void {
  const first = texts.find((text) => splitUnits(text) !== undefined);
  if (first === undefined) return;
  draft.mapping.units = 'read';
  ask(draft, createUnitsQuestion(first));
}

/** Returns the question about numbers such as $14.82 and 59.83M. */
export function createUnitsQuestion(text: string): Question {
  const { exponent, money } = splitUnits(text)!; // asked only about numbers with signs or units
  const sign = money === '' ? '' : ` The sign ${money} does not set the currency, which is that of the store.`;
  const unit =
    exponent === '' ? '' : ` K, M, B and T stand for thousands to trillions (here 10${exponent.replace('e', '^')}).`;
  return {
    field: 'units',
    question: `Some numbers have signs or units, for example ${text}. They are read as numbers.${unit}${sign}`,
    taken: 'read',
    others: ['refuse'],
    required: false,
  };
}

/**
 * Recognises share counts with points between thousands, such as 58.490 next to 14.82. Every point must separate
 * thousands, and no number without a point may have more than three digits.
 */
export function countMarks(draft: ProposalDraft, cells: readonly (Cell | undefined)[]): void {
  if (draft.mapping.decimal === ',' || (draft.mapping.thousands ?? null) !== null) return;
  const texts = listNumbers(cells);
  const groupedTexts = texts.filter((text) => isGroupedCount(text, '.'));
  const isGrouped = texts.every((text) => isGroupedCount(text, '.') || /^[+-]?\d{1,3}$/.test(text));
  if (groupedTexts.length === 0 || !isGrouped) return;
  draft.mapping.thousands = '.';
  ask(draft, createCountsQuestion('.', groupedTexts));
}

/** Returns the question about share counts written as 58,490 or 58.490. A number with two marks answers it. */
export function createCountsQuestion(mark: ',' | '.', texts: readonly string[]): Question {
  const name = mark === ',' ? 'comma' : 'point';
  return {
    field: 'thousands',
    question: `Is the ${name} in ${texts[0]}, a number of shares, a thousands separator, although it is the decimal mark of prices? It is read as one, because shares have no fractions.`,
    taken: mark,
    others: ['none'],
    required: !texts.some((text) => text.split(mark).length > 2),
  };
}

const isMarkedNumber = (value: number | undefined) => value !== undefined && !Number.isNaN(value);
