import type { Definitions } from '../datapoints/expressions/reads.js';
import { asNode, type ExpressionNode } from '../datapoints/expressions/tree.js';
import { requested } from '../datapoints/field-use.js';
import type { IndexDocument } from './index-document.js';

const NONE: Definitions = new Map();

const known = new WeakMap<object, Definitions>();

/** Expressions that a document names, by their names. @cost nothing for a document that was asked before */
export function definitionsOf({ datapoints }: Pick<IndexDocument, 'datapoints'>): Definitions {
  if (datapoints === undefined) return NONE;
  const found =
    known.get(datapoints) ??
    new Map(
      Object.entries(datapoints).map(([name, given]): [string, ExpressionNode] => [name, asNode(requested(given))]),
    );
  known.set(datapoints, found);
  return found;
}
