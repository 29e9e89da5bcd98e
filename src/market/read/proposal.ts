import { isAssetIdentifier } from '#domain/base/schema.js';
import { Mapping } from '#domain/definition/mapping.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { type Cell, readNumber, readText } from '../formats/cells.js';
import {
  findCurrencyColumn,
  findDividendColumn,
  findFieldLevels,
  findFileIdentifier,
  findLabelledValue,
  LABEL_WITHOUT_DIGITS,
} from '../mapping/columns.js';
import { COUNT_FIELDS } from '../mapping/written-values.js';
import { replaceSlashes } from '../tables/problems.js';
import {
  ask,
  askCurrency,
  countMarks,
  findFileRole,
  hasDays,
  isDay,
  isNumber,
  isPlainNumber,
  readRowTexts,
  MAJORITY_SHARE,
  PREAMBLE_MAX,
  type ProposalDraft,
  proposeDays,
  proposeNumberMarks,
  recognise,
  selectMappedColumns,
  setBasisFromFiles,
  useAdjustedAsClose,
} from './proposal-draft.js';
import type { Answers, Question } from './questions.js';
import { assignRoles, FIELD_ROLES, findNearRole, findRole, type ColumnRole } from './roles.js';
import type { Sample, TableNameSource } from './samples.js';

/** A long table with its header, and the other tables. */
interface IdentifierTables {
  readonly header: readonly string[];
  /** Name of the date column. */
  readonly date: string;
  readonly column: (name: string) => readonly (Cell | undefined)[];
  readonly samples: readonly Sample[];
  readonly namedBy: TableNameSource;
}

/** Returns true for an identifier, in which slashes are replaced. */
const isIdentifier = (text: string): boolean => isAssetIdentifier(replaceSlashes(text));

/**
 * Proposes the source of the identifier: a column, a cell above the header, or the file names. Returns false if no
 * source is found.
 */
function proposeIdentifier(draft: ProposalDraft, named: string | undefined, tables: IdentifierTables): boolean {
  if (/^(file|heading):/.test(draft.answers.identifier_from ?? '')) return true;
  if (named === undefined)
    return (
      proposeHeadingIdentifier(draft, tables) ||
      proposeTextIdentifier(draft, tables) ||
      proposeFileIdentifier(draft, tables)
    );
  if (draft.answers.identifier_from !== undefined || !isIdentifiedByFile(named, tables.column(named), tables.samples))
    return true;
  const { identifier: _written, ...others } = draft.mapping.columns!; // set together with the roles
  if (proposeFileIdentifier(draft, tables)) draft.mapping.columns = others;
  return true;
}

/**
 * Matches headings of text columns that are not identifiers, such as currency, exchange or other attributes of a
 * security.
 */
const ATTRIBUTE_HEADING = /curr|w(ä|ae)hrung|devise|exchange|b(ö|oe)rse|sector|industry|country|type|status|exdiv/i;

/** Matches a change in percent, which is not an identifier. */
const PERCENT_TEXT = /^[+-]?[\d.,]+ ?%$/;

/**
 * Proposes a text column with an unknown heading. If days repeat, it is the column that best distinguishes the rows of
 * a day. Otherwise it is the only text column of the only table.
 */
function proposeTextIdentifier(draft: ProposalDraft, { header, date, column, samples }: IdentifierTables): boolean {
  const listTexts = (name: string) => column(name).map((cell) => readText(cell) ?? '');
  const days = listTexts(date);
  const countKeys = (name: string) => new Set(listTexts(name).map((text, i) => `${text} ${days[i]}`)).size;
  const areRepeated = new Set(days).size < days.length;
  const [name, ...others] = header
    .filter(
      (each) =>
        each !== '' &&
        findRole(each) === undefined &&
        !Object.values(draft.mapping.columns!).includes(each) && // set together with the roles
        !ATTRIBUTE_HEADING.test(each) &&
        isWorded(column(each)) &&
        !listTexts(each).some((text) => PERCENT_TEXT.test(text)) &&
        listTexts(each).every(isIdentifier) &&
        (!areRepeated || countKeys(each) > new Set(days).size),
    )
    .toSorted((a, b) => countKeys(b) - countKeys(a));
  if (name === undefined || (!areRepeated && (others.length > 0 || samples.length > 1))) return false;
  draft.mapping.columns = { ...draft.mapping.columns, identifier: name };
  ask(draft, {
    field: 'columns',
    question: `No column has the name of an identifier. ${name} is used, which contains texts such as ${listTexts(name)[0]}. Is it the identifier?`,
    taken: `identifier=${name}`,
    others: others.map((other) => `identifier=${other}`),
  });
  return true;
}

