import type { Part } from '../page/layout.js';
import { spacer } from '../page/layout.js';
import type { StructureElement } from '../page/canvas.js';
import { INK, LEADING, SIZE } from '../style-sheet.js';
import { cleanText } from '../text/clean-text.js';
import { parseMarkup, type Paragraph } from '../text/markup.js';
import type { Typesetter } from '../text/typesetter.js';
import type { Drawing } from './drawing.js';
import { titlePart } from './titled.js';

const LINE_HEIGHT = SIZE.body * LEADING;
const PARAGRAPH_GAP = 4.5;
const ENTRY_GAP = 1.5;
const INDENT = 11;

/** Paragraphs and lists. Lines are the parts, so that long text flows over pages. */
export const drawText: Drawing<'text'> = ({ title, text }, { width, typesetter }) => {
  const paragraphs = parseMarkup(cleanText(text));
  const rows = paragraphs.flatMap((paragraph, i) => {
    const next = paragraphs[i + 1];
    const gap = next === undefined ? 0 : paragraph.marker !== null && next.marker !== null ? ENTRY_GAP : PARAGRAPH_GAP;
    return [...layParagraph(paragraph, width, typesetter), ...(gap > 0 ? [spacer(gap)] : [])];
  });
  return { title: titlePart(title, width, typesetter), sections: [{ head: null, rows }] };
};

function layParagraph({ marker, spans }: Paragraph, width: number, typesetter: Typesetter): Part[] {
  const indent = marker === null ? 0 : Math.max(INDENT, typesetter.width(`${marker} `, { size: SIZE.body }));
  const lines = typesetter.lines(spans, { size: SIZE.body, maxWidth: width - indent });
  let element: StructureElement | null = null;
  return lines.map((line, i) => ({
    height: LINE_HEIGHT,
    draw(canvas, { x, y, parent }) {
      element ??= canvas.element(parent, 'P');
      canvas.content(element, 'P', () => {
        const baseline = y + SIZE.body * 1.05;
        if (i === 0 && marker !== null) canvas.text(marker, { x, y: baseline, size: SIZE.body, colour: INK });
        canvas.spans(line.spans, { x: x + indent, y: baseline, size: SIZE.body, colour: INK });
      });
    },
  }));
}
