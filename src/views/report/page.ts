import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { PAGE_SIZES, type ReportPage } from '#domain/outputs/report-templates.js';
import type { MarkupSpan, Typesetter, Weight } from './text.js';

interface TextInk {
  /** Left edge, right edge or centre of the text, depending on `align`. */
  readonly x: number;
  /** Vertical position of the baseline. */
  readonly y: number;
  readonly size: number;
  readonly colour: string;
  readonly weight?: Weight;
  readonly align?: 'left' | 'right' | 'middle';
}

export interface Stroke {
  readonly colour: string;
  readonly width: number;
  /** Lengths of a dash and a gap in points. */
  readonly dash?: readonly [number, number];
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Points of a line in page coordinates. y increases downwards. */
export interface Points {
  readonly xs: ArrayLike<number>;
  readonly ys: ArrayLike<number>;
}

/** Element of the document's structure tree, to which content belongs. */
export type StructureElement = PDFKit.PDFStructureElement;

interface ElementOptions {
  /** Text alternative of a figure. */
  readonly alt?: string;
  readonly box?: Box;
  /** Scope of a table's header cell. */
  readonly scope?: 'Column' | 'Row';
}

/** Drawing surface of the current page. All content belongs to a structure element or is marked as an artifact. */
export interface Canvas {
  readonly typesetter: Typesetter;
  text(text: string, ink: TextInk): void;
  /** Draws text with several weights, starting at `x`. */
  spans(spans: readonly MarkupSpan[], ink: Omit<TextInk, 'align'>): void;
  line(from: readonly [number, number], to: readonly [number, number], stroke: Stroke): void;
  rectangle(box: Box, colour: string): void;
  polyline(points: Points, stroke: Stroke): void;
  /** Fills the area between a line and a horizontal baseline. */
  area(points: Points, baseline: number, colour: string): void;
  /** Restricts the drawing of `draw` to a box. */
  clipped(box: Box, draw: () => void): void;
  element(parent: StructureElement, type: string, options?: ElementOptions): StructureElement;
  content(element: StructureElement, type: string, draw: () => void): void;
  /**
   * Draws content that screen readers skip. By default this is layout, such as rules and tints; the other type is
   * pagination.
   */
  artifact(draw: () => void, type?: 'Layout' | 'Pagination'): void;
}

export function createCanvas(pdf: PDFKit.PDFDocument, typesetter: Typesetter): Canvas {
  function drawText(line: string, { x, y, size, colour, weight = 'regular', align = 'left' }: TextInk): void {
    if (line === '') return;
    let left = x;
    if (align !== 'left') {
      const width = typesetter.width(line, { size, weight });
      left -= align === 'right' ? width : width / 2;
    }
    pdf.fillColor(colour);
    for (const run of typesetter.runs(line, weight)) {
      pdf.font(run.font).fontSize(size).text(run.text, left, y, { lineBreak: false, baseline: 'alphabetic' });
      left += typesetter.width(run.text, { size, weight });
    }
  }

  const draw = (...operators: string[]): void => void pdf.addContent(`q ${operators.join(' ')} Q`);

  return {
    typesetter,
    text: drawText,
    spans(spans, ink) {
      let { x } = ink;
      for (const { text: part, isBold } of spans) {
        const weight = isBold ? 'bold' : (ink.weight ?? 'regular');
        drawText(part, { ...ink, x, weight });
        x += typesetter.width(part, { size: ink.size, weight });
      }
    },
    line: ([x1, y1], [x2, y2], stroke) =>
      draw(
        formatStroke(stroke),
        `${formatNumber(x1)} ${formatNumber(y1)} m ${formatNumber(x2)} ${formatNumber(y2)} l S`,
      ),
    rectangle: ({ x, y, width, height }, colour) =>
      draw(
        `${formatColour(colour)} rg`,
        `${formatNumber(x)} ${formatNumber(y)} ${formatNumber(width)} ${formatNumber(height)} re f`,
      ),
    polyline: (points, stroke) => draw(formatStroke(stroke), formatPath(points), 'S'),
    area({ xs, ys }, baseline, colour) {
      const last = xs.length - 1;
      draw(
        `${formatColour(colour)} rg`,
        formatPath({ xs, ys }),
        `${formatNumber(xs[last]!)} ${formatNumber(baseline)} l ${formatNumber(xs[0]!)} ${formatNumber(baseline)} l h f`,
      );
    },
    clipped({ x, y, width, height }, drawInside) {
      pdf.addContent(`q ${formatNumber(x)} ${formatNumber(y)} ${formatNumber(width)} ${formatNumber(height)} re W n`);
      drawInside();
      pdf.addContent('Q');
    },
    element(parent, type, { alt, box, scope } = {}) {
      const options: StructureOptions = {
        ...(alt === undefined ? {} : { alt }),
        ...(box === undefined
          ? {}
          : { bbox: [box.x, box.y, box.x + box.width, box.y + box.height], placement: 'Block' }),
        ...(scope === undefined ? {} : { scope }),
      };
      const element = pdf.struct(type, options);
      parent.add(element);
      return element;
    },
    content(element, type, drawInside) {
      const content = pdf.markStructureContent(type);
      drawInside();
      pdf.endMarkedContent();
      element.add(content);
    },
    artifact(drawInside, type = 'Layout') {
      pdf.markContent('Artifact', { type });
      drawInside();
      pdf.endMarkedContent();
    },
  };
}

/** Options of a structure element that pdfkit 0.20 supports but its types lack. */
type StructureOptions = PDFKit.Mixins.StructureElementOptions & { bbox?: number[]; placement?: string; scope?: string };

/** Formats a coordinate with two decimals. Smaller differences cannot be seen in print. */
function formatNumber(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`a coordinate is ${value}`);
  return String(Math.round(value * 100) / 100);
}

