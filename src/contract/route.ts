import type { z } from 'zod';
import type { ErrorCode } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';

/** Scope that a key needs; `open` routes need no key. */
export const SCOPES = ['read', 'write', 'run', 'data', 'publish', 'audit', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

const READING: readonly Route['scope'][] = ['open', 'read', 'audit'];
/** Returns true if the scope of a route permits no change. */
export const isReading = ({ scope }: Pick<Route, 'scope'>): boolean => READING.includes(scope);

/**
 * One route of the service, declared once. Routing, 405 answers, scopes, parsing, OpenAPI and the documentation
 * are derived from it; a route without a handler does not compile.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * Template with `{name}` parameters, as in the OpenAPI document. A last segment `*`, outside of the contract, is any
   * number of them.
   */
  readonly path: string;
  readonly scope: Scope | 'open';
  readonly tag: string;
  readonly summary: string;
  /** Description of the behaviour, in Markdown, if one sentence is not enough. */
  readonly description?: string;
  /** Path parameters. Ids are checked before anything is looked up. */
  readonly params?: z.ZodObject;
  /** Query parameters; unknown ones are refused unless `openQuery` is set. Arrays accept repetition and commas. */
  readonly query?: z.ZodObject;
  /** True for an open route that recognises a valid key and may return more for it. */
  readonly optionalKey?: true;
  /** True if the query is ignored (health and its probes). */
  readonly openQuery?: boolean;
  /** True for a write to versioned documents or data, or a deletion of results; accepts the header X-Change-Note. */
  readonly versioned?: true;
  /** Honours If-Match, as every PUT, PATCH and DELETE of an id does. */
  readonly conditional?: true;
  readonly body?: Body;
  readonly success: Success;
  /** True if the answer requires only documents, so that the route does not look at the active market. */
  readonly withoutMarket?: true;
  /**
   * Where a request names its data store: the query parameter `store_id`, the path, or the body or documents of the
   * request. Without a name it is the active store.
   */
  readonly onStore?: 'query' | 'path' | 'body';
  /** A view of the stored run that `index_id` names: its handler derives from these terms. */
  readonly view?: RunViewTerms;
  /** True if the route starts jobs and its response is not a job. */
  readonly startsJobs?: boolean;
  /** Response to a conditional request if nothing has changed. */
  readonly unchanged?: Success;
  /** Response without a body to a message that requests nothing. */
  readonly acknowledged?: Success;
  /** Error codes in addition to those of every route. */
  readonly errors: readonly ErrorCode[];
}

export interface Body {
  readonly schema: z.ZodType;
  /** No body, an empty body, `null` and `{}` are all accepted and parsed as `{}`. */
  readonly optional?: boolean;
  /** Maximum size of the body. Default: LIMITS.MAX_BODY_BYTES. */
  readonly bytesMax?: number;
  /**
   * True for a document, which the service receives as parsed JSON and validates: it returns findings, and drops
   * unknown fields with a warning. Other bodies are parsed strictly by `schema`.
   */
  readonly document?: boolean;
  /**
   * True if the handler receives the bytes of the JSON: the service parses a body of this size outside the event loop,
   * after the query.
   */
  readonly raw?: boolean;
  /** True for bodies that are not JSON: the handler receives the stream and has it written to a file. */
  readonly upload?: { readonly media: readonly string[]; readonly bytesMax: number };
  /**
   * True if the response is a report on the body: a number beyond the range of a double becomes an infinity, which the
   * report names. All other routes refuse such a number.
   */
  readonly report?: boolean;
  readonly example?: unknown;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Schema of a JSON body; absent for 204 and for binary bodies. */
  readonly schema?: z.ZodType;
  /** Media types of a body that is not JSON, or of alternatives to JSON by `Accept`. */
  readonly media?: readonly string[];
  /** Media types that the body of the request selects, regardless of `Accept`. */
  readonly mediaByBody?: readonly string[];
  readonly example?: unknown;
}

/** Keeps the literal types of a table of routes, by operation id. */
export function routes<const T extends Record<string, Route>>(table: T): T {
  return table;
}
