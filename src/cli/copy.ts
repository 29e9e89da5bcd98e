import { rename } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readJobRecord } from '#jobs/job-record.js';
import { rowOf } from '#jobs/postgres/job-documents.js';
import { advanceSequence } from '#jobs/postgres/job-rows.js';
import { openHome, type HomeFolders } from '#store/home/home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { DOCUMENT_KINDS, type DocumentEngine, type DocumentKind, type StoredDocument } from '#store/port.js';
import { openDatabaseDocuments, type DatabaseDocuments } from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { homeReport } from './home-report.js';
import { firstSentence, readSettings } from './settings.js';
import { right } from './terminal.js';
import { UsageError } from './usage-error.js';

export const COPY_HELP = `divisor copy --from HOME --to URL [--json]
divisor copy --from URL --to HOME [--json]

Copies the documents of a home into a database, or those of a database into a home, while no service runs on either: indices,
runs, jobs, keys, with their times. Each is read again and compared by its hash. Results and managed stores stay in the home,
which is served with them: after a copy into a database its own documents are moved aside into its folder documents-TIME.

  --from, --to  A folder, or postgres://user:password@host:5432/name; DATABASE_URL stands for the one that is left out.
  --json        One JSON object a line, as on a pipe.

Exit statuses: 0 done; 1 done, but for documents that cannot be read, which are named; 75 a service runs on one of them;
78 the target holds documents already.
`;

interface Place {
  readonly documents: DocumentEngine | DatabaseDocuments;
  /** @param isMoved whether the documents of a home are moved aside, because they are in a database now */
  close(isMoved: boolean): Promise<void>;
}

interface CopiedKind {
  readonly kind: DocumentKind;
  readonly copied: number;
  /** Ids of those that cannot be read. */
  readonly unreadable: readonly string[];
}

const EXIT_UNREADABLE = 1;
/** Documents on their way at a time: their commits go to disk together. */
const AT_ONCE = 64;

/** `divisor copy`: documents from a home to a database, or back. */
export async function copy(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { from, to, json } = placesOf(argv, environment);
  const report = homeReport<CopiedKind>(json);
  const clock = { ms: 0 };
  const source = await openPlace(from, clock);
  let isMoved = false;
  try {
    const target = await openPlace(to, clock);
    const copied: CopiedKind[] = [];
    try {
      await assertEmpty(target.documents);
      for (const kind of DOCUMENT_KINDS) {
        report.progress(kind);
        copied.push(await copyKind(kind, source.documents, { target: target.documents, clock }));
      }
      if ('database' in target.documents) await advanceSequence(target.documents);
    } finally {
      await target.close(false);
    }
    report.print(copied, ['kind', 'copied', 'unreadable'], ({ kind, copied: count, unreadable }) => [
      kind,
      right(String(count)),
      unreadable.join(', ') || 'none',
    ]);
    isMoved = true;
    return copied.some(({ unreadable }) => unreadable.length > 0) ? EXIT_UNREADABLE : 0;
  } finally {
    await source.close(isMoved);
  }
}

function placesOf(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const text = { type: 'string' } as const;
  try {
    const options = { from: text, to: text, json: { type: 'boolean' } } as const;
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    const { from = environment['DATABASE_URL'], to = environment['DATABASE_URL'], json } = values;
    if (from !== undefined && to !== undefined && isDatabase(from) !== isDatabase(to)) return { from, to, json };
  } catch (failure) {
    throw new UsageError(`${firstSentence(failure)}\n\n${COPY_HELP}`, { cause: failure });
  }
  throw new UsageError(`One of --from and --to is a home, the other one a database.\n\n${COPY_HELP}`);
}

const isDatabase = (place: string): boolean => /^postgres(ql)?:/.test(place);

