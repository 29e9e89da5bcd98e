import { inflateSync } from 'node:zlib';

/** Text on a page. Its coordinates are in points from the lower left corner. */
export interface PlacedText {
  readonly text: string;
  readonly x: number;
  /** Baseline of the text. */
  readonly y: number;
  readonly width: number;
  readonly size: number;
  /** True if the text is part of the document structure or marked as an artifact. */
  readonly isMarked: boolean;
  readonly isArtifact: boolean;
}

export interface PdfPage {
  readonly mediaBox: readonly number[];
  readonly texts: readonly PlacedText[];
  /** Ends of lines and corners of rectangles. They are in points from the lower left corner. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Pdf {
  readonly source: string;
  readonly pages: readonly PdfPage[];
  /** Names of the fonts. `isEmbedded` is true if the document contains the font file. */
  readonly fonts: readonly { readonly name: string; readonly isEmbedded: boolean }[];
  /** Text of every page. Texts on the same baseline are joined by spaces. */
  readonly text: string;
}

interface PdfObject {
  readonly dictionary: string;
  readonly stream: Buffer | null;
}

/**
 * Reads PDF documents of this service. They have uncompressed objects, content streams of pages, and two-byte fonts
 * with a character table. It is not a general PDF reader.
 */
export function readPdf(bytes: Uint8Array): Pdf {
  const source = Buffer.from(bytes).toString('latin1');
  const objects = readObjects(source);
  const pageIds = [...objects]
    .filter(([, { dictionary }]) => /\/Type \/Page\b(?!s)/.test(dictionary))
    .map(([id]) => id);
  const kidsText = /\/Kids \[([^\]]*)\]/.exec(
    [...objects.values()].find(({ dictionary }) => /\/Type \/Pages/.test(dictionary))!.dictionary,
  )![1]!;
  const orderedIds = [...kidsText.matchAll(/(\d+) 0 R/g)].map((match) => Number(match[1]));
  if (orderedIds.length !== pageIds.length) throw new Error('the tree of pages does not name every page');
  const fonts = new Map<number, Font>();
  const getFont = (id: number): Font => {
    const font = fonts.get(id) ?? readFont(objects, id);
    fonts.set(id, font);
    return font;
  };
  const pages = orderedIds.map((id) => readPage(objects, id, getFont));
  const descriptors = [...objects.values()].filter(({ dictionary }) => /\/Type \/FontDescriptor/.test(dictionary));
  return {
    source,
    pages,
    fonts: descriptors.map(({ dictionary }) => ({
      name: /\/FontName \/(\S+)/.exec(dictionary)![1]!,
      isEmbedded: /\/FontFile[23] \d+ 0 R/.test(dictionary),
    })),
    text: pages.map(joinText).join('\n'),
  };
}

function readObjects(source: string): Map<number, PdfObject> {
  const objects = new Map<number, PdfObject>();
  const pattern = /(\d+) 0 obj\n/g;
  for (let match = pattern.exec(source); match !== null; match = pattern.exec(source)) {
    const start = match.index + match[0].length;
    const endAt = source.indexOf('\nendobj', start);
    const streamAfter = source.slice(start, endAt).indexOf('\nstream\n');
    if (streamAfter >= 0) {
      const streamAt = start + streamAfter;
      const dictionary = source.slice(start, streamAt);
      const length = Number(/\/Length (\d+)/.exec(dictionary)![1]);
      const from = streamAt + '\nstream\n'.length;
      const rawBytes = Buffer.from(source.slice(from, from + length), 'latin1');
      objects.set(Number(match[1]), {
        dictionary,
        stream: /FlateDecode/.test(dictionary) ? inflateSync(rawBytes) : rawBytes,
      });
      pattern.lastIndex = from + length;
    } else {
      objects.set(Number(match[1]), { dictionary: source.slice(start, endAt), stream: null });
      pattern.lastIndex = endAt;
    }
  }
  return objects;
}

interface Font {
  /** Widths by glyph, in thousandths of the font size. */
  readonly widths: readonly number[];
  readonly characters: ReadonlyMap<number, string>;
}

function readFont(objects: ReadonlyMap<number, PdfObject>, id: number): Font {
  const { dictionary } = objects.get(id)!;
  const createReference = (name: string): PdfObject =>
    objects.get(Number(new RegExp(`/${name} \\[?(\\d+) 0 R`).exec(dictionary)![1]))!;
  const widths = /\/W \[0 \[([^\]]*)\]/
    .exec(createReference('DescendantFonts').dictionary)![1]!
    .trim()
    .split(/\s+/)
    .map(Number);
  const tableText = createReference('ToUnicode').stream!.toString('latin1');
  const characters = new Map<number, string>();
  for (const [, first, list] of tableText.matchAll(/<(\w+)> <\w+> \[([^\]]*)\]/g)) {
    [...list!.matchAll(/<([\w ]*)>/g)].forEach((entry, i) => {
      const units = entry[1]!
        .split(' ')
        .filter((unit) => unit !== '')
        .map((unit) => Number.parseInt(unit, 16));
      characters.set(Number.parseInt(first!, 16) + i, String.fromCharCode(...units));
    });
  }
  return { widths, characters };
}

