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
 * route without a handler does not compile.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * Path template with `{name}` parameters, as in the OpenAPI document. A final segment `*`, which routes outside the
   * contract use, matches any number of segments.
   */
  readonly path: string;
  readonly scope: Scope | 'open';
  readonly tag: string;
  readonly summary: string;
  /** Description of the behaviour in Markdown, if the summary is not sufficient. */
  readonly description?: string;
  /** Path parameters. Ids are validated before any look-up. */
  readonly params?: z.ZodObject;
  /**
   * Query parameters. Unknown parameters are refused unless `openQuery` is set. Arrays may be repeated or separated by
   * commas.
   */
  readonly query?: z.ZodObject;
  /** True for an open route that accepts a key and may then return more. */
  readonly optionalKey?: true;
  /** True if the query is ignored, as by health routes and probes. */
  readonly openQuery?: boolean;
  /**
   * True for writes to versioned documents or data and for deletions of results. Such a route accepts the header
   * X-Change-Note.
   */
  readonly versioned?: true;
  /** True if the route honours If-Match, as every PUT, PATCH and DELETE of an id does. */
  readonly conditional?: true;
  readonly body?: Body;
  readonly success: Success;
  /** True if the response depends only on documents, so that the active store is not needed. */
  readonly withoutMarket?: true;
  /**
   * Location of the data store in a request: the query parameter `store_id`, the path, or the body or documents of the
   * request. Default store: the active store.
   */
  readonly onStore?: 'query' | 'path' | 'body';
  /** Terms of a view of the stored run of `index_id`, from which the handler is derived. */
  readonly view?: RunViewTerms;
  /** True if the route starts jobs but its response is not a job. */
  readonly startsJobs?: boolean;
  /** Response to a conditional request if nothing has changed. */
  readonly unchanged?: Success;
  /** Response without a body to a message that expects no answer. */
  readonly acknowledged?: Success;
  /** Error codes in addition to those that every route may return. */
  readonly errors: readonly ErrorCode[];
}

export interface Body {
  readonly schema: z.ZodType;
  /** True if the body may be omitted. A missing or empty body and `null` are parsed as `{}`. */
  readonly optional?: boolean;
  /** Maximum size of the body. Default: LIMITS.MAX_BODY_BYTES. */
  readonly bytesMax?: number;
  /**
   * True for a document, which the service parses as JSON and validates with findings; unknown fields are dropped with
   * a warning. Other bodies are parsed strictly by `schema`.
   */
  readonly document?: boolean;
  /**
   * True if the handler receives the JSON bytes: the service parses a large body outside the event loop, after the
   * query.
   */
  readonly raw?: boolean;
  /**
   * Accepted media types and maximum size of a body that is not JSON. The handler receives the stream and writes it to
   * a file.
   */
  readonly upload?: { readonly media: readonly string[]; readonly bytesMax: number };
  /**
   * True if the response is a report on the body. A number beyond the range of a double is then parsed as infinity and
   * reported; all other routes refuse such a number.
   */
  readonly report?: boolean;
  readonly example?: unknown;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Schema of a JSON body; absent for 204 and for binary bodies. */
  readonly schema?: z.ZodType;
  /** Media types of a body that is not JSON, or of alternatives to JSON selected by `Accept`. */
  readonly media?: readonly string[];
  /** Media types that are selected by the request body, regardless of `Accept`. */
  readonly mediaByBody?: readonly string[];
  readonly example?: unknown;
}

/** Preserves the literal types of a table of routes by operation id. */
export function defineRoutes<const T extends Record<string, Route>>(table: T): T {
  return table;
}
