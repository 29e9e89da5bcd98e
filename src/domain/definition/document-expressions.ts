import { z } from 'zod';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { checkShape, formatPath } from '../base/schema.js';
import {
  checkTree,
  createUnitReader,
  type ExpectedKind,
  findCircle,
  findTooLarge,
  isName,
  isShaped,
  NumberExpression,
  type ParsedText,
  readExpression,
} from '../datapoints/expression-checks.js';
import { addText } from '../datapoints/expression-text.js';
import { type ExpressionNode, isField } from '../datapoints/expression-tree.js';
import { DERIVED_NAMES } from '../datapoints/fields.js';
import type { MarketData } from '../market/market-data.js';
import { findConstraintClass } from './constraints.js';
import { findReturnsClass } from './expected-returns.js';
import {
  createErrorFinding,
  type IndexDocument,
  isObject,
  readDefinitions,
  type UncheckedBody,
} from './index-document.js';
import {
  checkGivenParameters,
  type NamedPlugins,
  type PluginDocument,
  type PluginKind,
  resolvePluginCode,
} from './plugins.js';
import { findSelectionClass, findWeightingClass } from './rule-pipeline.js';
import { WeightingSpec } from './weighting.js';

interface ParsedBody {
  readonly body: UncheckedBody;
  readonly findings: readonly Finding[];
  readonly texts: ReadonlyMap<string, ParsedText>;
}

/**
 * Returns the body of an index document with every expression as a tree, and the errors in expressions given as texts.
 */
export function parseDocumentExpressions(document: UncheckedBody, market: MarketData | undefined): ParsedBody {
  const findings: Finding[] = [];
  const texts = new Map<string, ParsedText>();
  const rowParser: RowParser = (schema, value, place) => {
    const result = parseExpressions(schema, value, { ...place, market });
    findings.push(...result.findings);
    for (const [path, text] of result.texts) texts.set(path, text);
    return result.value;
  };
  const { datapoints, pipeline, derivation, reviews } = document;
  const body: UncheckedBody = {
    ...document,
    ...(isObject(pipeline) ? { pipeline: parseRules(pipeline, 'pipeline', rowParser) } : {}),
    ...(Array.isArray(reviews)
      ? {
          reviews: reviews.map((review: unknown, i) =>
            isObject(review) ? parseRules(review, `reviews[${i}]`, rowParser) : review,
          ),
        }
      : {}),
    ...(isObject(derivation) ? { derivation: parseDerivation(derivation, 'derivation.', rowParser) } : {}),
    ...(isObject(datapoints) ? { datapoints: parseDefinitions(datapoints, { findings, texts }) } : {}),
  };
  if (isObject(body['datapoints'])) findings.push(...reportDefinitions(body['datapoints'], market));
  findings.push(...reportPluginNames(body, market));
  return { body, findings, texts };
}

/** Members of a weighting, other than its class, that may be expressions. */
const WeightingLimits = WeightingSpec.pick({ cap: true, phase_in: true });

/** Replaces the cap of a weighting by a number if it is a constant expression. */
function addNumber(weighting: UncheckedBody): UncheckedBody {
  const { cap } = weighting;
  // An expression that cannot be parsed has no text.
  return isObject(cap) && cap['node'] === 'value' && typeof cap['value'] === 'number' && 'text' in cap
    ? { ...weighting, cap: cap['value'] }
    : weighting;
}

/** Parses the selection and weighting of a pipeline or a review. */
function parseRules(holder: UncheckedBody, path: string, rowParser: RowParser): UncheckedBody {
  const { selection, weighting } = holder;
  const rows = Array.isArray(selection)
    ? selection.map((row: unknown, i) =>
        parseRow(row, findSelectionClass, { path: `${path}.selection[${i}]`, read: rowParser }),
      )
    : selection;
  const weightingPath = `${path}.weighting`;
  const parsedWeighting = parseRow(weighting, findWeightingClass, { path: weightingPath, read: rowParser });
  const weightingWithLimits = isObject(parsedWeighting)
    ? addNumber(rowParser(WeightingLimits, parsedWeighting, { path: weightingPath }) as UncheckedBody)
    : parsedWeighting;
  return {
    ...holder,
    ...(rows === undefined ? {} : { selection: rows }),
    ...(weighting === undefined ? {} : { weighting: weightingWithLimits }),
  };
}

