import type { RunDocument } from '#domain/documents/run-document.js';
import { findPricesFile } from '#domain/backtest/run-file/separate-prices.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { PortableTaskName, TaskOutput } from '#jobs/tasks.js';
import type { RunFileName } from '#jobs/tasks/runs.js';
import type { ArtifactLink, ArtifactRef, ArtifactStore } from '#store/port.js';
import { listEarlierFiles } from '../stored/run-documents.js';

/** Maximum number of price files that are remembered, in addition to those of the run that is repeated. */
const CACHED_RUNS_MAX = 64;

/** Files with the prices of runs. Other runs on the same data can share them. */
export interface StoredPrices {
  /** Returns the price files by hash: those of this service's latest runs and those of a stored run. */
  with(run: RunDocument | undefined): ReadonlyMap<string, ArtifactRef>;
  remember(prices: ArtifactRef): void;
}

export function createStoredPrices(): StoredPrices {
  const latestPrices = new Map<string, ArtifactRef>();
  return {
    with: (run) =>
      new Map([...latestPrices, ...(run ? listEarlierFiles(run).map((ref) => [ref.sha256, ref] as const) : [])]),
    remember(prices) {
      latestPrices.delete(prices.sha256);
      latestPrices.set(prices.sha256, prices);
      for (const oldestKey of latestPrices.keys())
        if (latestPrices.size > CACHED_RUNS_MAX) latestPrices.delete(oldestKey);
    },
  };
}

type FileSharing = Pick<Attempt<PortableTaskName>, 'share' | 'drop'>;

interface ComputedFiles<F> {
  /** New files of a run. */
  readonly own: F;
  /** Names of files that were not written, because the stored run has files with the same content. */
  readonly unwritten: readonly string[];
  readonly prices: TaskOutput<'backtest'>['prices'];
  /** Latest stored run, which may have equal files. */
  readonly newest: RunDocument | undefined;
  /** Price files that were stored when the run began, by hash. */
  readonly stored: ReadonlyMap<string, ArtifactRef>;
}

/** Files of a run as they are stored. */
interface SharedFiles<F> {
  readonly files: F;
  /** File with the prices; null if the file with the columns contains them. */
  readonly prices: ArtifactRef | null;
}

/**
 * Returns the files of a run. A file with the same bytes as a file of the stored run becomes a second name of that
 * file. Prices can be shared with any run. Returns undefined if a file was not written and is no longer stored.
 */
export async function storeRunFiles<
  F extends Readonly<Record<string, ArtifactRef> & { readonly columns: ArtifactRef }>,
>(
  attempt: FileSharing,
  artifacts: Pick<ArtifactStore, 'newName' | 'destination' | 'isIntact'>,
  { own, unwritten, prices, newest, stored }: ComputedFiles<F>,
): Promise<SharedFiles<F> | undefined> {
  const files = Object.values(newest ? createStoredFiles(newest) : {});
  const storedRefs = new Map(files.map((ref) => [ref.sha256, ref]));
  const sharedParts: { readonly part: string; readonly link: ArtifactLink }[] = [];
  for (const [part, { sha256 }] of Object.entries(own)) {
    const ref = storedRefs.get(sha256);
    // Unwritten files equal the stored files. A written file is shared if that saves space and if the stored file is
    // intact.
    if (ref !== undefined && (unwritten.includes(part) || (await isShared(artifacts, ref))))
      sharedParts.push({ part, link: { ref, name: artifacts.newName() } });
  }
  const names = Object.fromEntries(sharedParts.map(({ part, link }) => [part, link.name]));
  if (unwritten.some((part) => names[part] === undefined)) return undefined;
  const artifactRef = prices?.written ?? undefined;
  const source =
    prices === null ? undefined : (artifactRef ?? (await findIntact(artifacts, stored.get(prices.sha256))));
  if (prices !== null && source === undefined) return undefined;
  const pricesFile = source && { ref: source, name: findPricesFile(names['columns'] ?? own.columns.name) };
  if (sharedParts.length === 0 && !pricesFile) return { files: own, prices: null };
  const linkedFiles = await ignoreRemoved(
    attempt.share([...sharedParts.map(({ link }) => link), ...(pricesFile ? [pricesFile] : [])]),
  );
  if (linkedFiles !== undefined) {
    const duplicateNames = sharedParts
      .filter(({ part }) => !unwritten.includes(part))
      .map(({ part }) => own[part]!.name);
    await attempt.drop([...duplicateNames, ...(artifactRef ? [artifactRef.name] : [])]);
    const storedParts = { ...own, ...Object.fromEntries(sharedParts.map(({ part }, i) => [part, linkedFiles[i]!])) };
    return { files: storedParts, prices: pricesFile ? linkedFiles.at(-1)! : null };
  }
  // a file was removed in the meantime
  if (unwritten.length > 0) return undefined;
  if (prices === null) return { files: own, prices: null };
  if (artifactRef === undefined) return undefined;
  const [again] = await attempt.share([{ ref: artifactRef, name: findPricesFile(own.columns.name) }]);
  await attempt.drop([artifactRef.name]);
  return { files: own, prices: again! }; // `link` returns one reference per file
}

/** Returns true if sharing a stored file saves space. In an object store it does not, because the object is copied. */
async function isShared({ destination, isIntact }: Pick<ArtifactStore, 'destination' | 'isIntact'>, ref: ArtifactRef) {
  return destination.kind === 'folder' && (await isIntact(ref));
}

/**
 * Returns a stored file if its content is intact. In a folder of this machine, the thread that computed the run has
 * already checked the file.
 */
async function findIntact(
  { destination, isIntact }: Pick<ArtifactStore, 'destination' | 'isIntact'>,
  ref: ArtifactRef | undefined,
): Promise<ArtifactRef | undefined> {
  const isVerified = destination.kind === 'folder' && destination.storeId === undefined;
  return ref && (isVerified || (await isIntact(ref))) ? ref : undefined;
}

/** Returns the files of a stored run that a repetition of the run may share. */
export function createStoredFiles({
  artifacts: { columns, checkpoint, plan },
}: RunDocument): Partial<Record<RunFileName, ArtifactRef>> {
  return { columns, ...(checkpoint ? { checkpoint } : {}), ...(plan ? { plan } : {}) };
}

/** Returns undefined if a stored file was removed. */
export async function ignoreRemoved<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'DOCUMENT_UNREADABLE') return undefined;
    throw refusal;
  }
}
