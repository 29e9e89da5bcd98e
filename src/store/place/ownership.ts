import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sayPlace, type ArtifactPlace } from './artifact-place.js';
import type { DocumentEngine } from '../port.js';
import { StartRefusal } from '../start-refusal.js';
import { openMarker, type PlaceMarker } from './marker.js';
import { misfit, recordedStore, recordStore, type RecordedOwnership, type RecordedStore } from './recorded-store.js';
import type { DatabaseIdentity, PlaceMark, PlaceOwner } from '../access/store-id.js';

/**
 * The lease of one database on the place of its results. A token is renewed in the database and in the place; a copy of
 * the database does not learn of the renewals, finds a token that it does not know, and stops. Whatever removes results
 * asks `isConfirmed` first.
 */
export interface PlaceOwnership {
  /** Whether the database was seen to renew the lease since this process began, and lately. */
  isConfirmed(): boolean;
  /** Whether this process renews the lease: it does what one process of a cluster does for all. */
  isHolder(): boolean;
  close(): void;
}

/** Of a process that removes nothing from a place. */
export const noOwnership: PlaceOwnership = { isConfirmed: () => false, isHolder: () => false, close() {} };

export interface OwnershipOptions {
  /** Of the database; its name and server distinguish it from logical copies. */
  readonly identity: DatabaseIdentity;
  /** Receives why the place is no longer owned, once: the process has to end. */
  readonly onLost: (refusal: StartRefusal) => void;
  readonly times?: OwnershipTimes;
}

export interface OwnershipTimes {
  /** Between two renewals, and between two looks of processes that do not renew. */
  readonly renewMs: number;
  /** Time without a renewal after which another process renews: several renewals of a copied database's original. */
  readonly observeMs: number;
  /** Before a token that is not known is read again: a renewal may have come between the two reads. */
  readonly repeatMs: number;
}

const TIMES: OwnershipTimes = { renewMs: 10_000, observeMs: 30_000, repeatMs: 1000 };
/** Looks without an answer for so many renewals end the confirmation. */
const CONFIRMED_RENEWALS = 3;
/** Earlier tokens that are kept: ten minutes of renewals, longer than a write to the place can be delayed. */
const EARLIER_MAX = 60;
/** How long an object store is waited for. */
const PATIENCE = { patienceMs: 5000, answerMs: 5000 };

/**
 * Takes part in the lease of a database on its place, until it is closed.
 * @throws StartRefusal 78 when the place is owned by another database
 */
