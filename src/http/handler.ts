import type { z } from 'zod';
import type { Body, Route, Scope } from '#contract/route.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Origin } from '#jobs/origin.js';
import type { Precondition } from '#services/shared/preconditions.js';

/** Who asks: the key, or the keyless loopback client who may do everything. */
export interface Principal {
  readonly keyId: string | null;
  /** Name of the key. */
  readonly name: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Set where `keyId` is the subject of a token: its name is the provider's, and says nothing of who it is. */
  readonly isSubject?: true;
  /** Beginnings of the ids that it may name; absent where it may name all. */
  readonly prefixes?: readonly string[];
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ParsedBody<B> = B extends Body
  ? B extends { readonly raw: true }
    ? Uint8Array
    : B extends { readonly document: true }
      ? Readonly<Record<string, unknown>>
      : z.output<B['schema']>
  : undefined;

/** A body that is read as it comes. */
export interface Upload {
  readonly media: string;
  /** @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST where it does not come whole */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A request whose path, query and JSON syntax are already checked. */
export interface RouteRequest<R extends Route> {
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  /**
   * The body by its schema; a document's body is its parsed JSON object. Called after the named resource was found,
   * because an unknown resource is reported before a bad body is.
   * @throws Refusal VALIDATION_FAILED
   */
  body(): ParsedBody<R['body']>;
  /** The body where it is of one of the media types that the route takes as files; undefined of any other. */
  upload(): Upload | undefined;
  /**
   * What `If-Match` demands of the stored document, undefined when the header is absent. Handed to the service,
   * which checks it inside the transaction that writes: see `#services/preconditions.js`.
   */
  precondition(): Precondition | undefined;
  /** The media type of the route that meets `Accept` best, the first where a format is said; empty where it has none. */
  readonly media: string;
  /** What comes behind the question mark, as it came. */
  search(): string;
  /** A header of the request by lower-case name. */
  header(name: string): string | undefined;
  readonly principal: Principal;
  /** Who writes, and why. @throws Refusal VALIDATION_FAILED for a note that is too long */
  authorship(): Authorship;
  /** Trace context of the submitted work. */
  readonly origin: Origin;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Whether the client may still ask this: its key may have expired or been revoked since. For answers that last. */
  isStillAllowed(): Promise<boolean>;
}

/** The answer of a handler: at most one of `json`, `text`, `bytes` and `stream`; none for 204. */
export interface Reply {
  /** The route's success status unless given. */
  readonly status?: number;
  /** A value to serialise. */
  readonly json?: unknown;
  /** JSON that is text already. */
  readonly text?: string;
  /** Bytes as they are stored, JSON unless `type` says otherwise. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Bytes as they come; cancelled when the client leaves. Give `length` when it is known. */
  readonly stream?: ReadableStream<Uint8Array>;
  /** Length of `stream` in bytes. */
  readonly length?: number;
  /** Media type of `bytes` or `stream`; JSON unless given. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Strong ETag without quotes: a GET whose `If-None-Match` names it is answered 304 without a body. */
  readonly etag?: string;
}

export type Handler<R extends Route> = (request: RouteRequest<R>) => Reply | Promise<Reply>;

/** One handler per route of a table. */
export type Handlers<T extends Record<string, Route>> = { readonly [K in keyof T]: Handler<T[K]> };
