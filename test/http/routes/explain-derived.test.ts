import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IndexExplanation, PreviewResponse } from '#contract/indices.js';
import type { ErrorDetail } from '#domain/refusal.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { liveService, type LiveService } from '../../real/live.js';

const NAMES = Array.from({ length: 10 }, (_, i) => `N${String(i).padStart(2, '0')}`);
const SECTORS = ['Energy', 'Health', 'Tech'];
const DAYS = Array.from({ length: 560 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
/** After the last quarterly rebalance, so that weights have drifted. */
const AS_OF = '2024-06-20';

const table = (columns: string[], data: unknown[][]) => ({ index: data.map((_, i) => i), columns, data });

function marketRows(): unknown[][] {
  const random = counterRandom({ seed: 5, stream: 1 });
  const levels = NAMES.map((_, i) => 20 + 10 * i);
  return DAYS.flatMap((day) => {
    const common = 0.008 * random.normal();
    return NAMES.map((name, i) => {
      levels[i] = Math.round(levels[i]! * (1 + common * (0.6 + 0.07 * i) + 0.01 * random.normal()) * 1e4) / 1e4;
      return [name, day, levels[i]!, 1000 * (i + 1), 50_000];
    });
  });
}

const parent = {
  id: 'BROAD',
  name: 'Broad',
  calendar: 'XNYS',
  base_date: '2023-09-01',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 9 } }],
    weighting: { type: 'MarketCapWeight', params: { free_float: false }, cap: 0.2 },
  },
};
const constraints = [
  { id: 'pos', type: 'PositionBounds', params: { upper: 0.15 } },
  { id: 'sector', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.36 } },
  { id: 'trade', type: 'Liquidity', params: { notional: 5e6, window: 20 } },
];

let service: LiveService;
beforeAll(async () => {
  service = await liveService(['--workers', '1']);
  const tables = {
    market: table(['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING', 'VOLUME'], marketRows()),
    reference: table(
      ['identifier', 'SECTOR'],
      NAMES.map((name, i) => [name, SECTORS[i % 3]]),
    ),
  };
  await service.ok('POST', '/data/import', {
    store_id: 'small',
    name: 'Small',
    adjustment: 'none',
    activate: true,
    tables,
  });
  await service.ok('POST', '/indices', parent);
  await service.ok('POST', '/indices/BROAD/optimise', { id: 'CHILD', name: 'Child', constraints });
  await service.ok('POST', '/indices/CHILD/optimise', {
    id: 'GRANDCHILD',
    name: 'Grandchild',
    constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.14 } }],
  });
});
afterAll(() => service.close());

const explain = (id: string, name: string, asOf = AS_OF) =>
  service.ok<IndexExplanation>('GET', `/indices/${id}/explain/${name}?as_of=${asOf}`);

/** The weight of a rule-driven index by hand. */
function byRules({ weighting, capping, stayed }: IndexExplanation): number {
  const { raw, raw_total } = weighting!;
  return Math.min(capping!.cap!, Math.max(capping!.floor, (capping!.scale * raw) / raw_total)) / stayed;
}

/** The weight of a derived index by hand: at rest between its forces, or where something holds it. */
function bySolve({ derivation, stayed }: IndexExplanation): number {
  const { source_weight, solve } = derivation!;
  const { pull, force, stiffness, lower, upper, held_by, held_at, scale } = solve!;
  const free = source_weight! - (pull + force) / stiffness;
  const rested = held_by === 'kink' ? held_at! : Math.min(upper ?? Infinity, Math.max(lower ?? -Infinity, free));
  return (rested * scale) / stayed;
}

