import { z } from 'zod';
import type { Finding } from '../base/findings.js';
import { formatPath } from '../base/schema.js';
import {
  checkTree,
  type ExpectedKind,
  isName,
  isShaped,
  type ParsedText,
  readExpression,
} from '../datapoints/expression-checks.js';
import { addText } from '../datapoints/expression-text.js';
import { isField } from '../datapoints/expression-tree.js';
import type { MarketData } from '../market/market-data.js';
import { findConstraintClass } from './constraints.js';
import { findReturnsClass } from './expected-returns.js';

/** Value from a request, with its expressions as trees. */
export interface WithParsedTexts<T> {
  readonly value: T;
  readonly findings: readonly Finding[];
  /** Parsed texts by path; later findings are located in these texts. */
  readonly texts: ReadonlyMap<string, ParsedText>;
}

/** Location of a value in the request. */
interface TextLocation {
  readonly path: string;
  readonly rowId?: string | null;
  /** Market whose column names take precedence. If a text is exactly a column name, it refers to that column. */
  readonly market?: MarketData | undefined;
}

/**
 * Returns the parameters of a class in which expressions are parsed to trees. The schema marks expressions by the
 * formats `expression` and `condition`. A text that is a name, and values of other types, are unchanged.
 */
export function parseExpressions<T>(schema: z.ZodType, value: T, place: TextLocation): WithParsedTexts<T> {
  const findings: Finding[] = [];
  const texts = new Map<string, ParsedText>();
  const visit = (currentSchema: z.ZodType, current: unknown, path: string): unknown => {
    const expectedKind = describeExpected(currentSchema);
    if (expectedKind !== undefined)
      return parseTree(current, { ...place, path }, { expected: expectedKind, findings, texts });
    const innerSchema = unwrap(currentSchema);
    if (innerSchema !== currentSchema) return visit(innerSchema, current, path);
    if (currentSchema instanceof z.ZodArray && isPlainText(currentSchema.element as z.ZodType)) return current;
    if (currentSchema instanceof z.ZodArray && Array.isArray(current))
      return current.map((item: unknown, i) => visit(currentSchema.element as z.ZodType, item, `${path}[${i}]`));
    if (!(currentSchema instanceof z.ZodObject) || typeof current !== 'object' || current === null) return current;
    const members = Object.entries(current).map(([name, member]): [string, unknown] => {
      const memberSchema = Object.hasOwn(currentSchema.shape, name)
        ? (currentSchema.shape[name] as z.ZodType)
        : undefined;
      return [name, memberSchema === undefined ? member : visit(memberSchema, member, `${path}.${name}`)];
    });
    return Object.fromEntries(members);
  };
  return { value: visit(schema, value, place.path) as T, findings, texts }; // Only expressions change the shape, so the type still applies.
}

/** Returns true if the values of a schema are texts that are no expressions, such as identifiers. */
const isPlainText = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodString && describeExpected(schema) === undefined;

function describeExpected(schema: z.ZodType): ExpectedKind | undefined {
  const { format } = (schema.meta() ?? {}) as { format?: string }; // calls of `.meta` in this program
  if (format === 'expression') return 'number';
  return format === 'condition' ? 'condition' : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapper =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable;
  return isWrapper ? (schema.def.innerType as z.ZodType) : schema;
}

function parseTree(
  value: unknown,
  { path, rowId = null, market }: TextLocation,
  {
    expected,
    findings,
    texts,
  }: { readonly expected: ExpectedKind; readonly findings: Finding[]; readonly texts: Map<string, ParsedText> },
): unknown {
  if (typeof value === 'object' && value !== null) {
    findings.push(...reportUnits(value, { path, rowId }, expected));
    return toCanonicalTree(value);
  }
  if (typeof value !== 'string' || value === '' || (expected === 'number' && isName(value, market))) return value;
  const parsedText = readExpression(value, expected);
  findings.push(
    ...parsedText.problems.map((problem) => ({ severity: 'error' as const, path, row_id: rowId, ...problem })),
  );
  if (parsedText.tree === undefined) return PLACEHOLDERS[expected];
  texts.set(path, parsedText);
  const { tree } = parsedText;
  return expected === 'number' && isField(tree) && tree.lag === undefined && tree.window === undefined && !tree.dataset
    ? tree.name
    : addText(tree);
}

function reportUnits(tree: object, { path, rowId = null }: TextLocation, expected: ExpectedKind): Finding[] {
  if (!isShaped(tree)) return [];
  return checkTree(tree, expected)
    .problems.filter(({ code }) => code === 'UNIT_MISMATCH')
    .map(({ code, message, path: steps }) => {
      const nodePath = formatPath(path, [...steps]);
      return { severity: 'error', code, path: nodePath, row_id: rowId, message: `${nodePath} ${message}.` };
    });
}

/**
 * Placeholder for a text that cannot be parsed. The error is already reported, and the placeholder causes no further
 * findings.
 */
const PLACEHOLDERS: Readonly<Record<ExpectedKind, unknown>> = {
  number: { node: 'value', value: 0 },
  condition: { node: 'all', operands: [] },
};

const NEW_NODES: ReadonlySet<unknown> = new Set(['value', 'arithmetic', 'function']);

/**
 * Returns a tree in canonical form with its text. A tree that consists only of fields and conditions is returned as
 * sent.
 */
function toCanonicalTree(tree: object): unknown {
  // The schema refuses other shapes and reports the path of each wrong member.
  return hasNewNodes(tree) && isShaped(tree) ? addText(tree) : tree;
}

function hasNewNodes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if ('node' in value && (NEW_NODES.has(value.node) || 'text' in value)) return true;
  return Object.values(value).some(hasNewNodes);
}

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

export function parseRow(
  row: unknown,
  classOf: (type: string) => { readonly params: z.ZodObject } | undefined,
  { path, read }: { readonly path: string; readonly read: RowParser },
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
