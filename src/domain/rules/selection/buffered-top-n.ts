import { z } from 'zod';
import { numeric } from '../field-use.js';
import * as parameters from '../parameters.js';
import { wholeCeiling, wholeFloor } from '../rounding.js';
import { selectionClass } from '../selection-class.js';
import { groupsOf, keepRanked, missingText, named, valuesOf } from '../verdicts.js';

const rank = z.int().min(1).max(100_000).nullable().default(null);

export const bufferedTopN = selectionClass({
  type: 'BufferedTopN',
  label: 'Best by a field, with a buffer',
  help: 'Keeps the count best names, letting constituents stay while they rank within a buffer: fewer changes at each rebalance.',
  params: z
    .strictObject({
      field: parameters.rankedField('MARKET_CAP'),
      count: parameters.count,
      enter_rank: rank.meta({
        label: 'Enter rank',
        help: 'Names ranked so far up always enter; null takes 0.8 times count, rounded down.',
        unit: 'rank',
      }),
      exit_rank: rank.meta({
        label: 'Exit rank',
        help: 'Constituents stay while ranked so far up; null takes 1.2 times count, rounded up.',
        unit: 'rank',
      }),
      ascending: parameters.ascending,
      missing: parameters.missing,
    })
    .superRefine((params, context) => {
      const { count, enter_rank, exit_rank } = params;
      if (enter_rank !== null && enter_rank > count) {
        context.addIssue({
          code: 'custom',
          path: ['enter_rank'],
          input: enter_rank,
          params: { finding: 'OUT_OF_RANGE' },
          message: `must be at most the count of ${count}`,
        });
      }
      if (exit_rank !== null && exit_rank < count) {
        context.addIssue({
          code: 'custom',
          path: ['exit_rank'],
          input: exit_rank,
          params: { finding: 'OUT_OF_RANGE' },
          message: `must be at least the count of ${count}`,
        });
      }
    }),
  example: {
    id: 'size',
    type: 'BufferedTopN',
    params: { field: 'FREE_FLOAT_MARKET_CAP', count: 100, enter_rank: 90, exit_rank: 110 },
  },
  behaviour({ field, count, enter_rank, exit_rank, ascending, missing }) {
    const value = numeric(field, 'field');
    const enter = enter_rank ?? Math.max(1, wholeFloor(0.8 * count));
    const exit = exit_rank ?? wholeCeiling(1.2 * count);
    return {
      reads: [value],
      remembers: true,
      sentence:
        `Keep ${count} names by ${ascending ? 'smallest' : 'largest'} ${named(value)}: those ranked ${enter} or better enter, constituents ranked ${exit} or better stay, ` +
        `and the best others fill up; ${missingText(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        return keepRanked(scope, {
          values: valuesOf(scope, value),
          groups: groupsOf(scope, null),
          ascending,
          missing,
          what: named(value),
          choose(order) {
            if (incumbents === null) return { kept: order.slice(0, count), cutoff: count };
            const isKept = new Uint8Array(order.length).fill(1, 0, enter);
            let size = Math.min(enter, order.length);
            let cutoff = size;
            for (let i = enter; i < Math.min(exit, order.length) && size < count; i++) {
              if (incumbents[columns[order[i]!]!] !== 1) continue;
              isKept[i] = 1;
              size++;
            }
            for (let i = enter; i < order.length && size < count; i++) {
              if (isKept[i] === 1) continue;
              isKept[i] = 1;
              size++;
              cutoff = i + 1;
            }
            return { kept: order.filter((_, i) => isKept[i] === 1), cutoff };
          },
        });
      },
    };
  },
});
