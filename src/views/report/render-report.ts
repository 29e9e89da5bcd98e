import Pdf from 'pdfkit';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import {
  type BlockKindName,
  isBuiltIn,
  type ReportBlock,
  type ReportTemplateDocument,
} from '#domain/outputs/report-templates.js';
import {
  createNotePart,
  createTitlePart,
  drawHeader,
  type Drawing,
  type DrawingContext,
  drawStatGrid,
  drawText,
} from './blocks.js';
import { drawBarChart, drawChart } from './charts.js';
import type { RunFigures } from './figures.js';
import {
  type AlignedBlock,
  type Band,
  computePrintArea,
  createCanvas,
  drawFoot,
  type LaidBlock,
  paginate,
  type Placement,
  type PrintArea,
  SPACE,
  type StructureElement,
} from './page.js';
import { drawTable } from './table-blocks.js';
import { cleanLine, createTypesetter, type FontName, type FontSet, type FontShelf, type Typesetter } from './text.js';

/** Drawing functions by kind of block. A kind without a function does not compile. */
const DRAWINGS: { readonly [K in BlockKindName]: Drawing<K> } = {
  bar_chart: drawBarChart,
  chart: drawChart,
  header: drawHeader,
  stat_grid: drawStatGrid,
  table: drawTable,
  text: drawText,
};

/**
 * Divides a block into parts. If the run lacks data for the block, the block shows the reason; the rest of the report
 * is drawn as usual.
 */
function drawBlock(block: ReportBlock, context: DrawingContext): LaidBlock {
  const { width, typesetter } = context;
  try {
    // The kind of the block determines the drawing function.
    return (DRAWINGS[block.kind] as Drawing<BlockKindName>)(block as never, context);
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'TOTAL_LOSS') throw failure;
    return {
      title: createTitlePart(block.title, width, typesetter),
      sections: [{ head: null, rows: [createNotePart(failure.message, width, typesetter)] }],
    };
  }
}

interface PdfIdentity {
  readonly title: string;
  /** Name and version of the program. */
  readonly creator: string;
  /** Time of rendering. The identifier and the creation date of the file are derived from it. */
  readonly renderedAt: Date;
}

/** Creates a tagged PDF 1.7 document. It has no pages yet and declares PDF/UA-1. */
export function createPdf({ title, creator, renderedAt }: PdfIdentity): PDFKit.PDFDocument {
  return new ReportPdf({
    pdfVersion: '1.7',
    tagged: true,
    // pdfkit 0.20 supports this, but its types lack it.
    subset: 'PDF/UA' as PDFKit.Mixins.PDFSubsets,
    lang: 'en',
    displayTitle: true,
    autoFirstPage: false,
    font: '',
    info: { Title: title, Producer: 'Divisor', Creator: creator, CreationDate: renderedAt },
  });
}

class ReportPdf extends Pdf {
  /**
   * Escapes the title, because pdfkit 0.20 copies it to the XMP metadata without escaping. The title in the document
   * information dictionary has already been written at this point.
   */
  override endMetadata(): void {
    this.info.Title = (this.info.Title ?? '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    super.endMetadata();
  }
}

/**
 * Ends a document.
 * @returns the bytes of the document, which pdfkit has buffered
 */
function endPdf(pdf: PDFKit.PDFDocument): Uint8Array<ArrayBuffer> {
  pdf.end();
  const bytes: unknown = pdf.read();
  if (!(bytes instanceof Uint8Array)) throw new Error('the document has no bytes');
  return new Uint8Array(bytes);
}

/**
 * Font that pdfkit opened last. It is a fontkit object with the tables that were decoded so far, by name. The types of
 * pdfkit lack it.
 */
interface OpenedFont {
  readonly _font: {
    readonly font: { hasGlyphForCodePoint(codePoint: number): boolean; _tables: Readonly<Record<string, unknown>> };
    /** Adds the glyphs of a text to the file. */
    encode(text: string): unknown;
  };
}

/** Font size at which text is measured. Widths are then scaled to other sizes. */
const MEASURE_SIZE = 1;

/**
 * Decoded font tables by the bytes of their font. All documents share them; to decode them again would take a fifth of
 * the time of a document. Glyphs are not shared, because a glyph stores the text of its first use.
 */
const DECODED_TABLES = new WeakMap<Uint8Array, Readonly<Record<string, unknown>>>();

/**
 * Characters that are always embedded. Otherwise the embedded font would depend on the time in the stamp of the report.
 */
const DIGITS = '0123456789';

export function createFontSet(pdf: PDFKit.PDFDocument): FontSet {
  const fontFiles = new Map<FontName, Uint8Array>();
  function open(name: FontName): OpenedFont['_font']['font'] {
    const openedFont = (pdf.font(name) as unknown as OpenedFont)._font;
    const { font } = openedFont;
    const bytes = fontFiles.get(name);
    if (bytes === undefined) return font;
    fontFiles.delete(name);
    const decodedTables = DECODED_TABLES.get(bytes);
    if (decodedTables === undefined) DECODED_TABLES.set(bytes, font._tables);
    else font._tables = decodedTables;
    if (name === 'regular' || name === 'bold') openedFont.encode(DIGITS);
    return font;
  }
  return {
    register(name, bytes) {
      pdf.registerFont(name, bytes);
      fontFiles.set(name, bytes);
    },
    covers: (name, codePoint) => open(name).hasGlyphForCodePoint(codePoint),
    measure(name, text) {
      open(name);
      return pdf.fontSize(MEASURE_SIZE).widthOfString(text);
    },
  };
}

interface ReportInput {
  readonly template: ReportTemplateDocument;
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

