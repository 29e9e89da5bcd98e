import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import { AuditSeal, StoredAuditHead, type Subject, VERSIONED_KINDS } from '#domain/definition/versions.js';
import { removePassword } from '#domain/definition/datasets.js';
import type { SigningKey } from '#domain/definition/publication.js';
import { type DocumentKind, type DocumentStore, parseStored, readStoredBody, type StoredDocument } from './port.js';
import { computeCanonicalEtag, packContent, removePrivateKey, startHistory, unpackContent } from './history/history.js';
import { EXIT_CONFIGURATION, StartRefusal } from './start-refusal.js';

/**
 * Forms of stored documents. Releases since 0.7.0 write and read form 1. Releases 0.1.0 to 0.6.0 wrote other forms of
 * some documents, which only `convertDocuments` reads. A store with the mark contains no document of these forms; a
 * store without it is searched once.
 */
const CURRENT_FORM = 1;
/** First release that writes the current form. */
const CURRENT_SINCE = '0.7.0';

const MARK_KIND = 'stored-forms';
const MARK_ID = 'documents';

type Body = Readonly<Record<string, unknown>>;

interface EarlierForm {
  readonly kinds: readonly DocumentKind[];
  isEarlier(body: Body, id: string): boolean;
  convert(body: Body): unknown;
}

/**
 * Versions with their content as base64 (`=`) or as plain JSON (`{`), by releases before 0.3.0. The ETag of a version is
 * that of the unpacked content, so it stays.
 */
const versions: EarlierForm = {
  kinds: ['version'],
  isEarlier: ({ content }) => typeof content === 'string' && /^[={]/.test(content),
  async convert({ content, ...version }) {
    const text = content as string; // see `isEarlier`
    const json = text.startsWith('=') ? Buffer.from(text.slice(1), 'base64').toString('utf8') : text;
    return { ...version, content: await packContent(json) };
  },
};

/** Members of the record of a job that releases before 0.7.0 introduced one after another. */
const JOB_DEFAULTS: Body = {
  author: null,
  note: null,
  request_id: null,
  trace_id: null,
  callbacks: [],
  node: null,
  earlier: [],
  losses: 0,
  releases: 0,
  not_before: null,
};

const hasErrorCode = (error: unknown): boolean => typeof (error as Body | null)?.['code'] === 'string';

const jobs: EarlierForm = {
  kinds: ['job'],
  isEarlier: (job) =>
    Object.keys(JOB_DEFAULTS).some((name) => !(name in job)) ||
    (job['status'] === 'failed' && !hasErrorCode(job['error'])),
  convert: (job) => ({
    ...JOB_DEFAULTS,
    ...job,
    ...(job['status'] === 'failed' && !hasErrorCode(job['error']) ? { error: describeFailure(job) } : {}),
  }),
};

/** Returns the error of a failed job of releases that stored a text, or a message without a code. */
function describeFailure({ error, message }: Body): unknown {
  const stored: Body = typeof error === 'object' && error !== null ? (error as Body) : { message: error };
  const texts = [stored['message'], message].filter((text) => typeof text === 'string' && text !== '');
  return { detail: null, ...stored, code: 'UNCLASSIFIED_FAILURE', message: texts[0] ?? 'The job failed.' };
}

/** Runs without the members of extensions, and runs with a single earlier file. */
const runs: EarlierForm = {
  kinds: ['run', 'kept-run'],
  isEarlier: ({ full_run_reason: reason, extended_from: extendedFrom, artifacts }) =>
    reason === undefined || extendedFrom === undefined || (artifacts as Body)['base'] !== undefined,
  convert({ full_run_reason: reason = null, extended_from: extendedFrom = null, artifacts, ...run }) {
    const { base, ...files } = artifacts as Body;
    return {
      ...run,
      extended_from: extendedFrom,
      full_run_reason: reason,
      artifacts: base === undefined ? files : { begun: [base], ...files },
    };
  },
};

/** Signing keys that were replaced but kept their private half, by releases before 0.4.0. */
const signingKeys: EarlierForm = {
  kinds: ['signing-key'],
  isEarlier: ({ valid_until: until, private_key: key }) => until !== null && key !== '',
  convert: (body) => removePrivateKey(body as unknown as SigningKey),
};

/**
 * Versions of data stores with the password of their source, by releases before 0.4.0. The audit log keeps the ETag
 * with the password.
 */
const storeVersions: EarlierForm = {
  kinds: ['version'],
  isEarlier(version, id) {
    const source = id.startsWith('store/') ? readContent(version)?.['source'] : undefined;
    return typeof source === 'string' && removePassword(source) !== source;
  },
  async convert(version) {
    const declaration = readContent(version)!; // see `isEarlier`
    const content = toCanonicalJson({ ...declaration, source: removePassword(declaration['source'] as string) });
    return { ...version, content: await packContent(content), etag: computeCanonicalEtag(content) };
  },
};

/** Returns the content of a version; undefined for a deletion, and for damaged content. */
function readContent({ content }: Body): Body | undefined {
  const text = typeof content === 'string' ? unpackContent(content) : undefined;
  return text === undefined ? undefined : (JSON.parse(text) as Body);
}

const EARLIER_FORMS: readonly EarlierForm[] = [versions, storeVersions, signingKeys, jobs, runs];

/**
 * Checks once that a store contains only documents of the current form, and marks it.
 * @throws StartRefusal 78 with the number of documents of earlier forms and the command that converts them
 * @cost one read of the mark; without a mark, one listing of every kind that has earlier forms
 */
export async function assertCurrentForms(documents: DocumentStore, isReadOnly = false): Promise<void> {
  if (await isMarked(documents)) return;
  const earlier = await listEarlierDocuments(documents);
  if (earlier.length > 0)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The store contains ${earlier.length} ${earlier.length === 1 ? 'document' : 'documents'} in the form of a release before ${CURRENT_SINCE}, for example ${earlier[0]}; this version reads the forms of ${CURRENT_SINCE} and later: run divisor migrate.`,
    );
  if (!isReadOnly) await markStore(documents).catch(ignoreFullStorage);
}

/** Returns true if a store has the mark of the current form. @throws StartRefusal 78 if its form is a later one */
async function isMarked(documents: DocumentStore): Promise<boolean> {
  const mark = await documents.get(MARK_KIND, MARK_ID);
  const form = readStoredBody(mark, (body) => (body as { readonly form: number }).form) ?? 0; // see `markStore`
  if (form <= CURRENT_FORM) return form === CURRENT_FORM;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The documents have form ${form}; this version reads form ${CURRENT_FORM}: a newer version is required.`,
  );
}

