import { describe, expect, test } from 'vitest';
import { createBuiltInTemplate } from '#domain/outputs/report-templates.js';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import { createAttributionView } from '#views/attribution.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { createRunFigures, formatCountFigure, formatPercentFigure, formatRatio } from '#views/report/figures.js';
import { readPdf } from '../read-pdf.js';
import { sampleRun, type SampleRun } from '../sample-run.js';
import { renderBuiltIn, parse, render, sample } from './set-up.js';

export function describeFigures(): void {
  describe('the numbers of a factsheet are those of the service', () => {
    test('metrics and concentration', () => {
      const { text } = renderBuiltIn('FACTSHEET-A4', sample);
      const { metrics } = sample.result;
      const weights = sample.figures.constituents().map(({ weight }) => weight);
      for (const name of [
        'total_return',
        'annualised_return',
        'volatility',
        'max_drawdown',
        'tracking_error',
        'tracking_difference',
      ])
        expect(text).toContain(formatPercentFigure(metrics[name]!));
      for (const value of [
        formatRatio(metrics['sharpe_ratio']!),
        formatCountFigure(weights.length),
        formatRatio(1 / weights.reduce((sum, weight) => sum + weight * weight, 0)),
        formatPercentFigure(Math.max(...weights)),
      ])
        expect(text).toContain(value);
      expect(text).toContain(`Level ${formatRatio(sample.result.level.data.at(-1)!)}`);
      expect(text).toContain(`rebased to 100 on ${sample.result.level.index[0]!}`);
    });

    test('returns of the latest month and year', () => {
      const { index: dates, data: levels } = sample.result.level;
      const computeReturnSince = (period: string): number => {
        const first = dates.findIndex((date) => date.startsWith(period));
        return levels.at(-1)! / levels[Math.max(0, first - 1)]! - 1;
      };
      const stats = ['month_to_date', 'year_to_date'];
      const template = parse([{ kind: 'stat_grid', index_id: 'SAMPLE', stats }]);
      const { text } = readPdf(render({ template, figures: sample.figures }).bytes);
      const last = dates.at(-1)!;
      for (const [label, period] of [
        ['Month to date', last.slice(0, 7)],
        ['Year to date', last.slice(0, 4)],
      ] as const) {
        expect(text).toContain(label);
        expect(text).toContain(formatPercentFigure(computeReturnSince(period)));
      }
    });

    test('returns by year', () => {
      const { text } = renderBuiltIn('FACTSHEET-A4', sample);
      for (const [year, value] of Object.entries(sample.result.annual_returns)) {
        expect(text).toMatch(new RegExp(`^${year} .*${formatPercentFigure(value).replaceAll(/[.-]/g, '\\$&')}$`, 'm'));
      }
    });

    test('constituents, as the table of weights has them', () => {
      const columns = openColumns((from, to) => sample.columns.subarray(from, to));
      const { weights } = createWeightsView({
        runId: 'SAMPLE',
        requestedAsOf: null,
        weights: readPositiveWeights(columns, null),
        benchmark: null,
        findShares: () => null,
        risk: null,
        activeRisk: null,
      });
      const { text } = renderBuiltIn('FACTSHEET-A4', sample);
      for (const { identifier, weight, raw_weight } of weights.slice(0, 10)) {
        expect(text).toMatch(
          new RegExp(`^${identifier} .*${formatPercentFigure(weight)} ${formatPercentFigure(raw_weight)}`, 'm'),
        );
      }
      expect(text).toContain(`The largest 10 of ${weights.length} constituents held on ${sample.figures.overview.end}`);
    });

    test('attribution, including its total', () => {
      const columns = openColumns((from, to) => sample.columns.subarray(from, to));
      const { contributions, total_return, cap_drag, cost_drag } = createAttributionView(columns, {
        start: null,
        end: null,
      });
      const { text } = renderBuiltIn('TEARSHEET-A4', sample);
      for (const row of contributions.slice(0, 15))
        expect(text).toContain(
          [row.average_weight, row.total_return, row.contribution].map(formatPercentFigure).join(' '),
        );
      expect(text).toContain(`Return ${formatPercentFigure(total_return)}`);
      expect(text).toContain(`Capping: ${formatPercentFigure(cap_drag)}. Costs: ${formatPercentFigure(cost_drag)}.`);
    });

    test('rebalances, newest first, with the securities that joined and left', () => {
      const { text } = renderBuiltIn('REBALANCE-A4', sample);
      const { rebalances } = openColumns((from, to) => sample.columns.subarray(from, to)).header;
      const dates = rebalances
        .slice(-12)
        .map(({ date }) => date)
        .toReversed();
      const printedDates = [...text.matchAll(/^(\d{4}-\d{2}-\d{2}) \d/gm)].map((match) => match[1]);
      expect(printedDates).toEqual(dates);
      for (const { date, redistributed } of rebalances.slice(-12))
        expect(text).toMatch(new RegExp(`^${date} .* ${formatPercentFigure(redistributed)}$`, 'm'));
    });

    test('sectors at the ends of years and limits of concentration', () => {
      const columns = openColumns((from, to) => sample.columns.subarray(from, to));
      const { text } = renderBuiltIn('REBALANCE-A4', sample);
      const days = columns.i32('days');
      const lastPosition = days.length - 1;
      const weights = columns.f64(
        'weights',
        lastPosition * columns.header.names.length,
        (lastPosition + 1) * columns.header.names.length,
      );
      const [first, second] = [...weights].toSorted((a, b) => b - a) as [number, number];
      const largeSum = weights.reduce((sum, weight) => sum + (weight > 0.05 ? weight : 0), 0);
      const headroomBlock = {
        'UCITS 5/10/40': Math.min(0.1 - first, 0.4 - largeSum),
        'UCITS 20/35': Math.min(0.35 - first, 0.2 - second),
      };
      for (const [label, headroom] of Object.entries(headroomBlock))
        expect(text).toContain(`${label} ${formatPercentFigure(headroom)}`);
      const { sectors, dates } = sample.figures.yearEndSectors(8);
      expect(dates.at(-1)).toBe(sample.figures.overview.end);
      for (const { sector, weight } of sample.figures.sectors()) {
        const row = sectors.find((other) => other.sector === sector)!;
        expect(row.weights.at(-1)).toBeCloseTo(weight, 12);
      }
    });

    test('risk of the holdings, summing to the volatility', () => {
      const columns = openColumns((from, to) => sample.columns.subarray(from, to));
      const shares = new Map(columns.header.names.map((name, i) => [name, 0.001 * (i + 1)]));
      const measurement = {
        payload: {
          volatility: 0.42,
          covered_weight: 0.99,
          uncovered: ['N0000'],
          risk_model: null,
          risk_estimator: null,
          window_start: null,
          window_end: null,
          observations: null,
        },
        findContribution: (name: string) => (name === 'N0000' ? null : shares.get(name)!),
      };
      const figures = createRunFigures({
        columns,
        overview: sample.overview,
        risk: { measured: measurement },
        terms: sample.figures.terms,
      });
      const { text } = readPdf(render({ template: createBuiltInTemplate('TEARSHEET-A4', 'SAMPLE'), figures }).bytes);
      expect(text).toMatch(/^N0039 .* 4\.00% 9\.52%$/m);
      expect(text).toMatch(/Volatility 99\.00% 42\.00% 100\.00%/);
    });

    test('the dates of the data and of the rendering are on every page', () => {
      const { pages } = renderBuiltIn('TEARSHEET-A4', sample);
      for (const { texts } of pages)
        expect(texts.map(({ text }) => text)).toContain(
          `Data to ${sample.figures.overview.end}  |  Rendered 2026-11-20 03:05:40 UTC`,
        );
    });
  });

  describe('rows beyond a limit', () => {
    const fewSample = sampleRun({
      names: 4,
      end: '2021-06-30',
      costs: 25,
      sectors: ['Energy', 'Health', 'Banks', 'Mines'],
    });
    const columns = openColumns((from, to) => fewSample.columns.subarray(from, to));
    const { contributions } = createAttributionView(columns, { start: null, end: null });
    const measurement = {
      payload: {
        volatility: 0.4,
        covered_weight: 1,
        uncovered: [],
        risk_model: null,
        risk_estimator: null,
        window_start: null,
        window_end: null,
        observations: null,
      },
      findContribution: (name: string) => 0.1 + Number(name.slice(1)) / 1000,
    };
    const figures = createRunFigures({
      columns,
      overview: fewSample.overview,
      risk: { measured: measurement },
      terms: fewSample.figures.terms,
    });
    const renderText = (block: object): string =>
      readPdf(render({ template: parse([{ index_id: 'SAMPLE', ...block }]), figures }).bytes).text;

    test.each(['attribution', 'risk'])('one security of %s is named', (source) => {
      const text = renderText({ kind: 'table', source, limit: 3 });
      for (const { asset_id } of contributions) expect(text).toMatch(new RegExp(`^${asset_id} `, 'm'));
      expect(text).not.toContain('others');
    });

    test.each(['attribution', 'risk'])('two securities of %s are summed', (source) => {
      const text = renderText({ kind: 'table', source, limit: 2 });
      expect(text.match(/^N\d{4} /gm)).toHaveLength(2);
      const [, , third, fourth] = contributions.map(({ contribution }) => contribution);
      const restText =
        source === 'attribution' ? formatPercentFigure(third! + fourth!) : formatPercentFigure(0.1 + 0.1 + 0.001);
      expect(text).toMatch(new RegExp(`^2 others .*${restText.replace('.', '\\.')}`, 'm'));
    });

    test.each([
      ['table', 'constituents'],
      ['bar_chart', 'top_weights'],
      ['bar_chart', 'contributions'],
    ])('one security is named in a %s of %s, two are omitted', (kind, source) => {
      const listNamesAt = (limit: number) => new Set(renderText({ kind, source, limit }).match(/N\d{4}/g));
      expect(listNamesAt(3).size).toBe(4);
      expect(listNamesAt(2).size).toBe(2);
    });

    test.each([
      ['FACTSHEET-A4', 10],
      ['FACTSHEET-LETTER', 8],
    ] as const)('a %s for %d securities lists one more, on the same number of pages', (id, limit) => {
      const largerSample = sampleRun({ names: limit + 1, end: '2022-12-30', costs: 25, sectors: ['Energy', 'Health'] });
      const { text, pages } = renderBuiltIn(id, largerSample);
      expect(text).not.toMatch(/of (9|11) (names|constituents)/);
      for (const { identifier } of largerSample.figures.constituents())
        expect(text.match(new RegExp(`${identifier} `, 'g'))).toHaveLength(2);
      expect(pages).toHaveLength(2);
    });

    test('one sector is named, two are summed', () => {
      const sectors = fewSample.figures.sectors();
      const formatWeights = ({ length }: { readonly length: number }, limit: number): string => {
        const text = renderText({ kind: 'bar_chart', source: 'sector_weights', limit });
        expect(text.match(/ \d+\.\d\d%/g)).toHaveLength(length);
        return text;
      };
      const namedWeights = formatWeights({ length: 4 }, 3);
      for (const { sector, weight } of sectors)
        expect(namedWeights).toContain(`${sector} ${formatPercentFigure(weight)}`);
      const otherWeight = sectors[2]!.weight + sectors[3]!.weight;
      expect(formatWeights({ length: 3 }, 2)).toContain(`2 others ${formatPercentFigure(otherWeight)}`);
    });
  });

  describe('contributors and detractors', () => {
    const renderBars = (sampled: SampleRun, limit: number): string =>
      readPdf(
        render({
          template: parse([{ kind: 'bar_chart', index_id: 'SAMPLE', source: 'contributions', limit }]),
          figures: sampled.figures,
        }).bytes,
      ).text;
    const readContributions = ({ columns }: SampleRun) =>
      createAttributionView(
        openColumns((from, to) => columns.subarray(from, to)),
        { start: null, end: null },
      ).contributions;

    test('are above and below zero, with more from the side that has more', () => {
      const risenSample = sampleRun({ names: 30, end: '2022-06-30' });
      const rows = readContributions(risenSample);
      const detractors = rows.filter(({ contribution }) => contribution < 0);
      expect(detractors.length).toBeLessThan(13);
      const text = renderBars(risenSample, 26);
      expect(text).toContain(
        `${26 - detractors.length} largest contributors and ${detractors.length} largest detractors of 30 names`,
      );
      for (const { asset_id, contribution } of [...rows.slice(0, 26 - detractors.length), ...detractors])
        expect(text).toContain(`${asset_id} ${formatPercentFigure(contribution)}`);
    });
  });
}
