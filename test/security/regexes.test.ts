import { readdirSync, readFileSync } from 'node:fs';
import { fc } from '../fast-check.js';
import { expect, test } from 'vitest';
import { listRegexLiterals } from './regex-literals.js';

/**
 * Length of hostile texts. If a pattern takes quadratic time, one long header or cell could block the event loop. Every
 * pattern of the product runs over two kinds of long texts: one piece that is repeated, and accepted texts in which one
 * character is repeated.
 */
const LENGTH = 12_000;
/** Maximum processor time in ms. A linear pass over the text takes less than one, a quadratic pass more than forty. */
const CPU_MS_MAX = 15;

const sources = ['src', 'workers', 'kernels']
  .flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.startsWith('wasm/'))
      .map((name) => `${room}/${name}`),
  )
  .toSorted();

/** Patterns that are applied only to short texts, whatever a client sends. The value is the reason. */
const BOUNDED_PATTERNS: Readonly<Record<string, string>> = {
  '/\\B(?=(?:\\d{3})+$)/g': 'the digits before the point of a number below 1e21',
  "/^([+-]?)\\s*([$€£¥₹]?)\\s*([+-]?[\\d.,'\\u2019\\s]*\\d[.]?)\\s*([KMBT]?)\\s*([$€£¥₹]?)$/i":
    'a number with its marks and units, of at most 60 characters',
};

/** Distinct patterns, each with its first location. */
const patterns = [
  ...new Map(
    sources
      .toReversed()
      .flatMap((file) =>
        listRegexLiterals(readFileSync(file, 'utf8')).map(({ pattern, line }) => ({
          place: `${file}:${line}`,
          pattern,
        })),
      )
      .map((literal) => [String(literal.pattern), literal] as const),
  ).values(),
].filter(({ pattern }) => !Object.hasOwn(BOUNDED_PATTERNS, String(pattern)));

const PIECES = [
  'a',
  'A',
  'z9',
  '0',
  '1',
  '.',
  '1.',
  ' ',
  '\t',
  ' \t',
  '\n',
  '\r\n',
  '-',
  '_',
  '/',
  '\\',
  '"',
  "'",
  '<',
  '>',
  '<a ',
  '="',
  '&',
  '&#',
  '%',
  '%2',
  '@',
  ':',
  'a:',
  '(',
  '((',
  '[',
  '{',
  '{{',
  '${',
  ',',
  ', ',
  ';',
  '*',
  '**',
  '+',
  '=',
  '#',
  '|',
  '`',
  '\u0000',
  'é',
  '💥',
  'a1',
  'a b ',
  '0e',
  '://',
  'a://',
];

/**
 * Returns hostile texts for a pattern. Each repeats a piece after a beginning that the pattern accepts, then ends with
 * a character that does not match.
 */
function listTexts(pattern: RegExp): string[] {
  const acceptedTexts = listSamples(pattern);
  const beginnings = ['', ...new Set(acceptedTexts.map((text) => text.slice(0, 8)))].slice(0, 4);
  const repeatedTexts = PIECES.flatMap((piece) =>
    beginnings.map((beginning) => `${beginning}${piece.repeat(Math.ceil(LENGTH / piece.length))}\u0001!`),
  );
  const stretchedTexts = acceptedTexts
    .slice(0, 6)
    .flatMap((text) =>
      Array.from(
        { length: Math.min(text.length, 12) },
        (_, i) => `${text.slice(0, i)}${text[i]!.repeat(LENGTH)}${text.slice(i)}\u0001`,
      ),
    );
  return [...repeatedTexts, ...stretchedTexts];
}

/**
 * Beginning of a class of characters that lack a property. The generator would draw from all characters until one
 * matches.
 */
const RARE_PATTERN = String.raw`[^\P{`;

function listSamples(pattern: RegExp): string[] {
  if (pattern.source.includes(RARE_PATTERN)) return [];
  try {
    return fc
      .sample(fc.stringMatching(new RegExp(pattern.source, pattern.flags.replaceAll(/[^usv]/g, ''))), {
        numRuns: 8,
        seed: 1,
      })
      .filter((text) => text.length > 0);
  } catch {
    return []; // the generator does not support this construct, so only the pieces remain
  }
}

function measureCpuMs(pattern: RegExp, text: string): number {
  const before = process.cpuUsage();
  if (pattern.global) text.replaceAll(pattern, '');
  else pattern.test(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('the patterns of the program are found', () => {
  expect(patterns.length).toBeGreaterThan(40);
  expect(
    listRegexLiterals("const a = b / c / d; const e = '/x/'; // /y/\nf(/[/]\\/z/gi, `${g.replace(/h/, '')}/i/`);").map(
      ({ pattern }) => String(pattern),
    ),
  ).toEqual(['/[/]\\/z/gi', '/h/']);
});

test.each(patterns)('$place $pattern runs in linear time', ({ pattern }) => {
  const slowPatterns: string[] = [];
  for (const text of listTexts(pattern)) {
    // Garbage collection may slow down one of three runs, but not all three.
    let ms = measureCpuMs(pattern, text);
    for (let attempt = 0; attempt < 2 && ms >= CPU_MS_MAX; attempt++) ms = Math.min(ms, measureCpuMs(pattern, text));
    if (ms >= CPU_MS_MAX)
      slowPatterns.push(`${ms.toFixed(0)} ms for ${JSON.stringify(text.slice(0, 30))}... of ${text.length}`);
    if (slowPatterns.length > 2) break;
  }
  expect(slowPatterns).toEqual([]);
});

test('no regular expression is built from client input', () => {
  const results = sources.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((text, i) => (/new RegExp\(|[^.\w]RegExp\(/.test(text) ? [`${file}:${i + 1} ${text.trim()}`] : [])),
  );
  // Job kinds, names of XML attributes, thousands separators and the parts of numbers are fixed in the product.
  expect([...new Set(results.map((line) => line.replace(/:\d+ .*/, '')))]).toEqual([
    'src/contract/jobs.ts',
    'src/domain/outputs/receipts.ts',
    'src/market/formats/workbook.ts',
    'src/market/mapping/written-values.ts',
  ]);
});
