import { API } from './api.js';
import type { Route } from './route.js';

/** Path parameters that identify a result which never changes. */
const FINAL_PARAMETERS = /\{(?:version|render_id)\}|^\/optimise\/runs\//;

/** Returns true for a route whose result never changes. */
export const isFinal = ({ path }: Route): boolean => FINAL_PARAMETERS.test(path);

/** Tags of routes whose responses are no results. */
const OTHER_TAGS: ReadonlySet<string> = new Set(['documentation', 'service', 'mcp', 'health']);

/** Returns true for a read by POST that answers with its result. The verification of a text is none. */
const isRepeatable = ({ method, path, scope, tag, success: { status = 200, schema } }: Route): boolean =>
  method === 'POST' &&
  scope === 'read' &&
  !OTHER_TAGS.has(tag) &&
  status === 200 &&
  schema !== undefined &&
  path !== API.verifyText.path;

/** Returns true for a read whose response is a result, which has an address. */
export const hasResult = (route: Route): boolean => {
  const { method, scope, tag, success } = route;
  const isRead = method === 'GET' && scope === 'read' && !OTHER_TAGS.has(tag) && success.schema !== undefined;
  return isRead || isRepeatable(route);
};

/** Segments of the paths of the reads by POST. */
const REPEATABLE_PATHS = Object.values<Route>(API)
  .filter(isRepeatable)
  .map(({ path }) => path.split('/'));

/**
 * Returns true for the path of a read by POST that can be repeated. Ids have no character that could lead to another
 * route.
 */
export const isRepeatablePath = (path: string): boolean => {
  const segments = path.split('/');
  return REPEATABLE_PATHS.some(
    (names) =>
      names.length === segments.length &&
      names.every((name, i) => (name.startsWith('{') ? /^[\w-]+$/.test(segments[i]!) : name === segments[i])),
  );
};