/** Returns true if a column contains texts and no number. */
const isWorded = (cells: readonly (Cell | undefined)[]) =>
  cells.some((cell) => readText(cell) !== null) && !cells.some(isPlainNumber);

/**
 * Returns true if a column with an identifier heading contains no valid identifiers. Each file then contains one
 * security, and the column contains its company name.
 */
const isIdentifiedByFile = (name: string, cells: readonly (Cell | undefined)[], samples: readonly Sample[]) =>
  samples.length > 1 && findRole(name) === 'identifier' && cells.every((cell) => !isIdentifier(readText(cell) ?? ''));

/**
 * Proposes a label above the header, such as `Security | AAPL US Equity`, if it states the identifier in every table.
 */
function proposeHeadingIdentifier(draft: ProposalDraft, { samples }: IdentifierTables): boolean {
  const { skip_rows: above = 0 } = draft.mapping;
  const headings = samples.map(({ rows }) => rows.slice(0, above).map(readRowTexts));
  const labels = (headings[0] ?? []).flatMap((row) => row.filter((text) => findRole(text) === 'identifier'));
  const label = labels.find((each) =>
    headings.every((heading) => isIdentifier(findLabelledValue(each, heading) ?? '')),
  );
  if (label === undefined) return false;
  draft.mapping.identifier_from = `heading:${removeColon(label)}`;
  return true;
}

function removeColon(label: string): string {
  const text = label.trimEnd();
  return text.endsWith(':') ? text.slice(0, -1).trimEnd() : text;
}

/** Matches default sheet names of Excel in several languages. */
const UNNAMED_SHEET = /^(sheet|tabelle|blatt|feuil|hoja|foglio|blad|ark|planilha|arkusz) ?\d+$/i;

/**
 * Returns true if a file name looks like a ticker, such as AAPL, BRK-B or ^GSPC, and not like data, prices or EXPORT.
 */
const isLikeTicker = (name: string) =>
  /^[A-Z0-9^][A-Z0-9.^=-]{0,11}$/.test(name) &&
  !/^(DATA|PRICES?|EXPORT|TABLE|MARKET|HISTORY|DOWNLOAD|CLOSES?)/.test(name);

/** Proposes the file names if no column contains the identifier. Parts common to all names are removed. */
function proposeFileIdentifier(draft: ProposalDraft, { date, column, samples, namedBy }: IdentifierTables): boolean {
  if (namedBy === null) return false;
  const names = samples.map(({ name }) => name);
  const pattern = `file:${findCommonPattern(names, namedBy)}`;
  if (!names.every((name) => isIdentifier(findFileIdentifier(pattern, name) ?? ''))) return false;
  draft.mapping.identifier_from = pattern;
  const fileIdentifier = names.length === 1 ? findFileIdentifier(pattern, names[0]!) : null;
  const question = `No column contains the identifier. The name of the ${namedBy} is used: ${fileIdentifier}.`;
  const unnamedSheets = namedBy === 'sheet' ? names.filter((name) => UNNAMED_SHEET.test(name)) : [];
  const days = column(date).map((cell) => readText(cell));
  if (fileIdentifier != null)
    ask(draft, {
      field: 'identifier_from',
      question,
      taken: pattern,
      required:
        !isLikeTicker(pattern.endsWith('_d.csv') ? fileIdentifier.toUpperCase() : fileIdentifier) ||
        UNNAMED_SHEET.test(fileIdentifier) ||
        new Set(days).size < days.length,
    });
  else if (unnamedSheets.length > 0)
    ask(draft, {
      field: 'identifier_from',
      question: `No column contains the identifier. The names of the sheets are used, for example ${unnamedSheets.slice(0, 3).join(', ')}, which are default names of Excel. Are they identifiers?`,
      taken: pattern,
    });
  return true;
}

/** Matches suffixes that vendors add to the name of an instrument: Stooq, Investing.com. */
const NAME_SUFFIX = /(_[a-z]{2}_d| (?:Historical Data|Stock Price History)(?: \(\d+\))?)\.csv$/;

