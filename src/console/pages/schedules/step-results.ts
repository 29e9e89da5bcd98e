import type { ScheduleDay } from '#clients/typescript/divisor.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';

type Step = ScheduleDay['steps'][number];

/** File that a step has written. */
export type WrittenFile = NonNullable<Step['items'][number]['file']>;

/** Returns the files that a step has written. */
export const listFiles = ({ items }: Pick<Step, 'items'>): readonly WrittenFile[] =>
  items.flatMap(({ file }) => file ?? []);

/**
 * Describes the results of a completed step by their number, for example `2 closes published, 1 index published
 * before.` The message of the service describes any other step.
 */
export function describeResults(step: Pick<Step, 'type' | 'state' | 'items' | 'indices' | 'message'>): string {
  const { type, state, items, indices: total, message } = step;
  const results = items.filter((item) => item.index_id !== null && item.key === item.index_id && item.state === 'done');
  if (state !== 'done' || results.length === 0) return message;
  const indices = `${formatCount(results.length)} of ${countValues(total, 'index', 'indices')}`;
  if (type === 'run') {
    const ends = results.map(({ detail }) => detail?.['end']).filter((end) => typeof end === 'string');
    return `${indices} with a current run${ends.length === 0 ? '' : `, through ${ends.toSorted()[0]}`}.`;
  }
  if (type === 'publish') {
    const closes = results.reduce((sum, { detail }) => sum + Number(detail?.['published'] ?? 0), 0);
    const earlier = results.filter(({ detail }) => detail?.['published'] === 0).length;
    const earlierText = earlier === 0 ? '' : `, ${countValues(earlier, 'index', 'indices')} published before`;
    return `${countValues(closes, 'close')} published${earlierText}.`;
  }
  if (type === 'export') {
    const files = listFiles(step);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    return `${countValues(files.length, 'file')} of ${indices}, ${formatBytes(bytes)}.`;
  }
  return message;
}
