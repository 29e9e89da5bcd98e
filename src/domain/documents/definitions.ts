import type { Definitions } from '../datapoints/expressions/reads.js';
import { toNode, type ExpressionNode } from '../datapoints/expressions/tree.js';
import { toRequest } from '../datapoints/field-use.js';
import type { IndexDocument } from './index-document.js';
import { listPluginDefinitions } from './plugin-document.js';

const NONE: Definitions = new Map();

const known = new WeakMap<object, Definitions>();
const withPlugins = new WeakMap<object, { readonly own: Definitions; readonly all: Definitions }>();

type Named = Pick<IndexDocument, 'datapoints' | 'plugins'>;

/**
 * Returns the expressions and plug-ins that a document defines, by name. @cost none for a document that was used before
 */
export function readDefinitions({ datapoints, plugins }: Named): Definitions {
  const own = datapoints === undefined ? NONE : expressionsOf(datapoints);
  if (plugins === undefined) return own;
  const entry = withPlugins.get(plugins);
  if (entry?.own === own) return entry.all;
  const all = new Map([...own, ...listPluginDefinitions(plugins)]);
  withPlugins.set(plugins, { own, all });
  return all;
}

function expressionsOf(datapoints: NonNullable<IndexDocument['datapoints']>): Definitions {
  const result =
    known.get(datapoints) ??
    new Map(
      Object.entries(datapoints).map(([name, given]): [string, ExpressionNode] => [name, toNode(toRequest(given))]),
    );
  known.set(datapoints, result);
  return result;
}