function findCommonPattern(names: readonly string[], namedBy: TableNameSource): string {
  if (namedBy === 'sheet' && names.length === 1) return '{identifier}';
  const fileExtension = /(\.[a-z]+(\.gz)?)$/i.exec(names[0]!)?.[0] ?? '';
  if (names.length === 1) return `{identifier}${NAME_SUFFIX.exec(names[0]!)?.[0] ?? fileExtension}`;
  const countSharedLetters = (a: string, b: string) => {
    let length = 0;
    while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
    return a.slice(0, length);
  };
  const reverse = (text: string) => [...text].toReversed().join('');
  const sharedStart = names.reduce(countSharedLetters);
  const sharedEnd = reverse(names.map(reverse).reduce(countSharedLetters));
  // Letters that all identifiers have in common belong to the identifiers. A pattern therefore begins and ends at a
  // separator.
  const prefix = /^.*[_\-. ]/.exec(sharedStart)?.[0] ?? '';
  const suffix = /[_\-. ].*$/.exec(sharedEnd)?.[0] ?? '';
  return `${prefix}{identifier}${suffix}`;
}

/**
 * Proposes a mapping for a table with two header levels. The levels are two header rows, or column names that are
 * pairs. Returns false if the table has another form.
 */
function proposeLevels(draft: ProposalDraft, sample: Sample): boolean {
  const pairs = findFieldLevels(readRowTexts(sample.rows[0]!));
  if (pairs !== undefined) {
    const fields = [pairs.map(([a]) => a), pairs.map(([, b]) => b)].toSorted(
      (a, b) => computeFieldShare(b) - computeFieldShare(a),
    )[0]!;
    const header = readRowTexts(sample.rows[0]!);
    const date = header.find((name) => findFieldLevels([name]) === undefined);
    return proposeTwoLevels(draft, {
      fields,
      sample,
      date,
      skip: 0,
      body: sample.rows.slice(1),
      at: header.indexOf(date ?? ''),
    });
  }
  for (let i = 0; i + 2 < sample.rows.length && i < PREAMBLE_MAX; i++) {
    const [first, second] = [readRowTexts(sample.rows[i]!), readRowTexts(sample.rows[i + 1]!)];
    const [a, b] = [computeFieldShare(removeDateCells(first)), computeFieldShare(removeDateCells(second))];
    const nameRow = a >= b ? second : first;
    const fields = a >= b ? first : second;
    const otherNames = nameRow.slice(1).filter((text) => text !== '');
    const areNames =
      otherNames.length > 0 &&
      otherNames.every(
        (text) => !isNumber(text) && findRole(text) === undefined && isAssetIdentifier(replaceSlashes(text)),
      );
    if (isHeading(nameRow, fields)) continue;
    if (
      Math.max(a, b) < MAJORITY_SHARE ||
      !areNames ||
      fields.slice(1).filter((text) => text !== '').length < otherNames.length
    )
      continue;
    const body = sample.rows.slice(i + 2).filter((row) => row.slice(1).some(isNumber));
    const date = [first[0]!, second[0]!].find((text) => findRole(text) === 'date');
    return proposeTwoLevels(draft, { fields: fields.slice(1), sample, date, skip: i, body, at: 0 });
  }
  return false;
}

/**
 * Returns true if the row above the fields is the last row above the table, and not a row of identifiers. Such a row is
 * a label with its value, for example `Currency | USD`.
 */
const isHeading = ([label = '', ...values]: readonly string[], [date = '', ...fields]: readonly string[]) =>
  label !== '' &&
  !fields.includes(date) &&
  findRole(label) !== 'identifier' &&
  findRole(date) === 'date' &&
  values.filter((text) => text !== '').length === 1;

interface Levels {
  readonly fields: readonly string[];
  readonly sample: Sample;
  readonly date: string | undefined;
  readonly skip: number;
  readonly body: Sample['rows'];
  /** Position of the date column. */
  readonly at: number;
}

