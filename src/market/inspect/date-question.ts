import type { Finding } from '#domain/refusals/findings.js';
import type { Question } from './question.js';

const ofDates = ({ field, others }: Question) => field === 'date_format' && others.length > 0;

const hasBadDates = (findings: readonly Finding[]) =>
  findings.some(({ severity, code }) => severity === 'error' && code === 'BAD_DATE');

/**
 * The next format, where a reading found days that the one taken does not read: the first rows fitted several, and a
 * later one decides. Nothing is asked any more once one is left.
 * @param questions changed in place
 */
export function afterReading(questions: Question[], findings: readonly Finding[]): string | undefined {
  const at = questions.findIndex(ofDates);
  if (at < 0 || !hasBadDates(findings)) return undefined;
  const [taken, ...others] = questions[at]!.others;
  questions.splice(at, 1, ...(others.length > 0 ? [{ ...questions[at]!, taken: taken!, others }] : []));
  return taken;
}

/**
 * Removes from a question about dates the formats that do not read every row, and the question itself where only the
 * proposed format remains.
 * @param questions changed in place
 * @param readBy findings of a reading by another format
 */
export async function datesLeft(
  questions: Question[],
  readBy: (format: string) => Promise<readonly Finding[]>,
): Promise<void> {
  const at = questions.findIndex(ofDates);
  if (at < 0) return;
  const others: string[] = [];
  for (const format of questions[at]!.others) if (!hasBadDates(await readBy(format))) others.push(format);
  questions.splice(at, 1, ...(others.length > 0 ? [{ ...questions[at]!, others }] : []));
}
