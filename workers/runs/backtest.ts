import { createHash } from 'node:crypto';
import type { Engine } from '#kernels/engines/engine.js';
import { calledRebalances } from '#domain/backtest/called-rebalances.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { indexDeciders } from '#domain/backtest/index-decider.js';
import { checkpointOf } from '#domain/backtest/extend/checkpoint.js';
import { isFull } from '#domain/backtest/extend/extend-columns.js';
import { type FullRunReason, CannotResume } from '#domain/documents/full-run-reasons.js';
import { summaryOf } from '#domain/backtest/run-summary.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import type { Memory } from '#domain/backtest/run-file/placed.js';
import { keptMemory } from '#base/memory/kept-memory.js';
import { runToFiles } from '#domain/backtest/run-file/write.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { formatDay } from '#domain/time/days.js';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type { Task, ThreadInput, TaskOutput } from '#jobs/tasks.js';
import type { KnownFiles } from '#jobs/tasks/files.js';
import type { ResumableRun, RunFileName } from '#jobs/tasks/runs.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import type { TextRoom } from '#views/json-writer.js';
import type { NewFile } from '#store/access/new-file.js';
import type { RunStamp } from '#views/provenance-json.js';
import { snapshotsText, writeOverview, writeResult } from '#views/run-json.js';
import { hasContent, rememberWritten } from '../run-files/checked-files.js';
import { resumeStored, checkpointBytes, snapshotsBehind } from './resume-run.js';
import { onEngine } from '../input/numerics.js';
import { openedKnown } from '../input/known-contents.js';
import { openedMarket } from '../input/open-markets.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedModels } from '../input/opened-models.js';
import { createRunMemory, createTextMemory } from '../output/run-memory.js';
import { outputContent, ownPath, storedAlready, writeOutputs } from '../output/task-outputs.js';
import { hashOfPrices, pricesKey, rememberPrices } from '../output/written-prices.js';

/** Of this thread, which does one task at a time. */
const memory = createRunMemory();
const texts = createTextMemory();

/**
 * A backtest: the stored run extended where that gives the same, else a whole one. The definition run, simulated,
 * measured and serialised once; its record is written when it is read.
 */
export const backtest: Task<'backtest'> = async (input, control) => {
  const { contents, snapshotsAt, prices, columnsStay, ...made } = await onEngine((engine) =>
    runOn(engine, input, control),
  );
  control.report(0.95);
  const { checkedFiles, outputs } = input;
  const onWritten = async (file: NewFile): Promise<void> => {
    if (checkedFiles && (columnsStay || file.name !== outputs.names.columns)) await rememberWritten(checkedFiles, file);
  };
  const whole = { ...contents, plan: outputContent(canonicalJson(input.plan)) };
  const again = storedAlready(outputs, whole, input.storedFiles);
  const own = prices?.stored === undefined ? prices : null;
  const {
    snapshots,
    prices: written,
    ...files
  } = await writeOutputs(outputs, { ...whole, prices: own }, { again, onWritten });
  memory.giveBack();
  texts.giveBack();
  if (prices && written) rememberPrices(prices.key, written.sha256);
  return {
    ...made,
    ...files,
    prices: prices && { sha256: written?.sha256 ?? prices.stored!, written },
    unwritten: [...again.keys()] as RunFileName[], // Of its own contents.
    snapshots: { at: snapshotsAt, text: snapshots },
  };
};

/** The run of a plan, made and thrown away: its code is compiled then, and the market is ready for runs. */
export async function practiseRun(market: MarketHandle, plan: BacktestPlan, control: TaskControl): Promise<void> {
  await onEngine((engine) => wholeRun(engine, { market, plan, engineVersion: '' }, control, null));
  memory.giveBack();
  texts.giveBack();
}

/** A run that is made, before its files are written. */
interface MadeRun extends Omit<TaskOutput<'backtest'>, RunFileName | 'unwritten'> {
  readonly contents: {
    readonly [F in Exclude<RunFileName, 'plan' | 'prices'>]: F extends 'snapshots' | 'checkpoint'
      ? Bytes | null
      : Bytes;
  };
  /** Which prices lie apart from its columns, and the hash of the stored file that has them, where one does. */
  readonly prices: PricesOfRun | null;
  /** Position in the result that the snapshots come before. */
  readonly snapshotsAt: number;
  /** Whether an extension leaves the columns where they are: others are copied, and their file is hashed each time. */
  readonly columnsStay: boolean;
}

