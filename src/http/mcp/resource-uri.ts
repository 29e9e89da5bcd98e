const SCHEME = 'divisor://service';

/** The resource that is read at an address of the service. */
export const resourceUri = (url: string): string => url.replace(/^\w+:\/\/[^/]+/, SCHEME);

/** Path and query of a resource; undefined of an address that is not one of the service. */
export function pathOfResource(uri: string): string | undefined {
  if (!uri.startsWith(`${SCHEME}/`)) return undefined;
  const { pathname, search } = new URL(uri.slice(SCHEME.length), 'http://localhost');
  return `${pathname}${search}`;
}

/** Template of the resources of a route. */
export const resourceTemplate = (path: string, query: readonly string[]): string =>
  `${SCHEME}${path}${query.length === 0 ? '' : `{?${query.join(',')}}`}`;
