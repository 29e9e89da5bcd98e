import type { IndexDocument } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';
import { returnText } from '../../words/returns.js';
import type { Period } from './folds-period.js';
import { formatCosts } from './values.js';

/** Summarises the backtests of a sweep, for example `2015-01-02 to 2024-12-30 · 25 bp · total return`. */
export const formatBacktests = (
  { pipeline }: Pick<IndexDocument, 'pipeline'>,
  { transaction_cost_bps: costs, as_known: asKnown }: JsonObject,
  { start, end }: Period,
): string =>
  [
    `${start} to ${end ?? 'the last day of the data'}`,
    formatCosts(typeof costs === 'number' ? costs : 0),
    pipeline && returnText(pipeline.treatment?.dividends ?? 'total'),
    asKnown === 'decision' && 'data as known at each decision',
  ]
    .filter(Boolean)
    .join(' · ');
