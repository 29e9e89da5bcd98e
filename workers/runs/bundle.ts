import { createHash } from 'node:crypto';
import type { Run } from '#domain/backtest/run.js';
import { compareText } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { Composer } from '#domain/books/compositions.js';
import { type Calendar, type Calendars, listClosures } from '#domain/calendars/calendar.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import {
  type BundleCalendar,
  type BundledVersions,
  createChangeFileName,
  createModelFileName,
  KNOWN_FILE,
  type PublicationEntry,
} from '#domain/definition/publication.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Task, ThreadInput } from '#jobs/tasks/catalogue.js';
import type { EarlierContentFiles } from '#jobs/tasks/messages.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import {
  computeContentChange,
  type ContentChange,
  createDatedMarkets,
  packChange,
  restoreContent,
} from '#market/content/versions.js';
import { computeInputDigests, encodeSlice } from '#views/bundle/inputs.js';
import { type DifferingClose, findDifferingCloses, type Recomputation, recomputeCloses } from '#views/closes.js';
import {
  openCachedCalendars,
  openCachedMarket,
  openEarlierContents,
  openModels,
  readChange,
  readStoredDoubles,
} from '../input/inputs.js';
import { answerBytes } from '../output/task-outputs.js';

/** Contents of a market that decisions used, in the form in which a bundle contains them. */
export interface SlicedVersions {
  readonly known: DatedMarkets;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

interface VersionSlices {
  readonly first: Day;
  /** Returns the part of a content that is included in the bundle. */
  readonly slice: (market: MarketData) => MarketData;
  /** Part of the last content that is included in the bundle. */
  readonly ownMarket: MarketData;
}

interface SlicedContent {
  readonly knownOn: Day;
  readonly change: ContentChange;
}

/**
 * Reduces earlier contents to the data of a bundle. Returns those that decisions from a day on can use. Each is the
 * change from the reduced form of the next content.
 */
function sliceVersions(
  last: MarketData,
  { knownOn, earlier }: EarlierContentFiles,
  { first, slice, ownMarket }: VersionSlices,
): SlicedVersions {
  const contents: SlicedContent[] = [];
  const changes: ContentChange[] = [];
  let after = ownMarket;
  let oldestDay = knownOn;
  for (const file of earlier) {
    if (oldestDay <= first) break; // every decision uses this content or a later one
    changes.push(readChange(file));
    const before = slice({ ...last, ...restoreContent(last, changes) });
    contents.push({ knownOn: file.knownOn, change: computeContentChange(before, after) });
    [after, oldestDay] = [before, file.knownOn];
  }
  const index: BundledVersions = {
    known_on: knownOn,
    earlier: contents.map((content, place) => ({ known_on: content.knownOn, file: createChangeFileName(place) })),
  };
  return {
    known: createDatedMarkets(ownMarket, { knownOn, earlier: contents }),
    files: {
      [KNOWN_FILE]: new TextEncoder().encode(JSON.stringify(index)),
      ...Object.fromEntries(contents.map(({ change }, place) => [createChangeFileName(place), packChange(change)])),
    },
  };
}

/** Creates records of the fields, series and calendars of a market that a run reads. */
function createReadRecords(market: MarketData, calendars: Calendars, datedMarkets?: DatedMarkets) {
  const [fields, series] = [new Set<string>(['CLOSE']), new Set<string>()]; // a market requires CLOSE
  const usedCalendars = new Map<string, Calendar>();
  const results = new Map<MarketData, MarketData>();
  /** Creates one record per market object. Markets with the same content are the same object. */
  const record = (marketData: MarketData): MarketData => {
    const result = results.get(marketData) ?? {
      ...marketData,
      fields: createRecordingMap(marketData.fields, fields),
      ...(marketData.series && { series: createRecordingMap(marketData.series, series) }),
    };
    results.set(marketData, result);
    return result;
  };
  return {
    market: record(market),
    ...(datedMarkets && { known: { at: (day) => record(datedMarkets.at(day)) } satisfies DatedMarkets }),
    calendars: {
      list: () => calendars.list(),
      get(code: string) {
        const entry = calendars.get(code);
        if (entry !== undefined) usedCalendars.set(code, entry);
        return entry;
      },
    },
    /** Returns a market with only the fields and series that were read. */
    narrowed: (marketData: MarketData): MarketData => ({
      ...marketData,
      fields: selectEntries(marketData.fields, fields),
      ...(marketData.series && { series: selectEntries(marketData.series, series) }),
    }),
    used: (): readonly BundleCalendar[] =>
      [...usedCalendars.values()].map(({ code, name, region, tz, coverage, sessions }) => ({
        code,
        name,
        region,
        tz,
        coverage,
        sessions: [...sessions],
      })),
  };
}

const selectEntries = <V>(entries: ReadonlyMap<string, V>, names: ReadonlySet<string>): ReadonlyMap<string, V> =>
  new Map([...entries].filter(([name]) => names.has(name)));

/** Returns a map that records the keys that are read. If the map is iterated, it records all keys. */
function createRecordingMap<V>(entries: ReadonlyMap<string, V>, readKeys: Set<string>): ReadonlyMap<string, V> {
  const readAll = (): void => entries.forEach((_, key) => readKeys.add(key));
  return {
    size: entries.size,
    get: (key: string) => (readKeys.add(key), entries.get(key)),
    has: (key: string) => (readKeys.add(key), entries.has(key)),
    keys: () => (readAll(), entries.keys()),
    values: () => (readAll(), entries.values()),
    entries: () => (readAll(), entries.entries()),
    forEach: (visit: Parameters<typeof entries.forEach>[0]) => (readAll(), entries.forEach(visit)),
    [Symbol.iterator]: () => (readAll(), entries[Symbol.iterator]()),
  } as ReadonlyMap<string, V>;
}

/** Part of a market to keep. */
export interface SliceTerms {
  /** Securities to keep, in the order of the market. */
  readonly names: ReadonlySet<string>;
  /** Last day to keep. */
  readonly end: Day;
}

/**
 * Returns the securities that an index of the run could select or hold, the benchmark of the run, and the securities to
 * which corporate actions on any of these refer.
 */
function listIncludedSecurities(market: MarketData, run: Run, composer: Composer): ReadonlySet<string> {
  return new Set(selectColumns(market, run, composer).map((column) => market.identifiers[column]!));
}

/** Returns the prices, reference data and events of some securities up to a day. */
function sliceMarket(market: MarketData, { names, end }: SliceTerms): MarketData {
  const isNeeded = market.identifiers.flatMap((identifier, column) => (names.has(identifier) ? [column] : []));
  const width = market.identifiers.length;
  const rows = findLastAtMost(market.dates, end) + 1;
  const slicePart = (panel: Float64Array): Float64Array => {
    const values = new Float64Array(rows * isNeeded.length);
    for (let t = 0; t < rows; t++)
      for (let n = 0; n < isNeeded.length; n++) values[t * isNeeded.length + n] = panel[t * width + isNeeded[n]!]!;
    return values;
  };
  return {
    ...market,
    identifiers: isNeeded.map((column) => market.identifiers[column]!),
    dates: market.dates.slice(0, rows),
    fields: new Map([...market.fields].map(([name, panel]) => [name, slicePart(panel)])),
    reference: { ...market.reference, rows: new Map([...market.reference.rows].filter(([name]) => names.has(name))) },
    actions: market.actions.filter(
      ({ identifier, exDay, announcedDay }) => names.has(identifier) && Math.min(exDay, announcedDay ?? exDay) <= end,
    ),
    universes: market.universes.filter(({ identifier }) => names.has(identifier)),
  };
}

function selectColumns(market: MarketData, run: Run, composer: Composer): number[] {
  const isNeeded = new Uint8Array(market.identifiers.length);
  for (const { document, list } of run.reached)
    for (const { decision, columns } of list) {
      composer.members(document.id, decision).forEach((isMember, column) => (isNeeded[column]! |= isMember));
      for (const column of columns) isNeeded[column] = 1;
    }
  const columnByIdentifier = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  const benchmark = run.plan.request.benchmark;
  if (benchmark?.kind === 'identifier' && columnByIdentifier.has(benchmark.id))
    isNeeded[columnByIdentifier.get(benchmark.id)!] = 1;
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false;
    for (const { identifier, related } of market.actions) {
      const [from, to] = [
        columnByIdentifier.get(identifier),
        related === null ? undefined : columnByIdentifier.get(related),
      ];
      if (from === undefined || to === undefined || isNeeded[from] !== 1 || isNeeded[to] === 1) continue;
      isNeeded[to] = 1;
      isGrowing = true;
    }
  }
  return [...isNeeded.keys()].filter((column) => isNeeded[column] === 1);
}

