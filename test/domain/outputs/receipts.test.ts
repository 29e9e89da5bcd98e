import { expect, test } from 'vitest';
import { readTextNumbers, rejectNumber, type VerifiedNumber, verifyNumbers } from '#domain/outputs/receipts.js';
import { fc } from '../../fast-check.js';

/** Results by their pinned address. */
type Results = Readonly<Record<string, unknown>>;

const OVERVIEW = 'divisor:/analytics/CORE-40/overview?run_id=8f2a';
const EVEN = 'divisor:/analytics/EVEN-40/overview?run_id=77b1';
const YEARS = 'divisor:/analytics/CORE-40/performance?run_id=8f2a';
const LEVELS = 'divisor:/analytics/CORE-40/levels?run_id=8f2a';
const COMPARE = 'divisor:/analytics/compare?ids=CORE-40,EVEN-40';

const RESULTS: Results = {
  [OVERVIEW]: {
    index_id: 'CORE-40',
    start: '2019-01-02',
    end: '2024-12-31',
    metrics: {
      total_return: 0.18372,
      volatility: 0.120749,
      max_drawdown: -0.34567,
      count: 20,
      cap: 5_234_567_890,
      tie: 0.125,
    },
    sessions: 1509,
  },
  [EVEN]: { index_id: 'EVEN-40', start: '2019-01-02', end: '2024-12-31', metrics: { total_return: 0.22118 } },
  [YEARS]: {
    index_id: 'CORE-40',
    years: { 2023: -0.0512, 2024: 0.0934 },
    rows: [{ date: '2024-06-28', level: 1234.5678 }],
  },
  [LEVELS]: { index_id: 'CORE-40', levels: { index: ['2024-12-30', '2024-12-31'], data: [1042.318, 1051.0] } },
  [COMPARE]: {
    index_ids: ['CORE-40', 'EVEN-40'],
    entries: [{ total_return: 0.18372 }, { total_return: 0.22118 }],
  },
};

const IDS: ReadonlySet<string> = new Set(['CORE-40', 'EVEN-40', 'S']);

function verify(text: string, results: Results = RESULTS): VerifiedNumber[] {
  return readTextNumbers(text, IDS).map((number) => {
    const { citation } = number;
    if (citation === null) return rejectNumber(number, 'unsourced', number.missing!);
    const result = results[citation.address];
    if (result === undefined) return rejectNumber(number, 'unreadable', 'address');
    const bytes = new TextEncoder().encode(JSON.stringify(result));
    return verifyNumbers({ address: citation.address, bytes, numbers: [number] })[0]!;
  });
}

/** Writes a text whose footnotes cite pointers of results. */
const write = (sentence: string, ...citations: readonly string[]): string =>
  `${sentence}\n\n${citations.map((citation, i) => `[^${i + 1}]: ${citation}`).join('\n')}\n`;

const judge = (sentence: string, ...citations: readonly string[]): string[] =>
  verify(write(sentence, ...citations)).map(({ text, status, reason, rounding }) =>
    [text, status, status === 'proven' ? rounding : reason].join(' '),
  );

const listStatuses = (sentence: string, ...citations: readonly string[]): string[] =>
  verify(write(sentence, ...citations)).map(({ status }) => status);

const RETURN = `${OVERVIEW}#/metrics/total_return`;
const DRAWDOWN = `${OVERVIEW}#/metrics/max_drawdown`;

