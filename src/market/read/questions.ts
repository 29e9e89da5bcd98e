import type { Finding } from '#domain/base/findings.js';
import type { Mapping } from '#domain/definition/mapping.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { TIME_ZONE_PATH, type ZoneTerms } from '../content/market-rows.js';
import type { RowConflict } from '../tables/problems.js';

/** Open question about the data. Contains the assumption that was made, and the field that answers the question. */
export interface Question {
  readonly field: keyof Mapping | 'adjustment';
  readonly question: string;
  /** Assumption that applies until the question is answered. It is null if there is none. */
  readonly taken: string | null;
  /** Known alternatives. */
  readonly others: readonly string[];
  /** True if the data must not be read before the question is answered. */
  readonly required: boolean;
  /** Securities that have different rows for one date. Present if the question is about duplicates. */
  readonly conflicts?: readonly RowConflict[];
}

export type Answers = { readonly [Field in keyof Mapping]?: Mapping[Field] | undefined } & {
  readonly adjustment?: Adjustment | undefined;
};

/** Price basis assumed for closes, with the reason. */
export interface Basis {
  readonly adjustment: Adjustment;
  readonly reason: string;
  readonly others: readonly { readonly adjustment: Adjustment; readonly meaning: string }[];
}

const ADJUSTMENT_MEANINGS: Readonly<Record<Adjustment, string>> = {
  none: 'closes are as traded',
  splits: 'closes are adjusted for later splits',
  total: 'closes are adjusted for splits and dividends',
};

const ADJUSTMENTS = Object.keys(ADJUSTMENT_MEANINGS) as readonly Adjustment[]; // the keys of the object are adjustments

export const listAlternativeBases = (adjustment: Adjustment): Basis['others'] =>
  ADJUSTMENTS.filter((otherAdjustment) => otherAdjustment !== adjustment).map((otherAdjustment) => ({
    adjustment: otherAdjustment,
    meaning: ADJUSTMENT_MEANINGS[otherAdjustment],
  }));

/** Returns a price basis with its alternatives. */
export const createBasis = (adjustment: Adjustment, reason: string): Basis => ({
  adjustment,
  reason,
  others: listAlternativeBases(adjustment),
});

const isDateQuestion = ({ field, others }: Question) => field === 'date_format' && others.length > 0;

const hasBadDates = (findings: readonly Finding[]) =>
  findings.some(({ severity, code }) => severity === 'error' && code === 'BAD_DATE');

/**
 * Chooses another format if the current one could not parse every date. The first rows fitted several formats, and a
 * later row decides. The question is removed if only one format remains.
 * @param questions changed in place
 * @returns the chosen format; undefined if the current one is kept
 */
export function chooseAfterReading(questions: Question[], findings: readonly Finding[]): string | undefined {
  const position = questions.findIndex(isDateQuestion);
  if (position < 0 || !hasBadDates(findings)) return undefined;
  const [taken, ...others] = questions[position]!.others;
  questions.splice(position, 1, ...(others.length > 0 ? [{ ...questions[position]!, taken: taken!, others }] : []));
  return taken;
}

/**
 * Removes formats that cannot parse every row from a question about dates. If only the proposed format remains, removes
 * the question.
 * @param questions changed in place
 * @param readBy reads the data with another format and returns the findings
 */
export async function filterDateFormats(
  questions: Question[],
  readBy: (format: string) => Promise<readonly Finding[]>,
): Promise<void> {
  const position = questions.findIndex(isDateQuestion);
  if (position < 0) return;
  const otherFormats: string[] = [];
  for (const format of questions[position]!.others) if (!hasBadDates(await readBy(format))) otherFormats.push(format);
  questions.splice(
    position,
    1,
    ...(otherFormats.length > 0 ? [{ ...questions[position]!, others: otherFormats }] : []),
  );
}

/** Calendars of the service, and the codes of those that stored indices use. */
export interface UsedZones extends Pick<ZoneTerms, 'calendars'> {
  readonly codes?: readonly string[] | undefined;
}

/**
 * Returns the question for the time zone of instants, if neither the data nor the mapping states it. The zone of the
 * calendars that stored indices use is taken if every instant is midnight in it; otherwise an answer is required.
 */
export function askTimeZone(
  { time_zone: stated }: Mapping,
  findings: readonly Finding[],
  { calendars, codes = [] }: UsedZones,
): Question | undefined {
  const finding = findings.find(({ code, path }) => code === 'REQUIRED' && path === TIME_ZONE_PATH);
  if (finding === undefined || stated !== null) return undefined;
  const { message } = finding;
  const midnightZones = finding.accepted ?? [];
  const usedZones = [...new Set(codes.flatMap((code) => calendars?.get(code)?.tz ?? []))];
  const [zone, ...otherZones] = usedZones.filter((each) => midnightZones.includes(each));
  const field = 'time_zone';
  if (zone === undefined || otherZones.length > 0)
    return {
      field,
      question: message,
      taken: null,
      others: [...new Set([...usedZones, ...midnightZones])],
      required: true,
    };
  const question = `The dates are instants in UTC, and every one is midnight in ${zone}, the time zone of ${codes.join(', ')}. They are read as days of this zone.`;
  return { field, question, taken: zone, others: midnightZones.filter((each) => each !== zone), required: false };
}
