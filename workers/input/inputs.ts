import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { Piscina } from 'piscina';
import { releaseAtRest } from '#base/memory.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import { createComposer, type DatedMarkets } from '#domain/books/composer.js';
import type { Composer } from '#domain/books/compositions.js';
import { listClosures, type RecordedClosures } from '#domain/calendars/calendar.js';
import { correctCalendars, type ExchangeCalendars } from '#domain/calendars/exchange-calendars.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import {
  createMarketKey,
  type MarketData,
  type MarketHandle,
  openMarket,
  openMarketSince,
  openWithoutActions,
} from '#domain/market/market-data.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { PanelEstimate } from '#domain/risk/estimation.js';
import {
  openPackedMatrix,
  openStoredModel,
  type PackedMatrix,
  type StoredModel,
  type StoredModels,
} from '#domain/risk/stored-models.js';
import type { ModelFile, ModelFiles, StoredMatrix } from '#jobs/tasks/indices.js';
import type { EarlierContentFiles, HashedFile, TaskControl, ThreadData } from '#jobs/tasks/messages.js';
import type { Engine } from '#kernels/engines/engine.js';
import { type EngineChoice, type EngineSetting, openNumericEngine } from '#kernels/engines/open-engine.js';
import { decodeChange } from '#market/content/content-copy.js';
import { type ContentChange, createDatedMarkets } from '#market/content/versions.js';
import { reportPanelMemory } from '#market/panels/market-transfer.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { PreparedEstimate } from '#views/risk-estimate.js';

/**
 * Opens the earlier contents of a market from the changes that lead back to them. @cost a read of the files at the
 * first use
 */
export function openEarlierContents(
  market: MarketData,
  files: EarlierContentFiles | undefined,
): { readonly known?: DatedMarkets } {
  if (files === undefined) return {};
  let datedMarkets: DatedMarkets | undefined;
  const openDatedMarkets = ({ knownOn, earlier }: EarlierContentFiles): DatedMarkets =>
    createDatedMarkets(market, {
      knownOn,
      earlier: earlier.map((file) => ({ knownOn: file.knownOn, change: readChange(file) })),
    });
  return { known: { at: (day) => (datedMarkets ??= openDatedMarkets(files)).at(day) } };
}

/** Reads a change from a file. @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged */
export function readChange(file: HashedFile): ContentChange {
  return decodeChange(readHashedBytes(file));
}

/**
 * Reads the bytes of a file, and checks their hash.
 * @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged
 */
export function readHashedBytes({ path, sha256 }: HashedFile): Uint8Array {
  const bytes = readIfThere(path);
  if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw refuseDamagedContent('a file of it is missing or damaged');
  return bytes;
}

