import { z } from 'zod';
import { AssetIdentifier } from '../../schema/shape.js';
import { riskAversion } from '../parameters.js';
import { posteriorReturns } from '../posterior.js';
import { returnsClass } from '../returns-class.js';

/** Views of one model: each is a row of a small system that is solved whole. */
const VIEWS_MAX = 200;

/** Names of one view. */
const LEGS_MAX = 2000;

const View = z
  .strictObject({
    weights: z
      .record(AssetIdentifier, z.number().min(-1e6).max(1e6))
      .refine((weights) => Object.values(weights).some((weight) => weight !== 0), {
        error: 'has no weight other than zero',
      })
      .refine((weights) => Object.keys(weights).length <= LEGS_MAX, { error: `has more than ${LEGS_MAX} names` })
      .meta({
        description:
          'The portfolio that the view is of: one name for an absolute view, weights of sum 0 for a relative one.',
      }),
    value: z
      .number()
      .min(-100)
      .max(100)
      .meta({ description: 'Expected return of that portfolio, as a fraction a year.' }),
    confidence: z
      .number()
      .min(0)
      .max(1)
      .default(0.5)
      .meta({ description: 'From 0, which changes nothing, to 1, which is certainty.' }),
  })
  .meta({ id: 'View' });

export const blackLitterman = returnsClass({
  type: 'black_litterman',
  label: 'Black-Litterman',
  help: 'The returns above cash at which the index is the best portfolio, moved towards views by their confidence and by covariance.',
  isAboveCash: true,
  params: z.strictObject({
    views: z.array(View).max(VIEWS_MAX).default([]).meta({
      label: 'Views',
      help: 'Expected returns of portfolios with a confidence; none leaves the prior.',
      ref: 'View',
    }),
    tau: z
      .number()
      .gt(0)
      .max(100)
      .default(0.05)
      .meta({ label: 'Tau', help: 'Variance of the prior, as a share of the covariance.' }),
    risk_aversion: riskAversion,
  }),
  example: {
    type: 'black_litterman',
    views: [{ weights: { AAPL: 1, MSFT: -1 }, value: 0.02, confidence: 0.6 }],
    tau: 0.05,
  },
  sentence: ({ views, tau, risk_aversion }) =>
    `the Black-Litterman posterior of ${risk_aversion} times the covariances with the source, tau ${tau}${views.length === 0 ? ', without views' : `, and ${views.map(viewText).join('; ')}`}`,
  returns: (params, context) => posteriorReturns(params, context),
});

function viewText({ weights, value, confidence }: z.output<typeof View>): string {
  const legs = Object.entries(weights).map(([identifier, weight]) => `${weight} ${identifier}`);
  return `a view that ${legs.join(' + ')} returns ${value} with confidence ${confidence}`;
}