test('a number is proven if it is the value rounded to the digits shown, in any unit', () => {
  for (const [sentence, pointer, expected] of [
    ['It rose by 18.4 %[^1].', '/metrics/total_return', '18.4 proven 1 decimal'],
    ['It rose by 18.372 percent[^1].', '/metrics/total_return', '18.372 proven exact'],
    ['It rose by **18.4** %.[^1]', '/metrics/total_return', '18.4 proven 1 decimal'],
    ['It rose by 1,837 bps[^1].', '/metrics/total_return', '1,837 proven 0 decimals'],
    ['A fraction of 0.184[^1].', '/metrics/total_return', '0.184 proven 3 decimals'],
    ['Um 18,4\u00a0%[^1].', '/metrics/total_return', '18,4 proven 1 decimal'],
    ['It has 20 securities[^1].', '/metrics/count', '20 proven exact'],
    ['A cap of USD 5.2 billion[^1].', '/metrics/cap', '5.2 proven 1 decimal'],
    ['A cap of 5,234.6 million[^1].', '/metrics/cap', '5,234.6 proven 1 decimal'],
    ['A cap of 5\u202f234\u202f567\u202f890[^1].', '/metrics/cap', '5\u202f234\u202f567\u202f890 proven exact'],
    ['A cap of 5.234.567.890,0[^1].', '/metrics/cap', '5.234.567.890,0 proven exact'],
    ['Over 1,509 sessions[^1].', '/sessions', '1,509 proven exact'],
    // 0.125 ends in 5: away from zero 13 %, to even 12 %
    ['It is 13 %[^1].', '/metrics/tie', '13 proven 0 decimals'],
    ['It is 12 %[^1].', '/metrics/tie', '12 proven 0 decimals'],
    ['It is 12.5e-2[^1].', '/metrics/tie', '12.5e-2 proven exact'],
  ] as const)
    expect([sentence, ...judge(sentence, `${OVERVIEW}#${pointer}`)]).toEqual([sentence, expected]);
});

test('another digit, sign or scale is a difference, and its reason says which', () => {
  for (const [sentence, citation, expected] of [
    ['It rose by 18.3 %[^1].', RETURN, '18.3 different value'],
    ['It rose by 18.38 %[^1].', RETURN, '18.38 different value'],
    ['It rose by -18.4 %[^1].', RETURN, '-18.4 different sign'],
    ['It rose by \u221218.4 %[^1].', RETURN, '\u221218.4 different sign'],
    ['It fell by 18.4 %[^1].', RETURN, '18.4 different sign'],
    ['A decline of 18.4 %[^1].', RETURN, '18.4 different sign'],
    ['It rose by 18.4[^1].', RETURN, '18.4 different scale'],
    ['It rose by 0.184 %[^1].', RETURN, '0.184 different scale'],
    ['It rose by 18.4 bps[^1].', RETURN, '18.4 different scale'],
    ['It rose by 34.6 %[^1].', DRAWDOWN, '34.6 different sign'],
    ['It is 34.6 %[^1].', DRAWDOWN, '34.6 different sign'],
    ['A cap of 5.2 million[^1].', `${OVERVIEW}#/metrics/cap`, '5.2 different scale'],
  ] as const)
    expect([sentence, ...judge(sentence, citation)]).toEqual([sentence, expected]);
});

test('a word of decrease replaces the minus of the next number only', () => {
  const fell = `${YEARS}#/years/2023`;
  for (const [sentence, expected] of [
    ['It fell by 5.12 %[^1].', 'proven'],
    ['It lost about 5.1 %[^1].', 'proven'],
    ['It was down 5.1 %[^1].', 'proven'],
    ['It fell by \u22125.1 %[^1].', 'proven'],
    ['It returned -5.1 %[^1].', 'proven'],
    ['It returned 5.1 %[^1].', 'different'],
    ['It fell, then gained 5.1 %[^1].', 'different'],
    ['It fell to 5.1 %[^1].', 'different'],
    ['It rose by 5.1 %[^1].', 'different'],
  ] as const)
    expect([sentence, ...listStatuses(sentence, fell)]).toEqual([sentence, expected]);
  expect(judge('It fell 5 %[^1] with 12.07 %[^2] of volatility.', fell, `${OVERVIEW}#/metrics/volatility`)).toEqual([
    '5 proven 0 decimals',
    '12.07 proven 2 decimals',
  ]);
  // A level after `fell to` is positive.
  expect(judge('It fell to 1,051[^1].', `${LEVELS}#/levels/data/1`)).toEqual(['1,051 proven exact']);
  expect(judge('A drawdown of 34.57 %[^1].', DRAWDOWN)).toEqual(['34.57 proven 2 decimals']);
});

