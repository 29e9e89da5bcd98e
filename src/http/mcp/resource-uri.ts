const SCHEME = 'divisor://service';

/** Converts an address of the service, or its path, to the URI of a resource. */
export const toResourceUri = (url: string): string => url.replace(/^(?:\w+:\/\/[^/]+)?/, SCHEME);

/**
 * Returns the path and the query of a resource URI. Returns undefined if the resource does not belong to the service.
 */
export function parseResourceUri(uri: string): string | undefined {
  if (!uri.startsWith(`${SCHEME}/`)) return undefined;
  const { pathname, search } = new URL(uri.slice(SCHEME.length), 'http://localhost');
  return `${pathname}${search}`;
}

/** Builds the URI template for the resources of a route. */
export const formatResourceTemplate = (path: string, query: readonly string[]): string =>
  `${SCHEME}${path}${query.length === 0 ? '' : `{?${query.join(',')}}`}`;
