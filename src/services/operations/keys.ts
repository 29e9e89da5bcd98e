import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Scope } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';

/** A stored key: everything but its secret. */
export interface KeyRecord {
  /** 12 letters and digits: the public half of the key. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the secret's text, hex. The secret has 256 random bits, so a slow hash would add nothing. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** Timestamps; `created` is null for a key given by the environment, the others until they are set. */
  readonly created: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Timestamp from which the key is no longer accepted; null for a key that does not expire. */
  readonly expires: string | null;
}

/** A key and its record; the only time the key is seen. */
export interface IssuedKey {
  readonly record: KeyRecord;
  readonly key: string;
}

export interface Keys {
  /** Whether a key was ever created or configured: then every request needs one, even when all are revoked. */
  areConfigured(): boolean;
  /** The holder of a key, undefined when it is malformed, unknown, revoked, expired or wrong: all alike. */
  verify(
    key: string,
  ): { readonly keyId: string; readonly name: string; readonly scopes: ReadonlySet<Scope> } | undefined;
  create(key: NewKey): Promise<IssuedKey>;
  /** Every key by id. */
  list(): readonly KeyRecord[];
  /** Ends a key for good; one that is revoked already stays as it is. @throws Refusal VALIDATION_FAILED */
  revoke(id: string): Promise<KeyRecord>;
}

export interface KeysDependencies {
  readonly documents: DocumentStore;
  /** Keys of stateless deployments. */
  readonly environment: readonly KeyRecord[];
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Compared against when no key has the id, so that an unknown key takes the time of a wrong one. */
const NO_DIGEST = Buffer.alloc(32);

/**
 * The keys of the service. They are read once and kept in memory; what this process creates or revokes counts from the
 * next request on, what another does as soon as its events are read.
 */
export async function createKeys({ documents, environment, now }: KeysDependencies): Promise<Keys> {
  const stored = (await documents.list('key', readRecord)).documents;
  const holders = new Map([...stored, ...environment].map((record) => [record.id, holderOf(record)]));
  const given = new Set(environment.map(({ id }) => id));
  // A key that cannot be read still says that this service is not meant to be open.
  let configured = environment.length > 0 || (await documents.ids('key')).length > 0;

  const save = async (record: KeyRecord) => {
    await documents.transaction(async (tx) => {
      await tx.put('key', record.id, record);
      tx.publish({ type: 'key-changed', key_id: record.id });
    });
    holders.set(record.id, holderOf(record));
    configured = true;
    return record;
  };

  /** Takes in what another process has written. */
  async function readAgain(id: string): Promise<void> {
    const found = await documents.get('key', id);
    const record = found === undefined || 'unreadable' in found ? undefined : readRecord(found.body);
    configured ||= found !== undefined;
    if (record !== undefined) holders.set(id, holderOf(record));
  }
  // A key that cannot be read now counts as it did: the next event, or a start, reads it.
  documents.subscribe('key-changed', ({ key_id: id }) => void readAgain(id).catch(() => {}));

  return {
    areConfigured: () => configured,
    verify(key) {
      const { id, secret } = parseKey(key);
      const holder = holders.get(id);
      const isRight = timingSafeEqual(digest(secret), holder?.digest ?? NO_DIGEST);
      return isRight && holder !== undefined && isLive(holder.record, now()) ? holder.principal : undefined;
    },
    async create(request) {
      const issued = issueKey(request, now(), (id) => holders.has(id));
      await save(issued.record);
      return issued;
    },
    list: () => [...holders.values()].map(({ record }) => record).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    async revoke(id) {
      const record = holders.get(id)?.record;
      if (record === undefined) throw new Refusal('VALIDATION_FAILED', `No key has the id ${id}.`);
      if (given.has(id))
        throw new Refusal('VALIDATION_FAILED', `The key ${id} comes from DIVISOR_API_KEYS; remove it there.`);
      return record.revoked === null ? save({ ...record, revoked: formatTimestamp(now()) }) : record;
    },
  };
}

const KEY_PATTERN = /^dvs_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 12;
const SECRET_BYTES = 32;

/** A new random key: `dvs_`, 12 characters of id, 43 of secret. */
export function issueKey(
  { name, scopes, expires }: NewKey,
  nowMs: number,
  isTaken: (id: string) => boolean = () => false,
): IssuedKey {
  let id: string;
  do id = Array.from({ length: ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  while (isTaken(id));
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const record = {
    id,
    name,
    sha256: digest(secret).toString('hex'),
    scopes,
    created: formatTimestamp(nowMs),
    expires,
    revoked: null,
  };
  return { record, key: `dvs_${id}_${secret}` };
}

function parseKey(key: string): { readonly id: string; readonly secret: string } {
  const match = KEY_PATTERN.exec(key);
  return { id: match?.[1] ?? '', secret: match?.[2] ?? '' };
}

function holderOf(record: KeyRecord) {
  return {
    record,
    principal: { keyId: record.id, name: record.name, scopes: new Set(record.scopes) },
    digest: Buffer.from(record.sha256, 'hex'),
  };
}

function readRecord(body: unknown): KeyRecord | undefined {
  const record = body as KeyRecord;
  return typeof record?.id === 'string' && /^[0-9a-f]{64}$/.test(record.sha256) && Array.isArray(record.scopes)
    ? record
    : undefined;
}

const digest = (secret: string) => createHash('sha256').update(secret).digest();

function isLive({ revoked, expires }: KeyRecord, nowMs: number): boolean {
  return revoked === null && (expires === null || nowMs < Date.parse(expires));
}
