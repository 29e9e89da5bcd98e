import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { SWAP_RULES, type SwapRule } from '#domain/books/constituent-swap.js';

const RULES = Object.keys(SWAP_RULES) as [SwapRule, ...SwapRule[]]; // Object.keys returns plain strings.

/** Security that entered the index between reviews, and the constituent that it replaced. */
export const Replacement = defineObject(() => ({
  date: z.string().meta({ description: 'Effective date. The change takes effect at its close.' }),
  rule: z.enum(RULES).meta({
    description: `${RULES.map((rule) => `\`${rule}\`: ${SWAP_RULES[rule]}`).join('; ')}.`,
  }),
  entered: z.string().meta({ description: 'Security that entered.' }),
  left: z.string().meta({ description: 'Constituent that left.' }),
  decision_date: z.string().meta({ description: 'Session whose data was used.' }),
  ranked_on: z.string().nullable().meta({
    description:
      'Session whose data ranked the security. For `next_ranked`, the reference date of the review that did not select it. Null for a reserve list.',
  }),
  rank: z.int().min(1).meta({
    description:
      'Rank of the security that entered. For `next_ranked`, the rank among the securities that the review did not select. For `reserve`, the position in the list. Otherwise the rank by the datapoint of the rule.',
  }),
  left_rank: z.int().min(1).nullable().meta({
    description:
      'Rank of the constituent by the same datapoint. Null if it left because of an event such as a merger, or has no value.',
  }),
})).meta({ id: 'Replacement' });
