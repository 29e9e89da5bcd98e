import type { z } from 'zod';
import { findConstraintClass } from '../constraints/catalogue.js';
import { findReturnsClass } from '../expected-returns/catalogue.js';
import type { Finding } from '../refusals/findings.js';
import { parseExpressions, type TextLocation } from './expression-texts.js';

type RawBody = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is RawBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Function that parses the expressions in the parameters of a class. */
export type RowParser = (schema: z.ZodType, value: unknown, place: TextLocation) => unknown;

/** Parses the expressions in a derivation. @param prefix prefix of the paths of its members, ending with a dot */
export function parseDerivation(derivation: RawBody, prefix: string, rowParser: RowParser): RawBody {
  const { constraints, expected_returns: returns, relax } = derivation;
  return {
    ...derivation,
    ...(Array.isArray(relax) && Array.isArray(constraints)
      ? { relax: parseRelaxation(relax, constraints, `${prefix}relax`, rowParser) }
      : {}),
    ...(Array.isArray(constraints) ? { constraints: parseRows(constraints, `${prefix}constraints`, rowParser) } : {}),
    ...(isObject(returns) ? { expected_returns: parseReturns(returns, `${prefix}expected_returns`, rowParser) } : {}),
  };
}

/** Returns the body of an optimisation request, with its expressions as trees. */
export function parseRequest(rawBody: RawBody): {
  readonly body: RawBody;
  readonly findings: readonly Finding[];
} {
  const findings: Finding[] = [];
  const body = parseDerivation(rawBody, '', (schema, value, place) => {
    const result = parseExpressions(schema, value, place);
    findings.push(...result.findings);
    return result.value;
  });
  return { body, findings };
}

/** Returns constraint rows with their expressions as trees. @param path path of the list of rows */
export function parseRows(rows: readonly unknown[], path: string, rowParser: RowParser): unknown[] {
  return rows.map((row, i) => parseRow(row, findConstraintClass, { path: `${path}[${i}]`, read: rowParser }));
}

/** Returns the relaxation steps of rows with their expressions as trees. */
function parseRelaxation(
  relax: readonly unknown[],
  rows: readonly unknown[],
  path: string,
  rowParser: RowParser,
): unknown[] {
  return relax.map((entry, i) => {
    if (!isObject(entry) || !Array.isArray(entry['steps'])) return entry;
    const row = rows.find((own) => isObject(own) && own['id'] === entry['row']);
    const type = isObject(row) ? row['type'] : undefined;
    const constraintClass = findConstraintClass(typeof type === 'string' ? type : '');
    if (constraintClass === undefined) return entry;
    const steps = entry['steps'].map((step: unknown, k) =>
      isObject(step) ? rowParser(constraintClass.params, step, { path: `${path}[${i}].steps[${k}]` }) : step,
    );
    return { ...entry, steps };
  });
}

function parseReturns(returns: RawBody, path: string, rowParser: RowParser): unknown {
  const { type, ...params } = returns;
  const entry = findReturnsClass(typeof type === 'string' ? type : '');
  return entry === undefined ? returns : { type, ...(rowParser(entry.params, params, { path }) as RawBody) };
}

interface RowLocation {
  readonly path: string;
  readonly read: RowParser;
}

export function parseRow(
  row: unknown,
  classOf: (type: string) => { readonly params: z.ZodObject } | undefined,
  { path, read }: RowLocation,
): unknown {
  if (!isObject(row) || !isObject(row['params']) || typeof row['type'] !== 'string') return row;
  const entry = classOf(row['type']);
  if (entry === undefined) return row;
  const rowId = typeof row['id'] === 'string' && row['id'] !== '' ? row['id'] : null;
  const parseParams = (params: unknown, paramsPath: string): unknown =>
    read(entry.params, params, { path: `${paramsPath}.params`, rowId });
  const steps = row['fallback'];
  const fallback = Array.isArray(steps)
    ? steps.map((step: unknown, i) =>
        isObject(step) && isObject(step['params'])
          ? { ...step, params: parseParams(step['params'], `${path}.fallback[${i}]`) }
          : step,
      )
    : steps;
  return { ...row, params: parseParams(row['params'], path), ...(steps === undefined ? {} : { fallback }) };
}
