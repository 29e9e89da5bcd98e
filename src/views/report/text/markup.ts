/** Text with one font weight. */
export interface MarkupSpan {
  readonly text: string;
  readonly isBold: boolean;
}

export interface Paragraph {
  /** Marker of a list entry, a dash or a number; null for a paragraph that is not in a list. */
  readonly marker: string | null;
  readonly spans: readonly MarkupSpan[];
}

const ENTRY = /^\s*(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

/**
 * Parses text into paragraphs. Empty lines separate paragraphs, and each entry of a list is a paragraph. Text between
 * `**` is bold.
 */
export function parseMarkup(text: string): Paragraph[] {
  const paragraphs: { marker: string | null; lines: string[] }[] = [];
  let isOpen = false;
  for (const line of text.split('\n')) {
    const entry = ENTRY.exec(line);
    if (line.trim() === '') {
      isOpen = false;
    } else if (entry !== null) {
      paragraphs.push({ marker: entry[1] === undefined ? '-' : `${entry[1]}.`, lines: [entry[2]!] });
      isOpen = true;
    } else if (isOpen) {
      paragraphs.at(-1)!.lines.push(line);
    } else {
      paragraphs.push({ marker: null, lines: [line] });
      isOpen = true;
    }
  }
  return paragraphs.map(({ marker, lines }) => ({
    marker,
    spans: parseSpans(lines.map((line) => line.trim()).join(' ')),
  }));
}

/** Splits a text at the marks of bold text. A mark that is not closed is printed unchanged. */
function parseSpans(text: string): MarkupSpan[] {
  const parts = text.split('**');
  if (parts.length % 2 === 0) parts.splice(-2, 2, `${parts.at(-2)}**${parts.at(-1)}`);
  return parts.flatMap((part, i) => (part === '' ? [] : [{ text: part, isBold: i % 2 === 1 }]));
}
