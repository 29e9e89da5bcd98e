import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { service, sum } from './set-up.js';

export function describeOtherViews(): void {
  describe('other views of a run', () => {
    test('attribution to market, sectors and styles adds up to the return of the window', async () => {
      const window = 'start=2022-02-05&end=2022-11-26';
      const { body: names } = await service.checked('getAttribution', `/analytics/MAIN/attribution?${window}`);
      for (const model of ['styles', 'market_sector']) {
        const { body } = await service.checked(
          'getFactorAttribution',
          `/analytics/MAIN/factor-attribution?model=${model}&${window}`,
        );
        expect(body, JSON.stringify(body.error)).toMatchObject({ model, reconciles: true, periods: names.periods });
        expect(body.total_return).toBe(names.total_return);
        const factors = sum(body.factors.map((row: { contribution: number }) => row.contribution));
        expect(factors + body.specific + body.other).toBeCloseTo(body.total_return, 12);
        expect(body.covered_weight).toBeGreaterThan(0.5);
        const [market] = body.factors;
        expect(market.factor).toBe('MARKET');
        expect(market.average_exposure).toBeCloseTo(body.covered_weight, 12);
      }
    });

    test('attribution of a window links to its return', async () => {
      const { body } = await service.checked(
        'getAttribution',
        '/analytics/MAIN/attribution?start=2022-02-05&end=2022-11-26',
      );
      expect([body.requested_start, body.requested_end, body.start, body.end]).toEqual([
        '2022-02-05',
        '2022-11-26',
        '2022-02-08T00:00:00+00:00',
        '2022-11-25T00:00:00+00:00',
      ]);
      expect(sum(body.contributions.map((row: { contribution: number }) => row.contribution))).toBeCloseTo(
        body.total_return,
        12,
      );
      const shortView = await service.checked(
        'getAttribution',
        '/analytics/MAIN/attribution?start=2022-02-05&end=2022-02-07',
      );
      expect([shortView.status, shortView.body.error.code]).toEqual([422, 'RANGE_TOO_SHORT']);
      const groupAnswer = await service.checked(
        'getAttribution',
        '/analytics/MAIN/attribution?start=2022-02-08&end=2022-02-07',
      );
      expect([groupAnswer.status, groupAnswer.body.error.code]).toEqual([422, 'INVALID_RANGE']);
    });

    test('groups add up to the total, and against a benchmark to the active return', async () => {
      const ownView = await service.checked('getGroupAttribution', '/analytics/MAIN/attribution/groups');
      expect([ownView.status, ownView.body.by, ownView.body.benchmark, ownView.body.reconciles]).toEqual([
        200,
        'SECTOR',
        null,
        true,
      ]);
      expect(sum(ownView.body.groups.map((row: { contribution: number }) => row.contribution))).toBeCloseTo(
        ownView.body.total_return,
        12,
      );
      const { body } = await service.checked(
        'getGroupAttribution',
        '/analytics/MAIN/attribution/groups?by=COUNTRY&benchmark=WIDE&start=2022-03-01&end=2023-03-01',
      );
      const effects = body.groups.flatMap((row: { allocation: number; selection: number; interaction: number }) => [
        row.allocation,
        row.selection,
        row.interaction,
      ]);
      expect(sum(effects)).toBeCloseTo(body.active_return, 12);
      const { currency, ...totals } = body.effects;
      expect([Object.keys(totals), currency]).toEqual([['allocation', 'selection', 'interaction'], null]);
      for (const [effect, total] of Object.entries(totals))
        expect(sum(body.groups.map((row: Record<string, number>) => row[effect]!))).toBeCloseTo(total as number, 12);
      expect([ownView.body.effects, ownView.body.benchmark_variant, ownView.body.findings]).toEqual([null, null, []]);
      expect(body.active_return).toBeCloseTo(body.total_return - body.benchmark_return, 12);
      expect(
        sum(body.groups.map((row: { benchmark_average_weight: number }) => row.benchmark_average_weight)),
      ).toBeCloseTo(1, 10);
      expect(ownView.body.groups.map((row: { benchmark_return: unknown }) => row.benchmark_return)).toEqual(
        ownView.body.groups.map(() => null),
      );
      const unknownAnswer = await service.checked(
        'getGroupAttribution',
        '/analytics/MAIN/attribution/groups?by=SHOE_SIZE',
      );
      expect([unknownAnswer.status, unknownAnswer.body.error.detail.findings[0].code]).toEqual([
        422,
        'UNKNOWN_FIELD_NAME',
      ]);
    });

    test('the effects of one session follow from the weights and returns of the groups', async () => {
      const { body } = await service.checked(
        'getGroupAttribution',
        '/analytics/MAIN/attribution/groups?benchmark=WIDE&start=2022-03-01&end=2022-03-02',
      );
      expect([body.periods, body.groups.length > 2]).toEqual([1, true]);
      const other: number = body.benchmark_return;
      for (const row of body.groups) {
        const {
          average_weight: w,
          benchmark_average_weight: b,
          total_return: own,
          benchmark_return: groupReturn,
        } = row;
        expect([own === null, groupReturn === null]).toEqual([w === 0, b === 0]);
        const benchmarkGroup: number = groupReturn ?? other;
        const group: number = own ?? benchmarkGroup;
        expect(row.allocation).toBeCloseTo((w - b) * (benchmarkGroup - other), 12);
        expect(row.selection).toBeCloseTo(b * (group - benchmarkGroup), 12);
        expect(row.interaction).toBeCloseTo((w - b) * (group - benchmarkGroup), 12);
      }
      const sumProducts = (weight: string, value: string) =>
        sum(body.groups.map((row: Record<string, number | null>) => row[weight]! * (row[value] ?? 0)));
      expect(sumProducts('average_weight', 'total_return')).toBeCloseTo(body.total_return, 12);
      expect(sumProducts('benchmark_average_weight', 'benchmark_return')).toBeCloseTo(body.benchmark_return, 12);
    });

    test('a group of the whole run has the return of the run, and so has its benchmark', async () => {
      const { body } = await service.checked(
        'getGroupAttribution',
        '/analytics/MAIN/attribution/groups?by=CURRENCY&benchmark=WIDE&start=2022-03-01&end=2023-03-01',
      );
      expect(body.groups).toHaveLength(1);
      const [row] = body.groups;
      expect(row.total_return).toBeCloseTo(body.total_return, 12);
      expect(row.benchmark_return).toBeCloseTo(body.benchmark_return, 12);
    });

    test('every identity of the run holds when it is recomputed', async () => {
      const { body } = await service.checked('reconcileRun', '/analytics/MAIN/reconcile');
      expect(body.checks.filter(({ holds }: { holds: boolean }) => !holds)).toEqual([]);
      expect(body.reconciles).toBe(true);
      expect(body.checks.map(({ name }: { name: string }) => name)).toEqual(
        expect.arrayContaining(['stored columns', 'returns', 'weights', 'contributions']),
      );
    });

    test('changed bytes are detected, however often the view was requested before', async () => {
      const folder = join(service.home, 'artifacts');
      const files = readdirSync(folder).map((name) => join(folder, name));
      const isPlan = (text: string) => text.startsWith('{"documents":') && text.includes('"runId":"MAIN"');
      const planFile = files.find((path) => isPlan(readFileSync(path, 'latin1')))!;
      const storedPlan = readFileSync(planFile);
      const listFailingChecks = async (): Promise<string[]> => {
        const { body } = await service.checked('reconcileRun', '/analytics/MAIN/reconcile');
        const names = body.checks
          .filter(({ holds }: { holds: boolean }) => !holds)
          .map(({ name }: { name: string }) => name);
        expect(body.reconciles).toBe(names.length === 0);
        return names;
      };
      for (const change of ['first', 'last'] as const) {
        const changedPlan = Uint8Array.from(storedPlan);
        changedPlan[change === 'first' ? 0 : changedPlan.length - 1]! ^= 1;
        writeFileSync(planFile, changedPlan);
        expect(await listFailingChecks()).toEqual(['stored plan']);
        writeFileSync(planFile, storedPlan);
        expect(await listFailingChecks()).toEqual([]);
      }
    });

    test('the record has an etag that avoids writing it again, and is deleted only under that etag', async () => {
      const first = await service.call('GET', '/analytics/MAIN/record');
      const etag = first.headers.get('etag')!;
      expect([first.status, first.body.portfolio.portfolio_id]).toEqual([200, 'portfolio-MAIN']);
      const secondAnswer = await service.call('GET', '/analytics/MAIN/record', undefined, { 'If-None-Match': etag });
      expect([secondAnswer.status, secondAnswer.headers.get('etag'), secondAnswer.body]).toEqual([
        304,
        etag,
        undefined,
      ]);
      expect(
        (await service.call('DELETE', '/analytics/MAIN/record', undefined, { 'If-Match': '"another"' })).status,
      ).toBe(412);
    });

    test('a security shows its weights at the rebalances it was in', async () => {
      const { body: weights } = await service.checked('getWeights', '/analytics/MAIN/weights');
      const { identifier } = weights.weights[0];
      const { body } = await service.checked('getRunAsset', `/analytics/MAIN/assets/${identifier}`);
      expect(body.rebalances_held).toBe(Object.keys(body.weight_history).length);
      expect(body.weight_history[weights.rebalance_date]).toBeGreaterThan(0);
      expect(body.excess_return).toBeCloseTo(body.total_return - body.index_return, 12);
      expect(body.observations).toBe(body.price.index.length);
      const { body: never } = await service.checked('getRunAsset', '/analytics/MAIN/assets/NOSUCH');
      expect(never.error.code).toBe('ASSET_NOT_IN_RUN');
    });

    test('levels are returned in every variant, cut to a window', async () => {
      const wholeLevels = await service.checked('getLevels', '/analytics/MAIN/levels');
      const cut = await service.checked('getLevels', '/analytics/MAIN/levels?start=2022-06-01&end=2022-06-30');
      expect(wholeLevels.body.variant).toBe('total');
      expect(wholeLevels.body.levels.data[0]).toBe(100);
      const from = wholeLevels.body.levels.index.indexOf(cut.body.levels.index[0]);
      expect(cut.body.levels.data).toEqual(
        wholeLevels.body.levels.data.slice(from, from + cut.body.levels.data.length),
      );
      const price = await service.checked('getLevels', '/analytics/MAIN/levels?variant=price');
      expect(price.body.levels.data.at(-1)).toBeLessThan(wholeLevels.body.levels.data.at(-1));
    });

    test('levels of one security are its prices and dividends by the variant, its market value equal in each', async () => {
      await service.call('POST', '/analytics/ONE/backtest', {});
      expect((await service.finished('backtest:ONE')).body.error).toBeNull();
      const { body: held } = await service.checked('getWeights', '/analytics/ONE/weights');
      const name: string = held.weights[0].identifier;
      const { prices } = (await service.call('GET', `/data/prices/${name}?start=2022-01-03`)).body;
      const closes = new Map<string, number>(
        prices.index.map((day: string, t: number) => [day, prices.data[t][prices.columns.indexOf('CLOSE')]]),
      );
      const actions: { type: string; value: number; ex_date: string }[] = (
        await service.call('GET', `/data/corporate-actions/${name}`)
      ).body.actions;
      const listActionsOn = (day: string, types: readonly string[]) =>
        actions.filter(({ type, ex_date }) => types.includes(type) && ex_date === day).map(({ value }) => value);
      expect(actions.filter(({ type }) => type === 'DIVIDEND').length).toBeGreaterThan(4);
      expect((await service.checked('getLevels', '/analytics/ONE/levels')).body.variant).toBe('net');
      for (const [variant, expected] of [
        ['price', 0],
        ['net', 0.7],
        ['total', 1],
      ] as const) {
        const { levels, divisor } = (await service.checked('getLevels', `/analytics/ONE/levels?variant=${variant}`))
          .body;
        expect(divisor.index).toEqual(levels.index);
        let level = 100;
        let worth = 100;
        levels.index.forEach((day: string, t: number) => {
          if (t > 0) {
            const before = closes.get(levels.index[t - 1])!;
            const ratio = listActionsOn(day, ['SPLIT']).reduce((product, value) => product * value, 1);
            const adjustedPrice = before / ratio - sum(listActionsOn(day, ['SPECIAL_DIVIDEND']));
            level *= (closes.get(day)! + expected * sum(listActionsOn(day, ['DIVIDEND']))) / adjustedPrice;
            worth *= (ratio * closes.get(day)!) / before;
          }
          expect(levels.data[t] / level).toBeCloseTo(1, 12);
          if (variant === 'price') expect((levels.data[t] * divisor.data[t]) / worth).toBeCloseTo(1, 12);
        });
        expect(divisor.data[0]).toBe(1);
      }
    });

    test('the record contains the benchmark and answers a known etag with 304', async () => {
      const { body, headers } = await service.checked('getRecord', '/analytics/MAIN/record');
      expect(body.benchmark.levels.data[0]).toBe(100);
      expect(body.index.optimised).toBeNull();
      expect(headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/);
    });
  });
}
