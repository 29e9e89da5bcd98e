import { z } from 'zod';

/** Day count basis, a field shared by several overlays. */

export const defineBasis = (usual: 360 | 365) =>
  z
    .union([z.literal(360), z.literal(365)])
    .default(usual)
    .meta({ description: 'Number of days per year.' });

/** Member of overlay specifications. Optional, so that stored documents without it are unchanged. */
export const annualisation = z.int().min(1).max(366).optional().meta({
  description:
    'Number of sessions per year, with which a volatility is annualised. Default: 252, or 365 on a calendar that trades every day.',
});

/** Schema of a rate in percent per year. It is below 100%, because 100% would consume the whole value. */
export const percent = z.number().min(0).lt(100).meta({ description: 'Percent per year: 5 is 5%.' });

export const defineSeries = (description: string) => z.string().min(1).max(64).meta({ description, format: 'series' });

/** Schema of an interest rate: a series of the data in percent per year. */
export const defineRateSeries = (meaning: string) =>
  defineSeries(`Series of the data with the ${meaning}, percent per year.`);

/** Member of overlay specifications. Optional, so that stored documents without it are unchanged. */
export const costBps = z.number().min(0).max(10_000).optional().meta({
  description: 'Cost of changes of exposure at the close, in basis points of the traded amount. Default: 0.',
});

/** Returns sentences for clients about costs. */
export const describeCosts = (bps: number | undefined): string[] =>
  bps === undefined ? [] : [`A change of exposure at the close costs ${bps} basis points of the traded amount.`];
