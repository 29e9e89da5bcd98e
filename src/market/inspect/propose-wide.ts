import { readText } from '../formats/cells.js';
import { LABEL_WITHOUT_DIGITS } from '../mapping/wide-columns.js';
import {
  ask,
  proposeDays,
  isDay,
  isNumber,
  MAJORITY_SHARE,
  PREAMBLE_MAX,
  listTexts,
  type ProposalDraft,
} from './draft.js';
import { setBasisFromFiles, findFileRole } from './file-words.js';
import { askCurrency } from './currency-question.js';
import { findCurrencyColumn } from '../mapping/unread-terms.js';
import { proposeNumberMarks } from './number-marks.js';
import { FIELD_ROLES, findRole } from './roles.js';
import type { Sample } from './sample.js';

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
export function proposeWide(draft: ProposalDraft, sample: Sample, samples: readonly Sample[]): boolean {
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
  const header = listTexts(sample.rows[headerRow]!);
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
  draft.recognisedAs = headerRow === position ? 'pandas, one column per security' : 'Refinitiv Datastream';
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
  for (const [label = '', ...cells] of sample.rows.slice(headerRow + 1, position + 1).map(listTexts))
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

/** Returns true if the columns are bar fields of one security. */
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
