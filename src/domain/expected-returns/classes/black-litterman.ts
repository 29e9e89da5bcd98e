import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { AssetIdentifier } from '../../schema/shape.js';
import { riskAversion } from '../parameters.js';
import { computePosteriorReturns } from '../posterior.js';
import { defineReturnsClass } from '../returns-class.js';

/** Maximum number of views in one model; each view is a row of a small dense system. */
const VIEWS_MAX = 200;

/** Maximum number of securities in one view. */
const LEGS_MAX = 2000;

const View = defineObject(() => ({
  weights: z
    .record(AssetIdentifier, z.number().min(-1e6).max(1e6))
    .refine((weights) => Object.values(weights).some((weight) => weight !== 0), {
      error: 'has only zero weights',
    })
    .refine((weights) => Object.keys(weights).length <= LEGS_MAX, { error: `has more than ${LEGS_MAX} securities` })
    .meta({
      description:
        'Portfolio of the view: one security for an absolute view, or weights that sum to 0 for a relative view.',
    }),
  value: z
    .number()
    .min(-100)
    .max(100)
    .meta({ description: 'Expected return of the portfolio, as a fraction per year.' }),
  confidence: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .meta({ description: 'Confidence from 0 (no effect) to 1 (certainty).' }),
})).meta({ id: 'View' });

export const blackLitterman = defineReturnsClass({
  type: 'black_litterman',
  label: 'Black-Litterman',
  help: 'Returns in excess of cash for which the index is optimal, adjusted by views according to their confidence and the covariances.',
  isAboveCash: true,
  params: defineObject(() => ({
    views: z.array(View).max(VIEWS_MAX).default([]).meta({
      label: 'Views',
      help: 'Expected returns of portfolios, each with a confidence. An empty list keeps the prior.',
      ref: 'View',
    }),
    tau: z
      .number()
      .gt(0)
      .max(100)
      .default(0.05)
      .meta({ label: 'Tau', help: 'Variance of the prior, as a fraction of the covariance.' }),
    risk_aversion: riskAversion,
  })),
  example: {
    type: 'black_litterman',
    views: [{ weights: { AAPL: 1, MSFT: -1 }, value: 0.02, confidence: 0.6 }],
    tau: 0.05,
  },
  sentence: ({ views, tau, risk_aversion }) =>
    `the Black-Litterman posterior of ${risk_aversion} times the covariances with the source, tau ${tau}${views.length === 0 ? ', without views' : `, and ${views.map(formatView).join('; ')}`}`,
  returns: (params, context) => computePosteriorReturns(params, context),
});

function formatView({ weights, value, confidence }: z.output<typeof View>): string {
  const legs = Object.entries(weights).map(([identifier, weight]) => `${weight} ${identifier}`);
  return `a view that ${legs.join(' + ')} returns ${value} with confidence ${confidence}`;
}
