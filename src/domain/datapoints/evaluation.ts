import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { raiseToPower } from '#kernels/power.js';
import { findLastAtMost, isConstant } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseDay } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { findSpell, type ReferenceSpell, type ReferenceValue } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import type { MarketReturns, Tally, WindowReader } from './windows.js';
import {
  countYearsOfGrowth,
  createConstantSeries,
  type DatedGroups,
  type DividendHistory,
  findValuedKind,
  groupByValue,
  type Grouping,
  multiplySeries,
  type NamedSeries,
  type Series,
  type SeriesTerms,
  type ValuedKind,
} from './series.js';
import {
  type ArithmeticNode,
  type Comparison,
  type ComparisonNode,
  createFunctionCall,
  type DatapointExpression,
  type ExpressionNode,
  FALSE,
  type FieldLeaf,
  type FunctionNode,
  isExpressionNode,
  isField,
  type Operator,
  PLUGIN_FUNCTION,
  type PluginCall,
  toFieldRequest,
  toNode,
  TRUE,
  UNKNOWN,
} from './expression-tree.js';
import {
  createLatestRequest,
  createRequestKey,
  type DerivedName,
  type FieldRequest,
  isSessionReturn,
  isWindowed,
  resolveName,
  type ValueKind,
} from './fields.js';
import {
  type DecisionFacts,
  type Evaluator,
  findFunction,
  type OverTimeFunction,
  type ReviewEvaluator,
  type ReviewMemory,
  type SectionFunction,
  toFinite,
} from './functions.js';
import type { RollingStatistics } from './rolling-statistics.js';
import { fillWindowDeviations, computeProduct, type Statistic } from './statistics.js';

interface PluginArguments {
  readonly count: number;
  readonly day: Day;
}

/**
 * Computes the values of a plug-in at a decision. The plug-in receives only data known at that time, and no data of
 * other calls.
 * @param inputs one array per input of its program
 * @returns [count], NaN if missing
 * @throws Refusal PLUGIN_FAILED
 */
function callPlugin(
  { id, program }: PluginCall,
  inputs: readonly Float64Array[],
  { count, day }: PluginArguments,
): Float64Array {
  if (program === null)
    throw new Error(`the plug-in ${id} has no program: documents must be completed before computation`);
  try {
    return requireSandbox()
      .compute(program, inputs, count)
      .map((value) => (value - value === 0 ? value : NaN));
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const date = formatDay(day);
    const message = `The plug-in ${id} ${error.message}, at the decision on ${date}.`;
    throw new Refusal('PLUGIN_FAILED', message, { plugin_id: id, fault: error.fault, date });
  }
}

/** State shared by the cross-sections of all sessions. */
export interface SharedState {
  readonly sm: SessionMarket;
  readonly table: NamedSeries;
  readonly terms: SeriesTerms;
  spellsOf(name: string): readonly (readonly ReferenceSpell[])[];
  groupsOf(name: string): DatedGroups;
  referenceKindOf(name: string): ValueKind;
  windowsOf(series: Series, session: number): WindowReader;
  tallyOf(series: Series): Tally;
  /** Returns the market returns to which BETA is relative. */
  readonly marketReturns: MarketReturns;
  readonly rolling: RollingStatistics | null;
  dividends: () => DividendHistory;
}

/** Returns true if a datapoint is an unmodified reference column. The values of such a column need not be numbers. */
export function isText({ sm, referenceKindOf }: SharedState, field: FieldRequest): boolean {
  const result = resolveName(sm.market, field);
  return (
    'dataset' in result &&
    result.dataset === 'reference' &&
    field.aggregate === 'last' &&
    field.transform === 'none' &&
    referenceKindOf(field.name) !== 'number'
  );
}

export function readReferenceTexts(
  { sm, spellsOf }: SharedState,
  { field, session, columns }: { readonly field: FieldRequest; readonly session: number; readonly columns: Int32Array },
): readonly ReferenceValue[] {
  if (session < 0) return Array.from(columns, () => null);
  const rows = spellsOf(field.name);
  return Array.from(columns, (column) => findSpell(rows[column]!, sm.sessions[session]!));
}

export type DatapointSource =
  | {
      readonly kind: 'series';
      readonly series: Series;
      /** Series from which its windows are computed. */
      readonly trailing: Series;
      /** Kind of a value that corporate actions change; null for other values. */
      readonly valued: ValuedKind | null;
    }
  | {
      readonly kind: 'windowed';
      readonly statistic: Statistic;
      /** True if growth over gaps is included. */
      readonly isWhole: boolean;
    }
  | { readonly kind: 'beta' };

