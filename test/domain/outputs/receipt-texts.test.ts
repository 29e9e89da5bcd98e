import { expect, test } from 'vitest';
import { readTextNumbers, rejectNumber, type VerifiedNumber, verifyNumbers } from '#domain/outputs/receipts.js';
import { fc } from '../../fast-check.js';

/** Number of a report: its measure, index and period, and its place in a result. */
interface Fact {
  readonly id: string;
  readonly year: number;
  readonly value: number;
  readonly citation: string;
}

const IDS = ['AM', 'AE', 'GLOBAL-X'] as const;
const YEARS = [2021, 2022, 2023] as const;

/** Results of three indices and of one against another; returns have four to six digits. */
const arbitraryResults = fc
  .array(
    fc.integer({ min: 1001, max: 99_999 }).filter((digits) => digits % 10 !== 0),
    { minLength: 18, maxLength: 18 },
  )
  .map((digits) => {
    const results: Record<string, unknown> = {};
    const facts: Fact[] = [];
    const effects: Fact[] = [];
    for (const [k, id] of IDS.entries()) {
      const address = `divisor:/analytics/${id}/performance?run_id=${k}c`;
      const years: Record<string, number> = {};
      for (const [j, year] of YEARS.entries()) {
        const value = ((k + j) % 2 === 0 ? 1 : -1) * (digits[3 * k + j]! / 1e5);
        years[year] = value;
        facts.push({ id, year, value, citation: `${address}#/years/${year}` });
      }
      results[address] = { index_id: id, start: '2021-01-04', end: '2023-12-29', years };
    }
    const groups = 'divisor:/analytics/AM/group-attribution?by=SECTOR&benchmark=AE&run_id=0c';
    const names = ['selection', 'allocation', 'interaction'];
    const totals = Object.fromEntries(names.map((name, i) => [name, -digits[9 + i]! / 1e6]));
    results[groups] = { index_id: 'AM', start: '2021-01-04', end: '2023-12-29', totals };
    for (const name of names)
      effects.push({ id: name, year: 0, value: totals[name]!, citation: `${groups}#/totals/${name}` });
    return { results, facts, effects };
  });

type Results = Readonly<Record<string, unknown>>;

function verify(text: string, results: Results): VerifiedNumber[] {
  return readTextNumbers(text, new Set(IDS)).map((number) => {
    const result = number.citation === null ? undefined : results[number.citation.address];
    if (result === undefined) return rejectNumber(number, 'unsourced', 'no result');
    const bytes = new TextEncoder().encode(JSON.stringify(result));
    return verifyNumbers({ address: number.citation!.address, bytes, numbers: [number] })[0]!;
  });
}

/** Writes a return as percent with three decimals; all values have at most five decimals. */
const percent = (value: number) => `${(100 * value).toFixed(3)} %`;
const positive = (value: number) => percent(Math.abs(value));
const verb = (value: number) => (value < 0 ? 'fell' : 'rose');
const noun = (value: number) => (value < 0 ? 'loss' : 'gain');
const adverb = (value: number) => (value < 0 ? 'lower' : 'higher');

/** Writes two facts as one text, with the footnotes 1 and 2. The facts differ in index or year. */
type Pattern = (a: Fact, b: Fact) => string;

