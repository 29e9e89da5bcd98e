import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import type { ReferenceValue } from '../market/market-data.js';
import { createLatestRequest, type FieldRequest, isWindowed } from './fields.js';

export const COMPARISONS = ['gt', 'ge', 'lt', 'le', 'eq', 'ne', 'in', 'between'] as const;
export type Comparison = (typeof COMPARISONS)[number];

export const OPERATORS = ['+', '-', '*', '/', '^'] as const;
export type Operator = (typeof OPERATORS)[number];

export type Constant = number | string | boolean | readonly (number | string | boolean)[];

/**
 * Text of a tree, present only at its root. Responses contain it. Requests may contain it, but it is then ignored and
 * computed from the nodes.
 */
interface RootText {
  readonly text?: string | undefined;
}

export interface ValueNode extends RootText {
  readonly node: 'value';
  readonly value: Constant;
}

/** Datapoint; absent members have their defaults. */
export interface FieldLeaf extends RootText {
  readonly node: 'field';
  readonly name: string;
  readonly dataset?: FieldRequest['dataset'] | undefined;
  readonly lag?: number | undefined;
  readonly window?: number | null | undefined;
  readonly aggregate?: FieldRequest['aggregate'] | undefined;
  readonly transform?: FieldRequest['transform'] | undefined;
}

export interface ArithmeticNode extends RootText {
  readonly node: 'arithmetic';
  readonly operator: Operator;
  /** Operands from left to right. A single operand is negated. */
  readonly operands: readonly ExpressionNode[];
}

export interface FunctionNode extends RootText {
  readonly node: 'function';
  readonly name: string;
  readonly operands: readonly ExpressionNode[];
  readonly by?: string | undefined;
  readonly over?: 'selection' | 'universe' | undefined;
  readonly window?: number | undefined;
  readonly lag?: number | undefined;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** Plug-in of a document's datapoint; no expression text can refer to it. */
  readonly plugin?: PluginCall | undefined;
}

/** Name of the functions that call a plug-in and that pass trailing sessions to it. */
export const PLUGIN_FUNCTION = 'plug-in';

export interface PluginCall {
  readonly id: string;
  /** Program that is called with the operands. Null in a stored document. */
  readonly program: SandboxProgram | null;
}

export interface ComparisonNode extends RootText {
  readonly node: 'comparison';
  readonly field: ExpressionNode;
  readonly comparison: Comparison;
  /** Constant or expression on the right-hand side. */
  readonly value: unknown;
}

/** Expression for one security: a number, or a condition of `all`, `any`, `not` and comparisons. */
export type ExpressionNode =
  | { readonly node: 'all'; readonly operands: readonly ExpressionNode[]; readonly text?: string | undefined }
  | { readonly node: 'any'; readonly operands: readonly ExpressionNode[]; readonly text?: string | undefined }
  | { readonly node: 'not'; readonly operand: ExpressionNode; readonly text?: string | undefined }
  | ComparisonNode
  | FieldLeaf
  | ValueNode
  | ArithmeticNode
  | FunctionNode;

/** Value that a rule reads for every security: a datapoint, or an expression of datapoints. */
export type DatapointExpression = FieldRequest | ExpressionNode;

export const isExpressionNode = (value: unknown): value is ExpressionNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && 'node' in value;

/** Returns true if an expression is a single datapoint that the market may provide directly. */
export const isField = (expression: DatapointExpression): expression is FieldRequest | FieldLeaf =>
  !('node' in expression) || expression.node === 'field';

/** Returns an expression as a tree; a datapoint becomes a leaf. */
export function toNode(expression: DatapointExpression): ExpressionNode {
  return 'node' in expression ? expression : { node: 'field', ...expression };
}

/** Returns a datapoint as a request, with defaults for absent members. */
export function toFieldRequest(field: FieldRequest | FieldLeaf): FieldRequest {
  const { name, dataset, lag, window, aggregate, transform } = field;
  return createLatestRequest(name, {
    dataset: dataset ?? null,
    lag: lag ?? 0,
    window: window ?? null,
    aggregate: aggregate ?? 'last',
    transform: transform ?? 'none',
  });
}

/**
 * Returns true if the operands of a function are not datapoints. This is the case for DIVIDEND, which is a corporate
 * action, and for an index, which is given by its id.
 */
export const isWithoutColumn = ({ name }: FunctionNode): boolean =>
  name === 'years_of_growth' || name === 'is_constituent' || name === 'in_universe' || INDEX_FUNCTIONS.has(name);

