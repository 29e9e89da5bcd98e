import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { validateConstraints } from '../constraints/validate.js';
import { hasErrors, sortFindings, type Finding } from '../refusals/findings.js';
import { checkShape, Id } from '../schema/shape.js';
import { ConstraintRow } from '../constraints/constraint-row.js';
import { stateRowDefaults } from './row-settings.js';
import { parseRows } from './request-expressions.js';
import { parseExpressions } from './expression-texts.js';
import { listCalledIndices } from './named-indices.js';

/** Ids that constraint sets cannot have, because they are parts of routes. */
export const RESERVED_CONSTRAINT_SET_IDS = ['validate'] as const;

/** Maximum number of rows of a set. */
const ROWS_MAX = 500;

export const ConstraintSet = defineObject(() => ({
  id: Id.meta({ description: 'Id of the document, which is part of its path.' }),
  name: z.string().min(1).max(200),
  constraints: z
    .array(ConstraintRow)
    .max(ROWS_MAX)
    .default([])
    .meta({ description: 'Constraints, in order. An empty list leaves the default of full investment.' }),
})).meta({ id: 'ConstraintSet' });
export type ConstraintSet = z.infer<typeof ConstraintSet>;

export interface CheckedConstraintSet {
  /** Valid set; undefined if a finding is an error. */
  readonly set: ConstraintSet | undefined;
  readonly findings: readonly Finding[];
}

/** Checks a constraint set as sent by a client. */
export function checkConstraintSet(body: Readonly<Record<string, unknown>>): CheckedConstraintSet {
  const { rows, findings: ofTexts } = readRows(body['constraints'], 'constraints');
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
  return { set: constraintSet, findings: sortFindings(findings) };
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
export function readRows(
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
