import type { z } from 'zod';
import type { Body, Route, Scope } from '#contract/route.js';

/** Who asks: the key, or the keyless loopback client who may do everything. */
export interface Principal {
  readonly keyId: string | null;
  readonly scopes: ReadonlySet<Scope>;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ParsedBody<B> = B extends Body ? (B extends { readonly document: true } ? unknown : z.output<B['schema']>) : undefined;

/** A request whose path, query and JSON syntax are already checked. */
export interface RouteRequest<R extends Route> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  /**
   * The body by its schema; a document's body is its parsed JSON. Called after the named resource was found,
   * because an unknown resource is told before a bad body is.
   * @throws Refusal VALIDATION_FAILED
   */
  body(): ParsedBody<R['body']>;
  /** A header of the request by lower-case name. */
  header(name: string): string | undefined;
  readonly principal: Principal;
  readonly requestId: string;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

/** What a handler answers. JSON is given as a value to serialise or as bytes that are JSON already. */
export interface Reply {
  /** The route's success status unless given. */
  readonly status?: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly stream?: ReadableStream<Uint8Array>;
  /** Media type of `bytes` or `stream`; JSON unless given. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Strong ETag without quotes; the pipeline answers 304 and 412 by it. */
  readonly etag?: string;
}

export type Handler<R extends Route> = (request: RouteRequest<R>) => Reply | Promise<Reply>;

/** One handler per route of a table. */
export type Handlers<T extends Record<string, Route>> = { readonly [K in keyof T]: Handler<T[K]> };
