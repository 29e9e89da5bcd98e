import type { z } from 'zod';
import type { ErrorCode } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';

/** Scopes that API keys can have. Routes with the scope `open` need no key. */
export const SCOPES = ['read', 'write', 'run', 'data', 'publish', 'audit', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

const READING_SCOPES: readonly Route['scope'][] = ['open', 'read', 'audit'];
/** Returns true if the scope of a route permits only reading. */
export const isReading = ({ scope }: Pick<Route, 'scope'>): boolean => READING_SCOPES.includes(scope);

/**
 * Declaration of a route. Routing, 405 responses, scopes, parsing, OpenAPI and the documentation are derived from it. A
 * route without a handler is a compile error.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * Path with parameters in braces, such as `{name}`, as in the OpenAPI document. A last segment `*` matches any number
   * of segments. Only routes outside the contract use it.
   */
  readonly path: string;
  readonly scope: Scope | 'open';
  readonly tag: string;
  readonly summary: string;
  /** Description of the behaviour in Markdown. Only needed if the summary does not say enough. */
  readonly description?: string;
  /** Path parameters. Ids are validated before any look-up. */
  readonly params?: z.ZodObject;
  /**
   * Query parameters. Unknown parameters are refused unless `openQuery` is set. An array can be a repeated parameter or
   * a list with commas.
   */
  readonly query?: z.ZodObject;
  /** True for an open route that accepts a key and then returns more. */
  readonly optionalKey?: true;
  /** True if the query is ignored, for example by health routes. */
  readonly openQuery?: boolean;
  /**
   * True for writes to versioned documents or data, and for deletions of results. Such a route accepts the header
   * X-Change-Note.
   */
  readonly versioned?: true;
  /** True if the route checks If-Match. Every PUT, PATCH and DELETE of an id does. */
  readonly conditional?: true;
  readonly body?: Body;
  readonly success: Success;
  /** True if the response depends only on documents. The active store is then not needed. */
  readonly withoutMarket?: true;
  /**
   * Place in the request that names the data store: the query parameter `store_id`, the path, or the body or its
   * documents. If the request names none, the active store is used.
   */
  readonly onStore?: 'query' | 'path' | 'body';
  /** Terms of a view of the stored run of `index_id`. The handler is derived from them. */
  readonly view?: RunViewTerms;
  /** True if the route starts jobs although its response is not a job. */
  readonly startsJobs?: boolean;
  /** Response to a conditional request if the resource has not changed. */
  readonly unchanged?: Success;
  /** Response without a body, for a message that expects no answer. */
  readonly acknowledged?: Success;
  /** Error codes in addition to those that every route may return. */
  readonly errors: readonly ErrorCode[];
}

export interface Body {
  readonly schema: z.ZodType;
  /** True if the request may have no body. A missing body, an empty body and `null` are parsed as `{}`. */
  readonly optional?: boolean;
  /** Maximum size of the body. Default: LIMITS.MAX_BODY_BYTES. */
  readonly bytesMax?: number;
  /**
   * True if the body is a document. The service parses it as JSON and reports findings; unknown fields are dropped with
   * a warning. Every other body is parsed strictly by `schema`.
   */
  readonly document?: boolean;
  /**
   * True if the handler receives the JSON as bytes. The service parses a large body outside the event loop, after the
   * query.
   */
  readonly raw?: boolean;
  /**
   * Media types and maximum size of a body that is not JSON. The handler receives it as a stream and writes it to a
   * file.
   */
  readonly upload?: { readonly media: readonly string[]; readonly bytesMax: number };
  /**
   * True if the response is a report on the body. A number that is too large for a double is then parsed as infinity
   * and reported. All other routes refuse such a number.
   */
  readonly report?: boolean;
  readonly example?: unknown;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Schema of a JSON response; absent for status 204 and for binary responses. */
  readonly schema?: z.ZodType;
  /** Media types of a response that is not JSON, or that `Accept` can select instead of JSON. */
  readonly media?: readonly string[];
  /** Media types that the request body selects, whatever `Accept` says. */
  readonly mediaByBody?: readonly string[];
  readonly example?: unknown;
}

/** Returns a table of routes by operation id. Its literal types are preserved. */
export function defineRoutes<const T extends Record<string, Route>>(table: T): T {
  return table;
}
