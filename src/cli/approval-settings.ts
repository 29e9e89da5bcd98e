import { z } from 'zod';
import {
  APPROVAL_ACTION_NAMES,
  PERSONS_MAX,
  type ApprovalAction,
  type ApprovalRules,
} from '#domain/approvals/approval-document.js';
import { declareSetting, createListSchema, createWholeNumber } from './setting-schemas.js';

const RULE_PATTERN = /^([a-z]+)=(\d)(?::([^,+]+(?:\+[^,+]+)*))?$/;
const RULE_SYNTAX = `must be ACTION=PERSONS or ACTION=PERSONS:name+name, with ${APPROVAL_ACTION_NAMES.join(', ')} and up to ${PERSONS_MAX} persons`;

const isAction = (word: string): word is ApprovalAction => (APPROVAL_ACTION_NAMES as readonly string[]).includes(word);

/**
 * Parses rules such as `publish=2,restate=3:ada+ben`. With a rule for one person, no second person is needed. If
 * restatements have no rule, the rule for publications applies, because a restatement publishes.
 */
const approvalRules = createListSchema(',').transform((texts, context): ApprovalRules => {
  const rules: { [A in ApprovalAction]?: ApprovalRules[A] } = {};
  const statedActions = new Set<string>();
  for (const text of texts) {
    const [, action = '', count = '', names] = RULE_PATTERN.exec(text) ?? [];
    const personCount = Number(count);
    if (!isAction(action) || personCount < 1 || personCount > PERSONS_MAX) {
      context.addIssue({ code: 'custom', message: RULE_SYNTAX, input: text });
      return z.NEVER;
    }
    statedActions.add(action);
    if (personCount > 1)
      rules[action] = { persons: personCount, approvers: names === undefined ? null : names.split('+') };
    else delete rules[action];
  }
  if (!statedActions.has('restate') && rules.publish !== undefined) rules.restate = rules.publish;
  return rules;
});

/** Settings of changes that need a second person. */
export const APPROVAL_SETTINGS = {
  approvals: declareSetting({
    flag: 'approvals',
    variable: 'DIVISOR_APPROVALS',
    otherwise: () => '',
    help: `Changes that need the agreement of several people, separated by commas. With publish=2, a second person must approve the request; publish=2:ada+ben limits who can approve. The rule of publish applies to restatements if restate has no rule; with restate=1, one person can restate. Actions: ${APPROVAL_ACTION_NAMES.join(', ')}.`,
    schema: approvalRules,
  }),
  approvalHours: declareSetting({
    flag: 'approval-hours',
    variable: 'DIVISOR_APPROVAL_HOURS',
    otherwise: () => '72',
    help: 'Number of hours after which a request for approval expires.',
    schema: createWholeNumber(1, 8760),
  }),
};
