import { SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Keys } from '#services/operations/keys.js';
import type { Principal } from './handler.js';
import type { HeadersRead } from './plain-read.js';

/** Who sends a request with these headers. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN */
export type Authenticate = (headers: HeadersRead) => Principal;

const ANYBODY: Principal = { keyId: null, name: null, scopes: new Set(SCOPES) };

/** Asks for a key when there is one; a service without keys answers loopback clients that are no foreign web page. */
export function createAuthenticate(keys: Pick<Keys, 'verify' | 'areConfigured'>): Authenticate {
  return (headers) => {
    if (keys.areConfigured()) {
      const principal = keys.verify(credentialOf(headers));
      if (principal === undefined) throw unauthenticated('The key is missing, unknown or not valid.');
      return principal;
    }
    assertLoopback(headers);
    return ANYBODY;
  };
}

function credentialOf(headers: HeadersRead): string {
  const authorization = headers.get('authorization');
  const bearer = authorization === null ? null : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '');
  const apiKey = headers.get('x-api-key');
  if (bearer !== null && apiKey !== null && bearer !== apiKey) {
    throw unauthenticated('Authorization and X-API-Key carry different keys.');
  }
  return bearer ?? apiKey ?? '';
}

const unauthenticated = (message: string) => new Refusal('UNAUTHENTICATED', message);

/**
 * A web page may send requests to this machine, by its own origin or by a name it made to point here: both show in
 * headers a page cannot write.
 */
function assertLoopback(headers: HeadersRead): void {
  const host = headers.get('host');
  if (host !== null && !isLoopbackName(host.replace(/:\d+$/, ''))) {
    throw new Refusal(
      'FORBIDDEN_ORIGIN',
      `Without keys the service answers to loopback names only, not to ${JSON.stringify(host.slice(0, 100))}.`,
    );
  }
  const origin = headers.get('origin');
  if (origin !== null && !isLoopbackOrigin(origin)) {
    throw new Refusal(
      'FORBIDDEN_ORIGIN',
      `Without keys the service does not answer the web origin ${JSON.stringify(origin.slice(0, 100))}.`,
    );
  }
}

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
