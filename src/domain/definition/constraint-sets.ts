import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { createOmission, type Finding, hasErrors, reportFindings } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { checkShape, defineObject, Id } from '../base/schema.js';
import { createReferenceSpells, type MarketData } from '../market/market-data.js';
import { checkParams, listNamedAssets } from './catalogue.js';
import { CONSTRAINT_ROWS_MAX, type ConstraintClass, ConstraintRow, isBoundPath, NO_GROUP } from './constraint-class.js';
import { CONSTRAINT_CLASSES, findConstraintClass } from './constraints.js';
import { parseExpressions, parseRows } from './document-expressions.js';
import { checkExpressionLength } from './index-checks.js';
import { stateRowDefaults } from './index-document.js';
import { listCalledIndices } from './references.js';

/** Maximum number of groups listed in a message. */
const LISTED_MAX = 10;

/** Maximum number of names of the market with which unknown groups are compared, over all of these groups. */
const NAMES_COMPARED_MAX = 5000;

/** Groups of a field in the market, and the sentence that lists them. */
interface MarketGroups {
  readonly groups: ReadonlySet<string>;
  readonly sentence: string;
}

/**
 * Warns about groups in rows to which no security of the market ever belonged. Such a row limits nothing. A later
 * reference table may contain the group. Groups beyond `MAX_FINDINGS` are only counted.
 * @param path path of the list of rows.
 */
export function findUnknownGroups(rows: readonly ConstraintRow[], market: MarketData, path: string): Finding[] {
  const groupsByField = new Map<string, MarketGroups>();
  const findings: Finding[] = [];
  let [omitted, compared] = [0, 0];
  for (const [position, { id, params }] of rows.entries()) {
    const { field, groups: listed } = params as { readonly field?: unknown; readonly groups?: unknown }; // the parameters have not been checked yet
    if (typeof field !== 'string' || !Array.isArray(listed)) continue;
    if (!market.reference.columns.includes(field)) continue;
    const { groups, sentence } = groupsByField.get(field) ?? listGroups(market, field);
    groupsByField.set(field, { groups, sentence });
    for (const [k, group] of (listed as unknown[]).entries()) {
      if (typeof group !== 'string' || group === NO_GROUP || groups.has(group)) continue;
      if (findings.length >= LIMITS.MAX_FINDINGS) {
        omitted++;
        continue;
      }
      compared += groups.size;
      const suggestion = compared > NAMES_COMPARED_MAX ? '' : suggestName(group, groups).trimStart();
      findings.push({
        severity: 'warning',
        code: 'UNKNOWN_IDENTIFIER',
        path: `${path}[${position}].params.groups[${k}]`,
        row_id: id === '' ? null : id,
        message: `No security in the data has the ${field} ${group}. The constraint has no effect there. ${suggestion === '' ? sentence : suggestion}`,
        value: group,
      });
    }
  }
  return omitted === 0 ? findings : [...findings, createOmission('warning', omitted)];
}

function listGroups(market: MarketData, field: string): MarketGroups {
  const groups = new Set<string>();
  for (const spells of createReferenceSpells(market, field))
    for (const { value } of spells) if (value !== null && value !== '') groups.add(String(value));
  const list = [...groups].toSorted().slice(0, LISTED_MAX).join(', ');
  const rest = groups.size > LISTED_MAX ? ` and ${groups.size - LISTED_MAX} more` : '';
  return { groups, sentence: `There are ${list}${rest}.` };
}

export interface ConstraintCheck {
  /** Path of the row list in the request, for example `derivation.constraints`. */
  readonly path: string;
  /** Constituents of the index, if known; other identifiers cause a warning. */
  readonly identifiers?: ReadonlySet<string>;
  /** True if bounds may follow a path, as in rows that are optimised on successive dates. */
  readonly followPaths?: boolean;
}

/** Returns all findings on a list of constraint rows, in response order. */
export function validateConstraints(rows: readonly ConstraintRow[], check: ConstraintCheck): Finding[] {
  const { path } = check;
  const findings = rows.flatMap((row, position) => validateRow(row, { ...check, path: `${path}[${position}]` }));
  return reportFindings([...findings, ...listRepeatedIds(rows, path)]);
}

