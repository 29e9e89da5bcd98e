import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { joinBytes, type ProducedBytes } from '#base/bytes.js';
import { allocateRetainedMemory } from '#base/memory.js';
import { createCheckpoint, listCalledRebalances } from '#domain/backtest/checkpoint.js';
import { isFileFull } from '#domain/backtest/extension.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { findFirstDifference, type RunDifference } from '#domain/backtest/run-file/compare.js';
import { type Memory, PRICES_NAME, type SeparatePrices } from '#domain/backtest/run-file/placement.js';
import { openColumns, type RangeReader } from '#domain/backtest/run-file/read.js';
import { createRunFiles, type RunFiles } from '#domain/backtest/run-file/write.js';
import type { Run } from '#domain/backtest/run.js';
import { assertMeasured } from '#domain/backtest/summary.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { CannotResumeError, type FullRunReason } from '#domain/definition/runs.js';
import type { MarketIdentity } from '#domain/market/market-handle.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { Task, TaskOutput, ThreadInput } from '#jobs/tasks/catalogue.js';
import type { EarlierContentFiles, TaskControl } from '#jobs/tasks/messages.js';
import type { ResumableRun, RunFileName } from '#jobs/tasks/runs.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { NewFile } from '#store/port.js';
import { createReplayView } from '#views/comparison.js';
import { createJsonWriter } from '#views/json/writer.js';
import { openCachedCalendars, openCachedMarket, openEarlierContents } from '../input/markets.js';
import { runOnEngine } from '../input/numerics.js';
import { openModels } from '../input/risk-models.js';
import {
  copyOutput,
  createRunMemory,
  findOutputPath,
  findStoredAlready,
  formatPricesKey,
  getPricesHash,
  rememberPrices,
  writeOutputs,
} from '../output/task-outputs.js';
import { hasContent, rememberWritten, resolveSibling, useRunFile } from '../run-files.js';
import { encodeCheckpoint, resumeStored } from './resume-run.js';

/** Practice run (computed and discarded), and stored price files that may contain its prices. */
type PracticeOrder = Pick<ThreadInput<'backtest'>, 'market' | 'plan'> & Partial<PricesOrder>;

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

/** Memory for the runs of this thread, which runs one task at a time. */
const runMemory = createRunMemory();

/**
 * Runs a backtest. Extends the stored run if the result is the same, otherwise computes a full run. The texts of a run
 * are not stored; they are created on each read.
 */
export const backtest: Task<'backtest'> = async (input, control) => {
  const { files, ...run } = await runOnEngine((engine) => computeRun(engine, input, control));
  control.report(0.95);
  const writtenFiles = await writeRunFiles(input, files);
  runMemory.giveBack();
  return { ...run, ...writtenFiles };
};

/** Computes the files of a run and discards them. This compiles the code and prepares market and prices for runs. */
export async function warmUpRun(order: PracticeOrder, control: TaskControl): Promise<void> {
  const { files } = await runOnEngine((engine) =>
    computeWholeRun(engine, { ...order, engineVersion: '' }, control, null),
  );
  practiseRunFiles(order, files);
  runMemory.giveBack();
}

/** Run before its files are written. */
type ComputedBacktest = Omit<TaskOutput<'backtest'>, 'plan' | 'columns' | 'checkpoint' | 'prices' | 'unwritten'> & {
  readonly files: ComputedFiles;
};

function computeRun(engine: Engine, input: ThreadInput<'backtest'>, control: TaskControl): ComputedBacktest {
  const { stored = null } = input;
  if (stored === null || typeof stored === 'string') return computeWholeRun(engine, input, control, stored);
  try {
    return computeExtendedRun(engine, { ...input, stored }, control);
  } catch (thrown) {
    if (thrown instanceof CannotResumeError) return computeWholeRun(engine, input, control, thrown.reason);
    throw thrown;
  }
}

function computeWholeRun(
  engine: Engine,
  input: Omit<RunOrder, 'memory'> & Pick<ThreadInput<'backtest'>, 'engineVersion'>,
  control: TaskControl,
  fullRunReason: FullRunReason | null,
): ComputedBacktest {
  const { plan, engineVersion, market: handle } = input;
  const { run, columns, prices } = runForDataset(engine, { ...input, memory: runMemory.take }, control);
  const market = openCachedMarket(handle);
  const canBeExtended = plan.request.as_known === undefined;
  return {
    ...createStamp(input),
    files: {
      columns,
      prices,
      checkpoint: canBeExtended
        ? encodeCheckpoint({ plan, engineVersion, handle, market, checkpoint: createCheckpoint(run) })
        : null,
      areColumnsKept: isFileFull(run.days.length),
      look: () => control.report(0.8),
    },
    ...createSpan(run.days),
    called: listCalledRebalances(run.index.compositions).map(({ decision, effective }) => ({
      decision: formatDay(decision),
      effective: formatDay(effective),
    })),
    fullRunReason,
    extendedFrom: null,
    earlierFiles: 0,
  };
}

