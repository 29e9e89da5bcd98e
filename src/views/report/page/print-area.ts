import { PAGE_SIZES, type ReportPage } from '#domain/reports/template-document.js';
import { HAIRLINE, LINE, MUTED_INK, SIZE, SPACE } from '../style-sheet.js';
import type { Canvas } from './canvas.js';

/** A page with the area between its margins. */
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

export interface Foot {
  /** Text on the left. */
  readonly name: string;
  /** Dates of the data and of the rendering. */
  readonly stamp: string;
  readonly page: number;
  readonly pages: number;
}

/** Draws the footer of a page with name, dates, page number and number of pages. */
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
