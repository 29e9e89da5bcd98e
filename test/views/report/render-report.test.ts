import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/refusal.js';
import { BUILT_IN_IDS, builtInTemplate, type BuiltInId } from '#domain/reports/built-in.js';
import { ReportTemplateDocument } from '#domain/reports/template-document.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { attributionView } from '#views/attribution-view.js';
import { heldWeights, weightsView } from '#views/weights-view.js';
import { createRunFigures, type RunFigures } from '#views/report/figures.js';
import { countText, percentText, ratioText } from '#views/report/numbers.js';
import { renderReport } from '#views/report/render-report.js';
import { openFonts } from '#views/report/text/fonts.js';
import { outside, overlaps, readPdf, type Pdf } from './read-pdf.js';
import { sampleRun, type SampleRun } from './sample-run.js';

const fonts = openFonts();
const STAMP = '2026-11-20T03:05:40.000000+00:00';
const COMPANIES = [
  'Εθνική Τράπεζα της Ελλάδος',
  '中国石油天然气股份有限公司',
  'Société Générale d’Électricité & Fils <SA>',
  'A company whose registered name is so long that no column of any table has room for all of it on one line, or on two',
  '삼성전자',
  'Газпром',
  'Plain plc',
];
const SECTORS = ['Ενέργεια', '金融', 'Industrials', 'Consumer discretionary'];

interface Rendering {
  readonly template: ReportTemplateDocument;
  readonly figures?: RunFigures;
  readonly renderedAt?: string;
}

function render({ template, figures, renderedAt = STAMP }: Rendering): {
  readonly bytes: Uint8Array;
  readonly pages: number;
} {
  return renderReport({
    template,
    figures: new Map(figures === undefined ? [] : [['SAMPLE', figures]]),
    renderedAt,
    fonts,
    report: () => {},
  });
}

const builtIn = (id: BuiltInId, { figures }: SampleRun): Pdf =>
  readPdf(render({ template: builtInTemplate(id, 'SAMPLE'), figures }).bytes);
const parse = (blocks: unknown[], page: object = {}) =>
  ReportTemplateDocument.parse({ template_id: 'T', name: 'Template', blocks, page });

/** What holds for every document. */
function assertSound(pdf: Pdf, margin = 0): void {
  for (const page of pdf.pages) {
    expect(overlaps(page)).toEqual([]);
    expect(outside(page, margin)).toEqual([]);
    expect(page.texts.filter(({ isMarked }) => !isMarked)).toEqual([]);
  }
  pdf.pages.forEach(({ texts }, i) =>
    expect(texts.some(({ text, isArtifact }) => isArtifact && text === `Page ${i + 1} of ${pdf.pages.length}`)).toBe(
      true,
    ),
  );
  expect(pdf.fonts.every(({ isEmbedded }) => isEmbedded)).toBe(true);
  expect(pdf.source).not.toMatch(/\/(?:JS|JavaScript|URI|Launch|EmbeddedFile|Annots|OpenAction)\b/);
}

let sample: SampleRun;
beforeAll(() => {
  sample = sampleRun({
    names: 40,
    start: '2020-01-01',
    end: '2023-06-30',
    cap: 0.08,
    benchmark: true,
    costs: 10,
    companies: COMPANIES,
    sectors: SECTORS,
    name: 'Δείκτης & 指数',
  });
});