function proposeTwoLevels(draft: ProposalDraft, { fields, sample, date, skip, body, at }: Levels): boolean {
  const fieldNames = [...new Set(fields.filter((field) => field !== '' && field !== date))];
  const roles = assignRoles(fieldNames);
  if (roles.CLOSE === undefined && roles.adjusted === undefined) return false;
  if (draft.answers.layout === 'long') return false;
  const isPairs = fields.some((field) => field !== '' && field === date);
  recognise(
    draft,
    fieldNames,
    sample.name,
    isPairs ? 'Bloomberg, one date column per security' : 'pandas, two column levels',
  );
  draft.mapping = {
    ...draft.mapping,
    layout: 'wide',
    skip_rows: skip,
    columns: {
      ...selectMappedColumns({ ...roles, ...(date === undefined || date === '' ? {} : { date }) }),
      ...draft.mapping.columns,
    },
    ...(roles.adjusted === undefined || roles.CLOSE === undefined ? {} : { adjusted_close: roles.adjusted }),
  };
  if (roles.CLOSE === undefined) useAdjustedAsClose(draft, roles.adjusted!);
  proposeDays(
    draft,
    body.map((row) => row[Math.max(at, 0)]),
  );
  proposeNumberMarks(
    draft,
    body.flatMap((row) => row.slice(1)),
    sample,
  );
  return true;
}

/**
 * Returns the cells after the first one. Omits cells equal to the first cell, which are the headings of day columns
 * next to each security.
 */
const removeDateCells = ([date, ...row]: readonly string[]) => row.filter((text) => text !== date);

const computeFieldShare = (row: readonly string[]) => {
  const texts = row.filter((text) => text !== '');
  const isField = (text: string) => FIELD_ROLES.some((role) => findRole(text) === role);
  return texts.length === 0 ? 0 : texts.filter(isField).length / texts.length;
};

/** Proposes a mapping for a table with one row per security and date. Returns false if the table has another form. */
function proposeLong(
  draft: ProposalDraft,
  sample: Sample,
  samples: readonly Sample[],
  namedBy: TableNameSource,
): boolean {
  if (draft.answers.layout === 'wide') return false;
  const top = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row, i) => {
    const roles = findRoles(draft, readRowTexts(row), sample.rows.slice(i + 1));
    const hasCloses = (roles.CLOSE ?? roles.adjusted ?? findNearRole('CLOSE', readRowTexts(row))) !== undefined;
    return (draft.answers.skip_rows ?? i) === i && roles.date !== undefined && hasCloses;
  });
  if (top < 0) return false;
  const header = readRowTexts(sample.rows[top]!);
  const body = sample.rows.slice(top + 1);
  const roles = findRoles(draft, header, body);
  const listCells = (name: string) => body.map((row) => row[header.indexOf(name)]);
  for (const role of ['CLOSE', 'identifier'] as const) {
    if (roles[role] !== undefined || (role === 'CLOSE' && roles.adjusted !== undefined)) continue;
    const similarName = findNearRole(role, header);
    if (similarName === undefined || (role === 'CLOSE') !== listCells(similarName).some(isNumber)) continue;
    roles[role] = similarName;
    const question = `The column ${similarName} is read as ${role}. Did you mean ${role}?`;
    ask(draft, { field: 'columns', question, taken: `${role}=${similarName}` });
  }
  const { index = [] } = sample;
  const isIndexed = index.includes(roles.date!) && roles.identifier !== undefined && index.includes(roles.identifier);
  recognise(draft, header, sample.name, isIndexed ? 'pandas, index of dates and identifiers' : null);
  const fields = { ...roles };
  delete fields.adjusted;
  draft.mapping = {
    ...draft.mapping,
    skip_rows: top,
    columns: { ...selectMappedColumns(fields), ...draft.mapping.columns },
  };
  if (roles.CLOSE === undefined) useAdjustedAsClose(draft, roles.adjusted!);
  else if (roles.adjusted === undefined && draft.adjustment === null) setBasisFromFiles(draft, samples);
  else if (roles.adjusted !== undefined) useAdjustedCloses(draft, roles.adjusted, findDividendColumn(header));
  const table = { header, date: roles.date!, column: listCells, samples, namedBy };
  if (!proposeIdentifier(draft, roles.identifier, table)) return false;
  const wordColumns = header.filter(
    (name) =>
      name !== '' &&
      findRole(name) === undefined &&
      !Object.values(draft.mapping.columns!).includes(name) && // set above
      isWorded(listCells(name)),
  );
  const ignoredColumns = [
    ...(draft.mapping.ignore ?? []).filter((name) => header.some((own) => own.toLowerCase() === name.toLowerCase())),
    ...wordColumns,
  ];
  draft.mapping.ignore = [...new Set(ignoredColumns)];
  const currency = findCurrencyColumn(wordColumns);
  if (currency !== undefined) askCurrency(draft, `column ${currency}`, listCells(currency));
  proposeDays(draft, listCells(roles.date!));
  if (roles.CLOSE !== undefined) proposeDivisor(draft, listCells(roles.CLOSE));
  const { identifier } = draft.mapping.columns!; // set above
  const unreadColumns = new Set([roles.date, identifier, ...draft.mapping.ignore]);
  proposeNumberMarks(
    draft,
    body.flatMap((row) => row.filter((_, i) => !unreadColumns.has(header[i]!))),
    sample,
    header.filter((name) => isBarColumn(draft.mapping, name) && !unreadColumns.has(name)).flatMap(listCells),
  );
  const counts = header.filter((name) =>
    Object.entries(draft.mapping.columns!).some(([field, from]) => COUNT_FIELDS.has(field) && from === name),
  ); // set above
  countMarks(draft, counts.flatMap(listCells));
  if (draft.recognisedAs === null) draft.confidence = 'likely';
  return true;
}

