import { z } from 'zod';
import type { CheckKind } from './checks/check-kind.js';
import { actions } from './checks/actions.js';
import { confirmedActions } from './checks/confirmed-actions.js';
import { coverage } from './checks/coverage.js';
import { divisor } from './checks/divisor.js';
import { history } from './checks/history.js';
import { limits } from './checks/limits.js';
import { moves } from './checks/moves.js';
import { published } from './checks/published.js';
import { secondSource } from './checks/second-source.js';
import { staleness } from './checks/staleness.js';
import { weights } from './checks/weights.js';

/** All kinds of check, in the order in which they are performed. */
export const CHECK_CATALOGUE = {
  coverage,
  staleness,
  moves,
  history,
  actions,
  confirmed_actions: confirmedActions,
  weights,
  divisor,
  limits,
  second_source: secondSource,
  published,
} as const;

export type CheckName = keyof typeof CHECK_CATALOGUE;
export const CHECK_NAMES = Object.keys(CHECK_CATALOGUE) as [CheckName, ...CheckName[]]; // Object.keys returns plain strings.

export const Check = z.discriminatedUnion('check', [
  coverage.schema,
  staleness.schema,
  moves.schema,
  history.schema,
  actions.schema,
  confirmedActions.schema,
  weights.schema,
  divisor.schema,
  limits.schema,
  secondSource.schema,
  published.schema,
]);
export type Check = z.infer<typeof Check>;

export const findCheckKind = (name: CheckName): CheckKind<Check> =>
  CHECK_CATALOGUE[name] as unknown as CheckKind<Check>;

/** Checks that a plan must list explicitly: they require a parameter, or a desk that confirms actions. */
const EXPLICIT_CHECKS: ReadonlySet<CheckName> = new Set(['second_source', 'confirmed_actions']);

/**
 * Returns the checks of a step that lists none: all except those to be listed explicitly, and those that need a run
 * only if there is one.
 * @param hasPolicy true if an error policy decides about differences in published closes; the check then only warns
 */
export const listStandardChecks = (hasRun: boolean, hasPolicy = false): readonly Check[] =>
  CHECK_NAMES.filter((name) => !EXPLICIT_CHECKS.has(name) && (hasRun || !findCheckKind(name).needsRun)).map((check) => {
    const severity = hasPolicy && check === 'published' ? { severity: 'warn' } : {};
    return findCheckKind(check).schema.parse({ check, ...severity }) as Check;
  });