/** Datapoints that are amounts of money; they are always converted to index currency. */
const MONEY_DATAPOINTS: ReadonlySet<string> = new Set(['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'VALUE_TRADED']);
export const isMoney = (name: string): boolean => MONEY_DATAPOINTS.has(name);

/** Datapoints computed from growth factors, which are in index currency. */
export const GROWTH_DATAPOINTS: ReadonlySet<string> = new Set([
  'RETURN',
  'PRICE_RETURN',
  'VOLATILITY',
  'MOMENTUM',
  'BETA',
]);

const createAnnualisation =
  (periodsPerYear: number): Statistic =>
  (windows, out) => {
    fillWindowDeviations(windows, out);
    for (let k = 0; k < out.length; k++) out[k] = isConstant(out[k]!) ? 0 : out[k]! * Math.sqrt(periodsPerYear);
  };

export function createDatapointSource({ sm, table }: SharedState, field: FieldRequest): DatapointSource {
  const result = resolveName(sm.market, field);
  if ('missing' in result) throw new Error(`the market has no ${result.missing}: fields are checked before a decision`);
  if (result.dataset !== 'derived') {
    const storedSeries = result.dataset === 'market' ? table.market(field.name) : table.reference(field.name);
    const series = isMoney(field.name) ? table.inIndexCurrency(storedSeries) : storedSeries;
    const isMarket = result.dataset === 'market';
    return { kind: 'series', series, trailing: series, valued: isMarket ? findValuedKind(field.name) : null };
  }
  const name = field.name as DerivedName; // derived datapoints have been resolved before
  if (name === 'BETA') return { kind: 'beta' };
  // A return is its growth factor minus one, so both have the same deviation.
  if (name === 'VOLATILITY') {
    const statistic = createAnnualisation(estimatePeriodsPerYear(sm.calendar.sessions));
    return { kind: 'windowed', statistic, isWhole: false };
  }
  if (name === 'MOMENTUM') return { kind: 'windowed', statistic: computeProduct, isWhole: true };
  const series = table.derived(name);
  return {
    kind: 'series',
    series,
    trailing: isSessionReturn(name) ? table.returns(name) : series,
    valued: findValuedKind(name),
  };
}

/** Returns the series from which windows over a datapoint are read. The datapoint must not itself be a statistic. */
export function createTrailingReader(shared: SharedState, field: FieldRequest): Series {
  const source = createDatapointSource(shared, field);
  if (source.kind !== 'series') throw new Error(`${field.name} is already a statistic`);
  return source.trailing;
}

/** Source of the datapoint values of an expression, for the requested securities. */
interface ValueSource {
  readonly count: number;
  /** Returns values, NaN if missing, [count]; callers must not write to them. */
  numbers(field: FieldRequest): Float64Array;
  /** Returns values as stored, null if missing, [count]. */
  values(field: FieldRequest): readonly ReferenceValue[];
  isNumber(field: FieldRequest): boolean;
  /** Evaluates a function that needs more than the values of one security. */
  call(node: FunctionNode, evaluator: Evaluator): Float64Array;
}

/**
 * Creates an evaluator of expressions. It evaluates node by node, each node over all securities.
 * @cost one pass over the securities per node, in addition to the cost of the source
 */
function createEvaluator(source: ValueSource): Evaluator {
  const { count } = source;
  const evaluator: Evaluator = {
    count,
    numbers(node) {
      switch (node.node) {
        case 'field':
          return source.numbers(toFieldRequest(node));
        case 'value':
          return new Float64Array(count).fill(typeof node.value === 'number' ? node.value : NaN);
        case 'arithmetic':
          return computeArithmetic(node, evaluator);
        case 'function': {
          const entry = findFunction(node);
          return entry?.form === 'elementwise' ? entry.values(node, evaluator) : source.call(node, evaluator);
        }
        case 'all':
        case 'any':
        case 'not':
        case 'comparison':
          throw new Error('a condition is not a number: trees are checked before they are evaluated');
      }
    },
    truths(node) {
      switch (node.node) {
        case 'value':
          return new Uint8Array(count).fill(node.value === true ? TRUE : FALSE);
        case 'not':
          return evaluator.truths(node.operand).map((truth) => (truth === UNKNOWN ? UNKNOWN : 1 - truth));
        case 'all':
        case 'any':
          return combineTruths(node, evaluator);
        case 'comparison':
          return computeComparison(node, source, evaluator);
        case 'field':
        case 'arithmetic':
        case 'function':
          throw new Error('a number is not a condition: trees are checked before they are evaluated');
      }
    },
  };
  return evaluator;
}

function combineTruths(
  { node, operands }: Extract<ExpressionNode, { node: 'all' | 'any' }>,
  evaluator: Evaluator,
): Uint8Array {
  const decisiveTruth = node === 'all' ? FALSE : TRUE;
  const result = new Uint8Array(evaluator.count).fill(1 - decisiveTruth);
  for (const operand of operands.map((below) => evaluator.truths(below))) {
    for (let i = 0; i < result.length; i++) {
      if (result[i] === decisiveTruth || operand[i] === decisiveTruth) result[i] = decisiveTruth;
      else if (operand[i] === UNKNOWN) result[i] = UNKNOWN;
    }
  }
  return result;
}

function computeArithmetic({ operator, operands }: ArithmeticNode, evaluator: Evaluator): Float64Array {
  const [first, ...others] = operands.map((operand) => evaluator.numbers(operand));
  if (others.length === 0) return operator === '-' ? first!.map((value) => -value) : first!;
  const result = new Float64Array(evaluator.count);
  let left = first!;
  for (const right of others) {
    combineInto(result, { operator, left, right });
    left = result;
  }
  return result;
}

export interface Combination {
  readonly operator: Operator;
  readonly left: Float64Array;
  readonly right: Float64Array;
}

/**
 * Combines two operands position by position. A result that is not finite is missing. @param out may be one of the
 * operands
 */
function combineInto(out: Float64Array, { operator, left, right }: Combination): void {
  const n = out.length;
  switch (operator) {
    case '+':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! + right[i]!);
      break;
    case '-':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! - right[i]!);
      break;
    case '*':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! * right[i]!);
      break;
    case '/':
      for (let i = 0; i < n; i++) out[i] = toFinite(left[i]! / right[i]!);
      break;
    case '^':
      // ECMAScript defines NaN to the power of 0 as 1.
      for (let i = 0; i < n; i++) out[i] = left[i] === left[i] ? toFinite(raiseToPower(left[i]!, right[i]!)) : NaN;
      break;
  }
}