/** Minimum fixed-point price with nine decimals: a hundredth. A smaller whole number is a price in units. */
const FIXED_POINT_MIN = 1e7;

/** Keeps the divisor of a vendor if the closes are fixed-point numbers, and reports it. */
function proposeDivisor(draft: ProposalDraft, closes: readonly (Cell | undefined)[]): void {
  const { price_divisor: divisor } = draft.mapping;
  if (divisor === undefined) return;
  const numbers = closes.map(readNumber).filter((value) => value === value);
  if (!numbers.every((value) => Number.isInteger(value) && value! >= FIXED_POINT_MIN)) {
    delete draft.mapping.price_divisor;
    return;
  }
  const question = `Prices are whole numbers such as ${numbers[0]}. They are read as fixed-point numbers and divided by ${divisor}, which gives ${numbers[0]! / divisor}.`;
  ask(draft, { field: 'price_divisor', question, taken: String(divisor), others: ['1'], required: false });
}

const isBarColumn = ({ columns = {}, adjusted_close: adjusted }: ProposalDraft['mapping'], name: string) =>
  name === adjusted || Object.values(columns).includes(name);

/** Derives dividends from adjusted closes. Reports a dividend column that the vendor supplies as well. */
function useAdjustedCloses(draft: ProposalDraft, adjusted: string, dividendColumn: string | undefined): void {
  draft.mapping.adjusted_close = adjusted;
  if (dividendColumn === undefined) return;
  const question = `Dividends are derived from ${adjusted}, and differences from ${dividendColumn} are reported. To use ${dividendColumn} instead, answer column.`;
  ask(draft, { field: 'dividends_from', question, taken: 'adjusted_close', others: ['column'], required: false });
}

/** Returns true if the first column has no name and contains dates, as pandas writes an unnamed index. */
const isUnnamedIndex = (header: readonly string[], rows: Sample['rows']): boolean =>
  header[0] === '' && rows.length > 0 && rows.every(([cell]) => readText(cell) === null || isDay({}, cell));

/** Returns the column of each role in a header. Answers take precedence over recognised names. */
function findRoles(
  { answers }: ProposalDraft,
  header: readonly string[],
  rows: Sample['rows'],
): Partial<Record<ColumnRole, string>> {
  const namedColumns = Object.entries({ ...answers.columns, adjusted: answers.adjusted_close ?? '' });
  const roles: Partial<Record<ColumnRole, string>> = {
    ...assignRoles(header),
    ...Object.fromEntries(namedColumns.filter(([, name]) => name !== '' && header.includes(name))),
  };
  if (roles.date === undefined && isUnnamedIndex(header, rows)) roles.date = '';
  if (answers.adjusted_close === null && roles.CLOSE !== undefined) delete roles.adjusted;
  if (/^(file|heading):/.test(answers.identifier_from ?? '')) delete roles.identifier;
  return roles;
}

/** Matches headings of a date column. Parquet stores the index of a data frame last. */
const INDEX_HEADING = /^(__index_level_\d+__|date|dates|datetime|datum|index)$/i;

/** Matches headings that pandas gives to a row counter after repeated writing or resetting of the index. */
const COUNTER_HEADING = /^(|unnamed: \d+|index|level_\d+)$/i;

