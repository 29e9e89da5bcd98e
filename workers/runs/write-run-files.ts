import { createHash } from 'node:crypto';
import type { ProducedBytes } from '#base/memory/produced-bytes.js';
import type { SeparatePrices } from '#domain/backtest/run-file/separate-prices.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import type { ThreadInput, TaskOutput } from '#jobs/tasks.js';
import type { RunFileName } from '#jobs/tasks/runs.js';
import type { NewFile } from '#store/access/new-file.js';
import { hasContent, rememberWritten } from '../run-files/checked-files.js';
import { copyOutput, findOutputPath, findStoredAlready, writeOutputs } from '../output/task-outputs.js';
import { getPricesHash, formatPricesKey, rememberPrices } from '../output/written-prices.js';

/** Practice run (computed and discarded), and stored price files that may contain its prices. */
export type PracticeOrder = Pick<ThreadInput<'backtest'>, 'market' | 'plan'> & Partial<PricesOrder>;

/** Price files that a run need not write. */
type PricesOrder = Pick<ThreadInput<'backtest'>, 'storedPrices' | 'stored' | 'checkedFiles'> & {
  readonly outputs: Pick<ThreadInput<'backtest'>['outputs'], 'destination'>;
};

/** Files of a run before they are written. */
export interface ComputedFiles {
  readonly columns: Uint8Array<ArrayBuffer>;
  /**
   * Prices in a separate file. They are null if the columns contain the prices. They are also null for an extended run,
   * which uses the price file of the stored run.
   */
  readonly prices: SeparatePrices | null;
  /** State from which the run can be extended; null if it cannot be extended. */
  readonly checkpoint: Uint8Array | null;
  /** True if an extension does not copy the columns. Copied columns are hashed each time. */
  readonly areColumnsKept: boolean;
  /** Called for each part of a stored file that is read; throws to end the read. */
  look(): void;
}

type WrittenFiles = Pick<TaskOutput<'backtest'>, RunFileName | 'unwritten'>;

/** Writes the files of a run that are not stored yet. @throws Refusal STORAGE_FULL */
export async function writeRunFiles(
  input: ThreadInput<'backtest'>,
  computedFiles: ComputedFiles,
): Promise<WrittenFiles> {
  const { outputs, checkedFiles, plan, storedFiles } = input;
  const { columns, checkpoint, areColumnsKept } = computedFiles;
  const contents = {
    plan: copyOutput(toCanonicalJson(plan)),
    columns, // not copied, because the memory is reused only after the write
    checkpoint: checkpoint && copyOutput(checkpoint),
  };
  const prices = computedFiles.prices && {
    key: formatPricesKey(input.market, computedFiles.prices),
    stored: findStoredPrices(input, computedFiles),
  };
  const storedOutputs = findStoredAlready(outputs, contents, storedFiles);
  const onWritten = async (file: NewFile): Promise<void> => {
    if (checkedFiles && (areColumnsKept || file.name !== outputs.names.columns))
      await rememberWritten(checkedFiles, file);
  };
  const ownSeparatePrices = prices?.stored === undefined ? computedFiles.prices : null;
  const { prices: artifactRef, ...files } = await writeOutputs(
    outputs,
    { ...contents, prices: ownSeparatePrices },
    { again: storedOutputs, onWritten },
  );
  if (prices && artifactRef) rememberPrices(prices.key, artifactRef.sha256);
  return {
    ...files,
    prices: prices && { sha256: artifactRef?.sha256 ?? prices.stored!, written: artifactRef },
    unwritten: [...storedOutputs.keys()] as RunFileName[], // the names are the keys of `contents`
  };
}

/**
 * Prepares the files of a practice run, which is not stored. Computes the hash of its prices, and verifies a stored
 * file with the same prices. The first run of a service then neither writes nor reads prices: 20 MB for 500 securities
 * over 20 years.
 */
export function practiseRunFiles(
  { market, plan, outputs, ...order }: PracticeOrder,
  computedFiles: ComputedFiles,
): void {
  copyOutput(toCanonicalJson(plan));
  if (computedFiles.prices === null) return;
  const key = formatPricesKey(market, computedFiles.prices);
  if (getPricesHash(key) === undefined) rememberPrices(key, hashParts(computedFiles.prices, computedFiles.look));
  if (outputs) findStoredPrices({ market, outputs, ...order }, computedFiles);
}

function hashParts(producedBytes: ProducedBytes, look: () => void): string {
  const hash = createHash('sha256');
  for (const part of producedBytes.parts()) {
    hash.update(part);
    look();
  }
  return hash.digest('hex');
}

/**
 * Returns the hash of a stored file with the prices of a run. In a local folder, the file is verified here; elsewhere,
 * the service that links it verifies it. If the run is repeated, the process's record of files is not used: the run may
 * be repeated because its files are damaged.
 */
function findStoredPrices(
  { market, storedPrices: candidates = [], stored, outputs, checkedFiles }: PricesOrder & { market: MarketIdentity },
  { prices, look }: ComputedFiles,
): string | undefined {
  const sha256 = prices === null ? undefined : getPricesHash(formatPricesKey(market, prices));
  const result = sha256 === undefined ? undefined : candidates.find((ref) => ref.sha256 === sha256);
  if (result === undefined) return undefined;
  const isRerun = stored === 'no_new_session' || stored === 'no_checkpoint';
  const path = findOutputPath(outputs, result);
  const isStored =
    path === undefined || hasContent({ path, sha256: result.sha256 }, isRerun ? undefined : checkedFiles, look);
  return isStored ? result.sha256 : undefined;
}
