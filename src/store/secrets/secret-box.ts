import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { Refusal } from '#domain/refusals/refusal.js';

/** Encrypts texts with a key. */
export interface SecretBox {
  /** False without a key, when texts are stored unencrypted. */
  readonly hasKey: boolean;
  /** Encrypts a text; equal texts have equal results, so that they can be compared. */
  seal(text: string): string;
  /** Decrypts a text. @throws Refusal DOCUMENT_UNREADABLE if it was encrypted with another key, or there is none */
  open(stored: string): string;
  isSealed(stored: string): boolean;
  /** Derives a key for another purpose; undefined without a key. */
  derive(purpose: string): Buffer | undefined;
}

const PREFIX = 'enc.v1.';
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Parses a key of 32 bytes in base64 or hexadecimal digits; undefined for an invalid text. */
export function secretKeyIn(text: string): Buffer | undefined {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  return key.length === KEY_BYTES && trimmed.length <= 64 ? key : undefined;
}

/**
 * Encrypts with AES-256-GCM and a nonce derived from the text: equal texts have equal results, and no two texts share
 * a nonce.
 * @param key 32 bytes; undefined stores texts unencrypted
 * @source the construction of synthetic initialisation vectors, RFC 5297, section 1.1
 */
export function createSecretBox(key: Buffer | undefined): SecretBox {
  const derived = (label: string): Buffer => Buffer.from(hkdfSync('sha256', key!, '', `divisor ${label}`, KEY_BYTES));
  const keys = key && { text: derived('text'), nonce: derived('nonce') };
  const isSealed = (stored: string): boolean => stored.startsWith(PREFIX);
  return {
    derive: (purpose) => (keys === undefined ? undefined : derived(purpose)),
    hasKey: keys !== undefined,
    isSealed,
    seal(text) {
      if (keys === undefined || isSealed(text)) return text;
      const nonce = createHmac('sha256', keys.nonce).update(text).digest().subarray(0, NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, keys.text, nonce);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
    },
    open(stored) {
      if (!isSealed(stored)) return stored;
      if (keys === undefined) throw unreadable('no key is configured');
      try {
        const bytes = Buffer.from(stored.slice(PREFIX.length), 'base64url');
        const decipher = createDecipheriv(ALGORITHM, keys.text, bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        throw unreadable('the key is a different one');
      }
    },
  };
}

const unreadable = (reason: string) =>
  new Refusal(
    'DOCUMENT_UNREADABLE',
    `A stored secret is encrypted and ${reason} (--secret-key-file, DIVISOR_SECRET_KEY).`,
  );

/** Replaces the password of a connection URL, to encrypt or decrypt it. */
export function withPassword(url: string, change: (password: string) => string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password === '') return url;
  const colon = url.indexOf(':', url.indexOf('://') + '://'.length);
  const at = url.lastIndexOf('@');
  return `${url.slice(0, colon + 1)}${change(url.slice(colon + 1, at))}${url.slice(at)}`;
}