function computeComparison(node: ComparisonNode, source: ValueSource, evaluator: Evaluator): Uint8Array {
  const { field, comparison, value } = node;
  const result = new Uint8Array(evaluator.count);
  if (isField(field) && isPlain(field) && !source.isNumber(toFieldRequest(field))) {
    const passes = createEqualityTest(comparison, value);
    const match = source.values(toFieldRequest(field));
    for (let i = 0; i < result.length; i++) result[i] = match[i] == null ? UNKNOWN : passes(match[i]!) ? TRUE : FALSE;
    return result;
  }
  const left = evaluator.numbers(field);
  if (isExpressionNode(value)) {
    const right = evaluator.numbers(value);
    for (let i = 0; i < result.length; i++) {
      const isMissing = Number.isNaN(left[i]!) || Number.isNaN(right[i]!);
      result[i] = isMissing ? UNKNOWN : createNumberTest(comparison, right[i]!)(left[i]!) ? TRUE : FALSE;
    }
    return result;
  }
  const passes = createNumberTest(comparison, value);
  for (let i = 0; i < result.length; i++)
    result[i] = Number.isNaN(left[i]!) ? UNKNOWN : passes(left[i]!) ? TRUE : FALSE;
  return result;
}

const isPlain = ({ aggregate = 'last', transform = 'none' }: FieldLeaf | FieldRequest): boolean =>
  aggregate === 'last' && transform === 'none';

/** Creates the test of a comparison with a number. The value was checked when the expression was parsed. */
function createNumberTest(comparison: Comparison, value: unknown): (found: number) => boolean {
  const bound = value as number;
  switch (comparison) {
    case 'gt':
      return (found) => found > bound;
    case 'ge':
      return (found) => found >= bound;
    case 'lt':
      return (found) => found < bound;
    case 'le':
      return (found) => found <= bound;
    case 'between': {
      const [low, high] = value as [number, number];
      return (found) => found >= low && found <= high;
    }
    case 'eq':
    case 'ne':
    case 'in':
      return createEqualityTest(comparison, value) as (found: number) => boolean;
  }
}

