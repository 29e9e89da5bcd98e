import type { Part } from '../page/layout.js';
import { INK, LINE, MUTED_INK, NAVY, SIZE } from '../style-sheet.js';
import { cleanLine } from '../text/clean-text.js';
import type { Typesetter } from '../text/typesetter.js';

const SPACE_ABOVE_RULE = 4;
const SPACE_BELOW = 5;
const LINES_MAX = 2;

/** Returns the title of a block with a rule above it; null if the block has no title. */
export function createTitlePart(title: string | null, width: number, typesetter: Typesetter): Part | null {
  const text = title === null ? '' : cleanLine(title);
  if (text === '') return null;
  const lines = typesetter.fit(text, { size: SIZE.title, weight: 'bold', maxWidth: width, linesMax: LINES_MAX });
  const leading = SIZE.title * 1.25;
  return {
    height: SPACE_ABOVE_RULE + lines.length * leading + SPACE_BELOW,
    draw(canvas, { x, y, parent }) {
      canvas.artifact(() => canvas.line([x, y], [x + width, y], { colour: NAVY, width: LINE.head }));
      canvas.content(canvas.element(parent, 'H2'), 'H2', () => {
        lines.forEach((line, i) =>
          canvas.text(line, {
            x,
            y: y + SPACE_ABOVE_RULE + SIZE.title + i * leading,
            size: SIZE.title,
            weight: 'bold',
            colour: INK,
          }),
        );
      });
    },
  };
}

/** Returns a note below a block, or in place of its content. */
export function createNotePart(text: string, width: number, typesetter: Typesetter): Part {
  const lines = typesetter.fit(cleanLine(text), { size: SIZE.label, maxWidth: width, linesMax: 4 });
  const leading = SIZE.label * 1.35;
  return {
    height: lines.length * leading + 5,
    draw(canvas, { x, y, parent }) {
      canvas.content(canvas.element(parent, 'P'), 'P', () => {
        lines.forEach((line, i) =>
          canvas.text(line, { x, y: y + 4 + SIZE.label + i * leading, size: SIZE.label, colour: MUTED_INK }),
        );
      });
    },
  };
}
