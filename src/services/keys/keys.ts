import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { Scope } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { type DocumentLookup, type DocumentStore, formatTimestamp, readStoredBody } from '#store/port.js';

export type IsAddressOf = (address: string) => boolean;

const getFamily = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Returns true if a text is an address or a range of addresses, such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * Returns a function that tests whether an address is in one of the ranges. An IPv4 address in IPv6 form matches the
 * IPv4 ranges.
 * @param ranges addresses and ranges that `isAddressRange` accepts
 */
export function createAddressCheck(ranges: readonly string[]): IsAddressOf {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, getFamily(address));
    else list.addSubnet(address, Number(bits), getFamily(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, getFamily(address));
}

/** Browser session, with the data that is needed to end it. */
export interface EndingSession {
  readonly id: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Expiry in milliseconds since 1970. */
  readonly ends: number;
}

/** Sessions that people ended by signing out. All processes that serve the same documents share them. */
export interface EndedSessions {
  has(session: EndingSession): boolean;
  /**
   * Ends a session. @returns when the record is on disk. @throws Refusal STORE_UNAVAILABLE; the session is then ended
   * only in this process
   */
  add(session: EndingSession): Promise<void>;
}

/**
 * Maximum number of ended sessions that are stored for one person. One more sign-out ends all sessions of the person.
 */
const PERSON_SESSIONS_MAX = 16;
/** Maximum number of records that one sign-out deletes. The sessions in these records have expired. */
const FORGOTTEN_MAX = 64;

/** Ended sessions of one person. They are stored until these sessions would have expired. */
interface PersonSessions {
  readonly sessions: readonly { readonly id: string; readonly ends: number }[];
  /** All sessions that expire before this time are ended; 0 if there is no such time. */
  readonly all_until: number;
}

const NO_SESSIONS: PersonSessions = { sessions: [], all_until: 0 };

/**
 * Creates the service for ended sessions. It reads the records once and caches them. Events of other processes add the
 * sessions that ended there.
 * @param now returns the time in ms since 1970
 * @param isReadOnly true for a read-only store; a sign-out then ends the session only in this process
 */
export async function createEndedSessions(
  documents: DocumentStore,
  now: () => number,
  isReadOnly: boolean,
): Promise<EndedSessions> {
  const sessionsByPerson = new Map<string, PersonSessions>();

  async function readAgain(id: string): Promise<void> {
    const person = parsePerson(await documents.get('ended-sessions', id));
    if (person !== undefined) sessionsByPerson.set(id, person);
  }
  // If a record is unreadable, the next event of its person or the next start reads it again.
  documents.subscribe('session-ended', ({ person_id: id }) => void readAgain(id).catch(() => {}));
  const storedPersons = await documents.list('ended-sessions', (body, id) => [id, body as PersonSessions] as const);
  for (const [id, person] of storedPersons.documents) if (!sessionsByPerson.has(id)) sessionsByPerson.set(id, person);

  return {
    has({ id, subject, ends }) {
      const person = sessionsByPerson.get(getPerson(subject));
      return person !== undefined && (ends <= person.all_until || person.sessions.some((session) => session.id === id));
    },
    async add(session) {
      if (session.scopes.length === 0) return; // a session without scopes allows nothing
      const id = getPerson(session.subject);
      const nowMs = now();
      sessionsByPerson.set(id, addEnded(sessionsByPerson.get(id) ?? NO_SESSIONS, session, nowMs));
      if (isReadOnly) return;
      const expiredPersons = [...sessionsByPerson]
        .filter(([, person]) => computeRetentionEnd(person) <= nowMs)
        .slice(0, FORGOTTEN_MAX);
      await documents.transaction(async (tx) => {
        const personSessions = parsePerson(await tx.get('ended-sessions', id)) ?? NO_SESSIONS;
        await tx.put('ended-sessions', id, addEnded(personSessions, session, nowMs));
        for (const [old] of expiredPersons) {
          const person = parsePerson(await tx.get('ended-sessions', old));
          if (person !== undefined && computeRetentionEnd(person) <= nowMs) await tx.delete('ended-sessions', old);
        }
        tx.publish({ type: 'session-ended', person_id: id });
      });
      for (const [old, person] of expiredPersons)
        if (sessionsByPerson.get(old) === person) sessionsByPerson.delete(old);
    },
  };
}