describe('the chain behind a weight of a derived index', () => {
  test('replays by hand from the prices of the parent to the weight, to 1e-12', async () => {
    const preview = await service.ok<PreviewResponse>('POST', '/indices/CHILD/preview', { as_of: AS_OF });
    for (const name of Object.keys(preview.weights)) {
      const told = await explain('CHILD', name);
      expect(told).toMatchObject({
        index_id: 'CHILD',
        identifier: name,
        requested_as_of: AS_OF,
        as_of: AS_OF,
        rebalance_date: '2024-03-28',
        in_universe: true,
        included: true,
        excluded_by: null,
        rules: [],
        weighting: null,
        capping: null,
      });
      const { source, source_weight, source_index_id, objective } = told.derivation!;
      expect([source_index_id, objective]).toEqual(['BROAD', 'min_tracking_error']);
      expect(source).toMatchObject({
        index_id: 'BROAD',
        identifier: name,
        requested_as_of: null,
        as_of: '2024-03-28',
        rebalance_date: '2024-03-28',
        derivation: null,
        drift: null,
      });
      expect(source.rules.map(({ rule_id, kept }) => [rule_id, kept])).toEqual([['size', true]]);
      expect(Math.abs(byRules(source) - source_weight!)).toBeLessThan(1e-12);
      expect(source.weight).toBe(source_weight);
      expect(Math.abs(bySolve(told) - told.weight!)).toBeLessThan(1e-12);
      expect(Math.abs(told.weight! - preview.weights[name]!)).toBeLessThan(1e-12);
    }
  });

  test('lists the rows the name stands in with what they measure, their bounds and prices', async () => {
    const preview = await service.ok<PreviewResponse>('POST', '/indices/CHILD/preview', { as_of: AS_OF });
    const sums = new Map(SECTORS.map((sector) => [sector, 0]));
    for (const [name, weight] of Object.entries(preview.weights)) {
      const sector = SECTORS[NAMES.indexOf(name) % 3]!;
      sums.set(sector, sums.get(sector)! + weight);
    }
    const told = await explain('CHILD', 'N08');
    const rows = told.derivation!.solve!.rows;
    expect(rows.map(({ label }) => label)).toEqual([
      'PositionBounds[pos]:lower:N08',
      'PositionBounds[pos]:upper:N08',
      'GroupBounds[sector]:lower:Tech',
      'GroupBounds[sector]:upper:Tech',
      'Liquidity[trade]:lower:N08',
      'Liquidity[trade]:upper:N08',
      'FullInvestment[default]:eq',
      'LongOnly[default]:lower:N08',
    ]);
    const row = (label: string) => rows.find((entry) => entry.label === label)!;
    expect(row('PositionBounds[pos]:upper:N08')).toMatchObject({
      id: 'pos',
      index: 0,
      type: 'PositionBounds',
      side: 'upper',
      kind: 'ineq',
      unit: 'fraction',
      limit: 0.15,
      coefficient: 1,
      force: 0,
    });
    expect(row('GroupBounds[sector]:upper:Tech').value).toBeCloseTo(sums.get('Tech')!, 10);
    expect(row('FullInvestment[default]:eq')).toMatchObject({ index: null, limit: 1, slack: 0, binding: true });
    for (const { slack, value, limit, side, binding } of rows) {
      expect(slack).toBeCloseTo(side === 'eq' ? 0 : side === 'upper' ? limit - value : value - limit, 12);
      expect(binding).toBe(side === 'eq' || slack <= 1e-7);
    }
    const held = await Promise.all(Object.keys(preview.weights).map((name) => explain('CHILD', name)));
    const atCap = held.filter(({ derivation }) => derivation!.solve!.held_by === 'upper');
    expect(atCap.length).toBeGreaterThan(0);
    for (const { derivation, identifier, weight } of atCap) {
      const side = derivation!.solve!.rows.find(({ label }) => label === `PositionBounds[pos]:upper:${identifier}`)!;
      expect([weight, side.binding, side.shadow_price < 0]).toEqual([0.15, true, true]);
    }
    expect(told.datapoints).toMatchObject([
      { path: 'derivation.constraints[1].params.field', field: 'SECTOR', value: 'Tech' },
      {
        path: 'derivation.constraints[2].type',
        field: 'median of VALUE_TRADED over 20 sessions',
        to: '2024-03-28',
        observations: 20,
      },
    ]);
  });

  test('tells the drift since, which is zero on the rebalance itself', async () => {
    const told = await explain('CHILD', 'N05');
    expect(told.drift!.change).toBeCloseTo(told.drift!.held_weight! - told.weight!, 14);
    expect(Math.abs(told.drift!.change)).toBeGreaterThan(1e-5);
    expect((await explain('CHILD', 'N05', '2024-03-28')).drift).toBeNull();
  });

  test('of a name the parent leaves out is the reason of the parent', async () => {
    const told = await explain('CHILD', 'N00');
    expect(told).toMatchObject({
      in_universe: false,
      included: false,
      weight: null,
      datapoints: [],
      derivation: { source_weight: null, solve: null, source: { included: false, excluded_by: 'size' } },
    });
    expect(told.derivation!.source.rules[0]).toMatchObject({ kept: false, cutoff: 9, rank: 10 });
  });

  test('goes through every generation down to the rules', async () => {
    const told = await explain('GRANDCHILD', 'N06');
    const child = told.derivation!.source;
    expect([child.index_id, child.derivation!.source.index_id, child.derivation!.source.derivation]).toEqual([
      'CHILD',
      'BROAD',
      null,
    ]);
    expect(Math.abs(bySolve(told) - told.weight!)).toBeLessThan(1e-12);
    expect(Math.abs(bySolve(child) - told.derivation!.source_weight!)).toBeLessThan(1e-12);
  });

  test('before the first rebalance is refused', async () => {
    const { status, body } = await service.ask<{ error: ErrorDetail }>(
      'GET',
      '/indices/CHILD/explain/N06?as_of=2023-08-01',
    );
    expect([status, body.error.code]).toEqual([422, 'NO_DATA_IN_RANGE']);
  });
});
