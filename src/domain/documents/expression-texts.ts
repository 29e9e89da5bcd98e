import { z } from 'zod';
import type { Finding } from '../refusals/findings.js';
import type { MarketData } from '../market/market-data.js';
import { isField } from '../datapoints/expressions/tree.js';
import { formatPath } from '../schema/shape.js';
import { addText } from '../datapoints/expressions/print.js';
import { checkTree } from '../datapoints/expressions/check.js';
import { isShaped } from '../datapoints/expressions/expression.js';
import { isName } from '../datapoints/expressions/field-text.js';
import { readExpression, type ExpectedKind, type ParsedText } from '../datapoints/expressions/read-text.js';

/** Value from a request, with its expressions as trees. */
export interface WithParsedTexts<T> {
  readonly value: T;
  readonly findings: readonly Finding[];
  /** Parsed texts by path; later findings are located in these texts. */
  readonly texts: ReadonlyMap<string, ParsedText>;
}

/** Location of a value in the request. */
export interface TextLocation {
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

interface TextReading {
  readonly expected: ExpectedKind;
  readonly findings: Finding[];
  readonly texts: Map<string, ParsedText>;
}

function parseTree(
  value: unknown,
  { path, rowId = null, market }: TextLocation,
  { expected, findings, texts }: TextReading,
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

/** Reports conflicting units in a tree that was sent as nodes. */
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

/** Nodes that were added with numeric expressions. */
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
