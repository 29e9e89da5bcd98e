import { z } from 'zod';

/** Of the holders of the index: what the market as a whole pays for a unit of variance. */
export const riskAversion = z
  .number()
  .gt(0)
  .max(1e6)
  .default(2.5)
  .meta({ label: 'Risk aversion', help: 'Expected return of the index above cash per unit of its variance.' });