/** Returns the id of a person's record. It is a hash, because a subject may contain any characters. */
const getPerson = (subject: string): string => createHash('sha256').update(subject).digest('hex');

const parsePerson = (storedDocument: DocumentLookup): PersonSessions | undefined =>
  storedDocument === undefined || 'unreadable' in storedDocument ? undefined : (storedDocument.body as PersonSessions);

function addEnded(person: PersonSessions, { id, ends }: EndingSession, now: number): PersonSessions {
  const otherSessions = person.sessions.filter((session) => session.id !== id && session.ends > now);
  if (otherSessions.length < PERSON_SESSIONS_MAX) return { ...person, sessions: [...otherSessions, { id, ends }] };
  const latestEnd = Math.max(person.all_until, ends, ...otherSessions.map((session) => session.ends));
  return { sessions: [], all_until: latestEnd };
}

/** Returns the time after which the record of a person is no longer needed. */
const computeRetentionEnd = ({ sessions, all_until: allUntil }: PersonSessions): number =>
  Math.max(allUntil, ...sessions.map(({ ends }) => ends));

/** Stored key without its secret. */
export interface KeyRecord {
  /** Public part of the key: 12 letters and digits. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the secret, in hex. The secret has 256 random bits, so a slower hash would not make it safer. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** Timestamps. `created` is null for a key from the environment. The others are null until they are set. */
  readonly created: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
  /** Prefixes of the ids that the key may use; absent if it may use all ids. */
  readonly prefixes?: readonly string[];
  /** Addresses and ranges from which the key is accepted; absent if it is accepted from all. */
  readonly sources?: readonly string[];
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Time from which the key is not accepted any more; null for a key that does not expire. */
  readonly expires: string | null;
  readonly prefixes?: readonly string[];
  readonly sources?: readonly string[];
}

export interface KeyHolder {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Prefixes of the ids that the key may use; absent if it may use all ids. */
  readonly prefixes?: readonly string[];
}

/** Key with the time of its last use. */
export interface ListedKey extends KeyRecord {
  /** Time of last use, to the minute; null if never used. */
  readonly last_used: string | null;
}

/** New key and its record. The key itself is shown only once. */
export interface IssuedKey {
  readonly record: KeyRecord;
  readonly key: string;
}

export interface AccessKeys {
  /**
   * Returns true if a key was ever created or configured. Every request then needs a key, even if all keys were
   * revoked.
   */
  areConfigured(): boolean;
  /**
   * Returns the holder of a key. Returns undefined if the key is malformed, unknown, revoked, expired or wrong, or if
   * the address is not permitted.
   */
  verify(key: string, address?: string): KeyHolder | undefined;
  /**
   * Returns the scopes of a key. If it is no longer accepted, returns the scopes of the accepted key with the same
   * name. Returns undefined if there is no such key.
   */
  findScopes(id: string, name: string): ReadonlySet<Scope> | undefined;
  /** Creates a key. @throws Refusal VALIDATION_FAILED if another accepted key has the name */
  create(key: NewKey): Promise<IssuedKey>;
  /**
   * Creates a key that replaces another key. The old key is accepted for some more time.
   * @throws Refusal VALIDATION_FAILED if the old key does not exist or is not accepted
   */
  rotate(id: string, overlapMs: number): Promise<IssuedKey>;
  list(): readonly ListedKey[];
  /** Revokes a key permanently. A key that is already revoked does not change. @throws Refusal VALIDATION_FAILED */
  revoke(id: string): Promise<KeyRecord>;
}

/** Minimum interval between writes of the last use of a key. */
const USE_INTERVAL_MS = 60_000;

/** Digest that is compared if no key has the id. An unknown key then takes as long to check as a wrong key. */
const NO_DIGEST = Buffer.alloc(32);

/**
 * Creates the service for keys. Keys are read once and cached. A change in this process applies from the next request.
 * A change in another process applies when its event is read.
 * @param environment keys of stateless deployments
 * @param now returns the time in ms since 1970
 */