/** Functions whose operand is the id of an index. */
export const INDEX_FUNCTIONS: ReadonlySet<unknown> = new Set(['member_of', 'weight_in', 'drifted_weight_in']);

/** Path of a node below a root, as names of JSON members. */
export type NodePath = readonly (string | number)[];

export function listChildren(node: ExpressionNode): { readonly child: ExpressionNode; readonly path: NodePath }[] {
  switch (node.node) {
    case 'field':
    case 'value':
      return [];
    case 'not':
      return [{ child: node.operand, path: ['operand'] }];
    case 'comparison': {
      const left = { child: node.field, path: ['field'] };
      return isExpressionNode(node.value) ? [left, { child: node.value, path: ['value'] }] : [left];
    }
    case 'all':
    case 'any':
    case 'arithmetic':
    case 'function':
      return node.operands.map((child, i) => ({ child, path: ['operands', i] }));
  }
}

/** Returns the comparisons in a condition, each with its path below the root, such as `operands[0].operand`. */
export function listComparisons(
  node: ExpressionNode,
  path = '',
): { readonly node: ComparisonNode; readonly path: string }[] {
  if (node.node === 'comparison') return [{ node, path }];
  const join = (part: string) => (path === '' ? part : `${path}.${part}`);
  if (node.node === 'not') return listComparisons(node.operand, join('operand'));
  if (node.node !== 'all' && node.node !== 'any') return [];
  return node.operands.flatMap((operand, i) => listComparisons(operand, join(`operands[${i}]`)));
}

/** Returns the type of the comparison value, or of its entries. The datapoint must have values of this type. */
export function findValueType(node: ComparisonNode): 'number' | 'string' | 'boolean' {
  if (isExpressionNode(node.value)) return 'number';
  const sample: unknown = Array.isArray(node.value) ? node.value[0] : node.value;
  return typeof sample === 'number' ? 'number' : typeof sample === 'string' ? 'string' : 'boolean';
}

type FunctionOptions = Omit<FunctionNode, 'node' | 'name' | 'operands' | 'text'>;

/**
 * Returns the canonical tree of an expression. Redundant members are dropped, aggregates and transforms of fields
 * become functions, and chains of one operator become one node. The values of the tree are bit-identical to those of
 * the expression.
 */
export function toCanonical(expression: DatapointExpression): ExpressionNode {
  if (!('node' in expression)) return toCanonicalField(expression);
  const node = expression;
  switch (node.node) {
    case 'field':
      return toCanonicalField(toFieldRequest(node));
    case 'value':
      return { node: 'value', value: node.value === 0 ? 0 : node.value };
    case 'arithmetic': {
      const operands = node.operands.map(toCanonical);
      if (operands.length === 1) return node.operator === '-' ? createNegation(operands[0]!) : operands[0]!;
      if (node.operator === '^')
        return operands.slice(0, -1).reduceRight((power, base) => joinOperands('^', base, power), operands.at(-1)!);
      return operands
        .slice(1)
        .reduce((leftExpressionNode, right) => joinOperands(node.operator, leftExpressionNode, right), operands[0]!);
    }
    case 'function':
      return createFunctionCall(node.name, node.operands.map(toCanonical), node);
    case 'not':
      return { node: 'not', operand: toCanonical(node.operand) };
    case 'all':
    case 'any':
      return combineConditions(node.node, node.operands.map(toCanonical));
    case 'comparison': {
      const { comparison } = node;
      const value = isExpressionNode(node.value) ? toCanonical(node.value) : node.value;
      const constant = isExpressionNode(value) && value.node === 'value' ? value.value : value;
      return { node: 'comparison', field: toCanonical(node.field), comparison, value: constant };
    }
  }
}

function toCanonicalField(field: FieldRequest): ExpressionNode {
  const { aggregate, transform, window, lag } = field;
  const fieldNode = aggregate === 'last' ? createFieldNode(field) : createFieldNode({ ...field, lag: 0 });
  const aggregateNode =
    aggregate === 'last' ? fieldNode : createFunctionCall(aggregate, [fieldNode], { window: window ?? undefined, lag });
  return transform === 'none' ? aggregateNode : createFunctionCall(transform, [aggregateNode], {});
}

