import { z } from 'zod';
import { Finding, SeriesPayload } from '../common.js';
import { stale } from '../run-state.js';

export const CompareEntry = z
  .strictObject({ ...stale, index_id: z.string(), level: SeriesPayload, total_return: z.number() })
  .meta({ id: 'CompareEntry' });
export type CompareEntry = z.infer<typeof CompareEntry>;
export const CompareView = z
  .strictObject({
    index_ids: z.array(z.string()),
    entries: z.array(CompareEntry),
    findings: z.array(Finding).meta({ description: '`DIFFERENT_DATA` when the runs were made on different contents.' }),
    observations: z.int(),
    start: z.string(),
    end: z.string(),
  })
  .meta({ id: 'CompareView' });
export type CompareView = z.infer<typeof CompareView>;
