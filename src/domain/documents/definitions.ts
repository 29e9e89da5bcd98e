import type { Definitions } from '../datapoints/expressions/reads.js';
import { toNode, type ExpressionNode } from '../datapoints/expressions/tree.js';
import { toRequest } from '../datapoints/field-use.js';
import type { IndexDocument } from './index-document.js';
import { listPluginDefinitions } from './plugin-document.js';

const NO_DEFINITIONS: Definitions = new Map();

const expressionsByDatapoints = new WeakMap<object, Definitions>();
const definitionsWithPlugins = new WeakMap<object, { readonly own: Definitions; readonly all: Definitions }>();

type DefinedParts = Pick<IndexDocument, 'datapoints' | 'plugins'>;

/**
 * Returns the expressions and plug-ins that a document defines, by name. @cost none for a document that was used before
 */
export function readDefinitions({ datapoints, plugins }: DefinedParts): Definitions {
  const datapointDefinitions = datapoints === undefined ? NO_DEFINITIONS : listExpressions(datapoints);
  if (plugins === undefined) return datapointDefinitions;
  const entry = definitionsWithPlugins.get(plugins);
  if (entry?.own === datapointDefinitions) return entry.all;
  const all = new Map([...datapointDefinitions, ...listPluginDefinitions(plugins)]);
  definitionsWithPlugins.set(plugins, { own: datapointDefinitions, all });
  return all;
}

function listExpressions(datapoints: NonNullable<IndexDocument['datapoints']>): Definitions {
  const result =
    expressionsByDatapoints.get(datapoints) ??
    new Map(
      Object.entries(datapoints).map(([name, given]): [string, ExpressionNode] => [name, toNode(toRequest(given))]),
    );
  expressionsByDatapoints.set(datapoints, result);
  return result;
}
