import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Scope } from '#contract/route.js';
import { Refusal } from '#domain/refusal.js';
import type { DocumentStore } from '#store/documents.js';

/** A key as it is kept: everything but the key itself. */
export interface KeyRecord {
  /** 12 letters and digits; the public half of the key. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the secret's text, hex. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** ISO-8601 UTC; null for keys given by the environment. */
  readonly created: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** ISO-8601 UTC; null for a key that does not expire. */
  readonly expires: string | null;
}

export interface Keys {
  /** Whether any key was ever given: from then on every request needs one, even when all are revoked. */
  areConfigured(): boolean;
  /** The holder of a key, undefined when it is malformed, unknown, revoked, expired or wrong: all alike. */
  verify(key: string): { readonly keyId: string; readonly scopes: ReadonlySet<Scope> } | undefined;
  /** A new key: the only time it is shown. */
  create(key: NewKey): Promise<{ readonly record: KeyRecord; readonly key: string }>;
  list(): readonly KeyRecord[];
  /** Ends a key for good. @throws Refusal VALIDATION_FAILED when there is none with the id, or the environment holds it */
  revoke(id: string): Promise<KeyRecord>;
}

export interface KeysDependencies {
  readonly documents: DocumentStore;
  /** Keys of stateless deployments. */
  readonly environment: readonly KeyRecord[];
  readonly now: () => Date;
}

const KEY_PATTERN = /^dvs_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const ID_LENGTH = 12;
const SECRET_BYTES = 32;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Compared against when no key has the id, so that an unknown key takes the time of a wrong one. */
const NO_DIGEST = Buffer.alloc(32);

/**
 * The keys of the service. They are read once and kept in memory, for only this process writes them;
 * what it creates or revokes counts from the next request on.
 */
export function createKeys({ documents, environment, now }: KeysDependencies): Keys {
  const stored = documents.list('key', (body) => body as KeyRecord).documents;
  const records = new Map([...stored, ...environment].map((record) => [record.id, holder(record)]));
  const isGiven = new Set(environment.map(({ id }) => id));
  // A key that cannot be read still says that this service is not meant to be open.
  let configured = documents.ids('key').length > 0 || environment.length > 0;

  const save = async (record: KeyRecord) => {
    await documents.transaction((tx) => tx.put('key', record.id, record));
    records.set(record.id, holder(record));
    configured = true;
    return record;
  };

  return {
    areConfigured: () => configured,
    verify(key) {
      const match = KEY_PATTERN.exec(key);
      const found = records.get(match?.[1] ?? '');
      const isRight = timingSafeEqual(digest(match?.[2] ?? ''), found?.digest ?? NO_DIGEST);
      if (found === undefined || !isRight || !isLive(found.record, now())) return undefined;
      return found.principal;
    },
    async create({ name, scopes, expires }) {
      const id = newId(records);
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
      const record = { id, name, sha256: digest(secret).toString('hex'), scopes, created: now().toISOString(), expires, revoked: null };
      return { record: await save(record), key: `dvs_${id}_${secret}` };
    },
    list: () => [...records.values()].map(({ record }) => record),
    async revoke(id) {
      const found = records.get(id);
      if (found === undefined) throw new Refusal('VALIDATION_FAILED', `No key has the id ${id}.`);
      if (isGiven.has(id)) throw new Refusal('VALIDATION_FAILED', `The key ${id} is given by DIVISOR_API_KEYS; take it out there.`);
      return found.record.revoked === null ? save({ ...found.record, revoked: now().toISOString() }) : found.record;
    },
  };
}

function holder(record: KeyRecord) {
  const principal = { keyId: record.id, scopes: new Set(record.scopes) };
  return { record, principal, digest: Buffer.from(record.sha256, 'hex') };
}

const digest = (secret: string) => createHash('sha256').update(secret).digest();

function isLive({ revoked, expires }: KeyRecord, now: Date): boolean {
  return revoked === null && (expires === null || now < new Date(expires));
}

function newId(taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = Array.from({ length: ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    if (!taken.has(id)) return id;
  }
}
