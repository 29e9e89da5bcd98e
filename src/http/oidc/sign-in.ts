import { createCipheriv, createDecipheriv, randomBytes, timingSafeEqual } from 'node:crypto';
import { parse, serialize } from 'hono/utils/cookie';
import type { Configuration } from 'openid-client';
import type { signInRoutes } from '#contract/pages.js';
import type { Route, Scope } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import type { EndedSessions } from '#services/keys/keys.js';
import type { Handlers, Principal, Reply, RouteRequest } from '../handler.js';
import { type ClaimGrant, createPrincipal } from './tokens.js';

/** Session of a signed-in browser. */
export interface Session {
  /** Id of the session. The session can be ended early by this id. */
  readonly id: string;
  /** `keyId` of the principal. */
  readonly subject: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly prefixes?: readonly string[];
  /** Secret that a writing request must repeat in a header. No other site can read it. */
  readonly csrf: string;
  /** End of the session in milliseconds since 1970. */
  readonly ends: number;
}

/** Purpose of a cookie. A cookie is valid only for its own purpose. */
export type CookiePurpose = 'session' | 'attempt';

/** Sessions in encrypted cookies. Every process that has the key accepts them. */
export interface Sessions {
  /** Encrypts the value of a cookie. The cookie is valid until the time in `ends`. */
  seal(purpose: CookiePurpose, value: { readonly ends: number }): string;
  /**
   * Decrypts the value of a cookie. Returns undefined if it was encrypted for another purpose, was changed, or has
   * expired.
   */
  open<T extends { readonly ends: number }>(purpose: CookiePurpose, text: string): T | undefined;
  begin(principal: Principal): Session;
  /** Returns the session in a cookie if it is valid; otherwise undefined. */
  find(cookie: string | undefined): Session | undefined;
  /** Ends a session in every process. */
  end(session: Session): Promise<void>;
  /** Uses the attempt of a sign-in. Returns false if it was used before. */
  use(attempt: UsedAttempt): boolean;
  /** Makes every process refuse an attempt with which a client has signed in. */
  keepUsed(attempt: UsedAttempt, session: Session): Promise<void>;
}

/** Attempt of a sign-in, which can be used once. */
interface UsedAttempt {
  /** Random value of the attempt. */
  readonly state: string;
  readonly ends: number;
}

/** Maximum number of used attempts that a process remembers. The oldest are forgotten, but not those with a sign-in. */
const USED_MAX = 100_000;

const SESSION_MS = 8 * 3_600_000;
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface SessionsDependencies {
  /** Key of 32 bytes. It is random for one process, or shared by several processes. */
  readonly key: Buffer;
  readonly ended: EndedSessions;
  /** Current time in milliseconds since 1970. */
  readonly now: () => number;
}

export function createSessions({ key, ended, now }: SessionsDependencies): Sessions {
  const usedAttempts = new Map<string, number>();
  const toEnding = ({ state, ends }: UsedAttempt, scopes: readonly Scope[]) => ({
    id: state,
    subject: `attempt ${state}`,
    ends,
    scopes,
  });
  const sessions: Sessions = {
    seal(purpose, value) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(purpose));
      const encryptedBytes = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, encryptedBytes, cipher.getAuthTag()]).toString('base64url');
    },
    open<T extends { readonly ends: number }>(purpose: CookiePurpose, text: string) {
      try {
        const bytes = Buffer.from(text, 'base64url');
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        });
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES));
        const decryptedParts = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
        const value = JSON.parse(Buffer.concat(decryptedParts).toString('utf8')) as T; // only a holder of the key can have sealed it
        return value.ends > now() ? value : undefined;
      } catch {
        return undefined; // the cookie is truncated, changed, or sealed for another purpose or by another process
      }
    },
    begin: ({ keyId, name, scopes, prefixes }) => ({
      id: randomBytes(16).toString('base64url'),
      subject: keyId ?? '',
      name: name ?? '',
      scopes: [...scopes],
      ...(prefixes && { prefixes }),
      csrf: randomBytes(32).toString('base64url'),
      ends: now() + SESSION_MS,
    }),
    find(cookie) {
      const session = cookie === undefined ? undefined : sessions.open<Session>('session', cookie);
      return session !== undefined && !ended.has(session) ? session : undefined;
    },
    end: (session) => ended.add(session),
    use(attempt) {
      const { state, ends } = attempt;
      if (usedAttempts.has(state) || ended.has(toEnding(attempt, []))) return false;
      for (const [old, end] of usedAttempts) {
        if (end > now() && usedAttempts.size < USED_MAX) break;
        usedAttempts.delete(old);
      }
      usedAttempts.set(state, ends);
      return true;
    },
    keepUsed: (attempt, { scopes }) => ended.add(toEnding(attempt, scopes)),
  };
  return sessions;
}

/** Sessions of signed-in browsers, and the name of their cookie. */
export interface BrowserSessions {
  readonly sessions: Pick<Sessions, 'find'>;
  readonly cookie: string;
}

const findSession = ({ sessions, cookie }: BrowserSessions, header: string | null): Session | undefined =>
  sessions.find(parse(header ?? '', cookie)[cookie]);

/**
 * Authenticates the client of a session. A request that writes must repeat a value that only pages of this service can
 * read. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN
 */