function createEqualityTest(comparison: Comparison, value: unknown): (found: ReferenceValue) => boolean {
  if (comparison === 'in') {
    const acceptedValues = new Set(value as readonly unknown[]);
    return (referenceValue) => acceptedValues.has(referenceValue);
  }
  return comparison === 'ne'
    ? (referenceValue) => referenceValue !== value
    : (referenceValue) => referenceValue === value;
}

/** Data known at a decision in addition to the columns of the market. */
export interface DecisionContext {
  /** 1 for a constituent of the index before the decision, by column; null at the first decision. */
  readonly incumbents: Uint8Array | null;
  /** Returns the weights of any index, by its id. Returns null before its first one, or if no index is available. */
  indexWeights(indexId: string, basis: WeightBasis): IndexWeights | null;
  /**
   * Returns the datapoints at a scheduled review before the decision, 1 for the latest one. Null if there is none. Absent
   * outside the rules of an index.
   */
  readonly earlier?: (reviewsBack: number) => ReviewSection | null;
}

export interface ReviewSection extends Pick<ExpressionSection, 'numbers' | 'truths'> {
  readonly session: number;
}

/** Weights of the last decision, or the weights after the close of the session. */
export type WeightBasis = 'decided' | 'drifted';

export interface IndexWeights {
  readonly columns: ArrayLike<number>;
  readonly weights: ArrayLike<number>;
}

export const EMPTY_CONTEXT: DecisionContext = { incumbents: null, indexWeights: () => null };

/** Datapoints of one session that are read directly from the market. */
export interface LeafReader {
  readonly day: Day;
  readonly universe: Int32Array;
  readonly dividends: () => DividendHistory;
  /** Sessions of the calendar of the index. */
  readonly sessions: Int32Array;
  numbers(field: FieldRequest, columns: Int32Array): Float64Array;
  values(field: FieldRequest, columns: Int32Array): readonly ReferenceValue[];
  groups(field: FieldRequest, columns: Int32Array): Grouping;
  isNumber(field: FieldRequest): boolean;
  /** Returns a statistic of a series over a window of trailing sessions, [n]. */
  overSessions(series: Series, window: TrailingRequest, columns: Int32Array): Float64Array;
  /**
   * Returns the values of a series on trailing sessions, grouped by security, the latest value last, [columns *
   * length].
   */
  history(series: Series, length: number, columns: Int32Array): Float64Array;
  seriesOf(node: ExpressionNode): Series;
  onSession(series: Series, columns: Int32Array): Float64Array;
}

export interface TrailingRequest {
  readonly statistic: Statistic;
  readonly length: number;
  readonly lag: number;
  readonly observationsMin: number | 'half';
}

/** Evaluator of expressions for the securities of one session. */
export interface ExpressionSection {
  numbers(expression: DatapointExpression, columns: Int32Array): Float64Array;
  truths(condition: ExpressionNode, columns: Int32Array): Uint8Array;
  values(expression: DatapointExpression, columns: Int32Array): readonly ReferenceValue[];
  /** Returns the groups of securities by the text values of an expression. Returns null for numbers. */
  groups(expression: DatapointExpression, columns: Int32Array): Grouping | null;
  /** Returns the text column that a datapoint is or refers to. Returns undefined for numbers. */
  textField(expression: DatapointExpression): FieldRequest | undefined;
}

/** Expressions of the datapoints that a document defines. */
export interface DatapointsByName {
  readonly definitions: ReadonlyMap<string, ExpressionNode>;
  /** Returns the expression of a datapoint. Returns null for a datapoint that is read directly from the market. */
  expanded(field: FieldRequest): ExpressionNode | null;
  /** Returns true if a node, including everything it refers to, consists only of columns, constants and arithmetic. */
  isArithmetic(node: ExpressionNode): boolean;
}

