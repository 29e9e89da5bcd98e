import { createHash } from 'node:crypto';
import type { BundleCalendar } from '#domain/documents/bundle-document.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import type { Composer } from '#domain/books/compositions.js';
import type { Run } from '#domain/backtest/run.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { lastAtMost } from '#domain/numbers/search.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import type { Task, ThreadInput } from '#jobs/tasks.js';
import { inputDigests } from '#views/bundle/input-digests.js';
import { encodeSlice } from '#views/bundle/market-slice.js';
import { differingCloses, recomputedCloses } from '#views/bundle/recompute.js';
import { answerBytes } from '../output/hand-over.js';
import { openedMarket } from '../input/open-markets.js';
import { openedCalendars } from '../input/opened-calendars.js';

/**
 * Collects the inputs that a published run reads, after recomputing the closes from only these.
 * @throws Refusal NOT_REPRODUCED if they differ from the published ones
 */
export const publicationBundle: Task<'publication-bundle'> = async ({ market: handle, plan, entries }, control) => {
  const engine = wasmEngine();
  const reads = recordReads(openedMarket(handle), openedCalendars());
  const composers: Composer[] = [];
  const { run } = recomputedCloses({
    market: reads.market,
    calendars: reads.calendars,
    plan,
    engine,
    onComposer: (composer) => composers.push(composer),
  });
  control.report(0.4);
  const whole = { ...openedMarket(handle), fields: reads.fields(), ...reads.series() };
  const calendars = reads.calendars;
  const slices = [() => sliceOf(whole, run, composers[0]!), () => whole];
  for (const slice of slices) {
    const market = slice();
    const { closes } = recomputedCloses({ market, calendars, plan, engine });
    const [first] = differingCloses(entries, closes);
    if (first === undefined) return outputOf(market, { plan, calendars: reads.used() });
    if (slice === slices.at(-1)) throw notReproducedRefusal(plan.indexId, first);
    control.report(0.6);
  }
  throw new Error('no slice was tried');
};

function outputOf(
  market: MarketData,
  {
    plan,
    calendars,
  }: Pick<ThreadInput<'publication-bundle'>, 'plan'> & { readonly calendars: readonly BundleCalendar[] },
) {
  const { securities, dates } = inputDigests(market);
  const files = {
    'plan.json': answerBytes(JSON.stringify(plan)),
    'calendars.json': answerBytes(JSON.stringify(calendars)),
    ...Object.fromEntries(Object.entries(encodeSlice(market)).map(([name, bytes]) => [name, answerBytes(bytes)])),
  };
  const hashes = Object.entries(files).map(([name, { bytes }]) => [
    name,
    createHash('sha256').update(bytes).digest('hex'),
  ]);
  return { files, hashes: Object.fromEntries(hashes) as Readonly<Record<string, string>>, securities, dates };
}

function notReproducedRefusal(
  indexId: string,
  { date, member, published, recomputed }: ReturnType<typeof differingCloses>[number],
): Refusal {
  const message = `The closes of ${indexId} cannot be recomputed: on ${date} ${member} is ${String(published)} in the log and ${String(recomputed)} by this engine. Restate them from a current run.`;
  return new Refusal('NOT_REPRODUCED', message, { date, member, published, recomputed });
}

/** Wraps a market to record the fields, series and calendars that are read. */
function recordReads(market: MarketData, calendars: Calendars) {
  const fields = recordKeys(market.fields);
  const series = market.series && recordKeys(market.series);
  const used = new Map<string, Calendar>();
  return {
    market: { ...market, fields: fields.map, ...(series && { series: series.map }) },
    calendars: {
      list: () => calendars.list(),
      get(code: string) {
        const found = calendars.get(code);
        if (found !== undefined) used.set(code, found);
        return found;
      },
    },
    fields: () => fields.read(),
    series: () => series && { series: series.read() },
    used: (): readonly BundleCalendar[] =>
      [...used.values()].map(({ code, name, region, tz, coverage, sessions }) => ({
        code,
        name,
        region,
        tz,
        coverage,
        sessions: [...sessions],
      })),
  };
}

/** Wraps a map to record the requested keys; an iteration requests all of them. */
function recordKeys<V>(of: ReadonlyMap<string, V>): {
  readonly map: ReadonlyMap<string, V>;
  read(): ReadonlyMap<string, V>;
} {
  const asked = new Set<string>();
  const all = (): void => of.forEach((_, key) => asked.add(key));
  const map: ReadonlyMap<string, V> = {
    size: of.size,
    get: (key) => (asked.add(key), of.get(key)),
    has: (key) => (asked.add(key), of.has(key)),
    keys: () => (all(), of.keys()),
    values: () => (all(), of.values()),
    entries: () => (all(), of.entries()),
    forEach: (visit) => (all(), of.forEach(visit)),
    [Symbol.iterator]: () => (all(), of[Symbol.iterator]()),
  } as ReadonlyMap<string, V>;
  return { map, read: () => new Map([...of].filter(([key]) => key === 'CLOSE' || asked.has(key))) }; // a market needs CLOSE
}

/** Reduces a market to the securities that an index of the run could select or held, up to its last session. */
function sliceOf(market: MarketData, run: Run, composer: Composer): MarketData {
  const wanted = wantedColumns(market, run, composer);
  const width = market.identifiers.length;
  const end = run.days.at(-1)!;
  const rows = lastAtMost(market.dates, end) + 1;
  const identifiers = wanted.map((column) => market.identifiers[column]!);
  const names = new Set(identifiers);
  const part = (panel: Float64Array): Float64Array => {
    const values = new Float64Array(rows * wanted.length);
    for (let t = 0; t < rows; t++)
      for (let n = 0; n < wanted.length; n++) values[t * wanted.length + n] = panel[t * width + wanted[n]!]!;
    return values;
  };
  return {
    ...market,
    identifiers,
    dates: market.dates.slice(0, rows),
    fields: new Map([...market.fields].map(([name, panel]) => [name, part(panel)])),
    reference: { ...market.reference, rows: new Map([...market.reference.rows].filter(([name]) => names.has(name))) },
    actions: market.actions.filter(
      ({ identifier, exDay, announcedDay }) => names.has(identifier) && Math.min(exDay, announcedDay ?? exDay) <= end,
    ),
    universes: market.universes.filter(({ identifier }) => names.has(identifier)),
  };
}

function wantedColumns(market: MarketData, run: Run, composer: Composer): number[] {
  const wanted = new Uint8Array(market.identifiers.length);
  for (const { document, list } of run.reached)
    for (const { decision, columns } of list) {
      composer.members(document.id, decision).forEach((isMember, column) => (wanted[column]! |= isMember));
      for (const column of columns) wanted[column] = 1;
    }
  const columnOf = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  const benchmark = run.plan.request.benchmark;
  if (benchmark?.kind === 'identifier' && columnOf.has(benchmark.id)) wanted[columnOf.get(benchmark.id)!] = 1;
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false;
    for (const { identifier, related } of market.actions) {
      const [from, to] = [columnOf.get(identifier), related === null ? undefined : columnOf.get(related)];
      if (from === undefined || to === undefined || wanted[from] !== 1 || wanted[to] === 1) continue;
      wanted[to] = 1;
      isGrowing = true;
    }
  }
  return [...wanted.keys()].filter((column) => wanted[column] === 1);
}