test('the nearest id of a sentence must be the document of the source', () => {
  const other = `${EVEN}#/metrics/total_return`;
  expect(judge('CORE-40 rose by 22.1 %[^1].', other)).toEqual(['22.1 different subject']);
  expect(judge('`CORE-40` rose by 22.1 %[^1].', other)).toEqual(['22.1 different subject']);
  expect(judge("EVEN-40's return was 22.1 %[^1].", other)).toEqual(['22.1 proven 1 decimal']);
  expect(judge('A return of 22.1 %[^1] for CORE-40.', other)).toEqual(['22.1 different subject']);
  expect(judge('CORE-40 rose by 18.4 %[^1] and EVEN-40 by 22.1 %[^2].', RETURN, other)).toEqual([
    '18.4 proven 1 decimal',
    '22.1 proven 1 decimal',
  ]);
  expect(judge('| CORE-40 | 22.1 %[^1] |\n| EVEN-40 | 22.1 %[^1] |', other)).toEqual([
    '22.1 different subject',
    '22.1 proven 1 decimal',
  ]);
  // The pointer chooses among the documents of one source.
  const entry = `${COMPARE}#/entries/1/total_return`;
  expect(judge('CORE-40 rose by 22.1 %[^1].', entry)).toEqual(['22.1 different subject']);
  expect(judge('EVEN-40 rose by 22.1 %[^1].', entry)).toEqual(['22.1 proven 1 decimal']);
});

test('a year or a date of the sentence must be in the window of the source', () => {
  const year = `${YEARS}#/years/2024`;
  for (const [sentence, citation, expected] of [
    ['In 2024 it rose by 9.3 %[^1].', year, 'proven'],
    ['In 2023 it rose by 9.3 %[^1].', year, 'different'],
    ['It rose by 9.3 % in 2024[^1].', year, 'proven'],
    ['It rose by 9.3 % (2023)[^1].', year, 'different'],
    ['Up to June 2024 it rose by 9.3 %[^1].', year, 'proven'],
    ['On 31 December 2024 it was at 1051[^1].', `${LEVELS}#/levels/data/1`, 'proven'],
    ['On 2024-12-30 it was at 1051[^1].', `${LEVELS}#/levels/data/1`, 'different'],
    ['On December 30, 2024 it was at 1,051.0[^1].', `${LEVELS}#/levels/data/1`, 'different'],
    ['On 28 June 2024 it was at 1,234.57[^1].', `${YEARS}#/rows/0/level`, 'proven'],
    ['In Q1 2024 it was at 1,234.57[^1].', `${YEARS}#/rows/0/level`, 'different'],
    ['From 2019 to 2024 it rose by 18.4 %[^1].', RETURN, 'proven'],
    ['From 2010 to 2024 it rose by 18.4 %[^1].', RETURN, 'different'],
    ['Over 2019\u20132025 it rose by 18.4 %[^1].', RETURN, 'different'],
  ] as const)
    expect([sentence, ...listStatuses(sentence, citation)]).toEqual([sentence, expected]);
  const fell = `${YEARS}#/years/2023`;
  for (const [sentence, first, second] of [
    ['It fell 5.1 %[^1] in 2023 and gained 9.3 %[^2] in 2024.', 'proven', 'proven'],
    ['In 2023 it fell 5.1 %[^1], in 2024 it gained 9.3 %[^2].', 'proven', 'proven'],
    ['It fell 5.1 %[^1] in 2024 and gained 9.3 %[^2] in 2024.', 'different', 'proven'],
    ['In 2024 it fell 5.1 %[^1], in 2023 it gained 9.3 %[^2].', 'different', 'different'],
    ['Since 2019 it fell 5.1 %[^1] in 2023 and gained 9.3 %[^2] in 2024.', 'proven', 'proven'],
  ] as const)
    expect([sentence, ...listStatuses(sentence, fell, year)]).toEqual([sentence, first, second]);
});

