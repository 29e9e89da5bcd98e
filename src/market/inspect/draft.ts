import { formatDay } from '#domain/time/days.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { isTimeOfDay, readText, type Cell } from '../formats/cells.js';
import { parseAnyThousands, readCommaNumber, splitUnits } from '../mapping/written-numbers.js';
import { createDayReader, createInstantReader } from '../mapping/date-formats.js';
import { isFooterText } from '../mapping/footers.js';
import { detectDateFormat } from './date-format.js';
import type { Adjustment, Answers, Question } from './question.js';
import type { Role } from './roles.js';
import type { Sample } from './sample.js';
import { detectVendor } from './vendors.js';

/** Maximum number of preamble rows before the header. */
export const PREAMBLE_MAX = 20;

/**
 * Minimum share of cells in a row that must be fields, identifiers or numbers. With this share, the whole row counts as
 * such.
 */
export const MAJORITY_SHARE = 0.6;

/** Returns true if a cell is a number in any notation, except a text for a missing number. */
export const isNumber = (written: Cell | undefined) => isPlainNumber(splitUnits(written)?.number ?? written);

/** Returns true for a number without signs and units. A text such as 3M, which has a unit, may be a company. */
export const isPlainNumber = (cell: Cell | undefined) => {
  const value = parseAnyThousands(cell) ?? readCommaNumber(cell);
  return value !== undefined && !Number.isNaN(value);
};

/** Proposal under construction. */
export interface ProposalDraft {
  readonly answers: Answers;
  mapping: Partial<Mapping>;
  adjustment: Adjustment | null;
  reason: string | null;
  recognisedAs: string | null;
  confidence: 'sure' | 'likely';
  readonly questions: Question[];
}

/** Returns true if a question already has an answer. Columns are checked individually. */
export const hasAnswer = (answers: Answers, field: Question['field']) =>
  field !== 'columns' && answers[field] !== undefined;

export const isDay = ({ date_format: format }: Answers, cell: Cell | undefined) =>
  typeof format === 'string'
    ? typeof createDayReader(format)(cell) === 'number'
    : detectDateFormat([cell]) !== undefined;

/** Returns true if a table contains a day. */
export const hasDays = (answers: Answers, { rows }: Sample) =>
  rows.some((row) => row.some((cell) => isDay(answers, cell)));

type QuestionDraft = Pick<Question, 'field' | 'question' | 'taken'> & Partial<Question>;

export function ask(draft: ProposalDraft, questionDraft: QuestionDraft): void {
  if (!hasAnswer(draft.answers, questionDraft.field))
    draft.questions.push({ others: [], required: true, ...questionDraft });
}

export const listTexts = (row: readonly (Cell | undefined)[]) => row.map((cell) => readText(cell) ?? '');

export function recognise(
  draft: ProposalDraft,
  names: readonly string[],
  file: string,
  otherwise: string | null,
): void {
  const vendor = detectVendor(names, file);
  draft.recognisedAs = vendor?.name ?? otherwise;
  if (vendor === undefined) return;
  draft.mapping = { ...vendor.mapping };
  draft.adjustment = vendor.adjustment;
  draft.reason = vendor.adjustment && `${vendor.name} writes closes ${ADJUSTMENT_TEXT[vendor.adjustment]}.`;
  for (const question of vendor.questions) ask(draft, question);
}

const ADJUSTMENT_TEXT: Readonly<Record<Adjustment, string>> = {
  none: 'as traded',
  splits: 'adjusted for splits, not for dividends',
  total: 'adjusted for splits and dividends',
};

export function useAdjustedAsClose(draft: ProposalDraft, adjusted: string): void {
  draft.mapping.columns = { ...draft.mapping.columns, CLOSE: adjusted };
  draft.adjustment = 'total';
  draft.reason = `The data contain only adjusted closes (${adjusted}).`;
  ask(draft, {
    field: 'adjustment',
    question: `The data contain only adjusted closes (${adjusted}). Are they adjusted for dividends (adjustment: total)?`,
    taken: 'total',
    others: ['splits', 'none'],
  });
}

export function selectColumns(roles: Partial<Record<Role, string>>): Record<string, string> {
  const { adjusted: _own, ...named } = roles;
  return Object.fromEntries(Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export function proposeDays(draft: ProposalDraft, written: readonly (Cell | undefined)[]): void {
  const cells = removeFooter(written);
  const result = detectDateFormat(cells);
  if (result === undefined) {
    const firstText = JSON.stringify(readText(cells[0]) ?? '').slice(0, 80);
    const question = `What is the date format? The first date is ${firstText}.`;
    ask(draft, { field: 'date_format', question, taken: null });
    return;
  }
  const { format, others } = result;
  const findInstant = createInstantReader(format);
  if (!cells.some((cell) => isTimeOfDay(findInstant(cell) ?? 0))) delete draft.mapping.time_zone; // the cells are days
  if (format !== null) draft.mapping.date_format = format;
  const serial = readText(cells[0]);
  if (format === 'excel')
    ask(draft, {
      field: 'date_format',
      question: `The dates are numbers such as ${serial}, which is ${formatDay(createDayReader(format)(serial)!)} as a serial date of Excel. Are they serial dates?`,
      taken: format,
      others: [],
    });
  const question = `Every date fits ${[format, ...others].join(' and ')}. The first format is used.`;
  if (others.length > 0) ask(draft, { field: 'date_format', question, taken: format, others });
}

/**
 * Returns the cells with days. Words and empty cells of a footer below them, such as a source, a note or totals, are
 * omitted.
 */
function removeFooter(cells: readonly (Cell | undefined)[]): readonly (Cell | undefined)[] {
  const last = cells.findLastIndex((cell) => !isFooterText(readText(cell) ?? ''));
  return last < 0 ? cells : cells.slice(0, last + 1);
}
