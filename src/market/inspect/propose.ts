import { Mapping } from '#domain/documents/mapping.js';
import type { MarketData } from '#domain/market/market-data.js';
import { isAssetIdentifier } from '#domain/shape.js';
import { numberIn, textIn, type Cell } from '../formats/cells.js';
import { commaNumberIn } from '../mapping/decimal-comma.js';
import { identifierOfFile } from '../mapping/market-tables.js';
import { fieldLevelsOf } from '../mapping/wide-columns.js';
import { dateFormatOf } from './date-format.js';
import type { Question } from './question.js';
import { FIELD_ROLES, nearRole, roleOf, rolesOf, type Role } from './roles.js';
import type { Sample } from './sample.js';
import { vendorOf } from './vendors.js';

export type Confidence = 'sure' | 'likely' | 'unsure';

/** How a market may be read, and what is not certain of that. */
export interface Proposal {
  readonly mapping: Mapping;
  readonly adjustment: MarketData['adjustment'] | null;
  readonly recognisedAs: string | null;
  readonly confidence: Confidence;
  readonly questions: readonly Question[];
}

/** Rows before the header that may be a preamble. */
const PREAMBLE_MAX = 20;

/** Share of cells of a row that must be fields, names or numbers for it to be a row of those. */
const MOST = 0.6;

/** Texts that stand for a missing number. */
const isNumber = (cell: Cell | undefined) => {
  const value = numberIn(cell) ?? commaNumberIn(cell);
  return value !== undefined && !Number.isNaN(value);
};

/** Collects what a proposal is made of. */
interface Draft {
  mapping: Partial<Mapping>;
  adjustment: MarketData['adjustment'] | null;
  recognisedAs: string | null;
  confidence: Confidence;
  readonly questions: Question[];
}

/** Proposes how the market that tables hold is read; undefined where nothing like it is seen. */
export function proposeMapping(samples: readonly Sample[], hasFileNames: boolean): Proposal | undefined {
  const sample = samples.find(({ rows }) => rows.length > 1);
  if (sample === undefined) return undefined;
  const draft: Draft = { mapping: {}, adjustment: null, recognisedAs: null, confidence: 'sure', questions: [] };
  const isRead =
    proposeLevels(draft, sample) ||
    proposeLong(draft, sample, samples, hasFileNames) ||
    proposeWide(draft, sample, samples);
  if (!isRead) return undefined;
  const { mapping, ...rest } = draft;
  return { ...rest, mapping: Mapping.parse(mapping) };
}

function unsure(draft: Draft, field: Question['field'], question: string): void {
  draft.confidence = 'unsure';
  draft.questions.push({ field, question });
}

const BASIS: Question = {
  field: 'adjustment',
  question: 'Are closes as traded, adjusted for splits, or for dividends as well? The adjustment says it.',
};

const textsOf = (row: readonly (Cell | undefined)[]) => row.map((cell) => textIn(cell) ?? '');

/** A table of two levels: two header rows, or columns that are pairs. */
function proposeLevels(draft: Draft, sample: Sample): boolean {
  const pairs = fieldLevelsOf(textsOf(sample.rows[0]!));
  if (pairs !== undefined) {
    const fields = [pairs.map(([a]) => a), pairs.map(([, b]) => b)].toSorted(
      (a, b) => shareOfFields(b) - shareOfFields(a),
    )[0]!;
    const header = textsOf(sample.rows[0]!);
    const date = header.find((name) => fieldLevelsOf([name]) === undefined);
    return levels(draft, { fields, sample, date, skip: 0, body: sample.rows.slice(1), at: header.indexOf(date ?? '') });
  }
  for (let i = 0; i + 2 < sample.rows.length && i < PREAMBLE_MAX; i++) {
    const [first, second] = [textsOf(sample.rows[i]!), textsOf(sample.rows[i + 1]!)];
    const [a, b] = [shareOfFields(first.slice(1)), shareOfFields(second.slice(1))];
    const names = a >= b ? second : first;
    const fields = a >= b ? first : second;
    const others = names.slice(1).filter((text) => text !== '');
    const areNames =
      others.length > 0 &&
      others.every((text) => !isNumber(text) && roleOf(text) === undefined && isAssetIdentifier(text));
    if (Math.max(a, b) < MOST || !areNames || fields.slice(1).filter((text) => text !== '').length < others.length)
      continue;
    const body = sample.rows.slice(i + 2).filter((row) => row.slice(1).some(isNumber));
    const date = [first[0]!, second[0]!].find((text) => roleOf(text) === 'date');
    return levels(draft, { fields: fields.slice(1), sample, date, skip: i, body, at: 0 });
  }
  return false;
}

