import type { z } from 'zod';
import type { Replacement } from '#contract/indices/replacement.js';
import type { NamedSwap } from '#domain/books/named-swaps.js';
import { formatDay } from '#domain/time/days.js';

/** Changes of constituents between reviews on the wire. */
export function toReplacements(swaps: readonly NamedSwap[]): z.infer<typeof Replacement>[] {
  return swaps.map(({ date, rule, entered, left, decision, ranked, rank, leftRank }) => ({
    date: formatDay(date),
    rule,
    entered,
    left,
    decision_date: formatDay(decision),
    ranked_on: ranked === null ? null : formatDay(ranked),
    rank,
    left_rank: leftRank,
  }));
}
