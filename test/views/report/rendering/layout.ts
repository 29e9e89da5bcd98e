import { describe, expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createBuiltInTemplate, createTerms } from '#domain/outputs/report-templates.js';
import { renderReport } from '#views/report/render-report.js';
import { readPdf } from '../read-pdf.js';
import { sampleRun } from '../sample-run.js';
import { IS_SOAK } from '../../../soak.js';
import { fonts, assertPdfIsValid, renderBuiltIn, parse, render, sample, SECTORS, STAMP } from './set-up.js';
import { createFrame } from '../../../table-frame.js';

export function describeLayout(): void {
  describe('names of every script', () => {
    test('are printed unchanged, and extracted unchanged', () => {
      const { text, fonts: embedded } = renderBuiltIn('REBALANCE-A4', sample);
      for (const name of [
        'Εθνική Τράπεζα της Ελλάδος',
        '中国石油天然气股份有限公司',
        '삼성전자',
        'Газпром',
        'Δείκτης & 指数',
        'Société Générale d’Électricité & Fils <SA>',
        '金融',
      ])
        expect(text).toContain(name);
      expect(embedded.length).toBe(4);
    });

    test('the bars have the names of their securities, or an identifier where the name is missing', () => {
      const renderLabels = (names: readonly (string | null)[]) => {
        const run = sampleRun({ names: 2, end: '2021-03-01', companies: names });
        const template = parse(
          (['top_weights', 'contributions'] as const).map((source) => ({
            kind: 'bar_chart',
            index_id: 'SAMPLE',
            source,
          })),
        );
        return readPdf(render({ template, figures: run.figures }).bytes).text;
      };
      const text = renderLabels(['Газпром', null]);
      for (const label of ['Газпром', 'N0001']) expect(text.split(label)).toHaveLength(3);
      expect(text).not.toContain('N0000');
    });

    test('lists are tagged as lists for screen readers', () => {
      const { source } = readPdf(
        render({ template: parse([{ kind: 'text', text: 'before\n- one\n- two\n\nbetween\n\n1. first' }]) }).bytes,
      );
      const count = (type: string): number => source.match(new RegExp(`/S /${type}\\b`, 'g'))?.length ?? 0;
      expect({ L: count('L'), LI: count('LI'), Lbl: count('Lbl'), LBody: count('LBody'), P: count('P') }).toEqual({
        L: 2,
        LI: 3,
        Lbl: 3,
        LBody: 3,
        P: 2,
      });
    });

    test('control characters and direction marks are removed', () => {
      const template = parse([
        { kind: 'header', title: 'A\u0000B\u202EC', stamp: false },
        { kind: 'text', text: 'x\u0007y' },
        { kind: 'stat_grid', values: { 'a\tb': 'c\nd' } },
      ]);
      const { text } = readPdf(render({ template }).bytes);
      expect(text).toContain('ABC');
      expect(text).toContain('xy');
      expect(text).toContain('c d');
    });
  });

  describe('long tables', () => {
    const createFrame = (rows: number) => ({
      index: Array.from({ length: rows }, (_, i) => `row ${i}`),
      columns: ['Text', 'Figure', 'Mixed'],
      data: Array.from({ length: rows }, (_, i) => [
        `text ${i} `.repeat((i % 9) + 1),
        i * 1000.5,
        i % 2 === 0 ? null : 'x',
      ]),
    });

    test('repeat their head on every page and split no row', () => {
      const pdf = readPdf(
        render({
          template: parse([{ kind: 'table', title: 'Long', source: 'literal', limit: 500, frame: createFrame(500) }]),
        }).bytes,
      );
      assertPdfIsValid(pdf, 36);
      expect(pdf.pages.length).toBeGreaterThan(5);
      for (const { texts } of pdf.pages) expect(texts.filter(({ text }) => text === 'Figure')).toHaveLength(1);
      expect([...pdf.text.matchAll(/^row (\d+) /gm)].map((match) => Number(match[1]))).toEqual(
        Array.from({ length: 500 }, (_, i) => i),
      );
      expect(pdf.text).toContain('499,249.50');
    });

    test('an index of many securities is printed completely', () => {
      const names = IS_SOAK ? 3000 : 1000;
      const large = sampleRun({ names, end: '2021-01-08' });
      const pdf = readPdf(
        render({
          template: parse([{ kind: 'table', index_id: 'SAMPLE', source: 'constituents', limit: names }]),
          figures: large.figures,
        }).bytes,
      );
      assertPdfIsValid(pdf, 36);
      expect(pdf.text.match(/^N\d{4} /gm)).toHaveLength(names);
    });

    test('columns that do not fit continue below, with the first column repeated', () => {
      const columns = Array.from({ length: 24 }, (_, i) => `Column ${i}`);
      const wideTemplate = {
        index: ['first', 'second'],
        columns,
        data: [columns.map((_, i) => i * 1000), columns.map((_, i) => -i * 1e6)],
      };
      const pdf = readPdf(
        render({ template: parse([{ kind: 'table', source: 'literal', width: 'half', frame: wideTemplate }]) }).bytes,
      );
      assertPdfIsValid(pdf, 36);
      expect(pdf.text.match(/^first /gm)!.length).toBeGreaterThan(2);
      expect(pdf.text).toContain('-23,000,000');
    });
  });

  describe('pages', () => {
    const allBlocks = [
      { kind: 'header', index_id: 'SAMPLE', subtitle: 'Everything' },
      { kind: 'stat_grid', index_id: 'SAMPLE', columns: 6, width: 'half' },
      { kind: 'stat_grid', index_id: 'SAMPLE', columns: 1, stats: ['volatility'], width: 'half' },
      {
        kind: 'chart',
        index_id: 'SAMPLE',
        lines: ['level', 'index_level', 'benchmark', 'drawdown', 'rolling_volatility'],
        log_scale: true,
        height: 1000,
      },
      { kind: 'chart', index_id: 'SAMPLE', lines: ['level'], height: 60, width: 'half' },
      { kind: 'bar_chart', index_id: 'SAMPLE', source: 'annual_returns', limit: 30, width: 'half' },
      { kind: 'table', index_id: 'SAMPLE', source: 'monthly_returns', width: 'half', title: 'Months' },
      { kind: 'table', index_id: 'SAMPLE', source: 'constituents', width: 'half', limit: 20 },
      { kind: 'bar_chart', index_id: 'SAMPLE', source: 'contributions', limit: 60 },
      {
        kind: 'bar_chart',
        source: 'literal',
        values: { up: 5, down: -2.5, [`a label ${'that goes on '.repeat(5)}`]: 1234567 },
      },
      { kind: 'table', index_id: 'SAMPLE', source: 'attribution', width: 'half' },
      { kind: 'table', index_id: 'SAMPLE', source: 'rebalances', limit: 30, width: 'half' },
      { kind: 'text', title: 'Text', text: `${'word '.repeat(400)}\n\n- **bold** entry\n- another ${'x'.repeat(300)}` },
    ];

    test.each([
      ['A4 upright', { size: 'A4', margin: 36 }],
      ['A4 lying with wide margins', { size: 'A4', orientation: 'landscape', margin: 144 }],
      ['Letter without margins', { size: 'LETTER', margin: 0 }],
      ['A3 lying', { size: 'A3', orientation: 'landscape', margin: 60 }],
    ] as const)('%s hold every kind of block', (_, page) => {
      assertPdfIsValid(
        readPdf(render({ template: parse(allBlocks, page), figures: sample.figures }).bytes),
        page.margin,
      );
    });

    test('of a built-in template are not nearly empty, and the charts of other templates keep their heights', () => {
      const { figures } = sampleRun({ names: 12, start: '2013-01-01', end: '2023-06-30', sectors: SECTORS });
      const index = IndexDocument.parse({
        id: 'TWICE',
        name: 'Twice',
        calendar: 'XTST',
        base_date: '2013-01-01',
        kind: 'overlay',
        currency: 'USD',
        source_index_id: 'SAMPLE',
        overlay: { type: 'leverage', factor: 2 },
      });
      const attribution = { ...figures.attribution(), overlay_parts: [] };
      const overlaid = { ...figures, terms: createTerms({ request: {} }, index), attribution: () => attribution };
      const factsheet = createBuiltInTemplate('FACTSHEET-A4', 'SAMPLE');
      const renderPages = (template: typeof factsheet) => {
        const pdf = readPdf(render({ template, figures: overlaid }).bytes);
        assertPdfIsValid(pdf, 48);
        return pdf.pages.map(({ texts }) => texts.filter(({ isArtifact }) => !isArtifact).map(({ text }) => text));
      };
      const [first, second, ...others] = renderPages(factsheet);
      expect(others).toEqual([]);
      expect(second).toEqual(
        expect.arrayContaining(['Drawdown and volatility', 'Return of the overlay', 'Definitions']),
      );
      const ownPages = renderPages({ ...factsheet, template_id: 'OWN' });
      expect(ownPages[0]).toEqual(first);
      expect(ownPages[1]).not.toContain('Definitions');
      expect(ownPages[2]![0]).toBe('Definitions');
    });

    test('of a report beyond their limit are refused', () => {
      const rows = Array.from({ length: 5000 }, (_, i) => [`row ${i}`]);
      const long = {
        kind: 'table',
        source: 'literal',
        limit: 5000,
        frame: createFrame(['Text'], rows),
      };
      const renderTooLong = (): unknown =>
        render({ template: parse([long], { size: 'LETTER', orientation: 'landscape', margin: 144 }) });
      expect(renderTooLong).toThrow(
        expect.objectContaining({ name: 'Refusal', message: expect.stringContaining('more than 200 pages') as string }),
      );
    });

    test('a report can be stopped while it is drawn', () => {
      const stop = new Error('stopped');
      const drawReport = (): unknown =>
        renderReport({
          template: createBuiltInTemplate('TEARSHEET-A4', 'SAMPLE'),
          figures: new Map([['SAMPLE', sample.figures]]),
          renderedAt: STAMP,
          creator: 'Divisor',
          fonts,
          report: (fraction) => {
            if (fraction >= 0.5) throw stop;
          },
        });
      expect(drawReport).toThrow(stop);
    });
  });
}
