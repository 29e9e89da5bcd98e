import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inflateSync } from 'node:zlib';
import { BUILT_IN_IDS, createBuiltInTemplate, ReportTemplateDocument } from '#domain/outputs/report-templates.js';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import { createRunFigures, formatPercentFigure } from '#views/report/figures.js';
import { openFonts } from '#views/report/text.js';
import { IS_SOAK } from '../../soak.js';
import { readPdf, type Pdf } from './read-pdf.js';
import { sampleRun } from './sample-run.js';
import { describeFigures } from './rendering/figures.js';
import { describeLayout } from './rendering/layout.js';
import { assertPdfIsValid, renderBuiltIn, render, sample, SECTORS } from './rendering/set-up.js';

describe.each(BUILT_IN_IDS)('%s', (id) => {
  test('overlaps no elements and exceeds no margin', () => {
    assertPdfIsValid(renderBuiltIn(id, sample), id.endsWith('LETTER') ? 42 : 48);
  });

  test('has its page size, a title and a language, and is tagged', () => {
    const { source, pages } = renderBuiltIn(id, sample);
    const [, , width, height] = pages[0]!.mediaBox;
    expect([width, height]).toEqual(id.endsWith('LETTER') ? [612, 792] : [595.28, 841.89]);
    expect(source.startsWith('%PDF-1.7')).toBe(true);
    expect(source.trimEnd().endsWith('%%EOF')).toBe(true);
    expect(source).toMatch(/\/Marked true/);
    expect(source).toMatch(/\/Lang \(en\)/);
    expect(source).toMatch(/\/DisplayDocTitle true/);
    expect(source).toContain('&amp;'); // the title in the metadata is escaped for XML
  });
});
/** Ids of papers to draw. Of papers with the same blocks, one is drawn. The soak draws all of them. */
const PAPERS = BUILT_IN_IDS.filter((id) => IS_SOAK || id.endsWith('A4'));

describe.each(PAPERS)('%s', (id) => {
  test.each([
    ['one name', { names: 1, end: '2022-06-30' }],
    ['one month of history', { names: 12, end: '2021-02-01', sectors: SECTORS }],
    ['two sessions', { names: 3, end: '2021-01-04' }],
    ['prices that never move', { names: 3, end: '2022-03-01', isFlat: true }],
  ] as const)('is sound for an index with %s', (_, options) => {
    assertPdfIsValid(renderBuiltIn(id, sampleRun(options)), id.endsWith('LETTER') ? 42 : 48);
  });

  test('prints under the date that its run is not current, with the reasons, on the same number of pages', () => {
    const reasons = [
      'The index SAMPLE changed since this run: base value, weighting.',
      'The run was made on the store desk; other is active.',
      'The run was made by engine 0.1.0; engine 0.2.0 may compute slightly different values.',
    ];
    const staleState = { definition: true, data: true, engine: true, reasons, store_id: null };
    const pdf = renderBuiltIn(id, { ...sample, figures: { ...sample.figures, stale: staleState } });
    assertPdfIsValid(pdf, id.endsWith('LETTER') ? 42 : 48);
    expect(pdf.text.replaceAll('\n', ' ')).toContain(`Not current. ${reasons.join(' ')}`);
    expect(pdf.text).toContain('Not current: definition, data, engine');
    for (const { texts } of pdf.pages)
      expect(texts.some(({ text, isArtifact }) => isArtifact && text.includes('  |  Not current  |  '))).toBe(true);
    const current = renderBuiltIn(id, sample);
    expect(current.text).not.toContain('Not current');
    expect(pdf.pages.length).toBe(current.pages.length);
  });
});
describe('the head', () => {
  test('of an index derived from one with a long id truncates the line', () => {
    const parent = {
      index_id: 'P'.repeat(64),
      observations: 3,
      total_return: 0,
      tracking_difference: 0,
      tracking_error: 0,
    };
    const figures = { ...sample.figures, overview: { ...sample.figures.overview, parent } };
    const pdf = readPdf(render({ template: createBuiltInTemplate('FACTSHEET-A4', 'SAMPLE'), figures }).bytes);
    assertPdfIsValid(pdf, 48);
    expect(pdf.text).toMatch(/Derived from P+…/);
    expect(pdf.text).toContain('Tracking error to parent');
  });

  test('of a run stored without a price basis states none', () => {
    const terms = { transactionCostBps: 2.5, adjustment: null, overlay: null };
    const { text } = renderBuiltIn('FACTSHEET-A4', { ...sample, figures: { ...sample.figures, terms } });
    expect(text).toContain('Transaction cost 2.50 bps');
    expect(text).not.toMatch(/Prices (?:as|adjusted)/);
  });
});