type Input = ThreadInput<'publication-bundle'>;

/**
 * Writes the inputs that a published run reads. Before, recomputes the closes from only these inputs.
 * @throws Refusal NOT_REPRODUCED if the recomputed closes differ from the published closes
 */
export const writePublicationBundle: Task<'publication-bundle'> = async (input, control) => {
  const { plan, entries } = input;
  const wholeMarket = openCachedMarket(input.market);
  const reads = createReadRecords(
    wholeMarket,
    openCachedCalendars(listClosures(plan.documents)),
    openEarlierContents(wholeMarket, input.known).known,
  );
  const terms = { calendars: reads.calendars, plan, engine: openWasmEngine(), models: openModels(input.models) };
  const composers: Composer[] = [];
  const onComposer = (composer: Composer): unknown => composers.push(composer);
  const { run } = recomputeCloses({ ...terms, market: reads.market, known: reads.known, onComposer });
  control.report(0.4);
  // Keeps every security if decisions use data known at the time, because such decisions use earlier universes.
  const names = input.known === undefined ? listIncludedSecurities(wholeMarket, run, composers[0]!) : null;
  const slices = [
    (of: MarketData) =>
      sliceMarket(reads.narrowed(of), { names: names ?? new Set(of.identifiers), end: run.days.at(-1)! }),
    reads.narrowed,
  ];
  for (const slice of slices) {
    const market = slice(wholeMarket);
    const earlierVersions =
      input.known &&
      sliceVersions(wholeMarket, input.known, { first: findFirstDecision(run), slice, ownMarket: market });
    const recomputation = { ...terms, market, known: earlierVersions?.known };
    const firstDifference =
      slice === reads.narrowed ? findDifference(entries, recomputation) : tryRecompute(entries, recomputation);
    if (firstDifference === undefined)
      return createOutput(market, {
        'plan.json': encodeJson(plan),
        'calendars.json': encodeJson(reads.used()),
        ...collectModels(plan, input),
        ...earlierVersions?.files,
      });
    if (firstDifference !== 'refused' && slice === reads.narrowed)
      throw refuseNotReproduced(plan.indexId, firstDifference);
    control.report(0.6);
  }
  throw new Error('no slice was tried');
};