describe.each(BUILT_IN_IDS)('%s', (id) => {
  test('lays nothing on anything else and nothing over the margin', () => {
    assertSound(builtIn(id, sample), id.endsWith('LETTER') ? 42 : 48);
  });

  test.each([
    ['one name', { names: 1, end: '2022-06-30' }],
    ['one month of history', { names: 12, end: '2021-02-01', sectors: SECTORS }],
    ['two sessions', { names: 3, end: '2021-01-04' }],
    ['prices that never move', { names: 3, end: '2022-03-01', isFlat: true }],
  ] as const)('is sound for an index with %s', (_, options) => {
    assertSound(builtIn(id, sampleRun(options)), id.endsWith('LETTER') ? 42 : 48);
  });

  test('prints under the date that its run is not current, with the reasons, on as many pages', () => {
    const reasons = [
      'The index SAMPLE is not that of the run: base_value, pipeline.',
      'The run was made on the store desk; other is active.',
      'The run was made by engine 0.1.0; 0.2.0 may give other bits.',
    ];
    const stale = { definition: true, data: true, engine: true, reasons };
    const pdf = builtIn(id, { ...sample, figures: { ...sample.figures, stale } });
    assertSound(pdf, id.endsWith('LETTER') ? 42 : 48);
    expect(pdf.text.replaceAll('\n', ' ')).toContain(`Not current. ${reasons.join(' ')}`);
    expect(pdf.text).toContain('Not current: definition, data, engine');
    for (const { texts } of pdf.pages)
      expect(texts.some(({ text, isArtifact }) => isArtifact && text.includes('  |  Not current  |  '))).toBe(true);
    const current = builtIn(id, sample);
    expect(current.text).not.toContain('Not current');
    expect(pdf.pages.length).toBe(current.pages.length);
  });

  test('has the size of its name, a title and a language, and is tagged', () => {
    const { source, pages } = builtIn(id, sample);
    const [, , width, height] = pages[0]!.mediaBox;
    expect([width, height]).toEqual(id.endsWith('LETTER') ? [612, 792] : [595.28, 841.89]);
    expect(source.startsWith('%PDF-1.7')).toBe(true);
    expect(source.trimEnd().endsWith('%%EOF')).toBe(true);
    expect(source).toMatch(/\/Marked true/);
    expect(source).toMatch(/\/Lang \(en\)/);
    expect(source).toMatch(/\/DisplayDocTitle true/);
    expect(source).toContain('&amp;'); // the title in the metadata, as XML
  });
});

describe('the numbers of a factsheet are those of the service', () => {
  test('metrics and concentration', () => {
    const { text } = builtIn('FACTSHEET-A4', sample);
    const { metrics } = sample.result;
    const { concentration } = sample.figures.overview;
    for (const name of [
      'total_return',
      'annualised_return',
      'volatility',
      'max_drawdown',
      'tracking_error',
      'tracking_difference',
    ])
      expect(text).toContain(percentText(metrics[name]!));
    for (const value of [
      ratioText(metrics['sharpe_ratio']!),
      countText(concentration.constituents),
      ratioText(concentration.effective_assets),
      percentText(concentration.largest),
    ])
      expect(text).toContain(value);
    expect(text).toContain(`Level ${ratioText(sample.result.level.data.at(-1)!)}`);
  });

  test('returns by year', () => {
    const { text } = builtIn('FACTSHEET-A4', sample);
    for (const [year, value] of Object.entries(sample.result.annual_returns)) {
      expect(text).toMatch(new RegExp(`^${year} .*${percentText(value).replaceAll(/[.-]/g, '\\$&')}$`, 'm'));
    }
  });

  test('constituents, as the table of weights has them', () => {
    const columns = openColumns((from, to) => sample.columns.subarray(from, to));
    const { weights } = weightsView({
      runId: 'SAMPLE',
      requestedAsOf: null,
      weights: heldWeights(columns, null),
      benchmark: null,
      sharesOf: () => null,
      risk: null,
      activeRisk: null,
    });
    const { text } = builtIn('FACTSHEET-A4', sample);
    for (const { identifier, weight, raw_weight } of weights.slice(0, 10)) {
      expect(text).toMatch(new RegExp(`^${identifier} .*${percentText(weight)} ${percentText(raw_weight)}`, 'm'));
    }
    expect(text).toContain(`The largest 10 of ${weights.length} constituents held on ${sample.figures.overview.end}`);
  });

  test('attribution, down to its total', () => {
    const columns = openColumns((from, to) => sample.columns.subarray(from, to));
    const { contributions, total_return, cap_drag, cost_drag } = attributionView(columns, { start: null, end: null });
    const { text } = builtIn('TEARSHEET-A4', sample);
    for (const row of contributions.slice(0, 15))
      expect(text).toContain([row.average_weight, row.total_return, row.contribution].map(percentText).join(' '));
    expect(text).toContain(`Total return ${percentText(total_return)}`);
    expect(text).toContain(`Capping: ${percentText(cap_drag)}. Costs: ${percentText(cost_drag)}.`);
  });

  test('rebalances, newest first, with the names that joined and left', () => {
    const { text } = builtIn('REBALANCE-A4', sample);
    const { rebalances } = openColumns((from, to) => sample.columns.subarray(from, to)).header;
    const dates = rebalances
      .slice(-12)
      .map(({ date }) => date)
      .toReversed();
    const printed = [...text.matchAll(/^(\d{4}-\d{2}-\d{2}) \d/gm)].map((match) => match[1]);
    expect(printed).toEqual(dates);
    for (const { date, redistributed } of rebalances.slice(-12))
      expect(text).toMatch(new RegExp(`^${date} .* ${percentText(redistributed)}$`, 'm'));
  });

  test('risk of what is held, adding up to its volatility', () => {
    const columns = openColumns((from, to) => sample.columns.subarray(from, to));
    const shares = new Map(columns.header.names.map((name, i) => [name, 0.001 * (i + 1)]));
    const measured = {
      payload: { volatility: 0.42, covered_weight: 0.99, uncovered: ['N0000'], window_start: null, window_end: null },
      contributionOf: (name: string) => (name === 'N0000' ? null : shares.get(name)!),
    };
    const figures = createRunFigures({
      columns,
      overview: sample.overview,
      risk: { measured },
      terms: sample.figures.terms,
    });
    const { text } = readPdf(render({ template: builtInTemplate('TEARSHEET-A4', 'SAMPLE'), figures }).bytes);
    expect(text).toMatch(/^N0039 .* 4\.00% 9\.52%$/m);
    expect(text).toMatch(/Volatility 99\.00% 42\.00% 100\.00%/);
  });

  test('the dates of the data and of the rendering stand on every page', () => {
    const { pages } = builtIn('TEARSHEET-A4', sample);
    for (const { texts } of pages)
      expect(texts.map(({ text }) => text)).toContain(
        `Data to ${sample.figures.overview.end}  |  Rendered 2026-11-20 03:05:40 UTC`,
      );
  });
});