/** Returns true if a column counts rows (0, 1, 2) under a heading that is not an identifier. */
function isCounter(header: Sample['rows'][number], body: Sample['rows'], i: number): boolean {
  if (!COUNTER_HEADING.test(readText(header[i])?.trim() ?? '')) return false;
  const counts = body.map((row) => (readText(row[i]) === null ? Number.NaN : Number(row[i])));
  const [first] = counts;
  return Number.isInteger(first) && counts.every((count, k) => count === first! + k);
}

/**
 * Returns the position of the date column. It is before the identifiers, possibly after a row counter, or after them.
 * Returns undefined if there is none.
 */
function findDayColumn(draft: ProposalDraft, header: Sample['rows'][number], body: Sample['rows']): number | undefined {
  const row = body[0]!; // the caller checks that there is a row
  const last = row.length - 1;
  if (isDay(draft.answers, row[0])) return 0;
  const first = header.findIndex((_, i) => !isCounter(header, body, i));
  if (first > 0 && findRole(readText(header[first]) ?? '') === 'date' && isDay(draft.answers, row[first])) return first;
  return last > 0 && isDay(draft.answers, row[last]) && INDEX_HEADING.test(readText(header[last]) ?? '')
    ? last
    : undefined;
}

/**
 * Proposes a mapping for a table with one row per day and one column per security. Returns false if the table has
 * another form.
 */
function proposeWide(draft: ProposalDraft, sample: Sample, samples: readonly Sample[]): boolean {
  if (draft.answers.layout === 'long') return false;
  const position = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row, i) => {
    const body = sample.rows.slice(i + 1);
    const day = body.length === 0 ? undefined : findDayColumn(draft, row, body);
    return (
      (draft.answers.skip_rows ?? i) === i &&
      day !== undefined &&
      body[0]!.length > 1 &&
      !row.some(
        (cell, k) => k !== day && (isNumber(cell) || readText(cell) === null) && !(k < day && isCounter(row, body, k)),
      )
    );
  });
  if (position < 0) return false;
  const headerRow = findIdentifierRow(sample.rows, position);
  const header = readRowTexts(sample.rows[headerRow]!);
  const body = sample.rows.slice(position + 1);
  const day = findDayColumn(draft, sample.rows[position]!, body)!; // found above
  if (areBarFields(header.filter((_, i) => i !== day)) && draft.answers.layout !== 'wide') return false;
  const counters = header.flatMap((_, i) => (i !== day && isCounter(header, body, i) ? [i] : []));
  const isDayBeside = header.map((name) => name !== '' && name === header[day]);
  const cells = body
    .flatMap((row) => row.filter((_, i) => i !== day && !counters.includes(i) && !isDayBeside[i]))
    .filter((cell) => readText(cell) !== null);
  if (cells.length > 0 && cells.filter(isNumber).length < MAJORITY_SHARE * cells.length) return false;
  const fields = samples.length === 1 ? {} : mapTableFields(samples);
  draft.recognisedAs = headerRow === position ? 'one column per security' : 'Refinitiv Datastream';
  draft.mapping = {
    layout: 'wide',
    skip_rows: headerRow,
    ...(header[day] === '' || header[day]!.toLowerCase() === 'date' ? {} : { columns: { date: header[day]! } }),
    ...(Object.keys(fields).length > 0 ? { fields } : { field: 'CLOSE' }),
  };
  leaveCounters(
    draft,
    counters.map((i) => header[i]!).filter((name) => name !== ''),
  );
  for (const [label = '', ...cells] of sample.rows.slice(headerRow + 1, position + 1).map(readRowTexts))
    if (findCurrencyColumn([label]) !== undefined) askCurrency(draft, `row ${label}`, cells);
  askFields(draft, fields, samples);
  setBasisFromFiles(draft, samples);
  proposeDays(
    draft,
    body.map((row) => row[day]),
  );
  proposeNumberMarks(draft, cells, sample);
  draft.confidence = 'likely';
  return true;
}

/**
 * Maximum number of attribute rows between the identifiers and the first day. Such rows contain codes, currencies or
 * types of data.
 */
const TERMS_MAX = 4;

/**
 * Returns the row with the identifiers. If attribute rows are below it, as in files of Datastream, it is the last row
 * with an identifier label.
 */
