import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { ActionDecision, ActionSource, ActionTerms, DeskActionEffect } from '../corporate-actions/action-desk.js';
import { CHECK_NAMES } from '../daily-plans/check-catalogue.js';
import { AcceptedFinding } from '../daily-plans/judgement-document.js';
import { LevelChange } from '../documents/published-error.js';

const defineLevel = (variant: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${variant} return level; null if there is none.` });
const levels = { price: defineLevel('Price'), total: defineLevel('Total'), net: defineLevel('Net') };

const Levels = z.strictObject(levels).meta({ id: 'ApprovedLevels' });
const DatedLevels = defineObject(() => ({ date: z.string(), ...levels })).meta({ id: 'ApprovedClose' });

const closes = {
  index_id: z.string(),
  run_id: z.string().meta({ description: 'Run that contains the closes.' }),
  published: z.int().min(0).meta({ description: 'Number of closes that were published for the first time.' }),
  restated: z.int().min(0).meta({ description: 'Number of closes that were published again.' }),
  first: z.string().meta({ description: 'First date.' }),
  last: z.string().meta({ description: 'Last date.' }),
  close: Levels.meta({ description: 'Levels of the last date.' }),
  previous: DatedLevels.nullable().meta({
    description: 'Published close before the first new close; null if there is none.',
  }),
};

const PublishFacts = defineObject(() => ({ kind: z.literal('publish'), ...closes })).meta({
  id: 'PublishFacts',
  description: 'Closes that are published for the first time.',
});

const RestateFacts = defineObject(() => ({
  kind: z.literal('restate'),
  ...closes,
  levels_changed: z
    .int()
    .min(0)
    .meta({ description: 'Restated dates on which a level changes by more than rounding (1e-12).' }),
  latest: z
    .strictObject({
      date: z.string(),
      before: Levels.meta({ description: 'Published levels.' }),
      after: Levels.meta({ description: 'New levels.' }),
    })
    .meta({ description: 'Last restated close.' }),
  largest: LevelChange.nullable().meta({
    description: 'Largest change of a level; null if only divisor or composition differ.',
  }),
  reason: z.string().nullable().meta({ description: 'Reason of the restatement.' }),
})).meta({ id: 'RestateFacts', description: 'Closes that are published again with other figures.' });

const ChangedField = defineObject(() => ({
  field: z
    .string()
    .meta({ description: 'Description of the member of the definition.', example: 'Rebalance, frequency' }),
  path: z.string().meta({ description: 'JSON pointer of the member.' }),
  before: z.unknown().meta({ description: 'Value before the change; null if there was none.' }),
  after: z.unknown().meta({ description: 'Value after the change; null if there is none.' }),
})).meta({ id: 'ChangedField' });
export type ChangedField = z.infer<typeof ChangedField>;

const DefinitionChange = defineObject(() => ({
  effective_from: z.string().nullable().meta({
    description: 'Date from which the change applies, if it is an amendment; null for a change of the whole history.',
  }),
  announced: z.string().nullable().meta({ description: 'Date of the announcement; null if there is none.' }),
  reason: z.string().nullable().meta({ description: 'Reason of an amendment; null if there is none.' }),
  rebalance: z.boolean().meta({ description: 'True if the index is rebalanced on the date.' }),
  fields: z.array(ChangedField).meta({ description: 'Changed members; at most 200.' }),
  removed: z.array(z.string()).meta({ description: 'Sentences of the methodology that no longer apply.' }),
  added: z.array(z.string()).meta({ description: 'New sentences of the methodology.' }),
})).meta({ id: 'DefinitionChange' });
export type DefinitionChange = z.infer<typeof DefinitionChange>;

const AmendFacts = defineObject(() => ({
  kind: z.literal('amend'),
  index_id: z.string(),
  deletes: z.boolean().meta({ description: 'True for a deletion of the index.' }),
  changes: z
    .array(DefinitionChange)
    .meta({ description: 'Change of the whole history, followed by amendments by date.' }),
})).meta({ id: 'AmendFacts', description: 'Change of a definition with published closes.' });

const ActionFacts = defineObject(() => ({
  kind: z.literal('action'),
  store_id: z.string(),
  action_id: z.string().meta({ description: 'Id of the corporate action.' }),
  decision: ActionDecision.shape.decision,
  terms: ActionTerms.meta({ description: 'Terms of the action.' }),
  sources: z.array(ActionSource).meta({ description: 'Values of other sources.' }),
  differences: z.array(z.string()).meta({ description: 'Differences between the store and these sources.' }),
  effects: z.array(DeskActionEffect).meta({ description: 'Effect on each index with a run that holds the security.' }),
})).meta({ id: 'ActionFacts', description: 'Decision about a corporate action.' });

const OverrideFacts = defineObject(() => ({
  kind: z.literal('override'),
  store_id: z.string(),
  identifier: z.string().meta({ description: 'Security.' }),
  date: z.string().meta({ description: 'Session of the price.' }),
  before: z.number().nullable().meta({ description: 'Price in force; null if there is none.' }),
  price: z.number().nullable().meta({ description: 'Requested price; null withdraws the override.' }),
  change: z.number().nullable().meta({ description: 'Relative change of the price; null if a price is missing.' }),
  reason: z.string(),
})).meta({ id: 'OverrideFacts', description: 'Price that replaces the price of the source.' });

const WaiveFacts = defineObject(() => ({
  kind: z.literal('waive'),
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session.' }),
  check: z.enum(CHECK_NAMES).meta({ description: 'Check whose findings are accepted.' }),
  index_id: z
    .string()
    .nullable()
    .meta({ description: 'Index, including the indices that depend on it; null for every index.' }),
  identifier: z.string().nullable().meta({ description: 'Security or series; null for every finding of the check.' }),
  reason: z.string(),
  findings: z.array(AcceptedFinding).meta({ description: 'Findings at the time of the request; at most 200.' }),
  total: z.int().min(0).meta({ description: 'Number of findings.' }),
})).meta({ id: 'WaiveFacts', description: 'Findings of a check that are accepted.' });

/** Facts that the approvers of a request see, by the kind of change. */
export const ApprovalFacts = z.discriminatedUnion('kind', [
  PublishFacts,
  RestateFacts,
  AmendFacts,
  ActionFacts,
  OverrideFacts,
  WaiveFacts,
]);
export type ApprovalFacts = z.infer<typeof ApprovalFacts>;

/** Maximum number of fields or findings that a request lists. */
export const FACTS_LISTED_MAX = 200;