export async function createKeys(
  documents: DocumentStore,
  environment: readonly KeyRecord[],
  now: () => number,
): Promise<AccessKeys> {
  const keyUses = await createKeyUses(documents, now);
  const storedRecords = (await documents.list('key', readRecord)).documents;
  const holders = new Map([...storedRecords, ...environment].map((record) => [record.id, createHolder(record)]));
  const environmentIds = new Set(environment.map(({ id }) => id));
  // an unreadable key also counts as a configured key
  let hasConfiguredKeys = environment.length > 0 || (await documents.ids('key')).length > 0;

  const saveAll = async (records: readonly KeyRecord[]) => {
    await documents.transaction(async (tx) => {
      for (const record of records) {
        await tx.put('key', record.id, toStoredForm(record));
        tx.publish({ type: 'key-changed', key_id: record.id });
      }
    });
    for (const record of records) holders.set(record.id, createHolder(record));
    hasConfiguredKeys = true;
  };
  const save = async (record: KeyRecord) => {
    await saveAll([record]);
    return record;
  };

  /** Returns a stored key. @throws Refusal VALIDATION_FAILED */
  function requireStored(id: string): KeyRecord {
    const record = holders.get(id)?.record;
    if (record === undefined) throw new Refusal('VALIDATION_FAILED', `No key has the id ${id}.`);
    if (environmentIds.has(id))
      throw new Refusal('VALIDATION_FAILED', `The key ${id} comes from DIVISOR_API_KEYS; remove it there.`);
    return record;
  }

  /** Reads a key that another process has written. */
  async function readAgain(id: string): Promise<void> {
    const entry = await documents.get('key', id);
    const record = readStoredBody(entry, readRecord);
    hasConfiguredKeys ||= entry !== undefined;
    if (record !== undefined) holders.set(id, createHolder(record));
  }
  // An unreadable key keeps its previous state until an event or a start reads it again.
  documents.subscribe('key-changed', ({ key_id: id }) => void readAgain(id).catch(() => {}));

  return {
    areConfigured: () => hasConfiguredKeys,
    verify(key, address) {
      const { id, secret } = parseKey(key);
      const holder = holders.get(id);
      const isCorrectSecret = timingSafeEqual(hashSecret(secret), holder?.digest ?? NO_DIGEST);
      if (!isCorrectSecret || holder === undefined || !isLive(holder.record, now())) return undefined;
      if (holder.isFrom !== undefined && !(address !== undefined && holder.isFrom(address))) return undefined;
      keyUses.note(id);
      return holder.principal;
    },
    findScopes(id, name) {
      const ownHolder = holders.get(id);
      const isAccepted = ownHolder !== undefined && isLive(ownHolder.record, now());
      const holder = isAccepted
        ? ownHolder
        : [...holders.values()].find(({ record }) => record.name === name && isLive(record, now()));
      return holder && new Set(holder.record.scopes);
    },
    async create(request) {
      const keyWithName = [...holders.values()].find(
        ({ record }) => record.name === request.name && isLive(record, now()),
      );
      if (keyWithName !== undefined) {
        const { id } = keyWithName.record;
        const message = `The key ${id} is called ${request.name} already: names identify authors. Rotate or revoke it, or choose another name.`;
        throw new Refusal('VALIDATION_FAILED', message);
      }
      const issuedKey = issueKey(request, now(), (id) => holders.has(id));
      await save(issuedKey.record);
      return issuedKey;
    },
    async rotate(id, overlapMs) {
      const replacedKey = requireStored(id);
      const nowMs = now();
      if (!isLive(replacedKey, nowMs))
        throw new Refusal('VALIDATION_FAILED', `The key ${id} is not accepted any more.`);
      const { name, scopes, prefixes, sources } = replacedKey;
      const expires = computeSuccessorExpiry(replacedKey, nowMs);
      const issuedKey = issueKey({ name, scopes, expires, ...getLimits({ prefixes, sources }) }, nowMs, (keyId) =>
        holders.has(keyId),
      );
      const overlapEnd = nowMs + overlapMs;
      const expiry = replacedKey.expires === null ? overlapEnd : Math.min(overlapEnd, Date.parse(replacedKey.expires));
      await saveAll([issuedKey.record, { ...replacedKey, expires: formatTimestamp(expiry) }]);
      return issuedKey;
    },
    list: () =>
      [...holders.values()]
        .map(({ record }) => ({ ...record, last_used: keyUses.findLastUse(record.id) }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    async revoke(id) {
      const record = requireStored(id);
      return record.revoked === null ? save({ ...record, revoked: formatTimestamp(now()) }) : record;
    },
  };
}

const KEY_PATTERN = /^dvs_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 12;
const SECRET_BYTES = 32;

/** Creates a random key. It consists of `dvs_`, an id of 12 characters and a secret of 43 characters. */
export function issueKey(
  { name, scopes, expires, prefixes, sources }: NewKey,
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
    sha256: hashSecret(secret).toString('hex'),
    scopes,
    created: formatTimestamp(nowMs),
    expires,
    revoked: null,
    ...getLimits({ prefixes, sources }),
  };
  return { record, key: `dvs_${id}_${secret}` };
}

function parseKey(key: string): { readonly id: string; readonly secret: string } {
  const match = KEY_PATTERN.exec(key);
  return { id: match?.[1] ?? '', secret: match?.[2] ?? '' };
}

interface Holder {
  readonly record: KeyRecord;
  readonly principal: KeyHolder;
  readonly digest: Buffer;
  /**
   * Function that returns true if the key is accepted from an address; undefined if it is accepted from all addresses.
   */
  readonly isFrom: ((address: string) => boolean) | undefined;
}

function createHolder(record: KeyRecord): Holder {
  const { id, name, scopes, prefixes, sources } = record;
  return {
    record,
    principal: { keyId: id, name, scopes: new Set(scopes), ...getLimits({ prefixes }) },
    digest: Buffer.from(record.sha256, 'hex'),
    isFrom: sources === undefined ? undefined : createAddressCheck(sources),
  };
}

function getLimits(limits: {
  readonly prefixes?: readonly string[] | undefined;
  readonly sources?: readonly string[] | undefined;
}): Pick<KeyRecord, 'prefixes' | 'sources'> {
  return Object.fromEntries(Object.entries(limits).filter(([, list]) => list !== undefined));
}

/** Returns the expiry of a new key that replaces an old one. Both have the same lifetime. */
function computeSuccessorExpiry({ created, expires }: KeyRecord, nowMs: number): string | null {
  if (expires === null || created === null) return expires;
  return formatTimestamp(nowMs + (Date.parse(expires) - Date.parse(created)));
}

/** Records the last use of each key. The uses are written at intervals. */
async function createKeyUses(documents: DocumentStore, now: () => number) {
  const { documents: storedUses } = await documents.list('key-use', (body, id) => {
    const usedAtMs = Date.parse((body as { readonly at?: string } | null)?.at ?? '');
    return Number.isNaN(usedAtMs) ? undefined : ([id, usedAtMs] as const);
  });
  const keyUses = new Map(storedUses);
  return {
    note(id: string): void {
      const nowMs = now();
      const last = keyUses.get(id);
      if (last !== undefined && nowMs - last < USE_INTERVAL_MS) return;
      keyUses.set(id, nowMs);
      const write = documents.transaction((tx) => tx.put('key-use', id, { at: formatTimestamp(nowMs) }));
      write.catch(() => {}); // The next use is written again; a full disk must not refuse a reader.
    },
    findLastUse(id: string): string | null {
      const usedAtMs = keyUses.get(id);
      return usedAtMs === undefined ? null : formatTimestamp(usedAtMs);
    },
  };
}

/**
 * Returns the stored form of a key. Release 0.2.0 ignores limits. Therefore the digest of a limited key is stored where
 * that release does not read it.
 */
function toStoredForm({ sha256, ...record }: KeyRecord): object {
  const isLimited = record.prefixes !== undefined || record.sources !== undefined;
  return isLimited ? { ...record, limited_sha256: sha256 } : { ...record, sha256 };
}

function readRecord(body: unknown): KeyRecord | undefined {
  const { limited_sha256: limitedSha256, ...keyRecord } = (body ?? {}) as KeyRecord & {
    readonly limited_sha256?: string;
  };
  const record = { ...keyRecord, sha256: limitedSha256 ?? keyRecord.sha256 };
  return typeof record.id === 'string' && /^[0-9a-f]{64}$/.test(record.sha256) && Array.isArray(record.scopes)
    ? record
    : undefined;
}

const hashSecret = (secret: string) => createHash('sha256').update(secret).digest();

function isLive({ revoked, expires }: KeyRecord, nowMs: number): boolean {
  return revoked === null && (expires === null || nowMs < Date.parse(expires));
}