describe('what is left beyond a limit', () => {
  const few = sampleRun({ names: 4, end: '2021-06-30', costs: 25, sectors: ['Energy', 'Health', 'Banks', 'Mines'] });
  const columns = openColumns((from, to) => few.columns.subarray(from, to));
  const { contributions } = attributionView(columns, { start: null, end: null });
  const measured = {
    payload: { volatility: 0.4, covered_weight: 1, uncovered: [], window_start: null, window_end: null },
    contributionOf: (name: string) => 0.1 + Number(name.slice(1)) / 1000,
  };
  const figures = createRunFigures({ columns, overview: few.overview, risk: { measured }, terms: few.figures.terms });
  const textOf = (block: object): string =>
    readPdf(render({ template: parse([{ index_id: 'SAMPLE', ...block }]), figures }).bytes).text;

  test.each(['attribution', 'risk'])('one name of %s is named', (source) => {
    const text = textOf({ kind: 'table', source, limit: 3 });
    for (const { asset_id } of contributions) expect(text).toMatch(new RegExp(`^${asset_id} `, 'm'));
    expect(text).not.toContain('others');
  });

  test.each(['attribution', 'risk'])('two names of %s are summed up', (source) => {
    const text = textOf({ kind: 'table', source, limit: 2 });
    expect(text.match(/^N\d{4} /gm)).toHaveLength(2);
    const [, , third, fourth] = contributions.map(({ contribution }) => contribution);
    const rest = source === 'attribution' ? percentText(third! + fourth!) : percentText(0.1 + 0.1 + 0.001);
    expect(text).toMatch(new RegExp(`^2 others .*${rest.replace('.', '\\.')}`, 'm'));
  });

  test.each([
    ['table', 'constituents'],
    ['bar_chart', 'top_weights'],
    ['bar_chart', 'contributions'],
  ])('one name is named in a %s of %s, two are left out', (kind, source) => {
    const namesAt = (limit: number) => new Set(textOf({ kind, source, limit }).match(/N\d{4}/g));
    expect(namesAt(3).size).toBe(4);
    expect(namesAt(2).size).toBe(2);
  });

  test.each([
    ['FACTSHEET-A4', 10],
    ['FACTSHEET-LETTER', 8],
  ] as const)('a %s for %d names names one more, on as many pages', (id, limit) => {
    const more = sampleRun({ names: limit + 1, end: '2022-12-30', costs: 25, sectors: ['Energy', 'Health'] });
    const { text, pages } = builtIn(id, more);
    expect(text).not.toMatch(/of (9|11) (names|constituents)/);
    for (const { identifier } of more.figures.constituents())
      expect(text.match(new RegExp(`${identifier} `, 'g'))).toHaveLength(2);
    expect(pages).toHaveLength(2);
  });

  test('one sector is named, two are summed up', () => {
    const sectors = few.figures.sectors();
    const weights = ({ length }: { readonly length: number }, limit: number): string => {
      const text = textOf({ kind: 'bar_chart', source: 'sector_weights', limit });
      expect(text.match(/ \d+\.\d\d%/g)).toHaveLength(length);
      return text;
    };
    const named = weights({ length: 4 }, 3);
    for (const { sector, weight } of sectors) expect(named).toContain(`${sector} ${percentText(weight)}`);
    const rest = sectors[2]!.weight + sectors[3]!.weight;
    expect(weights({ length: 3 }, 2)).toContain(`2 others ${percentText(rest)}`);
  });
});

