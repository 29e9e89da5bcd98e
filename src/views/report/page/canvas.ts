import type { Weight } from '../text/fonts.js';
import type { MarkupSpan } from '../text/markup.js';
import type { Typesetter } from '../text/typesetter.js';

export interface TextInk {
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

export interface ElementOptions {
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
  /** Creates a structure element below another one. */
  element(parent: StructureElement, type: string, options?: ElementOptions): StructureElement;
  /** Draws content that belongs to a structure element. */
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
