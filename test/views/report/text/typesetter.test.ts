import { fc } from '../../../fast-check.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { createFontSet, createPdf } from '#views/report/render-report.js';
import { createTypesetter, openFonts, type Typesetter } from '#views/report/text.js';

let typesetter: Typesetter;
beforeAll(() => {
  typesetter = createTypesetter(
    createFontSet(createPdf({ title: 'Test', creator: 'Divisor', renderedAt: new Date(0) })),
    openFonts(),
  );
});

const style = { size: 10 };
const breakLines = (text: string, maxWidth: number) =>
  typesetter
    .lines([{ text, isBold: false }], { ...style, maxWidth })
    .map(({ spans }) => spans.map((span) => span.text).join(''));

describe('fonts', () => {
  test('Latin, Greek and Cyrillic use the font of their weight; Han and Hangul have their own', () => {
    expect(typesetter.runs('Ελλάδα Russia Россия', 'bold')).toEqual([{ font: 'bold', text: 'Ελλάδα Russia Россия' }]);
    expect(typesetter.runs('A 中国 한국 株式会社', 'regular').map(({ font, text }) => `${font}:${text}`)).toEqual([
      'regular:A ',
      'han:中国',
      'regular: ',
      'hangul:한국',
      'regular: ',
      'han:株式会社',
    ]);
  });

  test('a character without a font is the replacement character', () => {
    expect(typesetter.runs('x\u{20000}ع', 'regular')).toEqual([{ font: 'regular', text: 'x\uFFFD\uFFFD' }]);
  });

  test('digits of one number of places have one width, so that columns of them align', () => {
    const widths = ['11.11%', '48.07%', '-1.17%', '-9.99%'].map((text) => typesetter.width(text, style));
    expect(widths[0]).toBeCloseTo(widths[1]!, 9);
    expect(widths[2]).toBeCloseTo(widths[3]!, 9);
  });

  test('the width of figures equals that of the drawn string', () => {
    const pdf = createPdf({ title: 'Test', creator: 'Divisor', renderedAt: new Date(0) });
    const book = createFontSet(pdf);
    book.register('regular', openFonts().bytes('regular'));
    for (const text of ['1,234.56%', '-0.71', '2024-11-17'])
      expect(typesetter.width(text, { size: 1 })).toBeCloseTo(book.measure('regular', text), 6);
  });
});

describe('lines', () => {
  test('break at spaces, keep within the width and lose nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(...'abcdefgW中国'), minLength: 1, maxLength: 12 }), {
          minLength: 1,
          maxLength: 30,
        }),
        fc.integer({ min: 30, max: 300 }),
        (words, maxWidth) => {
          const text = words.join(' ');
          const lines = breakLines(text, maxWidth);
          for (const line of lines) expect(typesetter.width(line, style)).toBeLessThanOrEqual(maxWidth + 0.5);
          expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('a word wider than a line is broken inside', () => {
    expect(breakLines('x'.repeat(100), 100).length).toBeGreaterThan(3);
  });

  test('ideographs break anywhere but before what closes them', () => {
    const lines = breakLines('中国石油，天然气。股份', 41);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).not.toMatch(/^[，。]/);
  });

  test('dates are not split, compound words are', () => {
    expect(breakLines('a 2024-01-02', 50)).toEqual(['a', '2024-01-02']);
    expect(breakLines('free-float', 25)).toEqual(['free-', 'float']);
  });
});

describe('fitting', () => {
  test('text that fits is unchanged; the last line of other text ends in an ellipsis within the width', () => {
    expect(typesetter.fit('short', { ...style, maxWidth: 100, linesMax: 1 })).toEqual(['short']);
    const [line, ...more] = typesetter.fit('a name that is far too long for its column', {
      ...style,
      maxWidth: 80,
      linesMax: 1,
    });
    expect(more).toEqual([]);
    expect(line).toMatch(/…$/);
    expect(typesetter.width(line!, style)).toBeLessThanOrEqual(80);
  });
});