test('returns count from the close of the first day of their window: this day may be named, the period that it ends may not', () => {
  const address = (name: string): string =>
    `divisor:/analytics/CORE-40/${name}?start=2024-09-30&end=2024-12-31&run_id=8f2a`;
  const [performance, attribution] = [address('performance'), address('attribution')];
  const requested = { requested_start: '2024-09-30', requested_end: '2024-12-31', end: '2024-12-31' };
  const results: Results = {
    [performance]: { ...requested, start: '2024-09-30', metrics: { total_return: 0.0293 } },
    // An attribution states the first day with a return.
    [attribution]: { ...requested, start: '2024-10-01T00:00:00+00:00', contributions: [{ contribution: 0.0293 }] },
  };
  for (const [sentence, expected] of [
    ['From 2024-09-30 to 2024-12-31 it returned 2.93 %[^1].', 'proven'],
    ['Since 30 September 2024 it returned 2.93 %[^1].', 'proven'],
    ['It returned 2.93 %[^1] between 30 September and 31 December 2024.', 'proven'],
    ['In Q4 2024 it returned 2.93 %[^1].', 'proven'],
    ['From 1 October 2024 it returned 2.93 %[^1].', 'proven'],
    ['Since 27 September 2024 it returned 2.93 %[^1].', 'different'],
    ['From 2024-09-30 to 2025-01-02 it returned 2.93 %[^1].', 'different'],
    ['In Q3 2024 it returned 2.93 %[^1].', 'different'],
    ['In September 2024 it returned 2.93 %[^1].', 'different'],
    ['It returned 2.93 %[^1] in Q3 2024.', 'different'],
  ] as const)
    for (const pointer of [`${performance}#/metrics/total_return`, `${attribution}#/contributions/0/contribution`])
      expect([sentence, pointer, ...verify(write(sentence, pointer), results).map(({ status }) => status)]).toEqual([
        sentence,
        pointer,
        expected,
      ]);
  for (const [sentence, expected] of [
    ['Since the end of September 2024 it returned 2.93 %[^1].', 'proven'],
    ['From September to December 2024 it returned 2.93 %[^1].', 'proven'],
  ] as const)
    expect(verify(write(sentence, `${performance}#/metrics/total_return`), results)).toMatchObject([
      { status: expected },
    ]);
});

test('a start that was requested long before the data does not widen the window', () => {
  const address = 'divisor:/analytics/CORE-40/attribution?start=2019-01-02&run_id=8f2a';
  const result = { requested_start: '2019-01-02', start: '2024-01-03', end: '2024-12-31', total_return: 0.0293 };
  const [number] = verify(write('Since 2019-01-02 it returned 2.93 %[^1].', `${address}#/total_return`), {
    [address]: result,
  });
  expect(number).toMatchObject({ status: 'different', reason: 'period' });
});

test('dates, years and numbers inside ids, code, headings, addresses and list numbers are no numbers', () => {
  const text = [
    '# 2024: 12 results',
    'Results of 7 runs',
    '-----------------',
    '1. CORE-40 and CORE_2x, on 2024-12-31, 31 December 2024 and in Q3 2024, at 14:30 in version 1.2.3, on the 3rd.',
    '2. In 2019 and 2020s, `x = 5` and [link](https://example.org/12?a=5), https://example.org/99.',
    '',
    '```',
    'code 55',
    '```',
    '',
    'After the list.',
    '',
    '    indented 66',
    '',
    'The figure is 77.',
  ].join('\n');
  expect(verify(text).map(({ text: number, status }) => [number, status])).toEqual([['77', 'unsourced']]);
  const counted = verify('2016 observations[^1] in 2016.\n\n[^1]: divisor:/analytics/CORE-40/x#/n\n', {
    'divisor:/analytics/CORE-40/x': { n: 2016 },
  });
  expect(counted.map(({ text: number, status }) => [number, status])).toEqual([['2016', 'proven']]);
});

test('positions are UTF-16 units and enclose sign and digits', () => {
  const text = write('😀 It returned \u22125.1 %[^1].', `${YEARS}#/years/2023`);
  const [number] = verify(text);
  expect(text.slice(number!.start, number!.end)).toBe('\u22125.1');
  expect(number).toMatchObject({ text: '\u22125.1', true: -0.0512, source: `${YEARS}#/years/2023` });
  expect(number!.stated).toBeCloseTo(-0.051, 12);
});