function formatColour(colour: string): string {
  return [1, 3, 5]
    .map((position) =>
      String(Math.round((Number.parseInt(colour.slice(position, position + 2), 16) / 255) * 1000) / 1000),
    )
    .join(' ');
}

function formatStroke({ colour, width, dash }: Stroke): string {
  return `${formatColour(colour)} RG ${formatNumber(width)} w 1 j${dash === undefined ? '' : ` [${dash.map(formatNumber).join(' ')}] 0 d`}`;
}

function formatPath({ xs, ys }: Points): string {
  const parts: string[] = [];
  for (let i = 0; i < xs.length; i++)
    parts.push(`${formatNumber(xs[i]!)} ${formatNumber(ys[i]!)} ${i === 0 ? 'm' : 'l'}`);
  return parts.join('\n');
}

/** Piece of a page that cannot be divided, for example a table row, a line of text or a chart. */
export interface Part {
  readonly height: number;
  /** Draws the part with its upper left corner at a position. */
  draw(canvas: Canvas, spot: Spot): void;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
  /** Structure element of the block that contains the part. */
  readonly parent: StructureElement;
}

/** Rows with a common header. The header is repeated on every page. */
export interface Section {
  readonly head: Part | null;
  readonly rows: readonly Part[];
}

/** A block divided into parts for a given width. */
export interface LaidBlock {
  /** Title, drawn once and kept on one page with the next part. */
  readonly title: Part | null;
  readonly sections: readonly Section[];
  readonly startsPage?: boolean;
}

/** A block with its horizontal position. */
export interface AlignedBlock {
  readonly block: LaidBlock;
  readonly x: number;
}

/** A part with its position on a page. */
export interface Placement {
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  /** Position of the block in the report. */
  readonly block: number;
}

export function createSpacer(height: number): Part {
  return { height, draw() {} };
}

/**
 * Font sizes and colours of all blocks. Lengths are in points. Colours differ in lightness, so a page can be read when
 * it is printed in grey.
 */
export const INK = '#1b2430';
export const MUTED_INK = '#5a6472';
export const HAIRLINE = '#d4d9e0';
export const RULE_COLOUR = '#8d97a5';
/** Lightness 24 of 100. */
export const NAVY = '#123a63';
/** Lightness 65. */
export const AMBER = '#dd8f2a';
/** Lightness 50, drawn as a dashed line. */
export const SLATE = '#6f7b8a';
export const NAVY_TINT = '#d9e3ee';
/** Tint with lightness 82. The tint above has lightness 90. */
export const AMBER_TINT = '#f2c48b';

