import type { DataDoubt, Finding } from '#clients/typescript/divisor.js';
import { countValues, formatCount } from '../../words/numbers.js';

/**
 * Describes how many of the large changes of a close that the last read reported are warnings of the audit. The number
 * of warnings is omitted if the read lists only some of the changes. Returns an empty text if it reported none.
 */
export function describeReadJumps(findings: readonly Finding[], warnings: readonly DataDoubt[]): string {
  const jumps = findings.filter(({ code }) => code === 'PRICE_JUMP');
  const reported = jumps.reduce((sum, { count = 1 }) => sum + count, 0);
  if (reported === 0) return '';
  const places = new Set(jumps.flatMap(({ path, places: all = [] }) => [path, ...all]));
  const text = `The last read reported ${countValues(reported, 'large change')} of a close`;
  if (places.size < reported) return `${text}.`;
  const kept = [...places].filter((place) =>
    warnings.some(({ identifier, date }) => place === `market[${identifier} ${date}].CLOSE`),
  ).length;
  return `${text}; the audit keeps ${kept === 0 ? 'none' : formatCount(kept)} as ${kept > 1 ? 'warnings' : 'a warning'}.`;
}
