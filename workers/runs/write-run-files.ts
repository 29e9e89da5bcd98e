import type { PricesApart } from '#domain/backtest/run-file/prices-apart.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import type { ThreadInput, TaskOutput } from '#jobs/tasks.js';
import type { RunFileName } from '#jobs/tasks/runs.js';
import type { NewFile } from '#store/access/new-file.js';
import { hasContent, rememberWritten } from '../run-files/checked-files.js';
import { outputContent, ownPath, storedAlready, writeOutputs } from '../output/task-outputs.js';
import { hashOfPrices, pricesKey, rememberPrices } from '../output/written-prices.js';

/** The files of a run before they are written. */
export interface MadeFiles {
  readonly columns: Uint8Array<ArrayBuffer>;
  /** Null where the columns have them, and of an extended run, which shares those of the stored one. */
  readonly prices: PricesApart | null;
  /** Null where the run cannot be extended. */
  readonly checkpoint: Uint8Array | null;
  /** True where an extension leaves the columns where they are: others are copied, and their file is hashed each time. */
  readonly areColumnsKept: boolean;
  /** Called for each part of a stored file that is read; ends the reading by throwing. */
  look(): void;
}

type WrittenFiles = Pick<TaskOutput<'backtest'>, RunFileName | 'unwritten'>;

/** Writes the files of a run, but for those that are stored already. @throws Refusal STORAGE_FULL */
export async function writeRunFiles(input: ThreadInput<'backtest'>, made: MadeFiles): Promise<WrittenFiles> {
  const { outputs, checkedFiles, plan, storedFiles } = input;
  const { columns, checkpoint, areColumnsKept } = made;
  const contents = {
    plan: outputContent(canonicalJson(plan)),
    columns: outputContent(columns),
    checkpoint: checkpoint && outputContent(checkpoint),
  };
  const prices = made.prices && { key: pricesKey(input.market, made.prices), stored: storedPrices(input, made) };
  const again = storedAlready(outputs, contents, storedFiles);
  const onWritten = async (file: NewFile): Promise<void> => {
    if (checkedFiles && (areColumnsKept || file.name !== outputs.names.columns))
      await rememberWritten(checkedFiles, file);
  };
  const own = prices?.stored === undefined ? made.prices : null;
  const { prices: written, ...files } = await writeOutputs(outputs, { ...contents, prices: own }, { again, onWritten });
  if (prices && written) rememberPrices(prices.key, written.sha256);
  return {
    ...files,
    prices: prices && { sha256: written?.sha256 ?? prices.stored!, written },
    unwritten: [...again.keys()] as RunFileName[], // Keys of `contents`.
  };
}

/**
 * The hash of a stored file that has the prices of a run. In a folder of this machine the file is compared with it;
 * elsewhere the service does that which shares it. The same run made again may be asked for as its files are damaged: then
 * nothing that this process remembers of them counts.
 */
function storedPrices(
  { market, storedPrices: candidates = [], stored, outputs, checkedFiles }: ThreadInput<'backtest'>,
  { prices, look }: MadeFiles,
): string | undefined {
  const sha256 = prices === null ? undefined : hashOfPrices(pricesKey(market, prices));
  const found = sha256 === undefined ? undefined : candidates.find((ref) => ref.sha256 === sha256);
  if (found === undefined) return undefined;
  const isRerun = stored === 'no_new_session' || stored === 'no_checkpoint';
  const path = ownPath(outputs, found);
  const hasIt =
    path === undefined || hasContent({ path, sha256: found.sha256 }, isRerun ? undefined : checkedFiles, look);
  return hasIt ? found.sha256 : undefined;
}