export function authenticateBrowser(signedIn: BrowserSessions, method: string, headers: Headers): Principal {
  const session = findSession(signedIn, headers.get('cookie'));
  if (session === undefined) throw new Refusal('UNAUTHENTICATED', 'No key, token or session came with the request.');
  if (method !== 'GET' && method !== 'HEAD') {
    const origin = headers.get('origin');
    if (origin !== null && URL.parse(origin)?.host !== headers.get('host')?.toLowerCase())
      throw new Refusal('FORBIDDEN_ORIGIN', 'Writes of a session must come from pages of the service.');
    assertRepeated(session, headers.get('x-csrf-token'));
  }
  const { subject, name, scopes, prefixes } = session;
  return { keyId: subject, name, isSubject: true, scopes: new Set(scopes), ...(prefixes && { prefixes }) };
}

/** Checks that a header repeats the secret of a session. @throws Refusal FORBIDDEN_ORIGIN */
function assertRepeated({ csrf }: Session, header: string | null): void {
  const [given, wanted] = [Buffer.from(header ?? ''), Buffer.from(csrf)];
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new Refusal('FORBIDDEN_ORIGIN', 'The header X-CSRF-Token does not match the session.');
}

export interface SignInTerms {
  readonly issuer: string;
  readonly clientId: string;
  /** Secret of a confidential client. */
  readonly clientSecret: string | undefined;
  readonly grants: readonly ClaimGrant[];
}

/** Data of a sign-in that is in progress. The browser returns it after it was at the provider. */
interface Attempt {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly redirect: string;
}

/** Authorization code flow with PKCE. */
interface SignIn {
  /** @param redirect address to which the provider returns the browser */
  begin(redirect: string): Promise<{ readonly url: string; readonly attempt: Attempt }>;
  /** @param search query string from the provider @throws Refusal UNAUTHENTICATED */
  finish(search: string, attempt: Attempt): Promise<Principal>;
}

/** Creates the sign-in service. It looks up the provider's addresses when the first browser signs in. */
export function createSignIn({ issuer, clientId, clientSecret, grants }: SignInTerms): SignIn {
  let configuration: Promise<Configuration> | undefined;
  const loadLibrary = () => import('openid-client');

  async function readConfiguration(): Promise<Configuration> {
    const { discovery, allowInsecureRequests, enableNonRepudiationChecks } = await loadLibrary();
    const isLocal = issuer.startsWith('http:'); // the schema of the setting admits only such addresses
    configuration ??= discovery(new URL(issuer), clientId, clientSecret, undefined, {
      execute: [enableNonRepudiationChecks, ...(isLocal ? [allowInsecureRequests] : [])],
    });
    configuration.catch(() => (configuration = undefined)); // The next browser tries again.
    return configuration;
  }

  return {
    async begin(redirect) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } =
        await loadLibrary();
      const attempt = { verifier: randomPKCECodeVerifier(), state: randomState(), nonce: randomNonce(), redirect };
      const url = buildAuthorizationUrl(await readConfiguration().catch(refuseUnanswered), {
        redirect_uri: redirect,
        scope: 'openid profile email',
        code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      });
      return { url: url.href, attempt };
    },
    async finish(search, { verifier, state, nonce, redirect }) {
      const { authorizationCodeGrant } = await loadLibrary();
      const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
      const callbackUrl = new URL(`${redirect}?${search}`);
      const tokens = await authorizationCodeGrant(
        await readConfiguration().catch(refuseUnanswered),
        callbackUrl,
        checks,
      ).catch((cause: unknown) => {
        throw new Refusal('UNAUTHENTICATED', 'The provider did not confirm the sign-in.', null, { cause });
      });
      return createPrincipal(tokens.claims()!, grants); // the request required an ID token
    },
  };
}

function refuseUnanswered(cause: unknown): never {
  throw new Refusal('STORE_UNAVAILABLE', 'The OpenID provider does not respond.', null, { cause });
}

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
  const formatCookie = (key: string, value: string, maxAge: number, sameSite: 'Strict' | 'Lax'): string =>
    serialize(key, value, { path: '/', maxAge, httpOnly: true, sameSite, secure: isHttps });

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
      const sealedAttempt = parse(request.header('cookie') ?? '', attemptName)[attemptName];
      const attempt = sealedAttempt === undefined ? undefined : sessions.open<TimedAttempt>('attempt', sealedAttempt);
      const isAnswer = attempt !== undefined && new URLSearchParams(request.search()).get('state') === attempt.state;
      if (attempt === undefined || (isAnswer && !sessions.use(attempt)))
        throw new Refusal('UNAUTHENTICATED', 'The sign-in did not begin in this browser, has ended, or expired.');
      const session = sessions.begin(await requireSignIn().finish(request.search(), attempt));
      await sessions.keepUsed(attempt, session);
      return createRedirection('/', formatCookie(name, sessions.seal('session', session), SESSION_SECONDS, 'Strict'));
    },
    getSession(request) {
      const session = findSession({ sessions, cookie: name }, request.header('cookie') ?? null);
      const json =
        session === undefined
          ? { signed_in: false, sign_in: signIn !== undefined }
          : { signed_in: true, sign_in: true, name: session.name, scopes: session.scopes, csrf_token: session.csrf };
      return { json };
    },
    async endSession(request) {
      const session = findSession({ sessions, cookie: name }, request.header('cookie') ?? null);
      if (session !== undefined) {
        assertRepeated(session, request.header('x-csrf-token') ?? null);
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
