import { describe, expect, test } from 'vitest';
import type { StoredRuns } from '#contract/runs.js';
import type { IndexExplanation, PreviewResponse } from '#contract/indices/previews.js';
import { service, CLOSES, SHARES, createDocument, requestRefusal } from './set-up.js';

export function describeExplanations(): void {
  describe('explanations', () => {
    test('the parts replayed by hand give the applied weight', async () => {
      await service.ok(
        'PUT',
        '/indices/WHY',
        createDocument('WHY', { rebalance: { frequency: 'custom', dates: ['2024-01-08'] } }),
      );
      for (const [name, weight] of [
        ['A', 0.4],
        ['B', 0.4],
        ['C', 0.1311475409836065],
        ['E', 0.06885245901639342],
      ] as const) {
        const explanation = await service.ok<IndexExplanation>('GET', `/indices/WHY/explain/${name}?as_of=2024-01-09`);
        expect(explanation).toMatchObject({
          requested_as_of: '2024-01-09',
          as_of: '2024-01-09',
          rebalance_date: '2024-01-08',
          decision_date: '2024-01-08',
          in_universe: true,
          included: true,
          excluded_by: null,
        });
        const { raw, raw_total, uncapped_weight } = explanation.weighting!;
        const { cap, floor, scale, rounds } = explanation.capping!;
        expect(raw).toBe(CLOSES[name]![4]! * SHARES[name]!(4));
        expect(raw / raw_total).toBe(uncapped_weight);
        expect(Math.abs(Math.min(cap!, Math.max(floor, scale * uncapped_weight)) - explanation.weight!)).toBeLessThan(
          1e-12,
        );
        expect(explanation.weight).toBeCloseTo(weight, 14);
        const round = rounds.findIndex(({ capped }) => capped.includes(name));
        expect(round >= 0).toBe(explanation.capping!.capped);
        expect(explanation.datapoints).toContainEqual({
          path: 'pipeline.selection[0].params.field',
          field: 'MARKET_CAP',
          value: raw,
          from: '2024-01-08',
          to: '2024-01-08',
          observations: 1,
          known_from: null,
        });
        const growth = CLOSES[name]![5]! / CLOSES[name]![4]!;
        const total = ['A', 'B', 'C', 'E'].reduce(
          (sum, other) =>
            sum +
            ({ A: 0.4, B: 0.4, C: 0.1311475409836065, E: 0.06885245901639342 } as Record<string, number>)[other]! *
              (CLOSES[other]![5]! / CLOSES[other]![4]!),
          0,
        );
        expect(explanation.drift!.held_weight).toBeCloseTo((weight * growth) / total, 12);
      }
    });

    test('an excluded security has its rank, the cut-off and the distance to it', async () => {
      await service.ok(
        'PUT',
        '/indices/WHY-NOT',
        createDocument(
          'WHY-NOT',
          {},
          { selection: [{ id: 'two', type: 'TopN', params: { field: 'CLOSE', count: 2 } }] },
        ),
      );
      const explanation = await service.ok<IndexExplanation>('GET', '/indices/WHY-NOT/explain/C?as_of=2024-01-02');
      expect(explanation).toMatchObject({
        included: false,
        excluded_by: 'two',
        weight: null,
        weighting: null,
        capping: null,
        drift: null,
      });
      expect(explanation.rules).toEqual([
        expect.objectContaining({
          rule_id: 'two',
          kept: false,
          value: 50,
          rank: 3,
          cutoff: 2,
          threshold: 100,
          distance: 50,
        }),
      ]);
    });

    test('of a run are computed from the definitions that it used, even if they changed since', async () => {
      const createTopPipeline = (count: number) => ({
        selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count } }],
      });
      const all = createDocument('RUN-ALL', {}, createTopPipeline(4));
      const fewDocument = createDocument(
        'RUN-FEW',
        { universe: { kind: 'index', id: 'RUN-ALL' } },
        createTopPipeline(3),
      );
      await service.ok('PUT', '/indices/RUN-ALL', all);
      await service.ok('PUT', '/indices/RUN-FEW', fewDocument);
      expect((await service.job('/analytics/RUN-FEW/backtest')).error).toBeNull();
      const { runs } = await service.ok<StoredRuns>('GET', '/analytics/RUN-FEW/runs');
      const runId = runs[0]!.run_id;
      const request = { as_of: '2024-01-08' };
      const readExplanations = async (which: { run_id?: string }) => ({
        ...(await service.ok<PreviewResponse>('POST', '/indices/RUN-FEW/preview', { ...request, ...which })),
        why: await service.ok<IndexExplanation>(
          'GET',
          `/indices/RUN-FEW/explain/B?${new URLSearchParams({ ...request, ...which })}`,
        ),
      });
      const before = await readExplanations({});
      await service.ok('PUT', '/indices/RUN-ALL', { ...all, ...createDocument('RUN-ALL', {}, createTopPipeline(2)) });
      await service.ok('PUT', '/indices/RUN-FEW', {
        ...fewDocument,
        ...createDocument('RUN-FEW', {}, createTopPipeline(1)),
      });
      const now = await readExplanations({});
      const listSizes = ({ assets, weights }: PreviewResponse) => [assets.length, Object.keys(weights).length];
      expect([listSizes(before), listSizes(now)]).toEqual([
        [4, 3],
        [2, 1],
      ]);
      expect(await readExplanations({ run_id: runId })).toEqual(before);
      for (const path of ['explain/B?run_id=0123456789abcdef', 'explain/B?run_id=newest'])
        expect((await requestRefusal('GET', `/indices/RUN-FEW/${path}`)).status).toBe(
          path.endsWith('newest') ? 422 : 404,
        );
    });

    test('dates before the index, and unknown securities, are refused', async () => {
      expect(await requestRefusal('GET', '/indices/WHY/explain/A?as_of=2023-12-01')).toMatchObject({ status: 422 });
      expect(await requestRefusal('GET', '/indices/WHY/explain/NOBODY')).toMatchObject({
        status: 404,
        code: 'IDENTIFIER_NOT_FOUND',
      });
      expect(await requestRefusal('GET', '/indices/NONE/explain/A')).toMatchObject({
        status: 404,
        code: 'INDEX_NOT_FOUND',
      });
    });
  });
}
