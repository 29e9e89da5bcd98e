import { expect } from 'vitest';
import type { LiveService } from './live.js';

/** Value of a table cell. */
type Cell = string | number | null;

interface Table {
  readonly columns: readonly string[];
  readonly data: readonly (readonly Cell[])[];
}

/** Properties of a security that are difficult for risk estimates. */
interface IrregularSecurity {
  readonly name: string;
  /** Sector in the reference data; empty if there is none. */
  readonly sector: string;
  /** Share of the sessions that precede the first price. */
  readonly late?: number;
  /** Returns true if a session has a price. `draw` is a random number in [0, 1). */
  readonly hasBar?: (session: number, draw: number) => boolean;
  /** Name of another security. The closes of this security are twice its closes. */
  readonly twinName?: string;
  readonly isStill?: boolean;
  readonly withoutReference?: boolean;
}

export interface RaggedMarket {
  readonly seed: number;
  /** True if most regular securities have another sector. Nothing else changes. */
  readonly hasOtherSectors?: boolean;
}

const SECTORS = ['ENERGY', 'FINANCE', 'TECH'] as const;
const REGULAR = 24;

const oddities: readonly IrregularSecurity[] = [
  ...Array.from({ length: REGULAR }, (_, k): IrregularSecurity => ({
    name: `N${String(k).padStart(2, '0')}`,
    sector: SECTORS[k % SECTORS.length]!,
  })),
  { name: 'TWIN-A', sector: 'ENERGY', twinName: 'N00' },
  { name: 'TWIN-B', sector: 'FINANCE', twinName: 'N00' },
  { name: 'STILL-A', sector: 'STILL', isStill: true },
  { name: 'STILL-B', sector: 'STILL', isStill: true },
  { name: 'ALONE', sector: 'ALONE' },
  { name: 'MARKET-A', sector: 'MARKET' },
  { name: 'MARKET-B', sector: 'MARKET' },
  { name: 'NO-SECTOR-A', sector: '' },
  { name: 'NO-SECTOR-B', sector: '' },
  { name: 'NO-REFERENCE', sector: '', withoutReference: true },
  { name: 'LATE', sector: 'TECH', late: 0.15 },
  { name: 'VERY-LATE', sector: 'TECH', late: 0.6 },
  { name: 'NEWCOMER', sector: 'TECH', late: 0.98 },
  { name: 'HOLES', sector: 'FINANCE', hasBar: (_, draw) => draw > 0.03 },
  { name: 'MORE-HOLES', sector: 'FINANCE', hasBar: (_, draw) => draw > 0.3 },
  { name: 'GONE-A', sector: 'GONE', hasBar: (session) => session % 2 === 0 },
  { name: 'GONE-B', sector: 'GONE', hasBar: (session) => session % 2 === 1 },
];

/**
 * Creates a market that is difficult for risk models. It has gaps, late listings, duplicated securities, and constant
 * prices. Some sectors have a single security or only securities without a return. Some securities have no sector or no
 * reference data at all.
 * @param dates sessions, ascending
 */
export function createRaggedMarket(
  dates: readonly string[],
  { seed, hasOtherSectors = false }: RaggedMarket,
): { readonly market: Table; readonly reference: Table } {
  const draw = createGenerator(seed);
  const rows: Cell[][] = [];
  const closes = new Map<string, number[]>();
  const marketReturns = dates.map(() => 0.02 * (draw() - 0.49));
  for (const { name, late = 0, hasBar = () => true, twinName, isStill = false } of oddities) {
    const volatility = 0.01 + 0.03 * draw();
    const beta = 0.3 + draw();
    let price = 20 + 80 * draw();
    const ownCloses = dates.map((_, t) => {
      const move = beta * marketReturns[t]! + volatility * (draw() - 0.5);
      if (!isStill && t > 0) price *= 1 + move;
      return Number(price.toFixed(6));
    });
    const prices = twinName === undefined ? ownCloses : closes.get(twinName)!.map((close) => 2 * close);
    closes.set(name, prices);
    const shares = Math.round(1e6 * (1 + 20 * draw()));
    prices.forEach((close, t) => {
      if (t >= late * dates.length && (hasBar(t, draw()) || t === 0)) rows.push([name, dates[t]!, close, shares]);
    });
  }
  const reference = oddities
    .filter(({ withoutReference }) => withoutReference !== true)
    .flatMap(({ name, sector }, k): Cell[][] => {
      const knownSector = hasOtherSectors && k < REGULAR ? SECTORS[(k + 1 + (k >> 2)) % SECTORS.length]! : sector;
      const first: Cell[] = [name, dates[0]!, knownSector === '' ? null : knownSector, k % 2 === 0 ? 'US' : 'CA'];
      // Some securities change their sector. The latest sector applies.
      return name === 'N05' ? [first, [name, dates[dates.length >> 1]!, 'ENERGY', 'US']] : [first];
    });
  return {
    market: { columns: ['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING'], data: rows },
    reference: { columns: ['identifier', 'valid_from', 'SECTOR', 'COUNTRY'], data: reference },
  };
}

/** Returns the sessions of New York. They are the dates of a market that is generated on these sessions. */
export async function listSessions(service: LiveService, start: string, end: string): Promise<string[]> {
  expect(
    (
      await service.job('/data/synthetic', {
        store_id: 'sessions',
        seed: 1,
        assets: 1,
        start,
        end,
        listings_per_year: 0,
        delistings_per_year: 0,
      })
    ).error,
  ).toBeNull();
  const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>('GET', '/data/identifiers');
  const { prices } = await service.ok<{ prices: { index: string[] } }>(
    'GET',
    `/data/prices/${identifiers[0]!.identifier}`,
  );
  return prices.index.map((date) => date.slice(0, 10));
}

/** Serves a market with irregular securities. It replaces the market with this id. */
export async function serveRagged(service: LiveService, dates: readonly string[], of: RaggedMarket): Promise<void> {
  const { market, reference } = createRaggedMarket(dates, of);
  const createFrame = ({ columns, data }: Table): object => ({ index: data.map((_, i) => i), columns, data });
  await service.ok('POST', '/data/import', {
    name: 'Ragged',
    store_id: 'ragged',
    format: 'csv',
    on_exists: 'replace',
    tables: { market: createFrame(market), reference: createFrame(reference) },
  });
  const { active } = await service.ok<{ active: string | null }>('GET', '/data/stores');
  if (active !== 'ragged') expect((await service.job('/data/stores/ragged/activate')).error).toBeNull();
}

/** Returns a generator of uniform numbers in [0, 1) (mulberry32). */
function createGenerator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