function computeExtendedRun(
  engine: Engine,
  input: ThreadInput<'backtest'> & { readonly stored: ResumableRun },
  control: TaskControl,
): ComputedBacktest {
  const { market: handle, plan, models, engineVersion, stored, checkedFiles } = input;
  const run = resumeStored({ engine, handle, plan, models, engineVersion, run: stored, checkedFiles }, control);
  return {
    ...createStamp(input),
    files: { columns: run.columns, prices: null, checkpoint: run.state, areColumnsKept: false, look: () => {} },
    ...createSpan(run.days),
    called: null,
    fullRunReason: null,
    extendedFrom: formatDay(run.extendedFrom),
    earlierFiles: run.earlierFiles,
  };
}

const createSpan = (days: Int32Array) => ({ start: formatDay(days[0]!), end: formatDay(days.at(-1)!) });

/** Order of a run with its inputs. */
export type RunOrder = Pick<ThreadInput<'backtest'>, 'market' | 'plan' | 'models' | 'known'> & {
  /** Memory for the columns of the run. Its previous content must no longer be read. */
  readonly memory?: Memory;
};

/** Runs a plan and writes its columns. @throws Refusal */
export function runForDataset(
  engine: Engine,
  { market: handle, plan, models, known, memory: roomOf = allocateRetainedMemory }: RunOrder,
  control: TaskControl,
): RunFiles & { readonly run: Run } {
  const market = openCachedMarket(handle);
  const run = runBacktest({
    market,
    calendars: openCachedCalendars(listClosures(plan.documents)),
    plan,
    models: openModels(models),
    ...openEarlierContents(market, known),
    createDecider: createIndexDeciders(engine),
    engine,
    memory: roomOf,
    pricesApart: true,
    report: (fraction, message) => control.report(0.8 * fraction, message),
  });
  control.report(0.8, 'writing the result');
  assertMeasured({ ...run, relative: run.benchmark && run.benchmark.relative });
  return { run, ...createRunFiles(run, { contentHash: market.contentHash, inPlace: true }) };
}

interface RunInputs {
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  readonly market: MarketIdentity;
  readonly known?: EarlierContentFiles;
}

/** Returns the provenance of a new run: its time, the hash of its inputs and the hash of the market. */
export function createStamp({
  plan,
  engineVersion,
  market,
  known,
}: RunInputs): Pick<TaskOutput<'backtest'>, 'runAt' | 'runHash' | 'storeContentHash'> {
  const { contentHash: storeContentHash } = market;
  const inputs = { plan, engineVersion, storeContentHash, ...selectDeclared(market), ...selectKnown(known) };
  return {
    runAt: formatTimestamp(),
    runHash: createHash('sha256').update(toCanonicalJson(inputs)).digest('hex'),
    storeContentHash,
  };
}

/** Returns the earlier contents for decisions. The changes that lead to them identify them. */
function selectKnown(earlierContentFiles: EarlierContentFiles | undefined): {
  readonly known?: readonly (readonly [number, string])[];
} {
  return earlierContentFiles === undefined
    ? {}
    : { known: earlierContentFiles.earlier.map(({ knownOn, sha256 }) => [knownOn, sha256]) };
}

/** Returns the declarations of a store that differ from the defaults. */
function selectDeclared({ adjustment, currency = null }: MarketIdentity): {
  readonly adjustment?: string;
  readonly currency?: string;
} {
  return { ...(adjustment === 'none' ? {} : { adjustment }), ...(currency === null ? {} : { currency }) };
}

/** Returns the current time, ISO-8601 UTC with an offset. */
function formatTimestamp(): string {
  return `${new Date().toISOString().slice(0, -1)}000+00:00`;
}

/**
 * Computes the stored run again with the same engine operations, so that equal inputs give equal columns. The result is
 * a ReplayView as JSON.
 */
export const replay: Task<'replay'> = async (input, control) => {
  const view = await runOnEngine((engine) => {
    const { stored, plan, engineVersion, definitionChanged } = input;
    const { run: _, ...files } = runForDataset(engine, input, control);
    const { runHash, storeContentHash } = createStamp(input);
    const json = createJsonWriter();
    json.value(
      createReplayView({
        runId: plan.runId,
        stored,
        replayed: { runHash, engineVersion, storeContentHash },
        definitionChanged,
        difference: findDifference(input.columns, files),
      }),
    );
    return copyOutput(json.bytes());
  });
  return writeOutputs(input.outputs, { view });
};

function findDifference(path: string, { columns, prices: separatePrices }: RunFiles): RunDifference | null {
  const prices =
    separatePrices === null ? undefined : joinBytes(separatePrices, allocateRetainedMemory(separatePrices.length)); // the prices of many securities are on disk
  const areSame =
    isEqual(readStored(path), columns) &&
    (prices === undefined || isEqual(readStored(resolveSibling(path, PRICES_NAME)), prices));
  if (areSame) return null;
  // The columns of an extended run have another layout.
  const openRange =
    (bytes: Uint8Array): RangeReader =>
    (start, end) =>
      bytes.slice(start, end);
  return useRunFile(path, (stored) =>
    findFirstDifference(
      stored,
      openColumns(openRange(columns), () => openRange(prices!)), // this file names no other file
    ),
  );
}

function readStored(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: one of its files is missing.', null, {
      cause,
    });
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
