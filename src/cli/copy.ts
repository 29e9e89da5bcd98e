import { parseArgs } from 'node:util';
import { homeReport } from './home-report.js';
import { copyDocuments, type CopiedKind } from './moving/copy-documents.js';
import { createFileMove, type FileMove } from './moving/move-files.js';
import { openDatabasePlace, openHomePlace, type CopyClock, type OpenPlace } from './moving/open-place.js';
import { firstSentence } from './flag-words.js';
import { readSettings } from './settings.js';
import { right } from './terminal.js';
import { UsageError } from './usage-error.js';

export const COPY_HELP = `divisor copy --from HOME --to URL [--artifacts PLACE] [--json]
divisor copy --from URL --to HOME [--artifacts PLACE] [--json]

Copies the documents of a home into a database, or those of a database into a home, while no service runs on either: indices,
runs, jobs, keys, with their times. With --artifacts results and managed stores go along, to the place that machines share or
from it; otherwise they stay in the home, which is served with them. Each document and file is read again and compared by its
hash. A copy that is cut short is not served, and can be run again. After a copy into a database the home's own documents are moved aside into its folder documents-TIME.

  --from, --to  A folder, or postgres://user:password@host:5432/name; DATABASE_URL stands for the one that is left out.
  --artifacts   file:///folder or s3://bucket/prefix, of the database's services. Default: DIVISOR_ARTIFACTS.
  --json        One JSON object a line, as on a pipe.

Exit statuses: 0 done; 1 done, but for documents and files that cannot be read, which are named; 75 a service runs on one of
them; 78 the target holds documents already.
`;

/** What was copied of one kind of document, or of the files beside them. */
type CopiedPart = Omit<CopiedKind, 'kind'> & { readonly kind: CopiedKind['kind'] | 'artifacts' };

const EXIT_UNREADABLE = 1;

/** `divisor copy`: from a home to a database, or back. */
export async function copy(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { from, to, artifacts, json } = placesOf(argv, environment);
  const report = homeReport<CopiedPart>(json);
  const clock: CopyClock = { ms: 0 };
  const open = (place: string, isTarget: boolean): Promise<OpenPlace> => {
    if (!isDatabase(place)) return openHomePlace(place, clock, isTarget);
    const flags = ['--database', place, ...(artifacts === undefined ? [] : ['--artifacts', artifacts])];
    return openDatabasePlace(readSettings(flags, environment).settings, clock, isTarget);
  };
  const source = await open(from, false);
  let isMoved = false;
  try {
    const target = await open(to, true);
    let copied: readonly CopiedPart[];
    try {
      const isAgain = await target.begin();
      const files = source.files && target.files && (await createFileMove(source.files, target.files, isAgain));
      const documents = { source: source.documents, target: target.documents, clock, files };
      copied = [...(await copyDocuments({ ...documents, onKind: report.progress })), ...partOf(files)];
      await target.finish();
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

function partOf(files: FileMove | undefined): CopiedPart[] {
  if (files === undefined) return [];
  const { count, damaged } = files;
  return [{ kind: 'artifacts', copied: count - damaged.length, unreadable: damaged }];
}

function placesOf(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const text = { type: 'string' } as const;
  const options = { from: text, to: text, artifacts: text, json: { type: 'boolean' } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    const { from = environment['DATABASE_URL'], to = environment['DATABASE_URL'], artifacts, json } = values;
    if (from !== undefined && to !== undefined && isDatabase(from) !== isDatabase(to))
      return { from, to, artifacts, json };
  } catch (failure) {
    throw new UsageError(`${firstSentence(failure, Object.keys(options))}\n\n${COPY_HELP}`, { cause: failure });
  }
  throw new UsageError(`One of --from and --to is a home, the other one a database.\n\n${COPY_HELP}`);
}

const isDatabase = (place: string): boolean => /^postgres(ql)?:/.test(place);