  const { bands, pages } = layPages(template, { area, figures, typesetter, tick });

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

interface LayoutInput {
  readonly area: PrintArea;
  readonly figures: ReportInput['figures'];
  readonly typesetter: Typesetter;
  readonly tick: (fraction: number, message: string) => void;
}

/** Fraction of the page height up to which a page is nearly empty. */
const SHORT_SHARE = 0.25;

/** Heights of the charts of a built-in template before a nearly empty page, relative to their normal heights. */
const CHART_SCALES: readonly number[] = [0.9, 0.8, 0.7, 0.6, 0.5];

/**
 * Places the blocks of a report on pages. In a built-in template, the charts of a page and the distances between
 * blocks are reduced if the content of the next page, which would be nearly empty, then fits. Charts of other templates have the heights that they state.
 */
function layPages(
  template: ReportTemplateDocument,
  { area, figures, typesetter, tick }: LayoutInput,
): { readonly bands: readonly Band[]; readonly pages: readonly (readonly Placement[])[] } {
  const { blocks } = template;
  const halfWidth = (area.innerWidth - SPACE.gutter) / 2;
  const content = { top: area.top, height: area.innerHeight };
  let bands: readonly Band[] = layBands(blocks);
  let pages = paginate(bands, content);
  if (!isBuiltIn(template.template_id)) return { bands, pages };
  for (let i = pages.length - 1; i > 0; i--) {
    const bottom = Math.max(...pages[i]!.map(({ part, y }) => y + part.height));
    if (bottom - area.top > SHORT_SHARE * area.innerHeight) continue;
    const chartPositions = new Set(pages[i - 1]!.map(({ block }) => block).filter((k) => blocks[k]!.kind === 'chart'));
    for (const scale of chartPositions.size === 0 ? [] : CHART_SCALES) {
      const reducedBands = reduceCharts(chartPositions, scale);
      const reducedPages = paginate(reducedBands, { ...content, gap: SPACE.tightBlock });
      if (reducedPages.length >= pages.length) continue;
      [bands, pages] = [reducedBands, reducedPages];
      break;
    }
  }
  return { bands, pages };

  function layBlock(block: ReportBlock): LaidBlock {
    return drawBlock(block, {
      width: block.width === 'half' ? halfWidth : area.innerWidth,
      pageHeight: area.innerHeight,
      typesetter,
      figures: block.index_id === null ? null : (figures.get(block.index_id) ?? null),
      reportName: template.name,
    });
  }

  /** Arranges blocks in bands. Two blocks of half width that follow each other share a band. */
  function layBands(blocksInOrder: readonly ReportBlock[]): Band[] {
    const laidBands: AlignedBlock[][] = [];
    let isOpen = false;
    blocksInOrder.forEach((block, i) => {
      tick((0.5 * i) / blocks.length, 'laying out blocks');
      const isHalf = block.width === 'half';
      const isRight = isHalf && isOpen;
      const alignedBlock = { block: layBlock(block), x: area.left + (isRight ? halfWidth + SPACE.gutter : 0) };
      if (isRight) laidBands.at(-1)!.push(alignedBlock);
      else laidBands.push([alignedBlock]);
      isOpen = isHalf && !isRight;
    });
    return laidBands;
  }

  function reduceCharts(positions: ReadonlySet<number>, scale: number): readonly Band[] {
    let position = 0;
    return bands.map((band) =>
      band.map((alignedBlock) => {
        const block = blocks[position]!;
        return positions.has(position++) && block.kind === 'chart'
          ? { ...alignedBlock, block: layBlock({ ...block, height: scale * block.height }) }
          : alignedBlock;
      }),
    );
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