const findFirstDecision = ({ reached }: Run): number =>
  Math.min(...reached.flatMap(({ list, sm }) => list.map(({ decision }) => sm.sessions[decision]!)));

function findDifference(
  entries: readonly PublicationEntry[],
  recomputation: Recomputation,
): DifferingClose | undefined {
  return findDifferingCloses(entries, recomputeCloses(recomputation).closes)[0];
}

/** Recomputes closes from a part of the market. An input of the run may be missing in it. */
function tryRecompute(
  entries: readonly PublicationEntry[],
  recomputation: Recomputation,
): DifferingClose | 'refused' | undefined {
  try {
    return findDifference(entries, recomputation);
  } catch (thrown) {
    if (thrown instanceof Refusal) return 'refused';
    throw thrown;
  }
}

const encodeJson = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Returns the packed covariances of the stored risk models, in the order of their ids. */
function collectModels({ models = {} }: BacktestPlan, input: Input): Readonly<Record<string, Uint8Array>> {
  const ids = Object.keys(models).toSorted(compareText);
  return Object.fromEntries(
    ids.map((id, place) => {
      const { buffer, byteOffset, byteLength } = readStoredDoubles(input.models![id]!.paths);
      return [createModelFileName(place), new Uint8Array(buffer, byteOffset, byteLength)];
    }),
  );
}

function createOutput(market: MarketData, ownFiles: Readonly<Record<string, Uint8Array>>) {
  const { securities, dates } = computeInputDigests(market);
  const allFiles = { ...ownFiles, ...encodeSlice(market) };
  const files = Object.fromEntries(Object.entries(allFiles).map(([name, bytes]) => [name, answerBytes(bytes)]));
  const hashes = Object.entries(files).map(([name, { bytes }]) => [
    name,
    createHash('sha256').update(bytes).digest('hex'),
  ]);
  return { files, hashes: Object.fromEntries(hashes) as Readonly<Record<string, string>>, securities, dates };
}

function refuseNotReproduced(indexId: string, { date, member, published, recomputed }: DifferingClose): Refusal {
  const message = `The closes of ${indexId} cannot be recomputed: on ${date} ${member} is ${String(published)} in the log and ${String(recomputed)} by this engine. Restate them from a run of now.`;
  return new Refusal('NOT_REPRODUCED', message, { date, member, published, recomputed });
}
