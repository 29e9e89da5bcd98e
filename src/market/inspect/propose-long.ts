import { isAssetIdentifier } from '#domain/shape.js';
import { textIn, type Cell } from '../formats/cells.js';
import { identifierOfFile } from '../mapping/market-tables.js';
import {
  adjustedAsClose,
  ask,
  columnsFor,
  days,
  isNumber,
  PREAMBLE_MAX,
  recognise,
  textsOf,
  type Draft,
} from './draft.js';
import { numberMarks } from './number-marks.js';
import { nearRole, roleOf, rolesOf, type Role } from './roles.js';
import type { NamedBy, Sample } from './sample.js';

/** A row a name and date. */
export function proposeLong(draft: Draft, sample: Sample, samples: readonly Sample[], namedBy: NamedBy): boolean {
  if (draft.answers.layout === 'wide') return false;
  const at = sample.rows.slice(0, PREAMBLE_MAX).findIndex((row, i) => {
    const roles = rolesIn(draft, textsOf(row));
    const hasCloses = (roles.CLOSE ?? roles.adjusted ?? nearRole('CLOSE', textsOf(row))) !== undefined;
    return (draft.answers.skip_rows ?? i) === i && roles.date !== undefined && hasCloses;
  });
  if (at < 0) return false;
  const header = textsOf(sample.rows[at]!);
  const body = sample.rows.slice(at + 1);
  const roles = rolesIn(draft, header);
  const column = (name: string) => body.map((row) => row[header.indexOf(name)]);
  for (const role of ['CLOSE', 'identifier'] as const) {
    if (roles[role] !== undefined || (role === 'CLOSE' && roles.adjusted !== undefined)) continue;
    const near = nearRole(role, header);
    if (near === undefined || (role === 'CLOSE') !== column(near).some(isNumber)) continue;
    roles[role] = near;
    const question = `The column ${near} is taken for ${role}: did you mean ${role}?`;
    ask(draft, { field: 'columns', question, taken: `${role}=${near}` });
  }
  recognise(draft, header, sample.name, null);
  const fields = { ...roles };
  delete fields.adjusted;
  draft.mapping = { ...draft.mapping, skip_rows: at, columns: { ...columnsFor(fields), ...draft.mapping.columns } };
  if (roles.CLOSE === undefined) adjustedAsClose(draft, roles.adjusted!);
  else if (roles.adjusted !== undefined) draft.mapping.adjusted_close = roles.adjusted;
  if (!proposeIdentifier(draft, roles.identifier, { column, samples, namedBy })) return false;
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
  numberMarks(
    draft,
    body.flatMap((row) => row.filter((_, i) => header[i] !== roles.date)),
    sample,
  );
  if (draft.recognisedAs === null) draft.confidence = 'likely';
  return true;
}

/** The column of each role that a header has, those that are said before those that are found. */
function rolesIn({ answers }: Draft, header: readonly string[]): Partial<Record<Role, string>> {
  const given = Object.entries({ ...answers.columns, adjusted: answers.adjusted_close ?? '' });
  const roles: Partial<Record<Role, string>> = {
    ...rolesOf(header),
    ...Object.fromEntries(given.filter(([, name]) => name !== '' && header.includes(name))),
  };
  if (answers.adjusted_close === null && roles.CLOSE !== undefined) delete roles.adjusted;
  if (answers.identifier_from?.startsWith('file:') === true) delete roles.identifier;
  return roles;
}

interface Files {
  readonly column: (name: string) => readonly (Cell | undefined)[];
  readonly samples: readonly Sample[];
  readonly namedBy: NamedBy;
}

/** Where the identifier stands: in a column, or in the names of the files. False where nothing says it. */
function proposeIdentifier(draft: Draft, named: string | undefined, { column, ...files }: Files): boolean {
  if (draft.answers.identifier_from?.startsWith('file:') === true) return true;
  if (named === undefined) return identifierFromFiles(draft, files);
  if (draft.answers.identifier_from !== undefined || !isKeptByFile(named, column(named), files.samples)) return true;
  const { identifier: _written, ...others } = draft.mapping.columns!; // set with the roles
  if (identifierFromFiles(draft, files)) draft.mapping.columns = others;
  return true;
}

/** Whether a column called like an identifier holds none: the company's name beside a file a name. */
const isKeptByFile = (name: string, cells: readonly (Cell | undefined)[], samples: readonly Sample[]) =>
  samples.length > 1 && roleOf(name) === 'identifier' && cells.every((cell) => !isAssetIdentifier(textIn(cell) ?? ''));

const isWorded = (cells: readonly (Cell | undefined)[]) =>
  cells.some((cell) => textIn(cell) !== null) && !cells.some(isNumber);

/** Where no column says it, the name of the file does: what all names have in common stands around it. */
function identifierFromFiles(draft: Draft, { samples, namedBy }: Omit<Files, 'column'>): boolean {
  if (namedBy === null) return false;
  const names = samples.map(({ name }) => name);
  const pattern = `file:${commonPattern(names, namedBy)}`;
  if (!names.every((name) => isAssetIdentifier(identifierOfFile(pattern, name) ?? ''))) return false;
  draft.mapping.identifier_from = pattern;
  const only = names.length === 1 ? identifierOfFile(pattern, names[0]!) : null;
  const question = `No column holds the identifier; the name of the ${namedBy} is taken for it: ${only}.`;
  if (only !== null) ask(draft, { field: 'identifier_from', question, taken: pattern });
  return true;
}

function commonPattern(names: readonly string[], namedBy: NamedBy): string {
  if (namedBy === 'sheet' && names.length === 1) return '{identifier}';
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
