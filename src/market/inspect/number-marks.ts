import type { Cell } from '../formats/cells.js';
import {
  parseAnyThousands,
  readCommaNumber,
  isGroupedCount,
  findThousandsMark,
  splitUnits,
} from '../mapping/written-numbers.js';
import { ask, type ProposalDraft } from './draft.js';
import type { Question } from './question.js';
import type { Sample } from './sample.js';

/**
 * Numbers with a mark before three digits, which are ambiguous. In 1,234 and 1.234, the mark separates thousands or
 * decimals.
 */
const AMBIGUOUS_NUMBER = { ',': /^[+-]?[1-9]\d{0,2},\d{3}$/, '.': /^[+-]?[1-9]\d{0,2}\.\d{3}$/ } as const;

/** Share of texts with a decimal comma from which on the comma is the decimal mark. A note may contain a comma. */
const COMMAS_MIN = 0.1;

/**
 * Determines decimal and thousands marks from the numbers: 7,5 or 1.234,5 has a decimal comma, 7.5 or 1,234.5 a decimal
 * point. If all numbers are like 1,234, or all are like 1.234, the delimiter decides: a comma between cells implies a
 * decimal point. With another delimiter, a question is asked.
 * @param ofBars numbers of bars, which may have signs and units
 */
export function proposeNumberMarks(
  draft: ProposalDraft,
  cells: readonly (Cell | undefined)[],
  { delimiter }: Sample,
  ofBars: readonly (Cell | undefined)[] = cells,
): void {
  const numberTexts = listNumbers(cells);
  readUnits(draft, listNumbers(ofBars));
  const texts = numberTexts.map((text) => splitUnits(text)?.number ?? text);
  const filterAmbiguous = (mark: ',' | '.') => texts.filter((text) => AMBIGUOUS_NUMBER[mark].test(text));
  const [commas, points] = [filterAmbiguous(','), filterAmbiguous('.')];
  const decisiveTexts = texts.filter((text) => !AMBIGUOUS_NUMBER[','].test(text) && !AMBIGUOUS_NUMBER['.'].test(text));
  const pointTexts = decisiveTexts.filter((text) => /[.,]/.test(text) && isNumber(parseAnyThousands(text)));
  const commaTexts = decisiveTexts.filter((text) => /[.,]/.test(text) && isNumber(readCommaNumber(text)));
  const { decimal } = draft.answers;
  if (decimal === ',') return;
  if (decimal === undefined && commaTexts.length > texts.length * COMMAS_MIN && commaTexts.length > pointTexts.length) {
    draft.mapping.decimal = ',';
    return;
  }
  const isNumeric = delimiter === undefined && commas.length === 0; // numeric cells of a database, Parquet or a workbook
  const isPoint = decimal === '.' || pointTexts.length > 0 || delimiter === ',' || isNumeric;
  if (isPoint) {
    const mark = texts.map(findThousandsMark).find((each) => each !== undefined);
    if (mark !== undefined) draft.mapping.thousands = mark;
    return;
  }
  const [first] = commas.length > 0 ? commas : points;
  if (first === undefined) return;
  const mark = commas.length > 0 ? 'comma' : 'point';
  draft.mapping.decimal = commas.length > 0 ? ',' : '.';
  const question = `Is the ${mark} in ${first} a decimal mark or a thousands separator? The numbers fit both. It is read as a decimal mark.`;
  ask(draft, {
    field: 'decimal',
    question,
    taken: draft.mapping.decimal,
    others: [draft.mapping.decimal === ',' ? '.' : ','],
  });
}

const listNumbers = (cells: readonly (Cell | undefined)[]) =>
  cells.flatMap((cell) => (typeof cell === 'string' && /\d/.test(cell) ? [cell.trim()] : []));

/** Reads currency signs and units, and reports this in a question. The currency itself must be declared elsewhere. */
function readUnits(draft: ProposalDraft, texts: readonly string[]): void {
  const first = texts.find((text) => splitUnits(text) !== undefined);
  if (first === undefined) return;
  draft.mapping.units = 'read';
  ask(draft, createUnitsQuestion(first));
}

/** Returns the question about numbers such as $14.82 and 59.83M. */
export function createUnitsQuestion(text: string): Question {
  const { exponent, money } = splitUnits(text)!; // asked only about numbers with signs or units
  const sign = money === '' ? '' : ` The sign ${money} does not set the currency, which is that of the store.`;
  const unit =
    exponent === '' ? '' : ` K, M, B and T stand for thousands to trillions (here 10${exponent.replace('e', '^')}).`;
  return {
    field: 'units',
    question: `Some numbers have signs or units, for example ${text}. They are read as numbers.${unit}${sign}`,
    taken: 'read',
    others: ['refuse'],
    required: false,
  };
}

/**
 * Recognises share counts with points between thousands, such as 58.490 next to 14.82. Every point must separate
 * thousands, and no number without a point may have more than three digits.
 */
export function countMarks(draft: ProposalDraft, cells: readonly (Cell | undefined)[]): void {
  if (draft.mapping.decimal === ',' || (draft.mapping.thousands ?? null) !== null) return;
  const texts = listNumbers(cells);
  const groupedTexts = texts.filter((text) => isGroupedCount(text, '.'));
  const isGrouped = texts.every((text) => isGroupedCount(text, '.') || /^[+-]?\d{1,3}$/.test(text));
  if (groupedTexts.length === 0 || !isGrouped) return;
  draft.mapping.thousands = '.';
  ask(draft, createCountsQuestion('.', groupedTexts));
}

/** Returns the question about share counts written as 58,490 or 58.490. A number with two marks answers it. */
export function createCountsQuestion(mark: ',' | '.', texts: readonly string[]): Question {
  const name = mark === ',' ? 'comma' : 'point';
  return {
    field: 'thousands',
    question: `Is the ${name} in ${texts[0]}, a number of shares, a thousands separator, although it is the decimal mark of prices? It is read as one, because shares have no fractions.`,
    taken: mark,
    others: ['none'],
    required: !texts.some((text) => text.split(mark).length > 2),
  };
}

const isNumber = (value: number | undefined) => value !== undefined && !Number.isNaN(value);