test('a footnote belongs to the number before it, with at most one word between', () => {
  expect(judge('From 12 to 18.4 %[^1].', RETURN)).toEqual(['12 unsourced no footnote', '18.4 proven 1 decimal']);
  expect(judge('A return of 18.4 % a long way before[^1].', RETURN)).toEqual(['18.4 unsourced no footnote']);
  expect(judge('A return of 18.4 %[^2].', RETURN)).toEqual(['18.4 unsourced footnote missing']);
  expect(judge('A return of 18.4 %[^1].', 'my own estimate')).toEqual(['18.4 unsourced footnote without an address']);
  expect(judge('A return of 18.4 %[^1].', OVERVIEW)[0]).toContain('18.4 unreadable');
  expect(judge('A return of 18.4 %[^1].', `${OVERVIEW}#/metrics`)[0]).toContain('18.4 unreadable');
  expect(judge('A return of 18.4 %[^1].', `${OVERVIEW}#/metrics/absent`)[0]).toContain('18.4 unreadable');
  expect(judge('A return of 1,23,4 %[^1].', RETURN)[0]).toContain('1,23,4 unreadable');
});

interface Fact {
  readonly id: string;
  readonly year: number | null;
  readonly value: number;
  readonly citation: string;
}

const FIRST_YEAR = 2021;
const YEARS_COUNT = 5;

const arbitraryValue = fc.double({ min: 0.0011, max: 0.9, noNaN: true }).chain((size) => fc.constantFrom(size, -size));

const arbitraryMarket = fc
  .tuple(
    fc.array(arbitraryValue, { minLength: 12, maxLength: 12 }),
    fc.array(fc.integer({ min: 3, max: 90_000 }), { minLength: 2, maxLength: 2 }),
  )
  .map(([values, counts]) => {
    const results: Record<string, unknown> = {};
    const facts: Fact[] = [];
    const sizes: Fact[] = [];
    for (const [k, id] of ['CORE-40', 'EVEN-40'].entries()) {
      const address = `divisor:/analytics/${id}/performance?run_id=${k}a`;
      const years = Object.fromEntries(
        Array.from({ length: YEARS_COUNT }, (_, j) => [FIRST_YEAR + j, values[6 * k + j]!]),
      );
      const total = values[6 * k + 5]!;
      results[address] = { index_id: id, start: '2021-01-04', end: '2025-12-31', total, count: counts[k], years };
      for (const [year, value] of Object.entries(years))
        facts.push({ id, year: Number(year), value, citation: `${address}#/years/${year}` });
      facts.push({ id, year: null, value: total, citation: `${address}#/total` });
      sizes.push({ id, year: null, value: counts[k]!, citation: `${address}#/count` });
    }
    return { results, facts, sizes };
  });

