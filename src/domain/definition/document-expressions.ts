import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { checkShape } from '../base/schema.js';
import {
  createUnitReader,
  findCircle,
  findTooLarge,
  isShaped,
  NumberExpression,
  type ParsedText,
  readExpression,
} from '../datapoints/expression-checks.js';
import { addText } from '../datapoints/expression-text.js';
import type { ExpressionNode } from '../datapoints/expression-tree.js';
import { DERIVED_NAMES } from '../datapoints/fields.js';
import type { MarketData } from '../market/market-data.js';
import { parseDerivation, parseExpressions, parseRow, type RowParser } from './expression-texts.js';
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

export interface ParsedBody {
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
    ...(isObject(pipeline) ? { pipeline: parseRows(pipeline, 'pipeline', rowParser) } : {}),
    ...(Array.isArray(reviews)
      ? {
          reviews: reviews.map((review: unknown, i) =>
            isObject(review) ? parseRows(review, `reviews[${i}]`, rowParser) : review,
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
function parseRows(holder: UncheckedBody, path: string, rowParser: RowParser): UncheckedBody {
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
