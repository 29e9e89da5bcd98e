import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Deserializer, Serializer } from 'node:v8';
import { joinBytes, type ProducedBytes } from '#base/bytes.js';
import { allocateRetainedMemory, type Memory, releaseAtRest } from '#base/memory.js';
import {
  CHECKPOINT_FORMAT,
  createCheckpoint,
  listCalledRebalances,
  type RunCheckpoint,
} from '#domain/backtest/checkpoint.js';
import { countAddedDates, type ExtendedRun, extendRun, isFileFull } from '#domain/backtest/extension.js';
import { limitPlanToDate } from '#domain/backtest/plan.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { findFirstDifference, type RunDifference } from '#domain/backtest/run-file/compare.js';
import { PRICES_NAME, type SeparatePrices } from '#domain/backtest/run-file/header.js';
import {
  beginRunFiles,
  type BegunRunFiles,
  completeColumns,
  openColumns,
  type RangeReader,
  type RunFiles,
} from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { assertMeasured } from '#domain/backtest/summary.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import { findValueBeforeNextSession } from '#domain/books/benchmark.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { DecisionSharing } from '#domain/decide/rule-decider.js';
import { createSharedDecisions } from '#domain/decide/shared-decisions.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { CannotResumeError, type FullRunReason } from '#domain/definition/runs.js';
import {
  listActions,
  listActionsSince,
  type MarketData,
  type MarketHandle,
  type MarketIdentity,
} from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { Task, TaskOutput, ThreadInput } from '#jobs/tasks/catalogue.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { CheckedFiles, EarlierContentFiles, TaskControl } from '#jobs/tasks/messages.js';
import type { ResumableRun, RunFileName } from '#jobs/tasks/runs.js';
import type { Engine } from '#kernels/engines/engine.js';
import { loadSystemSha256 } from '#kernels/memory/system-sha256.js';
import {
  changesEarlierDays,
  comparePrefixes,
  createPrefix,
  findSettledDay,
  type MarketPrefix,
} from '#market/content/content-hash.js';
import type { NewFile } from '#store/port.js';
import { createReplayView } from '#views/comparison.js';
import { createJsonWriter } from '#views/json/writer.js';
import {
  openCachedCalendars,
  openCachedMarket,
  openCachedSince,
  openEarlierContents,
  openModels,
  runOnEngine,
} from '../input/inputs.js';
import {
  copyOutput,
  createRunMemory,
  type EarlyOutput,
  findOutputPath,
  findStoredAlready,
  formatPricesKey,
  getPricesHash,
  rememberPrices,
  runWithEarlyOutput,
  writeOutputs,
} from '../output/task-outputs.js';
import { hasContent, rememberWritten, resolveSibling, useRunFile } from '../run-files.js';

/** Values without content after their tag, which is their position here. */
const CONSTANTS: readonly unknown[] = [null, undefined, false, true];
const NUMBER = 4;
const TEXT = 5;
const LIST = 6;
const MAP = 7;
const RECORD = 8;
/** Tag of the first type of `ARRAY_TYPES`. The other types have the next tags. */
const ARRAY = 16;
const ARRAY_TYPES = [Float64Array, Int32Array, Int8Array, Uint8Array] as const;

/**
 * Returns a value as bytes. Equal values with their members in the same order have the same bytes. The bytes of
 * `v8.serialize` also depend on shared references and on the forms in which V8 stores numbers, texts and lists.
 * Optimised code selects other forms, so two equal runs may differ there.
 * @param value numbers, texts, booleans, null, undefined, typed arrays, and lists, maps and plain objects of them
 * @throws TypeError for any other value
 */
export function encodeState(value: unknown): Uint8Array {
  const output = new Serializer();
  writeValue(output, value);
  return output.releaseBuffer();
}

/** Returns the value of bytes from `encodeState`. @throws Error if the bytes have another format */
export function decodeState(bytes: Uint8Array): unknown {
  return readValue(new Deserializer(bytes));
}

function writeValue(output: Serializer, value: unknown): void {
  const constant = CONSTANTS.indexOf(value);
  if (constant >= 0) output.writeUint32(constant);
  else if (typeof value === 'number') writeNumber(output, value);
  else if (typeof value === 'string') writeBytes(output, TEXT, Buffer.from(value, 'utf16le'));
  else if (isStateArray(value)) writeBytes(output, ARRAY + findArrayType(value), value);
  else if (Array.isArray(value)) writeItems(output, LIST, value);
  else if (value instanceof Map) writeItems(output, MAP, [...value].flat());
  else if (isPlainObject(value)) writeItems(output, RECORD, Object.entries(value).flat());
  else throw new TypeError(`A state contains a value without a form: ${String(value)}.`);
}

