import { createCipheriv, createDecipheriv, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Scope } from '#contract/route.js';
import type { EndedSessions } from '#services/operations/ended-sessions.js';
import type { Principal } from '../handler.js';

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
}

export const SESSION_MS = 8 * 3_600_000;
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
  };
  return sessions;
}

export const toPrincipal = ({ subject, name, scopes, prefixes }: Session): Principal => ({
  keyId: subject,
  name,
  isSubject: true,
  scopes: new Set(scopes),
  ...(prefixes && { prefixes }),
});

/** Returns true if a header repeats the secret of a session. */
export function isRepeated({ csrf }: Session, header: string | null): boolean {
  const [given, wanted] = [Buffer.from(header ?? ''), Buffer.from(csrf)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Returns the value of a cookie. */
export function readCookie(header: string | null, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const separator = part.indexOf('=');
    if (part.slice(0, separator).trim() === name) return part.slice(separator + 1).trim();
  }
  return undefined;
}
