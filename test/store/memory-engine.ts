import { createHash } from 'node:crypto';
import type { CommitEvent } from '#domain/documents/commit-events.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createCommitListeners } from '#store/commit-listeners.js';
import { isDocumentId, parseNumber, getOwner } from '#store/document-id.js';
import { listNames } from '#store/files/artifact-owners.js';
import type {
  DocumentEngine,
  DocumentEngineOptions,
  DocumentKind,
  DocumentsReader,
  StoredDocument,
} from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import { computeByCodePoint } from './document-store-world.js';

type Texts = Map<string, Omit<StoredDocument, 'body' | 'id'> & { readonly text: string }>;

/** Documents of several processes in the memory of one process: a minimal engine. */
export interface MemoryEngine {
  open(options?: DocumentEngineOptions): DocumentEngine;
  reader(): DocumentsReader;
}

export function createMemoryEngine(): MemoryEngine {
  let texts: Texts = new Map();
  const revisions = new Map<DocumentKind, number>();
  const hears = new Set<(events: readonly CommitEvent[]) => void>();
  let turn: Promise<unknown> = Promise.resolve();

  const keyOf = (kind: DocumentKind, id: string): string => `${kind}\u0000${id}`;
  const listIdsIn = (of: Texts, kind: DocumentKind): string[] =>
    [...of.keys()]
      .flatMap((key) => (key.startsWith(keyOf(kind, '')) ? [key.slice(kind.length + 1)] : []))
      .sort(computeByCodePoint);
  const findLastNumber = (of: Texts, kind: DocumentKind, owner: string): number =>
    Number(
      listIdsIn(of, kind)
        .findLast((id) => getOwner(id) === owner)
        ?.slice(owner.length + 1) ?? 0,
    );
  const find = (of: Texts, kind: DocumentKind, id: string): StoredDocument | undefined => {
    const entry = of.get(keyOf(kind, id));
    return entry && { id, body: JSON.parse(entry.text) as unknown, etag: entry.etag, updatedAt: entry.updatedAt };
  };
  const namesOf = (of: Texts): Set<string> =>
    new Set([...of.values()].flatMap(({ text }) => listNames(Buffer.from(text))));
  const entryOf = (key: string) => {
    const text = texts.get(key)?.text;
    if (text === undefined) return undefined;
    const [kind, id] = key.split('\u0000') as [DocumentKind, string];
    const artifactNames = listNames(Buffer.from(text));
    return {
      key,
      kind,
      id,
      bytes: text.length,
      unreadable: undefined,
      body: JSON.parse(text) as unknown,
      artifactNames,
    };
  };

  function open({ now = Date.now, onUnreferenced, onFailure }: DocumentEngineOptions = {}): DocumentEngine {
    const listeners = createCommitListeners((thrown) => onFailure?.(thrown));
    hears.add(listeners.call);
    let isClosed = false;
    const runWhileOpen = <T>(read: () => T): Promise<T> =>
      new Promise((resolve) => {
        if (isClosed) throw new Refusal('STORE_UNAVAILABLE', 'The document store is closed.');
        resolve(read());
      });

    function commitTexts(staged: Texts, written: ReadonlySet<DocumentKind>, events: readonly CommitEvent[]): void {
      const before = namesOf(texts);
      texts = staged;
      const after = namesOf(texts);
      for (const kind of written) revisions.set(kind, (revisions.get(kind) ?? 0) + 1);
      const dropped = [...before].filter((name) => !after.has(name));
      if (dropped.length > 0) onUnreferenced?.(dropped);
      for (const call of hears) call(events);
    }

    return {
      get: (kind, id) => runWhileOpen(() => find(texts, kind, id)),
      ids: (kind) => runWhileOpen(() => listIdsIn(texts, kind)),
      lastNumber: (kind, owner) => runWhileOpen(() => findLastNumber(texts, kind, owner)),
      numbers: (kind, owner, { below = Infinity, limit }) =>
        runWhileOpen(() =>
          listIdsIn(texts, kind)
            .filter((id) => getOwner(id) === owner && parseNumber(id) < below)
            .map(parseNumber)
            .toReversed()
            .slice(0, limit),
        ),
      revision: (kind) => runWhileOpen(() => revisions.get(kind) ?? 0),
      list: (kind, read) =>
        runWhileOpen(() => {
          const all = listIdsIn(texts, kind).map((id) => read(find(texts, kind, id)!.body, id));
          const documents = all.filter((document) => document !== undefined);
          const invalid = all.length - documents.length;
          return { documents, skipped: invalid, skipped_causes: { unreadable: 0, invalid, unsupported: 0 } };
        }),
      async transaction(change) {
        await runWhileOpen(() => undefined);
        const done = turn.then(async () => {
          const staged: Texts = new Map(texts);
          const written = new Set<DocumentKind>();
          const events: CommitEvent[] = [];
          let isOver = false;
          const callInTransaction = <T>(call: () => T): T => {
            if (isOver) throw new Error('the transaction is over');
            return call();
          };
          const time = formatTimestamp(now());
          try {
            const result = await change({
              get: async (kind, id) => callInTransaction(() => find(staged, kind, id)),
              ids: async (kind) => callInTransaction(() => listIdsIn(staged, kind)),
              lastNumber: async (kind, owner) => callInTransaction(() => findLastNumber(staged, kind, owner)),
              put: async (kind, id, body) =>
                callInTransaction(() => {
                  if (!isDocumentId(id)) throw new Error(`not a document id: ${id.slice(0, 80)}`);
                  const text = toCanonicalJson(body);
                  const etag = createHash('sha256').update(text).digest('hex');
                  staged.set(keyOf(kind, id), { text, etag, updatedAt: time });
                  written.add(kind);
                  return etag;
                }),
              delete: async (kind, id) =>
                callInTransaction(() => staged.delete(keyOf(kind, id)) && written.add(kind) !== undefined),
              publish: (event) => callInTransaction(() => void events.push(event)),
            });
            commitTexts(staged, written, events);
            return result;
          } finally {
            isOver = true;
          }
        });
        turn = done.catch(() => undefined);
        return done;
      },
      subscribe: listeners.add,
      referencedArtifacts: () => runWhileOpen(() => namesOf(texts)),
      referencedAmong: (names) =>
        runWhileOpen(() => new Set([...namesOf(texts)].filter((name) => names.includes(name)))),
      async close() {
        await turn;
        isClosed = true;
        hears.delete(listeners.call);
      },
    };
  }

  return {
    open,
    reader: () => ({
      async *entries() {
        for (const key of texts.keys()) yield entryOf(key)!;
      },
      entry: async (key) => entryOf(key),
      close: async () => {},
    }),
  };
}
