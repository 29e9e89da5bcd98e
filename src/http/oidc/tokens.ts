import type { JWTPayload } from 'jose';
import { type Scope, SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Principal } from '../handler.js';

/** Scopes that clients with a certain claim value get, as in `groups=desk:read+write:a-+b-`. */
export interface ClaimGrant {
  readonly claim: string;
  readonly value: string;
  readonly scopes: readonly Scope[];
  /** Prefixes of ids. Default: all ids. */
  readonly prefixes?: readonly string[];
}

const GRANT_PATTERN =
  /^([^=:]{1,200})=([^:]{1,200}):([a-z]+(?:\+[a-z]+)*)(?::([A-Za-z0-9_-]{1,32}(?:\+[A-Za-z0-9_-]{1,32})*))?$/;

/**
 * Parses a text `claim=value:scope+scope`, optionally followed by `:prefix+prefix`. Returns undefined if the text is
 * invalid.
 */
export function parseClaimGrant(text: string): ClaimGrant | undefined {
  const [, claim, value, words, prefixes] = GRANT_PATTERN.exec(text) ?? [];
  const scopes = words?.split('+') ?? [];
  const isScope = (word: string): word is Scope => (SCOPES as readonly string[]).includes(word);
  if (claim === undefined || value === undefined || !scopes.every(isScope)) return undefined;
  return { claim, value, scopes, ...(prefixes === undefined ? {} : { prefixes: prefixes.split('+') }) };
}

export type Claims = Readonly<Record<string, unknown>> & { readonly sub?: unknown };

/** Prefix of the id of a subject. Ids and names of keys contain no colon, so a subject cannot be taken for a key. */
const SUBJECT_PREFIX = 'sub:';
/** @source OpenID Connect Core 1.0, section 2 */
const SUBJECT_LENGTH_MAX = 255;
const NAME_LENGTH_MAX = 64;
const NAME_CLAIMS = ['name', 'preferred_username', 'email'] as const;

/**
 * Returns the client that verified claims describe. It gets the scopes of all matching grants. If every matching grant
 * has prefixes, the client is limited to these prefixes.
 * @throws Refusal UNAUTHENTICATED for claims without a valid subject
 */
export function createPrincipal(claims: Claims, grants: readonly ClaimGrant[]): Principal {
  const { sub: subject } = claims;
  if (typeof subject !== 'string' || subject === '' || subject.length > SUBJECT_LENGTH_MAX || CONTROL.test(subject))
    throw new Refusal('UNAUTHENTICATED', 'The token has no subject of 1 to 255 characters without control characters.');
  const applicableGrants = grants.filter(({ claim, value }) => matchesClaim(claims, claim, value));
  const isLimited = applicableGrants.length > 0 && applicableGrants.every(({ prefixes }) => prefixes !== undefined);
  return {
    keyId: `${SUBJECT_PREFIX}${subject}`,
    name: readDisplayName(claims) ?? subject,
    isSubject: true,
    scopes: new Set(applicableGrants.flatMap(({ scopes }) => scopes)),
    ...(isLimited && { prefixes: [...new Set(applicableGrants.flatMap(({ prefixes = [] }) => prefixes))] }),
  };
}

/** Control characters and ends of lines. A subject is part of logs and headers. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** Claims that are lists of words in one text. @source RFC 8693, section 4.2 */
const WORD_CLAIMS: readonly string[] = ['scope', 'scp'];

/**
 * Returns true if a claim equals a value, or is a list that contains it. The claims `scope` and `scp` may also be a text
 * that contains it as a word. An e-mail address counts only if the provider has verified it.
 */
function matchesClaim(claims: Claims, name: string, value: string): boolean {
  const claim = readVerified(claims, name);
  if (typeof claim === 'string')
    return claim === value || (WORD_CLAIMS.includes(name) && claim.split(' ').includes(value));
  return Array.isArray(claim) && claim.includes(value);
}

