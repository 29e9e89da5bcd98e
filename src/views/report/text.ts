import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Converts text to one printable line. White space is collapsed and accents are composed. Control characters, direction
 * marks and lone surrogates are removed.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ').trim();
}

/** Converts text to printable text, keeping line breaks. */
export function cleanText(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(/[^\S\n]/g, ' ')
    .replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\uFE00-\uFE0F]/gu, '');
}

/** Folder of the fonts that ship with the service. Its README states their origin and licences. */
const FOLDER = fileURLToPath(new URL('../../../../data/fonts', import.meta.url));

export type Weight = 'regular' | 'bold';

/** Name of a font file within a document. */
export type FontName = Weight | 'han' | 'hangul';

const FILES: Record<FontName, string> = {
  regular: 'NotoSans-SemiCondensed.ttf',
  bold: 'NotoSans-SemiCondensedSemiBold.ttf',
  han: 'DroidSansFallback-Han.ttf',
  hangul: 'NotoSansCJKkr-Hangul.otf',
};

/** Fonts that are tried in this order if the text font lacks a character. */
const FALLBACKS: readonly FontName[] = ['han', 'hangul'];

/** Font files. They are read when they are first needed, and then cached. */
export interface FontShelf {
  bytes(name: FontName): Uint8Array;
}

export function openFonts(): FontShelf {
  const cache = new Map<FontName, Uint8Array>();
  return {
    bytes(name) {
      const bytes = cache.get(name) ?? readFileSync(join(FOLDER, FILES[name]));
      cache.set(name, bytes);
      return bytes;
    },
  };
}

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

interface TextStyle {
  readonly size: number;
  readonly weight?: Weight;
}

interface FontRun {
  readonly font: FontName;
  readonly text: string;
}

/** Word or space that cannot be divided, with its width at size 1. */
interface Piece {
  readonly text: string;
  readonly weight: Weight;
  readonly width: number;
  readonly isSpace: boolean;
}

interface TextLine {
  readonly spans: readonly MarkupSpan[];
  readonly width: number;
}

/** Measures text and breaks it into lines. Lengths are in points. */
export interface Typesetter {
  /** Splits text into runs of one font. A character without a font is replaced by the replacement character. */
  runs(text: string, weight: Weight): readonly FontRun[];
  width(text: string, style: TextStyle): number;
  /** Breaks text into lines that are at most `maxWidth` wide. A word that is wider is divided. */
  lines(spans: readonly MarkupSpan[], style: TextStyle & { readonly maxWidth: number }): TextLine[];
  /** Returns plain text as at most `linesMax` lines. If text was left out, the last line ends with an ellipsis. */
  fit(text: string, style: TextStyle & { readonly maxWidth: number; readonly linesMax: number }): string[];
}

export interface FontSet {
  register(name: FontName, bytes: Uint8Array): void;
  /** Returns true if a registered font contains a character. */
  covers(name: FontName, codePoint: number): boolean;
  /** Returns the width of a text at size 1. */
  measure(name: FontName, text: string): number;
}

const REPLACEMENT = '\uFFFD';
const ELLIPSIS = '…';
/** Matches digits and their punctuation. They have fixed widths in these fonts, so figures are aligned. */
const FIGURES = /^[-\d.,%]*$/;

