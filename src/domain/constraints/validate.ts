import { isBoundPath } from './bound-path.js';
import { listNamedAssets } from '../catalogue/named-assets.js';
import { checkParams } from '../catalogue/check-params.js';
import type { ConstraintRow } from './constraint-row.js';
import { sortFindings, type Finding } from '../refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import { CONSTRAINT_CLASSES, findConstraintClass } from './catalogue.js';
import type { ConstraintClass } from './constraint-class.js';

export interface ConstraintCheck {
  /** Path of the row list in the request, for example `derivation.constraints`. */
  readonly path: string;
  /** Constituents of the index, if known; other identifiers cause a warning. */
  readonly identifiers?: ReadonlySet<string>;
  /** True if the rows are monitored instead of optimised. */
  readonly areWatched?: boolean;
  /** True if bounds may follow a path, as in rows that are optimised on successive dates. */
  readonly followPaths?: boolean;
}

/** Returns all findings on a list of constraint rows, in response order. */
export function validateConstraints(rows: readonly ConstraintRow[], check: ConstraintCheck): Finding[] {
  const { path } = check;
  const findings = rows.flatMap((row, position) => validateRow(row, { ...check, path: `${path}[${position}]` }));
  return sortFindings([...findings, ...listRepeatedIds(rows, path)]);
}

function validateRow(
  row: ConstraintRow,
  { path, identifiers, areWatched = false, followPaths = false }: ConstraintCheck,
): Finding[] {
  const entry = findConstraintClass(row.type);
  const row_id = row.id === '' ? null : row.id;
  if (entry === undefined) {
    const acceptedTypes = CONSTRAINT_CLASSES.map(({ type }) => type);
    const message = `${row.type} is not a constraint class; the accepted set is ${acceptedTypes.join(', ')}.${suggestName(row.type, acceptedTypes)}`;
    return [
      {
        severity: 'error',
        code: 'UNKNOWN_TYPE',
        message,
        path: `${path}.type`,
        row_id,
        accepted: acceptedTypes,
        value: row.type,
      },
    ];
  }
  const params = areWatched ? (entry.watched ?? entry.params) : entry.params;
  const { findings: ofParams } = checkParams(params, row.params, { path: `${path}.params`, rowId: row_id });
  const findings = followPaths ? ofParams : [...ofParams, ...listUnreadPaths(row, path)];
  return identifiers === undefined
    ? findings
    : [...findings, ...listUnknownSecurities(row, entry, { path, identifiers })];
}

/** Reports bounds that follow a path where only a number is possible. The problem has a single date. */
function listUnreadPaths({ id, params }: ConstraintRow, path: string): Finding[] {
  return Object.entries(params).flatMap(([name, value]): Finding[] => {
    if (!isBoundPath(value)) return [];
    const paramPath = `${path}.params.${name}`;
    const message = `${paramPath} changes over time, which is possible only for constraints of a derived index. Use a number.`;
    return [{ severity: 'error', code: 'WRONG_TYPE', path: paramPath, row_id: id === '' ? null : id, message }];
  });
}

/** Warns about identifiers that are not constituents. */
function listUnknownSecurities(
  row: ConstraintRow,
  { params }: ConstraintClass,
  { path, identifiers }: Required<Pick<ConstraintCheck, 'path' | 'identifiers'>>,
): Finding[] {
  return listNamedAssets(params, row.params, `${path}.params`)
    .filter(({ identifier }) => !identifiers.has(identifier))
    .map(({ path: identifierPath, identifier }) => ({
      severity: 'warning',
      code: 'NOT_IN_INDEX',
      message: `${identifier} is not a constituent of the index. The constraint has no effect on this security.`,
      path: identifierPath,
      row_id: row.id === '' ? null : row.id,
      value: identifier,
    }));
}

function listRepeatedIds(rows: readonly ConstraintRow[], path: string): Finding[] {
  const first = new Map<string, number>();
  return rows.flatMap((row, position): Finding[] => {
    if (row.id === '') return [];
    const earlier = first.get(row.id);
    if (earlier === undefined) {
      first.set(row.id, position);
      return [];
    }
    const message = `The constraint id ${row.id} is already used by the constraint at position ${earlier}.`;
    return [
      {
        severity: 'error',
        code: 'DUPLICATE_ROW_ID',
        message,
        path: `${path}[${position}].id`,
        row_id: row.id,
        value: row.id,
      },
    ];
  });
}
