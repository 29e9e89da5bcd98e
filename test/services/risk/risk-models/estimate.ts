import { describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import {
  type View,
  DAYS,
  prices,
  isGap,
  computeByDefinition,
  computeWeightedVariance,
  service,
  estimateToEnd,
  readView,
  listCodes,
  fetchText,
} from './set-up.js';

export function describeEstimate(): void {
  describe('an estimate', () => {
    const names = ['1398', '700', 'AAA', 'BBB'];

    test('is the matrix of the definitions, securities ascending by code point', async () => {
      const job = await estimateToEnd('core', { identifiers: ['BBB', '700', 'AAA', '1398', 'BBB'] });
      expect(job).toMatchObject({ job_id: 'risk:core', status: 'succeeded', progress: 1, error: null });
      const model = await readView('core');
      expect(model.asset_ids).toEqual(names);
      const expected = computeByDefinition(names);
      model.covariance.data.forEach((row, i) =>
        row.forEach((value, j) =>
          expect(Math.abs((value as number) - expected[i]![j]!)).toBeLessThanOrEqual(
            1e-12 * Math.sqrt(expected[i]![i]! * expected[j]![j]!),
          ),
        ),
      );
      expect(model.diagnostics).toMatchObject({
        assets: 4,
        observations: DAYS.length - 1,
        intensity: 4 / (4 + DAYS.length - 1),
        positive_semi_definite: true,
        repaired: false,
        target: 'constant_correlation',
      });
      expect(model).toMatchObject({
        model_id: 'core',
        start: null,
        end: null,
        observed_start: DAYS[1],
        observed_end: DAYS.at(-1),
        excluded: {},
        precision: 'float64',
      });
    });

    test('is equal in its job and on its route', async () => {
      const job = await service.ask<JobStatus>('GET', '/jobs/risk:core');
      expect(job.body.result).toEqual(await readView('core'));
    });

    test('has volatilities that are roots of the diagonal and an exactly symmetric correlation with unit diagonal', async () => {
      const { covariance, correlation, volatilities } = await readView('core');
      const readCell = (frame: View['covariance'], i: number, j: number) => frame.data[i]![j] as number;
      names.forEach((name, i) => {
        expect(volatilities[name]).toBe(Math.sqrt(readCell(covariance, i, i)));
        expect(readCell(correlation, i, i)).toBe(1);
        names.forEach((other, j) => {
          expect(readCell(correlation, i, j)).toBe(readCell(correlation, j, i));
          expect(readCell(correlation, i, j)).toBeCloseTo(
            readCell(covariance, i, j) / (volatilities[name]! * volatilities[other]!),
            12,
          );
        });
      });
    });

    test('writes maps in code-point order, also for digits', async () => {
      const response = await service.ask('GET', '/risk-models/core');
      const text = JSON.stringify(response.body); // Parsing would reorder digit keys numerically, so the text is checked.
      expect(text).toContain('"700"');
      const rawText = await fetchText('/risk-models/core');
      expect(rawText.indexOf('"1398":', rawText.indexOf('"volatilities"'))).toBeLessThan(
        rawText.indexOf('"700":', rawText.indexOf('"volatilities"')),
      );
    });

    test('of factors includes sectors and the history before its window, also for listed securities', async () => {
      await estimateToEnd('sectors', { identifiers: names, estimator: 'industries' });
      const { factor_model: sectors } = await readView('sectors');
      expect(sectors!.factors.map(({ factor }) => factor)).toEqual(['MARKET', 'Banks', 'Media']);
      // The return of the market is the mean of the sectors. Here it is the mean of all securities, because each sector
      // has two.
      const market = DAYS.slice(1).map(
        (_, t) => names.reduce((sum, name) => sum + prices[name]![t + 1]! / prices[name]![t]! - 1, 0) / names.length,
      );
      const mean = market.reduce((sum, value) => sum + value, 0) / market.length;
      const squares = market.reduce((sum, value) => sum + (value - mean) ** 2, 0);
      expect(sectors!.factors[0]!.volatility).toBeCloseTo(Math.sqrt((252 * squares) / (market.length - 1)), 12);
      await estimateToEnd('styles', { identifiers: [...names, 'FLAT'], estimator: 'styles', start: DAYS[255] });
      const { factor_model: styles } = await readView('styles');
      expect(styles!.factors.map(({ factor }) => factor)).toContain('MOMENTUM');
    });

    test('omits a late listing and reports it', async () => {
      const job = await estimateToEnd('late', { identifiers: ['AAA', 'LATE', 'BBB'] });
      expect(job.message).toContain('LATE (prices on');
      const model = await readView('late');
      expect(model.asset_ids).toEqual(['AAA', 'BBB']);
      expect(model.excluded['LATE']).toMatch(/^prices on \d+ of 300 sessions; at least 240 are required$/);
    });

    test('keeps a security that never moves, with correlation 0', async () => {
      await estimateToEnd('flat', { identifiers: ['AAA', 'FLAT'], intensity: 0 });
      const model = await readView('flat');
      expect(model.volatilities['FLAT']).toBe(0);
      expect(model.correlation.data).toEqual([
        [1, 0],
        [0, 1],
      ]);
      expect(model.diagnostics).toMatchObject({
        average_correlation: 0,
        condition_number: 1e300,
        smallest_eigenvalue: 0,
      });
    });

    test('of one security is its variance, whatever the intensity', async () => {
      await estimateToEnd('one', { identifiers: ['AAA'] });
      const model = await readView('one');
      const expected = computeByDefinition(['AAA', 'BBB'])[0]![0]!;
      expect(Math.abs((model.covariance.data[0]![0] as number) / expected - 1)).toBeLessThanOrEqual(1e-12);
      expect(model.correlation.data).toEqual([[1]]);
      expect(model.diagnostics).toMatchObject({
        assets: 1,
        average_correlation: 0,
        condition_number: 1,
        positive_semi_definite: true,
      });
    });

    test('of two equal securities is singular, with a finding', async () => {
      await estimateToEnd('twins', { identifiers: ['AAA', 'TWIN'], intensity: 0 });
      const model = await readView('twins');
      const [[ownVariance, common], [, otherVariance]] = model.covariance.data as number[][] as [
        [number, number],
        [number, number],
      ];
      expect([common, otherVariance]).toEqual([ownVariance, ownVariance]);
      expect(model.correlation.data).toEqual([
        [1, 1],
        [1, 1],
      ]);
      expect(model.diagnostics).toMatchObject({
        condition_number: 1e300,
        positive_semi_definite: true,
        repaired: false,
      });
    });

    test('loses two returns of every security for each gap of one', async () => {
      await estimateToEnd('gaps', { identifiers: ['AAA', 'GAPS'] });
      const holes = DAYS.filter((_, t) => isGap(t)).length;
      expect((await readView('gaps')).diagnostics.observations).toBe(DAYS.length - 1 - 2 * holes);
    });

    test('needs twenty returns, and nineteen are refused', async () => {
      const job = await estimateToEnd('short', { identifiers: ['AAA', 'BBB'], start: DAYS[0], end: DAYS[19] });
      expect(job).toMatchObject({ status: 'failed', error: { code: 'RISK_INSUFFICIENT_DATA' } });
      await estimateToEnd('short', { identifiers: ['AAA', 'BBB'], start: DAYS[0], end: DAYS[20] });
      expect((await readView('short')).diagnostics.observations).toBe(20);
    });

    test('is refused at once for a range without data, with both ranges', async () => {
      const heldRange = { first: DAYS[0], last: DAYS.at(-1) };
      const readRefusal = (range: object) =>
        service.refusal('POST', '/risk-models/never/estimate', { identifiers: ['AAA'], ...range });
      const lateRange = { start: '2031-01-02', end: '2031-12-31' };
      expect(await readRefusal(lateRange)).toMatchObject({
        status: 422,
        code: 'NO_DATA_IN_RANGE',
        message: expect.stringContaining(`start 2031-01-02 is after the last date of the store`) as string,
        detail: { path: 'start', ...lateRange, ...heldRange },
      });
      const earlyRange = { end: '1999-12-31' };
      expect(await readRefusal(earlyRange)).toMatchObject({
        status: 422,
        code: 'NO_DATA_IN_RANGE',
        detail: { path: 'end', start: null, ...earlyRange, ...heldRange },
      });
      await estimateToEnd('short', { identifiers: ['AAA', 'BBB'] });
      expect(await service.refusal('POST', '/risk-models/short/validate', { start: '2031-01-02' })).toMatchObject({
        status: 422,
        code: 'NO_DATA_IN_RANGE',
      });
      // A range that overlaps the data of the store starts a job. The job fails and reports which data are available.
      const job = await estimateToEnd('never', { identifiers: ['AAA'], start: DAYS.at(-1), end: '2031-12-31' });
      expect(job).toMatchObject({
        status: 'failed',
        error: { code: 'RISK_INSUFFICIENT_DATA', detail: { start: DAYS.at(-1), end: '2031-12-31', ...heldRange } },
      });
      expect(job.error?.message).toContain(`start ${DAYS.at(-1)} and end 2031-12-31; the data covers ${DAYS[0]} to`);
    });

    test('reports settings that its estimator does not read, in the model and in the message', async () => {
      const job = await estimateToEnd('idle', { identifiers: names, estimator: 'gerber', half_life: 60, lags: 3 });
      const { findings } = await readView('idle');
      expect(findings.map(({ code, path, value }) => [code, path, value])).toEqual([
        ['NO_EFFECT', 'half_life', 60],
        ['NO_EFFECT', 'lags', 3],
      ]);
      for (const { message } of findings) expect(job.message).toContain(message);
      await estimateToEnd('read', { identifiers: names, estimator: 'newey_west', half_life: 60, lags: 3 });
      expect((await readView('read')).findings).toEqual([]);
    });

    test('uses its window, its half-life and its method', async () => {
      const window = { identifiers: names, start: DAYS[50], end: DAYS[149] };
      await estimateToEnd('window', { ...window, intensity: 0 });
      const plainView = await readView('window');
      expect(plainView).toMatchObject({
        start: DAYS[50],
        end: DAYS[149],
        observed_start: DAYS[51],
        observed_end: DAYS[149],
      });
      expect(plainView.diagnostics.observations).toBe(99);
      await estimateToEnd('window', { ...window, intensity: 0, half_life: 10 });
      const weightedCovariance = (await readView('window')).covariance.data;
      const expected = computeWeightedVariance('AAA', [50, 149], 10);
      expect(
        Math.abs((weightedCovariance[names.indexOf('AAA')]![names.indexOf('AAA')] as number) / expected - 1),
      ).toBeLessThan(1e-12);
      await estimateToEnd('window', { ...window, intensity_method: 'ledoit_wolf' });
      const { intensity } = (await readView('window')).diagnostics;
      expect(intensity! > 0 && intensity! < 1 && intensity !== 4 / 103).toBe(true);
    });

    test.each(['shape', 'ledoit_wolf'])(
      'by a half-life that gives all weight to one session is refused with both numbers, by %s',
      async (method) => {
        const job = await estimateToEnd('brief', { identifiers: names, half_life: 0.05, intensity_method: method });
        expect(job).toMatchObject({
          status: 'failed',
          error: { code: 'RISK_INSUFFICIENT_DATA', detail: { half_life: 0.05, weight_needed: 1e-4 } },
        });
        expect(job.error?.message).toMatch(
          /^A half_life of 0.05 sessions leaves 9.54e-7 of the weight .* at least 0.0001 is required\.$/,
        ); // 2^-20.
      },
    );

    test('prefers securities to an index and reports it', async () => {
      const job = await estimateToEnd('both', { identifiers: ['AAA'], index_id: 'no-such-index' });
      expect(job).toMatchObject({
        status: 'succeeded',
        message: `1 security, ${DAYS.length - 1} observations. The request contains both identifiers and index_id. identifiers has priority.`,
      });
      expect((await readView('both')).findings).toMatchObject([{ code: 'NO_EFFECT', path: 'index_id' }]);
    });

    test('fails without enough returns and leaves the stored model unchanged', async () => {
      const before = await readView('core');
      const job = await estimateToEnd('core', { identifiers: ['AAA'], start: DAYS[0], end: DAYS[19] });
      expect(job).toMatchObject({ status: 'failed', error: { code: 'RISK_INSUFFICIENT_DATA' } });
      expect(job.error?.message).toContain('Excluded: AAA (19 returns in the window; at least 20 are required).');
      expect(await readView('core')).toEqual(before);
    });

    test('without a body repeats the last request', async () => {
      const before = await readView('core');
      expect((await estimateToEnd('core')).status).toBe('succeeded');
      expect(await readView('core')).toEqual(before);
      expect(await service.refusal('POST', '/risk-models/unheard-of/estimate')).toMatchObject({
        status: 422,
        code: 'UNIVERSE_REQUIRED',
      });
      expect(await service.refusal('POST', '/risk-models/core/estimate', { intensity: 0.5 })).toMatchObject({
        status: 422,
        code: 'UNIVERSE_REQUIRED',
      });
    });

    test('reports every identifier that the store does not contain', async () => {
      const error = await service.refusal('POST', '/risk-models/x/estimate', { identifiers: ['AAA', 'NO1', 'NO2'] });
      expect(error.status).toBe(422);
      expect(listCodes(error)).toEqual(['UNKNOWN_IDENTIFIER identifiers[1]', 'UNKNOWN_IDENTIFIER identifiers[2]']);
    });

    test('refuses intensities outside 0 to 1, unknown targets and dates in the wrong order', async () => {
      expect(
        listCodes(
          await service.refusal('POST', '/risk-models/x/estimate', {
            identifiers: ['AAA'],
            intensity: 1.5,
            target: 'mean',
          }),
        ),
      ).toEqual(['OUT_OF_RANGE intensity', 'NOT_IN_CHOICES target']);
      expect(
        await service.refusal('POST', '/risk-models/x/estimate', {
          identifiers: ['AAA'],
          start: '2024-01-02',
          end: '2023-01-02',
        }),
      ).toMatchObject({ status: 422, code: 'INVALID_RANGE' });
      expect(listCodes(await service.refusal('POST', '/risk-models/x/estimate', { index_id: 'nothing' }))).toEqual([
        'RUN_NOT_FOUND index_id',
      ]);
    });
  });
}