export function createTypesetter(book: FontSet, shelf: FontShelf): Typesetter {
  const registeredFonts = new Set<FontName>();
  const runCache = new Map<string, readonly FontRun[]>();
  const widthCache = new Map<string, number>();

  function use(name: FontName): FontName {
    if (!registeredFonts.has(name)) {
      book.register(name, shelf.bytes(name));
      registeredFonts.add(name);
    }
    return name;
  }

  function findFont(character: string, weight: Weight): FontName | null {
    const codePoint = character.codePointAt(0)!;
    if (book.covers(use(weight), codePoint)) return weight;
    return codePoint < FALLBACK_CODE_MIN ? null : (FALLBACKS.find((name) => book.covers(use(name), codePoint)) ?? null);
  }

  function listRuns(text: string, weight: Weight): readonly FontRun[] {
    const key = `${weight} ${text}`;
    const cachedRuns = runCache.get(key);
    if (cachedRuns !== undefined) return cachedRuns;
    use(weight);
    const result = PRINTABLE_ASCII.test(text) ? [{ font: weight, text }] : splitMixedRuns(text, weight);
    runCache.set(key, result);
    return result;
  }

  function splitMixedRuns(text: string, weight: Weight): FontRun[] {
    const results: { font: FontName; text: string }[] = [];
    for (const character of text) {
      const font = findFont(character, weight);
      const printedText = font === null ? REPLACEMENT : character;
      const last = results.at(-1);
      if (last?.font === (font ?? weight)) last.text += printedText;
      else results.push({ font: font ?? weight, text: printedText });
    }
    return results;
  }

  function measureUnitWidth(text: string, weight: Weight): number {
    if (FIGURES.test(text)) {
      let width = 0;
      for (const character of text) width += measureCachedWidth(character, weight);
      return width;
    }
    return measureCachedWidth(text, weight);
  }

  function measureCachedWidth(text: string, weight: Weight): number {
    const key = `${weight} ${text}`;
    let width = widthCache.get(key);
    if (width === undefined) {
      width = listRuns(text, weight).reduce((sum, run) => sum + book.measure(run.font, run.text), 0);
      widthCache.set(key, width);
    }
    return width;
  }

  const measureWidth = (text: string, { size, weight = 'regular' }: TextStyle): number =>
    size * measureUnitWidth(text, weight);

  function listPieces(
    spans: readonly MarkupSpan[],
    { size, weight = 'regular', maxWidth }: TextStyle & { readonly maxWidth: number },
  ): Piece[] {
    return spans.flatMap((span) => {
      const ownWeight = span.isBold ? 'bold' : weight;
      return splitParts(span.text).flatMap((text): Piece[] => {
        const isSpace = text === ' ';
        const unit = measureUnitWidth(text, ownWeight);
        if (isSpace || unit * size <= maxWidth) return [{ text, weight: ownWeight, width: unit, isSpace }];
        return Array.from(text, (character) => ({
          text: character,
          weight: ownWeight,
          width: measureUnitWidth(character, ownWeight),
          isSpace: false,
        }));
      });
    });
  }

  function breakLines(spans: readonly MarkupSpan[], style: TextStyle & { readonly maxWidth: number }): TextLine[] {
    const widthMax = style.maxWidth / style.size + 1e-9;
    const brokenLines: Piece[][] = [[]];
    let usedWidth = 0;
    for (const piece of listPieces(spans, style)) {
      if (usedWidth + piece.width > widthMax && usedWidth > 0) {
        brokenLines.push([]);
        usedWidth = 0;
      }
      if (piece.isSpace && usedWidth === 0) continue;
      brokenLines.at(-1)!.push(piece);
      usedWidth += piece.width;
    }
    return brokenLines
      .map((line) => createLine(line, style.size))
      .filter(({ spans: ownMarkupSpans }, i) => ownMarkupSpans.length > 0 || i === 0);
  }

  function fit(text: string, style: TextStyle & { readonly maxWidth: number; readonly linesMax: number }): string[] {
    const allLines = breakLines([{ text, isBold: false }], style).map((line) =>
      line.spans.map((span) => span.text).join(''),
    );
    if (allLines.length <= style.linesMax) return allLines;
    const shownLines = allLines.slice(0, style.linesMax);
    const characters = [...shownLines.at(-1)!];
    while (characters.length > 0 && measureWidth(`${characters.join('').trimEnd()}${ELLIPSIS}`, style) > style.maxWidth)
      characters.pop();
    return [...shownLines.slice(0, -1), `${characters.join('').trimEnd()}${ELLIPSIS}`];
  }

  return { runs: listRuns, width: measureWidth, lines: breakLines, fit };
}

/** First code point that the fallback fonts are tried for. */
const FALLBACK_CODE_MIN = 0x1100;
/** Printable ASCII text, which every text font contains. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

function createLine(line: readonly Piece[], size: number): TextLine {
  const trimmedPieces = line.slice(0, line.findLastIndex(({ isSpace }) => !isSpace) + 1);
  const spans: { text: string; isBold: boolean }[] = [];
  for (const { text, weight } of trimmedPieces) {
    const isBold = weight === 'bold';
    const last = spans.at(-1);
    if (last?.isBold === isBold) last.text += text;
    else spans.push({ text, isBold });
  }
  return { spans, width: size * trimmedPieces.reduce((sum, piece) => sum + piece.width, 0) };
}

/** Characters before and after which a line may be broken. */
const IDEOGRAPH = /[\u2E80-\u2FFF\u3001-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\uFF00-\uFFEF]/u;
/** Marks that must not start a line. */
const CLOSING_MARKS = /[、。，．：；？！）」』】〉》\u30FC)\].,:;!?%]/u;

/** Splits text into words, spaces, and single ideographs with their closing marks. */
function splitParts(text: string): string[] {
  const parts: string[] = [];
  let word = '';
  const close = (): void => {
    if (word !== '') parts.push(word);
    word = '';
  };
  for (const character of text) {
    if (character === ' ') {
      close();
      parts.push(' ');
    } else if (IDEOGRAPH.test(character) && !CLOSING_MARKS.test(character)) {
      close();
      word = character;
    } else if (word !== '' && IDEOGRAPH.test(word) && !CLOSING_MARKS.test(character)) {
      close();
      word = character;
    } else {
      word += character;
      if (/\p{L}-$/u.test(word)) close();
    }
  }
  close();
  return parts;
}