function writeNumber(output: Serializer, value: number): void {
  output.writeUint32(NUMBER);
  output.writeDouble(Number.isNaN(value) ? Number.NaN : value); // NaN has several bit patterns
}

function writeBytes(output: Serializer, tag: number, bytes: NodeJS.ArrayBufferView): void {
  output.writeUint32(tag);
  output.writeUint32(bytes.byteLength);
  output.writeRawBytes(bytes);
}

function writeItems(output: Serializer, tag: number, items: readonly unknown[]): void {
  output.writeUint32(tag);
  output.writeUint32(items.length);
  for (const item of items) writeValue(output, item);
}

function isStateArray(value: unknown): value is InstanceType<(typeof ARRAY_TYPES)[number]> {
  return findArrayType(value) >= 0;
}

function findArrayType(value: unknown): number {
  return ARRAY_TYPES.findIndex((arrayType) => value instanceof arrayType);
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function readValue(input: Deserializer): unknown {
  const tag = input.readUint32();
  if (tag < CONSTANTS.length) return CONSTANTS[tag];
  if (tag === NUMBER) return input.readDouble();
  const length = input.readUint32();
  if (tag === TEXT) return input.readRawBytes(length).toString('utf16le');
  if (tag === LIST) return readItems(input, length);
  if (tag === MAP) return new Map(readPairs(input, length));
  if (tag === RECORD) return Object.fromEntries(readPairs(input, length));
  const arrayType = ARRAY_TYPES[tag - ARRAY];
  if (arrayType === undefined) throw new Error('The bytes of a state have another format.');
  return new arrayType(new Uint8Array(input.readRawBytes(length)).buffer); // a copy is aligned
}

function readItems(input: Deserializer, count: number): unknown[] {
  const items: unknown[] = [];
  for (let i = 0; i < count; i++) items.push(readValue(input));
  return items;
}

function readPairs(input: Deserializer, count: number): (readonly [string, unknown])[] {
  const pairs: (readonly [string, unknown])[] = [];
  for (let i = 0; i < count; i += 2) pairs.push([readValue(input) as string, readValue(input)]);
  return pairs;
}

/** State of a run from which the run can be extended. It is stored next to the columns of the run. */
export interface CheckpointFile {
  readonly format: number;
  /** SHA-256 over plan and engine version, without the end of the request. */
  readonly identity: string;
  /** Hashes of the market data up to the last date of the run. */
  readonly prefix: MarketPrefix;
  readonly checkpoint: RunCheckpoint;
}

/**
 * Returns the identity of a run that a longer run may extend. It covers all inputs up to the last day of the run,
 * except the market and the end.
 */
function computeIdentity(plan: BacktestPlan, engineVersion: string, { day }: Pick<RunCheckpoint, 'day'>): string {
  const { request, ...rest } = limitPlanToDate(plan, formatDay(day));
  return createHash('sha256')
    .update(toCanonicalJson({ ...rest, request: { ...request, end: null }, engineVersion, format: CHECKPOINT_FORMAT }))
    .digest('hex');
}

export interface StateInput {
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  readonly handle: MarketHandle;
  readonly market: MarketData;
  readonly checkpoint: RunCheckpoint;
}

/** Returns the state of a run as bytes. Returns null if the market has no hashes of its parts. */
export function encodeCheckpoint({ plan, engineVersion, handle, market, checkpoint }: StateInput): Uint8Array | null {
  if (handle.digests === undefined) return null;
  const state: CheckpointFile = {
    format: CHECKPOINT_FORMAT,
    identity: computeIdentity(plan, engineVersion, checkpoint),
    prefix: createPrefix(market, handle.digests, checkpoint.day),
    checkpoint,
  };
  return encodeState(state);
}

export interface ResumedRun extends ExtendedRun {
  /** Checkpoint of the run as bytes. */
  readonly state: Uint8Array | null;
}

export interface ResumeOrder {
  readonly engine: Engine;
  readonly handle: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles | undefined;
  readonly engineVersion: string;
  readonly run: ResumableRun;
  readonly checkedFiles?: CheckedFiles | undefined;
}

/**
 * Extends the stored run by later sessions.
 * @throws CannotResumeError
 * @throws Refusal like the full run
 */
export function resumeStored(order: ResumeOrder, control: TaskControl): ResumedRun {
  const { engine, handle, plan, models, engineVersion, run } = order;
  assertIntact(order, control);
  const state = readState(run);
  if (state.identity !== computeIdentity(plan, engineVersion, state.checkpoint))
    throw new CannotResumeError('no_checkpoint');
  if (handle.digests === undefined) throw new CannotResumeError('no_checkpoint');
  const { checkpoint } = state;
  const sinceDay = Math.min(checkpoint.since, findSettledDay({ dates: new Int32Array(handle.dates) }, checkpoint.day));
  const market = openCachedSince(handle, sinceDay);
  const prefixChange = comparePrefixes(createPrefix(market, handle.digests, checkpoint.day), state.prefix);
  if (prefixChange !== null)
    throw new CannotResumeError(prefixChange === 'names' ? 'names_changed' : 'history_changed');
  if (changesEarlierDays(market, checkpoint.day) || changesLastBenchmarkValue(plan, market, checkpoint.day))
    throw new CannotResumeError('history_changed');
  return readOrGiveUp(() =>
    useRunFile(run.columns, (stored) => {
      const extendedRun = extendRun({
        plan,
        checkpoint,
        stored,
        market,
        calendars: openCachedCalendars(listClosures(plan.documents)),
        marketSince: (day) => (day >= sinceDay ? market : addCashSince(handle, market, day)),
        wholeMarket: () => openCachedMarket(handle),
        models: openModels(models),
        createDecider: createIndexDeciders(engine, findSharing(market)),
        engine,
        report: (fraction, message) => control.report(0.8 * fraction, message),
        fileNames: run.fileNames,
        actionsOf: (columns) => listActions(handle, columns),
        contentHash: handle.contentHash,
      });
      const { checkpoint: next } = extendedRun;
      return { ...extendedRun, state: encodeCheckpoint({ plan, engineVersion, handle, market, checkpoint: next }) };
    }),
  );
}

function changesLastBenchmarkValue(
  { request, documents, indexId }: BacktestPlan,
  market: MarketData,
  day: number,
): boolean {
  const series = request.benchmark?.kind === 'identifier' ? market.series?.get(request.benchmark.id) : undefined;
  if (series === undefined) return false;
  const { calendar } = documents[indexId]!; // a plan contains the document of its index
  const { sessions } = openCachedCalendars(listClosures(documents)).get(calendar)!; // the stored run was computed with this calendar
  return findValueBeforeNextSession(series, sessions, day) !== undefined;
}

/**
 * Maximum number of cached values for a market: securities times cross-sections. Runs that are extended on the same day
 * read the same cross-sections.
 */
const SECTION_NAMES_MAX = 1 << 17;

const sharingByMarket = new WeakMap<MarketData, DecisionSharing>();

function findSharing(market: MarketData): DecisionSharing {
  const decisionSharing = sharingByMarket.get(market) ?? createSharedDecisions(SECTION_NAMES_MAX, 0);
  sharingByMarket.set(market, decisionSharing);
  return decisionSharing;
}

/** Market that includes cash paid after an earlier day. It is kept for the day that was requested last. */
const latestMarkets = new WeakMap<MarketData, MarketData>();

function addCashSince(handle: MarketHandle, market: MarketData, day: number): MarketData {
  const marketData = latestMarkets.get(market);
  if (marketData?.settledTo === day) return marketData;
  const extendedMarket = { ...market, actions: listActionsSince(handle, day), settledTo: day };
  latestMarkets.set(market, extendedMarket);
  return extendedMarket;
}

/** Runs a read. If a stored file is unreadable, a full run follows. */
function readOrGiveUp<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof Refusal && thrown.code === 'DOCUMENT_UNREADABLE'
      ? new CannotResumeError('no_checkpoint')
      : thrown;
  }
}

