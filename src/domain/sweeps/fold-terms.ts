import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';
import { FOLD_RANKINGS } from './rankings.js';

const sharedFields = {
  groups: z
    .int()
    .min(2)
    .max(16)
    .default(10)
    .meta({ description: 'Number of groups of equal length into which time is divided.' }),
  select_by: z
    .enum(FOLD_RANKINGS)
    .default('sharpe_ratio')
    .meta({ description: 'Metric by which a variant is selected in sample. The first of equal variants is selected.' }),
  purge: z.int().min(0).max(252).default(1).meta({
    description:
      'Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times.',
    unit: 'sessions',
  }),
  embargo: z.int().min(0).max(252).nullable().default(null).meta({
    description:
      'Number of further sample sessions that are excluded after every test. Null: 1% of all sessions, rounded up.',
    unit: 'sessions',
  }),
};

const CombinatorialFolds = defineObject(() => ({
  method: z.literal('combinatorial'),
  ...sharedFields,
  test_groups: z.int().min(1).max(15).default(2).meta({
    description:
      'Number of groups in every test. Each combination of them is a split, and all other groups are its sample.',
  }),
}))
  .superRefine(({ groups, test_groups: testGroups }, context) => {
    if (testGroups >= groups)
      context.addIssue({
        code: 'custom',
        path: ['test_groups'],
        params: { finding: 'OUT_OF_RANGE' },
        message: `${testGroups} of ${groups} groups leave no sample: at most ${groups - 1} can be tested at once`,
      });
    else if (computeBinomial(groups, testGroups) > LIMITS.MAX_SWEEP_SPLITS)
      context.addIssue({
        code: 'custom',
        path: ['test_groups'],
        params: { finding: 'OUT_OF_RANGE' },
        message: `${testGroups} of ${groups} groups make ${computeBinomial(groups, testGroups)} splits; the maximum is ${LIMITS.MAX_SWEEP_SPLITS}`,
      });
  })
  .meta({
    id: 'CombinatorialFolds',
    description:
      'Combinatorial purged cross-validation. Every combination of test groups is a split, and the tests are joined to several complete paths.',
  });

const WalkForwardFolds = defineObject(() => ({
  method: z.literal('walk_forward'),
  groups: sharedFields.groups,
  select_by: sharedFields.select_by,
  purge: sharedFields.purge,
  train_groups: z
    .int()
    .min(1)
    .max(15)
    .default(1)
    .meta({ description: 'Number of groups in the sample before the first test.' }),
  window: z.enum(['expanding', 'rolling']).default('expanding').meta({
    description:
      '`expanding`: the sample is everything before the test. `rolling`: the sample is the last `train_groups` groups before the test.',
  }),
}))
  .superRefine(({ groups, train_groups: trainGroups }, context) => {
    if (trainGroups < groups) return;
    context.addIssue({
      code: 'custom',
      path: ['train_groups'],
      params: { finding: 'OUT_OF_RANGE' },
      message: `${trainGroups} of ${groups} groups leave no test: at most ${groups - 1} can be the first sample`,
    });
  })
  .meta({
    id: 'WalkForwardFolds',
    description: 'Every group after the first sample is tested. The earlier groups are its sample.',
  });

/** Method of splitting time: variants are chosen on one part of a split and tested on the other. */
export const SweepFolds = z.discriminatedUnion('method', [CombinatorialFolds, WalkForwardFolds]).meta({
  id: 'SweepFolds',
});
export type SweepFolds = z.infer<typeof SweepFolds>;

/** Returns the binomial coefficient: the number of ways to choose k of n. */
export function computeBinomial(n: number, k: number): number {
  let count = 1;
  for (let i = 1; i <= k; i++) count = (count * (n - k + i)) / i;
  return count;
}
