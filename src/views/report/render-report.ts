import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ReportBlock } from '#domain/reports/block-kinds.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import { drawBlock } from './blocks/draw-block.js';
import type { RunFigures } from './figures.js';
import { createCanvas, type StructureElement } from './page/canvas.js';
import { drawFoot, computePrintArea, type PrintArea } from './page/print-area.js';
import type { AlignedBlock, LaidBlock, Placement } from './page/layout.js';
import { paginate, type Band } from './page/paginate.js';
import { createPdf, endPdf, createFontSet } from './page/pdf-document.js';
import { SPACE } from './style-sheet.js';
import { cleanLine } from './text/clean-text.js';
import type { FontShelf } from './text/fonts.js';
import { createTypesetter, type Typesetter } from './text/typesetter.js';

export interface ReportInput {
  readonly template: ReportTemplateDocument;
  /** Figures of the runs by index id. */
  readonly figures: ReadonlyMap<string, RunFigures>;
  /** Time of rendering, ISO 8601 in UTC with offset. */
  readonly renderedAt: string;
  /** Name and version of the program, for the metadata of the file. */
  readonly creator: string;
  readonly fonts: FontShelf;
  /** Receives the progress from 0 to 1; throws to stop the rendering. */
  readonly report: (fraction: number, message: string) => void;
}

export interface RenderedReport {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly pages: number;
}

/**
 * Renders a report. Equal templates, runs and rendering times give equal bytes.
 * @throws Refusal RENDER_FAILED if the report has too many pages or takes too long
 */
export function renderReport({ template, figures, renderedAt, creator, fonts, report }: ReportInput): RenderedReport {
  const startMs = performance.now();
  const tick = (fraction: number, message: string): void => {
    report(fraction, message);
    const seconds = (performance.now() - startMs) / 1000;
    if (seconds > LIMITS.MAX_RENDER_SECONDS)
      throw new Refusal('RENDER_FAILED', `The rendering took longer than ${LIMITS.MAX_RENDER_SECONDS} seconds.`, {
        limit: LIMITS.MAX_RENDER_SECONDS,
      });
  };
  const title = formatTitle(template, figures);
  const area = computePrintArea(template.page);
  const pdf = createPdf({ title, creator, renderedAt: new Date(renderedAt) });
  const typesetter = createTypesetter(createFontSet(pdf), fonts);
  const canvas = createCanvas(pdf, typesetter);

  const bands = layBands(template, { area, figures, typesetter, tick });
  const pages = paginate(bands, { top: area.top, height: area.innerHeight });

  const root = pdf.struct('Document');
  pdf.addStructure(root);
  const sections = bands.flat().map(() => canvas.element(root, 'Sect'));
  pages.forEach((placements, i) => {
    tick(0.5 + (0.4 * i) / pages.length, 'drawing pages');
    pdf.addPage({ size: [area.width, area.height], margin: 0 });
    drawPlacements(placements, sections, { canvas, tick });
    drawFoot(canvas, area, { name: title, stamp: formatStamp(figures, renderedAt), page: i + 1, pages: pages.length });
  });
  root.end();
  tick(0.9, 'writing the document');
  return { bytes: endPdf(pdf), pages: pages.length };
}

/** Returns the title of a report. If all headers show the same index, the title contains the name of the index. */
function formatTitle({ name, blocks }: ReportTemplateDocument, figures: ReportInput['figures']): string {
  const indexIds = new Set(blocks.flatMap(({ kind, index_id }) => (kind === 'header' ? [index_id] : [])));
  const [first = null] = indexIds;
  const run = first === null || indexIds.size > 1 ? undefined : figures.get(first);
  return cleanLine(run === undefined ? name : `${run.overview.name} - ${name}`);
}

/** Maximum number of runs listed in the footer. */
const LISTED_MAX = 3;

function formatStamp(figures: ReportInput['figures'], renderedAt: string): string {
  const endDates = [...new Set([...figures.values()].map(({ overview }) => overview.end))].toSorted();
  const data =
    endDates.length > LISTED_MAX
      ? [`Data to ${endDates[0]} ... ${endDates.at(-1)}`]
      : endDates.length > 0
        ? [`Data to ${endDates.join(', ')}`]
        : [];
  const staleNotes = [...figures.values()].some((run) => run.stale !== null) ? ['Not current'] : [];
  return [...data, ...staleNotes, `Rendered ${renderedAt.slice(0, 10)} ${renderedAt.slice(11, 19)} UTC`].join('  |  ');
}

interface BandsInput {
  readonly area: PrintArea;
  readonly figures: ReportInput['figures'];
  readonly typesetter: Typesetter;
  readonly tick: (fraction: number, message: string) => void;
}

/** Arranges blocks in bands. Two blocks of half width that follow each other share a band. */
function layBands(template: ReportTemplateDocument, { area, figures, typesetter, tick }: BandsInput): Band[] {
  const { blocks } = template;
  const halfWidth = (area.innerWidth - SPACE.gutter) / 2;
  const bands: AlignedBlock[][] = [];
  let isOpen = false;
  blocks.forEach((block, i) => {
    tick((0.5 * i) / blocks.length, 'laying out blocks');
    const isHalf = block.width === 'half';
    const isRight = isHalf && isOpen;
    const laidBlock = layBlock(block, { width: isHalf ? halfWidth : area.innerWidth });
    const alignedBlock = { block: laidBlock, x: area.left + (isRight ? halfWidth + SPACE.gutter : 0) };
    if (isRight) bands.at(-1)!.push(alignedBlock);
    else bands.push([alignedBlock]);
    isOpen = isHalf && !isRight;
  });
  return bands;

  function layBlock(block: ReportBlock, { width }: { readonly width: number }): LaidBlock {
    return drawBlock(block, {
      width,
      pageHeight: area.innerHeight,
      typesetter,
      figures: block.index_id === null ? null : (figures.get(block.index_id) ?? null),
      reportName: template.name,
    });
  }
}

/** Number of parts drawn between two checks of the time limit. */
const PARTS_PER_TICK = 64;

interface DrawingTools {
  readonly canvas: ReturnType<typeof createCanvas>;
  readonly tick: (fraction: number, message: string) => void;
}

function drawPlacements(
  placements: readonly Placement[],
  sections: readonly StructureElement[],
  { canvas, tick }: DrawingTools,
): void {
  placements.forEach(({ part, x, y, block }, i) => {
    if (i % PARTS_PER_TICK === PARTS_PER_TICK - 1) tick(0.5, 'drawing pages');
    part.draw(canvas, { x, y, parent: sections[block]! });
  });
}
