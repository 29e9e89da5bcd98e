import { z } from 'zod';
import { createTrackingGoal } from '../goal.js';
import { defineObjectiveClass, createRootMeasure } from '../objective-class.js';

export const minTrackingError = defineObjectiveClass({
  type: 'min_tracking_error',
  label: 'Minimum tracking error',
  help: 'The lowest forecast tracking error: the weights nearest to the index within the constraints.',
  sense: 'minimise',
  needsReturns: false,
  params: z.strictObject({}),
  measure: createRootMeasure('the tracking error'),
  example: { type: 'min_tracking_error' },
  sentence: () => 'the least tracking error against it',
  toGoal: (_, { index }) => createTrackingGoal(index),
});