describe('contributors and detractors', () => {
  const barsOf = (sampled: SampleRun, limit: number): string =>
    readPdf(
      render({
        template: parse([{ kind: 'bar_chart', index_id: 'SAMPLE', source: 'contributions', limit }]),
        figures: sampled.figures,
      }).bytes,
    ).text;
  const contributionsOf = ({ columns }: SampleRun) =>
    attributionView(
      openColumns((from, to) => columns.subarray(from, to)),
      { start: null, end: null },
    ).contributions;

  test('are those above and below nothing, the others of the side that has more', () => {
    const risen = sampleRun({ names: 30, end: '2022-06-30' });
    const rows = contributionsOf(risen);
    const detractors = rows.filter(({ contribution }) => contribution < 0);
    expect(detractors.length).toBeLessThan(13);
    const text = barsOf(risen, 26);
    expect(text).toContain(
      `${26 - detractors.length} largest contributors and ${detractors.length} largest detractors of 30 names`,
    );
    for (const { asset_id, contribution } of [...rows.slice(0, 26 - detractors.length), ...detractors])
      expect(text).toContain(`${asset_id} ${percentText(contribution)}`);
  });
});

describe('the head', () => {
  test('of an index derived from one with a long id ends the line that has no room', () => {
    const parent = {
      index_id: 'P'.repeat(64),
      observations: 3,
      total_return: 0,
      tracking_difference: 0,
      tracking_error: 0,
    };
    const figures = { ...sample.figures, overview: { ...sample.figures.overview, parent } };
    const pdf = readPdf(render({ template: builtInTemplate('FACTSHEET-A4', 'SAMPLE'), figures }).bytes);
    assertSound(pdf, 48);
    expect(pdf.text).toMatch(/Derived from P+…/);
    expect(pdf.text).toContain('Tracking error to parent');
  });

  test('of a run stored without a price basis names none', () => {
    const terms = { transactionCostBps: 2.5, adjustment: null };
    const { text } = builtIn('FACTSHEET-A4', { ...sample, figures: { ...sample.figures, terms } });
    expect(text).toContain('Transaction cost 2.50 bps');
    expect(text).not.toMatch(/Prices (?:as|adjusted)/);
  });
});

