import { Float64, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { NAMES, service } from '../../optimisation/optimise/set-up.js';
import {
  ARROW,
  requireImport,
  sendFile,
  readModel,
  exportModel,
  estimateToEnd,
  requireSolution,
  listWeights,
  expectSameOptimum,
  EARLY_DATE,
  FIRST,
  FACTORS,
  EXPOSURES,
  F,
  SPECIFIC,
  factorModel,
} from './set-up.js';

export function describeRoundTrips(): void {
  describe('a risk model that is exported and imported again', () => {
    test.each([
      ['shrinkage', { intensity: 0.3 }],
      ['gerber', {}],
      ['statistical', { factors: 3 }],
      ['industries', {}],
    ])(
      'a model by %s is the same after an export and an import, and gives the same optimum',
      async (estimator, rest) => {
        await estimateToEnd('inside', { identifiers: NAMES, end: EARLY_DATE, estimator, ...rest });
        const body = await exportModel('inside');
        expect(body.models.map(({ date }) => date)).toEqual([EARLY_DATE]);
        const result = await requireImport('outside', body);
        expect(result).toMatchObject({ model_id: 'outside', assets: NAMES.length, findings: [] });
        const [insideModel, outsideModel] = [await readModel('inside'), await readModel('outside')];
        expect(outsideModel.covariance).toEqual(insideModel.covariance);
        expect(await exportModel('outside')).toEqual(body);
        const [own, other] = [
          await requireSolution({ as_of: FIRST, risk_model: 'inside' }),
          await requireSolution({ as_of: FIRST, risk_model: 'outside' }),
        ];
        expectSameOptimum(own, other);
        expect(other.risk_model).toMatchObject({
          model_id: 'outside',
          estimator: 'imported',
          start: EARLY_DATE,
          end: EARLY_DATE,
        });
      },
    );

    test('an optimum by an imported covariance equals the optimum by the estimate of the optimisation', async () => {
      const settings = { target: 'constant_correlation', intensity: 0.4 };
      const window = { start: '2023-06-01', end: '2024-03-01' };
      const insideSolution = await requireSolution({ ...window, candidates: 'parent', risk_model: settings });
      await service.ask('POST', '/analytics/BROAD/backtest', {});
      await service.waitForJob('backtest:BROAD');
      await estimateToEnd('window', {
        index_id: 'BROAD',
        start: insideSolution.start,
        end: insideSolution.end,
        ...settings,
      });
      const [model] = (await exportModel('window')).models;
      await requireImport('outside', { units: 'annual', models: [{ ...model, date: '2024-02-29' }] });
      const outsideSolution = await requireSolution({ ...window, candidates: 'parent', risk_model: 'outside' });
      const [a, b] = [listWeights(insideSolution), listWeights(outsideSolution)];
      for (const [name, weight] of a) expect(weight).toBeCloseTo(b.get(name)!, 10);
      expect(insideSolution.volatility).toBeCloseTo(outsideSolution.volatility, 12);
    });

    test('the covariance of factors is exposures times factor covariance plus specific variances, of daily units times the sessions of a year', async () => {
      const computeByHand = (scale: number) =>
        NAMES.map((name, i) =>
          NAMES.map((_, j) => {
            let sum = i === j ? SPECIFIC[name]! : 0;
            for (let k = 0; k < 2; k++)
              for (let l = 0; l < 2; l++) sum += EXPOSURES[i]![k]! * F[k]![l]! * EXPOSURES[j]![l]!;
            return scale * sum;
          }),
        );
      for (const [terms, scale] of [
        [{ units: 'annual' }, 1],
        [{ units: 'daily' }, 252],
        [{ units: 'daily', annualisation: 365 }, 365],
      ] as const) {
        const result = await requireImport('factors', { ...terms, models: [factorModel(EARLY_DATE)] });
        expect(result.factors).toEqual(FACTORS);
        // Daily figures that are so small are implausible for a market. So the service asks for the units.
        expect(result.findings.map(({ code, path }) => [code, path])).toEqual(
          scale === 1 ? [] : [['OUT_OF_RANGE', 'models[0]']],
        );
        const { covariance } = await readModel('factors');
        computeByHand(scale).forEach((row, i) =>
          row.forEach((value, j) => expect(covariance.data[i]![j]! / value).toBeCloseTo(1, 12)),
        );
      }
    });

    test('a model as CSV and as Arrow, with one number per row or a column per security, equals the model as JSON', async () => {
      await requireImport('json', {
        units: 'annual',
        models: [factorModel(EARLY_DATE), { ...factorModel('2023-06-30') }],
      });
      const wholeModel = await exportModel('json');
      const rows = wholeModel.models.flatMap(
        ({ date, exposures, factor_covariance: own, specific_variances: specific }) => [
          ...exposures!.index.flatMap((row, i) =>
            exposures!.columns.map((column, k) => [date, 'exposures', row, column, exposures!.data[i]![k]!] as const),
          ),
          ...FACTORS.flatMap((row, k) =>
            FACTORS.map((column, l) => [date, 'factor_covariance', row, column, own!.data[k]![l]!] as const),
          ),
          ...Object.entries(specific!).map(([row, value]) => [date, 'specific_variances', row, '', value] as const),
        ],
      );
      const csv = `date,table,row,column,value\n${rows.map((row) => row.join(',')).join('\n')}\n`;
      expect((await sendFile('csv', 'units=annual', 'text/csv', csv)).status).toBe(201);
      expect(await exportModel('csv')).toEqual(wholeModel);
      const listColumn = (column: number) => rows.map((row) => row[column] as string);
      const table = new Table({
        date: vectorFromArray(listColumn(0), new Utf8()),
        table: vectorFromArray(listColumn(1), new Utf8()),
        row: vectorFromArray(listColumn(2), new Utf8()),
        column: vectorFromArray(listColumn(3), new Utf8()),
        value: vectorFromArray(
          rows.map((row) => row[4]),
          new Float64(),
        ),
      });
      expect((await sendFile('arrow', 'units=annual', ARROW, tableToIPC(table, 'stream'))).status).toBe(201);
      expect(await exportModel('arrow')).toEqual(wholeModel);

      await estimateToEnd('inside', { identifiers: NAMES, end: EARLY_DATE });
      const { covariance, asset_ids: ids } = await readModel('inside');
      const wideRows = ids.map((name, i) => [EARLY_DATE, name, ...covariance.data[i]!].join(','));
      const wideCsv = `date,identifier,${ids.join(',')}\n${wideRows.join('\n')}\n`;
      expect((await sendFile('wide', 'units=annual', 'text/csv', wideCsv)).status).toBe(201);
      expect((await readModel('wide')).covariance).toEqual(covariance);
      // The metadata of the response contains the date of the last return.
      const answer = await fetch(`${service.url()}/risk-models/inside`, { headers: { accept: ARROW } });
      const servedAnswer = await sendFile('served', 'units=annual', ARROW, new Uint8Array(await answer.arrayBuffer()));
      expect(servedAnswer.body.imported?.dates.map(({ date }) => date)).toEqual([EARLY_DATE]);
      expect((await readModel('served')).covariance).toEqual(covariance);
    });
  });
}
