import type { FieldRequest } from '../field-request.js';
import { LIMITS } from '../../refusals/limits.js';
import { readIndexName } from './functions/of-decision.js';
import {
  toNode,
  isExpressionNode,
  isWithoutColumn,
  listChildren,
  toFieldRequest,
  type ComparisonNode,
  type DatapointExpression,
  type ExpressionNode,
  type FieldLeaf,
  type FunctionNode,
} from './tree.js';

/** Expressions of the datapoints that a document defines, by name. */
export type Definitions = ReadonlyMap<string, ExpressionNode>;

/** Datapoint of the market that an expression reads. */
export interface ReadDatapoint {
  readonly field: FieldRequest;
  /** Leaf of the expression that refers to the datapoint. For the datapoint of `by=`, this is the function. */
  readonly leaf: FieldLeaf | FunctionNode;
  /** Required type of the values. Groups and comparisons with a constant accept `any`. */
  readonly as: 'number' | 'any';
  /** Comparison in which the datapoint is an operand. */
  readonly comparison: ComparisonNode | null;
  /** Plug-in input that reads the datapoint; null outside plug-ins. */
  readonly input: PluginInput | null;
}

/** Input of a plug-in. */
export interface PluginInput {
  readonly plugin: string;
  readonly name: string;
}

/** Lag and number of sessions with which a node is read. */
interface ReadContext {
  readonly lag: number;
  readonly window: number | null;
  /** Comparison with a constant of which this node is the left-hand side. */
  readonly comparison: ComparisonNode | null;
  readonly groups: boolean;
  readonly input: PluginInput | null;
}

/** Returns every datapoint of the market that an expression reads, with its lag and window. */
export function listExpressionReads(expression: DatapointExpression, definitions: Definitions): ReadDatapoint[] {
  return walkReads(expression, definitions).reads;
}

/** Returns true if an expression, including its definitions, reads more datapoints than the maximum. */
export const readsTooMuch = (expression: DatapointExpression, definitions: Definitions): boolean =>
  walkReads(expression, definitions).isTooLarge;

interface ReadTraversal {
  readonly reads: ReadDatapoint[];
  /** True if the tree reads more than `MAX_EXPRESSION_READS` datapoints. Further datapoints are not visited. */
  readonly isTooLarge: boolean;
}

function walkReads(expression: DatapointExpression, definitions: Definitions): ReadTraversal {
  const reads: ReadDatapoint[] = [];
  const visitedReads = new Set<string>();
  let steps = 0;
  const visit = (node: ExpressionNode, readContext: ReadContext, from: FieldLeaf | FunctionNode | null): void => {
    if (node.node === 'field') {
      visitField(node, readContext, from ?? node);
      return;
    }
    if (node.node === 'function' && isWithoutColumn(node)) return;
    if (node.node === 'function' && node.by !== undefined)
      visitField(
        { node: 'field', name: node.by },
        { ...readContext, lag: 0, window: null, comparison: null, groups: true },
        from ?? node,
      );
    const childContext = findReadInSubtree(node, readContext);
    listChildren(node).forEach(({ child }, i) =>
      visit(child, { ...childContext, input: findInput(node, i) ?? childContext.input }, from),
    );
  };
  const visitField = (leaf: FieldLeaf, readContext: ReadContext, from: FieldLeaf | FunctionNode): void => {
    if (++steps > LIMITS.MAX_EXPRESSION_READS) return;
    const fieldRequest = toFieldRequest(leaf);
    const definition = fieldRequest.dataset === null ? definitions.get(fieldRequest.name) : undefined;
    const lag = fieldRequest.lag + readContext.lag;
    const window = fieldRequest.aggregate === 'last' ? readContext.window : fieldRequest.window;
    const isPlain = fieldRequest.transform === 'none' && window === null;
    const comparison = isPlain ? readContext.comparison : null;
    if (definition === undefined) {
      const overSessions = window === null ? { window: fieldRequest.window } : createWindowRequest(window);
      const as = comparison !== null || (isPlain && readContext.groups) ? 'any' : 'number';
      reads.push({
        field: { ...fieldRequest, ...overSessions, lag },
        leaf: from,
        as,
        comparison,
        input: readContext.input,
      });
      return;
    }
    const definitionContext = {
      lag,
      window,
      comparison,
      groups: isPlain && readContext.groups,
      input: readContext.input,
    };
    const key = `${fieldRequest.name} ${lag} ${window} ${comparison !== null} ${definitionContext.groups}`;
    if (visitedReads.has(key)) return;
    visitedReads.add(key);
    visit(definition, definitionContext, from);
  };
  visit(toNode(expression), { lag: 0, window: null, comparison: null, groups: false, input: null }, null);
  return { reads, isTooLarge: steps > LIMITS.MAX_EXPRESSION_READS };
}