const readVerified = (claims: Claims, name: string): unknown =>
  name === 'email' && claims['email_verified'] !== true ? undefined : claims[name];

function readDisplayName(claims: Claims): string | undefined {
  for (const claim of NAME_CLAIMS) {
    const text = readVerified(claims, claim);
    const name = typeof text === 'string' ? text.replaceAll(/\p{C}/gu, '').trim().slice(0, NAME_LENGTH_MAX) : '';
    if (name !== '') return name;
  }
  return undefined;
}

/** Signature algorithms that are accepted. All are asymmetric; a shared secret or no signature is never accepted. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_SKEW_SECONDS = 60;
/** Maximum age in ms of the cached keys, and minimum time in ms between two reloads that unknown keys cause. */
const KEYS_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 30_000;
const PROVIDER_MS = 5_000;
const TOKEN_LENGTH_MAX = 16_384;

export interface TokenTerms {
  readonly issuer: string;
  readonly audience: string;
  readonly grants: readonly ClaimGrant[];
  /** Receives failures of the provider. */
  readonly onFailure: (cause: unknown) => void;
  /** Minimum time in ms between two reloads that unknown keys cause. */
  readonly cooldownMs?: number;
}

export interface Tokens {
  /** Verifies a token and returns its client. @throws Refusal UNAUTHENTICATED */
  verify(token: string): Promise<Principal>;
}

/** Returns true if a credential has the form of a signed token. */
export const isToken = (credential: string): boolean =>
  credential.length <= TOKEN_LENGTH_MAX && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);

/**
 * Creates the service that verifies tokens with the published keys of the provider. The keys are loaded for the first
 * token.
 */
export function createTokens({
  issuer,
  audience,
  grants,
  onFailure,
  cooldownMs = KEYS_COOLDOWN_MS,
}: TokenTerms): Tokens {
  let verifier: Promise<(token: string) => Promise<JWTPayload>> | undefined;

  async function open(): Promise<(token: string) => Promise<JWTPayload>> {
    const { createRemoteJWKSet, jwtVerify } = await import('jose');
    const keys = createRemoteJWKSet(await discoverKeys(issuer), {
      cacheMaxAge: KEYS_AGE_MS,
      cooldownDuration: cooldownMs,
      timeoutDuration: PROVIDER_MS,
    });
    const terms = {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp', 'sub'],
    };
    return async (token) => (await jwtVerify(token, keys, terms)).payload;
  }

  return {
    async verify(token) {
      try {
        verifier ??= open();
        return createPrincipal(await (await verifier)(token), grants);
      } catch (failure) {
        const { code } = failure as { readonly code?: string };
        if (code === undefined || code === 'ERR_JWKS_TIMEOUT') {
          verifier = undefined; // The next token tries again.
          onFailure(failure);
        }
        throw new Refusal('UNAUTHENTICATED', 'The token is not valid here.', null, { cause: undefined });
      }
    },
  };
}

/**
 * Returns true for a provider on this machine. Other providers must use HTTPS; otherwise somebody could forge their
 * keys.
 */
export function isLocalIssuer(issuer: string): boolean {
  const { protocol, hostname, username } = URL.parse(issuer) ?? {};
  return protocol === 'http:' && username === '' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname ?? '');
}

/** Looks up the address at which a provider publishes its keys. @source OpenID Connect Discovery 1.0, section 4 */
async function discoverKeys(issuer: string): Promise<URL> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(address, { signal: AbortSignal.timeout(PROVIDER_MS), redirect: 'error' });
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const { issuer: statedIssuer, jwks_uri: keys } = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (statedIssuer !== issuer) throw new Error(`${address} names another issuer`);
  const keysUrl = new URL(String(keys));
  if (keysUrl.protocol !== 'https:' && !isLocalIssuer(issuer))
    throw new Error(`${address} publishes its keys without HTTPS`);
  return keysUrl;
}
