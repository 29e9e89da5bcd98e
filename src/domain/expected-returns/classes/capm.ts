import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { computeEquilibriumReturns } from '../equilibrium.js';
import { riskAversion } from '../parameters.js';
import { defineReturnsClass } from '../returns-class.js';

export const capmReturns = defineReturnsClass({
  type: 'capm',
  label: 'Capital asset pricing',
  help: 'Risk aversion times the covariance with the index. These are the returns in excess of cash for which the index is optimal. Betas can be shrunk towards one.',
  isAboveCash: true,
  params: defineObject(() => ({
    risk_aversion: riskAversion,
    shrinkage: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ label: 'Shrinkage', help: 'Weight of 1 in each shrunk beta.', unit: 'fraction' }),
  })),
  example: { type: 'capm', risk_aversion: 2.5, shrinkage: 0.3 },
  sentence: ({ risk_aversion, shrinkage }) =>
    `${risk_aversion} times the covariances with the source${shrinkage > 0 ? `, their betas shrunk by ${shrinkage} towards one` : ''}`,
  returns({ risk_aversion, shrinkage }, { metric, index, cash }) {
    const returns = computeEquilibriumReturns(metric, index, risk_aversion);
    const indexReturn = returns.reduce((sum, value, i) => sum + value * index[i]!, 0);
    return returns.map((value) => cash + shrinkage * indexReturn + (1 - shrinkage) * value);
  },
});
