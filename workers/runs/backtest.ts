import { listClosures } from '#domain/calendars/closures.js';
import { createHash } from 'node:crypto';
import type { Engine } from '#kernels/engines/engine.js';
import { listCalledRebalances } from '#domain/backtest/called-rebalances.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import { createCheckpoint } from '#domain/backtest/extend/checkpoint.js';
import { isFileFull } from '#domain/backtest/extend/extend-columns.js';
import { type FullRunReason, CannotResumeError } from '#domain/documents/full-run-reasons.js';
import { assertMeasured } from '#domain/backtest/run-summary.js';
import type { Run } from '#domain/backtest/run.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import type { Memory } from '#domain/backtest/run-file/block-placement.js';
import { allocateRetainedMemory } from '#base/memory/retained-memory.js';
import { createRunFiles, type RunFiles } from '#domain/backtest/run-file/write.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { formatDay } from '#domain/time/days.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import type { Task, ThreadInput, TaskOutput } from '#jobs/tasks.js';
import type { EarlierContentFiles } from '#jobs/tasks/files.js';
import type { ResumableRun } from '#jobs/tasks/runs.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { resumeStored, encodeCheckpoint } from './resume-run.js';
import { practiseRunFiles, writeRunFiles, type ComputedFiles, type PracticeOrder } from './write-run-files.js';
import { runOnEngine } from '../input/numerics.js';
import { openEarlierContents } from '../input/known-contents.js';
import { openCachedMarket } from '../input/open-markets.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';
import { createRunMemory } from '../output/run-memory.js';

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