function findIdentifierRow(rows: Sample['rows'], position: number): number {
  const readLabel = (i: number) => readText(rows[i]?.[0]) ?? '';
  const isOther =
    readLabel(position) !== '' &&
    findRole(readLabel(position)) === undefined &&
    LABEL_WITHOUT_DIGITS.test(readLabel(position));
  if (!isOther) return position;
  for (let i = position - 1; i >= Math.max(0, position - TERMS_MAX); i--)
    if (findRole(readLabel(i)) === 'identifier' && rows[i]!.length === rows[position]!.length) return i;
  return position;
}

/**
 * Minimum number of bar fields in a header. With fewer, its columns do not count as fields: OPEN and LOW alone may be
 * two companies.
 */
const BAR_FIELDS_MIN = 3;

function areBarFields(names: readonly string[]): boolean {
  const fields = new Set(names.map(findRole).filter((role) => FIELD_ROLES.includes(role as never)));
  return fields.size >= BAR_FIELDS_MIN || (names.length <= COLUMNS_OF_BARS_MAX && names.some(isVolume));
}

/**
 * Maximum number of columns of a table that has a volume column. With at most this number, the table counts as bars of
 * one security.
 */
const COLUMNS_OF_BARS_MAX = 12;

const isVolume = (name: string) => findRole(name) === 'VOLUME' && name.length > 5;

function leaveCounters(draft: ProposalDraft, names: readonly string[]): void {
  if (names.length === 0) return;
  draft.mapping.ignore = [...names];
  const question = `${names.join(', ')} contains row numbers and is ignored.`;
  ask(draft, { field: 'ignore', question, taken: names.join(','), required: false });
}

/** Asks for the field of wide tables whose file names do not state it. */
function askFields(draft: ProposalDraft, fields: Readonly<Record<string, string>>, samples: readonly Sample[]): void {
  if (draft.answers.fields !== undefined) return;
  const unknownSamples = samples.filter(({ name }) => !Object.hasOwn(fields, name));
  if (Object.keys(fields).length > 0) {
    for (const { name } of unknownSamples)
      ask(draft, {
        field: 'fields',
        question: `Which field does ${name} contain? It is not read, because fields does not list it.`,
        taken: null,
      });
    return;
  }
  const fileRole = findFileRole(samples[0]!.name);
  if (fileRole !== 'CLOSE')
    ask(draft, {
      field: 'field',
      question: 'The table does not state the field of its numbers. CLOSE is assumed.',
      taken: 'CLOSE',
      // A store must have closes. A single table without a field in its name can therefore only contain closes.
      required: samples.length > 1 || fileRole !== undefined,
      others: FIELD_ROLES.filter((role) => role !== 'CLOSE' && role !== 'adjusted'),
    });
  if (samples.length > 1)
    ask(draft, { field: 'fields', question: 'Which field does each table contain?', taken: null });
}

/** Returns the field of each table by name. Returns none if no table contains closes. */
function mapTableFields(samples: readonly Sample[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const { name } of samples) {
    const role = findFileRole(name);
    if (role !== undefined && !Object.values(fields).includes(role)) fields[name] = role;
  }
  return Object.values(fields).includes('CLOSE') ? fields : {};
}

export type Confidence = 'sure' | 'likely' | 'unsure';

/** Proposed mapping of a market, with its open questions. */
export interface Proposal {
  readonly mapping: Mapping;
  readonly adjustment: Adjustment | null;
  /** Reason for the adjustment; null without an adjustment. */
  readonly reason: string | null;
  readonly recognisedAs: string | null;
  /** Confidence, assuming that every question is answered. */
  readonly confidence: Exclude<Confidence, 'unsure'>;
  readonly questions: readonly Question[];
}

/**
 * Proposes a mapping for tables. Returns undefined if they contain no recognisable market.
 * @param answers to questions that are already answered
 */
export function proposeMapping(
  samples: readonly Sample[],
  namedBy: TableNameSource,
  answers: Answers = {},
): Proposal | undefined {
  const usedSamples = samples.filter(({ name }) => answers.ignore?.includes(name) !== true);
  const filledSamples = usedSamples.filter(({ rows }) => rows.length > 1);
  const datedSamples = filledSamples.filter((sample) => hasDays(answers, sample));
  const [first, ...later] = datedSamples.length > 0 ? datedSamples : filledSamples;
  if (first === undefined) return undefined;
  const tables = { read: usedSamples, filled: filledSamples, dated: datedSamples, namedBy };
  const ownProposal = createProposal(first, tables, answers);
  if (
    ownProposal !== undefined &&
    (ownProposal.mapping.layout === 'long' || Object.keys(ownProposal.mapping.fields).length > 0)
  )
    return ownProposal;
  // A table of many securities may have other tables with days next to it, such as an index. The market is the table
  // with identifiers.
  const long = later
    .map((sample) => createProposal(sample, tables, answers))
    .find((proposal) => proposal?.mapping.layout === 'long' && proposal.mapping.columns.identifier !== undefined);
  return long ?? ownProposal;
}

