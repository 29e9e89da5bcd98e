import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BacktestRunResult } from '#contract/analytics/record.js';
import type { RebalanceList } from '#contract/analytics/run-views.js';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { parent, service } from './set-up.js';

/** Index of the four securities that fell most in the quarter. They differ at nearly every rebalance. */
const MOVING_INDEX = {
  ...parent,
  id: 'MOVING',
  pipeline: {
    selection: [{ id: 'fallen', type: 'TopN', params: { field: 'RETURN', count: 4, ascending: true } }],
    treatment: { dividends: 'price' },
    weighting: { type: 'EqualWeight' },
  },
};

/** Returns the backtest of an index that is derived from MOVING. It has a turnover row with the given priority. */
async function createDerivedFromMoving(id: string, priority: object) {
  const body = {
    id,
    name: id,
    constraints: [{ id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous', ...priority } }],
  };
  expect((await service.ask('POST', '/indices/MOVING/optimise', body)).status).toBe(200);
  const { result, error } = await service.waitForJob(
    (await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {})).body.job_id,
  );
  expect(error, JSON.stringify(error)).toBeNull();
  type ReportedFinding = {
    code: string;
    severity: string;
    message: string;
    path: string;
    row_id?: string;
    value?: number;
  };
  return result as unknown as {
    findings: ReportedFinding[];
    rebalances: { date: string; weights: Record<string, number> }[];
  };
}

function computeTurnoverBetween(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): number {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.reduce((sum, name) => sum + Math.abs((after[name] ?? 0) - (before[name] ?? 0)), 0) / 2;
}

export function describeDerivedIndex(): void {
  describe('a derived index', () => {
    const constraints = [
      { id: 'pos', type: 'PositionBounds', params: { upper: 0.15 } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous' } },
    ];
    const looseRows = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.2 } }];
    const derive = (id: string, body: object = {}) =>
      service.ask('POST', '/indices/BROAD/optimise', { id, name: id, constraints, ...body });

    test('inherits from its parent, and an existing id is refused', async () => {
      const { status, body } = await derive('CORE');
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body['index']).toMatchObject({
        id: 'CORE',
        base_date: '2023-03-01',
        base_value: 100,
        calendar: 'XNYS',
        currency: 'USD',
        rebalance: { frequency: 'quarterly' },
        pipeline: null,
        derivation: { source_index_id: 'BROAD', objective: 'min_tracking_error' },
      });
      const takenRefusal = await service.refusal('POST', '/indices/BROAD/optimise', { id: 'CORE', name: 'again' });
      expect([takenRefusal.status, takenRefusal.code]).toEqual([409, 'INDEX_EXISTS']);
      const selfRefusal = await service.refusal('POST', '/indices/BROAD/optimise', { id: 'BROAD', name: 'of itself' });
      expect([selfRefusal.status, selfRefusal.code, selfRefusal.detail]).toEqual([
        409,
        'INDEX_EXISTS',
        { index_id: 'BROAD' },
      ]);
      const badRefusal = await service.refusal('POST', '/indices/BROAD/optimise', {
        id: 'X1',
        name: 'x',
        objective: 'max_happiness',
        constraints: [{ id: 'b', type: 'Turnover', params: {} }],
      });
      expect(badRefusal.detail).toMatchObject({
        findings: [
          { code: 'MISSING_PARAMETER', path: 'constraints[0].params.limit', row_id: 'b' },
          {
            code: 'UNKNOWN_OBJECTIVE',
            path: 'objective',
            message: 'Objective max_happiness is not accepted; the accepted set is min_tracking_error.',
            accepted: ['min_tracking_error'],
            value: 'max_happiness',
          },
        ],
      });
      expect((await service.refusal('POST', '/indices/NONE/optimise', { id: 'X2', name: 'x' })).code).toBe(
        'INDEX_NOT_FOUND',
      );
    });

    test('states an objective other than the least tracking error by an object', async () => {
      const { body: derived } = await derive('LOW', { objective: { type: 'min_variance' } });
      const index = derived['index'] as { derivation: object };
      expect(index.derivation).toMatchObject({ objective: { type: 'min_variance' } });
      const named = { ...index, derivation: { ...index.derivation, objective: 'max_sharpe' } };
      const finding = {
        severity: 'error',
        code: 'UNKNOWN_OBJECTIVE',
        path: 'derivation.objective',
        message:
          'Objective max_sharpe is not accepted; the accepted set is min_tracking_error. Other objectives are objects: {"type":"max_sharpe"}.',
        accepted: ['min_tracking_error'],
        value: 'max_sharpe',
      };
      for (const [method, path, body] of [
        ['PUT', '/indices/LOW', named],
        ['POST', '/indices', { ...named, id: 'LOWER' }],
        ['POST', '/indices/preview', { document: named }],
      ] as const)
        expect([path, await service.refusal(method, path, body)]).toMatchObject([
          path,
          { status: 422, detail: { findings: [finding] } },
        ]);
      expect((await service.ask('POST', '/indices/validate', named)).body).toEqual({
        valid: false,
        findings: [finding],
      });
      expect((await derive('LEAST-ERROR', { objective: 'min_tracking_error' })).status).toBe(200);
    });

    test('previews with every row, and a run holds at each rebalance the weights of the preview', async () => {
      expect([200, 409]).toContain((await derive('CORE')).status);
      const { body: job } = await service.ask<JobStatus>('POST', '/analytics/CORE/backtest', {});
      const finishedJob = await service.waitForJob(job.job_id);
      expect(finishedJob.error, JSON.stringify(finishedJob.error)).toBeNull();
      const run = finishedJob.result as z.infer<typeof BacktestRunResult>;
      const snapshots =
        (
          run as unknown as {
            books: { optimised: { rebalances: { date: string; weights: Record<string, number> }[] } };
          }
        ).books?.optimised?.rebalances ??
        (run as unknown as { rebalances: { date: string; weights: Record<string, number> }[] }).rebalances;
      expect(snapshots.length).toBeGreaterThan(4);
      for (const { date, weights } of snapshots) {
        const day = date.slice(0, 10);
        const { status, body: preview } = await service.ask<PreviewResponse>('POST', '/indices/CORE/preview', {
          as_of: day,
        });
        expect(status, JSON.stringify(preview)).toBe(200);
        expect(preview.steps).toBeNull();
        expect(preview.solve).toMatchObject({
          source_index_id: 'BROAD',
          objective: 'min_tracking_error',
          rebalance_date: day,
        });
        const { constraints: listed, binding } = preview.solve!;
        const rowSides = listed.map(({ label }) => label.split(':').slice(0, 2).join(':'));
        expect([...new Set(rowSides)].toSorted()).toEqual([
          'FullInvestment[default]:eq',
          'LongOnly[default]:lower',
          'PositionBounds[pos]:lower',
          'PositionBounds[pos]:upper',
          'Turnover[turn]:upper',
        ]);
        expect(listed.filter((one) => one.binding).map(({ label }) => label)).toEqual(binding);
        expect(new Set(listed.map(({ label }) => label)).size).toBe(listed.length);
        for (const { slack, kind, unit } of listed)
          expect([slack >= 0, typeof kind, typeof unit]).toEqual([true, 'string', 'string']);
        for (const [name, weight] of Object.entries(weights))
          expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
        expect(preview.total_weight).toBeCloseTo(1, 12);
      }
    });

    test('keeps its weights with a warning if its rows are infeasible, and has no run if they never were feasible', async () => {
      const unchangedRows = [
        { id: 'still', type: 'Turnover', params: { limit: 0, reference: 'previous' } },
        { id: 'near', type: 'RelativePositionBounds', params: { lower: 0.999, upper: 1.001 } },
      ];
      expect((await derive('STILL', { constraints: unchangedRows })).status).toBe(200);
      expect(
        (await derive('NEVER', { constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } }] }))
          .status,
      ).toBe(200);
      const run = async (id: string) =>
        service.waitForJob((await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {})).body.job_id);
      const heldFindings = (
        (await run('STILL')).result as { findings: { code: string; severity: string }[] }
      ).findings.filter(({ code }) => code === 'REBALANCE_HELD');
      expect(heldFindings.length).toBeGreaterThan(2);
      expect(heldFindings.every(({ severity }) => severity === 'warning')).toBe(true);
      const { body: list } = await service.ask<RebalanceList>('GET', '/analytics/STILL/rebalances');
      expect(list.findings).toEqual(heldFindings);
      const { error } = await run('NEVER');
      expect(error).toMatchObject({
        code: 'INFEASIBLE',
        message:
          'The index NEVER has no composition on its first date 2023-03-01: Constraint pos and the full-investment budget are jointly infeasible. ' +
          'pos requires upper 5%; the lowest that the other constraints allow is 9.091%.',
        detail: {
          proven: true,
          conflict: [
            { id: 'pos', index: 0 },
            { id: '', type: 'FullInvestment' },
          ],
          relaxations: [{ id: 'pos', parameter: 'upper', from: 0.05, to: 0.090909091 }],
        },
      });
    });

    test('whose turnover row has a priority trades the minimum for securities that left, with a finding; without a priority it is skipped', async () => {
      expect((await service.ask('POST', '/indices', MOVING_INDEX)).status).toBe(200);
      const [giving, never, silent] = [
        await createDerivedFromMoving('GIVING', { priority: 1 }),
        await createDerivedFromMoving('NEVER-0', { priority: 0 }),
        await createDerivedFromMoving('NEVER-1', {}),
      ];
      for (const { findings } of [never, silent]) {
        expect(findings.filter(({ code }) => code === 'REBALANCE_HELD').length).toBeGreaterThan(2);
        expect(findings.filter(({ code }) => code === 'CONSTRAINT_RELAXED')).toEqual([]);
      }
      expect(giving.findings.filter(({ code }) => code === 'REBALANCE_HELD')).toEqual([]);
      expect(giving.rebalances.length).toBeGreaterThan(never.rebalances.length);
      let relaxedCount = 0;
      for (const [i, { date, weights }] of giving.rebalances.entries()) {
        const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/GIVING/preview', {
          as_of: date,
        });
        for (const [name, weight] of Object.entries(weights))
          expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
        const turnover = preview.solve!.constraints.find(({ label }) => label === 'Turnover[turn]:upper')!;
        const reportedFindings = giving.findings.filter(
          ({ code, message }) => code === 'CONSTRAINT_RELAXED' && message.startsWith(`On ${date} `),
        );
        if (i === 0) continue;
        // Computed by hand: the constituents of the last rebalance that are no longer in the source are sold, and
        // securities of the same amount are bought.
        const before = giving.rebalances[i - 1]!.weights;
        const members = new Set(preview.assets.map(({ identifier }) => identifier));
        const leavers = Object.entries(before).filter(([name]) => !members.has(name));
        const soldWeight = leavers.reduce((sum, [, weight]) => sum + weight, 0);
        const tradedTurnover = computeTurnoverBetween(before, weights);
        if (soldWeight <= 0.1) {
          expect(reportedFindings).toEqual([]);
          expect(turnover.relaxed_by).toBeNull();
          expect(tradedTurnover).toBeLessThanOrEqual(0.1 + 1e-9);
          continue;
        }
        relaxedCount++;
        expect(reportedFindings).toHaveLength(1);
        expect(reportedFindings[0]).toMatchObject({
          severity: 'warning',
          path: 'derivation.constraints[0].params.limit',
          row_id: 'turn',
        });
        expect(reportedFindings[0]!.value).toBeGreaterThanOrEqual(soldWeight - 1e-10);
        expect(reportedFindings[0]!.value).toBeLessThan(soldWeight + 5e-9);
        expect(tradedTurnover).toBeCloseTo(soldWeight, 8);
        expect(turnover).toMatchObject({ binding: true });
        expect(turnover.relaxed_by).toBeCloseTo(soldWeight - 0.1, 8);
        for (const [name] of leavers) expect(reportedFindings[0]!.message).toContain(name);
        expect(preview.findings.map(({ code }) => code)).toContain('CONSTRAINT_RELAXED');
      }
      expect(relaxedCount).toBeGreaterThan(2);
    });

    test('without a date is previewed at its first rebalance, also if the base date is a holiday', async () => {
      // 2023-05-27 to 29 is the weekend before Memorial Day and the holiday itself. So the first session is the 30th.
      expect(
        (await service.ask('POST', '/indices', { ...parent, id: 'HOLIDAY', base_date: '2023-05-28' })).status,
      ).toBe(200);
      expect(
        (
          await service.ask('POST', '/indices/HOLIDAY/optimise', {
            id: 'HOLIDAY-CORE',
            name: 'x',
            constraints: looseRows,
          })
        ).status,
      ).toBe(200);
      const first = await service.ask<PreviewResponse>('POST', '/indices/HOLIDAY-CORE/preview', {});
      expect(first.status, JSON.stringify(first.body)).toBe(200);
      expect(first.body).toMatchObject({
        as_of: '2023-05-30',
        resolved_date: '2023-05-30',
        solve: { rebalance_date: '2023-05-30' },
      });
      const onIt = await service.ask<PreviewResponse>('POST', '/indices/HOLIDAY-CORE/preview', { as_of: '2023-05-30' });
      expect(first.body.weights).toEqual(onIt.body.weights);
      expect(first.body.total_weight).toBeCloseTo(1, 12);
    });

    test('has no preview before its first rebalance, and states the first date with one', async () => {
      const planAt = async (asOf: string) => {
        const { status, code, message, detail } = await service.refusal('POST', '/indices/HOLIDAY-CORE/preview', {
          as_of: asOf,
        });
        return { status, code, message, detail };
      };
      expect(await planAt('2023-05-29')).toEqual({
        status: 422,
        code: 'NO_DATA_AT_DATE',
        detail: { as_of: '2023-05-29' },
        message:
          'The parent HOLIDAY has no rebalance on or before 2023-05-29: from its base date 2023-05-28 to that day the data contains no price for its universe.',
      });
      expect(await planAt('2023-04-03')).toMatchObject({
        code: 'NO_DATA_AT_DATE',
        message: 'The parent HOLIDAY has no rebalance on or before 2023-04-03: its base date is 2023-05-28.',
      });
      // Prices begin after the base date, so the first rebalance is on the first session with prices.
      expect((await service.ask('POST', '/indices', { ...parent, id: 'EARLY', base_date: '2020-01-01' })).status).toBe(
        200,
      );
      expect(
        (await service.ask('POST', '/indices/EARLY/optimise', { id: 'EARLY-CORE', name: 'x', constraints: looseRows }))
          .status,
      ).toBe(200);
      const earlyPreview = await service.ask<PreviewResponse>('POST', '/indices/EARLY-CORE/preview', {});
      expect(earlyPreview.body).toMatchObject({ as_of: '2023-01-03', solve: { rebalance_date: '2023-01-03' } });
    });

    test('with infeasible rows is refused as a preview with its conflict', async () => {
      expect(
        (await derive('TIGHT', { constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } }] }))
          .status,
      ).toBe(200);
      const refusal = await service.refusal('POST', '/indices/TIGHT/preview', { as_of: '2024-06-03' });
      expect([refusal.status, refusal.code]).toEqual([422, 'INFEASIBLE']);
      expect(refusal.detail).toMatchObject({ proven: true, relaxations: [{ id: 'pos', parameter: 'upper' }] });
      expect((await service.refusal('POST', '/indices/CORE/preview', { as_of: '2022-06-03' })).code).toBe(
        'NO_DATA_AT_DATE',
      );
    });
  });
}
