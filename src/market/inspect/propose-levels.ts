import { isAssetIdentifier } from '#domain/schema/shape.js';
import { replaceSlashes } from '../tables/slashless-names.js';
import { findFieldLevels } from '../mapping/wide-columns.js';
import {
  useAdjustedAsClose,
  selectColumns,
  proposeDays,
  isNumber,
  MAJORITY_SHARE,
  PREAMBLE_MAX,
  recognise,
  listTexts,
  type ProposalDraft,
} from './draft.js';
import { proposeNumberMarks } from './number-marks.js';
import { FIELD_ROLES, findRole, assignRoles } from './roles.js';
import type { Sample } from './sample.js';

/**
 * Proposes a mapping for a table with two header levels. The levels are two header rows, or column names that are
 * pairs. Returns false if the table has another form.
 */
export function proposeLevels(draft: ProposalDraft, sample: Sample): boolean {
  const pairs = findFieldLevels(listTexts(sample.rows[0]!));
  if (pairs !== undefined) {
    const fields = [pairs.map(([a]) => a), pairs.map(([, b]) => b)].toSorted(
      (a, b) => computeFieldShare(b) - computeFieldShare(a),
    )[0]!;
    const header = listTexts(sample.rows[0]!);
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
    const [first, second] = [listTexts(sample.rows[i]!), listTexts(sample.rows[i + 1]!)];
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
      ...selectColumns({ ...roles, ...(date === undefined || date === '' ? {} : { date }) }),
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
