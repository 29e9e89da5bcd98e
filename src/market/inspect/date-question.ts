import type { Finding } from '#domain/refusals/findings.js';
import type { Question } from './question.js';

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