function parseDefinitions(
  datapoints: UncheckedBody,
  { findings, texts }: { readonly findings: Finding[]; readonly texts: Map<string, ParsedText> },
): UncheckedBody {
  const entries = Object.entries(datapoints).map(([name, given]): [string, unknown] => {
    if (typeof given !== 'string') {
      findings.push(...checkShape(NumberExpression, given, { path: `datapoints.${name}` }).findings);
      return [name, isShaped(given) ? addText(given) : given];
    }
    const path = `datapoints.${name}`;
    const parsedText = readExpression(given, 'number');
    findings.push(...parsedText.problems.map((problem) => ({ severity: 'error' as const, path, ...problem })));
    texts.set(path, parsedText);
    return [name, addText(parsedText.tree ?? { node: 'value', value: 0 })];
  });
  const units = createUnitReader(new Map(entries.filter(isTree)));
  // The units of datapoints that are defined in the document are known only after all texts are parsed.
  for (const [path, { text, problems }] of texts) {
    if (!path.startsWith('datapoints.') || problems.length > 0) continue;
    const later = readExpression(text, 'number', units).problems;
    findings.push(...later.map((problem) => ({ severity: 'error' as const, path, ...problem })));
  }
  return Object.fromEntries(entries);
}

const isTree = (entry: [string, unknown]): entry is [string, ExpressionNode] => isShaped(entry[1]);

const RESERVED_NAMES: ReadonlySet<string> = new Set([...DERIVED_NAMES, 'DIVIDEND']);

/** Reports ambiguous names, definitions that refer to themselves, and definitions that read too much data. */
function reportDefinitions(datapoints: UncheckedBody, market: MarketData | undefined): Finding[] {
  const trees = new Map(Object.entries(datapoints).filter(isTree));
  const findings = [...trees.keys()].flatMap((name) => reportName(name, `datapoints.${name}`, market));
  const circle = findCircle(trees);
  if (circle.length > 0) {
    const message = `The datapoint ${circle[0]} refers to itself: ${circle.join(', ')}.`;
    return [
      ...findings,
      createErrorFinding('CIRCULAR_REFERENCE', `datapoints.${circle[0]}`, message, { value: circle[0] }),
    ];
  }
  const readsMax = LIMITS.MAX_EXPRESSION_READS;
  const large = findTooLarge(trees);
  if (large === undefined) return findings;
  const message = `The datapoint ${large} reads more than ${readsMax} datapoints.`;
  return [...findings, createErrorFinding('OUT_OF_RANGE', `datapoints.${large}`, message)];
}

function reportPluginNames({ plugins, datapoints }: UncheckedBody, market: MarketData | undefined): Finding[] {
  if (!isObject(plugins)) return [];
  return Object.keys(plugins).flatMap((name) => {
    const path = `plugins.${name}`;
    if (!isObject(datapoints) || !Object.hasOwn(datapoints, name)) return reportName(name, path, market);
    const message = `The name ${name} is already used by a datapoint of the document. Choose another name for the plug-in.`;
    return [createErrorFinding('DUPLICATE_KEY', path, message, { value: name })];
  });
}

function reportName(name: string, path: string, market: MarketData | undefined): Finding[] {
  if (RESERVED_NAMES.has(name))
    return [
      createErrorFinding('DUPLICATE_KEY', path, `${name} is a datapoint of the service. Choose another name.`, {
        value: name,
      }),
    ];
  if (market?.fields.has(name) !== true && market?.reference.columns.includes(name) !== true) return [];
  const message = `The datapoint ${name} hides the column ${name} of the store.`;
  return [{ severity: 'warning', code: 'DUPLICATE_KEY', path, message, value: name }];
}

/** Returns findings about the market or indices at their position in the text. */
export function locateInTexts(findings: readonly Finding[], texts: ReadonlyMap<string, ParsedText>): Finding[] {
  return findings.map((finding) => {
    if (finding.position !== undefined || typeof finding.value !== 'string') return finding;
    const position = findText(finding.path, texts)?.spanOf(finding.value);
    return position === undefined ? finding : { ...finding, position };
  });
}

function findText(path: string, texts: ReadonlyMap<string, ParsedText>): ParsedText | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const text = texts.get(path.slice(0, end));
    if (text !== undefined) return text;
  }
  return undefined;
}

export interface StoredPluginCode {
  readonly plugin: PluginDocument;
  readonly sha256: string;
}

export interface FilledDocument {
  readonly document: IndexDocument;
  readonly findings: readonly Finding[];
}