function validateRow(row: ConstraintRow, { path, identifiers, followPaths = false }: ConstraintCheck): Finding[] {
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
  const { findings: ofParams } = checkParams(entry.params, row.params, { path: `${path}.params`, rowId: row_id });
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

/** Ids that constraint sets cannot have, because they are parts of routes. */
export const RESERVED_CONSTRAINT_SET_IDS = ['validate'] as const;

export const ConstraintSet = defineObject(() => ({
  id: Id.meta({ description: 'Id of the document, which is part of its path.' }),
  name: z.string().min(1).max(200),
  constraints: z
    .array(ConstraintRow)
    .max(CONSTRAINT_ROWS_MAX)
    .default([])
    .meta({ description: 'Constraints, in order. An empty list leaves the default of full investment.' }),
})).meta({ id: 'ConstraintSet' });
export type ConstraintSet = z.infer<typeof ConstraintSet>;

/** Reports rows that are too many or whose expressions are too long. They are not checked further. */
export function checkRowCount(rows: unknown, path: string): Finding[] {
  if (!Array.isArray(rows)) return [];
  if (rows.length <= CONSTRAINT_ROWS_MAX) return checkExpressionLength({ rows });
  const message = `${path} has ${rows.length} entries; at most ${CONSTRAINT_ROWS_MAX} are accepted.`;
  return [{ severity: 'error', code: 'OUT_OF_RANGE', path, message }];
}

export interface CheckedConstraintSet {
  /** Valid set; undefined if a finding is an error. */
  readonly set: ConstraintSet | undefined;
  readonly findings: readonly Finding[];
}

export function checkConstraintSet(body: Readonly<Record<string, unknown>>): CheckedConstraintSet {
  const excess = checkRowCount(body['constraints'], 'constraints');
  if (excess.length > 0) return { set: undefined, findings: excess };
  const { rows, findings: ofTexts } = readConstraintRows(body['constraints'], 'constraints');
  const shapeResult = checkShape(ConstraintSet, rows === undefined ? body : { ...body, constraints: rows }, {
    unknownFields: 'warning',
  });
  const findings = [
    ...shapeResult.findings,
    ...listReservedId(body['id']),
    ...ofTexts,
    ...checkRows(rows, 'constraints'),
  ];
  const constraintSet =
    hasErrors(findings) || shapeResult.value === undefined ? undefined : stateDefaults(shapeResult.value, 'today');
  return { set: constraintSet, findings: reportFindings(findings) };
}

/** Reads a stored body as a set with defaults. Returns undefined if it does not match the schema. */
export function readConstraintSet(body: unknown): ConstraintSet | undefined {
  const { data } = ConstraintSet.safeParse(body);
  return data && stateDefaults(data, 'earlier');
}

function stateDefaults(set: ConstraintSet, version: 'earlier' | 'today'): ConstraintSet {
  return { ...set, constraints: stateRowDefaults(set.constraints, version) };
}

/** Returns a list of rows with their expressions as trees; other values are unchanged. @param path path of the list */
export function readConstraintRows(
  rows: unknown,
  path: string,
): { readonly rows: unknown; readonly findings: readonly Finding[] } {
  if (!Array.isArray(rows)) return { rows, findings: [] };
  const findings: Finding[] = [];
  const read = parseRows(rows, path, (schema, value, place) => {
    const result = parseExpressions(schema, value, place);
    findings.push(...result.findings);
    return result.value;
  });
  const requests = listCalledIndices(read, path).map(({ path: requestPath, id }) => ({
    severity: 'error' as const,
    code: 'NOT_IN_CHOICES' as const,
    path: requestPath,
    message: `Only index documents can refer to other indices, such as ${id}.`,
    value: id,
  }));
  return { rows: read, findings: [...findings, ...requests] };
}

/** Returns findings about the classes and parameters of a list of rows; the shape check reports invalid shapes. */
export function checkRows(rows: unknown, path: string, followPaths = false): Finding[] {
  if (!Array.isArray(rows)) return [];
  const parsedRows = rows.map((row: unknown) => ConstraintRow.safeParse(removeUnknownMembers(row)).data);
  if (parsedRows.every((row) => row !== undefined)) return validateConstraints(parsedRows, { path, followPaths });
  return parsedRows.flatMap((row, i) =>
    row === undefined
      ? []
      : validateConstraints([row], { path, followPaths }).map((finding) => ({
          ...finding,
          path: finding.path.replace(`${path}[0]`, `${path}[${i}]`),
        })),
  );
}

function removeUnknownMembers(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return row;
  const { type, id, params } = row as Record<string, unknown>; // The row is an object, as asserted above.
  return {
    ...(type === undefined ? {} : { type }),
    ...(id === undefined ? {} : { id }),
    ...(params === undefined ? {} : { params }),
  };
}

function listReservedId(id: unknown): Finding[] {
  if (!(RESERVED_CONSTRAINT_SET_IDS as readonly unknown[]).includes(id)) return [];
  return [
    {
      severity: 'error',
      code: 'BAD_IDENTIFIER',
      path: 'id',
      message: `The id ${String(id)} is reserved, because it is part of a route.`,
      value: id,
    },
  ];
}
