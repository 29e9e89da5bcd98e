import { get, job, send } from '../peers/work.js';
import { finished, type RunningService } from '../service.js';

/** Work of one size, as a job of the running service. */
export interface Point {
  /** What the cost is drawn against. */
  readonly x: number;
  /** What is changed before a run, untimed, so that its outcome is new. */
  vary?(service: RunningService): Promise<void>;
  /** Once, from submitted to finished. */
  run(service: RunningService): Promise<void>;
}

/** Work of which one dimension grows while the others stay. */
export interface Growth {
  readonly name: string;
  /** The dimension. */
  readonly axis: string;
  readonly points: readonly Point[];
}

const MARKET = { store_id: 'market', seed: 7, assets: 1000, start: '2000-01-03', end: '2019-12-31' };

const TEN_YEARS = '2009-12-31';
const BASE_DATES = ['2018-09-28', '2017-06-30', '2014-12-31', TEN_YEARS, '2000-01-03'];
const NAMES = [60, 125, 250, 500, 1000];
const FREQUENCIES = ['annual', 'quarterly', 'monthly', 'weekly', 'daily'];
const ROWS = [1, 2, 4, 8, 16, 32];

/** The index that is optimised. */
const PARENT = 'ALL';

/** Cap of an index, of the weight of a name if all had the same: it binds. */
const CAP = 4;
/** Of a cap, from run to run: each has another outcome than the stored one, all of whose files would be known. */
const CAP_STEP = 1e-6;

/** Each row limits one name in so many, none of them limited by another row. */
const ROW_STRIDE = 64;
/** Share of their weight in the parent that a row leaves to its names: it binds. */
const LEFT = 0.9;

/** What is timed, the first so many sizes of each growth, on a service that has been given what it takes. */
export async function prepareGrowths(service: RunningService, sizes: number): Promise<readonly Growth[]> {
  await send(service, 'POST', '/data/synthetic', MARKET);
  await finished(service, `generate:${MARKET.store_id}`);
  const held = await heldByAll(service);
  const names = held.map(({ identifier }) => identifier);
  const whole = { base_date: TEN_YEARS, names: names.slice(0, 500), frequency: 'quarterly' };
  return [
    await backtests(service, {
      name: 'backtest, 500 names, quarterly',
      axis: 'sessions',
      definitions: BASE_DATES.slice(0, sizes).map((day) => ({ ...whole, base_date: day })),
    }),
    await backtests(service, {
      name: 'backtest, 10 years, quarterly',
      axis: 'names',
      definitions: NAMES.slice(0, sizes).map((count) => ({ ...whole, names: names.slice(0, count) })),
    }),
    await backtests(service, {
      name: 'backtest, 500 names, 10 years',
      axis: 'rebalances',
      definitions: FREQUENCIES.slice(0, sizes).map((frequency) => ({ ...whole, frequency })),
    }),
    await optimisations(service, held.slice(0, 500), ROWS.slice(0, sizes)),
  ];
}

interface Held {
  readonly identifier: string;
  readonly weight: number;
}

/** Constituents of an index of every name, by identifier. */
async function heldByAll(service: RunningService): Promise<readonly Held[]> {
  await define(service, PARENT, { base_date: BASE_DATES[0]!, frequency: 'quarterly' });
  await job(service, `/analytics/${PARENT}/backtest`, {});
  const { weights } = await get<{ weights: readonly Held[] }>(service, `/analytics/${PARENT}/weights`);
  return weights.toSorted((a, b) => (a.identifier < b.identifier ? -1 : 1));
}

interface Definition {
  readonly base_date: string;
  readonly frequency: string;
  /** Every name of the store unless given. */
  readonly names?: readonly string[];
  readonly cap?: number;
}

type ListedDefinition = Definition & Required<Pick<Definition, 'names'>>;

async function define(
  service: RunningService,
  id: string,
  { base_date: base, frequency, names, cap }: Definition,
): Promise<void> {
  await send(service, 'PUT', `/indices/${id}`, {
    id,
    name: id,
    calendar: 'XNYS',
    base_date: base,
    rebalance: { frequency },
    ...(names && { universe: { kind: 'list', identifiers: names } }),
    pipeline: {
      treatment: { dividends: 'total' },
      weighting: { type: 'MarketCapWeight', ...(cap !== undefined && { cap }) },
    },
  });
}

async function backtests(
  service: RunningService,
  { definitions, ...growth }: Omit<Growth, 'points'> & { readonly definitions: readonly ListedDefinition[] },
): Promise<Growth> {
  const points: Point[] = [];
  for (const [i, definition] of definitions.entries()) {
    const id = `${growth.axis}${i}`;
    let cap = CAP / definition.names.length;
    const vary = (on: RunningService): Promise<void> => define(on, id, { ...definition, cap: (cap *= 1 - CAP_STEP) });
    const run = (on: RunningService): Promise<void> => job(on, `/analytics/${id}/backtest`, {});
    await vary(service);
    await run(service);
    points.push({ x: await measured(service, id, growth.axis), vary, run });
  }
  return { ...growth, points };
}

/** The dimension of a run as its views have it. */
async function measured(service: RunningService, id: string, axis: string): Promise<number> {
  const sizes: Readonly<Record<string, () => Promise<number>>> = {
    sessions: async () => {
      const { level } = await get<{ level: { data: readonly number[] } }>(service, `/analytics/${id}/performance`);
      return level.data.length;
    },
    rebalances: async () => {
      const view = await get<{ rebalances: readonly unknown[] }>(service, `/analytics/${id}/rebalances`);
      return view.rebalances.length;
    },
    names: async () => (await get<{ weights: readonly Held[] }>(service, `/analytics/${id}/weights`)).weights.length,
  };
  return sizes[axis]!();
}

/** Frontiers under ever more rows. */
async function optimisations(
  service: RunningService,
  held: readonly Held[],
  counts: readonly number[],
): Promise<Growth> {
  const index = 'OPTIMISED';
  const names = held.map(({ identifier }) => identifier);
  await define(service, index, { base_date: '2017-06-30', frequency: 'quarterly', names });
  await job(service, `/analytics/${index}/backtest`, {});
  const { weights } = await get<{ weights: readonly Held[] }>(service, `/analytics/${index}/weights`);
  const points: Point[] = [];
  for (const rows of counts) {
    const id = `ROWS${rows}`;
    const constraints = Array.from({ length: rows }, (_, row) => limitOn(weights, row));
    await send(service, 'POST', '/optimise/constraint-sets', { id, name: id, constraints });
    points.push({
      x: rows,
      run: (on) => job(on, '/optimise/runs', { index_id: index, constraint_set_id: id }),
    });
  }
  return { name: 'optimisation, 500 names, frontier', axis: 'binding rows', points };
}

function limitOn(weights: readonly Held[], row: number): object {
  const limited = weights.filter((_name, i) => i % ROW_STRIDE === row);
  const upper = LEFT * limited.reduce((sum, { weight }) => sum + weight, 0);
  const coefficients = Object.fromEntries(limited.map(({ identifier }) => [identifier, 1]));
  return { id: `row${row}`, type: 'LinearConstraint', params: { coefficients, upper } };
}