/** Returns a datapoint with only the members that differ from its defaults. */
export function createFieldNode(field: FieldRequest): FieldLeaf {
  const { name, dataset, lag, window } = field;
  return {
    node: 'field',
    name,
    ...(dataset === null ? {} : { dataset }),
    ...(lag === 0 ? {} : { lag }),
    ...(window !== null && isWindowed(field) ? { window } : {}),
  };
}

/**
 * Joins two operands by an operator. If the left operand has the same operator, its operands are added to the new node.
 */
export function joinOperands(
  operator: Operator,
  leftExpressionNode: ExpressionNode,
  right: ExpressionNode,
): ArithmeticNode {
  const isChain =
    operator !== '^' &&
    leftExpressionNode.node === 'arithmetic' &&
    leftExpressionNode.operator === operator &&
    leftExpressionNode.operands.length > 1;
  return {
    node: 'arithmetic',
    operator,
    operands: isChain ? [...leftExpressionNode.operands, right] : [leftExpressionNode, right],
  };
}

export function createNegation(operand: ExpressionNode): ExpressionNode {
  if (operand.node === 'value' && typeof operand.value === 'number')
    return { node: 'value', value: operand.value === 0 ? 0 : -operand.value };
  return { node: 'arithmetic', operator: '-', operands: [operand] };
}

export function combineConditions(kind: 'all' | 'any', operands: readonly ExpressionNode[]): ExpressionNode {
  const flatOperands = operands.flatMap((operand) => (operand.node === kind ? operand.operands : [operand]));
  if (flatOperands.length === 0) return { node: 'value', value: kind === 'all' };
  return flatOperands.length === 1 ? flatOperands[0]! : { node: kind, operands: flatOperands };
}

/** Creates a function call; `last` without a window only shifts a field. */
export function createFunctionCall(
  name: string,
  operands: readonly ExpressionNode[],
  { by, over, window, lag, low, high }: FunctionOptions,
): ExpressionNode {
  const [only, ...otherExpressionNodes] = operands;
  if (
    name === 'last' &&
    window === undefined &&
    lag !== undefined &&
    only !== undefined &&
    otherExpressionNodes.length === 0
  ) {
    if (lag === 0) return only;
    if (only.node === 'field') return { ...only, lag: (only.lag ?? 0) + lag };
  }
  return {
    node: 'function',
    name,
    operands,
    ...(by === undefined ? {} : { by }),
    ...(over === undefined || over === 'selection' ? {} : { over }),
    ...(low === undefined ? {} : { low }),
    ...(high === undefined ? {} : { high }),
    ...(window === undefined ? {} : { window }),
    ...(lag === undefined || (lag === 0 && window !== undefined) ? {} : { lag }),
  };
}

/** Truth values of Kleene's three-valued logic. A comparison is unknown if its datapoint is missing. */
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

/** Exponents of the base units of a quantity. */
export interface Dimensions {
  readonly money: number;
  readonly shares: number;
  readonly sessions: number;
  readonly years: number;
}

/** Unit of a quantity; null if unknown. A constant matches every unit. */
export type Unit = Dimensions | 'constant' | null;

const NO_DIMENSIONS: Dimensions = { money: 0, shares: 0, sessions: 0, years: 0 };
const createDimensions = (powers: Partial<Dimensions>): Dimensions => ({ ...NO_DIMENSIONS, ...powers });

/** Unit of a dimensionless number, such as a share, a score or a rank. */
export const DIMENSIONLESS: Unit = NO_DIMENSIONS;
export const YEARS: Unit = createDimensions({ years: 1 });

const PRICE = createDimensions({ money: 1, shares: -1 });
const SHARES = createDimensions({ shares: 1 });
const MONEY = createDimensions({ money: 1 });

/** Units of the columns and datapoints with a defined meaning. */
const UNITS: ReadonlyMap<string, Dimensions> = new Map([
  ['OPEN', PRICE],
  ['HIGH', PRICE],
  ['LOW', PRICE],
  ['CLOSE', PRICE],
  ['VOLUME', SHARES],
  ['SHARES_OUTSTANDING', SHARES],
  ['FREE_FLOAT', NO_DIMENSIONS],
  ['MARKET_CAP', MONEY],
  ['FREE_FLOAT_MARKET_CAP', MONEY],
  ['VALUE_TRADED', MONEY],
  ['RETURN', NO_DIMENSIONS],
  ['PRICE_RETURN', NO_DIMENSIONS],
  ['VOLATILITY', NO_DIMENSIONS],
  ['MOMENTUM', NO_DIMENSIONS],
  ['DIVIDEND_YIELD', NO_DIMENSIONS],
  ['BETA', NO_DIMENSIONS],
  ['AGE', createDimensions({ sessions: 1 })],
]);

