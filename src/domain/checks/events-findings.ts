import { checkShape } from '../schema/shape.js';
import { changesMembers, EventsSpec, FastEntrySpec, FastExitSpec } from '../documents/events-spec.js';
import { isRuleDocument, type IndexDocument } from '../documents/index-document.js';
import { findCountedShares } from '../documents/share-terms.js';
import { hasSharesField } from '../datapoints/resolution.js';
import type { MarketData } from '../market/market-data.js';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { bindPipeline } from '../rules/bound-pipeline.js';
import { validateRebalance } from '../schedule/validate-rebalance.js';
import { createError, isObject } from './index-context.js';
import { findUnknownMembers } from './unknown-members.js';

/** Returns findings about the settings of changes between reviews, if they match the schema. */
export function checkEvents(events: unknown): Finding[] {
  if (!isObject(events)) return [];
  const { replacement, reserve, fast_exit: exit } = events;
  const { value } = checkShape(FastExitSpec, exit, { unknownFields: 'warning' });
  return [
    ...findUnknownMembers(events, Object.keys(EventsSpec.shape), 'events'),
    ...findUnknownMembers(events['fast_entry'], Object.keys(FastEntrySpec.shape), 'events.fast_entry'),
    ...findUnknownMembers(exit, Object.keys(FastExitSpec.shape), 'events.fast_exit'),
    ...(replacement === 'reserve' && reserve === undefined
      ? [createError('REQUIRED', 'events.reserve', 'events.reserve is required with the replacement reserve.')]
      : []),
    ...(value === undefined ? [] : validateRebalance(value.schedule, 'events.fast_exit.schedule')),
  ];
}

/** Reports settings of changes between reviews that have no effect in a document or on the current market. */
export function checkIdleEvents(document: IndexDocument, market: MarketData | undefined): Finding[] {
  const { events } = document;
  if (events === undefined) return [];
  if (!isRuleDocument(document))
    return [
      createIdleFinding('events', 'an index without selection and weighting rules has no constituents to change'),
    ];
  const { weighting, treatment } = document.pipeline;
  const isCounted = findCountedShares(weighting) !== null;
  const isEffective = events.share_changes === 'effective';
  const { threshold } = EventsSpec.parse({});
  const { rules } = bindPipeline(document);
  return [
    ...(isEffective && !isCounted
      ? [
          createIdleFinding(
            'events.share_changes',
            `the weights of ${weighting.type} are not market values`,
            'effective',
          ),
        ]
      : []),
    ...(isEffective && isCounted && market !== undefined && !hasSharesField(market)
      ? [createIdleFinding('events.share_changes', 'the store has no SHARES_OUTSTANDING', 'effective')]
      : []),
    ...(!isEffective && events.threshold !== threshold
      ? [createIdleFinding('events.threshold', 'events.share_changes is review', events.threshold)]
      : []),
    ...(events.replacement === 'next_ranked' && rules.every(({ rule }) => rule.ranks !== true)
      ? [createIdleFinding('events.replacement', 'no selection rule ranks securities', 'next_ranked')]
      : []),
    ...(events.reserve !== undefined && events.replacement !== 'reserve'
      ? [createIdleFinding('events.reserve', `events.replacement is ${events.replacement}`)]
      : []),
    ...(treatment.on_breach === 'rebalance' && changesMembers(events)
      ? [
          createIdleFinding(
            'pipeline.treatment.on_breach',
            'constituents change between reviews by events',
            'rebalance',
          ),
        ]
      : []),
  ];
}

function createIdleFinding(path: string, why: string, value?: string | number): Finding {
  return {
    severity: 'warning',
    code: 'NO_EFFECT',
    path,
    message: `${path} has no effect: ${why}.`,
    ...keepSmallValue(value),
  };
}