/** Opens documents to be the only one there. @param clock time of what is written */
async function openPlace(place: string, clock: { readonly ms: number }): Promise<Place> {
  const options = {
    now: () => clock.ms,
    onFailure(cause: unknown) {
      throw cause;
    },
  };
  if (isDatabase(place)) {
    const { settings } = readSettings(['--database', place], {});
    const documents = await openDatabaseDocuments({ ...options, place: { url: settings.database!, migrate: true } });
    return { documents, close: () => documents.close() };
  }
  const home = await openHome(place);
  try {
    const documents = await openDocumentStore({ ...options, folder: home.documents, backups: home.backups });
    return {
      documents,
      async close(isMoved) {
        await documents.close();
        if (isMoved) await moveAside(home);
        await home.close();
      },
    };
  } catch (thrown) {
    await home.close();
    throw thrown;
  }
}

/** @throws StartRefusal 78 */
async function assertEmpty(documents: DocumentEngine): Promise<void> {
  for (const kind of DOCUMENT_KINDS) {
    const { length } = await documents.ids(kind);
    if (length > 0)
      throw new StartRefusal(EXIT_CONFIGURATION, `The target holds documents already: ${length} of kind ${kind}.`);
  }
}

async function copyKind(
  kind: DocumentKind,
  source: DocumentEngine,
  { target, clock }: { readonly target: Place['documents']; readonly clock: { ms: number } },
): Promise<CopiedKind> {
  const unreadable: string[] = [];
  const ids = kind === 'job' ? await inOrderOfSubmission(source) : await source.ids(kind);
  const atOnce = kind === 'job' ? 1 : AT_ONCE; // Turns are given in the order of writing.
  for (let i = 0; i < ids.length; i += atOnce) {
    const found = await Promise.all(ids.slice(i, i + atOnce).map((id) => source.get(kind, id)));
    const whole = found.flatMap((document) => (document === undefined || 'unreadable' in document ? [] : [document]));
    for (const document of found) if (document !== undefined && 'unreadable' in document) unreadable.push(document.id);
    await Promise.all(
      whole.map((document) => {
        clock.ms = Date.parse(document.updatedAt); // Read by the store when the transaction begins.
        return write(target, kind, document);
      }),
    );
    for (const { id, etag } of whole) await assertSame(target, { kind, id, etag });
  }
  return { kind, copied: ids.length - unreadable.length, unreadable };
}

async function inOrderOfSubmission(source: DocumentEngine): Promise<readonly string[]> {
  const { documents } = await source.list('job', readJobRecord);
  const sequences = new Map(documents.map(({ job_id: id, sequence }) => [id, sequence]));
  const place = (id: string): number => sequences.get(id) ?? 0;
  return [...(await source.ids('job'))].sort((a, b) => place(a) - place(b));
}

/** Writes a document; a job has a row beside it in a database. */
function write(target: Place['documents'], kind: DocumentKind, { id, body }: StoredDocument): Promise<string> {
  const record = kind === 'job' ? readJobRecord(body, id) : undefined;
  if (record === undefined || !('jobTransaction' in target)) return target.transaction((tx) => tx.put(kind, id, body));
  // An attempt that ran when its service ended is taken up as one whose lease has run out.
  const lease = record.status === 'running' ? { node: '', ms: 0 } : undefined;
  return target.jobTransaction(async (tx) => {
    tx.putJob(rowOf(record, lease));
    return tx.put(kind, id, body);
  });
}

async function assertSame(
  target: DocumentEngine,
  { kind, id, etag }: { readonly kind: DocumentKind; readonly id: string; readonly etag: string },
): Promise<void> {
  const found = await target.get(kind, id);
  if (found === undefined || 'unreadable' in found || found.etag !== etag)
    throw new Error(`the copy of ${kind} ${id} is not what was written`);
}

/** A home with documents of its own is not served with those of a database. */
async function moveAside({ path, documents }: HomeFolders): Promise<void> {
  const aside = `${path}/documents-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}`;
  await rename(documents, aside);
}