const PATTERNS: Readonly<Record<string, Pattern>> = {
  'two numbers in one sentence': (a, b) =>
    `${a.id} returned ${percent(a.value)}[^1] in ${a.year}, whereas ${b.id} returned ${percent(b.value)}[^2] in ${b.year}.`,
  'a semicolon': (a, b) =>
    `In ${a.year}, ${a.id} ${verb(a.value)} ${positive(a.value)}[^1]; in ${b.year}, ${b.id} ${verb(b.value)} ${positive(b.value)}[^2].`,
  'numbers before their subjects': (a, b) =>
    `A return of ${percent(a.value)}[^1] for ${a.id} in ${a.year}. One of ${percent(b.value)}[^2] for ${b.id} in ${b.year}.`,
  'rows of a table': (a, b) =>
    `| index | year | return |\n|---|---|---|\n| ${a.id} | ${a.year} | ${percent(a.value)}[^1] |\n| ${b.id} | ${b.year} | ${percent(b.value)}[^2] |`,
  'items of a list': (a, b) =>
    `- **${a.id}** (${a.year}): ${percent(a.value)}[^1]\n- **${b.id}** (${b.year}): ${percent(b.value)}[^2]`,
  'negative words': (a, b) =>
    `${a.id} ended ${a.year} ${positive(a.value)}[^1] ${adverb(a.value)}.\n\nThe ${noun(b.value)} of ${b.id} in ${b.year} was ${percent(b.value)}[^2].`,
  'a loss as a magnitude': (a, b) =>
    `In ${a.year} ${a.id} had a ${noun(a.value)} of ${positive(a.value)}[^1].\n\n${b.id} had a ${noun(b.value)} of ${positive(b.value)}[^2] in ${b.year}.`,
  'a range of years': (a, b) =>
    `Over 2021 to 2023, the best year of ${a.id} was ${a.year} with ${percent(a.value)}[^1].\n\n${b.id}: ${percent(b.value)}[^2] during ${b.year}.`,
  brackets: (a, b) =>
    `${a.id} (${a.year}: ${percent(a.value)}[^1]) and ${b.id} (${b.year}: ${percent(b.value)}[^2]) differ.`,
};

const arbitraryText = fc.record({
  market: arbitraryResults,
  pattern: fc.constantFrom(...Object.keys(PATTERNS)),
  first: fc.nat({ max: 8 }),
  shift: fc.integer({ min: 1, max: 8 }),
});

const join = (sentences: string, first: Fact, second: Fact) =>
  `# Report\n\n${sentences}\n\n[^1]: ${first.citation}\n[^2]: ${second.citation}\n`;

const pickFacts = (facts: readonly Fact[], first: number, shift: number): [Fact, Fact] => [
  facts[first]!,
  facts[(first + shift) % facts.length]!,
];

const TEXTS = { numRuns: 1000, seed: 812 };

test('in 1,000 texts of two facts each, at most 1 % of the true numbers are unproven', () => {
  const unproven: string[] = [];
  for (const { market, pattern, first, shift } of fc.sample(arbitraryText, TEXTS)) {
    const [a, b] = pickFacts(market.facts, first, shift);
    const sentences = PATTERNS[pattern]!(a, b);
    const numbers = verify(join(sentences, a, b), market.results);
    expect([sentences, numbers.length]).toEqual([sentences, 2]);
    for (const { status, reason, text } of numbers)
      if (status !== 'proven') unproven.push(`${pattern}: ${text} ${reason}: ${sentences}`);
  }
  expect({ first: unproven.slice(0, 5), isEnough: unproven.length <= 20 }).toEqual({ first: [], isEnough: true });
});

/** Errors of a text of two facts: the facts that it states, and the footnotes that it cites. */
const ERRORS: Readonly<Record<string, (a: Fact, b: Fact, facts: readonly Fact[]) => Fact>> = {
  'another year': (a) => ({ ...a, year: a.year === 2023 ? 2021 : a.year + 1 }),
  'a year outside the data': (a) => ({ ...a, year: 2019 }),
  'another index': (a) => ({ ...a, id: IDS[(IDS.indexOf(a.id as 'AM') + 1) % IDS.length]! }),
  'the number of the other fact': (a, b) => ({ ...a, value: b.value }),
  'the number of another index in that year': (a, _, facts) => ({
    ...a,
    value: facts.find(({ id, year }) => id !== a.id && year === a.year)!.value,
  }),
  'the fraction as percent': (a) => ({ ...a, value: a.value / 100 }),
  'the percentage as a fraction': (a) => ({ ...a, value: a.value * 100 }),
  'the other sign': (a) => ({ ...a, value: -a.value }),
  'swapped digits': (a) => ({ ...a, value: swapDigits(a.value) }),
};