interface Levels {
  readonly fields: readonly string[];
  readonly sample: Sample;
  readonly date: string | undefined;
  readonly skip: number;
  readonly body: Sample['rows'];
  /** Position of the days. */
  readonly at: number;
}

function levels(draft: Draft, { fields, sample, date, skip, body, at }: Levels): boolean {
  const named = [...new Set(fields.filter((field) => field !== ''))];
  const roles = rolesOf(named);
  if (roles.CLOSE === undefined && roles.adjusted === undefined) return false;
  recognise(draft, named, sample.name, 'pandas, two levels');
  draft.mapping = {
    ...draft.mapping,
    layout: 'wide',
    skip_rows: skip,
    columns: {
      ...columnsFor({ ...roles, ...(date === undefined || date === '' ? {} : { date }) }),
      ...draft.mapping.columns,
    },
    ...(roles.adjusted === undefined || roles.CLOSE === undefined ? {} : { adjusted_close: roles.adjusted }),
  };
  if (roles.CLOSE === undefined) adjustedAsClose(draft, roles.adjusted!);
  days(
    draft,
    body.map((row) => row[Math.max(at, 0)]),
  );
  decimals(
    draft,
    body.flatMap((row) => row.slice(1)),
  );
  return true;
}

const shareOfFields = (row: readonly string[]) => {
  const texts = row.filter((text) => text !== '');
  const isField = (text: string) => FIELD_ROLES.some((role) => roleOf(text) === role);
  return texts.length === 0 ? 0 : texts.filter(isField).length / texts.length;
};

/** A row a name and date. */
function proposeLong(draft: Draft, sample: Sample, samples: readonly Sample[], hasFileNames: boolean): boolean {
  const at = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row) => {
    const roles = rolesOf(textsOf(row));
    return roles.date !== undefined && (roles.CLOSE ?? roles.adjusted ?? nearRole('CLOSE', textsOf(row))) !== undefined;
  });
  if (at < 0) return false;
  const header = textsOf(sample.rows[at]!);
  const body = sample.rows.slice(at + 1);
  const roles = { ...rolesOf(header) };
  const column = (name: string) => body.map((row) => row[header.indexOf(name)]);
  for (const role of ['CLOSE', 'identifier'] as const) {
    if (roles[role] !== undefined || (role === 'CLOSE' && roles.adjusted !== undefined)) continue;
    const near = nearRole(role, header);
    if (near === undefined || (role === 'CLOSE') !== column(near).some(isNumber)) continue;
    roles[role] = near;
    unsure(draft, 'columns', `The column ${near} is taken for ${role}: did you mean ${role}?`);
  }
  recognise(draft, header, sample.name, null);
  const fields = { ...roles };
  delete fields.adjusted;
  draft.mapping = { ...draft.mapping, skip_rows: at, columns: { ...columnsFor(fields), ...draft.mapping.columns } };
  if (roles.CLOSE === undefined) adjustedAsClose(draft, roles.adjusted!);
  else if (roles.adjusted !== undefined) draft.mapping.adjusted_close = roles.adjusted;
  if (roles.identifier === undefined && !identifierFromFiles(draft, samples, hasFileNames)) return false;
  if (roles.identifier !== undefined && isKeptByFile(roles.identifier, column(roles.identifier), samples)) {
    const { identifier: _written, ...others } = draft.mapping.columns!;
    if (identifierFromFiles(draft, samples, hasFileNames)) draft.mapping.columns = others;
  }
  const worded = header.filter(
    (name) =>
      name !== '' && roleOf(name) === undefined && !Object.values(fields).includes(name) && isWorded(column(name)),
  );
  const ignored = [
    ...(draft.mapping.ignore ?? []).filter((name) => header.some((own) => own.toLowerCase() === name.toLowerCase())),
    ...worded,
  ];
  draft.mapping.ignore = [...new Set(ignored)];
  days(draft, column(roles.date!));
  decimals(
    draft,
    body.flatMap((row) => row.filter((_, i) => header[i] !== roles.date)),
  );
  if (draft.adjustment === null && roles.adjusted === undefined) draft.questions.push(BASIS);
  if (draft.recognisedAs === null && draft.confidence === 'sure') draft.confidence = 'likely';
  return true;
}

