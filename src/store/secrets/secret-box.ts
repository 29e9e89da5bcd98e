import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { Refusal } from '#domain/refusals/refusal.js';

/** Keeps texts so that they are read with a key alone. */
export interface SecretBox {
  /** Whether there is a key: without one texts are kept as they are. */
  readonly hasKey: boolean;
  /** A text as it is stored; the same text is the same every time, so that it can be compared. */
  seal(text: string): string;
  /** A text as it was. @throws Refusal DOCUMENT_UNREADABLE where it was sealed with another key, or there is none */
  open(stored: string): string;
  /** Seals a text again that an earlier key sealed; a text that no key opens is unchanged. */
  renew(stored: string): string;
  isSealed(stored: string): boolean;
  /** A key for another purpose; undefined without a key. */
  derive(purpose: string): Buffer | undefined;
}

const PREFIX = 'enc.v1.';
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A key of 32 bytes written in base64 or hexadecimal digits; undefined where a text is none. */
function secretKeyIn(text: string): Buffer | undefined {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  return key.length === KEY_BYTES && trimmed.length <= 64 ? key : undefined;
}

/** Keys of stored secrets: one that encrypts, and earlier ones that only decrypt. */
export interface SecretKeys {
  /** Undefined where texts are stored as they are. */
  readonly key: Buffer | undefined;
  readonly earlier: readonly Buffer[];
}

/** Instead of the first key: texts that earlier keys sealed are opened and stored as they are. */
const NO_KEY = 'none';

/**
 * Keys with spaces, commas or lines between them: the first encrypts, or is `none`; undefined where a word is no key, or
 * there is none.
 */
export function secretKeysIn(text: string): SecretKeys | undefined {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const [first, ...rest] = words;
  if (first === undefined) return undefined;
  const isOpen = first === NO_KEY && rest.length > 0;
  const keys = (isOpen ? rest : words).map(secretKeyIn).filter((key) => key !== undefined);
  if (keys.length !== words.length - (isOpen ? 1 : 0)) return undefined;
  return isOpen ? { key: undefined, earlier: keys } : { key: keys[0], earlier: keys.slice(1) };
}

/**
 * AES-256-GCM with a nonce that is derived from the text: equal texts are equal when sealed, and no nonce serves two
 * texts.
 * @param key 32 bytes; undefined keeps texts as they are
 * @param earlier keys that open what they sealed
 * @source the construction of synthetic initialisation vectors, RFC 5297, section 1.1
 */
export function createSecretBox(key: Buffer | undefined, earlier: readonly Buffer[] = []): SecretBox {
  const keys = key && { text: derived(key, 'text'), nonce: derived(key, 'nonce') };
  const opening = [...(keys ? [keys.text] : []), ...earlier.map((old) => derived(old, 'text'))];
  const isSealed = (stored: string): boolean => stored.startsWith(PREFIX);
  const box: SecretBox = {
    derive: (purpose) => key && derived(key, purpose),
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
      if (opening.length === 0) throw unreadable('no key is given');
      const bytes = Buffer.from(stored.slice(PREFIX.length), 'base64url');
      for (const each of opening) {
        const text = openedWith(each, bytes);
        if (text !== undefined) return text;
      }
      throw unreadable('the key is another');
    },
    renew(stored) {
      if (!isSealed(stored)) return box.seal(stored);
      try {
        return box.seal(box.open(stored));
      } catch {
        return stored; // reading it reports the reason
      }
    },
  };
  return box;
}

const derived = (key: Buffer, label: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `divisor ${label}`, KEY_BYTES));

/** The text of sealed bytes; undefined where another key sealed them, or they were changed. */
function openedWith(key: Buffer, bytes: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

const unreadable = (reason: string) =>
  new Refusal(
    'DOCUMENT_UNREADABLE',
    `A stored secret is encrypted and ${reason} (--secret-key-file, DIVISOR_SECRET_KEY).`,
  );

/** A connection URL with its password sealed, or opened. */
export function withPassword(url: string, change: (password: string) => string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password === '') return url;
  const colon = url.indexOf(':', url.indexOf('://') + '://'.length);
  const at = url.lastIndexOf('@');
  return `${url.slice(0, colon + 1)}${change(url.slice(colon + 1, at))}${url.slice(at)}`;
}