/** The start of a service does not need the mark: the next start searches again. */
function ignoreFullStorage(thrown: unknown): void {
  if (!(thrown instanceof Refusal && thrown.code === 'STORAGE_FULL')) throw thrown;
}

const markStore = (documents: DocumentStore): Promise<unknown> =>
  documents.transaction((tx) => tx.put(MARK_KIND, MARK_ID, { form: CURRENT_FORM }));

/** Returns the names of the documents of earlier forms, such as `job risk:small`. */
async function listEarlierDocuments(documents: DocumentStore): Promise<string[]> {
  const names: string[] = [];
  for (const form of EARLIER_FORMS)
    for (const kind of form.kinds) names.push(...(await listIds(documents, kind, form)).map((id) => `${kind} ${id}`));
  names.push(...(await findUnversioned(documents)).map(({ kind, id }) => `${kind} ${id}`));
  if ((await completeAuditHead(documents)) !== undefined) names.push('audit-head head');
  return names;
}

async function listIds(documents: DocumentStore, kind: DocumentKind, form: EarlierForm): Promise<readonly string[]> {
  const listing = await documents.list(kind, (body, id) => (form.isEarlier(body as Body, id) ? id : '')); // bodies are objects
  return listing.documents.filter((id) => id !== '');
}

/** Number of documents that one transaction converts. */
const BATCH = 64;

/**
 * Converts the documents of earlier releases to the current form, and then marks the store. An interrupted conversion
 * loses nothing: each batch is written completely or not at all, and the next conversion continues. A document that
 * another process changes meanwhile is left to that process, which writes the current form.
 * @returns number of documents that were in an earlier form
 * @throws Refusal STORAGE_FULL; documents that were not converted are unchanged
 */
export async function convertDocuments(documents: DocumentStore): Promise<number> {
  if (await isMarked(documents)) return 0;
  let count = 0;
  for (const form of EARLIER_FORMS)
    for (const kind of form.kinds) {
      const ids = await listIds(documents, kind, form);
      count += ids.length;
      for (let from = 0; from < ids.length; from += BATCH)
        await convertBatch(documents, { kind, form, ids: ids.slice(from, from + BATCH) });
    }
  const unversioned = await findUnversioned(documents);
  for (const subject of unversioned) await documents.transaction((tx) => startHistory(tx, subject));
  const head = await completeAuditHead(documents);
  if (head !== undefined) await documents.transaction((tx) => tx.put('audit-head', 'head', head));
  await markStore(documents);
  return count + unversioned.length + (head === undefined ? 0 : 1);
}

/** Returns the readable documents without a history, which releases before 0.2.0 wrote. */
async function findUnversioned(documents: DocumentStore): Promise<readonly Subject[]> {
  const histories = new Set(await documents.ids('history'));
  const subjects: Subject[] = [];
  for (const kind of VERSIONED_KINDS) {
    const ids = (await documents.ids(kind)).filter((id) => !histories.has(`${kind}/${id}`));
    for (const id of ids) {
      const stored = await documents.get(kind, id);
      if (stored !== undefined && !('unreadable' in stored)) subjects.push({ kind, id });
    }
  }
  return subjects;
}

interface Batch {
  readonly kind: DocumentKind;
  readonly form: EarlierForm;
  readonly ids: readonly string[];
}

async function convertBatch(documents: DocumentStore, { kind, form, ids }: Batch): Promise<void> {
  const converted: { readonly stored: StoredDocument; readonly body: unknown }[] = [];
  for (const id of ids) {
    const stored = await documents.get(kind, id);
    if (stored !== undefined && !('unreadable' in stored))
      converted.push({ stored, body: await form.convert(stored.body as Body) });
  }
  await documents.transaction(async (tx) => {
    for (const { stored, body } of converted) {
      const present = await tx.get(kind, stored.id);
      if (present !== undefined && 'etag' in present && present.etag === stored.etag)
        await tx.put(kind, stored.id, body);
    }
  });
}

/**
 * Returns the head of the audit log with the number of its signatures and the last one, which releases before 0.3.0 did
 * not store. Returns undefined if the head states them, or nothing is signed.
 */
async function completeAuditHead(documents: DocumentStore): Promise<StoredAuditHead | undefined> {
  const head = parseStored(await documents.get('audit-head', 'head'), StoredAuditHead);
  if (head === undefined || head.seal_hash !== undefined) return undefined;
  const ids = await documents.ids('audit-seal');
  const last = ids.length === 0 ? undefined : parseStored(await documents.get('audit-seal', ids.at(-1)!), AuditSeal);
  return last && { ...head, sealed: last.seq, seals: ids.length, seal_hash: last.hash };
}
