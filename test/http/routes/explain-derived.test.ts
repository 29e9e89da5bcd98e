import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BookPayload } from '#contract/analytics/record.js';
import type { IndexExplanation, PreviewResponse } from '#contract/indices/previews.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { openLiveService, type LiveService } from '../../real/live.js';
import { createFrame } from '../../table-frame.js';

const NAMES = Array.from({ length: 10 }, (_, i) => `N${String(i).padStart(2, '0')}`);
const SECTORS = ['Energy', 'Health', 'Tech'];
const DAYS = Array.from({ length: 560 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
/** Date between two quarterly rebalances. The weights have drifted by then. */
const AS_OF = '2024-06-20';

/** The last quarterly rebalance, on which N08 has no price, and the day on which N09 is acquired for cash. */
const LAST_REBALANCE = '2024-06-28';
const ACQUIRED = '2024-07-02';

function createMarketRows(): unknown[][] {
  const random = createCounterRandom({ seed: 5, stream: 1 });
  const levels = NAMES.map((_, i) => 20 + 10 * i);
  return DAYS.flatMap((day) => {
    const marketReturn = 0.008 * random.normal();
    const rows = NAMES.map((name, i) => {
      levels[i] = Math.round(levels[i]! * (1 + marketReturn * (0.6 + 0.07 * i) + 0.01 * random.normal()) * 1e4) / 1e4;
      return [name, day, levels[i]!, 1000 * (i + 1), 50_000];
    });
    return rows.filter(([name]) => !(name === 'N08' && day === LAST_REBALANCE) && !(name === 'N09' && day >= ACQUIRED));
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
  service = await openLiveService(['--workers', '1']);
  const tables = {
    market: createFrame(['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING', 'VOLUME'], createMarketRows()),
    reference: createFrame(
      ['identifier', 'SECTOR'],
      NAMES.map((name, i) => [name, SECTORS[i % 3]]),
    ),
    corporate_actions: createFrame(['identifier', 'type', 'value', 'ex_date'], [['N09', 'ACQUISITION', 150, ACQUIRED]]),
    universes: createFrame(
      ['universe', 'identifier', 'start', 'end'],
      NAMES.map((name) => ['MEMBERS', name, null, name === 'N08' ? LAST_REBALANCE : null]),
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

function computeByRules({ weighting, capping, stayed }: IndexExplanation): number {
  const { raw, raw_total } = weighting!;
  return Math.min(capping!.cap!, Math.max(capping!.floor, (capping!.scale * raw) / raw_total)) / stayed;
}

/**
 * Computes the weight of a derived index by hand: the equilibrium of its forces, or the value of a binding constraint.
 */
function computeBySolve({ derivation, stayed }: IndexExplanation): number {
  const { source_weight, solve } = derivation!;
  const { pull, force, stiffness, lower, upper, held_by, held_at, scale } = solve!;
  const freeWeight = source_weight! - (pull + force) / stiffness;
  const restedWeight =
    held_by === 'kink' ? held_at! : Math.min(upper ?? Infinity, Math.max(lower ?? -Infinity, freeWeight));
  return (restedWeight * scale) / stayed;
}

describe('the explanation of a weight of a derived index', () => {
  test('replays by hand from the prices of the parent to the weight, to 1e-12', async () => {
    const preview = await service.ok<PreviewResponse>('POST', '/indices/CHILD/preview', { as_of: AS_OF });
    for (const name of Object.keys(preview.weights)) {
      const explanation = await explain('CHILD', name);
      expect(explanation).toMatchObject({
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
      const { source, source_weight, source_index_id, objective } = explanation.derivation!;
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
      expect(Math.abs(computeByRules(source) - source_weight!)).toBeLessThan(1e-12);
      expect(source.weight).toBe(source_weight);
      expect(Math.abs(computeBySolve(explanation) - explanation.weight!)).toBeLessThan(1e-12);
      expect(Math.abs(explanation.weight! - preview.weights[name]!)).toBeLessThan(1e-12);
    }
  });

  test('lists the rows of the security with their measures, bounds and shadow prices', async () => {
    const preview = await service.ok<PreviewResponse>('POST', '/indices/CHILD/preview', { as_of: AS_OF });
    const sums = new Map(SECTORS.map((sector) => [sector, 0]));
    for (const [name, weight] of Object.entries(preview.weights)) {
      const sector = SECTORS[NAMES.indexOf(name) % 3]!;
      sums.set(sector, sums.get(sector)! + weight);
    }
    const explanation = await explain('CHILD', 'N08');
    const rows = explanation.derivation!.solve!.rows;
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
    const findRow = (label: string) => rows.find((entry) => entry.label === label)!;
    expect(findRow('PositionBounds[pos]:upper:N08')).toMatchObject({
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
    expect(findRow('GroupBounds[sector]:upper:Tech').value).toBeCloseTo(sums.get('Tech')!, 10);
    expect(findRow('FullInvestment[default]:eq')).toMatchObject({ index: null, limit: 1, slack: 0, binding: true });
    for (const { slack, value, limit, side, binding } of rows) {
      expect(slack).toBeCloseTo(side === 'eq' ? 0 : side === 'upper' ? limit - value : value - limit, 12);
      expect(binding).toBe(side === 'eq' || slack <= 1e-7);
    }
    const heldExplanations = await Promise.all(Object.keys(preview.weights).map((name) => explain('CHILD', name)));
    const atCap = heldExplanations.filter(({ derivation }) => derivation!.solve!.held_by === 'upper');
    expect(atCap.length).toBeGreaterThan(0);
    for (const { derivation, identifier, weight } of atCap) {
      const side = derivation!.solve!.rows.find(({ label }) => label === `PositionBounds[pos]:upper:${identifier}`)!;
      expect([weight, side.binding, side.shadow_price < 0]).toEqual([0.15, true, true]);
    }
    expect(explanation.datapoints).toMatchObject([
      { path: 'derivation.constraints[1].params.field', field: 'SECTOR', value: 'Tech' },
      {
        path: 'derivation.constraints[2].type',
        field: 'median of VALUE_TRADED over 20 sessions',
        to: '2024-03-28',
        observations: 20,
      },
    ]);
  });

  test('reports the drift since the rebalance, which is zero on the rebalance date', async () => {
    const explanation = await explain('CHILD', 'N05');
    expect(explanation.drift!.change).toBeCloseTo(explanation.drift!.held_weight! - explanation.weight!, 14);
    expect(Math.abs(explanation.drift!.change)).toBeGreaterThan(1e-5);
    expect((await explain('CHILD', 'N05', '2024-03-28')).drift).toBeNull();
  });

  test('of a security that the parent excludes is the reason of the parent', async () => {
    const explanation = await explain('CHILD', 'N00');
    expect(explanation).toMatchObject({
      in_universe: false,
      included: false,
      weight: null,
      datapoints: [],
      derivation: { source_weight: null, solve: null, source: { included: false, excluded_by: 'size' } },
    });
    expect(explanation.derivation!.source.rules[0]).toMatchObject({ kept: false, cutoff: 9, rank: 10 });
  });

  test('covers every generation down to the rules', async () => {
    const explanation = await explain('GRANDCHILD', 'N06');
    const child = explanation.derivation!.source;
    expect([child.index_id, child.derivation!.source.index_id, child.derivation!.source.derivation]).toEqual([
      'CHILD',
      'BROAD',
      null,
    ]);
    expect(Math.abs(computeBySolve(explanation) - explanation.weight!)).toBeLessThan(1e-12);
    expect(Math.abs(computeBySolve(child) - explanation.derivation!.source_weight!)).toBeLessThan(1e-12);
  });

  test('of a security that left has the event, its date and the payment, in every generation', async () => {
    for (const id of ['BROAD', 'CHILD', 'GRANDCHILD']) {
      const before = await explain(id, 'N09', '2024-07-01');
      expect(before).toMatchObject({ included: true, left: null, rebalance_date: LAST_REBALANCE });
      expect(before.held_weight).toBe(before.drift!.held_weight);
      const after = await explain(id, 'N09', '2024-07-05');
      expect(after).toMatchObject({
        included: false,
        weight: before.weight,
        held_weight: null,
        excluded_by: null,
        drift: { held_weight: null },
        entered: { event: 'rebalance' },
        left: {
          date: ACQUIRED,
          event: 'acquisition',
          ex_date: ACQUIRED,
          price: 150,
          related: null,
          last_bar: '2024-07-01',
        },
        order: null,
      });
      // the parent reports its holdings at the optimisation in another member
      if (id !== 'BROAD') expect(after.derivation!.source).toMatchObject({ included: true, left: null });
    }
  });

  test('is the same with and without a stored run, and its weights are those of the run', async () => {
    const explanation = await Promise.all(['N05', 'N09'].map((name) => explain('BROAD', name, '2024-07-05')));
    await service.job('/analytics/BROAD/backtest', {});
    const record = await service.ok<{ index: { target: BookPayload } }>('GET', '/analytics/BROAD/record');
    const { index, columns, data } = record.index.target.weights;
    const heldRow = data[index.indexOf('2024-07-05')]!;
    expect(explanation.map(({ held_weight }) => held_weight)).toEqual([heldRow[columns.indexOf('N05')], null]);
    expect(heldRow[columns.indexOf('N09')]).toBe(0);
    expect(await Promise.all(['N05', 'N09'].map((name) => explain('BROAD', name, '2024-07-05')))).toEqual(explanation);
  });

  test('before the first rebalance is refused', async () => {
    const { status, body } = await service.ask<{ error: ErrorDetail }>(
      'GET',
      '/indices/CHILD/explain/N06?as_of=2023-08-01',
    );
    expect([status, body.error.code]).toEqual([422, 'NO_DATA_AT_DATE']);
  });
});

describe('an index that waits for a bar', () => {
  const setWaiting = (id: string, rest: object = {}) => ({
    ...parent,
    id,
    name: id,
    ...rest,
    pipeline: { ...parent.pipeline, treatment: { stale_targets: 'defer' } },
  });
  const ORDER = { date: LAST_REBALANCE, reason: 'stale_price' };

  test('previews its decision, and explains its holdings', async () => {
    await service.ok('POST', '/indices', setWaiting('WAITS', { base_date: LAST_REBALANCE }));
    const previewIndex = (body: object) => service.ok<PreviewResponse>('POST', '/indices/preview', body);
    const asOf = { as_of: LAST_REBALANCE };
    const decidedAnswer = await service.ok<PreviewResponse>('POST', '/indices/WAITS/preview', asOf);
    const carriedIndex = { ...parent, id: 'CARRIES', base_date: LAST_REBALANCE };
    expect(decidedAnswer.weights).toEqual((await previewIndex({ document: carriedIndex, ...asOf })).weights);
    expect(decidedAnswer.weights['N08']).toBeGreaterThan(0);
    expect(await explain('WAITS', 'N08', LAST_REBALANCE)).toMatchObject({
      included: false,
      weight: decidedAnswer.weights['N08'],
      held_weight: null,
      entered: null,
      left: null,
      drift: null,
      order: { ...ORDER, side: 'buy', target_weight: decidedAnswer.weights['N08'] },
    });
    expect(await explain('WAITS', 'N08', '2024-07-01')).toMatchObject({
      included: true,
      weight: decidedAnswer.weights['N08'],
      order: null,
      entered: { date: '2024-07-01', event: 'order', ordered_on: LAST_REBALANCE },
    });
  });

  test('delays derived indices as well, each with its own order', async () => {
    await service.ok('POST', '/indices', setWaiting('WAITING'));
    await service.ok('POST', '/indices/WAITING/optimise', { id: 'WAITING-CHILD', name: 'Child', constraints });
    for (const id of ['WAITING', 'WAITING-CHILD']) {
      const explanation = await explain(id, 'N08', LAST_REBALANCE);
      const side = explanation.weight! > explanation.held_weight! ? 'buy' : 'sell';
      expect(explanation).toMatchObject({
        included: true,
        order: { ...ORDER, side, target_weight: explanation.weight },
      });
      expect(await explain(id, 'N08', '2024-07-01')).toMatchObject({ included: true, order: null });
    }
    const { derivation } = await explain('WAITING-CHILD', 'N08', LAST_REBALANCE);
    expect(derivation!.source).toMatchObject({ index_id: 'WAITING', order: ORDER });
  });

  test('holds a security that is to be sold until it has a bar', async () => {
    const fields = { base_date: '2024-06-03', universe: { kind: 'named', id: 'MEMBERS' } };
    await service.ok('POST', '/indices', setWaiting('SELLS', fields));
    expect(
      (await service.ok<PreviewResponse>('POST', '/indices/SELLS/preview', { as_of: LAST_REBALANCE })).weights,
    ).not.toHaveProperty('N08');
    expect(await explain('SELLS', 'N08', LAST_REBALANCE)).toMatchObject({
      in_universe: false,
      included: true,
      weight: null,
      left: null,
      order: { ...ORDER, side: 'sell', target_weight: 0 },
    });
    const before = await explain('SELLS', 'N08', '2024-06-27');
    expect(await explain('SELLS', 'N08', '2024-07-01')).toMatchObject({
      included: false,
      held_weight: null,
      order: null,
      entered: before.entered,
      left: { date: '2024-07-01', event: 'order', ordered_on: LAST_REBALANCE, last_bar: '2024-07-01' },
    });
  });
});