/** Returns a definition with the code of its plug-ins, and errors about the plug-ins. */
export function fillPlugins(
  document: IndexDocument,
  pluginOf: (id: string) => StoredPluginCode | undefined,
): FilledDocument {
  const { plugins } = document;
  if (plugins === undefined) return { document, findings: [] };
  const findings: Finding[] = [];
  const filledPlugins: NamedPlugins = {};
  for (const [name, use] of Object.entries(plugins)) {
    const path = `plugins.${name}`;
    const storedPluginCode = pluginOf(use.plugin);
    if (storedPluginCode === undefined) {
      const message = `No readable plug-in is stored under ${use.plugin}.`;
      findings.push({
        severity: 'error',
        code: 'PLUGIN_NOT_FOUND',
        path: `${path}.plugin`,
        message,
        value: use.plugin,
      });
      continue;
    }
    findings.push(...checkGivenParameters(use, storedPluginCode.plugin, path));
    filledPlugins[name] = {
      plugin: use.plugin,
      parameters: use.parameters,
      code: resolvePluginCode(storedPluginCode.plugin, use.parameters, storedPluginCode.sha256),
    };
  }
  const filledDocument = { ...document, plugins: filledPlugins };
  if (findings.length === 0)
    findings.push(...reportKinds(filledDocument, filledPlugins), ...reportCircle(filledDocument));
  return { document: filledDocument, findings };
}

/**
 * Returns a definition as it is stored. Removes the parts that runs add: code of plug-ins and recorded changes of
 * calendars.
 */
export function removeComputedParts({ closures: _closures, ...document }: IndexDocument): IndexDocument {
  const { plugins } = document;
  if (plugins === undefined) return document;
  const pluginEntries = Object.entries(plugins).map(
    ([name, { plugin, parameters }]) => [name, { plugin, parameters }] as const,
  );
  return { ...document, plugins: Object.fromEntries(pluginEntries) };
}

/** Returns the kind of plug-in that a class of rules accepts. Returns undefined if it accepts none. */
function findAcceptedKind(type: string): PluginKind | undefined {
  const entry = findSelectionClass(type) ?? findWeightingClass(type);
  return entry?.takesPlugin === true ? entry.category : undefined;
}

/** Reports rules that refer to a plug-in of another kind, or to no plug-in. */
function reportKinds({ pipeline, reviews = [] }: IndexDocument, plugins: NamedPlugins): Finding[] {
  const rows = [
    ...(pipeline?.selection ?? []).map((row, i) => ({ row, path: `pipeline.selection[${i}]` })),
    ...(pipeline === null ? [] : [{ row: pipeline.weighting, path: 'pipeline.weighting' }]),
    ...reviews.flatMap(({ selection = [], weighting }, k) => [
      ...selection.map((row, i) => ({ row, path: `reviews[${k}].selection[${i}]` })),
      ...(weighting === undefined ? [] : [{ row: weighting, path: `reviews[${k}].weighting` }]),
    ]),
  ];
  return rows.flatMap(({ row, path }): Finding[] => {
    const kind = findAcceptedKind(row.type);
    if (kind === undefined) return [];
    const name = String(row.params['plugin']);
    const pluginKind = Object.hasOwn(plugins, name) ? plugins[name]!.code!.kind : undefined;
    if (pluginKind === kind) return [];
    const acceptedNames = Object.keys(plugins).filter((other) => plugins[other]!.code!.kind === kind);
    const problemPhrase =
      pluginKind === undefined ? `${name} is not a plug-in of the document` : `the plug-in ${name} is a ${pluginKind}`;
    const message = `${path}.params.plugin: ${problemPhrase}; ${row.type} needs a ${kind}.`;
    return [
      {
        severity: 'error',
        code: 'NOT_IN_CHOICES',
        path: `${path}.params.plugin`,
        message,
        accepted: acceptedNames,
        value: name,
      },
    ];
  });
}

function reportCircle(document: IndexDocument): Finding[] {
  const circle = findCircle(readDefinitions(document));
  if (circle.length === 0) return [];
  const message = `The datapoint ${circle[0]} refers to itself: ${circle.join(', ')}.`;
  return [{ severity: 'error', code: 'CIRCULAR_REFERENCE', path: 'plugins', message, value: circle[0] }];
}

/** Value from a request, with its expressions as trees. */
interface WithParsedTexts<T> {
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

/** Function that parses the expressions in the parameters of a class. */
type RowParser = (schema: z.ZodType, value: unknown, place: TextLocation) => unknown;

/** Parses the expressions in a derivation. @param prefix prefix of the paths of its members, ending with a dot */
function parseDerivation(derivation: UncheckedBody, prefix: string, rowParser: RowParser): UncheckedBody {
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

export function parseRequest(rawBody: UncheckedBody): {
  readonly body: UncheckedBody;
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

function parseReturns(returns: UncheckedBody, path: string, rowParser: RowParser): unknown {
  const { type, ...params } = returns;
  const entry = findReturnsClass(typeof type === 'string' ? type : '');
  return entry === undefined ? returns : { type, ...(rowParser(entry.params, params, { path }) as UncheckedBody) };
}

function parseRow(
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