/** Whether a column called like an identifier holds none: the company's name beside a file a name. */
const isKeptByFile = (name: string, cells: readonly (Cell | undefined)[], samples: readonly Sample[]) =>
  samples.length > 1 && roleOf(name) === 'identifier' && cells.every((cell) => !isAssetIdentifier(textIn(cell) ?? ''));

const isWorded = (cells: readonly (Cell | undefined)[]) =>
  cells.some((cell) => textIn(cell) !== null) && !cells.some(isNumber);

/** Where no column says it, the name of the file does: what all names have in common stands around it. */
function identifierFromFiles(draft: Draft, samples: readonly Sample[], hasFileNames: boolean): boolean {
  if (!hasFileNames) return false;
  const names = samples.map(({ name }) => name);
  const pattern = `file:${commonPattern(names)}`;
  if (!names.every((name) => isAssetIdentifier(identifierOfFile(pattern, name) ?? ''))) return false;
  draft.mapping.identifier_from = pattern;
  if (names.length === 1)
    unsure(
      draft,
      'identifier_from',
      `No column holds the identifier; the name of the file is taken for it: ${identifierOfFile(pattern, names[0]!)}.`,
    );
  return true;
}

function commonPattern(names: readonly string[]): string {
  const ending = /(\.[a-z]+(\.gz)?)$/i.exec(names[0]!)?.[0] ?? '';
  if (names.length === 1) return `{identifier}${/_[a-z]{2}_d\.csv$/.exec(names[0]!)?.[0] ?? ending}`;
  const shared = (a: string, b: string) => {
    let length = 0;
    while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
    return a.slice(0, length);
  };
  const reversed = (text: string) => [...text].toReversed().join('');
  const before = names.reduce(shared);
  const after = reversed(names.map(reversed).reduce(shared));
  // Letters that all identifiers happen to share belong to them: a pattern begins and ends at a mark.
  const prefix = /^.*[_\-. ]/.exec(before)?.[0] ?? '';
  const suffix = /[_\-. ].*$/.exec(after)?.[0] ?? '';
  return `${prefix}{identifier}${suffix}`;
}