/** Writes a positive number without an exponent, times a power of ten. */
function expand(value: number, power: number): string {
  const [written = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = written.split('.');
  const shift = Number(exponent) + power;
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = digits
    .padEnd(Math.max(point, digits.length), '0')
    .padStart(digits.length + Math.max(0, 1 - point), '0');
  const position = Math.max(point, 1);
  return padded.length === position ? padded : `${padded.slice(0, position)}.${padded.slice(position)}`;
}

/** Rounds half away from zero, on the decimal of the value. */
function round(value: number, power: number, decimals: number): string {
  const [whole = '', fraction = ''] = expand(Math.abs(value), power).split('.');
  const padded = fraction.padEnd(decimals + 1, '0');
  const digits = BigInt(whole + padded.slice(0, decimals)) + (padded[decimals]! >= '5' ? 1n : 0n);
  const text = String(digits).padStart(decimals + 1, '0');
  return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

interface Style {
  readonly unit: number;
  readonly decimals: number;
  readonly frame: number;
}

const arbitraryStyle: fc.Arbitrary<Style> = fc.record({
  unit: fc.integer({ min: 0, max: 4 }),
  decimals: fc.integer({ min: 1, max: 3 }),
  frame: fc.integer({ min: 0, max: 7 }),
});

/** Writes digits with a unit, without sign. */
function writeMagnitude(value: number, { unit, decimals }: Style): string {
  if (unit === 0) return `${round(value, 2, decimals)} %`;
  if (unit === 1) return `${round(value, 2, decimals)} percent`;
  if (unit === 2) return `${round(value, 4, 0).replaceAll(/\B(?=(\d{3})+$)/g, ',')} bps`;
  if (unit === 3) return round(value, 0, decimals + 3);
  return `${round(value, 2, decimals === 3 ? 2 : decimals).replace('.', ',')}\u00a0%`;
}

interface Statement {
  readonly sign: number;
  readonly magnitude: string;
}

function writeFact({ id, year }: Fact, { frame }: Style, label: number, { sign, magnitude }: Statement): string {
  const note = `[^${label}]`;
  const during = year === null ? 'from 2021 to 2025' : `in ${year}`;
  const minus = sign < 0 ? '\u2212' : '';
  const frames = [
    `${id} ${sign < 0 ? 'fell' : 'rose'} by ${magnitude}${note} ${during}.`,
    `The return of ${id} ${during} was ${minus}${magnitude}${note}.`,
    `${during[0]!.toUpperCase()}${during.slice(1)}, **${id}** ${sign < 0 ? 'lost' : 'gained'} about ${magnitude}.${note}`,
    `| ${id} | ${year ?? 'total'} | ${minus}${magnitude} ${note} |`,
    `- ${id}: ${sign < 0 ? '-' : '+'}${magnitude}${note} ${during}`,
    `A ${sign < 0 ? 'decline' : 'rise'} of ${magnitude}${note} was recorded for \`${id}\` ${during}.`,
    `${id} was ${sign < 0 ? 'down' : 'up'} ${magnitude} ${year === null ? 'overall' : during}${note}.`,
    `With a return of **${minus}${magnitude}**${note}, ${id} surprised ${during}.`,
  ];
  return frames[frame]!;
}

const writeTrue = (fact: Fact, style: Style, label: number): string =>
  writeFact(fact, style, label, { sign: Math.sign(fact.value), magnitude: writeMagnitude(fact.value, style) });

const ERRORS = ['digit', 'sign', 'year', 'scale', 'index'] as const;

function writeFalse(fact: Fact, style: Style, label: number, error: (typeof ERRORS)[number], seed: number): string {
  const sign = Math.sign(fact.value);
  const magnitude = writeMagnitude(fact.value, style);
  if (error === 'sign') return writeFact(fact, style, label, { sign: -sign, magnitude });
  if (error === 'index')
    return writeFact({ ...fact, id: fact.id === 'CORE-40' ? 'EVEN-40' : 'CORE-40' }, style, label, { sign, magnitude });
  if (error === 'year') {
    const year =
      fact.year === null ? FIRST_YEAR - 2 : FIRST_YEAR + ((fact.year - FIRST_YEAR + 1 + (seed % 4)) % YEARS_COUNT);
    return writeFact({ ...fact, year }, style, label, { sign, magnitude });
  }
  if (error === 'scale') {
    const other = style.unit === 3 ? round(fact.value, 2, 5) : `${round(fact.value, 0, 5)} %`;
    return writeFact(fact, style, label, { sign, magnitude: other });
  }
  const places = [...magnitude.matchAll(/\d/g)].map(({ index }) => index);
  const place = places[seed % places.length]!;
  const digit = (Number(magnitude[place]) + 1 + (seed % 8)) % 10;
  const changed = `${magnitude.slice(0, place)}${digit}${magnitude.slice(place + 1)}`;
  return writeFact(fact, style, label, { sign, magnitude: changed });
}

const arbitraryChoices = fc.array(fc.tuple(fc.nat({ max: 11 }), arbitraryStyle, fc.nat()), {
  minLength: 1,
  maxLength: 5,
});

const joinSentences = (sentences: readonly string[], facts: readonly Fact[]): string =>
  `# Report of 2024\n\n${sentences.map((sentence) => (/^[|-]/.test(sentence) ? `\n\n${sentence}\n\n` : `${sentence} `)).join('')}\n\n${facts
    .map(({ citation }, i) => `[^${i + 1}]: ${citation}`)
    .join('\n')}\n`;

const TEXTS = { numRuns: 1000, seed: 81 };

test('no error planted in 1,000 texts is proven, and the true numbers around it stay proven', () => {
  const falselyProven: string[] = [];
  const unproven: string[] = [];
  let texts = 0;
  for (const [{ results, facts }, choices, error] of fc.sample(
    fc.tuple(arbitraryMarket, arbitraryChoices, fc.constantFrom(...ERRORS)),
    TEXTS,
  )) {
    const chosen = choices.map(([k]) => facts[k]!);
    const at = choices[0]![2] % choices.length;
    const sentences = choices.map(([, style, seed], i) =>
      i === at ? writeFalse(chosen[i]!, style, i + 1, error, seed) : writeTrue(chosen[i]!, style, i + 1),
    );
    const text = joinSentences(sentences, chosen);
    const numbers = verify(text, results);
    expect([text, numbers.length]).toEqual([text, choices.length]);
    texts++;
    for (const [i, { status, reason }] of numbers.entries()) {
      const line = `${error}, ${reason}: ${sentences[i]!} (${chosen[i]!.value})`;
      if (i === at && status === 'proven') falselyProven.push(line);
      if (i !== at && status !== 'proven') unproven.push(line);
    }
  }
  expect(texts).toBe(1000);
  expect(falselyProven).toEqual([]);
  expect(unproven).toEqual([]);
});

test('at most 1 % of the true numbers of 1,000 texts are unproven', () => {
  const unproven: string[] = [];
  let total = 0;
  for (const [{ results, facts, sizes }, choices] of fc.sample(fc.tuple(arbitraryMarket, arbitraryChoices), TEXTS)) {
    const size = sizes[0]!;
    const chosen = [...choices.map(([k]) => facts[k]!), size];
    const sentences = [
      ...choices.map(([, style], i) => writeTrue(chosen[i]!, style, i + 1)),
      `${size.id} has ${size.value.toLocaleString('en-US')} securities[^${chosen.length}].`,
    ];
    const numbers = verify(joinSentences(sentences, chosen), results);
    total += chosen.length;
    expect([joinSentences(sentences, chosen), numbers.length]).toEqual([
      joinSentences(sentences, chosen),
      chosen.length,
    ]);
    for (const [i, { status, reason }] of numbers.entries())
      if (status !== 'proven') unproven.push(`${reason}: ${sentences[i]!}`);
  }
  expect({ first: unproven.slice(0, 5), isEnough: unproven.length <= total / 100 }).toEqual({
    first: [],
    isEnough: true,
  });
});

test('2,000 numbers are accepted and 2,001 are refused', () => {
  expect(readTextNumbers('7 '.repeat(2000), IDS)).toHaveLength(2000);
  expect(() => readTextNumbers('It is 7. '.repeat(2001), IDS)).toThrow('1 error in the body.');
});

test('a text of 1 MiB is read in linear time, whatever it repeats', () => {
  for (const piece of [
    'CORE-40 ',
    '`',
    '`` ',
    '<!--',
    '[^1]',
    '* ',
    '_',
    '2024 ',
    '2024 to ',
    '1,',
    '-',
    '.',
    '(',
    'a',
    '1-',
    '[x](',
    '<a ',
    '| ',
    '\u00a01',
    'March ',
    'fell ',
  ]) {
    const started = performance.now();
    try {
      readTextNumbers(piece.repeat(1_048_576 / piece.length), IDS);
    } catch (failure) {
      expect(String(failure)).toContain('error in the body');
    }
    const seconds = (performance.now() - started) / 1000;
    expect([piece, seconds < 60 ? 'linear' : seconds]).toEqual([piece, 'linear']); // quadratic time would be hours
  }
});
