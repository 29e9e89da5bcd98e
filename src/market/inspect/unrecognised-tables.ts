import { readText } from '../formats/cells.js';
import type { Problem } from '../tables/problems.js';
import { isDay, isNumber, listTexts, MAJORITY_SHARE, PREAMBLE_MAX } from './draft.js';
import { assignRoles, type Role } from './roles.js';
import type { Sample } from './sample.js';

/** Maximum number of columns listed in a question or a finding. */
const COLUMNS_MAX = 8;

/** Maximum length of a listed column. */
const COLUMN_CHARS_MAX = 40;

/** Describes the first table, and how to state that its columns are securities. */
export function describeTable(sample: Sample | undefined): string {
  const cells = sample?.rows[0] ?? [];
  if (sample === undefined || cells.length === 0) return '';
  if (isTransposed(sample)) return ` ${TRANSPOSED_MESSAGE}`;
  const positions = describePositions(sample);
  if (positions !== undefined) return ` ${positions}`;
  const header = cells.map((cell) => JSON.stringify(readText(cell) ?? '').slice(0, COLUMN_CHARS_MAX));
  const remainderText = header.length > COLUMNS_MAX ? ` and ${header.length - COLUMNS_MAX} more` : '';
  return ` Its first row is ${header.slice(0, COLUMNS_MAX).join(', ')}${remainderText}. If each column is a security, set layout to wide and field to the field of the numbers.`;
}

/** Numbers of a bar in the order of most vendors. */
const BAR_FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'];

/** Explains how to name the columns of a table without a header. Returns undefined if its first row may be a header. */
function describePositions({ rows: [cells = []], delimiter, isSheet }: Sample): string | undefined {
  const date = cells.findIndex((cell) => isDay({}, cell));
  const others = cells.flatMap((cell, i) => (i === date || readText(cell) === null ? [] : [i]));
  const numbers = others.filter((i) => isNumber(cells[i]));
  if (date < 0 || numbers.length === 0 || (delimiter === undefined && isSheet !== true)) return undefined;
  const identifier = others.find((i) => !numbers.includes(i));
  const fields = numbers.length < BAR_FIELDS.length - 1 ? ['CLOSE'] : BAR_FIELDS;
  const columns = [
    ['date', date],
    ...(identifier === undefined ? [] : [['identifier', identifier]]),
    ...fields.flatMap((field, i) => (numbers[i] === undefined ? [] : [[field, numbers[i]]])),
  ].map(([name, position]) => `${name}=#${Number(position) + 1}`);
  return `The table has no header: its first row is data. Name its columns by position, for example --columns ${columns.join(',')}.`;
}

const TRANSPOSED_MESSAGE = 'The first row contains dates. Transpose the table, for example with frame.T in pandas.';

/** Returns true if the first row contains the dates. */
function isTransposed({ rows: [cells = []] }: Sample): boolean {
  const days = cells.filter((cell) => isDay({}, cell)).length;
  return days > 1 && days >= MAJORITY_SHARE * cells.length;
}

/** Returns the reason why each table was not recognised as a table of prices. */
export const listTableProblems = (samples: readonly Sample[]): readonly TableProblem[] =>
  samples.map((sample) => ({ path: `market/${sample.name}`, file: sample.name, ...describeProblem(sample) }));

interface TableProblem extends Problem {
  readonly file: string;
}

function describeProblem(sample: Sample): Pick<Problem, 'code' | 'message'> {
  const { rows, isBinary, fault } = sample;
  if (isBinary === true)
    return { code: 'UNREADABLE_FILE', message: 'The file is not text. CSV, text, Parquet and xlsx files are read.' };
  if (rows.length === 0 && (fault === undefined || EMPTY_FILE.test(fault)))
    return { code: 'EMPTY_DATASET', message: 'The file is empty.' };
  if (fault !== undefined) return { code: 'UNREADABLE_FILE', message: fault };
  if (rows.length === 1) return { code: 'EMPTY_DATASET', message: 'The table has a header and no rows.' };
  if (isTransposed(sample)) return { code: 'MISSING_COLUMN', message: TRANSPOSED_MESSAGE };
  const positions = describePositions(sample);
  if (positions !== undefined) return { code: 'MISSING_COLUMN', message: positions };
  const header = findHeader(sample);
  const roles = assignRoles(header);
  const missing = NEEDED_ROLES.filter(([role]) => roles[role] === undefined).map(([, words]) => words);
  const columns = `${header.length === 1 ? 'The only column is' : 'The columns are'} ${formatColumns(header)}.`;
  return {
    code: 'MISSING_COLUMN',
    message:
      missing.length === 0
        ? `${columns} No row with a date and a close was recognised.`
        : `${columns} ${missing.length === 1 ? 'A column' : 'Columns'} with ${formatList(missing)} ${missing.length === 1 ? 'is' : 'are'} needed.`,
  };
}

/** Matches the reason why an empty file was not read. */
const EMPTY_FILE = /^The file is empty/;

/** Columns that a table of prices needs, with their words. */
const NEEDED_ROLES: readonly (readonly [Role, string])[] = [
  ['date', 'the date'],
  ['identifier', 'the identifier'],
  ['CLOSE', 'the close'],
];

/** Returns the first row with the most recognised columns; a preamble may precede the header. */
function findHeader({ rows }: Sample): readonly string[] {
  const headers = rows.slice(0, PREAMBLE_MAX).map(listTexts);
  const counts = headers.map((header) => Object.keys(assignRoles(header)).length);
  return headers[counts.indexOf(Math.max(...counts))]!; // the table has rows
}

function formatColumns(header: readonly string[]): string {
  const names = header.slice(0, COLUMNS_MAX).map((name) => (name === '' ? '""' : name.slice(0, COLUMN_CHARS_MAX)));
  return header.length > COLUMNS_MAX
    ? `${names.join(', ')} and ${header.length - COLUMNS_MAX} more`
    : formatList(names);
}

const formatList = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words);
