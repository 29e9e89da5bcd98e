import { isIP } from 'node:net';
import { isLoopbackName } from '#base/addresses.js';
import { SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import type { IsAddressOf, AccessKeys } from '#services/keys/keys.js';
import { ANONYMOUS, type Principal, type RequestContext } from '../handler.js';
import type { KeyRates } from '#services/keys/rates.js';
import { authenticateBrowser, type BrowserSessions } from '../oidc/sign-in.js';
import { isToken, type Tokens } from '../oidc/tokens.js';

/**
 * Returns the address of a client. This is the address of the connection. Behind trusted proxies, it is the last
 * address in `X-Forwarded-For` that is not a trusted proxy.
 */
export function resolveClientAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  isTrustedProxy: IsAddressOf,
): string | undefined {
  if (peer === undefined || forwardedFor === null || !isTrustedProxy(peer)) return peer;
  let client = peer;
  for (const hop of forwardedFor.split(',').toReversed()) {
    const address = hop.trim();
    if (isIP(address) === 0) return client; // earlier entries are untrusted
    client = address;
    if (!isTrustedProxy(address)) return client;
  }
  return client;
}

/** Parts of a request that identify its sender. */
export interface RequestSender {
  readonly request: Pick<Request, 'method' | 'headers' | 'url'>;
  address(): string | undefined;
}

/** Authenticates the sender of a request. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN */
export type Authenticate = (sender: RequestSender) => Principal | Promise<Principal>;

/** Returns what identifies the sender of a request. Behind trusted proxies, its address is in a header. */
export const getSender = (c: RequestContext, isTrustedProxy: IsAddressOf): RequestSender => ({
  request: c.req.raw,
  address: () => resolveClientAddress(c.env.address?.(), c.req.header('x-forwarded-for') ?? null, isTrustedProxy),
});

/** Finds the client of a request and counts the request. @throws Refusal UNAUTHENTICATED, RATE_LIMITED */
export type Identify = (c: RequestContext) => Promise<void>;

/** Creates the function that identifies clients. The client of a request from a route is already known and counted. */
export const createIdentify =
  (authenticate: Authenticate, keyRates: KeyRates, isTrustedProxy: IsAddressOf): Identify =>
  async (c) => {
    const principal = c.env.client?.principal ?? (await authenticate(getSender(c, isTrustedProxy)));
    c.set('principal', principal);
    if (c.env.client === undefined && principal.keyId !== null) keyRates.take(principal.keyId);
  };

/** Identifies the client of an open route that returns more to a known client. */
export const identifyIfPossible =
  (identify: Identify): Identify =>
  async (c) => {
    try {
      await identify(c);
    } catch (failure) {
      if (!(failure instanceof Refusal) || failure.code === 'RATE_LIMITED') throw failure;
      c.set('principal', ANONYMOUS);
    }
  };

/**
 * Returns true if a request was refused because of a wrong key. A request without a key is not a guess and is refused
 * at once.
 */
export const isRefusedKey = (c: RequestContext, failure: unknown): boolean =>
  failure instanceof Refusal &&
  failure.code === 'UNAUTHENTICATED' &&
  c.env.client === undefined &&
  (c.req.header('authorization') !== undefined || c.req.header('x-api-key') !== undefined);

const ANY_PRINCIPAL: Principal = { keyId: null, name: null, scopes: new Set(SCOPES) };

/** Authentication of clients without keys: sessions, and tokens if an OpenID provider is configured. */
export interface KeylessAuthentication extends BrowserSessions {
  readonly tokens: Tokens | undefined;
}

/**
 * Creates the function that authenticates requests. If keys, tokens or sessions are configured, a request needs one of
 * them. A service without keys and without a provider answers only clients on this machine, and no foreign web pages.
 * @param scheme scheme of the service, which is part of the origin of its pages
 */
export function createAuthenticate(
  keys: Pick<AccessKeys, 'verify' | 'areConfigured'>,
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
  const host = URL.parse(url)?.hostname ?? url;
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
  if (origin !== null && !isLoopbackName(URL.parse(origin)?.hostname ?? ''))
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
const findOrigin = (url: string): string | undefined => URL.parse(url)?.origin;