function readPage(objects: ReadonlyMap<number, PdfObject>, id: number, getFont: (id: number) => Font): PdfPage {
  const pageText = objects.get(id)!.dictionary;
  const mediaBox = /\/MediaBox \[([^\]]*)\]/.exec(pageText)![1]!.trim().split(/\s+/).map(Number);
  const content = objects.get(Number(/\/Contents (\d+) 0 R/.exec(pageText)![1]))!.stream!.toString('latin1');
  const resources = /\/Resources (\d+) 0 R/.exec(pageText);
  const resourceText = resources === null ? pageText : objects.get(Number(resources[1]))!.dictionary;
  const names = new Map(
    [...resourceText.matchAll(/\/(F\d+) (\d+) 0 R/g)].map((match) => [match[1]!, Number(match[2])]),
  );
  const height = mediaBox[3]!;
  const texts: PlacedText[] = [];
  const points: (readonly [number, number])[] = [];
  const marks: string[] = [];
  let place = { x: 0, y: 0 };
  let font: Font | undefined;
  let size = 0;
  const operators =
    /\/(\w+) <<[^>]*>> BDC|\/(\w+) BMC|(EMC)|1 0 0 1 (\S+) (\S+) Tm|\/(F\d+) (\S+) Tf|\[([^\]]*)\] TJ|(-?[\d.]+) (-?[\d.]+) [ml]\b|(-?[\d.]+) (-?[\d.]+) (-?[\d.]+) (-?[\d.]+) re\b/g;
  for (const match of content.matchAll(operators)) {
    const [, tagged, bare, end, tx, ty, name, points8, shownText, x, y, left, top, width, tall] = match;
    if (tagged !== undefined || bare !== undefined) marks.push((tagged ?? bare)!);
    else if (end !== undefined) marks.pop();
    else if (tx !== undefined) place = { x: Number(tx), y: Number(ty) };
    else if (name !== undefined) {
      font = getFont(names.get(name)!);
      size = Number(points8);
    } else if (shownText !== undefined)
      texts.push({
        ...showText(shownText, font!, size),
        ...place,
        size,
        isMarked: marks.length > 0,
        isArtifact: marks.includes('Artifact'),
      });
    else if (x !== undefined) points.push([Number(x), height - Number(y)]);
    else if (left !== undefined)
      points.push(
        [Number(left), height - Number(top)],
        [Number(left) + Number(width), height - Number(top) - Number(tall)],
      );
  }
  if (marks.length > 0) throw new Error('marked content is left open');
  return { mediaBox, texts, points };
}

function showText(
  shownText: string,
  { widths, characters }: Font,
  size: number,
): { readonly text: string; readonly width: number } {
  let text = '';
  let width = 0;
  for (const [, glyphs, move] of shownText.matchAll(/<([0-9a-f]*)>|(-?[\d.]+)/g)) {
    if (move !== undefined) width -= Number(move);
    for (let offset = 0; offset < (glyphs?.length ?? 0); offset += 4) {
      const glyph = Number.parseInt(glyphs!.slice(offset, offset + 4), 16);
      text += characters.get(glyph) ?? '';
      width += widths[glyph] ?? 0;
    }
  }
  return { text, width: (width * size) / 1000 };
}

function joinText({ texts }: PdfPage): string {
  const lines = new Map<number, PlacedText[]>();
  for (const text of texts) {
    const key = Math.round(text.y * 10);
    lines.set(key, [...(lines.get(key) ?? []), text]);
  }
  const orderedLines = [...lines].toSorted(([a], [b]) => b - a).map(([, line]) => line.toSorted((a, b) => a.x - b.x));
  return orderedLines
    .map((line) =>
      line.reduce(
        (joined, { text, x }, i) =>
          i > 0 && x > line[i - 1]!.x + line[i - 1]!.width + 0.6 ? `${joined} ${text}` : joined + text,
        '',
      ),
    )
    .join('\n');
}

export function listOverlaps({ texts }: PdfPage): [string, string][] {
  const boxes = texts
    .map(({ text, x, y, width, size }) => ({
      text,
      left: x + 0.2,
      right: x + width - 0.2,
      bottom: y - 0.12 * size,
      top: y + 0.6 * size,
    }))
    .filter(({ text }) => text.trim() !== '');
  const sortedBoxes = boxes.toSorted((a, b) => a.bottom - b.bottom);
  const results: [string, string][] = [];
  sortedBoxes.forEach((box, i) => {
    for (let k = i + 1; k < sortedBoxes.length && sortedBoxes[k]!.bottom < box.top; k++) {
      const other = sortedBoxes[k]!;
      if (other.left < box.right && box.left < other.right) results.push([box.text, other.text]);
    }
  });
  return results;
}

/** Returns texts and lines of a page that extend beyond its edge or beyond a margin. */
export function listTextsOutside({ mediaBox, texts, points }: PdfPage, margin = 0): string[] {
  const right = mediaBox[2]! - margin + 0.6;
  const leftEdge = margin - 0.6;
  return [
    ...texts
      .filter(({ x, y, width, size }) => x < leftEdge || x + width > right || y < 0 || y + size > mediaBox[3]!)
      .map(({ text }) => text),
    ...points
      .filter(([x, y]) => x < leftEdge || x > right || y < -0.6 || y > mediaBox[3]! + 0.6)
      .map(([x, y]) => `a line at ${x} ${y}`),
  ];
}
