import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory, useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { roundUpTolerantly, roundDownTolerantly } from '../rounding.js';
import { defineSelectionClass } from '../selection-class.js';
import type { RankThreshold } from '../thresholds.js';
import {
  keepBest,
  readGroups,
  keepRanked,
  describeMissingPolicy,
  nameUsedField,
  readValues,
  type ChosenMembers,
} from '../verdicts.js';

const rank = z.int().min(1).max(100_000).nullable().default(null);

export const bufferedTopN = defineSelectionClass({
  type: 'BufferedTopN',
  label: 'Best by a field, with a buffer',
  help: 'Keeps the `count` best securities. Constituents stay while their rank is within a buffer, which reduces turnover.',
  params: defineObject(() => ({
    field: parameters.defaultToField('MARKET_CAP'),
    count: parameters.count,
    enter_rank: rank.meta({
      label: 'Enter rank',
      help: 'Securities ranked at or above this rank always enter. Default: 80% of count, rounded down.',
      unit: 'rank',
    }),
    exit_rank: rank.meta({
      label: 'Exit rank',
      help: 'Constituents ranked at or above this rank stay. Default: 120% of count, rounded up.',
      unit: 'rank',
    }),
    ascending: parameters.ascending,
    group_by: parameters.groupBy,
    missing: parameters.missing,
  })).superRefine((params, context) => {
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
  behaviour({ field, count, enter_rank, exit_rank, ascending, group_by, missing }) {
    const value = useNumber(field, 'field');
    const group = group_by === null ? null : useCategory(group_by, 'group_by');
    const enter = enter_rank ?? Math.max(1, roundDownTolerantly(0.8 * count));
    const exit = exit_rank ?? roundUpTolerantly(1.2 * count);
    return {
      reads: [value, ...(group === null ? [] : [group])],
      ranks: true,
      remembers: true,
      sentence:
        `Keep ${count} securities by ${ascending ? 'smallest' : 'largest'} ${nameUsedField(value)}${group_by === null ? '' : ` in each ${group_by}`}: those ranked ${enter} or better enter, constituents ranked ${exit} or better stay, ` +
        `and the best others fill up; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const { columns, incumbents } = scope;
        return keepRanked(scope, {
          values: readValues(scope, value),
          groups: readGroups(scope, group),
          ascending,
          missing,
          what: nameUsedField(value),
          choose: (order) =>
            incumbents === null
              ? keepBest(order, count)
              : selectBuffered(order, {
                  count,
                  enter,
                  exit,
                  isConstituent: (name) => incumbents[columns[name]!] === 1,
                }),
        });
      },
    };
  },
});

interface BufferTerms {
  readonly count: number;
  readonly enter: number;
  readonly exit: number;
  /** Returns true if the security at a position in the columns of the scope is a constituent. */
  isConstituent(position: number): boolean;
}

/**
 * Selects securities up to the entry rank. While the count is not reached, adds constituents up to the exit rank, then
 * the best other securities.
 */
function selectBuffered(order: Int32Array, { count, enter, exit, isConstituent }: BufferTerms): ChosenMembers {
  const isKept = new Uint8Array(order.length).fill(1, 0, enter);
  let size = Math.min(enter, order.length);
  let lastStayRank = size;
  for (let i = enter; i < Math.min(exit, order.length) && size < count; i++) {
    if (!isConstituent(order[i]!)) continue;
    isKept[i] = 1;
    size++;
    lastStayRank = i + 1;
  }
  const isFull = size >= count;
  let rankWithoutBuffer = Math.min(enter, order.length);
  for (let i = enter; i < order.length && size < count; i++) {
    if (isKept[i] === 1) continue;
    isKept[i] = 1;
    size++;
    rankWithoutBuffer = i + 1;
  }
  const enterThreshold: RankThreshold = { type: 'enter_rank', rank: enter };
  const exitThreshold: RankThreshold = { type: 'exit_rank', rank: exit };
  const fillThreshold: RankThreshold =
    rankWithoutBuffer > enter ? { type: 'fill_up', rank: rankWithoutBuffer } : enterThreshold;
  return {
    kept: order.filter((_, i) => isKept[i] === 1),
    alone: rankWithoutBuffer,
    faced({ position, rank }) {
      const isAhead = rank > 0 && rank <= enter;
      if (!isConstituent(position)) return [isAhead ? enterThreshold : fillThreshold];
      return isFull && !isAhead ? [exitThreshold, { type: 'places', rank: lastStayRank }] : [exitThreshold];
    },
  };
}