export function createDatapointsByName(definitions: ReadonlyMap<string, ExpressionNode>): DatapointsByName {
  const requestByKey = new Map<string, ExpressionNode>();
  const arithmetic = new WeakMap<ExpressionNode, boolean>();
  const isOfColumns = (node: ExpressionNode): boolean => {
    if (node.node === 'value') return typeof node.value === 'number';
    if (node.node === 'arithmetic') return node.operands.every(isOfColumns);
    if (node.node !== 'field') return false;
    const field = toFieldRequest(node);
    const definition = datapointsByName.expanded(field);
    if (definition !== null) return datapointsByName.isArithmetic(definition);
    // Excludes statistics over separate windows, and returns, which a window reads only between two bars.
    return !GROWTH_DATAPOINTS.has(field.name) && field.aggregate === 'last' && field.transform === 'none';
  };
  const datapointsByName: DatapointsByName = {
    definitions,
    isArithmetic(node) {
      const result = arithmetic.get(node) ?? (node.node === 'arithmetic' && isOfColumns(node));
      arithmetic.set(node, result);
      return result;
    },
    expanded(field) {
      const definition = field.dataset === null ? definitions.get(field.name) : undefined;
      if (definition === undefined) return null;
      const key = createRequestKey(field);
      const result = requestByKey.get(key) ?? applyRequest(definition, field);
      requestByKey.set(key, result);
      return result;
    },
  };
  return datapointsByName;
}

function applyRequest(definition: ExpressionNode, { lag, window, aggregate, transform }: FieldRequest): ExpressionNode {
  const expressionNode =
    aggregate === 'last'
      ? lag === 0
        ? definition
        : createFunctionCall('last', [definition], { lag })
      : createFunctionCall(aggregate, [definition], { window: window ?? undefined, lag });
  return transform === 'none' ? expressionNode : createFunctionCall(transform, [expressionNode], {});
}

export function createExpressionSection(
  leaves: LeafReader,
  datapointsByName: DatapointsByName,
  context: DecisionContext,
): ExpressionSection {
  const { expanded } = datapointsByName;
  const valuesByColumns = new WeakMap<Int32Array, Map<ExpressionNode, Float64Array>>();

  const numbers = (expression: DatapointExpression, columns: Int32Array): Float64Array => {
    const node = isField(expression) ? expanded(toFieldRequest(expression)) : expression;
    if (node === null) return leaves.numbers(toFieldRequest(expression as FieldRequest), columns); // The field has no definition.
    if (isField(node)) return numbers(node, columns);
    const valuesByNode = valuesByColumns.get(columns) ?? new Map<ExpressionNode, Float64Array>();
    valuesByColumns.set(columns, valuesByNode);
    const result = valuesByNode.get(node) ?? evaluateNode(node, columns);
    valuesByNode.set(node, result);
    return result;
  };

  /**
   * Computes an expression for some securities. Arithmetic of columns takes one pass over the values of the session.
   * Only missing values are searched on earlier sessions.
   */
  const evaluateNode = (node: ExpressionNode, columns: Int32Array): Float64Array => {
    if (!datapointsByName.isArithmetic(node)) return createEvaluator(createSource(columns, 0)).numbers(node);
    const values = leaves.onSession(leaves.seriesOf(node), columns);
    return fillMissing(values, columns, (some) => createEvaluator(createSource(some, 0)).numbers(node));
  };

  const createSource = (columns: Int32Array, shift: number): ValueSource => {
    const shiftDigits = (field: FieldRequest): FieldRequest =>
      shift === 0 ? field : { ...field, lag: field.lag + shift };
    return {
      count: columns.length,
      numbers: (field) => numbers(shiftDigits(field), columns),
      values: (field) => computeValues(shiftDigits(field), columns),
      isNumber,
      call: (node, evaluator) => computeCall(node, { columns, shift, at: evaluator }),
    };
  };

  function computeCall(node: FunctionNode, on: CallScope): Float64Array {
    if (node.plugin !== undefined) return computePlugin(node, node.plugin, { leaves, columns: on.columns, numbers });
    const entry = findFunction(node);
    switch (entry?.form) {
      case 'cross_section':
        return computeAcrossSecurities(node, entry, on.columns);
      case 'over_time':
        return computeOverTime(node, entry, on);
      case 'decision':
        return entry.values(
          node,
          createFacts(leaves, context, { columns: on.columns, section: { values: computeValues } }),
        );
      case 'memory':
        return entry.values(node, createMemory(node, on));
      case 'elementwise':
      case undefined:
        throw new Error(`no function ${node.name}: trees are checked before they are evaluated`);
    }
  }

  function createMemory({ name }: FunctionNode, { columns, at }: CallScope): ReviewMemory {
    const { earlier } = context;
    if (earlier === undefined)
      throw new Refusal('VALIDATION_FAILED', `${name} is available only in the rules and weights of an index.`);
    const readReview = (section: ReviewSection): ReviewEvaluator => ({
      numbers: (node) => section.numbers(node, columns),
      truths: (node) => section.truths(node, columns),
    });
    return {
      count: columns.length,
      at(reviewsBack) {
        if (reviewsBack === 0) return at;
        const section = earlier(reviewsBack);
        return section && readReview(section);
      },
    };
  }

  function computeAcrossSecurities(node: FunctionNode, entry: SectionFunction, columns: Int32Array): Float64Array {
    const positions = node.over === 'universe' ? leaves.universe : columns;
    const values = numbers(node.operands[0]!, positions);
    const result =
      node.by === undefined
        ? entry.across(values, node)
        : applyInGroups(values, getGrouping(node.by, positions), (own) => entry.across(own, node));
    return positions === columns ? result : selectValues(positions, result, columns);
  }

  const getGrouping = (by: string, set: Int32Array): Grouping =>
    findGrouping(createLatestRequest(by), set) ?? groupByValue(computeValues(createLatestRequest(by), set));

  function computeOverTime(node: FunctionNode, entry: OverTimeFunction, { columns, shift }: CallScope): Float64Array {
    const [operand] = node.operands;
    const lag = (node.lag ?? 0) + shift;
    if (node.window === undefined) return createEvaluator(createSource(columns, lag)).numbers(operand!);
    const { window: length } = node;
    if (isField(operand!) && entry.aggregate !== undefined) {
      const field = toFieldRequest(operand);
      if (!isWindowed(field) && expanded(field) === null)
        return leaves.numbers({ ...field, aggregate: entry.aggregate, window: length, lag: field.lag + lag }, columns);
    }
    const observationsMin = entry.needsOne ? 1 : 'half';
    return leaves.overSessions(
      leaves.seriesOf(operand!),
      { statistic: entry.statistic, length, lag, observationsMin },
      columns,
    );
  }

  const findText = (expression: DatapointExpression) => findTextField(leaves, datapointsByName, expression);

  const isNumber = (expression: DatapointExpression): boolean => findText(expression) === undefined;

  function computeValues(expression: DatapointExpression, columns: Int32Array): readonly ReferenceValue[] {
    const text = findText(expression);
    if (text !== undefined) return leaves.values(text, columns);
    return Array.from(numbers(expression, columns), (value) => (Number.isNaN(value) ? null : value));
  }

  function findGrouping(expression: DatapointExpression, columns: Int32Array): Grouping | null {
    const text = findText(expression);
    return text === undefined ? null : leaves.groups(text, columns);
  }

  return {
    numbers,
    truths: (condition, columns) => createEvaluator(createSource(columns, 0)).truths(toNode(condition)),
    values: computeValues,
    groups: findGrouping,
    textField: findText,
  };
}

