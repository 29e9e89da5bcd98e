import { z } from 'zod';
import type { CheckKind } from './checks/check-kind.js';
import { actionsCheck } from './checks/actions.js';
import { confirmedActionsCheck } from './checks/confirmed-actions.js';
import { coverageCheck } from './checks/coverage.js';
import { divisorCheck } from './checks/divisor.js';
import { historyCheck } from './checks/history.js';
import { limitsCheck } from './checks/limits.js';
import { movesCheck } from './checks/moves.js';
import { publishedCheck } from './checks/published.js';
import { secondSourceCheck } from './checks/second-source.js';
import { stalenessCheck } from './checks/staleness.js';
import { weightsCheck } from './checks/weights.js';

/** All kinds of check, in the order in which they are performed. */
export const CHECK_CATALOGUE = {
  coverage: coverageCheck,
  staleness: stalenessCheck,
  moves: movesCheck,
  history: historyCheck,
  actions: actionsCheck,
  confirmed_actions: confirmedActionsCheck,
  weights: weightsCheck,
  divisor: divisorCheck,
  limits: limitsCheck,
  second_source: secondSourceCheck,
  published: publishedCheck,
} as const;

export type CheckName = keyof typeof CHECK_CATALOGUE;
export const CHECK_NAMES = Object.keys(CHECK_CATALOGUE) as [CheckName, ...CheckName[]]; // Object.keys returns plain strings.

export const Check = z.discriminatedUnion('check', [
  coverageCheck.schema,
  stalenessCheck.schema,
  movesCheck.schema,
  historyCheck.schema,
  actionsCheck.schema,
  confirmedActionsCheck.schema,
  weightsCheck.schema,
  divisorCheck.schema,
  limitsCheck.schema,
  secondSourceCheck.schema,
  publishedCheck.schema,
]);
export type Check = z.infer<typeof Check>;

export const findCheckKind = (name: CheckName): CheckKind<Check> =>
  CHECK_CATALOGUE[name] as unknown as CheckKind<Check>;

/** Checks that a plan must list explicitly: they require a parameter, or a desk that confirms actions. */
const EXPLICIT_CHECKS: ReadonlySet<CheckName> = new Set(['second_source', 'confirmed_actions']);

/**
 * Returns the checks of a step that lists none. These are all checks except those that a plan must list explicitly.
 * Checks that need a run are included only if there is one.
 * @param hasPolicy true if an error policy decides about differences in published closes; the check then only warns
 */
export const listStandardChecks = (hasRun: boolean, hasPolicy = false): readonly Check[] =>
  CHECK_NAMES.filter((name) => !EXPLICIT_CHECKS.has(name) && (hasRun || !findCheckKind(name).needsRun)).map((check) => {
    const severity = hasPolicy && check === 'published' ? { severity: 'warn' } : {};
    return findCheckKind(check).schema.parse({ check, ...severity }) as Check;
  });
