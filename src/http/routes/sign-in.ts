import { z } from 'zod';
import { defineRoutes, type Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';
import { readCookie, isRepeated, SESSION_MS, type Sessions } from '../oidc/sessions.js';
import type { Attempt, SignIn } from '../oidc/sign-in.js';

const page = { scope: 'open', tag: 'sign-in', openQuery: true, errors: [] } as const;

/** Routes for signing in with a browser. They are not part of the contract; programs send tokens. */
export const signInRoutes = defineRoutes({
  beginSignIn: {
    ...page,
    method: 'GET',
    path: '/auth/login',
    summary: 'Redirects the browser to the provider.',
    success: { status: 200, description: 'A redirection.' },
  },
  finishSignIn: {
    ...page,
    method: 'GET',
    path: '/auth/callback',
    summary: 'Receives the browser from the provider.',
    success: { status: 200, description: 'A redirection.' },
  },
  getSession: {
    ...page,
    method: 'GET',
    path: '/auth/session',
    summary: 'Returns the signed-in client, and the token that writes must contain.',
    success: { status: 200, description: 'The session.' },
  },
  endSession: {
    ...page,
    method: 'DELETE',
    path: '/auth/session',
    summary: 'Signs out.',
    body: { schema: z.unknown(), optional: true },
    success: { status: 204, description: 'No client is signed in.' },
  },
});

export interface SignInOptions {
  /** Undefined if no provider is configured for browsers. */
  readonly signIn: SignIn | undefined;
  readonly sessions: Sessions;
  /** Current time in milliseconds since 1970. */
  readonly now: () => number;
  /** True if the service itself uses HTTPS. */
  readonly isSecure: boolean;
  /** Address of the service for browsers. Default: the address in the request. */
  readonly publicUrl: string | undefined;
}

/**
 * Returns the name of the session cookie. If the name has a prefix, browsers accept the cookie only from this host over
 * HTTPS.
 */
export const formatSessionCookieName = (isSecure: boolean): string => (isSecure ? '__Host-divisor' : 'divisor_session');
const formatAttemptCookieName = (isSecure: boolean): string => (isSecure ? '__Host-divisor_login' : 'divisor_login');
const ATTEMPT_SECONDS = 600;
const SESSION_SECONDS = SESSION_MS / 1000;

/** Sealed attempt with its end. */
type TimedAttempt = Attempt & { readonly ends: number };

type PageRequest = Pick<RouteRequest<Route>, 'header'>;

export function createSignInHandlers(options: SignInOptions): Handlers<typeof signInRoutes> {
  const { signIn, sessions, isSecure, publicUrl, now } = options;
  const isHttps = isSecure || publicUrl?.startsWith('https:') === true;
  const [name, attemptName] = [formatSessionCookieName(isHttps), formatAttemptCookieName(isHttps)];
  const formatCookie = (key: string, value: string, seconds: number, site: 'Strict' | 'Lax'): string =>
    `${key}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${isHttps ? '; Secure' : ''}`;

  function getRedirect({ header }: PageRequest): string {
    const origin = publicUrl ?? `${isSecure ? 'https' : 'http'}://${header('host') ?? 'localhost'}`;
    return `${origin.replace(/\/$/, '')}/auth/callback`;
  }

  function requireSignIn(): SignIn {
    if (signIn !== undefined) return signIn;
    throw new Refusal('ROUTE_NOT_FOUND', 'Sign-in is not configured (--oidc-issuer, --oidc-client-id).');
  }

  return {
    async beginSignIn(request) {
      const { url, attempt } = await requireSignIn().begin(getRedirect(request));
      const sealedAttempt = sessions.seal('attempt', { ...attempt, ends: now() + ATTEMPT_SECONDS * 1000 });
      return createRedirection(url, formatCookie(attemptName, sealedAttempt, ATTEMPT_SECONDS, 'Lax'));
    },
    async finishSignIn(request) {
      const sealedAttempt = readCookie(request.header('cookie') ?? null, attemptName);
      const attempt = sealedAttempt === undefined ? undefined : sessions.open<TimedAttempt>('attempt', sealedAttempt);
      if (attempt === undefined)
        throw new Refusal('UNAUTHENTICATED', 'The sign-in did not begin in this browser, or it expired.');
      const principal = await requireSignIn().finish(request.search(), attempt);
      const session = formatCookie(
        name,
        sessions.seal('session', sessions.begin(principal)),
        SESSION_SECONDS,
        'Strict',
      );
      return createRedirection('/', session);
    },
    getSession(request) {
      const session = sessions.find(readCookie(request.header('cookie') ?? null, name));
      const json =
        session === undefined
          ? { signed_in: false, sign_in: signIn !== undefined }
          : { signed_in: true, sign_in: true, name: session.name, scopes: session.scopes, csrf_token: session.csrf };
      return { json };
    },
    async endSession(request) {
      const session = sessions.find(readCookie(request.header('cookie') ?? null, name));
      if (session !== undefined) {
        if (!isRepeated(session, request.header('x-csrf-token') ?? null))
          throw new Refusal('FORBIDDEN_ORIGIN', 'The header X-CSRF-Token does not match the session.');
        await sessions.end(session);
      }
      return { headers: { 'Set-Cookie': formatCookie(name, '', 0, 'Strict') } };
    },
  };
}

const createRedirection = (to: string, cookie: string): Reply => ({
  status: 302,
  text: '{}',
  headers: { Location: to, 'Set-Cookie': cookie },
});