export const SIZE = {
  /** Title of the report. */
  display: 21,
  subtitle: 10.5,
  title: 9.5,
  body: 8.5,
  table: 8,
  /** Column headers, legends and axes. */
  label: 7,
  footer: 6.8,
  figure: 14,
} as const;

/** Smallest font size at which a label is readable at 100%. */
export const SIZE_MIN = 6;

export const SPACE = {
  /** Distance between blocks. */
  block: 16,
  /** Distance between blocks of a report that would otherwise end with a nearly empty page. */
  tightBlock: 10,
  /** Distance between two blocks of half width. */
  gutter: 20,
  column: 10,
  foot: 26,
} as const;

export const LINE = { hair: 0.35, rule: 0.6, head: 0.9 } as const;

/** Line height relative to the font size. */
export const LEADING = 1.38;

/** Blocks that start at the same height: one block of full width, or up to two blocks of half width. */
export type Band = readonly AlignedBlock[];

interface ContentArea {
  readonly top: number;
  readonly height: number;
  /** Distance between blocks; default: `SPACE.block`. */
  readonly gap?: number;
}

interface Cursor {
  readonly page: number;
  /** Distance from the top of the content area in points. */
  readonly y: number;
}

const ROWS_WITH_TITLE = 2;

/**
 * Places all parts of a report on pages. Parts are not divided. A title is on the same page as at least the first two
 * rows of its block. The header of a section is repeated on every page with rows of the section. Blocks of half width
 * start side by side and continue independently.
 * @returns the placements of each page in reading order
 * @throws Refusal RENDER_FAILED if the report exceeds the maximum number of pages
 */
export function paginate(bands: readonly Band[], area: ContentArea): Placement[][] {
  const pages: Placement[][] = [[]];
  let block = 0;
  let cursor: Cursor = { page: 0, y: 0 };

  function placePart(part: Part, { x, at }: { readonly x: number; readonly at: Cursor }, position: number): Cursor {
    if (at.page >= LIMITS.MAX_REPORT_PAGES) {
      throw new Refusal('RENDER_FAILED', `The report has more than ${LIMITS.MAX_REPORT_PAGES} pages.`, {
        limit: LIMITS.MAX_REPORT_PAGES,
      });
    }
    while (pages.length <= at.page) pages.push([]);
    pages[at.page]!.push({ part, x, y: area.top + at.y, block: position });
    return { page: at.page, y: at.y + part.height };
  }

  const fits = (height: number, { y }: Cursor): boolean => y + height <= area.height + 1e-6;
  const createNextPage = ({ page }: Cursor): Cursor => ({ page: page + 1, y: 0 });

  function flowBlock({ block: laidBlock, x }: AlignedBlock, start: Cursor, position: number): Cursor {
    let blockPosition = start;
    if (laidBlock.title !== null) blockPosition = placePart(laidBlock.title, { x, at: blockPosition }, position);
    for (const [i, section] of laidBlock.sections.entries()) {
      const openingHeight = computeSectionStart(section);
      if (i > 0 && blockPosition.y > 0 && !fits(openingHeight, blockPosition))
        blockPosition = createNextPage(blockPosition);
      if (section.head !== null) blockPosition = placePart(section.head, { x, at: blockPosition }, position);
      for (const [r, row] of section.rows.entries()) {
        if (r > 0 && !fits(row.height, blockPosition)) {
          blockPosition = createNextPage(blockPosition);
          if (section.head !== null) blockPosition = placePart(section.head, { x, at: blockPosition }, position);
        }
        blockPosition = placePart(row, { x, at: blockPosition }, position);
      }
    }
    return blockPosition;
  }

  for (const band of bands) {
    if (cursor.y > 0 && band.some((alignedBlock) => alignedBlock.block.startsPage === true))
      cursor = createNextPage(cursor);
    // An empty band takes no space.
    if (band.every(({ block: { title, sections } }) => title === null && sections.length === 0)) {
      block += band.length;
      continue;
    }
    if (cursor.y > 0) cursor = { page: cursor.page, y: cursor.y + (area.gap ?? SPACE.block) };
    const openingHeight = Math.max(
      ...band.map((alignedBlock) => computeOpeningHeight(alignedBlock.block, area.height)),
    );
    if (cursor.y > 0 && !fits(Math.min(openingHeight, area.height), cursor)) cursor = createNextPage(cursor);
    const blockEnds = band.map((alignedBlock) => flowBlock(alignedBlock, cursor, block++));
    cursor = blockEnds.reduce(
      (last, blockEnd) =>
        blockEnd.page > last.page || (blockEnd.page === last.page && blockEnd.y > last.y) ? blockEnd : last,
      cursor,
    );
  }
  return pages;
}

