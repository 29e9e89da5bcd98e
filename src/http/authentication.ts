import { SCOPES } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Keys } from '#services/keys/keys.js';
import type { Principal } from './handler.js';
import { isRepeated, readCookie, type Sessions, toPrincipal } from './oidc/sign-in.js';
import { isToken, type Tokens } from './oidc/tokens.js';

/** Parts of a request that identify its sender. */
export interface Sender {
  readonly request: Pick<Request, 'method' | 'headers' | 'url'>;
  address(): string | undefined;
}

/** Authenticates the sender of a request. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN */
export type Authenticate = (sender: Sender) => Principal | Promise<Principal>;

const ANY_PRINCIPAL: Principal = { keyId: null, name: null, scopes: new Set(SCOPES) };

/** Authentication of clients without keys. */
export interface KeylessAuthentication {
  /** Verifies the tokens of an OpenID provider; undefined if no provider is configured. */
  readonly tokens: Tokens | undefined;
  /** Sessions of signed-in browsers. */
  readonly sessions: Pick<Sessions, 'find'>;
  /** Name of the session cookie. */
  readonly cookie: string;
}

/**
 * Creates the function that authenticates requests. If keys, tokens or sessions are configured, a request needs one of
 * them. A service without keys and without a provider answers only clients on this machine, and no foreign web pages.
 * @param scheme scheme of the service, which is part of the origin of its pages
 */
export function createAuthenticate(
  keys: Pick<Keys, 'verify' | 'areConfigured'>,
  signedIn?: KeylessAuthentication,
  scheme: 'http' | 'https' = 'http',
): Authenticate {
  return ({ request: { method, headers, url }, address }) => {
    if (!keys.areConfigured() && signedIn?.tokens === undefined) {
      assertOwnTarget(url);
      assertOwnClient(method, headers, scheme);
      return ANY_PRINCIPAL;
    }
    const credential = getCredential(headers);
    if (signedIn?.tokens !== undefined) {
      if (isToken(credential)) return signedIn.tokens.verify(credential);
      if (credential === '') return authenticateBrowser(signedIn, method, headers);
    }
    const principal = keys.verify(credential, address());
    if (principal === undefined) throw refuseUnauthenticated('The key is missing, unknown or invalid.');
    return principal;
  };
}

/**
 * Authenticates the client of a session. A request that writes must repeat a value that only pages of this service can
 * read.
 */
function authenticateBrowser({ sessions, cookie }: KeylessAuthentication, method: string, headers: Headers): Principal {
  const session = sessions.find(readCookie(headers.get('cookie'), cookie));
  if (session === undefined) throw refuseUnauthenticated('No key, token or session came with the request.');
  if (method !== 'GET' && method !== 'HEAD') {
    const origin = headers.get('origin');
    if (origin !== null && findHost(origin) !== headers.get('host')?.toLowerCase())
      throw new Refusal('FORBIDDEN_ORIGIN', 'Writes of a session must come from pages of the service.');
    if (!isRepeated(session, headers.get('x-csrf-token')))
      throw new Refusal('FORBIDDEN_ORIGIN', 'The header X-CSRF-Token does not match the session.');
  }
  return toPrincipal(session);
}

function getCredential(headers: Headers): string {
  const authorization = headers.get('authorization');
  const bearer = authorization === null ? null : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '');
  const apiKey = headers.get('x-api-key');
  if (bearer !== null && apiKey !== null && bearer !== apiKey) {
    throw refuseUnauthenticated('Authorization and X-API-Key carry different keys.');
  }
  return bearer ?? apiKey ?? '';
}

const refuseUnauthenticated = (message: string) => new Refusal('UNAUTHENTICATED', message);

/** Refuses a request line that contains a full URL of another host. Such request lines are meant for a proxy. */
function assertOwnTarget(url: string): void {
  const host = URL.canParse(url) ? new URL(url).hostname : url;
  if (!isLoopbackName(host)) throw refuseForeign(`accepts only loopback host names, not ${quoteShort(host)}`);
}

/**
 * Refuses requests from foreign web pages and from proxies. A page can reach this machine from its own origin, or by a
 * host name that points here. Headers that a page cannot change reveal such requests.
 */
function assertOwnClient(method: string, headers: Headers, scheme: string): void {
  const host = headers.get('host');
  if (host !== null && !isLoopbackName(host.replace(/:\d+$/, '')))
    throw refuseForeign(`accepts only loopback host names, not ${quoteShort(host)}`);
  const forwardingHeader = [...headers.keys()].find(isForwarding);
  if (forwardingHeader !== undefined)
    throw refuseForeign(`does not accept forwarded requests (${quoteShort(forwardingHeader)})`);
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site') throw refuseForeign('does not accept requests from another web site');
  const origin = headers.get('origin');
  if (origin !== null && !isLoopbackOrigin(origin))
    throw refuseForeign(`does not accept the web origin ${quoteShort(origin)}`);
  if (method === 'GET' || method === 'HEAD') return;
  if (origin === null && site !== null) throw refuseForeign('accepts writes of browsers only with an Origin header');
  if (origin !== null && (host === null || findOrigin(origin) !== findOrigin(`${scheme}://${host}`)))
    throw refuseForeign(`accepts writes only from its own pages, not from ${quoteShort(origin)}`);
}

