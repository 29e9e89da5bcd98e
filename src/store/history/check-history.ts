import { AuditEntry } from '#domain/documents/audit-document.js';
import { DataHistoryDocument, DataVersionDocument, ForgottenHistory } from '#domain/documents/data-version-document.js';
import { HistoryDocument, VERSIONED_KINDS, type VersionedKind } from '#domain/documents/version-document.js';
import { parseNumber, getOwner } from '../document-id.js';
import { computeContentEtag, readVersion, type StoredVersion } from './history.js';

/** Document as read from disk. Its body is undefined if it is unreadable. */
interface Entry {
  readonly kind: string | undefined;
  readonly id: string;
  readonly body: unknown;
}

/** Check for missing or inconsistent versions. It receives all documents of a snapshot. */
export interface HistoryCheck {
  /** Returns the error in one document; undefined if it is valid. */
  look(entry: Entry): string | undefined;
  /** Returns the incomplete histories by id, after all documents were read. */
  gaps(): readonly Gap[];
}

interface Gap {
  readonly name: string;
  readonly reason: string;
}

/** Check of one kind of history. */
type Part = Pick<HistoryCheck, 'gaps'> & {
  /** @returns the error in the document; undefined if it is valid or of another kind */
  look(entry: Entry): string | undefined;
};

export function createHistoryCheck(): HistoryCheck {
  const parts: readonly Part[] = [createDocumentPart(), createDataPart()];
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

/** State of the history of a document. */
interface HistoryState {
  /** Record of the history. Contains its latest version number and the last number that was purged. */
  record?: { readonly latest: number; readonly purged: number };
  count: number;
  /** Last existing version with its ETag. The ETag is null for a deletion, undefined for a damaged version. */
  last: { readonly number: number; readonly etag: string | null | undefined };
  /** ETag of the document. It is undefined if the document is damaged, null if it is absent. */
  etag: string | null | undefined;
  /** Highest version number in the audit log. */
  named: number;
}

function createDocumentPart(): Part {
  const historyByName = new Map<string, HistoryState>();
  const getState = (name: string): HistoryState => {
    const history = historyByName.get(name) ?? { count: 0, last: { number: 0, etag: null }, etag: null, named: 0 };
    historyByName.set(name, history);
    return history;
  };

  function lookAtVersion(id: string, body: unknown): string | undefined {
    const subject = getState(getOwner(id));
    const version = readVersion(body);
    subject.count++;
    const number = parseNumber(id);
    if (number > subject.last.number) subject.last = { number, etag: version && computeCurrentEtag(id, version) };
    return version === undefined ? 'its content does not match its ETag' : undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'version') return lookAtVersion(id, body);
      if (kind === 'history') {
        const record = HistoryDocument.safeParse(body).data;
        if (record === undefined) return 'it is not a record of a history';
        getState(id).record = { latest: record.latest, purged: record.purged ?? 0 };
      }
      if (isVersioned(kind))
        getState(`${kind}/${id}`).etag = body === undefined ? undefined : computeContentEtag(kind, body);
      const entry = kind === 'audit' ? AuditEntry.safeParse(body).data : undefined;
      if (entry !== undefined && isVersioned(entry.kind)) {
        const subject = getState(`${entry.kind}/${entry.id}`);
        subject.named = Math.max(subject.named, entry.version ?? 0);
      }
      return undefined;
    },
    gaps: () =>
      [...historyByName].flatMap(([name, each]) => {
        const reason = findGap(each);
        return reason === undefined ? [] : [{ name, reason }];
      }),
  };
}

/**
 * Returns the error in the history of a document. Returns undefined if there is none, and for a document of an earlier
 * release without versions.
 */
function findGap({ record, count, last, etag, named }: HistoryState): string | undefined {
  if (record === undefined)
    return count > 0 || named > 0 ? 'it has versions, but the record of its history is missing' : undefined;
  const latestVersion = Math.max(record.latest, last.number, named);
  const writtenCount = latestVersion - record.purged;
  if (count !== writtenCount) return `it has ${count} versions; ${writtenCount} were written`;
  if (etag === undefined || last.etag === undefined || etag === last.etag) return undefined; // damage is reported by other checks
  if (etag === null) return `the document is missing, but version ${last.number} is not its deletion`;
  return `the document differs from its version ${last.number}`;
}

/**
 * Returns the ETag of the content of a version in its current form. The form has changed, because stores have more
 * members now.
 */
function computeCurrentEtag(id: string, { content, etag }: StoredVersion): string | null {
  if (content === null) return null;
  return id.startsWith('store/') ? computeContentEtag('store', JSON.parse(content)) : etag;
}

const isVersioned = (kind: string | undefined): kind is VersionedKind =>
  (VERSIONED_KINDS as readonly (string | undefined)[]).includes(kind);

function createDataPart(): Part {
  const heads = new Map<string, DataHistoryDocument>();
  /**
   * Last version number of deleted data stores, by the id that they had; 0 if there is none. The next start removes the
   * versions up to this number.
   */
  const forgottenByName = new Map<string, number>();
  const numbers = new Map<string, number[]>();
  const stores = new Set<string>();

  function checkHead(id: string, body: unknown): string | undefined {
    const head = DataHistoryDocument.safeParse(body).data;
    const historyHead = head ?? ForgottenHistory.safeParse(body).data;
    if (historyHead === undefined) return 'it is not a head of a history';
    if (head !== undefined) heads.set(id, head);
    forgottenByName.set(id, historyHead.forgotten ?? 0);
    return undefined;
  }

  return {
    look({ kind, id, body }) {
      if (kind === 'store') stores.add(id);
      if (kind === 'data-history') return checkHead(id, body);
      if (kind !== 'data-version') return undefined;
      const ownerNumbers = numbers.get(getOwner(id)) ?? [];
      numbers.set(getOwner(id), ownerNumbers);
      ownerNumbers.push(parseNumber(id));
      return DataVersionDocument.safeParse(body).success ? undefined : 'it is not a data version';
    },
    gaps: () => [
      ...[...numbers.keys()].flatMap((id) =>
        stores.has(id) && !heads.has(id)
          ? [{ name: `data ${id}`, reason: 'it has versions, but their head is missing' }]
          : [],
      ),
      ...[...heads].flatMap(([id, { latest }]) => {
        const lastForgottenVersion = forgottenByName.get(id) ?? 0;
        const count =
          numbers.get(id)?.filter((number) => number > lastForgottenVersion && number <= latest).length ?? 0;
        const writtenCount = latest - lastForgottenVersion;
        return count === writtenCount
          ? []
          : [{ name: `data ${id}`, reason: `it has ${count} versions; ${writtenCount} were written` }];
      }),
    ],
  };
}