function fillMissing(
  values: Float64Array,
  columns: Int32Array,
  compute: (columns: Int32Array) => Float64Array,
): Float64Array {
  let missingCount = 0;
  for (let i = 0; i < values.length; i++) missingCount += Number(values[i]! - values[i]! !== 0);
  if (missingCount === 0) return values;
  const missingPositions = new Int32Array(missingCount);
  for (let i = 0, k = 0; k < missingCount; i++) if (values[i]! - values[i]! !== 0) missingPositions[k++] = i;
  const computedValues = compute(missingPositions.map((place) => columns[place]!));
  for (let k = 0; k < missingCount; k++) values[missingPositions[k]!] = computedValues[k]!;
  return values;
}

function computePlugin(
  { operands }: FunctionNode,
  plugin: PluginCall,
  {
    leaves,
    columns,
    numbers,
  }: { readonly leaves: LeafReader; readonly columns: Int32Array; readonly numbers: ExpressionSection['numbers'] },
): Float64Array {
  const inputs = operands.map((operand) =>
    operand.node === 'function' && operand.name === PLUGIN_FUNCTION && operand.plugin === undefined
      ? leaves.history(leaves.seriesOf(operand.operands[0]!), operand.window!, columns)
      : numbers(operand, columns),
  );
  return callPlugin(plugin, inputs, { count: columns.length, day: leaves.day });
}

/** Returns the text field to which an expression refers. Returns undefined for numbers. */
function findTextField(
  leaves: LeafReader,
  datapointsByName: DatapointsByName,
  expression: DatapointExpression,
): FieldRequest | undefined {
  if (!isField(expression)) return undefined;
  const node = datapointsByName.expanded(toFieldRequest(expression));
  if (node !== null) return findTextField(leaves, datapointsByName, node);
  const field = toFieldRequest(expression);
  return leaves.isNumber(field) ? undefined : field;
}