describe('names of every script', () => {
  test('are printed as they are, and read back', () => {
    const { text, fonts: embedded } = builtIn('REBALANCE-A4', sample);
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

  test('label the bars of what they name, an identifier those of a name without one', () => {
    const labelled = (names: readonly (string | null)[]) => {
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
    const text = labelled(['Газпром', null]);
    for (const label of ['Газпром', 'N0001']) expect(text.split(label)).toHaveLength(3);
    expect(text).not.toContain('N0000');
  });

  test('lists are lists to those who hear a document', () => {
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

  test('control characters and marks of direction are gone', () => {
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
  const frame = (rows: number) => ({
    index: Array.from({ length: rows }, (_, i) => `row ${i}`),
    columns: ['Text', 'Figure', 'Mixed'],
    data: Array.from({ length: rows }, (_, i) => [
      `text ${i} `.repeat((i % 9) + 1),
      i * 1000.5,
      i % 2 === 0 ? null : 'x',
    ]),
  });

  test('repeat their head on every page and cut no row', () => {
    const pdf = readPdf(
      render({ template: parse([{ kind: 'table', title: 'Long', source: 'literal', limit: 500, frame: frame(500) }]) })
        .bytes,
    );
    assertSound(pdf, 36);
    expect(pdf.pages.length).toBeGreaterThan(5);
    for (const { texts } of pdf.pages) expect(texts.filter(({ text }) => text === 'Figure')).toHaveLength(1);
    expect([...pdf.text.matchAll(/^row (\d+) /gm)].map((match) => Number(match[1]))).toEqual(
      Array.from({ length: 500 }, (_, i) => i),
    );
    expect(pdf.text).toContain('499,249.50');
  });

  test('an index of 3,000 names is printed whole', () => {
    const large = sampleRun({ names: 3000, end: '2021-03-01' });
    const pdf = readPdf(
      render({
        template: parse([{ kind: 'table', index_id: 'SAMPLE', source: 'constituents', limit: 3000 }]),
        figures: large.figures,
      }).bytes,
    );
    assertSound(pdf, 36);
    expect(pdf.text.match(/^N\d{4} /gm)).toHaveLength(3000);
  });

  test('columns that do not fit go on below, with the first one again', () => {
    const columns = Array.from({ length: 24 }, (_, i) => `Column ${i}`);
    const wide = {
      index: ['first', 'second'],
      columns,
      data: [columns.map((_, i) => i * 1000), columns.map((_, i) => -i * 1e6)],
    };
    const pdf = readPdf(
      render({ template: parse([{ kind: 'table', source: 'literal', width: 'half', frame: wide }]) }).bytes,
    );
    assertSound(pdf, 36);
    expect(pdf.text.match(/^first /gm)!.length).toBeGreaterThan(2);
    expect(pdf.text).toContain('-23,000,000');
  });
});

describe('pages', () => {
  const everything = [
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
    assertSound(readPdf(render({ template: parse(everything, page), figures: sample.figures }).bytes), page.margin);
  });

  test('of a report beyond their limit are refused', () => {
    const rows = Array.from({ length: 5000 }, (_, i) => [`row ${i}`]);
    const long = {
      kind: 'table',
      source: 'literal',
      limit: 5000,
      frame: { index: rows.map((_, i) => i), columns: ['Text'], data: rows },
    };
    const refused = (): unknown =>
      render({ template: parse([long], { size: 'LETTER', orientation: 'landscape', margin: 144 }) });
    expect(refused).toThrow(Refusal);
    expect(refused).toThrow(/more than 200 pages/);
  });

  test('a report can be stopped while it is drawn', () => {
    const stop = new Error('stopped');
    const drawn = (): unknown =>
      renderReport({
        template: builtInTemplate('TEARSHEET-A4', 'SAMPLE'),
        figures: new Map([['SAMPLE', sample.figures]]),
        renderedAt: STAMP,
        fonts,
        report: (fraction) => {
          if (fraction >= 0.5) throw stop;
        },
      });
    expect(drawn).toThrow(stop);
  });
});

describe('bytes', () => {
  test('are the same for the same run, template and time', () => {
    const rendering = { template: builtInTemplate('FACTSHEET-A4', 'SAMPLE'), figures: sample.figures };
    const again = createRunFigures({
      columns: openColumns((from, to) => sample.columns.subarray(from, to)),
      overview: sample.overview,
      risk: { missing: 'No risk was estimated.' },
      terms: sample.figures.terms,
    });
    expect(
      Buffer.from(render(rendering).bytes).equals(Buffer.from(render({ ...rendering, figures: again }).bytes)),
    ).toBe(true);
  });

  test('differ by the time of the rendering alone', () => {
    const rendering = { template: builtInTemplate('FACTSHEET-A4', 'SAMPLE'), figures: sample.figures };
    const [first, second] = [
      render(rendering),
      render({ ...rendering, renderedAt: '2027-01-31T13:59:01.000000+00:00' }),
    ].map(({ bytes }) => readPdf(bytes));
    const without = ({ text }: Pdf): string => text.replaceAll(/Rendered .* UTC/g, '');
    expect(without(first!)).toBe(without(second!));
    expect(first!.source).toContain('D:20261120030540Z');
    expect(second!.source).toContain('D:20270131135901Z');
  });
});

/** Whether a program is on this machine; it is said when it is not. */
function hasTool(name: string, question: string): boolean {
  try {
    execFileSync(name, [question], { stdio: 'ignore' });
    return true;
  } catch {
    console.info(`${name} is not on this machine: what it says of the documents is not checked`);
    return false;
  }
}

describe('other programs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-report-'));
  const file = join(folder, 'report.pdf');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeAll(() =>
    writeFileSync(file, render({ template: builtInTemplate('TEARSHEET-A4', 'SAMPLE'), figures: sample.figures }).bytes),
  );

  test.skipIf(!hasTool('qpdf', '--version'))('qpdf finds nothing wrong', () => {
    expect(execFileSync('qpdf', ['--check', file], { encoding: 'utf8' })).toContain(
      'No syntax or stream encoding errors found',
    );
  });

  test.skipIf(!hasTool('pdftotext', '-v'))('pdftotext reads the same figures', () => {
    const text = execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' });
    for (const value of Object.values(sample.result.annual_returns)) expect(text).toContain(percentText(value));
    expect(text).toContain('中国石油天然气股份有限公司');
  });
});
