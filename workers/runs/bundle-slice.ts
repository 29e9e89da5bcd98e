import type { Composer } from '#domain/books/compositions.js';
import type { Run } from '#domain/backtest/run.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import type { Day } from '#domain/time/days.js';

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
export function listIncludedSecurities(market: MarketData, run: Run, composer: Composer): ReadonlySet<string> {
  return new Set(selectColumns(market, run, composer).map((column) => market.identifiers[column]!));
}

/** Returns the prices, reference data and events of some securities up to a day. */
export function sliceMarket(market: MarketData, { names, end }: SliceTerms): MarketData {
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