const refuseForeign = (clause: string) => new Refusal('FORBIDDEN_ORIGIN', `Without keys the service ${clause}.`);
const quoteShort = (text: string): string => JSON.stringify(text.slice(0, 100));

/** Returns true for headers in which a proxy names its client. */
const isForwarding = (name: string): boolean =>
  name === 'forwarded' || name === 'via' || name === 'x-real-ip' || name.startsWith('x-forwarded-');

/** Returns the origin of a URL in its canonical form: scheme, host and port, without the port of the scheme. */
const findOrigin = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined);

const findHost = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);

function isLoopbackOrigin(origin: string): boolean {
  try {
    return isLoopbackName(new URL(origin).hostname);
  } catch {
    return false;
  }
}

const LOOPBACK = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i;

/** Returns true if a host name or an address always means this machine. */
export function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name);
}

/**
 * Counter of refused keys by address. It limits how fast keys can be guessed and how much work a misconfigured client
 * causes.
 */
export interface FailedKeys {
  /**
   * Records a refused key.
   * @returns milliseconds by which the response must be delayed: 0 for the first refusals of a minute, so that a client
   * can find its mistake
   */
  note(address: string): number;
}

/** Maximum number of refusals per minute without a delay. */
const PROMPT_REFUSALS_MAX = 20;
const WINDOW_MS = 60_000;
/**
 * Delay in ms of a response to a refused key. It limits one connection to two guesses per second. The response to a
 * valid key is never delayed.
 */
const DELAY_MS = 500;
/** Maximum number of addresses that are remembered. The oldest ones are dropped. */
const ADDRESSES_MAX = 10_000;

/** @param monotonicMs a monotonic clock */
export function createFailedKeys(monotonicMs: () => number): FailedKeys {
  const windows = new Map<string, { count: number; readonly endMs: number }>();
  return {
    note(address) {
      const now = monotonicMs();
      let window = windows.get(address);
      if (window === undefined || now >= window.endMs) {
        windows.delete(address);
        window = { count: 0, endMs: now + WINDOW_MS };
        windows.set(address, window);
        if (windows.size > ADDRESSES_MAX) windows.delete(windows.keys().next().value!);
      }
      window.count++;
      return window.count > PROMPT_REFUSALS_MAX ? DELAY_MS : 0;
    },
  };
}

/** Waits until a request of a key may start; the result is undefined if it may start at once. */
export type KeyTurns = (keyId: string | null) => Promise<void> | undefined;

/**
 * Lets each key start one request per turn of the event loop. Further requests of the key wait for the following turns,
 * so that a request of another key waits for at most one of them.
 */
export function createKeyTurns(): KeyTurns {
  /** Waiting requests by key. A key that started a request in this turn has an entry. */
  const waiting = new Map<string | null, (() => void)[]>();
  const startNext = (keyId: string | null): void => {
    const start = waiting.get(keyId)!.shift();
    if (start === undefined) return void waiting.delete(keyId);
    setImmediate(startNext, keyId);
    start();
  };
  return (keyId) => {
    const line = waiting.get(keyId);
    if (line !== undefined) return new Promise((start) => line.push(start));
    waiting.set(keyId, []);
    setImmediate(startNext, keyId);
    return undefined;
  };
}

/** Rate limits of keys. Each key has a token bucket with a maximum size and a refill rate. */
export interface KeyRates {
  /** Counts one request of a key. @throws Refusal RATE_LIMITED if the bucket is empty */
  take(keyId: string): void;
}

export interface RateOptions {
  /** Monotonic clock in milliseconds. */
  readonly monotonicMs: () => number;
  readonly perSecond?: number;
  readonly burst?: number;
}

export function createKeyRates({
  monotonicMs,
  perSecond = LIMITS.MAX_KEY_REQUESTS_PER_SECOND,
  burst = LIMITS.MAX_KEY_REQUEST_BURST,
}: RateOptions): KeyRates {
  /**
   * One bucket per key. The map cannot grow beyond the number of keys, because only authenticated keys get a bucket.
   */
  const buckets = new Map<string, { left: number; atMs: number }>();
  return {
    take(keyId) {
      const now = monotonicMs();
      const bucket = buckets.get(keyId);
      if (bucket === undefined) {
        buckets.set(keyId, { left: burst - 1, atMs: now });
        return;
      }
      bucket.left = Math.min(burst, bucket.left + ((now - bucket.atMs) * perSecond) / 1000);
      bucket.atMs = now;
      if (bucket.left < 1) {
        throw new Refusal(
          'RATE_LIMITED',
          `The key exceeded its limit of ${burst} requests at once and ${perSecond} per second afterwards.`,
          { requests_per_second: perSecond, burst },
        );
      }
      bucket.left--;
    },
  };
}
