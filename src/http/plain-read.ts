import type { IncomingMessage, ServerResponse } from 'node:http';

/** The head of a request as the pipeline reads it. A `Request` is one. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: HeadersRead;
  /** Aborted when the client leaves before its answer. */
  readonly signal: AbortSignal;
}

/** A request on its way to the application. */
export interface Asked {
  readonly head: RequestHead;
  /** Carries the body; undefined of a read, which has none. */
  readonly body: Request | undefined;
  readonly path: string;
  /** What comes behind the question mark. */
  readonly search: string;
  /** Who sends it, as its socket tells. */
  address(): string | undefined;
}

export interface HeadersRead extends Pick<Headers, 'get' | 'has'> {
  /** Lower-case names of all that came. */
  keys(): Iterable<string>;
}

/** Means the same however it is read: nothing in it is decoded, resolved or escaped. */
const PLAIN_PATH = /^\/[\w\-.~:/]*$/;
const DOTS = /\/\.\.?(?:\/|$)/;
const PLAIN_QUERY = /^[\w\-.~:/=&,+%]*$/;
const PLAIN_HOST = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/;

/**
 * A GET whose line and host need no reading, as most do; the adapter of `Request`, which costs as much as all that the
 * service does for a short answer, takes every other request.
 */
export function plainRead(incoming: IncomingMessage, outgoing: ServerResponse): PlainRead | undefined {
  if (incoming.method !== 'GET') return undefined;
  const target = incoming.url!; // A server's message has one.
  if (target !== lastTarget.target) {
    const read = plainTarget(target);
    if (read === undefined) return undefined;
    lastTarget = read;
  }
  const headers = new RawHeaders(incoming.rawHeaders);
  const host = headers.get('host');
  if (host !== lastHost) {
    if (host === null || !PLAIN_HOST.test(host)) return undefined;
    lastHost = host;
  }
  const { path, search } = lastTarget;
  return new PlainRead(incoming, outgoing, { path, search, host: lastHost, headers });
}

/** What a request line asks for, taken apart. */
interface PlainTarget {
  readonly target: string;
  readonly path: string;
  readonly search: string;
}

// Those found plain last: most requests ask for the same as the one before, and from the same host.
let lastTarget: PlainTarget = { target: '/', path: '/', search: '' };
let lastHost = 'localhost';

function plainTarget(target: string): PlainTarget | undefined {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const search = mark < 0 ? '' : target.slice(mark + 1);
  if (!PLAIN_PATH.test(path) || DOTS.test(path)) return undefined;
  return PLAIN_QUERY.test(search) ? { target, path, search } : undefined;
}

/** The parts of a request that were looked at. */
type Parts = Pick<PlainRead, 'path' | 'search' | 'headers'> & { readonly host: string };

/** A GET as `node:http` has it: request and head in one. */
export class PlainRead implements RequestHead, Asked {
  readonly method = 'GET';
  readonly body = undefined;
  readonly path: string;
  readonly search: string;
  readonly headers: HeadersRead;
  readonly #host: string;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #left: AbortController | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, { path, search, host, headers }: Parts) {
    this.path = path;
    this.search = search;
    this.headers = headers;
    this.#host = host;
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get url(): string {
    return `http://${this.#host}${this.#incoming.url}`;
  }

  get head(): RequestHead {
    return this;
  }

  address(): string | undefined {
    return this.#incoming.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    return (this.#left ??= whenLeft(this.#outgoing)).signal;
  }
}

function whenLeft(outgoing: ServerResponse): AbortController {
  const left = new AbortController();
  const end = (): void => {
    if (!outgoing.writableFinished) left.abort('Client connection prematurely closed.');
  };
  if (outgoing.closed) end();
  else outgoing.once('close', end);
  return left;
}

/** Names and values as they came, in turns; what came more than once is joined as `Headers` joins it. */
class RawHeaders implements HeadersRead {
  readonly #raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get(name: string): string | null {
    const raw = this.#raw;
    let value: string | null = null;
    for (let i = 0; i < raw.length; i += 2) {
      const came = raw[i]!;
      if (came.length === name.length && came.toLowerCase() === name)
        value = value === null ? raw[i + 1]! : `${value}, ${raw[i + 1]!}`;
    }
    return value;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  keys(): string[] {
    return this.#raw.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  }
}
