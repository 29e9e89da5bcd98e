import { threadId } from 'node:worker_threads';
import { releaseKeptMemory } from '#base/memory.js';
import { MissingSandboxError } from '#base/sandbox/sandbox.js';
import { collectObjectRequests, readEpochMs } from '#base/tracing/tracing.js';
import type { Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import type { Task, TaskName } from '#jobs/tasks/catalogue.js';
import type { ControlCells, TaskControl, TaskMessage, TaskOutcome } from '#jobs/tasks/messages.js';
import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import { limitMemory } from '#kernels/memory/paged-memory.js';
import { isFull } from '#market/panels/market-transfer.js';
import { closeMarkets, openCachedMarket } from './input/inputs.js';
import { answerBytes, transferFile } from './output/task-outputs.js';

/** Thrown by `report` when the task was asked to stop. Only the entry point catches it. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
}

/**
 * Maximum number of characters of a message. The shared memory of a message holds this many characters of any script.
 */
const MESSAGE_CHARACTERS_MAX = 200;

/**
 * Opens the shared cells of a task in the thread that runs it. The thread writes progress and reads a cancellation; no
 * message is sent.
 */
function openControl(cells: ControlCells): TaskControl {
  Atomics.store(cells.thread, 0, threadId);
  const encoder = new TextEncoder();
  let last = '';
  return {
    report(fraction, message) {
      if (Atomics.load(cells.cancelled, 0) !== 0) throw new CancelledError('The task was cancelled.');
      const currentFraction = Math.min(fraction, 1);
      if (currentFraction > cells.fraction[0]!) cells.fraction[0] = currentFraction;
      if (message === undefined || message === last) return;
      last = message;
      writeMessage(cells, encoder.encode(message.slice(0, MESSAGE_CHARACTERS_MAX)));
    },
  };
}

/** Writes a message. The version is odd during the write, so that a reader never combines parts of two messages. */
function writeMessage(cells: ControlCells, bytes: Uint8Array): void {
  const fittingBytes = bytes.subarray(0, cells.message.length);
  Atomics.add(cells.messageState, 0, 1);
  cells.message.set(fittingBytes);
  Atomics.store(cells.messageState, 1, fittingBytes.length);
  Atomics.add(cells.messageState, 0, 1);
}

/** Type of a task with any input and output, for the entry point. */
type AnyTask = (input: never, control: TaskControl) => unknown;

/**
 * Creates the entry function of a pool's threads. It loads the task, gives the task its control and converts errors to
 * data. Tasks are loaded on demand, so that a thread starts in milliseconds.
 */
export function createEntryPoint(
  tasks: Readonly<Record<string, () => Promise<AnyTask>>>,
): (message: TaskMessage) => Promise<TaskOutcome> {
  const takeRequests = collectObjectRequests();
  return async ({ task, input, cells, memory, isTimed }) => {
    const startMs = isTimed === true ? readEpochMs() : 0;
    const getFigures = () => {
      const requests = takeRequests();
      return {
        ...(isTimed === true && { timing: { startMs, endMs: readEpochMs() } }),
        ...(requests !== undefined && { requests }),
      };
    };
    try {
      if (memory !== undefined) limitMemory(memory);
      const load = tasks[task];
      if (load === undefined) throw new Error(`no task ${task}`);
      const control = openControl(cells);
      const run = await load();
      control.report(0);
      // The types of the pool ensure that the input belongs to the task with this name.
      const output = await runWithSandbox(async () => run(input as never, control));
      return transferFile<TaskOutcome>({ kind: 'output', output, ...getFigures() });
    } catch (thrown) {
      if (thrown instanceof CancelledError) return { kind: 'cancelled', ...getFigures() };
      if (thrown instanceof Refusal) return { kind: 'refused', error: thrown.toDetail(), ...getFigures() };
      if (isOutOfMemory(thrown)) return { kind: 'refused', error: createMemoryError(thrown), ...getFigures() };
      if (isFull(thrown)) return { kind: 'refused', error: createDiskFullError(thrown as Error), ...getFigures() };
      const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      return { kind: 'threw', stack, ...getFigures() };
    }
  };
}

/**
 * Runs a task. If the sandbox for plug-ins was not loaded, loads it and runs the task again. This is safe, because the
 * first call of a plug-in in a thread happens before any effect.
 */
async function runWithSandbox(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof MissingSandboxError)) throw thrown;
    const { loadPluginSandbox } = await import('#domain/datapoints/plugin-sandbox.js');
    await loadPluginSandbox();
    return run();
  }
}

