import { AsyncLocalStorage } from 'node:async_hooks';
import { Refusal } from '#domain/base/refusals.js';
import { isIdWithin, mayRead, MISSING_CODES, type Reach } from '#domain/definition/reach.js';
import { OWNED_DOCUMENTS } from '#domain/definition/versions.js';
import type { DocumentKind, DocumentReader, DocumentStore, DocumentTransaction, EntryReader } from './port.js';

/** Access limits of a request while its handler runs. */
interface Context {
  readonly reach: Reach;
  /** False after the handler has answered. Later background work has no client. */
  isOpen: boolean;
}

const contexts = new AsyncLocalStorage<Context | undefined>();

/** Runs the handler of a request with limited access. Documents that its client may not access are absent for it. */
export async function runWithinReach<T>(reach: Reach, handle: () => T | Promise<T>): Promise<T> {
  const context: Context = { reach, isOpen: true };
  try {
    return await contexts.run(context, handle);
  } finally {
    context.isOpen = false;
  }
}

/** Returns the access limits of the current request. Returns undefined if it has none. */
export function findCurrentReach(): Reach | undefined {
  const context = contexts.getStore();
  return context?.isOpen === true ? context.reach : undefined;
}

const clients = new AsyncLocalStorage<string | null>();

/** Runs the handler of a request for a client, whose computations take turns with those of others. */
export const runForClient = <T>(keyId: string | null, handle: () => T): T => clients.run(keyId, handle);

/** Returns the key of the current request; null without a key, undefined outside requests. */
export const findCurrentClient = (): string | null | undefined => clients.getStore();

/** Runs work of the service without the access limits of the request. */
export const runUnrestricted = <T>(work: () => T): T => contexts.run(undefined, work);

/** Rule about access to a document. It names the document that decides about the access. */
interface AccessRule {
  readonly ownerKind: DocumentKind;
  /** Returns the id of the deciding document from key and body. Returns undefined if the body does not contain it. */
  subject(id: string, body: unknown): string | undefined;
  /** True if any client may read the document by id. The routes check the id. */
  readonly isReadById?: true;
  /** True if any client may write the document. Its id is random, so that no other client knows it. */
  readonly isNamedByChance?: true;
}

const createRuleById = (ownerKind: DocumentKind): AccessRule => ({ ownerKind, subject: (id) => id });
const createRuleByOwner = (ownerKind: DocumentKind): AccessRule => ({ ownerKind, subject: (id) => id.split('/')[0]! }); // split returns at least one element
const createMemberReader = (name: string) => (body: unknown) => {
  const value = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
};

/**
 * Kinds of documents with restricted access. The served store of prices is shared, so that any client may read a store
 * by id. Only its owners list and write it.
 */
const ACCESS_RULES: Partial<Record<DocumentKind, AccessRule>> = {
  ...Object.fromEntries(OWNED_DOCUMENTS.map(({ kind }) => [kind, createRuleById(kind)])),
  'schedule-day': createRuleByOwner('schedule'),
  'schedule-state': createRuleById('schedule'),
  judgement: createRuleByOwner('schedule'),
  'client-secrets': createRuleById('client'),
  'file-delivery': createRuleByOwner('client'),
  approval: { ownerKind: 'index', subject: (_, body) => createMemberReader('subject')(body), isNamedByChance: true },
  'risk-model': createRuleById('risk-model'),
  store: { ...createRuleById('store'), isReadById: true },
  run: createRuleById('index'),
  'run-list': createRuleById('index'),
  'kept-run': createRuleByOwner('index'),
  publication: createRuleByOwner('index'),
  'publication-head': createRuleById('index'),
  'publication-error': createRuleByOwner('index'),
  'data-version': { ...createRuleByOwner('store'), isReadById: true },
  'optimisation-run': {
    ownerKind: 'index',
    subject: (_, body) => createMemberReader('index_id')(body),
    isNamedByChance: true,
  },
  render: {
    ownerKind: 'index',
    subject: (_, body) => createMemberReader('index_id')(body) ?? createMemberReader('template_id')(body),
    isNamedByChance: true,
  },
};

/** Number of possible ordinals. An ordinal is the lower part of a revision. */
const ORDINAL_COUNT = 2 ** 22;
/** Maximum number of accesses whose ordinal is remembered. An access that was forgotten gets a new ordinal. */
const REACHES_MAX = 2 ** 16;

/**
 * Wraps a document store. Each request sees only the documents that its client may access; other documents are absent
 * and cannot be written. Work of the service outside requests sees all documents.
 */
export function guardDocuments(documents: DocumentStore): DocumentStore {
  const ordinals = new Map<string, number>();
  let last = 0;
  /**
   * Returns the ordinal of an access. Revisions contain it, because results that are cached for one access are invalid
   * for another.
   */
  function findOrdinal({ prefixes, shared }: Reach): number {
    const name = JSON.stringify([prefixes, [...shared]]);
    const ordinal = ordinals.get(name);
    if (ordinal !== undefined) return ordinal;
    if (ordinals.size >= REACHES_MAX) ordinals.clear();
    last = (last % (ORDINAL_COUNT - 1)) + 1; // Ordinals continue after the map was cleared, because caches may contain results for earlier ones.
    ordinals.set(name, last);
    return last;
  }

  return {
    ...documents,
    ...guardReader(documents, findCurrentReach),
    async revision(kind) {
      const reach = findCurrentReach();
      return (await documents.revision(kind)) * ORDINAL_COUNT + (reach === undefined ? 0 : findOrdinal(reach));
    },
    async list<T>(kind: DocumentKind, read: EntryReader<T>) {
      const [reach, guarded] = [findCurrentReach(), ACCESS_RULES[kind]];
      if (reach === undefined || guarded === undefined) return documents.list(kind, read);
      const listing = await documents.list(kind, (body, id, heading) => {
        if (!isVisible(reach, guarded, id, body)) return HIDDEN_DOCUMENT;
        return read(body, id, heading);
      });
      return { ...listing, documents: listing.documents.filter((found): found is T => found !== HIDDEN_DOCUMENT) };
    },
    transaction(change, options) {
      const reach = findCurrentReach();
      return reach === undefined
        ? documents.transaction(change, options)
        : documents.transaction((tx) => change(guardTransaction(tx, reach)), options);
    },
  };
}