describeFigures();
describeLayout();

describe('bytes', () => {
  test('are equal for equal run, template and time, by newly opened fonts and by those of other documents', () => {
    const rendering = { template: createBuiltInTemplate('FACTSHEET-A4', 'SAMPLE'), figures: sample.figures };
    const secondFigures = createRunFigures({
      columns: openColumns((from, to) => sample.columns.subarray(from, to)),
      overview: sample.overview,
      risk: { missing: 'No risk was estimated.' },
      terms: sample.figures.terms,
    });
    expect(
      Buffer.from(render(rendering).bytes).equals(
        Buffer.from(render({ ...rendering, figures: secondFigures, shelf: openFonts() }).bytes),
      ),
    ).toBe(true);
  });

  test('differ only by the time of rendering', () => {
    const rendering = { template: createBuiltInTemplate('FACTSHEET-A4', 'SAMPLE'), figures: sample.figures };
    const [first, second] = [
      render(rendering),
      render({ ...rendering, renderedAt: '2027-01-31T13:59:01.000000+00:00' }),
    ].map(({ bytes }) => readPdf(bytes));
    const removeTime = ({ text }: Pdf): string => text.replaceAll(/Rendered .* UTC/g, '');
    expect(removeTime(first!)).toBe(removeTime(second!));
    expect(first!.source).toContain('D:20261120030540Z');
    expect(second!.source).toContain('D:20270131135901Z');
  });
});

/** Returns the decompressed streams of a document. */
function readStreams(bytes: Uint8Array): Buffer[] {
  const source = Buffer.from(bytes).toString('latin1');
  return [...source.matchAll(/\nstream\n(.*?)\nendstream/gs)].map(([, text]) => {
    const stream = Buffer.from(text!, 'latin1');
    return stream[0] === 0x78 ? inflateSync(stream) : stream;
  });
}

test('the fonts of a report without figures are equal whatever the digits of its stamp', () => {
  const template = ReportTemplateDocument.parse({
    template_id: 'OWN',
    name: 'Own',
    blocks: [{ kind: 'stat_grid', values: { Manager: 'Desk' } }],
  });
  const [first, second] = ['2026-11-20T03:05:40.000000+00:00', '2027-01-31T13:59:01.000000+00:00'].map((renderedAt) =>
    readStreams(render({ template, figures: sample.figures, renderedAt }).bytes),
  );
  expect(first!.length).toBe(second!.length);
  const differentStreams = first!
    .filter((stream, i) => !stream.equals(second![i]!))
    .map((stream) => stream.toString('latin1'));
  // The stamp occurs on the page and in the metadata.
  expect(
    differentStreams.map((text) => (text.includes('<x:xmpmeta') ? 'metadata' : text.includes(' Tf') ? 'page' : text)),
  ).toEqual(expect.arrayContaining(['page']));
  expect(differentStreams.every((text) => text.includes('<x:xmpmeta') || text.includes(' Tf'))).toBe(true);
});

/** Returns true if a program is installed. Otherwise it prints a note. */
function hasTool(name: string, question: string): boolean {
  try {
    execFileSync(name, [question], { stdio: 'ignore' });
    return true;
  } catch {
    console.info(`${name} is not on this machine: its check of the documents is skipped`);
    return false;
  }
}

describe('other programs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-report-'));
  const file = join(folder, 'report.pdf');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeAll(() =>
    writeFileSync(
      file,
      render({ template: createBuiltInTemplate('TEARSHEET-A4', 'SAMPLE'), figures: sample.figures }).bytes,
    ),
  );

  test.skipIf(!hasTool('qpdf', '--version'))('qpdf finds no error', () => {
    expect(execFileSync('qpdf', ['--check', file], { encoding: 'utf8' })).toContain(
      'No syntax or stream encoding errors found',
    );
  });

  test.skipIf(!hasTool('pdftotext', '-v'))('pdftotext extracts the same figures', () => {
    const text = execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' });
    for (const value of Object.values(sample.result.annual_returns)) expect(text).toContain(formatPercentFigure(value));
    expect(text).toContain('中国石油天然气股份有限公司');
  });
});