export const findFieldUnit = (name: string): Unit => UNITS.get(name) ?? null;

/** Two units that do not match. */
export interface UnitClash {
  readonly left: Dimensions;
  readonly right: Dimensions;
}

export const isClash = (unit: Unit | UnitClash): unit is UnitClash =>
  unit !== null && unit !== 'constant' && 'left' in unit;

/** Returns the common unit of quantities that are added, compared or chosen from, or two units that do not match. */
export function findCommonUnit(units: readonly Unit[]): Unit | UnitClash {
  let dimensions: Dimensions | undefined;
  for (const unit of units) {
    if (unit === null || unit === 'constant') continue;
    if (dimensions !== undefined && !isSame(dimensions, unit)) return { left: dimensions, right: unit };
    dimensions = unit;
  }
  if (units.includes(null)) return null;
  return dimensions ?? 'constant';
}

const isSame = (a: Dimensions, b: Dimensions): boolean =>
  a.money === b.money && a.shares === b.shares && a.sessions === b.sessions && a.years === b.years;

/** Returns the unit of a product, or of a quotient for `sign` -1. */
export function multiplyUnits(leftUnit: Unit, right: Unit, sign: 1 | -1): Unit {
  if (leftUnit === null || right === null) return null;
  if (leftUnit === 'constant' && right === 'constant') return 'constant';
  const [a, b] = [leftUnit === 'constant' ? NO_DIMENSIONS : leftUnit, right === 'constant' ? NO_DIMENSIONS : right];
  return createDimensions({
    money: a.money + sign * b.money,
    shares: a.shares + sign * b.shares,
    sessions: a.sessions + sign * b.sessions,
    years: a.years + sign * b.years,
  });
}

/** Returns the unit of a power. Null if the base has a unit and the exponent is not a constant. */
export function raiseUnit(base: Unit, exponent: number | undefined): Unit {
  if (base === null || base === 'constant' || isSame(base, NO_DIMENSIONS)) return base;
  if (exponent === undefined) return null;
  return createDimensions({
    money: base.money * exponent,
    shares: base.shares * exponent,
    sessions: base.sessions * exponent,
    years: base.years * exponent,
  });
}

/** Describes a unit in words: `money per share`, `number`; null if unknown. */
export function formatUnit(unit: Unit): string | null {
  if (unit === null) return null;
  if (unit === 'constant') return 'number';
  const formatPowers = (power: (value: number) => boolean) =>
    (Object.entries(unit) as [string, number][])
      .filter(([, value]) => power(value))
      .map(([name, value]) => (Math.abs(value) === 1 ? name : `${name}^${Math.abs(value)}`));
  const [above, below] = [formatPowers((value) => value > 0), formatPowers((value) => value < 0)];
  if (above.length === 0 && below.length === 0) return 'number';
  const singularNames = below.map((name) => name.replace(/s$/, ''));
  return [above.join(' x ') || '1', ...singularNames].join(' per ');
}

export interface FieldUse {
  readonly field: DatapointExpression;
  /**
   * Path of the parameter that names the datapoint, below `params`. Empty if no parameter names it, because the class
   * determines it.
   */
  readonly path: string;
  /** Use of the values: as numbers, as categories, or of any type. */
  readonly as: 'number' | 'category' | 'any' | 'condition';
  /** True if values are read as money in index currency, regardless of the datapoint. */
  readonly money: boolean;
  readonly comparison?: ComparisonNode;
}

export function useNumber(field: DatapointExpression | string, path = '', money = false): FieldUse {
  return { field: toRequest(field), path, as: 'number', money };
}

/** Returns the datapoint of a parameter. A plain name means its latest value. */
export function toRequest(field: DatapointExpression | string): DatapointExpression {
  return typeof field === 'string' ? createLatestRequest(field) : field;
}

export function useCondition(field: ExpressionNode, path: string): FieldUse {
  return { field, path, as: 'condition', money: false };
}

/** Returns the use of a datapoint whose values are groups. */
export function useCategory(name: string, path = ''): FieldUse {
  return { field: createLatestRequest(name), path, as: 'category', money: false };
}

/** Returns the group of a value as text. A missing value (null) forms a separate group. */
export function readGroup(value: ReferenceValue): string | null {
  return value === null ? null : String(value);
}
