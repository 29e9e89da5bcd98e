import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { createMarketRecords, createMarketRows } from '#market/content/market-rows.js';
import { readCsv, readTextCells } from '#market/formats/csv.js';
import { createProblems } from '#market/tables/problems.js';

const encodeText = (text: string) => new TextEncoder().encode(text);

/** Divides bytes into chunks. The list of sizes is repeated until the bytes end. */
function* splitIntoPieces(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let from = 0, i = 0; from < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    yield bytes.slice(from, from + size);
    from += size;
  }
}

async function readRows(text: string, sizes = [1 << 20]) {
  const rows: unknown[][] = [];
  let header: string[] = [];
  await readCsv(splitIntoPieces(encodeText(text), sizes), (columns) => {
    header = columns;
    return (record) => rows.push(readTextCells(record));
  });
  return { header, rows };
}

/** Returns the numbers that the market reads from the texts in a CLOSE column. */
async function readCloses(texts: readonly string[]) {
  const problems = createProblems();
  const rows = createMarketRows(problems);
  const text = `identifier,date,X,CLOSE\n${texts.map((cell, i) => `N${i},2024-01-02,${cell},1`).join('\n')}\n`;
  await readCsv([encodeText(text)], (columns) => createMarketRecords(rows)('market', columns));
  const panels = rows.toPanels();
  return {
    findings: problems.findings(),
    valueOf: (i: number) => panels?.fields.get('X')![panels.identifiers.indexOf(`N${i}`)],
  };
}

describe('comma-separated values', () => {
  test('quoted cells hold delimiters, line breaks and doubled quotes', async () => {
    const { header, rows } = await readRows('a,b\r\n"x,1","say ""no"""\r\n"two\nlines",\r\n');
    expect(header).toEqual(['a', 'b']);
    expect(rows).toEqual([
      ['x,1', 'say "no"'],
      ['two\nlines', null],
    ]);
  });

  test('any cells read back as they were written, however the bytes are cut', async () => {
    const cell = fc
      .string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '\r', ';', ' x'), maxLength: 6 })
      .map((text) => text.trim());
    const table = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
        async (rows, sizes) => {
          const quoteText = (text: string) => `"${text.replaceAll('"', '""')}"`;
          const text = ['"h1","h2","h3"', ...rows.map((row) => row.map(quoteText).join(','))].join('\n');
          expect((await readRows(text, sizes)).rows).toEqual(
            rows.map((row) => row.map((value) => (value === '' ? null : value))),
          );
        },
      ),
    );
  });

  test.each([';', '\t', '|'])('the delimiter of the header is that of the file: %j', async (delimiter) => {
    expect((await readRows(`a${delimiter}b\n1${delimiter}2\n`)).rows).toEqual([['1', '2']]);
  });

  test('a byte order mark and a missing last line break are no data', async () => {
    expect(await readRows('\ufeffa,b\n1,2')).toEqual({ header: ['a', 'b'], rows: [['1', '2']] });
  });

  test.each([
    ['an open quote', 'a,b\n"1,2\n', 'A quote is not closed before the end of the file.'],
    ['text after a quote', 'a,b\n"1"x,2\n', 'Text follows a closing quote.'],
    ['no byte at all', '', 'The file is empty; a header is needed.'],
  ])('%s is reported', async (_what, text, message) => {
    await expect(readRows(text)).rejects.toThrow(message);
  });
});

describe('numbers in cells', () => {
  test('are the doubles that the language itself reads from the same text', async () => {
    const text = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.integer({ min: 0, max: 20 })).map(([digits, point]) => {
        const paddedDigits = digits.toString().padStart(point + 1, '0');
        return `${paddedDigits.slice(0, paddedDigits.length - point)}.${paddedDigits.slice(paddedDigits.length - point)}`;
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 30 }), async (texts) => {
        const { valueOf, findings } = await readCloses(texts);
        expect(findings).toEqual([]);
        texts.forEach((cell, i) => expect(valueOf(i), cell).toBe(Number(cell) + 0));
      }),
    );
  });

  test('are missing if the cell is empty or contains nan', async () => {
    const { valueOf } = await readCloses(['', 'NaN', '2']);
    expect([valueOf(0), valueOf(1), valueOf(2)]).toEqual([Number.NaN, Number.NaN, 2]);
  });

  test.each(['12,5', '1_000', '0x10', 'inf', '1e999', '--1', '1.2.3', 'n/a'])(
    'are refused when the text is %s',
    async (text) => {
      const { findings } = await readCloses([`"${text}"`]);
      expect(findings).toMatchObject([
        { severity: 'error', code: 'NOT_A_NUMBER', path: 'market[row 1].X', value: text },
      ]);
    },
  );

  test('a decimal comma is called by its name', async () => {
    const { findings } = await readCloses(['"12,5"']);
    expect(findings[0]?.message).toContain('decimal comma');
  });

  test.each(['1,234.5', '1,234,567', '-12,345,678.'])(
    'the commas between thousands of %s are called by their name',
    async (text) => {
      const { findings } = await readCloses([`"${text}"`]);
      expect(findings[0]?.message).toContain('commas as thousands separators');
    },
  );
});
