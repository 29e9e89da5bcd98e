import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { computeZScores } from '../../datapoints/transforms.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { listPositions } from '../../datapoints/ranking.js';
import { defineSelectionClass } from '../selection-class.js';
import type { RankThreshold } from '../thresholds.js';
import { keepRanked, describeMissingPolicy, nameUsedField, readValues, type ChosenMembers } from '../verdicts.js';

const Term = defineObject(() => ({
  field: parameters.field,
  weight: z.number().gt(0).max(1e6).default(1).meta({ description: 'Weight of the term in the average.' }),
  direction: z.enum(['high', 'low']).default('high').meta({ description: 'End of the datapoint that is better.' }),
  winsorise: z.number().gt(0).max(100).default(3).meta({ description: 'Limit on the absolute z-score.' }),
})).meta({ id: 'ScoreTerm' });

export const compositeScore = defineSelectionClass({
  type: 'CompositeScore',
  label: 'Composite score',
  help: 'Scores securities by a weighted average of winsorised z-scores. It keeps the best scores, the scores above a minimum, or both.',
  params: defineObject(() => ({
    terms: z.array(Term).min(1).max(32).meta({ label: 'Terms', help: 'Datapoints of the score.', ref: 'ScoreTerm' }),
    count: parameters.count
      .nullable()
      .default(null)
      .meta({ label: 'Count', help: 'Number of best scores that are kept. Default: no limit.', unit: 'securities' }),
    minimum: parameters.defineBound('Minimum', 'Minimum score; null: no minimum.', 'z units'),
    missing: parameters.missing,
  })).refine(({ count, minimum }) => count !== null || minimum !== null, {
    path: ['count'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'or minimum is required',
  }),
  example: {
    id: 'quality-value',
    type: 'CompositeScore',
    params: {
      terms: [
        { field: 'DIVIDEND_YIELD', weight: 1, direction: 'high' },
        { field: 'VOLATILITY', weight: 0.5, direction: 'low' },
      ],
      count: 50,
    },
  },
  behaviour({ terms, count, minimum, missing }) {
    const uses = terms.map(({ field }, i) => useNumber(field, `terms[${i}].field`));
    const termPhrases = terms
      .map(
        ({ weight, direction, winsorise }, i) =>
          `${direction} ${nameUsedField(uses[i]!)} (weight ${weight}, winsorised at ${winsorise})`,
      )
      .join(', ');
    const limitsText = [
      ...(count === null ? [] : [`the ${count} best`]),
      ...(minimum === null ? [] : [`those scoring at least ${minimum}`]),
    ].join(' among ');
    return {
      reads: uses,
      remembers: false,
      sentence: `Score securities by the weighted average z-score of ${termPhrases} and keep ${limitsText}; ${describeMissingPolicy(missing)}${missing === 'include' ? ' and ranked last' : ''}.`,
      select(scope) {
        const scores = new Float64Array(scope.columns.length);
        const total = terms.reduce((sum, { weight }) => sum + weight, 0);
        terms.forEach(({ weight, direction, winsorise }, k) => {
          const z = computeZScores(readValues(scope, uses[k]!));
          const sign = direction === 'high' ? 1 : -1;
          for (let i = 0; i < scores.length; i++)
            scores[i]! += (weight / total) * sign * Math.min(winsorise, Math.max(-winsorise, z[i]!));
        });
        return keepRanked(scope, {
          values: scores,
          groups: new Map([['', listPositions(scores)]]),
          ascending: false,
          missing,
          what: 'score',
          choose: (order) => createBestScores(order, { scores, count, minimum }),
        });
      },
    };
  },
});

interface ScoreLimits {
  readonly scores: Float64Array;
  readonly count: number | null;
  readonly minimum: number | null;
}

/**
 * Selects the best scores. Their number is limited, and they must reach a minimum. Securities without a score come
 * last.
 */
function createBestScores(order: Int32Array, { scores, count, minimum }: ScoreLimits): ChosenMembers {
  const isScored = (position: number): boolean => !Number.isNaN(scores[position]!);
  const eligiblePositions = order.filter(
    (position) => !isScored(position) || minimum === null || scores[position]! >= minimum,
  );
  const scoredCount = eligiblePositions.filter(isScored).length;
  const countThresholds: RankThreshold[] = count === null ? [] : [{ type: 'count', rank: count }];
  const least: RankThreshold[] = minimum === null ? [] : [{ type: 'minimum', rank: scoredCount, bound: minimum }];
  // The threshold that fewer securities satisfy comes first.
  const scoredThresholds =
    count !== null && count <= scoredCount ? [...countThresholds, ...least] : [...least, ...countThresholds];
  // Securities without a score rank after those below the minimum. They do not count towards the number.
  const belowCount = order.length - eligiblePositions.length;
  const unscoredThresholds: RankThreshold[] = [
    { type: 'count', rank: belowCount + (count ?? eligiblePositions.length) },
  ];
  return {
    kept: eligiblePositions.slice(0, count ?? eligiblePositions.length),
    faced: ({ position, rank }) => (rank === 0 || isScored(position) ? scoredThresholds : unscoredThresholds),
  };
}