interface CallScope {
  readonly columns: Int32Array;
  /** Number of sessions from the session that is read to the decision. */
  readonly shift: number;
  readonly at: Evaluator;
}

function applyInGroups(
  values: Float64Array,
  { of, names }: Grouping,
  across: (values: Float64Array) => Float64Array,
): Float64Array {
  const members = names.map((): number[] => []);
  of.forEach((group, position) => members[group]!.push(position));
  const result = new Float64Array(values.length);
  for (const positions of members) {
    const groupValues = across(Float64Array.from(positions, (position) => values[position]!));
    positions.forEach((position, k) => (result[position] = groupValues[k]!));
  }
  return result;
}

/** Selects the values of some columns from the values of a set of columns. Columns outside the set are missing. */
function selectValues(set: Int32Array, values: Float64Array, columns: Int32Array): Float64Array {
  const positionByColumn = new Map(Array.from(set, (column, position) => [column, position]));
  return Float64Array.from(columns, (column) => values[positionByColumn.get(column) ?? -1] ?? NaN);
}

function createFacts(
  leaves: LeafReader,
  context: DecisionContext,
  { columns, section }: { readonly columns: Int32Array; readonly section: Pick<ExpressionSection, 'values'> },
): DecisionFacts {
  const { incumbents, indexWeights } = context;
  const { day, sessions } = leaves;
  /** Returns the position of the last session up to a day. Returns NaN outside the calendar. */
  const findPosition = (on: Day): number =>
    on < sessions[0]! || on > sessions.at(-1)! ? Number.NaN : findLastAtMost(sessions, on);
  const ages = leaves.numbers({ ...createLatestRequest('AGE'), dataset: 'derived' }, columns);
  // Facts about a security are missing before its first price.
  const mapListed = (read: (column: number) => number): Float64Array =>
    Float64Array.from(columns, (column, i) => (Number.isNaN(ages[i]!) ? NaN : read(column)));
  return {
    constituents: () => mapListed((column) => incumbents?.[column] ?? 0),
    membersOf(indexId) {
      const members = new Set(Array.from(indexWeights(indexId, 'decided')?.columns ?? []));
      return mapListed((column) => Number(members.has(column)));
    },
    weightsIn(indexId, basis) {
      const { columns: members, weights } = indexWeights(indexId, basis) ?? { columns: [], weights: [] };
      const weightByColumn = new Map(Array.from(members, (column, position) => [column, weights[position]!]));
      return mapListed((column) => weightByColumn.get(column) ?? 0);
    },
    inUniverse() {
      const universe = new Set(leaves.universe);
      return mapListed((column) => Number(universe.has(column)));
    },
    timeUntil(column, unit) {
      const texts = section.values(column, columns);
      return Float64Array.from(texts, (text) => {
        const date = typeof text === 'string' ? parseDay(text) : undefined;
        if (date === undefined) return Number.NaN;
        return unit === 'days' ? date - day : findPosition(date) - findPosition(day);
      });
    },
    yearsOfGrowth: () =>
      Float64Array.from(columns, (column) => countYearsOfGrowth(leaves.dividends(), column, leaves.day)),
  };
}

export interface SeriesSource {
  /** Returns the expression of a datapoint. Returns null for a datapoint that is read directly from the market. */
  expanded(field: FieldRequest): ExpressionNode | null;
  /** Returns the values of a numeric datapoint as stated on each session. */
  trailing(field: FieldRequest): Series;
  texts(field: FieldRequest, session: number, columns: Int32Array): readonly ReferenceValue[];
  isNumber(field: FieldRequest): boolean;
}

/**
 * Returns a function that creates the series of an expression. It creates each series only once, because windows are
 * cached by series.
 */
