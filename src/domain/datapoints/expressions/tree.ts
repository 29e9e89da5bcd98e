import type { SandboxProgram } from '#base/sandbox/sandbox.js';
import { createLatestRequest, type FieldRequest } from '../field-request.js';

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
  name === 'years_of_growth' || name === 'member_of' || name === 'weight_in' || name === 'is_constituent';

/** Path of a node below a root, as names of JSON members. */
export type NodePath = readonly (string | number)[];

/** Returns the direct children of a node, with their paths. */
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
