import type { Box, Canvas, StructureElement } from '../page/canvas.js';
import type { Part, Section } from '../page/layout.js';
import { AMBER, INK, LINE, MUTED_INK, NAVY, RULE_COLOUR, SIZE } from '../style-sheet.js';
import type { Typesetter } from '../text/typesetter.js';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** Value as text. */
  readonly text: string;
}

const getColour = (value: number): string => (value < 0 ? AMBER : NAVY);

export interface ColumnsInput {
  readonly box: Box;
  /** Font size of values and labels in points. */
  readonly size: number;
}

/** Draws vertical bars from a zero line. Each bar has its value at its end and its label at the bottom. */
export function drawColumns(canvas: Canvas, bars: readonly Bar[], { box, size }: ColumnsInput): void {
  const low = Math.min(0, ...bars.map(({ value }) => value));
  const high = Math.max(0, ...bars.map(({ value }) => value));
  const rowHeight = size + 3;
  const top = box.y + (high > 0 ? rowHeight : 2);
  const bottom = box.y + box.height - rowHeight - 4 - (low < 0 ? rowHeight : 0);
  const scale = high > low ? (bottom - top) / (high - low) : 0;
  const zero = top + high * scale;
  const pitch = box.width / bars.length;
  const width = Math.min(pitch * 0.62, 34);
  bars.forEach(({ value, text, label }, i) => {
    const middle = box.x + pitch * (i + 0.5);
    const length = Math.abs(value) * scale;
    if (length > 0)
      canvas.rectangle(
        { x: middle - width / 2, y: value < 0 ? zero : zero - length, width, height: length },
        getColour(value),
      );
    canvas.text(text, {
      x: middle,
      y: value < 0 ? zero + length + size : zero - length - 3,
      size,
      colour: INK,
      align: 'middle',
    });
    canvas.text(label, { x: middle, y: box.y + box.height - 3, size, colour: MUTED_INK, align: 'middle' });
  });
  canvas.line([box.x, zero], [box.x + box.width, zero], { colour: RULE_COLOUR, width: LINE.rule });
}

export interface BarsInput {
  readonly width: number;
  readonly typesetter: Typesetter;
  /** Text alternative of the chart. */
  readonly alt: string;
}

const ROW_HEIGHT = 13.5;
const BAR_HEIGHT = 7.5;
const GAP = 6;
/** Maximum width of labels as a fraction of the width. */
const LABEL_SHARE = 0.45;

/**
 * Lays out horizontal bars with labels on the left and values at their ends. Each bar is a part, so a long chart can
 * continue on the next page.
 */
export function layBars(bars: readonly Bar[], { width, typesetter, alt }: BarsInput): Section[] {
  const valueWidth = Math.max(...bars.map(({ text }) => typesetter.width(text, { size: SIZE.label })));
  const labelWidth = Math.min(
    LABEL_SHARE * width,
    Math.max(...bars.map(({ label }) => typesetter.width(label, { size: SIZE.table }))) + 1,
  );
  const low = Math.min(0, ...bars.map(({ value }) => value));
  const high = Math.max(0, ...bars.map(({ value }) => value));
  const labelSpace = low < 0 ? valueWidth + 3 : 0;
  const barWidth = width - labelWidth - GAP - labelSpace - valueWidth - 3;
  const scale = high > low ? barWidth / (high - low) : 0;
  const zero = labelWidth + GAP + labelSpace - low * scale;
  let figure: StructureElement | null = null;
  const rows = bars.map(({ label, value, text }): Part => {
    const [line] = typesetter.fit(label, { size: SIZE.table, maxWidth: labelWidth, linesMax: 1 });
    return {
      height: ROW_HEIGHT,
      draw(canvas, { x, y, parent }) {
        figure ??= canvas.element(parent, 'Figure', { alt, box: { x, y, width, height: ROW_HEIGHT * bars.length } });
        canvas.content(figure, 'Figure', () => {
          const baseline = y + ROW_HEIGHT / 2 + SIZE.table * 0.34;
          const length = Math.abs(value) * scale;
          canvas.text(line!, { x, y: baseline, size: SIZE.table, colour: INK });
          if (length > 0)
            canvas.rectangle(
              {
                x: x + (value < 0 ? zero - length : zero),
                y: y + (ROW_HEIGHT - BAR_HEIGHT) / 2,
                width: length,
                height: BAR_HEIGHT,
              },
              getColour(value),
            );
          canvas.text(text, {
            x: x + (value < 0 ? zero - length - 3 : zero + length + 3),
            y: baseline,
            size: SIZE.label,
            colour: INK,
            align: value < 0 ? 'right' : 'left',
          });
          canvas.line([x + zero, y], [x + zero, y + ROW_HEIGHT], { colour: RULE_COLOUR, width: LINE.rule });
        });
      },
    };
  });
  return [{ head: null, rows }];
}
