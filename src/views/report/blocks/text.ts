import type { Part } from '../page/layout.js';
import { createSpacer } from '../page/layout.js';
import type { Canvas, StructureElement } from '../page/canvas.js';
import { INK, LEADING, SIZE } from '../style-sheet.js';
import { cleanText } from '../text/clean-text.js';
import { parseMarkup, type Paragraph } from '../text/markup.js';
import type { Typesetter } from '../text/typesetter.js';
import type { Drawing } from './drawing.js';
import { createTitlePart } from './titled.js';

const LINE_HEIGHT = SIZE.body * LEADING;
const PARAGRAPH_GAP = 4.5;
const ENTRY_GAP = 1.5;
const INDENT = 11;

/** Draws paragraphs and lists. Each line is a part, so a long text can continue on the next page. */
export const drawText: Drawing<'text'> = ({ title, text }, { width, typesetter }) => {
  const paragraphs = parseMarkup(cleanText(text));
  let list: ListElement = createList();
  const rows = paragraphs.flatMap((paragraph, i) => {
    const next = paragraphs[i + 1];
    const isInside = paragraph.marker !== null && next !== undefined && next.marker !== null;
    const gap = next === undefined ? 0 : isInside ? ENTRY_GAP : PARAGRAPH_GAP;
    const ownParts = layParagraph(paragraph, { width, typesetter, list });
    if (!isInside) list = createList();
    return [...ownParts, ...(gap > 0 ? [createSpacer(gap)] : [])];
  });
  return { title: createTitlePart(title, width, typesetter), sections: [{ head: null, rows }] };
};

/** Function that returns the structure element of a list. It creates the element when the first entry is drawn. */
type ListElement = (canvas: Canvas, parent: StructureElement) => StructureElement;

function createList(): ListElement {
  let element: StructureElement | undefined;
  return (canvas, parent) => (element ??= canvas.element(parent, 'L'));
}

interface ParagraphInput {
  readonly width: number;
  readonly typesetter: Typesetter;
  readonly list: ListElement;
}

function layParagraph({ marker, spans }: Paragraph, { width, typesetter, list }: ParagraphInput): Part[] {
  const indent = marker === null ? 0 : Math.max(INDENT, typesetter.width(`${marker} `, { size: SIZE.body }));
  const lines = typesetter.lines(spans, { size: SIZE.body, maxWidth: width - indent });
  let entry: StructureElement | undefined;
  let body: StructureElement | undefined;
  return lines.map((line, i) => ({
    height: LINE_HEIGHT,
    draw(canvas, { x, y, parent }) {
      const baseline = y + SIZE.body * 1.05;
      if (marker !== null) entry ??= canvas.element(list(canvas, parent), 'LI');
      if (marker !== null && i === 0)
        canvas.content(canvas.element(entry!, 'Lbl'), 'Lbl', () =>
          canvas.text(marker, { x, y: baseline, size: SIZE.body, colour: INK }),
        );
      const type = marker === null ? 'P' : 'LBody';
      body ??= canvas.element(entry ?? parent, type);
      canvas.content(body, type, () =>
        canvas.spans(line.spans, { x: x + indent, y: baseline, size: SIZE.body, colour: INK }),
      );
    },
  }));
}