export function createExpressionSeries(source: SeriesSource): (node: ExpressionNode) => Series {
  const seriesByNode = new Map<ExpressionNode, Series>();
  const sharedByNode = new Map<ExpressionNode, Series>();
  const share = createSharing();
  const findSeries = (node: ExpressionNode): Series => {
    const result = seriesByNode.get(node) ?? createSeries(node);
    seriesByNode.set(node, result);
    return result;
  };

  function createSeries(node: ExpressionNode): Series {
    switch (node.node) {
      case 'field':
        return createFieldSeries(toFieldRequest(node));
      case 'value':
        return createConstantSeries(typeof node.value === 'number' ? node.value : NaN);
      case 'arithmetic':
        return createArithmeticSeries(node, findSeries);
      case 'function': {
        const [only] = node.operands;
        if (findFunction(node)?.form === 'elementwise') return computeValue(node);
        if (node.name === 'last' && node.window === undefined) return lagSeries(findSeries(only!), node.lag ?? 0);
        throw new Error(`${node.name} has no series: trees are checked before they are evaluated`);
      }
      case 'all':
      case 'any':
      case 'not':
      case 'comparison':
        throw new Error('a condition has no series: trees are checked before they are evaluated');
    }
  }

  function createFieldSeries(field: FieldRequest): Series {
    const definition = source.expanded(field);
    return definition === null ? lagSeries(source.trailing({ ...field, lag: 0 }), field.lag) : findShared(definition);
  }

  function findShared(definition: ExpressionNode): Series {
    const result = sharedByNode.get(definition) ?? share.once(findSeries(definition));
    sharedByNode.set(definition, result);
    return result;
  }

  /** Computes a function of the values of each session. */
  function computeValue(node: ExpressionNode): Series {
    return {
      fill(session, columns, out) {
        const values = (field: FieldRequest): readonly ReferenceValue[] =>
          source.texts(field, session - field.lag, columns);
        const valueSource: ValueSource = {
          count: columns.length,
          numbers(field) {
            const read = new Float64Array(columns.length);
            createFieldSeries(field).fill(session, columns, read);
            return read;
          },
          values,
          isNumber: source.isNumber,
          call() {
            throw new Error('a window reads only columns and arithmetic: trees are checked before they are evaluated');
          },
        };
        out.set(createEvaluator(valueSource).numbers(node));
      },
    };
  }
  return (node) => share.whole(findSeries(node));
}

/**
 * Shares values within one call: a datapoint that a document defines is computed once per session, however many other
 * definitions refer to it.
 */
function createSharing() {
  const wholes = new Map<Series, Series>();
  let values: Map<Series, Map<number, Float64Array>> | undefined;
  let owner: Int32Array | undefined;
  let hasShared = false;

  const createScope = (series: Series): Series => ({
    fill(session, columns, out) {
      if (values !== undefined) return series.fill(session, columns, out);
      [values, owner] = [new Map(), columns];
      try {
        series.fill(session, columns, out);
      } finally {
        [values, owner] = [undefined, undefined];
      }
    },
  });

  return {
    /** Returns a series whose values are computed once per session within a call. */
    once(series: Series): Series {
      hasShared = true;
      return {
        fill(session, columns, out) {
          if (values === undefined || columns !== owner) return series.fill(session, columns, out);
          const bySession = values.get(series) ?? new Map<number, Float64Array>();
          values.set(series, bySession);
          const known = bySession.get(session);
          if (known !== undefined) return void out.set(known);
          series.fill(session, columns, out);
          bySession.set(session, out.slice());
        },
      };
    },
    /** Returns a series each of whose calls is one scope of shared values. */
    whole(series: Series): Series {
      const isPlain = !hasShared || series.panel !== undefined;
      const result = wholes.get(series) ?? (isPlain ? series : createScope(series));
      wholes.set(series, result);
      return result;
    },
  };
}

function createArithmeticSeries(
  { operator, operands }: ArithmeticNode,
  seriesOf: (node: ExpressionNode) => Series,
): Series {
  const [first, ...otherSeries] = operands.map(seriesOf);
  if (otherSeries.length === 0) return operator === '-' ? multiplySeries(first!, createConstantSeries(-1)) : first!;
  return otherSeries.reduce(
    (leftSeries, right) =>
      operator === '*' ? multiplySeries(leftSeries, right) : combineSeries(operator, leftSeries, right),
    first!,
  );
}

function combineSeries(operator: Operator, leftSeries: Series, right: Series): Series {
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const rightValues = scratch.subarray(0, columns.length);
      leftSeries.fill(session, columns, out);
      right.fill(session, columns, rightValues);
      combineInto(out, { operator, left: out, right: rightValues });
    },
  };
}

/** Returns a series that lags by some sessions. Its values are missing before the first value of the original. */
function lagSeries(series: Series, lag: number): Series {
  if (lag === 0) return series;
  return {
    fill(session, columns, out) {
      if (session < lag) out.fill(NaN);
      else series.fill(session - lag, columns, out);
    },
  };
}
