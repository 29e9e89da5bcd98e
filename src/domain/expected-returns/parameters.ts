import { z } from 'zod';

/** Risk aversion of the index holders: the expected return that they require per unit of variance. */
export const riskAversion = z.number().gt(0).max(1e6).default(2.5).meta({
  label: 'Risk aversion of the market',
  help: 'Expected return of the index in excess of cash per unit of its variance.',
});