/** Swaps two neighbouring digits that differ, in the third to fifth decimal; changes the last one if all are equal. */
function swapDigits(value: number): number {
  const digits = Math.round(Math.abs(value) * 1e5);
  const [last, before] = [digits % 10, Math.floor(digits / 10) % 10];
  const swapped = last === before ? digits + (last === 9 ? -1 : 1) : digits - 10 * before - last + 10 * last + before;
  return (Math.sign(value) * swapped) / 1e5;
}

test('no number of another year, index, scale, sign or fact is proven in 1,000 texts of two facts', () => {
  const falselyProven: string[] = [];
  const falselyRefused: string[] = [];
  for (const [{ market, pattern, first, shift }, error] of fc.sample(
    fc.tuple(arbitraryText, fc.constantFrom(...Object.keys(ERRORS))),
    TEXTS,
  )) {
    const [a, b] = pickFacts(market.facts, first, shift);
    const wrong = ERRORS[error]!(a, b, market.facts);
    if (percent(wrong.value) === percent(a.value) && wrong.id === a.id && wrong.year === a.year) continue;
    const sentences = PATTERNS[pattern]!(wrong, b);
    const [one, two] = verify(join(sentences, a, b), market.results);
    if (one!.status === 'proven') falselyProven.push(`${error}, ${pattern}: ${sentences} (${a.value})`);
    if (two!.status !== 'proven') falselyRefused.push(`${error}, ${pattern}, ${two!.reason}: ${sentences}`);
  }
  expect(falselyProven).toEqual([]);
  expect(falselyRefused.slice(0, 5)).toEqual([]);
});

test('swapped subjects of one sentence are refused, and so are swapped footnotes', () => {
  const proven: string[] = [];
  for (const { market, pattern, first } of fc.sample(arbitraryText, TEXTS)) {
    const a = market.facts[first]!;
    const b = market.facts.find(({ id, year }) => id !== a.id && year === a.year)!;
    const subjects = PATTERNS[pattern]!({ ...a, id: b.id }, { ...b, id: a.id });
    for (const { status } of verify(join(subjects, a, b), market.results))
      if (status === 'proven') proven.push(`subjects, ${pattern}: ${subjects}`);
    const footnotes = PATTERNS[pattern]!(a, b);
    for (const { status } of verify(join(footnotes, b, a), market.results))
      if (status === 'proven') proven.push(`footnotes, ${pattern}: ${footnotes}`);
  }
  expect(proven).toEqual([]);
});

test('a natural sentence about one index against another proves the effect of the first', () => {
  for (const { market } of fc.sample(arbitraryText, { numRuns: 100, seed: 3 })) {
    for (const { id, value, citation } of market.effects) {
      const name = `${id[0]!.toUpperCase()}${id.slice(1)}`;
      const effect = `${(100 * value).toFixed(4)} %`;
      const magnitude = `${(100 * Math.abs(value)).toFixed(4)} %`;
      for (const sentence of [
        `The ${id} of AM against AE was ${effect}[^1].`,
        `${name} of AM relative to AE: ${effect}[^1].`,
        `Against AE, the ${id} of AM was ${effect}[^1].`,
        `AM lost ${magnitude}[^1] by ${id} against AE.`,
        `${name} subtracted ${magnitude}[^1] from AM versus AE.`,
        `AM's ${id} effect versus its benchmark AE was ${effect}[^1] over 2021 to 2023.`,
      ]) {
        const statuses = verify(`${sentence}\n\n[^1]: ${citation}\n`, market.results).map(({ status, reason }) => [
          sentence,
          status,
          reason,
        ]);
        expect(statuses).toEqual([[sentence, 'proven', null]]);
      }
      const other = `The ${id} of GLOBAL-X against AE was ${effect}[^1].`;
      expect(verify(`${other}\n\n[^1]: ${citation}\n`, market.results).map(({ status }) => status)).toEqual([
        'different',
      ]);
    }
  }
});