/**
 * Verifies the stored files, because a copy of a damaged file would get a new valid hash. An extension copies few
 * columns, so that a file of copied columns is always hashed.
 * @throws CannotResumeError
 * @cost one read of the files that this process has neither written nor hashed, and of files modified since
 */
function assertIntact({ run: { checked, columns }, checkedFiles }: ResumeOrder, control: TaskControl): void {
  const isRunFileFull = (): boolean =>
    readOrGiveUp(() => useRunFile(columns, (stored) => isFileFull(countAddedDates(stored))));
  for (const file of checked) {
    const isUnchanged = (): boolean => file.path !== columns || isRunFileFull();
    if (!hasContent(file, checkedFiles, () => control.report(0), isUnchanged))
      throw new CannotResumeError('no_checkpoint');
  }
}

function readState({ checkpoint }: ResumableRun): CheckpointFile {
  const bytes = readChecked(checkpoint);
  try {
    const state = decodeState(bytes) as CheckpointFile; // the matching hash proves that encodeCheckpoint wrote it
    if (state.format === CHECKPOINT_FORMAT) return state;
  } catch {
    // another version wrote the checkpoint
  }
  throw new CannotResumeError('no_checkpoint');
}

/** Reads a file and verifies its hash. @throws CannotResumeError if the file is missing or its content has changed */
function readChecked({ path, sha256 }: ResumableRun['checkpoint']): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch {
    throw new CannotResumeError('no_checkpoint');
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw new CannotResumeError('no_checkpoint');
  return bytes;
}