interface Tables {
  readonly read: readonly Sample[];
  readonly filled: readonly Sample[];
  /** Tables that contain days. */
  readonly dated: readonly Sample[];
  readonly namedBy: TableNameSource;
}

/** Proposes a mapping for all tables from one of them. Returns undefined if its form is unknown. */
function createProposal(
  sample: Sample,
  { read: samples, filled, dated, namedBy }: Tables,
  answers: Answers,
): Proposal | undefined {
  const undatedSamples = namedBy === 'sheet' && dated.length > 0 ? filled.filter((each) => !dated.includes(each)) : [];
  const undatedNames = undatedSamples.map(({ name }) => name);
  const tables = samples.filter(({ name }) => !undatedNames.includes(name));
  const draft: ProposalDraft = {
    answers,
    mapping: {},
    adjustment: null,
    reason: null,
    recognisedAs: null,
    confidence: 'sure',
    questions: [],
  };
  const isRead =
    proposeLevels(draft, sample) || proposeLong(draft, sample, tables, namedBy) || proposeWide(draft, sample, tables);
  if (!isRead) return undefined;
  const ignoredTables = [...undatedNames, ...listForeignTables(draft.mapping, tables, namedBy)];
  const missingText = ignoredTables.some((name) => dated.some((each) => each.name === name))
    ? 'no dates or no identifiers'
    : 'no dates';
  if (ignoredTables.length > 0) excludeColumn(draft, ignoredTables, missingText);
  const { mapping, answers: _given, ...rest } = draft;
  return { ...rest, ...getAdjustment(draft), mapping: applyAnswers(mapping, answers) };
}

/** Returns files or sheets that are not part of the market, such as notes, lists of securities, or an index by day. */
function listForeignTables(
  { layout, columns = {}, identifier_from: from }: ProposalDraft['mapping'],
  samples: readonly Sample[],
  namedBy: TableNameSource,
): string[] {
  const { date, identifier } = columns;
  if (namedBy === null || layout === 'wide' || from?.startsWith('file:') || date === undefined) return [];
  const hasColumn = ({ rows }: Sample, column: string) =>
    rows.slice(0, PREAMBLE_MAX).some((row) => readRowTexts(row).includes(column));
  const isForeign = (sample: Sample) =>
    hasDays({}, sample) ? identifier !== undefined && !hasColumn(sample, identifier) : !hasColumn(sample, date);
  return samples.filter(isForeign).map(({ name }) => name);
}

/**
 * Ignores tables without days, and tables with days but without identifiers. Examples are notes and lists of
 * securities.
 */
function excludeColumn(draft: ProposalDraft, names: readonly string[], lacking: string): void {
  draft.mapping.ignore = [...(draft.mapping.ignore ?? []), ...names];
  const question = `${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} ${lacking} and ${names.length === 1 ? 'is' : 'are'} ignored.`;
  ask(draft, { field: 'ignore', question, taken: names.join(','), required: false });
}

/** Returns a mapping in which answers replace recognised values. */
export function applyAnswers(mapping: Partial<Mapping>, { adjustment: _basis, ...answers }: Answers): Mapping {
  const definedAnswers = Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== undefined));
  // Answers add to the ignored columns of the vendor. They do not replace them.
  const ignoredNames = [...new Set([...(mapping.ignore ?? []), ...(answers.ignore ?? [])])];
  return Mapping.parse({
    ...mapping,
    ...definedAnswers,
    ignore: ignoredNames,
    columns: { ...mapping.columns, ...answers.columns },
  });
}

function getAdjustment({ answers, adjustment, reason }: ProposalDraft): Pick<Proposal, 'adjustment' | 'reason'> {
  return answers.adjustment === undefined ? { adjustment, reason } : stateAdjustment(answers.adjustment);
}

export const stateAdjustment = (adjustment: Adjustment) => ({ adjustment, reason: 'It is given.' });
