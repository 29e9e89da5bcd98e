import type { z } from 'zod';
import type { ErrorCode } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';

/** Scope that a key needs; `open` routes need no key. */
export const SCOPES = ['read', 'write', 'run', 'data', 'publish', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

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
  /** More than a sentence about behaviour, in Markdown. */
  readonly description?: string;
  /** Path parameters. Ids are checked before anything is looked up. */
  readonly params?: z.ZodObject;
  /** Query parameters; unknown ones are refused unless `openQuery` is set. Arrays accept repetition and commas. */
  readonly query?: z.ZodObject;
  /** Of an open route: a valid key is recognised, and may receive more. */
  readonly optionalKey?: true;
  /** The query is ignored altogether (health and its probes). */
  readonly openQuery?: boolean;
  /** Writes what has versions, a document or data, or deletes results: takes the header X-Change-Note. */
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
  /** Starts jobs and answers something else than one. */
  readonly startsJobs?: boolean;
  /** Response to a conditional request if nothing has changed. */
  readonly unchanged?: Success;
  /** Response without a body to a message that asks for nothing. */
  readonly acknowledged?: Success;
  /** Error codes in addition to those of every route. */
  readonly errors: readonly ErrorCode[];
}

export interface Body {
  readonly schema: z.ZodType;
  /** No body, an empty body, `null` and `{}` are all accepted and parsed as `{}`. */
  readonly optional?: boolean;
  /** Longest accepted body. Default: LIMITS.MAX_BODY_BYTES. */
  readonly bytesMax?: number;
  /**
   * A document is handed to its service as parsed JSON: the service's own validation words the findings
   * and drops unknown fields with a warning. Other bodies are parsed strictly by `schema`.
   */
  readonly document?: boolean;
  /**
   * The handler gets the bytes of the JSON as they came: a body of this size is parsed off the event loop, by its
   * service, after the query.
   */
  readonly raw?: boolean;
  /** Bodies that are no JSON: the handler gets them as they come, and has them written to a file. */
  readonly upload?: { readonly media: readonly string[]; readonly bytesMax: number };
  /**
   * The answer is a report on the body: a number beyond the range of a double is left in it as an infinity
   * for the report to name, where every other route refuses it first.
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
  /** Media types of answers that the body of the request asks for, whatever `Accept` prefers. */
  readonly mediaByBody?: readonly string[];
  readonly example?: unknown;
}

/** Keeps the literal types of a table of routes, by operation id. */
export function routes<const T extends Record<string, Route>>(table: T): T {
  return table;
}
