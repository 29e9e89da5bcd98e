import { expect } from 'vitest';
import { type BuiltInId, createBuiltInTemplate, ReportTemplateDocument } from '#domain/outputs/report-templates.js';
import type { RunFigures } from '#views/report/figures.js';
import { renderReport } from '#views/report/render-report.js';
import { type FontShelf, openFonts } from '#views/report/text.js';
import { listTextsOutside, listOverlaps, readPdf, type Pdf } from '../read-pdf.js';
import { sampleRun, type SampleRun } from '../sample-run.js';

export const fonts = openFonts();
export const STAMP = '2026-11-20T03:05:40.000000+00:00';
export const COMPANIES = [
  'Εθνική Τράπεζα της Ελλάδος',
  '中国石油天然气股份有限公司',
  'Société Générale d’Électricité & Fils <SA>',
  'A company whose registered name is so long that no column of any table has room for all of it on one line, or on two',
  '삼성전자',
  'Газпром',
  'Plain plc',
];
export const SECTORS = ['Ενέργεια', '金融', 'Industrials', 'Consumer discretionary'];

interface Rendering {
  readonly template: ReportTemplateDocument;
  readonly figures?: RunFigures;
  readonly renderedAt?: string;
  readonly shelf?: FontShelf;
}

export function render({ template, figures, renderedAt = STAMP, shelf = fonts }: Rendering): {
  readonly bytes: Uint8Array;
  readonly pages: number;
} {
  return renderReport({
    template,
    figures: new Map(figures === undefined ? [] : [['SAMPLE', figures]]),
    renderedAt,
    creator: 'Divisor',
    fonts: shelf,
    report: () => {},
  });
}

/** Rendered documents by their figures. They are kept because several tests check the same document. */
const drawnReports = new WeakMap<RunFigures, Map<BuiltInId, Pdf>>();

export function renderBuiltIn(id: BuiltInId, { figures }: SampleRun): Pdf {
  const documents = drawnReports.get(figures) ?? new Map<BuiltInId, Pdf>();
  drawnReports.set(figures, documents);
  const pdf = documents.get(id) ?? readPdf(render({ template: createBuiltInTemplate(id, 'SAMPLE'), figures }).bytes);
  documents.set(id, pdf);
  return pdf;
}
export const parse = (blocks: unknown[], page: object = {}) =>
  ReportTemplateDocument.parse({ template_id: 'T', name: 'Template', blocks, page });

/** Checks requirements of every document. */
export function assertPdfIsValid(pdf: Pdf, margin = 0): void {
  for (const page of pdf.pages) {
    expect(listOverlaps(page)).toEqual([]);
    expect(listTextsOutside(page, margin)).toEqual([]);
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

export const sample = sampleRun({
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