/** Stands for an omitted document. It does not count as unreadable. */
const HIDDEN_DOCUMENT = Symbol('hidden');

function guardReader(reader: DocumentReader, reachNow: () => Reach | undefined): DocumentReader {
  return {
    async get(kind, id) {
      const [reach, guarded] = [reachNow(), ACCESS_RULES[kind]];
      const storedDocument = await reader.get(kind, id);
      if (reach === undefined || guarded === undefined || guarded.isReadById === true || storedDocument === undefined)
        return storedDocument;
      return isVisible(reach, guarded, id, 'unreadable' in storedDocument ? undefined : storedDocument.body)
        ? storedDocument
        : undefined;
    },
    async ids(kind) {
      const [reach, guarded] = [reachNow(), ACCESS_RULES[kind]];
      const ids = await reader.ids(kind);
      if (reach === undefined || guarded === undefined) return ids;
      return ids.filter((id) => isVisible(reach, guarded, id, undefined));
    },
    lastNumber: (kind, owner) => reader.lastNumber(kind, owner),
  };
}

function isVisible(reach: Reach, { ownerKind, subject }: AccessRule, id: string, body: unknown): boolean {
  const owner = subject(id, body);
  return owner !== undefined && mayRead(reach, ownerKind, owner);
}

function guardTransaction(tx: DocumentTransaction, reach: Reach): DocumentTransaction {
  function assertOwnDocument(kind: DocumentKind, id: string): void {
    const accessRule = ACCESS_RULES[kind];
    if (accessRule === undefined || accessRule.isNamedByChance === true) return;
    const owner = accessRule.subject(id, undefined);
    if (owner !== undefined && isIdWithin(reach, owner)) return;
    // Ids in paths were checked before, so that this is the id of a new document. It is rejected even if no document
    // has it.
    throw refuseOutside({ ...reach, isHidden: false }, accessRule.ownerKind, owner ?? id);
  }
  return {
    ...tx,
    ...guardReader(tx, () => reach),
    async put(kind, id, body) {
      assertOwnDocument(kind, id);
      return tx.put(kind, id, body);
    },
    async delete(kind, id) {
      assertOwnDocument(kind, id);
      return tx.delete(kind, id);
    },
  };
}

/** Creates the refusal of an id to which a client has no access. */
export function refuseOutside({ isHidden, prefixes }: Reach, kind: string, id: string): Refusal {
  const missingCode = isHidden ? MISSING_CODES.get(kind) : undefined;
  if (missingCode !== undefined)
    return new Refusal(missingCode, `No ${kind.replaceAll('-', ' ')} is stored under ${id}.`);
  return new Refusal('FORBIDDEN_ID', `The key may name ids that begin with ${prefixes.join(', ')}; ${id} does not.`, {
    id,
    prefixes,
  });
}

/**
 * Time in ms that the long reads of one client use in a turn of the event loop. Reads of other clients then wait for a few
 * of these times. A document of 1 MB takes 10 to 20 ms and is not divided.
 */
const TURN_MS = 5;

/** Long reads of one client. */
interface Turns {
  usedMs: number;
  /** Continues the reads that wait for a turn, in order of arrival. */
  readonly waiting: (() => void)[];
}

/** Turns of the clients with long reads in this turn of the event loop, or waiting for the next one. */
const turnsByClient = new Map<string | null | undefined, Turns>();

/** Begins the next turn of a client. Only one of its reads continues in it, so that the times of many do not add up. */
function beginTurn(client: string | null | undefined, turns: Turns): void {
  turns.usedMs = 0;
  const continueRead = turns.waiting.shift();
  if (continueRead === undefined) return void turnsByClient.delete(client);
  setImmediate(beginTurn, client, turns);
  continueRead();
}

function openTurns(client: string | null | undefined): Turns {
  const openedTurns = turnsByClient.get(client);
  if (openedTurns !== undefined) return openedTurns;
  const turns: Turns = { usedMs: 0, waiting: [] };
  turnsByClient.set(client, turns);
  setImmediate(beginTurn, client, turns);
  return turns;
}

/**
 * Calls `work` for each item, in as many turns of the event loop as it needs. All calls for one client share its turn.
 * Work of a few milliseconds is done at once. @throws what `work` throws
 */
export async function workInTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const client = findCurrentClient();
  for (const item of items) {
    let turns = openTurns(client);
    if (turns.usedMs >= TURN_MS) {
      const { waiting } = turns;
      await new Promise<void>((resolve) => waiting.push(resolve));
      turns = openTurns(client);
    }
    const startMs = performance.now();
    work(item);
    turns.usedMs += performance.now() - startMs;
  }
}

/** Maps items as `workInTurns` does. The waits of `work` overlap. @throws the first error of `work` */
export async function mapInTurns<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: Promise<R>[] = [];
  await workInTurns(items, (item) => {
    const result = work(item);
    result.catch(() => undefined); // thrown below
    results.push(result);
  });
  return Promise.all(results);
}