/** Dates down, names across. */
function proposeWide(draft: Draft, sample: Sample, samples: readonly Sample[]): boolean {
  const at = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row, i) => {
    const next = sample.rows[i + 1];
    return (
      next !== undefined &&
      dateFormatOf([next[0]]) !== undefined &&
      next.length > 1 &&
      !row.slice(1).some((cell) => isNumber(cell) || textIn(cell) === null)
    );
  });
  if (at < 0) return false;
  const header = textsOf(sample.rows[at]!);
  const body = sample.rows.slice(at + 1);
  const cells = body.flatMap((row) => row.slice(1)).filter((cell) => textIn(cell) !== null);
  if (cells.length > 0 && cells.filter(isNumber).length < MOST * cells.length) return false;
  const fields = samples.length === 1 ? {} : fieldsOfTables(samples);
  draft.recognisedAs = 'pandas, one column a name';
  draft.mapping = {
    layout: 'wide',
    skip_rows: at,
    ...(header[0] === '' || header[0]!.toLowerCase() === 'date' ? {} : { columns: { date: header[0]! } }),
    ...(Object.keys(fields).length > 0 ? { fields } : { field: 'CLOSE' }),
  };
  if (Object.keys(fields).length === 0) {
    const named = roleFromFile(sample.name);
    if (named !== 'CLOSE') unsure(draft, 'field', 'Are the numbers of the table closes? field says what they are.');
    if (samples.length > 1) unsure(draft, 'fields', 'Which field is each of the tables? fields says it.');
  }
  const unknown = samples.filter(({ name }) => Object.keys(fields).length > 0 && !Object.hasOwn(fields, name));
  for (const { name } of unknown)
    unsure(draft, 'fields', `What are the numbers of ${name}? It is not read: fields does not name it.`);
  days(
    draft,
    body.map((row) => row[0]),
  );
  decimals(draft, cells);
  draft.questions.push(BASIS);
  if (draft.confidence === 'sure') draft.confidence = 'likely';
  return true;
}

function fieldsOfTables(samples: readonly Sample[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const { name } of samples) {
    const role = roleFromFile(name);
    if (role !== undefined && !Object.values(fields).includes(role)) fields[name] = role;
  }
  return Object.values(fields).includes('CLOSE') ? fields : {};
}

/** The field that a file's name says: close_split_adjusted.csv is one of closes. */
function roleFromFile(name: string): string | undefined {
  const words = name.replace(/\.[a-z]+(\.gz)?$/i, '').split(/[^A-Za-z]+/);
  return words
    .map(roleOf)
    .find((role) => role !== undefined && role !== 'adjusted' && FIELD_ROLES.includes(role as never));
}

function recognise(draft: Draft, names: readonly string[], file: string, otherwise: string | null): void {
  const vendor = vendorOf(names, file);
  draft.recognisedAs = vendor?.name ?? otherwise;
  if (vendor === undefined) return;
  draft.mapping = { ...vendor.mapping };
  draft.adjustment = vendor.adjustment;
  draft.questions.push(...vendor.questions);
}

function adjustedAsClose(draft: Draft, adjusted: string): void {
  draft.mapping.columns = { ...draft.mapping.columns, CLOSE: adjusted };
  draft.adjustment = 'total';
  unsure(
    draft,
    'adjustment',
    `There are only adjusted closes (${adjusted}): are they adjusted for dividends, as the adjustment total says?`,
  );
}

function columnsFor(roles: Partial<Record<Role, string>>): Record<string, string> {
  const { adjusted: _own, ...named } = roles;
  return Object.fromEntries(Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function days(draft: Draft, cells: readonly (Cell | undefined)[]): void {
  const found = dateFormatOf(cells);
  if (found === undefined) {
    unsure(
      draft,
      'date_format',
      `How are days written? The first is ${JSON.stringify(textIn(cells[0]) ?? '').slice(0, 80)}; date_format says it.`,
    );
    return;
  }
  if (found.format !== null) draft.mapping.date_format = found.format;
  if (found.others.length > 0)
    unsure(
      draft,
      'date_format',
      `Days may be written ${[found.format, ...found.others].join(' or ')}: no day decides it. The first is taken.`,
    );
}

function decimals(draft: Draft, cells: readonly (Cell | undefined)[]): void {
  const texts = cells.filter((cell) => typeof cell === 'string' && /\d/.test(cell));
  const withComma = texts.filter((cell) => numberIn(cell) === undefined && commaNumberIn(cell) !== undefined);
  if (withComma.length > 0 && withComma.length > texts.length / 10) draft.mapping.decimal = ',';
}