/** Fraction of the page height up to which a block is kept on one page. */
const WHOLE_SHARE = 0.35;

/** Returns the height of the first parts of a block that must be on the same page. */
function computeOpeningHeight({ title, sections }: LaidBlock, page: number): number {
  const titleHeight = title?.height ?? 0;
  const totalHeight = sections.reduce(
    (sum, { head, rows }) => rows.reduce((height, row) => height + row.height, sum + (head?.height ?? 0)),
    titleHeight,
  );
  if (totalHeight <= WHOLE_SHARE * page) return totalHeight;
  return titleHeight + (sections[0] === undefined ? 0 : computeSectionStart(sections[0]));
}

function computeSectionStart({ head, rows }: Section): number {
  return (head?.height ?? 0) + rows.slice(0, ROWS_WITH_TITLE).reduce((sum, { height }) => sum + height, 0);
}

export interface PrintArea {
  readonly width: number;
  readonly height: number;
  /** Left edge of the blocks. */
  readonly left: number;
  readonly top: number;
  readonly innerWidth: number;
  readonly innerHeight: number;
}

/**
 * Returns the print area of a page. The footer is in the lower margin. If the margin is smaller than the footer, it is
 * enlarged.
 */
export function computePrintArea({ size, orientation, margin }: ReportPage): PrintArea {
  const { width: shortSide, height: longSide } = PAGE_SIZES[size];
  const [width, height] = orientation === 'portrait' ? [shortSide, longSide] : [longSide, shortSide];
  const footHeight = Math.max(margin, SPACE.foot);
  return {
    width,
    height,
    left: margin,
    top: margin,
    innerWidth: width - 2 * margin,
    innerHeight: height - margin - footHeight,
  };
}

interface Foot {
  /** Text on the left. */
  readonly name: string;
  /** Dates of the data and of the rendering. */
  readonly stamp: string;
  readonly page: number;
  readonly pages: number;
}

export function drawFoot(
  canvas: Canvas,
  { left, innerWidth, height, top }: PrintArea,
  { name, stamp, page, pages }: Foot,
): void {
  const { typesetter } = canvas;
  const style = { size: SIZE.footer };
  const right = left + innerWidth;
  const baseline = height - Math.max(10, Math.min(top, 48) * 0.5);
  const pageText = `Page ${page} of ${pages}`;
  const stampWidth = typesetter.width(stamp, style);
  const textWidth = innerWidth - typesetter.width(pageText, style) - 24;
  canvas.artifact(() => {
    canvas.line([left, baseline - SIZE.footer - 4], [right, baseline - SIZE.footer - 4], {
      colour: HAIRLINE,
      width: LINE.rule,
    });
    const nameWidth = textWidth - stampWidth - 24;
    if (nameWidth > 40) {
      const [line] = typesetter.fit(name, { ...style, maxWidth: nameWidth, linesMax: 1 });
      canvas.text(line!, { x: left, y: baseline, ...style, colour: MUTED_INK });
      canvas.text(stamp, {
        x: right - typesetter.width(pageText, style) - 24,
        y: baseline,
        ...style,
        colour: MUTED_INK,
        align: 'right',
      });
    } else {
      const [line] = typesetter.fit(stamp, { ...style, maxWidth: textWidth, linesMax: 1 });
      canvas.text(line!, { x: left, y: baseline, ...style, colour: MUTED_INK });
    }
    canvas.text(pageText, { x: right, y: baseline, ...style, colour: MUTED_INK, align: 'right' });
  }, 'Pagination');
}
