import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { Refusal } from '#domain/base/refusals.js';

/** Encryption of texts with a key. */
export interface SecretBox {
  /** False without a key. Texts are then stored unencrypted. */
  readonly hasKey: boolean;
  /** Encrypts a text. Equal texts have equal results, so that they can be compared. */
  seal(text: string): string;
  /**
   * Decrypts a text. @throws Refusal DOCUMENT_UNREADABLE if the key is missing or the text was encrypted with another
   * key
   */
  open(stored: string): string;
  /**
   * Encrypts a text that is unencrypted, or encrypted with an earlier key, with the current key. If no key decrypts a
   * text, returns it unchanged.
   */
  renew(stored: string): string;
  isSealed(stored: string): boolean;
  /** Derives a key for another purpose. Returns undefined without a key. */
  derive(purpose: string): Buffer | undefined;
}

const PREFIX = 'enc.v1.';
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Parses a key of 32 bytes in base64 or hexadecimal digits. Returns undefined for an invalid text. */
function parseSecretKey(text: string): Buffer | undefined {
  const trimmedText = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmedText)
    ? Buffer.from(trimmedText, 'hex')
    : Buffer.from(trimmedText, 'base64');
  return key.length === KEY_BYTES && trimmedText.length <= 64 ? key : undefined;
}

/** Keys of stored secrets. The current key encrypts; earlier keys only decrypt. */
export interface SecretKeys {
  /** Undefined if texts are stored unencrypted. */
  readonly key: Buffer | undefined;
  readonly earlier: readonly Buffer[];
}

/** Replaces the first key to end encryption: texts of earlier keys are decrypted and stored unencrypted. */
const NO_KEY = 'none';

/**
 * Parses keys separated by spaces, commas or line breaks. The first is the encryption key, or `none`. Returns undefined
 * if a word is not a key or the text contains no key.
 */
export function parseSecretKeys(text: string): SecretKeys | undefined {
  const keyTexts = text.split(/[\s,]+/).filter((word) => word !== '');
  const [first, ...rest] = keyTexts;
  if (first === undefined) return undefined;
  const isOpen = first === NO_KEY && rest.length > 0;
  const keys = (isOpen ? rest : keyTexts).map(parseSecretKey).filter((key) => key !== undefined);
  if (keys.length !== keyTexts.length - (isOpen ? 1 : 0)) return undefined;
  return isOpen ? { key: undefined, earlier: keys } : { key: keys[0], earlier: keys.slice(1) };
}

/**
 * Encrypts with AES-256-GCM and a nonce that is derived from the text. Equal texts therefore have equal results, and no
 * two texts share a nonce.
 * @param key 32 bytes; undefined stores texts unencrypted
 * @param earlier keys that only decrypt
 * @source the construction of synthetic initialisation vectors, RFC 5297, section 1.1
 */
export function createSecretBox(key: Buffer | undefined, earlier: readonly Buffer[] = []): SecretBox {
  const keys = key && { text: deriveKey(key, 'text'), nonce: deriveKey(key, 'nonce') };
  const openingKeys = [...(keys ? [keys.text] : []), ...earlier.map((old) => deriveKey(old, 'text'))];
  const isSealed = (stored: string): boolean => stored.startsWith(PREFIX);
  const box: SecretBox = {
    derive: (purpose) => key && deriveKey(key, purpose),
    hasKey: keys !== undefined,
    isSealed,
    seal(text) {
      if (keys === undefined || isSealed(text)) return text;
      const nonce = createHmac('sha256', keys.nonce).update(text).digest().subarray(0, NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, keys.text, nonce);
      const sealedBytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([nonce, sealedBytes, cipher.getAuthTag()]).toString('base64url');
    },
    open(stored) {
      if (!isSealed(stored)) return stored;
      if (openingKeys.length === 0) throw refuseSecret('no key is configured');
      const bytes = Buffer.from(stored.slice(PREFIX.length), 'base64url');
      for (const openingKey of openingKeys) {
        const text = decryptWith(openingKey, bytes);
        if (text !== undefined) return text;
      }
      throw refuseSecret('the key is a different one');
    },
    renew(stored) {
      if (!isSealed(stored)) return box.seal(stored);
      try {
        return box.seal(box.open(stored));
      } catch {
        return stored; // the reason is reported when the text is read
      }
    },
  };
  return box;
}

const deriveKey = (key: Buffer, label: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `divisor ${label}`, KEY_BYTES));

/** Decrypts bytes. Returns undefined if they were encrypted with another key or altered. */
function decryptWith(key: Buffer, bytes: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

const refuseSecret = (reason: string) =>
  new Refusal(
    'DOCUMENT_UNREADABLE',
    `A stored secret is encrypted and ${reason} (--secret-key-file, DIVISOR_SECRET_KEY).`,
  );

/** Replaces the password of a connection URL, to encrypt or decrypt it. */
export function changePassword(url: string, change: (password: string) => string): string {
  if (!URL.canParse(url)) return url;
  const parsedUrl = new URL(url);
  if (parsedUrl.password === '') return url;
  const colon = url.indexOf(':', url.indexOf('://') + '://'.length);
  const offset = url.lastIndexOf('@');
  return `${url.slice(0, colon + 1)}${change(url.slice(colon + 1, offset))}${url.slice(offset)}`;
}
