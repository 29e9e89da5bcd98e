import { SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Keys } from '#services/operations/keys.js';
import type { Principal } from './handler.js';
import { cookieIn, isRepeated, principalIn, type Sessions } from './oidc/sessions.js';
import { isToken, type Tokens } from './oidc/tokens.js';

/** A request as far as it says who sends it. */
export interface Sender {
  readonly request: Pick<Request, 'method' | 'headers' | 'url'>;
  address(): string | undefined;
}

/** Who sends a request. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN */
export type Authenticate = (sender: Sender) => Principal | Promise<Principal>;

const ANYBODY: Principal = { keyId: null, name: null, scopes: new Set(SCOPES) };

/** Who else than holders of keys is known. */
export interface SignedIn {
  /** Tokens of an OpenID provider; undefined where there is none. */
  readonly tokens: Tokens | undefined;
  /** Browsers that are signed in. */
  readonly sessions: Pick<Sessions, 'find'>;
  /** Name of the cookie of a session. */
  readonly cookie: string;
}

/**
 * Asks for a key, a token or a session when there are any; a service without keys and provider answers loopback clients
 * that are no foreign web page.
 */
export function createAuthenticate(keys: Pick<Keys, 'verify' | 'areConfigured'>, signedIn?: SignedIn): Authenticate {
  return ({ request: { method, headers, url }, address }) => {
    if (!keys.areConfigured() && signedIn?.tokens === undefined) {
      assertOwnTarget(url);
      assertOwnClient(method, headers);
      return ANYBODY;
    }
    const credential = credentialOf(headers);
    if (signedIn?.tokens !== undefined) {
      if (isToken(credential)) return signedIn.tokens.verify(credential);
      if (credential === '') return browserOf(signedIn, method, headers);
    }
    const principal = keys.verify(credential, address());
    if (principal === undefined) throw unauthenticated('The key is missing, unknown or not valid.');
    return principal;
  };
}

/** The client of a session: its writes repeat what only pages of the service can have read. */
function browserOf({ sessions, cookie }: SignedIn, method: string, headers: Headers): Principal {
  const session = sessions.find(cookieIn(headers.get('cookie'), cookie));
  if (session === undefined) throw unauthenticated('No key, token or session came with the request.');
  if (method !== 'GET' && method !== 'HEAD') {
    const origin = headers.get('origin');
    if (origin !== null && hostOf(origin) !== headers.get('host')?.toLowerCase())
      throw new Refusal('FORBIDDEN_ORIGIN', 'Writes of a session come from pages of the service alone.');
    if (!isRepeated(session, headers.get('x-csrf-token')))
      throw new Refusal('FORBIDDEN_ORIGIN', 'The header X-CSRF-Token does not repeat that of the session.');
  }
  return principalIn(session);
}

function credentialOf(headers: Headers): string {
  const authorization = headers.get('authorization');
  const bearer = authorization === null ? null : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '');
  const apiKey = headers.get('x-api-key');
  if (bearer !== null && apiKey !== null && bearer !== apiKey) {
    throw unauthenticated('Authorization and X-API-Key carry different keys.');
  }
  return bearer ?? apiKey ?? '';
}

const unauthenticated = (message: string) => new Refusal('UNAUTHENTICATED', message);

/** The line of a request may name a host of its own, as one that is meant for a proxy does. */
function assertOwnTarget(url: string): void {
  const host = URL.canParse(url) ? new URL(url).hostname : url;
  if (!isLoopbackName(host)) throw foreign(`answers to loopback names only, not to ${shown(host)}`);
}

/**
 * A web page may send requests to this machine, by its own origin or by a name it made to point here, and a proxy may
 * hand on those of others: all show in headers that a page cannot write.
 */
function assertOwnClient(method: string, headers: Headers): void {
  const host = headers.get('host');
  if (host !== null && !isLoopbackName(host.replace(/:\d+$/, '')))
    throw foreign(`answers to loopback names only, not to ${shown(host)}`);
  const forwarded = [...headers.keys()].find(isForwarding);
  if (forwarded !== undefined) throw foreign(`does not answer what a proxy forwards (${shown(forwarded)})`);
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site') throw foreign('does not answer requests that another web site begins');
  const origin = headers.get('origin');
  if (origin !== null && !isLoopbackOrigin(origin)) throw foreign(`does not answer the web origin ${shown(origin)}`);
  if (method === 'GET' || method === 'HEAD') return;
  if (origin === null && site !== null) throw foreign('takes writes of a browser with its own Origin only');
  if (origin !== null && hostOf(origin) !== host?.toLowerCase())
    throw foreign(`takes writes of its own pages only, not of those of ${shown(origin)}`);
}

const foreign = (clause: string) => new Refusal('FORBIDDEN_ORIGIN', `Without keys the service ${clause}.`);
const shown = (text: string): string => JSON.stringify(text.slice(0, 100));

/** Headers by which proxies say for whom they ask. */
const isForwarding = (name: string): boolean =>
  name === 'forwarded' || name === 'via' || name === 'x-real-ip' || name.startsWith('x-forwarded-');

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);

function isLoopbackOrigin(origin: string): boolean {
  try {
    return isLoopbackName(new URL(origin).hostname);
  } catch {
    return false;
  }
}

const LOOPBACK = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i;

/** Whether a host name or address can only mean this machine. */
export function isLoopbackName(name: string): boolean {
  return LOOPBACK.test(name);
}
