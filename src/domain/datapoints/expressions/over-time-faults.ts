import { findFunction } from './functions/catalogue.js';
import type { Definitions } from './reads.js';
import {
  toNode,
  listChildren,
  PLUGIN_FUNCTION,
  toFieldRequest,
  type DatapointExpression,
  type ExpressionNode,
  type FieldLeaf,
  type FunctionNode,
} from './tree.js';

/** Time at which a node is read: at the decision, a number of sessions before it, or over trailing sessions. */
type EvaluationTime = 'now' | 'lag' | 'window';

/** Datapoint of a document that an expression requests over time although this is impossible. */
export interface OverTimeFault {
  /** Name of the datapoint. */
  readonly name: string;
  /** Function in the datapoint whose value is known only at decisions. */
  readonly called: string;
}

/**
 * Returns the first datapoint of a document that an expression reads with a lag or over a window although its values
 * are known only at decisions. Such datapoints compare securities, depend on decisions or are plug-ins. Over a window,
 * a statistic over a window counts too. Returns undefined if there is no such datapoint.
 */
export function findOverTimeFault(
  expression: DatapointExpression,
  definitions: Definitions,
): OverTimeFault | undefined {
  const visitedNames = new Set<string>();
  const visit = (node: ExpressionNode, evaluationTime: EvaluationTime, name: string): OverTimeFault | undefined => {
    if (node.node === 'field') return visitField(node, evaluationTime, name);
    const calledName = node.node === 'function' ? findCalledAtDecisions(node, evaluationTime) : undefined;
    if (calledName !== undefined) return { name, called: calledName };
    const timeBelow = node.node === 'function' ? findTimeBelow(node, evaluationTime) : evaluationTime;
    return findFirst(listChildren(node), ({ child }) => visit(child, timeBelow, name));
  };
  const visitField = (leaf: FieldLeaf, evaluationTime: EvaluationTime, name: string): OverTimeFault | undefined => {
    const { dataset, lag, aggregate, transform, ...own } = toFieldRequest(leaf);
    if (transform !== 'none' && evaluationTime !== 'now') return { name, called: transform };
    const definition = dataset === null ? definitions.get(own.name) : undefined;
    if (definition === undefined) return undefined;
    const definitionTime =
      aggregate === 'last' ? (lag > 0 ? mergeTimes(evaluationTime, 'lag') : evaluationTime) : 'window';
    const key = `${own.name} ${definitionTime}`;
    if (visitedNames.has(key)) return undefined;
    visitedNames.add(key);
    return visit(definition, definitionTime, own.name);
  };
  return visit(toNode(expression), 'now', '');
}

function findCalledAtDecisions(node: FunctionNode, evaluationTime: EvaluationTime): string | undefined {
  if (evaluationTime === 'now') return undefined;
  if (node.plugin !== undefined) return `the plug-in ${node.plugin.id}`;
  const form = findFunction(node)?.form;
  if (form === 'cross_section' || form === 'decision') return node.name;
  return form === 'over_time' && node.window !== undefined && evaluationTime === 'window' ? node.name : undefined;
}

function findTimeBelow(node: FunctionNode, evaluationTime: EvaluationTime): EvaluationTime {
  if (node.plugin !== undefined) return 'now';
  if (node.name === PLUGIN_FUNCTION || node.window !== undefined) return 'window';
  return node.lag === undefined ? evaluationTime : mergeTimes(evaluationTime, 'lag');
}

const mergeTimes = (leftEvaluationTime: EvaluationTime, right: EvaluationTime): EvaluationTime =>
  leftEvaluationTime === 'window' || right === 'window' ? 'window' : 'lag';

function findFirst<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = find(item);
    if (result !== undefined) return result;
  }
  return undefined;
}