export function refuseDamagedContent(reason: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The earlier content of the data store cannot be read: ${reason}.`);
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // an absent file is reported like a damaged one
  }
}

/** Closes the markets of this thread, so that it opens and aligns them again for its next task. */
export function closeMarkets(): void {
  openMarketsByKey.clear();
  latestMarket = undefined;
}

releaseAtRest(() => {
  latestMatrix = undefined;
  lastModel = undefined;
  openedEngine = undefined; // its arena keeps the largest size that a task needed
});

/**
 * Maximum number of open store versions per thread. They are the served version, and its predecessor while work on it
 * ends.
 */
const OPEN_MARKETS_MAX = 2;

const openMarketsByKey = new Map<string, MarketData>();

/**
 * Returns the market of a handle, which each thread opens once. Data derived from the market (alignments, growth
 * factors) is cached with it.
 * @cost of `openMarket` at the first use
 */
export function openCachedMarket(handle: MarketHandle): MarketData {
  const market = openMarketsByKey.get(createMarketKey(handle)) ?? openMarket(handle);
  keepOpen(market);
  return market;
}

/**
 * Maximum number of start days for which a thread keeps the latest market open. The runs of a store end on few days.
 */
const START_DAYS_MAX = 4;

/** Latest market with its variants, by day. A variant does not contain the data that was final before the day. */
let latestMarket:
  | { readonly key: string; readonly opened: MarketData; readonly byDay: Map<number, MarketData> }
  | undefined;

/**
 * Opens a market like `openMarketSince`. The tables are parsed once for all runs that are extended on a market, and
 * derived data is cached per start day.
 */
export function openCachedSince(handle: MarketHandle, after: number): MarketData {
  const key = createMarketKey(handle);
  if (latestMarket?.key !== key) latestMarket = { key, opened: openWithoutActions(handle), byDay: new Map() };
  const { opened, byDay } = latestMarket;
  const market = byDay.get(after) ?? openMarketSince(handle, after, opened);
  byDay.delete(after);
  byDay.set(after, market);
  if (byDay.size > START_DAYS_MAX) byDay.delete(byDay.keys().next().value!);
  return market;
}

/** Keeps a market open that this thread created. Later work may use it. */
export function keepOpen(market: MarketData): void {
  openMarketsByKey.delete(createMarketKey(market));
  openMarketsByKey.set(createMarketKey(market), market);
  if (openMarketsByKey.size > OPEN_MARKETS_MAX) openMarketsByKey.delete(openMarketsByKey.keys().next().value!);
  reportPanelMemory([...market.fields.values()].map(({ buffer }) => buffer));
}

/**
 * Maximum number of sets of recorded changes whose calendars are cached. Consecutive tasks usually have the same set.
 */
const CACHED_SETS_MAX = 4;

let calendars: ExchangeCalendars | undefined;
const calendarsByKey = new Map<string, ExchangeCalendars>();

/**
 * Returns the calendars of the service with recorded changes. A thread opens them once per set of changes. The changes
 * come from the task, so that its results depend only on its input.
 */
export function openCachedCalendars(closures: RecordedClosures = {}): ExchangeCalendars {
  calendars ??= openCalendars();
  if (Object.keys(closures).length === 0) return calendars;
  const key = toCanonicalJson(closures);
  const exchangeCalendars = calendarsByKey.get(key) ?? correctCalendars(calendars, closures);
  calendarsByKey.delete(key);
  calendarsByKey.set(key, exchangeCalendars);
  if (calendarsByKey.size > CACHED_SETS_MAX) calendarsByKey.delete(calendarsByKey.keys().next().value!);
  return exchangeCalendars;
}

/**
 * Matrix that was read last. It is cached, because a long response is requested in parts. Files are never changed, so
 * that a path identifies its content.
 */
let latestMatrix: { readonly paths: string; readonly at: number; readonly matrix: PackedMatrix } | undefined;

/** Reads a stored matrix, or returns the cached one. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredMatrix({ paths, order, at }: StoredMatrix): PackedMatrix {
  const from = at ?? 0;
  const key = paths.join();
  if (latestMatrix?.paths === key && latestMatrix.at === from && latestMatrix.matrix.order === order)
    return latestMatrix.matrix;
  const numbers = readStoredDoubles(paths);
  // A file with several matrices has more numbers than one matrix.
  const selectedNumbers = at === undefined ? numbers : numbers.slice(at, at + (order * (order + 1)) / 2);
  latestMatrix = { paths: key, at: from, matrix: openPackedMatrix(selectedNumbers, order) };
  return latestMatrix.matrix;
}

/** Reads the numbers of a stored model from its files, one after another. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredDoubles(paths: readonly string[]): Float64Array {
  const files: number[] = [];
  try {
    for (const path of paths) files.push(openSync(path, 'r'));
    const sizes = files.map((file) => fstatSync(file).size);
    const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
    let position = 0;
    for (const [i, file] of files.entries()) {
      fill(file, bytes.subarray(position, position + sizes[i]!));
      position += sizes[i]!;
    }
    return new Float64Array(bytes.buffer);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored risk model cannot be read: its numbers are missing.', null, {
      cause,
    });
  } finally {
    files.forEach(closeSync);
  }
}

/** Fills a buffer from a file. @throws Error if the file is shorter */
function fill(file: number, bytes: Uint8Array): void {
  for (let readBytes = 0; readBytes < bytes.length;) {
    const count = readSync(file, bytes, readBytes, bytes.length - readBytes, readBytes);
    if (count === 0) throw new Error(`the file ends after ${readBytes} of ${bytes.length} bytes`);
    readBytes += count;
  }
}

/** Opens the stored risk models of a task. Each is read at its first use. */
export function openModels(files: ModelFiles = {}): StoredModels {
  const openedModels = new Map<string, StoredModel>();
  return (modelId) => {
    const storedModel = openedModels.get(modelId);
    if (storedModel !== undefined) return storedModel;
    const file = files[modelId];
    if (file === undefined) throw new Error(`the task was not given the risk model ${modelId}`);
    const model = openModel(modelId, file);
    openedModels.set(modelId, model);
    return model;
  };
}

const openModel = (modelId: string, { paths, names, observedEnd, dates, factors }: ModelFile): StoredModel =>
  openStoredModel(modelId, {
    names,
    observedEnd,
    dates,
    matrix: () => readStoredMatrix({ paths, order: names.length }),
    numbers: () => readStoredDoubles(paths),
    factors: factors && { names: factors.names, numbers: () => readStoredDoubles([factors.path]) },
  });

export interface OpenedModel {
  readonly prepared: PreparedEstimate;
  readonly estimate: PanelEstimate;
  readonly cuts: Int32Array;
  /** Hash of the numbers from which parts are computed. It is the first figure of each part. */
  readonly fingerprint: number;
}

let lastModel: { readonly key: string; readonly model: OpenedModel } | undefined;

/**
 * Returns the model for which this thread computed parts last, if it has this key. Otherwise opens another model. Only
 * one model is kept, because its panel is as large as all its returns.
 */
export function rememberModel(key: string, open: () => OpenedModel): OpenedModel {
  if (lastModel?.key === key) return lastModel.model;
  clearLastModel();
  const model = open();
  lastModel = { key, model };
  return model;
}

/** Releases the model of this thread. */
export function clearLastModel(): void {
  lastModel = undefined;
}

export interface ComposeQuestion {
  readonly market: MarketData;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles | undefined;
  /** Last day of known data. */
  readonly until: Day;
  readonly engine: Engine;
  /** Earlier contents of the market, which decisions use. Default: the market itself. */
  readonly known?: DatedMarkets;
}

/** Creates a composer for an interactive question. The thread caches the calendars of the composer. */
export function createQuestionComposer(
  { market, documents, models, until, engine, known }: ComposeQuestion,
  control: TaskControl,
): Composer {
  return createComposer({
    market,
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until,
    known,
    createDecider: createIndexDeciders(engine),
    tick: (fraction) => control.report(fraction),
  });
}

/**
 * Parses a stored text.
 * @throws Refusal DOCUMENT_UNREADABLE if the text is missing or its content has changed
 */
export function readJson(file: HashedFile): unknown {
  return JSON.parse(new TextDecoder().decode(readStored(file)));
}

/** Reads the stored plan of a run. @throws Refusal DOCUMENT_UNREADABLE */
export function readPlan(file: HashedFile): BacktestPlan {
  return readJson(file) as BacktestPlan; // its hash matches the hash that the job wrote
}

/** Reads the bytes of a stored text. @throws Refusal DOCUMENT_UNREADABLE */
export function readStored({ path, sha256 }: HashedFile): Uint8Array<ArrayBuffer> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw refuseText(cause);
  }
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw refuseText();
  return bytes;
}

function refuseText(cause?: unknown): Refusal {
  return new Refusal(
    'DOCUMENT_UNREADABLE',
    'The stored run cannot be read: its file is missing or its content has changed.',
    null,
    cause === undefined ? {} : { cause },
  );
}

/**
 * Maximum size in bytes of an arena (memory of an engine) that a thread keeps between tasks. A larger arena is returned
 * to the system.
 */
const ARENA_BYTES_MAX = 256 * 2 ** 20;

let openedEngine: Promise<EngineChoice> | undefined;

/**
 * Returns the engine of this thread according to the setting of the pool. It is opened at the first use. It may use
 * float32, so use it only for results that state their precision. Its memory serves one task at a time: allocate inside
 * `scope`.
 */
export async function openNumerics(): Promise<Engine> {
  return (await openChoice()).engine;
}

/**
 * Returns the float64 engine of this thread, for work in several steps. Allocate inside `scope`, and only little memory
 * at once.
 */
export async function openExactNumerics(): Promise<Engine> {
  return (await openChoice()).exact;
}

/** Runs synchronous work in float64, regardless of the setting. Frees its allocations, and a large arena completely. */
export async function runOnEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return runScoped((await openChoice()).exact, work);
}

/** Runs work on the configured engine, for a result that states its precision. */
export async function runOnProductEngine<T>(work: (engine: Engine) => T): Promise<T> {
  return runScoped(await openNumerics(), work);
}

function openChoice(): Promise<EngineChoice> {
  const data = getData(Piscina.workerData);
  // the settings allow no other engine names
  return (openedEngine ??= openNumericEngine(data.numerics as EngineSetting, () => countSharedThreads(data)));
}

function runScoped<T>(engine: Engine, work: (engine: Engine) => T): T {
  try {
    return engine.scope(() => work(engine));
  } finally {
    if (engine.bytes() > ARENA_BYTES_MAX) openedEngine = undefined;
  }
}

/** Returns the data that the pool gave to the thread. Threads outside our pools (tests) have none. */
function getData(data: unknown): ThreadData {
  return (data as ThreadData | null | undefined) ?? { numerics: 'auto', threads: 1, running: new Int32Array(1) }; // only createPool writes this data
}

/**
 * Counts the threads that a large problem may use: this thread and its share of the idle threads. Tasks that start
 * meanwhile are not prevented from running.
 */
export function countSharedThreads({ threads, running }: Omit<ThreadData, 'numerics'>): number {
  const busyThreads = Math.max(1, Atomics.load(running, 0));
  return Math.max(1, Math.floor(threads / busyThreads));
}
