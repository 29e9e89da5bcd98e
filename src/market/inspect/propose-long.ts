import {
  useAdjustedAsClose,
  ask,
  selectColumns,
  proposeDays,
  isDay,
  isNumber,
  PREAMBLE_MAX,
  recognise,
  listTexts,
  type ProposalDraft,
} from './draft.js';
import { readNumber, readText, type Cell } from '../formats/cells.js';
import { setBasisFromFiles } from './file-words.js';
import { findDividendColumn } from '../mapping/own-dividends.js';
import { askCurrency } from './currency-question.js';
import { COUNT_FIELDS } from '../mapping/written-numbers.js';
import { findCurrencyColumn } from '../mapping/unread-terms.js';
import { countMarks, proposeNumberMarks } from './number-marks.js';
import { isWorded, proposeIdentifier } from './propose-identifier.js';
import { findNearRole, findRole, assignRoles, type Role } from './roles.js';
import type { TableNameSource, Sample } from './sample.js';

/** Proposes a mapping for a table with one row per security and date. Returns false if the table has another form. */
export function proposeLong(
  draft: ProposalDraft,
  sample: Sample,
  samples: readonly Sample[],
  namedBy: TableNameSource,
): boolean {
  if (draft.answers.layout === 'wide') return false;
  const top = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row, i) => {
    const roles = findRoles(draft, listTexts(row), sample.rows.slice(i + 1));
    const hasCloses = (roles.CLOSE ?? roles.adjusted ?? findNearRole('CLOSE', listTexts(row))) !== undefined;
    return (draft.answers.skip_rows ?? i) === i && roles.date !== undefined && hasCloses;
  });
  if (top < 0) return false;
  const header = listTexts(sample.rows[top]!);
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
  draft.mapping = { ...draft.mapping, skip_rows: top, columns: { ...selectColumns(fields), ...draft.mapping.columns } };
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

/** Returns true if the mapping reads a bar field from a column. */
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
): Partial<Record<Role, string>> {
  const namedColumns = Object.entries({ ...answers.columns, adjusted: answers.adjusted_close ?? '' });
  const roles: Partial<Record<Role, string>> = {
    ...assignRoles(header),
    ...Object.fromEntries(namedColumns.filter(([, name]) => name !== '' && header.includes(name))),
  };
  if (roles.date === undefined && isUnnamedIndex(header, rows)) roles.date = '';
  if (answers.adjusted_close === null && roles.CLOSE !== undefined) delete roles.adjusted;
  if (/^(file|heading):/.test(answers.identifier_from ?? '')) delete roles.identifier;
  return roles;
}
