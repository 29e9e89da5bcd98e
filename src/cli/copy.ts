import { parseArgs } from 'node:util';
import { createHomeReport } from './home-report.js';
import { copyDocuments, type CopiedKind } from './moving/copy-documents.js';
import { createFileMove, type FileMove } from './moving/move-files.js';
import { openDatabaseLocation, openHomeLocation, type CopyClock, type OpenLocation } from './moving/open-location.js';
import { readFirstSentence } from './flag-words.js';
import { readSettings } from './settings.js';
import { alignRight } from './terminal.js';
import { UsageError } from './usage-error.js';

export const COPY_HELP = `divisor copy --from HOME --to URL [--artifacts STORAGE] [--json]
divisor copy --from URL --to HOME [--artifacts STORAGE] [--json]

Copies the documents of a home into a database, or from a database into a home: indices, runs, jobs and keys, with their
times. No service can run on either of them during the copy. With --artifacts, the command also copies results and managed
stores, to or from the results storage that machines share. Without it, they remain in the home. The command reads each
copied document and file again and verifies its hash. An interrupted copy is not served: run the command again. After a
copy into a database, the folder documents-TIME of the home contains the previous documents of the home.

  --from, --to  A folder, or postgres://user:password@host:5432/name; DATABASE_URL is the default of the database.
  --artifacts   Results storage of the database: file:///folder or s3://bucket/prefix. Default: DIVISOR_ARTIFACTS.
  --json        One JSON object per line, the default on a pipe.

Exit statuses: 0 done; 1 done, except for the listed documents and files that cannot be read; 75 a service runs on the
home or the database; 78 the target already contains documents.
`;

/** Copied documents of one kind, or copied files. */
type CopiedPart = Omit<CopiedKind, 'kind'> & { readonly kind: CopiedKind['kind'] | 'artifacts' };

const EXIT_UNREADABLE = 1;

/** Runs `divisor copy`: copies documents from a home to a database, or back. */
export async function copy(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { from, to, artifacts, json } = readLocations(argv, environment);
  const report = createHomeReport<CopiedPart>(json);
  const clock: CopyClock = { ms: 0 };
  const openLocation = (location: string, isTarget: boolean): Promise<OpenLocation> => {
    if (!isDatabase(location)) return openHomeLocation(location, clock, isTarget);
    const flags = ['--database', location, ...(artifacts === undefined ? [] : ['--artifacts', artifacts])];
    return openDatabaseLocation(readSettings(flags, environment).settings, clock, isTarget);
  };
  const source = await openLocation(from, false);
  let isMoved = false;
  try {
    const target = await openLocation(to, true);
    let copiedParts: readonly CopiedPart[];
    try {
      const isContinued = await target.begin();
      const files = source.files && target.files && (await createFileMove(source.files, target.files, isContinued));
      const documents = { source: source.documents, target: target.documents, clock, files };
      copiedParts = [...(await copyDocuments({ ...documents, onKind: report.progress })), ...listCopiedFiles(files)];
      await target.finish();
    } finally {
      await target.close(false);
    }
    report.print(copiedParts, ['kind', 'copied', 'unreadable'], ({ kind, copied: count, unreadable }) => [
      kind,
      alignRight(String(count)),
      unreadable.join(', ') || 'none',
    ]);
    isMoved = true;
    return copiedParts.some(({ unreadable }) => unreadable.length > 0) ? EXIT_UNREADABLE : 0;
  } finally {
    await source.close(isMoved);
  }
}

function listCopiedFiles(files: FileMove | undefined): CopiedPart[] {
  if (files === undefined) return [];
  const { count, damaged } = files;
  return [{ kind: 'artifacts', copied: count - damaged.length, unreadable: damaged }];
}

function readLocations(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const text = { type: 'string' } as const;
  const options = { from: text, to: text, artifacts: text, json: { type: 'boolean' } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    const { from = environment['DATABASE_URL'], to = environment['DATABASE_URL'], artifacts, json } = values;
    if (from !== undefined && to !== undefined && isDatabase(from) !== isDatabase(to))
      return { from, to, artifacts, json };
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${COPY_HELP}`, { cause: failure });
  }
  throw new UsageError(`One of --from and --to must be a home, the other a database.\n\n${COPY_HELP}`);
}

const isDatabase = (location: string): boolean => /^postgres(ql)?:/.test(location);