/** Returns the members of a request for a statistic over a window. */
const createWindowRequest = (window: number): Pick<FieldRequest, 'aggregate' | 'window'> => ({
  aggregate: 'count',
  window,
});

/** Returns the plug-in input of an operand. Returns undefined if the node is not a plug-in. */
function findInput(node: ExpressionNode, operand: number): PluginInput | undefined {
  const call = node.node === 'function' ? node.plugin : undefined;
  const name = call?.program?.inputs[operand]?.name;
  return call === undefined || name === undefined ? undefined : { plugin: call.id, name };
}

function findReadInSubtree(node: ExpressionNode, { lag, window, input }: ReadContext): ReadContext {
  const comparison = node.node === 'comparison' && !isExpressionNode(node.value) ? node : null;
  const childContext = { lag, window, comparison, groups: false, input };
  return node.node === 'function'
    ? { ...childContext, lag: lag + (node.lag ?? 0), window: node.window ?? window }
    : childContext;
}

/** Returns every function call in an expression and in its definitions. */
export function listCalls(expression: DatapointExpression, definitions: Definitions): FunctionNode[] {
  const calls: FunctionNode[] = [];
  const openNames = new Set<string>();
  const visit = (node: ExpressionNode): void => {
    if (node.node === 'function') calls.push(node);
    const definition = node.node === 'field' ? definitions.get(node.name) : undefined;
    if (node.node === 'field' && definition !== undefined && !openNames.has(node.name)) {
      openNames.add(node.name);
      visit(definition);
    }
    for (const { child } of listChildren(node)) visit(child);
  };
  visit(toNode(expression));
  return calls;
}

/** Returns the ids of the indices to which an expression refers. */
export function listIndices(expression: DatapointExpression, definitions: Definitions): string[] {
  const requests = listCalls(expression, definitions).filter(
    ({ name }) => name === 'member_of' || name === 'weight_in',
  );
  return [...new Set(requests.map(readIndexName))];
}

/** Returns true if an expression depends on the previous composition. */
export const readsConstituents = (expression: DatapointExpression, definitions: Definitions): boolean =>
  listCalls(expression, definitions).some(({ name }) => name === 'is_constituent');

/** Returns true if an expression reads the dividends of many calendar years. */
export const readsDividendYears = (expression: DatapointExpression, definitions: Definitions): boolean =>
  listCalls(expression, definitions).some(({ name }) => name === 'years_of_growth');

/**
 * Returns the names of a document's datapoints that form a circular definition. Returns an empty list without a cycle.
 */
export function findCircle(definitions: Definitions): readonly string[] {
  const visitedNames = new Set<string>();
  const followName = (name: string, chain: readonly string[]): readonly string[] => {
    if (chain.includes(name)) return [...chain.slice(chain.indexOf(name)), name];
    const definition = definitions.get(name);
    if (definition === undefined || visitedNames.has(name)) return [];
    for (const next of listNames(definition)) {
      const circle = followName(next, [...chain, name]);
      if (circle.length > 0) return circle;
    }
    visitedNames.add(name);
    return [];
  };
  for (const name of definitions.keys()) {
    const circle = followName(name, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

/** Returns the names of the datapoints in a tree, including those of `by=`. */
export function listNames(node: ExpressionNode): string[] {
  if (node.node === 'field') return [node.name];
  const groupNames = node.node === 'function' && node.by !== undefined ? [node.by] : [];
  return [...groupNames, ...listChildren(node).flatMap(({ child }) => listNames(child))];
}
