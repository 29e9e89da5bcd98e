import type { Context } from 'hono';
import type { z } from 'zod';
import type { TraceContext } from '#base/tracing/tracing.js';
import type { Body, Route, Scope } from '#contract/route.js';
import type { Refusal } from '#domain/base/refusals.js';
import type { Authorship } from '#domain/definition/versions.js';
import { EXPORT_FORMATS, type ExportFormat, FORMAT_NAMES } from '#domain/outputs/export-table.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { Precondition } from '#services/shared/documents.js';
import type { RequestedRun } from '#services/shared/run-documents.js';

/** Returns the export format of a media type. */
export function parseExportFormat(media: string): ExportFormat {
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // the routes offer only these media types
}

/** Returns the `Content-Type` of a format; text formats name their encoding. */
export function getContentType(format: ExportFormat): string {
  const { media } = EXPORT_FORMATS[format];
  return format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
}

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

/** Request body that the handler reads as a stream. */
export interface Upload {
  readonly media: string;
  /** Bytes of the body. @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST if the body is incomplete */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Request whose path, query and JSON syntax are already checked. */
export interface RouteRequest<R extends Route> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  /**
   * Parses the body by its schema. For a document, returns the JSON object. A handler must first find the resource in
   * the path, because an unknown resource is reported before an invalid body.
   * @throws Refusal VALIDATION_FAILED
   */
  body(): ParsedBody<R['body']>;
  /**
   * Returns the entries of the member that the route declares as `lines`, as lines of JSON. The member is then an empty
   * list in the body. Returns undefined for a small body.
   */
  lines(): Uint8Array | undefined;
  /** Returns the body as a stream if the route accepts its media type as a file; otherwise undefined. */
  upload(): Upload | undefined;
  /**
   * Returns the precondition in `If-Match`; undefined if the header is absent. The service checks it in the transaction
   * that writes: see `src/services/shared/documents.ts`.
   */
  precondition(): Precondition | undefined;
  /**
   * Media type of the response: the one that matches `Accept` best, or the first one for the requested format. Empty if
   * the route has no media types.
   */
  readonly media: string;
  /** Returns the raw query string after the question mark. */
  search(): string;
  /** Returns a header of the request by lower-case name. */
  header(name: string): string | undefined;
  readonly principal: Principal;
  /** Returns author and note of a write. @throws Refusal VALIDATION_FAILED for a note that is too long */
  authorship(): Authorship;
  /** Trace context of the submitted work. */
  readonly origin: JobOrigin;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Resolves to false if the key has expired or was revoked since the request. For long responses. */
  isStillAllowed(): Promise<boolean>;
}

/** Reply of a handler. It has at most one of `json`, `text`, `bytes` and `stream`, and none of them with status 204. */
export interface Reply {
  /** Default: the route's success status. */
  readonly status?: number;
  /** A value to serialise. */
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

/** Parameters that identify a run. */
export interface RunParameters {
  readonly params: { readonly index_id: string };
  readonly query: { readonly run_id?: string | undefined };
}

/** Reads the run that a request names. */
export function readRunParameters({ params, query }: RunParameters): RequestedRun {
  return { subject: params.index_id, id: query.run_id };
}
