import type { Cell } from '../formats/cells.js';
import { commaNumberIn, hasThousands, thousandsNumberIn } from '../mapping/written-numbers.js';
import { ask, type Draft } from './draft.js';
import type { Sample } from './sample.js';

/** One mark before three digits: 1,234 and 1.234 are thousands or decimals. */
const EITHER = { ',': /^[+-]?[1-9]\d{0,2},\d{3}$/, '.': /^[+-]?[1-9]\d{0,2}\.\d{3}$/ } as const;

/** Share of the texts that must have a decimal comma for it to be the mark: a note may hold one. */
const COMMAS_MIN = 0.1;

/**
 * The marks of decimals and thousands, as the numbers themselves tell them: 7,5 or 1.234,5 has a decimal comma, 7.5 or
 * 1,234.5 a decimal point. Where only such as 1,234 or only such as 1.234 are seen the delimiter decides, a comma
 * between cells leaving the point for decimals; with another delimiter it is asked.
 */
export function numberMarks(draft: Draft, cells: readonly (Cell | undefined)[], { delimiter }: Sample): void {
  const texts = cells.flatMap((cell) => (typeof cell === 'string' && /\d/.test(cell) ? [cell.trim()] : []));
  const either = (mark: ',' | '.') => texts.filter((text) => EITHER[mark].test(text));
  const [commas, points] = [either(','), either('.')];
  const told = texts.filter((text) => !EITHER[','].test(text) && !EITHER['.'].test(text));
  const withPoint = told.filter((text) => /[.,]/.test(text) && isNumber(thousandsNumberIn(text)));
  const withComma = told.filter((text) => /[.,]/.test(text) && isNumber(commaNumberIn(text)));
  const { decimal } = draft.answers;
  if (decimal === ',') return;
  if (decimal === undefined && withComma.length > texts.length * COMMAS_MIN && withComma.length > withPoint.length) {
    draft.mapping.decimal = ',';
    return;
  }
  const isNumeric = delimiter === undefined && commas.length === 0; // of a database, Parquet or a workbook
  const isPoint = decimal === '.' || withPoint.length > 0 || delimiter === ',' || isNumeric;
  if (isPoint) {
    if (texts.some(hasThousands)) draft.mapping.thousands = ',';
    return;
  }
  const [first] = commas.length > 0 ? commas : points;
  if (first === undefined) return;
  const mark = commas.length > 0 ? 'comma' : 'point';
  draft.mapping.decimal = commas.length > 0 ? ',' : '.';
  const question = `Is the ${mark} of ${first} one of decimals or between thousands? No number decides it; it is taken for one of decimals.`;
  ask(draft, {
    field: 'decimal',
    question,
    taken: draft.mapping.decimal,
    others: [draft.mapping.decimal === ',' ? '.' : ','],
  });
}

const isNumber = (value: number | undefined) => value !== undefined && !Number.isNaN(value);
