import { Mapping } from '#domain/documents/mapping.js';
import { ask, hasDays, PREAMBLE_MAX, listTexts, type ProposalDraft } from './draft.js';
import { proposeLevels } from './propose-levels.js';
import { proposeLong } from './propose-long.js';
import { proposeWide } from './propose-wide.js';
import type { Adjustment, Answers, Question } from './question.js';
import type { TableNameSource, Sample } from './sample.js';

export type Confidence = 'sure' | 'likely' | 'unsure';

/** Proposed mapping of a market, with its open questions. */
export interface Proposal {
  readonly mapping: Mapping;
  readonly adjustment: Adjustment | null;
  /** Reason for the adjustment; null without an adjustment. */
  readonly reason: string | null;
  readonly recognisedAs: string | null;
  /** Confidence, assuming that every question is answered. */
  readonly confidence: Exclude<Confidence, 'unsure'>;
  readonly questions: readonly Question[];
}

/**
 * Proposes a mapping for tables. Returns undefined if they contain no recognisable market.
 * @param answers to questions that are already answered
 */
export function proposeMapping(
  samples: readonly Sample[],
  namedBy: TableNameSource,
  answers: Answers = {},
): Proposal | undefined {
  const usedSamples = samples.filter(({ name }) => answers.ignore?.includes(name) !== true);
  const filledSamples = usedSamples.filter(({ rows }) => rows.length > 1);
  const datedSamples = filledSamples.filter((sample) => hasDays(answers, sample));
  const [first, ...later] = datedSamples.length > 0 ? datedSamples : filledSamples;
  if (first === undefined) return undefined;
  const tables = { read: usedSamples, filled: filledSamples, dated: datedSamples, namedBy };
  const ownProposal = createProposal(first, tables, answers);
  if (
    ownProposal !== undefined &&
    (ownProposal.mapping.layout === 'long' || Object.keys(ownProposal.mapping.fields).length > 0)
  )
    return ownProposal;
  // A table of many securities may have other tables with days next to it, such as an index. The market is the table
  // with identifiers.
  const long = later
    .map((sample) => createProposal(sample, tables, answers))
    .find((proposal) => proposal?.mapping.layout === 'long' && proposal.mapping.columns.identifier !== undefined);
  return long ?? ownProposal;
}

interface Tables {
  readonly read: readonly Sample[];
  /** Tables with rows. */
  readonly filled: readonly Sample[];
  /** Tables that contain days. */
  readonly dated: readonly Sample[];
  readonly namedBy: TableNameSource;
}

/** Proposes a mapping for all tables from one of them. Returns undefined if its form is unknown. */
function createProposal(
  sample: Sample,
  { read: samples, filled, dated, namedBy }: Tables,
  answers: Answers,
): Proposal | undefined {
  const undatedSamples = namedBy === 'sheet' && dated.length > 0 ? filled.filter((each) => !dated.includes(each)) : [];
  const undatedNames = undatedSamples.map(({ name }) => name);
  const tables = samples.filter(({ name }) => !undatedNames.includes(name));
  const draft: ProposalDraft = {
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
  const ignoredTables = [...undatedNames, ...listForeignTables(draft.mapping, tables, namedBy)];
  const missingText = ignoredTables.some((name) => dated.some((each) => each.name === name))
    ? 'no dates or no identifiers'
    : 'no dates';
  if (ignoredTables.length > 0) excludeColumn(draft, ignoredTables, missingText);
  const { mapping, answers: _given, ...rest } = draft;
  return { ...rest, ...getAdjustment(draft), mapping: applyAnswers(mapping, answers) };
}

/** Returns files or sheets that are not part of the market, such as notes, lists of securities, or an index by day. */
function listForeignTables(
  { layout, columns = {}, identifier_from: from }: ProposalDraft['mapping'],
  samples: readonly Sample[],
  namedBy: TableNameSource,
): string[] {
  const { date, identifier } = columns;
  if (namedBy === null || layout === 'wide' || from?.startsWith('file:') || date === undefined) return [];
  const hasColumn = ({ rows }: Sample, column: string) =>
    rows.slice(0, PREAMBLE_MAX).some((row) => listTexts(row).includes(column));
  const isForeign = (sample: Sample) =>
    hasDays({}, sample) ? identifier !== undefined && !hasColumn(sample, identifier) : !hasColumn(sample, date);
  return samples.filter(isForeign).map(({ name }) => name);
}

/**
 * Ignores tables without days, and tables with days but without identifiers. Examples are notes and lists of
 * securities.
 */
function excludeColumn(draft: ProposalDraft, names: readonly string[], lacking: string): void {
  draft.mapping.ignore = [...(draft.mapping.ignore ?? []), ...names];
  const question = `${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} ${lacking} and ${names.length === 1 ? 'is' : 'are'} ignored.`;
  ask(draft, { field: 'ignore', question, taken: names.join(','), required: false });
}

/** Returns a mapping in which answers replace recognised values. */
export function applyAnswers(mapping: Partial<Mapping>, { adjustment: _basis, ...answers }: Answers): Mapping {
  const definedAnswers = Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== undefined));
  // Answers add to the ignored columns of the vendor. They do not replace them.
  const ignoredNames = [...new Set([...(mapping.ignore ?? []), ...(answers.ignore ?? [])])];
  return Mapping.parse({
    ...mapping,
    ...definedAnswers,
    ignore: ignoredNames,
    columns: { ...mapping.columns, ...answers.columns },
  });
}

function getAdjustment({ answers, adjustment, reason }: ProposalDraft): Pick<Proposal, 'adjustment' | 'reason'> {
  return answers.adjustment === undefined ? { adjustment, reason } : stateAdjustment(answers.adjustment);
}

/** Returns the adjustment stated by the client, with its reason. */
export const stateAdjustment = (adjustment: Adjustment) => ({ adjustment, reason: 'It is given.' });