export async function openOwnership(
  documents: DocumentEngine,
  place: ArtifactPlace,
  { identity, onLost, times = TIMES }: OwnershipOptions,
): Promise<PlaceOwnership> {
  const marker = await openMarker(place, PATIENCE);
  const lease: Lease = { documents, place, marker, identity, times, self: randomUUID() };
  let seen: Seen = { token: null, at: performance.now() };
  let confirmedAt = -Infinity;
  let isHolder = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const now = performance.now();
    const found = await agreedState(lease);
    if (found === undefined) return; // The place is unavailable; its watch reports it.
    const { ownership } = found;
    isHolder = ownership?.holder === lease.self;
    if (seen.token !== null && ownership?.token !== seen.token) confirmedAt = now;
    if (ownership?.token !== seen.token) seen = { token: ownership?.token ?? null, at: now };
    // Nobody owns it yet, or a first renewal was interrupted.
    const isUnowned = ownership?.token == null;
    if (!isUnowned && now - seen.at < (isHolder ? EARLY * times.renewMs : times.observeMs)) return;
    const token = await renew(lease, found);
    if (token === undefined) return;
    seen = { token, at: performance.now() };
    confirmedAt = seen.at;
    isHolder = true;
  }

  function lookLater(): void {
    if (isClosed) return;
    timer = setTimeout(() => void look().then(lookLater, failed), times.renewMs);
    timer.unref();
  }

  function failed(thrown: unknown): void {
    if (isClosed) return;
    if (!(thrown instanceof StartRefusal)) return lookLater(); // The database or the place is unavailable for now.
    isClosed = true;
    confirmedAt = -Infinity;
    onLost(thrown);
  }

  await look();
  lookLater();
  return {
    isConfirmed: () => performance.now() - confirmedAt < CONFIRMED_RENEWALS * times.renewMs,
    isHolder: () => isHolder,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** A holder renews at each look, of which one may come a little early. */
const EARLY = 0.9;

interface Seen {
  readonly token: string | null;
  readonly at: number;
}

interface Lease {
  readonly documents: DocumentEngine;
  readonly place: ArtifactPlace;
  readonly marker: PlaceMarker;
  readonly identity: DatabaseIdentity;
  readonly times: OwnershipTimes;
  /** Name of this process in the lease. */
  readonly self: string;
}

/**
 * What the database records, where the place agrees with it.
 * @returns undefined where the place has no marker or the database names no place
 * @throws StartRefusal 78 when another database owns the place
 */
async function agreedState(lease: Lease): Promise<RecordedStore | undefined> {
  const { documents, marker, times } = lease;
  for (let isAgain = false; ; isAgain = true) {
    const mark = await marker.read();
    const recorded = await recordedStore(documents); // After the marker: its token is never ahead of this.
    if (mark === undefined || recorded === undefined || mark.storeId !== recorded.store_id) return undefined;
    const fault = ownerFault(lease, mark.owner, recorded.ownership);
    if (fault === undefined) {
      await bringBack(lease, mark, recorded);
      return recorded;
    }
    if (isAgain) throw misfit(fault);
    await sleep(times.repeatMs);
  }
}

/** Why a place is not that of the database; undefined where it is. */
function ownerFault(
  { place, identity }: Lease,
  owner: PlaceOwner | undefined,
  recorded: RecordedOwnership | undefined,
): string | undefined {
  if (owner === undefined) return undefined;
  const isOther = identity.database !== owner.database || isOtherSystem(identity, owner);
  const known = recorded === undefined ? [] : [recorded.token, recorded.next, ...recorded.earlier];
  if (!isOther && known.includes(owner.token)) return undefined;
  const [own, theirs] = [identity, owner].map(describeDatabase);
  const relation = isOther
    ? `belongs to ${theirs}; this is ${own}`
    : `was renewed by another copy of ${own} than this one`;
  return `${sayPlace(place)} ${relation}. Give this database a place of its own (divisor adopt --new-place URL), take the place over if no service uses the other database any more (divisor adopt --take-over), or serve without changing anything (--read-only on).`;
}

const isOtherSystem = (one: DatabaseIdentity, other: DatabaseIdentity): boolean =>
  one.system !== null && other.system !== null && one.system !== other.system;

const describeDatabase = ({ system, database }: DatabaseIdentity): string =>
  `the database ${database} of the PostgreSQL system ${system ?? 'unknown'}`;

/** A delayed write of an earlier token is replaced by the token in force. */
async function bringBack({ marker, identity }: Lease, mark: PlaceMark, { ownership }: RecordedStore): Promise<void> {
  const { token, next, earlier } = ownership ?? { token: null, next: null, earlier: [] };
  if (mark.owner === undefined || token === null || next !== null) return;
  // The token just before may still be there when a renewal came between the two reads.
  if (earlier.indexOf(mark.owner.token) > 0) await marker.write({ ...mark, owner: { ...identity, token } });
}

/**
 * Renews the lease: the next token is recorded, then written to the place, then in force.
 * @returns the token; undefined where another process has renewed it meanwhile
 */
async function renew({ documents, marker, identity, self }: Lease, seen: RecordedStore): Promise<string | undefined> {
  const next = await documents.transaction(async (tx) => {
    const store = await recordedStore(tx);
    if (store === undefined || store.ownership?.token !== seen.ownership?.token) return undefined;
    if (store.ownership?.next != null) return store.ownership.next; // An interrupted renewal is completed.
    const { token = null, earlier = [] } = store.ownership ?? {};
    const ownership = { token, next: randomUUID(), earlier, holder: self };
    await recordStore(tx, { ...store, ownership });
    return ownership.next;
  });
  if (next === undefined) return undefined;
  await marker.write({ storeId: seen.store_id, owner: { ...identity, token: next } });
  await documents.transaction(async (tx) => {
    const store = await recordedStore(tx);
    if (store?.ownership?.next !== next) return;
    const { token, earlier } = store.ownership;
    const known = [...(token === null ? [] : [token]), ...earlier].slice(0, EARLIER_MAX);
    await recordStore(tx, { ...store, ownership: { token: next, next: null, earlier: known, holder: self } });
  });
  return next;
}
