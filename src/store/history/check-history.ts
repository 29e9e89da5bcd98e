import { DataHistoryDocument, DataVersionDocument } from '#domain/documents/data-version-document.js';
import { HistoryDocument } from '#domain/documents/version-document.js';
import { ownerOf } from '../document-id.js';
import { readVersion } from './history.js';

/** A document as it was found on disk. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Looks through all documents of one moment for versions that are missing, or are not what they say. */
export interface HistoryCheck {
  /** What is wrong with one document by itself; undefined when nothing is. */
  look(entry: Entry): string | undefined;
  /** Once every document was looked at: histories with missing versions, by their ids. */
  gaps(): readonly { readonly name: string; readonly reason: string }[];
}

/** How the data of a store is told from documents: their ids begin with their kind. */
const dataOf = (datasetId: string): string => `data ${datasetId}`;

export function createHistoryCheck(): HistoryCheck {
  const heads = new Map<string, number>();
  const counts = new Map<string, number>();
  /** Numbers of the versions of data. Those after the last are of a deleted store, and go at the next start. */
  const numbers = new Map<string, number[]>();
  const stores = new Set<string>();
  return {
    look({ kind, id, body }) {
      if (kind === 'store') stores.add(dataOf(id));
      if (kind === 'history') {
        const head = HistoryDocument.safeParse(body).data;
        if (head === undefined) return 'it is no head of a history';
        heads.set(id, head.latest - (head.purged ?? 0));
      }
      if (kind === 'data-history') {
        const head = DataHistoryDocument.safeParse(body).data;
        if (head === undefined) return 'it is no head of a history';
        heads.set(dataOf(id), head.latest);
      }
      if (kind === 'data-version') {
        const store = ownerOf(id);
        const known = numbers.get(dataOf(store)) ?? [];
        numbers.set(dataOf(store), known);
        known.push(Number(id.slice(store.length + 1)));
        return DataVersionDocument.safeParse(body).success ? undefined : 'it is no version of data';
      }
      if (kind !== 'version') return undefined;
      const subject = ownerOf(id);
      counts.set(subject, (counts.get(subject) ?? 0) + 1);
      return readVersion(body) === undefined ? 'its content is not what its ETag says' : undefined;
    },
    gaps: () => [
      ...[...numbers.keys()].flatMap((name) =>
        stores.has(name) && !heads.has(name)
          ? [{ name, reason: 'it has versions, and the head of them is missing' }]
          : [],
      ),
      ...[...heads].flatMap(([name, latest]) => {
        const found = numbers.get(name)?.filter((number) => number <= latest).length ?? counts.get(name) ?? 0;
        return found === latest ? [] : [{ name, reason: `it has ${found} versions; ${latest} were written` }];
      }),
    ],
  };
}
