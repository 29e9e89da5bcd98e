import { createHash } from 'node:crypto';
import type { CommitEvent } from '#domain/definition/commit-events.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  createCommitListeners,
  type DocumentEngine,
  type DocumentEngineOptions,
  type DocumentKind,
  type DocumentsReader,
  formatTimestamp,
  getOwner,
  isDocumentId,
  parseNumber,
  type StoredDocument,
} from '#store/port.js';
import { listArtifactNames } from '#store/artifacts/artifact.js';
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

  const formatKey = (kind: DocumentKind, id: string): string => `${kind}\u0000${id}`;
  const listIdsIn = (of: Texts, kind: DocumentKind): string[] =>
    [...of.keys()]
      .flatMap((key) => (key.startsWith(formatKey(kind, '')) ? [key.slice(kind.length + 1)] : []))
      .sort(computeByCodePoint);
  const findLastNumber = (of: Texts, kind: DocumentKind, owner: string): number =>
    Number(
      listIdsIn(of, kind)
        .findLast((id) => getOwner(id) === owner)
        ?.slice(owner.length + 1) ?? 0,
    );
  const find = (of: Texts, kind: DocumentKind, id: string): StoredDocument | undefined => {
    const entry = of.get(formatKey(kind, id));
    return entry && { id, body: JSON.parse(entry.text) as unknown, etag: entry.etag, updatedAt: entry.updatedAt };
  };
  const listNamesIn = (of: Texts): Set<string> =>
    new Set([...of.values()].flatMap(({ text }) => listArtifactNames(Buffer.from(text))));
  const createEntry = (key: string) => {
    const text = texts.get(key)?.text;
    if (text === undefined) return undefined;
    const [kind, id] = key.split('\u0000') as [DocumentKind, string];
    const artifactNames = listArtifactNames(Buffer.from(text));
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

    function commitTexts(
      stagedTexts: Texts,
      writtenKinds: ReadonlySet<DocumentKind>,
      events: readonly CommitEvent[],
    ): void {
      const before = listNamesIn(texts);
      texts = stagedTexts;
      const after = listNamesIn(texts);
      for (const kind of writtenKinds) revisions.set(kind, (revisions.get(kind) ?? 0) + 1);
      const droppedNames = [...before].filter((name) => !after.has(name));
      if (droppedNames.length > 0) onUnreferenced?.(droppedNames);
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
          const all = listIdsIn(texts, kind).map((id) => read(find(texts, kind, id)!.body, id, find(texts, kind, id)!));
          const documents = all.filter((document) => document !== undefined);
          const invalidCount = all.length - documents.length;
          return {
            documents,
            skipped: invalidCount,
            skipped_causes: { unreadable: 0, invalid: invalidCount, unsupported: 0 },
          };
        }),
      async transaction(change) {
        await runWhileOpen(() => undefined);
        const completion = turn.then(async () => {
          const stagedTexts: Texts = new Map(texts);
          const writtenKinds = new Set<DocumentKind>();
          const events: CommitEvent[] = [];
          let isOver = false;
          const callInTransaction = <T>(call: () => T): T => {
            if (isOver) throw new Error('the transaction is over');
            return call();
          };
          const currentTimestamp = formatTimestamp(now());
          try {
            const result = await change({
              get: async (kind, id) => callInTransaction(() => find(stagedTexts, kind, id)),
              ids: async (kind) => callInTransaction(() => listIdsIn(stagedTexts, kind)),
              lastNumber: async (kind, owner) => callInTransaction(() => findLastNumber(stagedTexts, kind, owner)),
              put: async (kind, id, body) =>
                callInTransaction(() => {
                  if (!isDocumentId(id)) throw new Error(`not a document id: ${id.slice(0, 80)}`);
                  const text = toCanonicalJson(body);
                  const etag = createHash('sha256').update(text).digest('hex');
                  stagedTexts.set(formatKey(kind, id), { text, etag, updatedAt: currentTimestamp });
                  writtenKinds.add(kind);
                  return etag;
                }),
              delete: async (kind, id) =>
                callInTransaction(
                  () => stagedTexts.delete(formatKey(kind, id)) && writtenKinds.add(kind) !== undefined,
                ),
              publish: (event) => callInTransaction(() => void events.push(event)),
            });
            commitTexts(stagedTexts, writtenKinds, events);
            return result;
          } finally {
            isOver = true;
          }
        });
        turn = completion.catch(() => undefined);
        return completion;
      },
      subscribe: listeners.add,
      referencedArtifacts: () => runWhileOpen(() => listNamesIn(texts)),
      referencedAmong: (names) =>
        runWhileOpen(() => new Set([...listNamesIn(texts)].filter((name) => names.includes(name)))),
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
        for (const key of texts.keys()) yield createEntry(key)!;
      },
      entry: async (key) => createEntry(key),
      close: async () => {},
    }),
  };
}
