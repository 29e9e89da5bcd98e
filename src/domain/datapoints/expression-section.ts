import type { Day } from '../time/days.js';
import type { ReferenceValue } from '../market/market-data.js';
import { createEvaluator, type ValueSource } from './expressions/compute.js';
import { createFunctionCall } from './expressions/canonical.js';
import { findFunction } from './expressions/functions/catalogue.js';
import type {
  SectionFunction,
  DecisionFacts,
  Evaluator,
  OverTimeFunction,
} from './expressions/functions/function-entry.js';
import {
  toNode,
  isField,
  PLUGIN_FUNCTION,
  toFieldRequest,
  type DatapointExpression,
  type ExpressionNode,
  type FunctionNode,
  type PluginCall,
} from './expressions/tree.js';
import type { Statistic } from './aggregates.js';
import { callPlugin } from './call-plugin.js';
import { GROWTH_DATAPOINTS } from './datapoint-sources.js';
import { countYearsOfGrowth, type DividendHistory } from './dividends.js';
import { isWindowed, createLatestRequest, createRequestKey, type FieldRequest } from './field-request.js';
import { groupByValue, type Grouping } from './groups.js';
import type { Series } from './series.js';

/** Data known at a decision in addition to the columns of the market. */
export interface DecisionContext {
  /** 1 for a constituent of the index before the decision, by column; null at the first decision. */
  readonly incumbents: Uint8Array | null;
  /**
   * Returns the weights of any index, by its id, at its last decision. Returns null before its first decision, or if no
   * index is available.
   */
  indexWeights(indexId: string): IndexWeights | null;
}

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
  /** Returns the values of a series on the session itself. */
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

/** Applies the requested lag, aggregate and transform to a definition. */
function applyRequest(definition: ExpressionNode, { lag, window, aggregate, transform }: FieldRequest): ExpressionNode {
  const expressionNode =
    aggregate === 'last'
      ? lag === 0
        ? definition
        : createFunctionCall('last', [definition], { lag })
      : createFunctionCall(aggregate, [definition], { window: window ?? undefined, lag });
  return transform === 'none' ? expressionNode : createFunctionCall(transform, [expressionNode], {});
}

/** Evaluates expressions over the datapoints of the market. */
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
        return entry.values(node, createFacts(leaves, context, on.columns));
      case 'elementwise':
      case undefined:
        throw new Error(`no function ${node.name}: trees are checked before they are evaluated`);
    }
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

/** Computes the missing values of some columns, in place. */
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

interface PluginInputs {
  readonly leaves: LeafReader;
  readonly columns: Int32Array;
  readonly numbers: ExpressionSection['numbers'];
}

/** Computes a function of a plug-in. */
function computePlugin(
  { operands }: FunctionNode,
  plugin: PluginCall,
  { leaves, columns, numbers }: PluginInputs,
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

/** Applies a function to each group separately. */
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

function createFacts(leaves: LeafReader, context: DecisionContext, columns: Int32Array): DecisionFacts {
  const { incumbents, indexWeights } = context;
  const ages = leaves.numbers({ ...createLatestRequest('AGE'), dataset: 'derived' }, columns);
  // Facts about a security are missing before its first price.
  const mapListed = (read: (column: number) => number): Float64Array =>
    Float64Array.from(columns, (column, i) => (Number.isNaN(ages[i]!) ? NaN : read(column)));
  return {
    constituents: () => mapListed((column) => incumbents?.[column] ?? 0),
    membersOf(indexId) {
      const members = new Set(Array.from(indexWeights(indexId)?.columns ?? []));
      return mapListed((column) => Number(members.has(column)));
    },
    weightsIn(indexId) {
      const { columns: members, weights } = indexWeights(indexId) ?? { columns: [], weights: [] };
      const weightByColumn = new Map(Array.from(members, (column, position) => [column, weights[position]!]));
      return mapListed((column) => weightByColumn.get(column) ?? 0);
    },
    yearsOfGrowth: () =>
      Float64Array.from(columns, (column) => countYearsOfGrowth(leaves.dividends(), column, leaves.day)),
  };
}
