import type { Context } from 'hono';
import type { z } from 'zod';
import { formatJobParent, type TraceContext } from '#base/tracing/tracing.js';
import type { Body, Route, Scope } from '#contract/route.js';
import { type Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { type Authorship, LOCAL_AUTHOR, NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import type { JobPriority } from '#domain/outputs/job-priority.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { Precondition } from '#services/shared/documents.js';
import type { RequestedRun } from '#services/shared/run-documents.js';
import type { SentBody } from './request.js';

/** Authenticated client. It has a key, or it is a client on this machine that needs no key and has all scopes. */
export interface Principal {
  readonly keyId: string | null;
  /** Name of the key. */
  readonly name: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /**
   * True if `keyId` is `sub:` and the subject of a token. The name comes from the provider and does not identify the
   * client.
   */
  readonly isSubject?: true;
  /** Prefixes of the ids that the client may use. Default: all ids. */
  readonly prefixes?: readonly string[];
}

export const ANONYMOUS: Principal = { keyId: null, name: null, scopes: new Set() };

/** Client that a route has admitted. */
export interface AdmittedClient {
  readonly principal: Principal;
  /** Resolves to true while the client may call the route. */
  isStillAllowed(): Promise<boolean>;
}

/** Values that the application receives with a request. */
export interface Bindings {
  /** Returns the address of the socket; absent for a request of a route. */
  readonly address?: () => string | undefined;
  /** Client of the route that sends the request. */
  readonly client?: AdmittedClient;
  /** Refusal of a request that cannot be read. */
  readonly refusal?: Refusal;
  /** Set with the response: true if its body is a stream. */
  isStreamed?: boolean;
}

/** Hono context of a request. */
export interface Env {
  readonly Bindings: Bindings;
  readonly Variables: {
    readonly requestId: string;
    /** Returns the headers of every response. */
    readonly headers: () => Readonly<Record<string, string>>;
    readonly trace: TraceContext | null;
    readonly startedMs: number;
    readonly principal: Principal;
    /** Route of the request; undefined if the path does not exist or does not support the method. */
    readonly operation: { readonly id: string; readonly route: Route } | undefined;
  };
}

export type RequestContext = Context<Env>;

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ParsedBody<B> = B extends Body
  ? B extends { readonly raw: true }
    ? Uint8Array
    : B extends { readonly document: true }
      ? Readonly<Record<string, unknown>>
      : z.output<B['schema']>
  : undefined;

/** Values of a request that the schemas of its route have parsed, and a check that the client still has access. */
type ParsedValues<R extends Route> = Pick<RouteRequest<R>, 'params' | 'query' | 'media' | 'isStillAllowed'>;

/**
 * Request whose path, query and JSON syntax are already checked. A handler may take single members out of it. It is a
 * class, because getters in an object literal cost more than all other members together.
 */
export class RouteRequest<R extends Route> {
  readonly #context: RequestContext;
  readonly #sent: SentBody | undefined;
  readonly principal: Principal;
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  /**
   * Media type of the response: the one that matches `Accept` best, or the first one for the requested format. Empty if
   * the route has no media types.
   */
  readonly media: string;
  /** Resolves to false if the key has expired or was revoked since the request. For long responses. */
  readonly isStillAllowed: () => Promise<boolean>;

  constructor(context: RequestContext, sent: SentBody | undefined, values: ParsedValues<R>) {
    this.#context = context;
    this.#sent = sent;
    this.principal = context.get('principal');
    this.params = values.params;
    this.query = values.query;
    this.media = values.media;
    this.isStillAllowed = values.isStillAllowed;
  }

  /** Returns a header of the request by lower-case name. */
  get header() {
    const { req } = this.#context;
    return (name: string): string | undefined => req.header(name);
  }

  /**
   * Parses the body by its schema. For a document, returns the JSON object. A handler must first find the resource in
   * the path, because an unknown resource is reported before an invalid body.
   * @throws Refusal VALIDATION_FAILED
   */
  get body() {
    const sent = this.#sent;
    return () => sent?.read() as ParsedBody<R['body']>;
  }

  /**
   * Returns the entries of the member that the route declares as `lines`, as lines of JSON. The member is then an empty
   * list in the body. Returns undefined for a small body.
   */
  get lines() {
    const sent = this.#sent;
    return () => sent?.lines;
  }

  /** Returns the body as a stream if the route accepts its media type as a file; otherwise undefined. */
  get upload() {
    const sent = this.#sent;
    return () => sent?.upload;
  }

  /**
   * Returns the precondition in `If-Match`; undefined if the header is absent. The service checks it in the transaction
   * that writes: see `src/services/shared/documents.ts`.
   */
  get precondition() {
    const { header } = this;
    return () => parseIfMatch(header('if-match'));
  }

  /** Returns author and note of a write. @throws Refusal VALIDATION_FAILED for a note that is too long */
  get authorship() {
    const { header, principal } = this;
    const requestId = this.#context.get('requestId');
    return (): Authorship => ({
      author: principal.name ?? LOCAL_AUTHOR,
      keyId: principal.keyId,
      note: findNote(header('x-change-note')),
      requestId,
    });
  }

  /** Returns the raw query string after the question mark. */
  get search() {
    return () => getSearch(this.#context);
  }

  /** Trace context of the submitted work. */
  get origin(): JobOrigin {
    const [requestId, trace] = [this.#context.get('requestId'), this.#context.get('trace')];
    const { callback, priority } = this.query as StartQuery; // the schema of each route with callbacks or priorities has these members
    return {
      owner: this.principal.keyId,
      author: this.principal.name,
      note: findNote(this.header('x-change-note')),
      requestId,
      traceId: trace === null ? null : trace.traceId,
      ...(trace !== null && { traceParent: formatJobParent(trace) }),
      callback: callback ?? null,
      ...(priority !== undefined && { priority }),
    };
  }

  /** Aborts when the client disconnects. */
  get signal() {
    return this.#context.req.raw.signal;
  }
}

/** Reply of a handler. It has at most one of `json`, `text`, `bytes` and `stream`, and none of them with status 204. */
export interface Reply {
  /** Default: the route's success status. */
  readonly status?: number;
  readonly json?: unknown;
  /** JSON as text. */
  readonly text?: string;
  /** Stored bytes; JSON unless `type` is set. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Stream of bytes. It is cancelled when the client disconnects. Set `length` if it is known. */
  readonly stream?: ReadableStream<Uint8Array>;
  /** Length of `stream` in bytes. */
  readonly length?: number;
  /** Media type of `bytes` or `stream`. Default: JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Query members that pin the result of a read, for its address in `X-Source`. */
  readonly pins?: Readonly<Record<string, string>>;
  /** Strong ETag without quotes. A GET whose `If-None-Match` contains it gets status 304 without a body. */
  readonly etag?: string;
  /**
   * ETag of the stored document, for `If-Match`, if the body has members that are not of this document. A conditional
   * GET is then answered in full, because the members may have changed.
   */
  readonly documentEtag?: string;
}

export type Handler<R extends Route> = (request: RouteRequest<R>) => Reply | Promise<Reply>;

/** One handler per route of a table. */
export type Handlers<T extends Record<string, Route>> = { readonly [K in keyof T]: Handler<T[K]> };

export interface RunParameters {
  readonly params: { readonly index_id: string };
  readonly query: { readonly run_id?: string | undefined };
}

export function readRunParameters({ params, query }: RunParameters): RequestedRun {
  return { subject: params.index_id, id: query.run_id };
}

/** Returns the query string without the question mark. */
export function getSearch({ req: { url } }: RequestContext): string {
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? '' : url.slice(queryStart + 1);
}

/** Query members of the routes that start jobs. */
interface StartQuery {
  readonly callback?: string;
  readonly priority?: JobPriority;
}

/** Returns the note of a write, decoded as UTF-8 if possible. @throws Refusal VALIDATION_FAILED */
function findNote(header: string | undefined): string | null {
  if (header === undefined || header === '') return null;
  const note = decodeUtf8(header);
  const length = [...note].length;
  if (length <= NOTE_LENGTH_MAX) return note;
  const message = `X-Change-Note has ${length} characters; at most ${NOTE_LENGTH_MAX} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: 'X-Change-Note' }]);
}

/** Decodes a header as UTF-8 if its bytes are valid UTF-8. Headers arrive as Latin-1. */
function decodeUtf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'));
  } catch {
    return header;
  }
}

/** Parses etags and removes their quotes. A weak etag never matches, because preconditions compare strongly. */
function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  return header.split(',').flatMap((name) => /^"([^"]*)"$/.exec(name.trim())?.[1] ?? []);
}

/** Parses the terms of an uploaded file, which are in the query. @throws Refusal VALIDATION_FAILED */
export function parseTerms<S extends z.ZodType>(schema: S, query: object): z.output<S> {
  const { value, findings } = checkShape(schema, query);
  if (value === undefined) throw refuseWithFindings('query', findings);
  return value;
}

/** Refuses terms in the query of a JSON body, which contains them. @throws Refusal VALIDATION_FAILED */
export function assertNoTerms(query: object): void {
  const [name] = Object.keys(query);
  if (name === undefined) return;
  const message = `For a JSON body, ${name} must be in the body.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path: name }]);
}
