import { isDocumentId } from '#store/document-id.js';
import type { DocumentLookup, StoredDocument, UnreadableDocument } from '#store/port.js';
import type { Database } from '#store/postgres/database.js';
import { ABSENT_ETAG } from '#store/postgres/draft.js';
import { openRow, type DocumentRow } from '#store/postgres/rows.js';

/** Last report of a running attempt. */
export interface Beat {
  readonly progress: number;
  readonly message: string | null;
  readonly beat_at: Date | null;
  /** Start of the attempt. It is null if the document of the job records the start. */
  readonly started_at: Date | null;
  /** Node that runs the attempt. */
  readonly node: string | null;
}

/** Document with only its body. */
export type DocumentBodyRow = Pick<StoredDocument, 'id' | 'body'> | UnreadableDocument | undefined;

/** Document of a job and last report of its attempt, read together. */
export interface JobReading {
  readonly found: DocumentBodyRow;
  /** Version of the document. */
  readonly version: string;
  /**
   * Last report of the document's attempt. It is undefined if there is no row. A start writes only the row, so that the
   * document of a job that has just started still describes a waiting job.
   */
  readonly beat: Beat | undefined;
}

export interface JobRevision extends JobReading {
  /** Revision of the row; 0 if there is no row. */
  readonly revision: number;
}

/** Columns of a document in a row of a statement; null if it is absent. */
export type DocumentColumns<P extends string> = {
  readonly [M in keyof DocumentRow as `${P}_${M}`]: DocumentRow[M] | null;
};

const DOCUMENT_MEMBERS: readonly (keyof DocumentRow)[] = [
  'kind',
  'id',
  'version',
  'schema',
  'etag',
  'seal',
  'updated_at',
  'body',
];

/** Lists the columns of a document for a statement. @param table its name in the statement */
export const formatDocumentColumns = (table: string): string =>
  DOCUMENT_MEMBERS.map((member) => `${table}.${member} AS ${table}_${member}`).join(', ');

/** Builds the document from the columns of `formatDocumentColumns`. */
export function createDocument<P extends string>(
  row: DocumentColumns<P>,
  table: P,
): { readonly found: DocumentLookup; readonly version: string } {
  const columns = row as Readonly<Record<string, unknown>>;
  const members = DOCUMENT_MEMBERS.map((member) => [member, columns[`${table}_${member}`]] as const);
  const document = Object.fromEntries(members) as unknown as DocumentRow; // `formatDocumentColumns` names the columns
  return document.id === null ? ABSENT_JOB : { found: openRow(document), version: document.version };
}

export const ABSENT_JOB = { found: undefined, version: ABSENT_ETAG } as const;

type JobReadingRow = DocumentColumns<'document'> & {
  readonly progress: number | null;
  readonly message: string | null;
  readonly beat_at: Date | null;
  readonly started_at: Date | null;
  readonly node: string | null;
  readonly revision: string | null;
};

/**
 * @returns a function that finds jobs with all their data in one statement, and omits absent jobs
 */
export function createLooks(database: Database, schema: string) {
  // A report belongs to the attempt in the document, because one commit writes both and one statement reads both.
  const formatStatement = (jobs: string): string =>
    `SELECT ${formatDocumentColumns('document')}, row.progress, row.message, row.beat_at,
        CASE WHEN row.status = 'running' THEN row.started_at END AS started_at, row.node, row.revision
      FROM ${schema}.documents AS document LEFT JOIN ${schema}.jobs AS row ON row.job_id = document.id
      WHERE document.kind = 'job' AND document.id ${jobs}`;
  const [one, several] = [formatStatement('= $1'), formatStatement('= ANY($1)')];

  return async (jobIds: readonly string[]): Promise<ReadonlyMap<string, JobRevision>> => {
    const documentIds = jobIds.filter(isDocumentId);
    if (documentIds.length === 0) return new Map();
    const rows = await database.query<JobReadingRow>(documentIds.length === 1 ? one : several, [
      documentIds.length === 1 ? documentIds[0] : documentIds,
    ]);
    return new Map(rows.map((row) => [row.document_id!, createRevision(row)])); // the documents exist
  };
}

function createRevision(row: JobReadingRow): JobRevision {
  const { progress, message, beat_at, started_at, node, revision } = row;
  const beat = progress === null ? undefined : { progress, message, beat_at, started_at, node };
  return { ...createDocument(row, 'document'), beat, revision: Number(revision ?? 0) };
}
