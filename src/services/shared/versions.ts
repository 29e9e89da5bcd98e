import type { Scope } from '#contract/route.js';
import type { DocumentVersion, VersionDifference, VersionList } from '#contract/versions.js';
import { listChanges } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import { readConstraintSet } from '#domain/definition/constraint-sets.js';
import { removePassword } from '#domain/definition/datasets.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { compareSentences, createMethodology } from '#domain/definition/methodology.js';
import { type Authorship, type Subject, VERSIONED_DOCUMENTS, type VersionedKind } from '#domain/definition/versions.js';
import { hasVersions, type HistoryHead, loadVersion, readHead, type StoredVersion } from '#store/history/history.js';
import type { DocumentTransaction, UnreadableCause } from '#store/port.js';
import type { Context } from './context.js';
import { countSkipped } from './documents.js';
import { deleteRuns } from './run-documents.js';
import { readAdjustment } from './store-documents.js';

export interface VersionContent {
  readonly version: number;
  readonly etag: string;
  /** Body of the document as it was stored. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Versions of documents with author and time. */
export interface Versions {
  /**
   * Lists the versions of a document, newest first. @throws the refusal of the document's kind if the document never
   * existed
   */
  list(subject: Subject, query: { readonly limit: number; readonly before?: number | undefined }): Promise<VersionList>;
  /**
   * Returns a version in the format of the API. @throws the refusals of `list`; VERSION_NOT_FOUND, also for the version
   * of a deletion
   */
  read(subject: Subject, version: number): Promise<VersionContent>;
  /**
   * Returns a version as it is stored, so that it can be restored. @throws the refusals of `read`, and
   * VERSION_NOT_RESTORABLE for a deletion
   */
  restorable(subject: Subject, version: number): Promise<VersionContent>;
  /** Compares two versions. @throws the refusals of `read` */
  difference(subject: Subject, query: { readonly from: number; readonly to: number }): Promise<VersionDifference>;
  /**
   * Returns the authorship for a deletion. If it purges and the document was already deleted, removes its versions and
   * returns what was purged. @throws Refusal FORBIDDEN_SCOPE for a purge without the scope admin
   */
  prepareRemoval(subject: Subject, by: Authorship, terms: RemovalTerms): Promise<Authorship | PurgedDocument>;
}

/** Kind of a deletion, and the scopes of its client. */
interface RemovalTerms {
  readonly purges: boolean;
  readonly scopes: ReadonlySet<Scope>;
}

/** Parts of a deleted document that were removed: its versions and, for an index or a strategy, its published runs. */
export interface PurgedDocument {
  readonly purgedRuns: number;
}

export function createVersions(context: Context): Versions {
  const { documents } = context;
  /** Removes the versions of a deleted document. Returns undefined if it still exists, or never existed. */
  const purgeDeleted = ({ kind, id }: Subject, authorship: Authorship): Promise<PurgedDocument | undefined> =>
    documents.transaction(
      async (tx) => {
        if ((await tx.get(kind, id)) !== undefined) return undefined;
        const purgedRuns = await deleteOrphanedRuns(tx, { kind, id });
        return (await tx.delete(kind, id)) || purgedRuns > 0 ? { purgedRuns } : undefined;
      },
      { by: { ...authorship, purges: true } },
    );

  async function requireHead(subject: Subject): Promise<HistoryHead> {
    const head = await readHead(documents, subject);
    if (!hasVersions(head)) throw refuseMissing(subject);
    return head;
  }

  async function requireVersion(subject: Subject, number: number): Promise<StoredVersion> {
    const head = await requireHead(subject);
    const version = await loadVersion(documents, subject, number);
    if (version === undefined) throw refuseMissingVersion(subject, number, head);
    if (typeof version === 'string') throw refuseVersion(subject, number);
    return version;
  }

  async function load(subject: Subject, number: number): Promise<VersionContent> {
    const version = await requireVersion(subject, number);
    if (version.content === null) throw refuseDeleted(subject, version);
    return { version: number, etag: version.etag, body: JSON.parse(version.content) as VersionContent['body'] };
  }

  async function read(subject: Subject, number: number): Promise<VersionContent> {
    const version = await load(subject, number);
    return { ...version, body: toClientForm(subject, version.body) };
  }

  /**
   * Returns the methodology sentences of an index on the served market. Returns no sentences for other documents, and
   * if this engine cannot read the definition.
   */
  async function listSentences({ kind }: Subject, body: unknown): Promise<readonly string[]> {
    const document = kind === 'index' ? readIndex(body) : undefined;
    return document === undefined ? [] : createMethodology(document, await readAdjustment(context, document));
  }

  return {
    async list(subject, { limit, before }) {
      const { latest, purged } = await requireHead(subject);
      const versions: DocumentVersion[] = [];
      const skippedCauses: UnreadableCause[] = [];
      for (
        let versionNumber = Math.min(latest, (before ?? Infinity) - 1);
        versionNumber > purged && versions.length < limit;
        versionNumber--
      ) {
        const loadedVersion = (await loadVersion(documents, subject, versionNumber)) ?? 'unreadable'; // version numbers have no gap
        if (typeof loadedVersion === 'string') {
          skippedCauses.push(loadedVersion);
          continue;
        }
        const { content: _, restored_from = null, key_id = null, ...version } = loadedVersion;
        versions.push({ ...version, key_id, restored_from });
      }
      return { versions, total: latest - purged, ...countSkipped(skippedCauses) };
    },
    read,
    async restorable(subject, number) {
      const version = await requireVersion(subject, number);
      if (version.content !== null) {
        const content = await load(subject, number);
        return { ...content, body: restoreStoredForm(subject, content.body) };
      }
      const message = `Version ${number} of the ${getName(subject)} is its deletion; an earlier one can be restored.`;
      throw new Refusal('VERSION_NOT_RESTORABLE', message, { version: number });
    },
    async difference(subject, { from, to }) {
      const [before, after] = [await read(subject, from), await read(subject, to)];
      const [said, saying] = [await listSentences(subject, before.body), await listSentences(subject, after.body)];
      return {
        from,
        to,
        changes: listChanges(before.body, after.body),
        sentences: compareSentences(said, saying),
      };
    },
    async prepareRemoval(subject, by, { purges, scopes }) {
      if (!purges) return by;
      if (!scopes.has('admin'))
        throw new Refusal('FORBIDDEN_SCOPE', 'The key lacks the scope admin, which purge requires.', {
          needed: 'admin',
          scopes: [...scopes],
        });
      return (await purgeDeleted(subject, by)) ?? { ...by, purges: true };
    },
  };
}

/** Removes the published runs of a deleted index or strategy. @returns the number of removed runs */
async function deleteOrphanedRuns(tx: DocumentTransaction, { kind, id }: Subject): Promise<number> {
  const other = SIBLING_KINDS[kind];
  // An index and a strategy with the same id share run ids. The runs are kept if the other document exists.
  return other === undefined || (await tx.get(other, id)) !== undefined ? 0 : deleteRuns(tx, id, { all: true });
}

const SIBLING_KINDS: Partial<Record<VersionedKind, VersionedKind>> = { index: 'strategy', strategy: 'index' };

/** Returns a stored version in the format of the API. URLs of data sources contain no passwords. */
function toClientForm({ kind }: Subject, body: VersionContent['body']): VersionContent['body'] {
  const { source } = body;
  return kind === 'store' && typeof source === 'string' ? { ...body, source: removePassword(source) } : body;
}

/**
 * Returns the body of a version for storing it again. Where a default has changed since, the body contains the old
 * default explicitly.
 */
function restoreStoredForm({ kind }: Subject, body: VersionContent['body']): VersionContent['body'] {
  if (kind === 'index') return readIndex(body) ?? body;
  return kind === 'constraint-set' ? (readConstraintSet(body) ?? body) : body;
}

const getName = ({ kind, id }: Subject): string => `${VERSIONED_DOCUMENTS[kind].word} ${id}`;

function refuseMissing(subject: Subject): Refusal {
  const { word, missing: code } = VERSIONED_DOCUMENTS[subject.kind];
  return new Refusal(code, `There is no ${word} ${subject.id}, nor a version of one.`);
}

function refuseMissingVersion(subject: Subject, version: number, { latest, purged }: HistoryHead): Refusal {
  const message = `The ${getName(subject)} has no version ${version}; it has ${purged + 1} to ${latest}.`;
  return new Refusal('VERSION_NOT_FOUND', message, { version, first: purged + 1, last: latest });
}

function refuseDeleted(subject: Subject, { version, action, at }: StoredVersion): Refusal {
  const message = `Version ${version} of the ${getName(subject)} is its deletion.`;
  return new Refusal('VERSION_NOT_FOUND', message, { version, action, at });
}

function refuseVersion(subject: Subject, version: number): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `Version ${version} of the ${getName(subject)} cannot be read.`, {
    version,
  });
}
