import { z } from 'zod';
import { category, numeric } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { selectionClass } from '../selection-class.js';
import { groupsOf, keepRanked, missingText, named, valuesOf } from '../verdicts.js';
import { shareText } from '../../catalogue/sentence-numbers.js';

/** Slack of the cumulative share, so that a share reached up to rounding counts as reached. */
const SHARE_TOLERANCE = 1e-12;

export const cumulativeCoverage = selectionClass({
  type: 'CumulativeCoverage',
  label: 'Cumulative coverage',
  help: 'Keeps the largest names until they cover a share of the total, letting constituents stay within a buffer above it.',
  params: z.strictObject({
    field: parameters.rankedField('FREE_FLOAT_MARKET_CAP'),
    coverage: z.number().gt(0).max(1).meta({
      label: 'Coverage',
      help: 'Share of the total that is covered; the name that crosses it is kept.',
      unit: 'fraction',
    }),
    buffer: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ label: 'Buffer', help: 'Constituents stay until the coverage plus this.', unit: 'fraction' }),
    group_by: parameters.groupBy,
    missing: parameters.missing,
  }),
  example: { id: 'standard', type: 'CumulativeCoverage', params: { coverage: 0.85, buffer: 0.05 } },
  behaviour({ field, coverage, buffer, group_by, missing }) {
    const value = numeric(field, 'field');
    const group = group_by === null ? null : category(group_by, 'group_by');
    return {
      reads: [value, ...(group === null ? [] : [group])],
      remembers: buffer > 0,
      sentence:
        `From the largest ${named(value)} down, keep names until they cover ${shareText(coverage)} of the total${group_by === null ? '' : ` in each ${group_by}`}, the crossing name included; ` +
        `constituents stay up to ${shareText(buffer)} more; ${missingText(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        const values = valuesOf(scope, value);
        return keepRanked(scope, {
          values,
          groups: groupsOf(scope, group),
          ascending: false,
          missing,
          what: `cumulative ${named(value)}`,
          choose(order) {
            const sizes = Float64Array.from(order, (position) => Math.max(0, values[position]! || 0));
            const total = sizes.reduce((sum, size) => sum + size, 0);
            const reached = (share: number): number => (total > 0 ? countUntil(sizes, share * total) : 0);
            const cutoff = reached(coverage);
            const stay = incumbents === null ? cutoff : reached(Math.min(1, coverage + buffer));
            const isConstituent = (position: number): boolean => incumbents?.[columns[position]!] === 1;
            return {
              kept: order.filter((position, i) => i < cutoff || (i < stay && isConstituent(position))),
              alone: cutoff,
              faced: ({ position }) => [
                buffer > 0 && isConstituent(position)
                  ? { type: 'coverage_buffer', rank: stay }
                  : { type: 'coverage', rank: cutoff },
              ],
            };
          },
        });
      },
    };
  },
});

/** Number of sizes, in order, that reach a sum. */
function countUntil(sizes: Float64Array, sum: number): number {
  let reached = 0;
  for (let i = 0; i < sizes.length; i++) {
    reached += sizes[i]!;
    if (reached >= sum * (1 - SHARE_TOLERANCE)) return i + 1;
  }
  return sizes.length;
}