interface PricesOfRun extends MadeBytes {
  readonly key: string;
  readonly stored: string | undefined;
}

type Bytes = Uint8Array<ArrayBuffer>;

function runOn(engine: Engine, input: ThreadInput<'backtest'>, control: TaskControl): MadeRun {
  const { stored = null } = input;
  if (stored === null || typeof stored === 'string') return wholeRun(engine, input, control, stored);
  try {
    return extendedRun(engine, { ...input, stored }, control);
  } catch (thrown) {
    if (thrown instanceof CannotResume) return wholeRun(engine, input, control, thrown.reason);
    throw thrown;
  }
}

type PracticeInput = Omit<ThreadInput<'backtest'>, 'outputs'>;

function wholeRun(
  engine: Engine,
  input: PracticeInput & Partial<Pick<ThreadInput<'backtest'>, 'outputs'>>,
  control: TaskControl,
  fullRunReason: FullRunReason | null,
): MadeRun {
  const { plan, engineVersion, indexVersion = null, market: handle } = input;
  const extension = { extendedFrom: null, fullRunReason, indexVersion };
  const { outputs, run, written, runHash, storeContentHash, runAt, start, end } = runForDataset(
    engine,
    { ...input, memory: memory.take, texts: texts.take, extension },
    control,
  );
  const { result, snapshots, overview, columns, prices } = outputs;
  const key = prices && pricesKey(handle, prices);
  const hash = key === null ? undefined : hashOfPrices(key);
  const stored = hash !== undefined && hasStoredPrices(input, hash, () => control.report(0.8)) ? hash : undefined;
  const isWhole = plan.request.as_known !== undefined;
  const state = isWhole
    ? null
    : checkpointBytes({
        plan,
        engineVersion,
        handle,
        market: openedMarket(handle),
        checkpoint: checkpointOf(run),
        snapshots: snapshotsBehind(written, snapshots.text.length),
      });
  return {
    contents: {
      result,
      snapshots: snapshots.text,
      overview,
      columns,
      checkpoint: state && outputContent(state),
    },
    prices: prices && { key: key!, stored, length: prices.length, parts: prices.parts },
    snapshotsAt: snapshots.at,
    columnsStay: isFull(run.days.length),
    runAt,
    start,
    end,
    called: calledRebalances(run.index.compositions).map(({ decision, effective }) => ({
      decision: formatDay(decision),
      effective: formatDay(effective),
    })),
    runHash,
    storeContentHash,
    fullRunReason,
    extendedFrom: null,
    earlierFiles: 0,
  };
}

/**
 * Whether prices are stored that have a hash. In a folder of this machine their file is compared with it; elsewhere the
 * service does that which shares it. The same run made again may be asked for as its files are damaged: then nothing that
 * this process remembers of them counts.
 */
function hasStoredPrices(
  { storedPrices = [], stored, outputs, checkedFiles }: Parameters<typeof wholeRun>[1],
  sha256: string,
  look: () => void,
): boolean {
  const found = storedPrices.find((ref) => ref.sha256 === sha256);
  if (found === undefined || outputs === undefined) return false;
  const isRerun = stored === 'no_new_session' || stored === 'no_checkpoint';
  const path = ownPath(outputs, found);
  return path === undefined || hasContent({ path, sha256 }, isRerun ? undefined : checkedFiles, look);
}

function extendedRun(
  engine: Engine,
  input: ThreadInput<'backtest'> & { readonly stored: ResumableRun },
  control: TaskControl,
): MadeRun {
  const { market: handle, plan, models, engineVersion, indexVersion = null, stored, checkedFiles } = input;
  const run = resumeStored({ engine, handle, plan, models, engineVersion, run: stored, checkedFiles }, control);
  const { summary, columns } = run;
  const extension = { extendedFrom: formatDay(run.extendedFrom), fullRunReason: null };
  const stamp = { ...stampOf({ plan, engineVersion, market: handle }), ...extension, indexVersion };
  const written = writeResult(summary, stamp, run.snapshots, texts.take);
  const state = run.checkpointOf(written);
  return {
    contents: {
      result: written.bytes,
      snapshots: null,
      overview: writeOverview(summary, written.level, texts.take),
      columns: outputContent(columns),
      checkpoint: state && outputContent(state),
    },
    prices: null,
    snapshotsAt: written.snapshots.from,
    columnsStay: false, // Hardly ever more than the dates that are copied.
    runAt: stamp.runAt,
    start: formatDay(summary.days[0]!),
    end: formatDay(summary.days.at(-1)!),
    called: null,
    runHash: stamp.runHash,
    storeContentHash: handle.contentHash,
    earlierFiles: run.earlierFiles,
    ...extension,
  };
}

