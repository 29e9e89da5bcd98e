import { Mapping } from '#domain/documents/mapping.js';
import { ask, hasDays, PREAMBLE_MAX, textsOf, type Draft } from './draft.js';
import { proposeLevels } from './propose-levels.js';
import { proposeLong } from './propose-long.js';
import { proposeWide } from './propose-wide.js';
import type { Adjustment, Answers, Question } from './question.js';
import type { NamedBy, Sample } from './sample.js';

export type Confidence = 'sure' | 'likely' | 'unsure';

/** How a market may be read, and what is not certain of that. */
export interface Proposal {
  readonly mapping: Mapping;
  readonly adjustment: Adjustment | null;
  /** Why the adjustment is that; null where there is none. */
  readonly reason: string | null;
  readonly recognisedAs: string | null;
  /** As far as no question is left. */
  readonly confidence: Exclude<Confidence, 'unsure'>;
  readonly questions: readonly Question[];
}

/**
 * Proposes how the market that tables hold is read; undefined where nothing like it is seen.
 * @param answers what is said already: it is not asked
 */
export function proposeMapping(
  samples: readonly Sample[],
  namedBy: NamedBy,
  answers: Answers = {},
): Proposal | undefined {
  const filled = samples.filter(({ rows }) => rows.length > 1);
  const dated = filled.filter((sample) => hasDays(answers, sample));
  const sample = dated[0] ?? filled[0];
  if (sample === undefined) return undefined;
  const undated = namedBy === 'sheet' && dated.length > 0 ? filled.filter((each) => !dated.includes(each)) : [];
  const others = undated.map(({ name }) => name);
  const tables = samples.filter(({ name }) => !others.includes(name));
  const draft: Draft = {
    answers,
    mapping: {},
    adjustment: null,
    reason: null,
    recognisedAs: null,
    confidence: 'sure',
    questions: [],
  };
  const isRead =
    proposeLevels(draft, sample) || proposeLong(draft, sample, tables, namedBy) || proposeWide(draft, sample, tables);
  if (!isRead) return undefined;
  const left = [...others, ...foreignTo(draft.mapping, tables, namedBy)];
  if (left.length > 0) leaveOut(draft, left);
  const { mapping, answers: _given, ...rest } = draft;
  return { ...rest, ...adjustmentOf(draft), mapping: withAnswers(mapping, answers) };
}

/** Files or sheets without a day and without the columns of a market whose rows say their names: notes, lists of names. */
function foreignTo(
  { layout, columns = {}, identifier_from: from }: Draft['mapping'],
  samples: readonly Sample[],
  namedBy: NamedBy,
): string[] {
  const { date } = columns;
  if (namedBy === null || layout === 'wide' || from?.startsWith('file:') || date === undefined) return [];
  const hasColumns = ({ rows }: Sample) => rows.slice(0, PREAMBLE_MAX).some((row) => textsOf(row).includes(date));
  return samples.filter((sample) => !hasDays({}, sample) && !hasColumns(sample)).map(({ name }) => name);
}

/** Leaves tables out that hold no day: notes, lists of names. */
function leaveOut(draft: Draft, names: readonly string[]): void {
  draft.mapping.ignore = [...(draft.mapping.ignore ?? []), ...names];
  const question = `No days stand in ${names.join(', ')}: left out.`;
  ask(draft, { field: 'ignore', question, taken: names.join(','), required: false });
}

/** A mapping with what is said of it in place of what was found. */
export function withAnswers(mapping: Partial<Mapping>, { adjustment: _basis, ...answers }: Answers): Mapping {
  const said = Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== undefined));
  return Mapping.parse({ ...mapping, ...said, columns: { ...mapping.columns, ...answers.columns } });
}

function adjustmentOf({ answers, adjustment, reason }: Draft): Pick<Proposal, 'adjustment' | 'reason'> {
  return answers.adjustment === undefined ? { adjustment, reason } : said(answers.adjustment);
}

/** An adjustment that is said. */
export const said = (adjustment: Adjustment) => ({ adjustment, reason: 'It is given.' });