/** Returns true for an allocation failure outside the heap. V8 and WebAssembly report it as a RangeError. */
function isOutOfMemory(thrown: unknown): thrown is RangeError {
  return (
    thrown instanceof RangeError &&
    /allocation failed|could not allocate|maximum memory size|out of memory/i.test(thrown.message)
  );
}

function createDiskFullError({ message }: Error): ErrorDetail {
  return { code: 'STORAGE_FULL', message, detail: null };
}

function createMemoryError(error: RangeError): ErrorDetail {
  return { code: 'WORKER_OUT_OF_MEMORY', message: `The worker ran out of memory: ${error.message}.`, detail: null };
}

/** Tasks by name. Compilation fails for a task without a worker. */
const tasks: { readonly [N in TaskName]: () => Promise<Task<N>> } = {
  backtest: async () => (await import('./runs/backtest.js')).backtest,
  replay: async () => (await import('./runs/backtest.js')).replay,
  'batch-part': async () => (await import('./personal/accounts.js')).solveBatchPart,
  'account-backtest': async () => (await import('./personal/accounts.js')).runAccountBacktest,
  'sum-batch': async () => (await import('./personal/accounts.js')).sumBatch,
  'sweep-part': async () => (await import('./runs/many-runs.js')).sweepPart,
  'sum-rows': async () => (await import('./runs/stored-runs.js')).sumRows,
  'sum-sweep': async () => (await import('./runs/many-runs.js')).sumSweep,
  'view-run': async () => (await import('./views/view-run.js')).viewRun,
  'run-text': async () => (await import('./runs/stored-runs.js')).readRunText,
  'write-run-text': async () => (await import('./runs/stored-runs.js')).writeRunText,
  'export-part': async () => (await import('./views/export-part.js')).exportRunPart,
  'run-levels': async () => (await import('./runs/stored-runs.js')).readRunLevelsTask,
  'run-closes': async () => (await import('./runs/stored-runs.js')).readRunCloses,
  'publication-bundle': async () => (await import('./runs/bundle.js')).writePublicationBundle,
  preview: async () => (await import('./indices/previews.js')).preview,
  'sketch-level': async () => (await import('./indices/previews.js')).sketchLevel,
  'check-plugin': async () => (await import('./indices/previews.js')).checkPluginProgram,
  'evaluate-datapoint': async () => (await import('./indices/previews.js')).evaluateDatapointTask,
  'preview-optimisation': async () => (await import('./indices/previews.js')).previewOfOptimisation,
  explain: async () => (await import('./indices/previews.js')).explain,
  whatIf: async () => (await import('./indices/previews.js')).compareWhatIf,
  rebalancePack: async () => (await import('./indices/previews.js')).createRebalancePack,
  render: async () => (await import('./reports/render.js')).render,
  prices: async () => (await import('./market/markets.js')).readPrices,
  'market-table': async () => (await import('./market/markets.js')).writeMarketTable,
  coverage: async () => (await import('./market/markets.js')).measureCoverage,
  'audit-market': async () => (await import('./market/markets.js')).auditMarketTask,
  'repair-market': async () => (await import('./market/markets.js')).repairMarket,
  'refresh-market': async () => (await import('./market/markets.js')).refreshMarket,
  'compare-levels': async () => (await import('./runs/stored-runs.js')).compareRunLevels,
  differences: async () => (await import('./runs/stored-runs.js')).explainDifferences,
  'total-return': async () => (await import('./runs/stored-runs.js')).computeTotalReturn,
  'content-change': async () => (await import('./market/markets.js')).writeContentChange,
  'content-copy': async () => (await import('./market/markets.js')).writeContentCopy,
  'copied-market': async () => (await import('./market/markets.js')).copyMarket,
  'earlier-market': async () => (await import('./market/markets.js')).rebuildEarlierMarket,
  'data-difference': async () => (await import('./market/markets.js')).computeDataDifference,
  'simulate-part': async () => (await import('./runs/many-runs.js')).simulatePart,
  'sum-simulation': async () => (await import('./runs/many-runs.js')).sumSimulation,
  'estimate-risk-model': async () => (await import('./risk/risk-models.js')).estimateModel,
  'risk-model-size': async () => (await import('./risk/risk-models.js')).readModelSize,
  'risk-model-parts': async () => (await import('./risk/risk-models.js')).writeModelParts,
  'sum-risk-model': async () => (await import('./risk/risk-models.js')).sumModel,
  'validate-risk-model': async () => (await import('./risk/risk-models.js')).validateModel,
  optimise: async () => (await import('./optimisation/optimise.js')).optimise,
  'import-risk-model': async () => (await import('./risk/risk-models.js')).importModel,
  'export-risk-model': async () => (await import('./risk/risk-models.js')).exportModel,
  'risk-model-part': async () => (await import('./risk/risk-models.js')).readRiskModelPart,
  'hash-files': async () => (await import('./run-files.js')).hashFiles,
  'check-body': async () => checkRequestBody,
  'read-text': async () => {
    const { readTextNumbers } = await import('#domain/outputs/receipts.js');
    return async ({ text, ids, stores }) =>
      readTextNumbers(text, new Set(ids.split('\n')), new Set(stores.split('\n')));
  },
  'verify-numbers': async () => {
    const { verifyNumbers } = await import('#domain/outputs/receipts.js');
    return async ({ results }) => results.flatMap(verifyNumbers);
  },
  'describe-tools': async () => describeAllTools,
  'warm-up': async () => warmUp,
  rest: async () => releaseMemory,
  'risk-model-arrow': async () => (await import('./risk/risk-models.js')).createRiskModelArrow,
};

