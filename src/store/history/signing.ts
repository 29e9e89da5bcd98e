import { Buffer } from 'node:buffer';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { PublicationEntry, PublicKey, SigningKey } from '#domain/definition/publication.js';
import { createLogCheck, type LogFault } from './log-check.js';

/** Creates an Ed25519 key. @param timestamp time of its creation, ISO-8601 UTC */
export function createSigningKey(timestamp: string): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const rawKey = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  return {
    key_id: computeKeyId(rawKey),
    public_key: rawKey.toString('base64'),
    private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    valid_from: timestamp,
    valid_until: null,
  };
}

/** Returns the id of a public key, the first digits of its SHA-256. */
function computeKeyId(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, KEY_ID_DIGITS);
}

const KEY_ID_DIGITS = 16;

/** Function that signs the 32 bytes of a hash in another thread. The signature is base64. */
type HashSigner = (hash: string) => Promise<string>;

/** Creates a signer with a key that is parsed once. @cost 0.2 ms per hash */
export function createHashSigner({ private_key }: SigningKey): HashSigner {
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' });
  return (hash) =>
    new Promise((resolve, reject) => {
      sign(null, Buffer.from(hash, 'hex'), key, (failure, signature) => {
        if (failure === null) resolve(signature.toString('base64'));
        else reject(failure);
      });
    });
}

/** Signs the 32 bytes of a hash within a transaction. The signature is base64. @cost 0.2 ms */
export function signHash({ private_key }: SigningKey, hash: string): string {
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' });
  return sign(null, Buffer.from(hash, 'hex'), key).toString('base64');
}

/** Returns true if the key has signed the hash. The text of the signature must be in canonical form. */
export function isSigned({ hash, signature }: Pick<PublicationEntry, 'hash' | 'signature'>, key: PublicKey): boolean {
  const rawKey = Buffer.from(key.public_key, 'base64');
  const bytes = Buffer.from(signature, 'base64');
  if (rawKey.length !== 32 || computeKeyId(rawKey) !== key.key_id || bytes.toString('base64') !== signature)
    return false;
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: rawKey.toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(hash, 'hex'), publicKey, bytes);
}

/** Reference data for the verification of a log. */
interface LogTerms {
  /** Public keys by id. If they are unavailable (null), signatures are not verified. */
  readonly keys: ReadonlyMap<string, PublicKey> | null;
  /** Expected hash of the last entry. If it is unknown (null), missing last entries are not detected. */
  readonly head: string | null;
}

/** Verdict on an intact log. */
interface ValidLog {
  readonly entries: number;
  /** Hash of the last entry. */
  readonly head: string;
}

/**
 * Verifies the hash chain and the signatures of entries, in log order.
 * @cost 0.1 ms per entry
 */
export function verifyLog(entries: Iterable<unknown>, terms: LogTerms): ValidLog | LogFault {
  const { keys } = terms;
  const check = createLogCheck(keys === null ? null : (entry) => findSignatureFault(entry, keys));
  for (const entry of entries) {
    const fault = check.next(entry);
    if (fault !== undefined) return fault;
  }
  const { seq, hash } = check.last();
  return terms.head === null || terms.head === hash
    ? { entries: seq, head: hash }
    : { seq: seq + 1, reason: `it is missing: the log ends with ${hash}, not with ${terms.head}` };
}

type SignedHash = Pick<PublicationEntry, 'hash' | 'signature' | 'key_id' | 'at'>;

/** Returns the error of a signature. Returns undefined if it is valid. */
export function findSignatureFault(entry: SignedHash, keys: ReadonlyMap<string, PublicKey>): string | undefined {
  const key = keys.get(entry.key_id);
  if (key === undefined) return `its key ${entry.key_id} is unknown`;
  if (!isSigned(entry, key)) return `its signature does not match the key ${entry.key_id}`;
  const isValid = entry.at >= key.valid_from && (key.valid_until === null || entry.at <= key.valid_until);
  return isValid ? undefined : `its key ${entry.key_id} was not valid at ${entry.at}`;
}
