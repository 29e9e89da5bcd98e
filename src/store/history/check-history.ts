import { AuditEntry } from '#domain/documents/audit-document.js';
import { DataHistoryDocument, DataVersionDocument, ForgottenHistory } from '#domain/documents/data-version-document.js';
import { HistoryDocument, VERSIONED_KINDS, type VersionedKind } from '#domain/documents/version-document.js';
import { numberOf, ownerOf } from '../document-id.js';
import { etagOfContent, readVersion, type Version } from './history.js';

/** A document as it was found on disk; its body is undefined where it cannot be read. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Looks through all documents of one moment for versions that are missing, or are not what they say. */
export interface HistoryCheck {
  /** What is wrong with one document by itself; undefined when nothing is. */
  look(entry: Entry): string | undefined;
  /** Once every document was looked at: histories with missing records, by their ids. */
  gaps(): readonly Gap[];
}

interface Gap {
  readonly name: string;
  readonly reason: string;
}

/** What of one kind of history is looked at. */
type Part = Pick<HistoryCheck, 'gaps'> & {
  /** @returns what is wrong with the document; undefined of other kinds too */
  look(entry: Entry): string | undefined;
};

export function createHistoryCheck(): HistoryCheck {
  const parts: readonly Part[] = [documentHistories(), dataHistories()];
  return {
    look(entry) {
      for (const part of parts) {
        const reason = part.look(entry);
        if (reason !== undefined) return reason;
      }
      return undefined;
    },
    gaps: () => parts.flatMap((part) => part.gaps()),
  };
}

/** What was found of the history of a document. */
interface Found {
  /** What says that there is one: the number that it was written with, and up to which versions were purged. */
  record?: { readonly latest: number; readonly purged: number };
  count: number;
  /** Of the last version that is there; what it left standing is null after a deletion, undefined where it is damaged. */
  last: { readonly number: number; readonly etag: string | null | undefined };
  /** ETag of the document itself; undefined where it is damaged, null where it is not there. */
  etag: string | null | undefined;
  /** Greatest number that the log of writes names. */
  named: number;
}

function documentHistories(): Part {
  const found = new Map<string, Found>();
  const of = (name: string): Found => {
    const known = found.get(name) ?? { count: 0, last: { number: 0, etag: null }, etag: null, named: 0 };
    found.set(name, known);
    return known;
  };

  function lookAtVersion(id: string, body: unknown): string | undefined {
    const subject = of(ownerOf(id));
    const version = readVersion(body);
    subject.count++;
    const number = numberOf(id);
    if (number > subject.last.number) subject.last = { number, etag: version && etagLeft(id, version) };
    return version === undefined ? 'its content is not what its ETag says' : undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'version') return lookAtVersion(id, body);
      if (kind === 'history') {
        const record = HistoryDocument.safeParse(body).data;
        if (record === undefined) return 'it is no record of a history';
        of(id).record = { latest: record.latest, purged: record.purged ?? 0 };
      }
      if (isVersioned(kind)) of(`${kind}/${id}`).etag = body === undefined ? undefined : etagOfContent(kind, body);
      const entry = kind === 'audit' ? AuditEntry.safeParse(body).data : undefined;
      if (entry !== undefined && isVersioned(entry.kind)) {
        const subject = of(`${entry.kind}/${entry.id}`);
        subject.named = Math.max(subject.named, entry.version ?? 0);
      }
      return undefined;
    },
    gaps: () =>
      [...found].flatMap(([name, each]) => {
        const reason = gapOf(each);
        return reason === undefined ? [] : [{ name, reason }];
      }),
  };
}

/** What is missing of the history of a document; nothing of one that was stored before there were versions. */
function gapOf({ record, count, last, etag, named }: Found): string | undefined {
  if (record === undefined)
    return count > 0 || named > 0 ? 'it has versions, and the record of its history is missing' : undefined;
  const latest = Math.max(record.latest, last.number, named);
  const written = latest - record.purged;
  if (count !== written) return `it has ${count} versions; ${written} were written`;
  if (etag === undefined || last.etag === undefined || etag === last.etag) return undefined; // Damage is told elsewhere.
  if (etag === null) return `the document is missing, and version ${last.number} is not its deletion`;
  return `the document is not what its version ${last.number} says`;
}

/** ETag of what a version left standing, as documents have it now: what is declared of stores has grown. */
function etagLeft(id: string, { content, etag }: Version): string | null {
  if (content === null) return null;
  return id.startsWith('store/') ? etagOfContent('store', JSON.parse(content)) : etag;
}

const isVersioned = (kind: string | undefined): kind is VersionedKind =>
  (VERSIONED_KINDS as readonly (string | undefined)[]).includes(kind);

function dataHistories(): Part {
  const heads = new Map<string, DataHistoryDocument>();
  /** By store, up to where its versions are of one that was deleted: those go at the next start. */
  const forgotten = new Map<string, number>();
  const numbers = new Map<string, number[]>();
  const stores = new Set<string>();

  function lookAtHead(id: string, body: unknown): string | undefined {
    const head = DataHistoryDocument.safeParse(body).data;
    const left = head ?? ForgottenHistory.safeParse(body).data;
    if (left === undefined) return 'it is no head of a history';
    if (head !== undefined) heads.set(id, head);
    forgotten.set(id, left.forgotten ?? 0);
    return undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'store') stores.add(id);
      if (kind === 'data-history') return lookAtHead(id, body);
      if (kind !== 'data-version') return undefined;
      const known = numbers.get(ownerOf(id)) ?? [];
      numbers.set(ownerOf(id), known);
      known.push(numberOf(id));
      return DataVersionDocument.safeParse(body).success ? undefined : 'it is no version of data';
    },
    gaps: () => [
      ...[...numbers.keys()].flatMap((id) =>
        stores.has(id) && !heads.has(id)
          ? [{ name: `data ${id}`, reason: 'it has versions, and the head of them is missing' }]
          : [],
      ),
      ...[...heads].flatMap(([id, { latest }]) => {
        const before = forgotten.get(id) ?? 0;
        const count = numbers.get(id)?.filter((number) => number > before && number <= latest).length ?? 0;
        const written = latest - before;
        return count === written
          ? []
          : [{ name: `data ${id}`, reason: `it has ${count} versions; ${written} were written` }];
      }),
    ],
  };
}