/**
 * Parses and checks the body of a request. A value of many parts is returned as text. Only threads that check bodies load
 * the routes.
 */
const checkRequestBody: Task<'check-body'> = async ({ operation, bytes }) => {
  const [{ API }, { checkBody, readBodyText }] = await Promise.all([
    import('#contract/api.js'),
    import('#contract/route.js'),
  ]);
  const body = (API as Readonly<Record<string, Route>>)[operation]!.body!; // only routes with a body send it
  const scannedText = readBodyText(body, new Uint8Array(bytes)); // a decoder does not read shared memory
  const checkedBody = checkBody(body, scannedText, true);
  if ('refusal' in checkedBody) return { error: checkedBody.refusal.toDetail() };
  const { value } = checkedBody;
  if (scannedText.values <= LIMITS.MAX_DIRECT_VALUES) return { value };
  const { lines } = body;
  if (lines === undefined) return { json: body.document === true ? scannedText.text : JSON.stringify(value) };
  const { [lines]: entries, ...members } = value as Readonly<Record<string, readonly unknown[]>>; // the schema has checked the list
  return {
    json: JSON.stringify({ ...members, [lines]: [] }),
    lines: answerBytes(entries!.map((entry) => JSON.stringify(entry)).join('\n')),
  };
};

/** Describes the tools of the whole contract. Text is received faster than objects. */
const describeAllTools: Task<'describe-tools'> = async () => {
  const [{ API }, { createOpenApiDocument }, { describeTools }] = await Promise.all([
    import('#contract/api.js'),
    import('#contract/openapi.js'),
    import('#contract/tools.js'),
  ]);
  return { json: JSON.stringify(describeTools(API, createOpenApiDocument(API, ''))) };
};

export const runTask = createEntryPoint(tasks);

/** Frees what an idle thread keeps for later tasks, and returns its garbage to the system. */
export const releaseMemory: Task<'rest'> = async ({ prepared }) => {
  if (prepared !== threadId) closeMarkets();
  releaseKeptMemory();
  await collectGarbage();
  await collectGarbage(); // V8 frees the buffers of a collection in the background, and the last of them with the next one
  return null;
};

/**
 * Loads the code of tasks. If there is a market, opens it, and computes and discards a run, a risk model and an
 * optimisation. Later requests then do not wait for this work.
 * @throws CancelledError between two of these steps, and within a run; loaded code stays loaded
 * @throws Refusal of a backtest or an estimate
 */
const warmUp: Task<'warm-up'> = async (
  { names, market, plan, storedPrices = [], checkedFiles, destination },
  control,
) => {
  for (const name of names) {
    await tasks[name]();
    control.report(0);
  }
  if (market) openCachedMarket(market);
  if (market && plan) {
    await (
      await import('./runs/backtest.js')
    ).warmUpRun(
      { market, plan, storedPrices, checkedFiles, ...(destination && { outputs: { destination } }) },
      control,
    );
    await (await import('./risk/risk-models.js')).practiseRiskModel(market, control);
    await (await import('./optimisation/optimise.js')).practiseOptimisation(market, plan, control);
  }
  return null;
};
