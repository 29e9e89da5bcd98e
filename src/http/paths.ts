import { TrieRouter } from 'hono/router/trie-router';
import { tryDecodeURIComponent } from 'hono/utils/url';
import type { Route } from '#contract/route.js';
import { compareText } from '#domain/refusals/findings.js';
import type { Handler, Handlers } from './handler.js';
import { createOperation, type Operation, type OperationOptions } from './pipeline.js';

export interface PathOperations {
  readonly byMethod: ReadonlyMap<string, Operation>;
  readonly allowed: readonly string[];
  /** True if all methods of the path can be called without a key. */
  readonly isOpen: boolean;
}

/** Path that matches a request. */
export interface FoundPath {
  readonly operations: PathOperations;
  /** Returns a path parameter by name, percent-decoded. */
  readonly param: (name: string) => string | undefined;
}

/**
 * Finds the operations of a path in a request. Each path is registered once and selects its method itself. A wrong
 * method therefore gives another error than an unknown path. Fixed words have priority over parameters.
 */
export function createPaths<T extends Record<string, Route>>(
  api: T,
  handlers: Handlers<T>,
  options: OperationOptions,
): (path: string) => FoundPath | undefined {
  // The router is built at once. If the first request built it, that request would be delayed.
  const router = new TrieRouter<PathOperations>();
  const fixedPaths = new Map<string, FoundPath>();
  for (const [path, operations] of groupByPath(api, handlers, options)) {
    router.add(METHOD, path.replaceAll(/\{(\w+)\}/g, ':$1'), operations);
    if (!/[{*]/.test(path)) fixedPaths.set(path, { operations, param: ignoreParams });
  }
  return (path) => {
    const foundPath = fixedPaths.get(path);
    if (foundPath !== undefined) return foundPath;
    const [found] = router.match(METHOD, path)[0];
    if (found === undefined) return undefined;
    const [operations, params] = found;
    return {
      operations,
      param(name) {
        const encodedValue = params[name];
        return typeof encodedValue === 'string' ? tryDecodeURIComponent(encodedValue) : undefined;
      },
    };
  };
}

/** Method of all entries. The router does not select by method. */
const METHOD = 'ALL';

export const ignoreParams = (): undefined => undefined;

/** Groups operations by path, fixed words first. */
function groupByPath<T extends Record<string, Route>>(
  api: T,
  handlers: Handlers<T>,
  options: OperationOptions,
): [string, PathOperations][] {
  const paths = new Map<string, Map<string, Operation>>();
  for (const [id, route] of Object.entries(api)) {
    const methods = paths.get(route.path) ?? new Map<string, Operation>();
    if (methods.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`);
    // The types of the table pair each route with its handler. The pipeline passes exactly the values that the schemas
    // of the route have parsed.
    methods.set(route.method, createOperation(id, route, handlers[id] as unknown as Handler<Route>, options));
    paths.set(route.path, methods);
  }
  return [...paths]
    .map(([path, byMethod]) => ({ path, byMethod, rank: formatSegmentOrder(path) }))
    .toSorted((a, b) => compareText(a.rank, b.rank))
    .map(({ path, byMethod }) => [path, createPathOperations(byMethod)]);
}

function createPathOperations(byMethod: Map<string, Operation>): PathOperations {
  const allowedMethods = [...byMethod.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .toSorted();
  return {
    byMethod,
    allowed: allowedMethods,
    isOpen: [...byMethod.values()].every(({ route }) => route.scope === 'open'),
  };
}

/** Returns a text that sorts paths by their segments: first fixed words, then parameters, then wildcards. */
function formatSegmentOrder(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment === '*' ? '2' : segment.startsWith('{') ? '1' : '0'))
    .join('');
}
