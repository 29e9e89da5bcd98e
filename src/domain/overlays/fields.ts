import { z } from 'zod';

/** Fields that several overlays have. */

export const basis = (usual: 360 | 365) =>
  z
    .union([z.literal(360), z.literal(365)])
    .default(usual)
    .meta({ description: 'Days of a year.' });

/** Optional, so that documents stored without it stay as they are. */
export const annualisation = z.int().min(1).max(366).optional().meta({
  description:
    'Sessions of a year, by which a volatility is annualised. Default: 252, and 365 on a calendar that trades every day.',
});

/** Less than all: nothing would be left. */
export const percent = z.number().min(0).lt(100).meta({ description: 'Percent a year: 5 is 5 %.' });

export const series = (description: string) => z.string().min(1).max(64).meta({ description, format: 'series' });

/** A rate of interest: series of the store, percent a year. */
export const rateSeries = (of: string) => series(`Series of the store with the ${of}, percent a year.`);

/** Optional, so that documents stored without it stay as they are. */
export const costBps = z.number().min(0).max(10_000).optional().meta({
  description: 'Cost of changes of exposure at the close, basis points of what is traded; 0 where not given.',
});

/** What clients read of it. */
export const costSentences = (bps: number | undefined): string[] =>
  bps === undefined ? [] : [`A change of exposure at the close costs ${bps} basis points of what is traded.`];
