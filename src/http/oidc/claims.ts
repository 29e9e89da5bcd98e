import { SCOPES, type Scope } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
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
  if (typeof subject !== 'string' || subject === '' || subject.length > SUBJECT_LENGTH_MAX)
    throw new Refusal('UNAUTHENTICATED', 'The token has no subject of 1 to 255 characters.');
  const applicableGrants = grants.filter(({ claim, value }) => matchesClaim(claims[claim], value));
  const isLimited = applicableGrants.length > 0 && applicableGrants.every(({ prefixes }) => prefixes !== undefined);
  return {
    keyId: `${SUBJECT_PREFIX}${subject}`,
    name: readDisplayName(claims) ?? subject,
    isSubject: true,
    scopes: new Set(applicableGrants.flatMap(({ scopes }) => scopes)),
    ...(isLimited && { prefixes: [...new Set(applicableGrants.flatMap(({ prefixes = [] }) => prefixes))] }),
  };
}

/**
 * Returns true if a claim equals a value, is a list that contains it, or is a text that contains it as a word. The
 * claim `scope` is such a text.
 */
function matchesClaim(claim: unknown, value: string): boolean {
  if (typeof claim === 'string') return claim === value || claim.split(' ').includes(value);
  return Array.isArray(claim) && claim.includes(value);
}

function readDisplayName(claims: Claims): string | undefined {
  for (const claim of NAME_CLAIMS) {
    const text = claims[claim];
    const name = typeof text === 'string' ? text.replaceAll(/\p{C}/gu, '').trim().slice(0, NAME_LENGTH_MAX) : '';
    if (name !== '') return name;
  }
  return undefined;
}