/** Practice run (computed and discarded), and stored price files that may contain its prices. */
type PracticeOrder = Pick<ThreadInput<'backtest'>, 'market' | 'plan'> & Partial<PricesOrder>;

/** Price files that a run need not write. */
type PricesOrder = Pick<ThreadInput<'backtest'>, 'storedPrices' | 'stored' | 'checkedFiles'> & {
  readonly outputs: Pick<ThreadInput<'backtest'>['outputs'], 'destination'>;
};

/** Files of a run before they are written. */
export interface ComputedFiles extends Pick<BegunRunFiles, 'columns' | 'weightsEnd' | 'blocks'> {
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

/**
 * Writes the files of a run that are not stored yet.
 * @param early output of the columns, whose write may have begun
 * @throws Refusal STORAGE_FULL
 */
export async function writeRunFiles(
  input: ThreadInput<'backtest'>,
  computedFiles: ComputedFiles,
  early: Pick<EarlyOutput, 'end'>,
): Promise<WrittenFiles> {
  const { outputs, checkedFiles, plan, storedFiles } = input;
  const { columns, weightsEnd, checkpoint, areColumnsKept } = computedFiles;
  const contents = {
    plan: copyOutput(toCanonicalJson(plan)),
    columns, // not copied, because the memory is reused only after the write
    checkpoint: checkpoint && copyOutput(checkpoint),
  };
  const prices = computedFiles.prices && {
    key: formatPricesKey(input.market, computedFiles.prices),
    stored: findStoredPrices(input, computedFiles),
  };
  const storedOutputs = findStoredAlready(outputs, contents, storedFiles, { columns: weightsEnd });
  const onWritten = async (file: NewFile): Promise<void> => {
    if (checkedFiles && (areColumnsKept || file.name !== outputs.names.columns))
      await rememberWritten(checkedFiles, file);
  };
  const ownSeparatePrices = prices?.stored === undefined ? computedFiles.prices : null;
  const areColumnsStored = storedOutputs.has('columns');
  const columnsOutput = areColumnsStored ? null : early.end(columns, { onWritten });
  const otherOutputs = writeOutputs(
    outputs,
    { ...contents, columns: areColumnsStored ? columns : null, prices: ownSeparatePrices },
    { again: storedOutputs, onWritten },
  );
  await Promise.allSettled([columnsOutput, otherOutputs]); // a failed task writes nothing afterwards
  const { prices: artifactRef, ...others } = await otherOutputs;
  const files = { ...others, columns: (await columnsOutput) ?? others.columns! }; // one of the two writes has the columns
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
/** Memory for the files of runs whose portfolio has other weights than the index. */
const fileMemory = createRunMemory();
for (const { release } of [runMemory, fileMemory]) releaseAtRest(release);

/**
 * Runs a backtest. Extends the stored run if the result is the same, otherwise computes a full run. The texts of a run
 * are not stored; they are created on each read.
 */
export const backtest: Task<'backtest'> = async (input, control) =>
  runWithEarlyOutput(
    input.outputs,
    'columns',
    async (early) => {
      const { files, ...run } = await runOnEngine((engine) =>
        computeWholeOrExtendedRun(engine, input, control, early.begin),
      );
      for (const final of files.blocks) if (early.extend(final)) await setImmediate();
      control.report(0.95);
      const writtenFiles = await writeRunFiles(input, files, early);
      runMemory.giveBack();
      fileMemory.giveBack();
      return { ...run, ...writtenFiles };
    },
    { mayBegin: !isLikelyStored(input), hashApart: loadSystemSha256 },
  );

/** Returns true if a run probably extends the stored run or equals it, so that its columns are not written as a whole. */
function isLikelyStored({ stored }: Pick<ThreadInput<'backtest'>, 'stored'>): boolean {
  return stored === 'no_new_session' || (stored !== null && typeof stored === 'object');
}

/** Computes the files of a run and discards them. This compiles the code and prepares market and prices for runs. */
export async function warmUpRun(order: PracticeOrder, control: TaskControl): Promise<void> {
  const { files } = await runOnEngine((engine) =>
    computeWholeRun(engine, { ...order, engineVersion: '' }, control, { fullRunReason: null, begin: () => {} }),
  );
  practiseRunFiles(order, completeColumns(files));
  runMemory.giveBack();
  fileMemory.giveBack();
}

/** Run before its files are written. */
type ComputedBacktest = Omit<TaskOutput<'backtest'>, 'plan' | 'columns' | 'checkpoint' | 'prices' | 'unwritten'> & {
  readonly files: ComputedFiles;
};

function computeWholeOrExtendedRun(
  engine: Engine,
  input: ThreadInput<'backtest'>,
  control: TaskControl,
  begin: EarlyOutput['begin'],
): ComputedBacktest {
  const { stored = null } = input;
  if (stored === null || typeof stored === 'string')
    return computeWholeRun(engine, input, control, { fullRunReason: stored, begin });
  try {
    return computeExtendedRun(engine, { ...input, stored }, control);
  } catch (thrown) {
    if (thrown instanceof CannotResumeError)
      return computeWholeRun(engine, input, control, { fullRunReason: thrown.reason, begin });
    throw thrown;
  }
}

interface FullRunOptions {
  readonly fullRunReason: FullRunReason | null;
  /** Receives the columns when their first bytes are final. */
  readonly begin: EarlyOutput['begin'];
}

function computeWholeRun(
  engine: Engine,
  input: Omit<RunOrder, 'memory' | 'fileMemory'> & Pick<ThreadInput<'backtest'>, 'engineVersion'>,
  control: TaskControl,
  { fullRunReason, begin }: FullRunOptions,
): ComputedBacktest {
  const { plan, engineVersion, market: handle } = input;
  const { run, final, ...runFiles } = runForDataset(
    engine,
    { ...input, memory: runMemory.take, fileMemory: fileMemory.take },
    control,
  );
  begin(runFiles.columns, final);
  const market = openCachedMarket(handle);
  const canBeExtended = plan.request.as_known === undefined;
  return {
    ...createStamp(input),
    files: {
      ...runFiles,
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
    files: {
      columns: run.columns,
      blocks: [],
      weightsEnd: 0,
      prices: null,
      checkpoint: run.state,
      areColumnsKept: false,
      look: () => {},
    },
    ...createSpan(run.days),
    called: null,
    fullRunReason: null,
    extendedFrom: formatDay(run.extendedFrom),
    earlierFiles: run.earlierFiles,
  };
}

const createSpan = (days: Int32Array) => ({ start: formatDay(days[0]!), end: formatDay(days.at(-1)!) });

export type RunOrder = Pick<ThreadInput<'backtest'>, 'market' | 'plan' | 'models' | 'known'> & {
  /** Memory for the columns of the run. Its previous content must no longer be read. */
  readonly memory?: Memory;
  /** Memory for columns that do not fit into it. Default: new memory. */
  readonly fileMemory?: Memory;
};

/** Runs a plan and lays out its columns. @throws Refusal */
export function runForDataset(
  engine: Engine,
  { market: handle, plan, models, known, memory: roomOf = allocateRetainedMemory, fileMemory }: RunOrder,
  control: TaskControl,
): BegunRunFiles & { readonly run: Run } {
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
  return {
    run,
    ...beginRunFiles(run, {
      contentHash: market.contentHash,
      inPlace: true,
      ...(fileMemory && { memory: fileMemory }),
    }),
  };
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
    const files = completeColumns(runForDataset(engine, input, control));
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
