import { fc } from '../../fast-check.js';

const randomRule = fc.constantFrom(
  undefined,
  undefined,
  { rule: 'sessions_before', sessions: 3 },
  { rule: 'weekday_before', weekday: 2, weeks: 1 },
  { rule: 'last_session', months_before: 1 },
  { rule: 'nth_weekday', nth: 2, weekday: 1, months_before: 0 },
);

/** Random date rules in any order, and a random number of closes per phase. A phase ends when the next phase begins. */
export const randomDates = {
  reference: randomRule,
  announcement: randomRule,
  pricing_date: randomRule,
  phase: fc.constantFrom(undefined, undefined, undefined, { sessions: 3 }, { fractions: [0.5, 0.3, 0.2] }),
};

/** Random reviews in addition to the rebalance. Most documents have no such review. */
export const randomReviews = fc.option(
  fc
    .array(
      fc.record({
        scope: fc.constantFrom('membership', 'weights', 'weights', 'shares'),
        schedule: fc.record({
          frequency: fc.constantFrom('weekly', 'monthly'),
          weekday: fc.constantFrom(null, 2),
          effective_lag: fc.constantFrom(0, 2),
          weights_as: fc.constantFrom('shares', 'weights'),
          ...randomDates,
        }),
      }),
      { minLength: 1, maxLength: 2 },
    )
    .map((reviews) => reviews.map((review, i) => ({ id: `review-${i}`, ...review }))),
  { nil: undefined, freq: 2 },
);