/** A run to be made, stamped as new unless a stamp is given. */
export type RunOrder = Omit<ThreadInput<'backtest'>, 'stored' | 'outputs' | 'checkedFiles'> & {
  readonly stamp?: RunStamp;
  readonly extension?: Pick<RunStamp, 'extendedFrom' | 'fullRunReason' | 'indexVersion'>;
  /** Memory of its columns: what is made of it is read no more once the next run takes it. */
  readonly memory?: Memory;
  /** The same of its texts. */
  readonly texts?: TextRoom;
};

/** Runs a plan and serialises everything that is stored of it. */
export function runForDataset(
  engine: Engine,
  {
    market: handle,
    plan,
    models,
    known,
    engineVersion,
    stamp: given,
    extension = {},
    memory = keptMemory,
    texts,
  }: RunOrder,
  control: TaskControl,
) {
  const market = openedMarket(handle);
  const run = runBacktest({
    market,
    calendars: openedCalendars(),
    plan,
    models: openedModels(models),
    ...openedKnown(market, known),
    createDecider: indexDeciders(engine),
    engine,
    memory,
    pricesApart: true,
    report: (fraction, message) => control.report(0.8 * fraction, message),
  });
  control.report(0.8, 'writing the result');
  const made = stampOf({ plan, engineVersion, market, ...(known === undefined ? {} : { known }) });
  const stamp = given ?? { ...made, ...extension };
  const { columns, prices } = runToFiles(run, { contentHash: stamp.storeContentHash, inPlace: true });
  const { text, cells } = snapshotsText(run, texts);
  const summary = summaryOf(run);
  const behind = { before: text.length, behind: NO_TEXT, cells, added: [], identifiers: [] };
  const written = writeResult(summary, stamp, behind, texts);
  return {
    run,
    written,
    outputs: {
      result: written.bytes,
      snapshots: { at: written.snapshots.from, text },
      overview: writeOverview(summary, written.level, texts),
      columns,
      prices,
    },
    runAt: made.runAt,
    start: formatDay(run.days[0]!),
    end: formatDay(run.days.at(-1)!),
    runHash: made.runHash,
    storeContentHash: market.contentHash,
  };
}

const NO_TEXT = new Uint8Array(0);

interface RunInputs {
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  readonly market: MarketIdentity;
  readonly known?: KnownFiles;
}

/** The stamp of a run that is made now. */
function stampOf({ plan, engineVersion, market, known }: RunInputs): RunStamp {
  const { contentHash: storeContentHash } = market;
  const inputs = { plan, engineVersion, storeContentHash, ...declaredOf(market), ...knownOf(known) };
  return {
    runAt: timestamp(),
    runHash: createHash('sha256').update(canonicalJson(inputs)).digest('hex'),
    storeContentHash,
    engineVersion,
  };
}

/** The earlier contents that decisions see, by the changes that lead to them. */
function knownOf(known: KnownFiles | undefined): { readonly known?: readonly (readonly [number, string])[] } {
  return known === undefined ? {} : { known: known.earlier.map(({ knownOn, sha256 }) => [knownOn, sha256]) };
}

/** What a store declares of its content, as far as it is not what is taken for granted. */
function declaredOf({ adjustment, currency = null }: MarketIdentity): {
  readonly adjustment?: string;
  readonly currency?: string;
} {
  return { ...(adjustment === 'none' ? {} : { adjustment }), ...(currency === null ? {} : { currency }) };
}

/** Now, ISO-8601 UTC with an offset. */
function timestamp(): string {
  return `${new Date().toISOString().slice(0, -1)}000+00:00`;
}
