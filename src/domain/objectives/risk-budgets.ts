import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { findRiskless } from '../numbers/constant.js';
import { Refusal } from '../refusals/refusal.js';
import type { GoalContext } from './objective-class.js';

export interface BudgetParams {
  readonly budgets: Readonly<Record<string, number>> | null;
  readonly budget_field: string;
}

/**
 * Returns the risk budget of each security as a fraction of the variance, [N], with sum 1. Null gives equal budgets. A
 * key is an identifier or a group. Members of a group share its budget, unless they have a separate budget. Securities
 * without variance, or that may not be held, get no budget; the other budgets are scaled up in proportion.
 * @throws Refusal VALIDATION_FAILED if no security that may be held has a budget
 */
export function readBudgets({ budgets, budget_field }: BudgetParams, context: GoalContext): Float64Array {
  // A security without variance contributes nothing to the variance at any weight.
  const isRiskless = findRiskless(computeMetricDiagonal(context.metric));
  const eligibleFlags = context.eligible.map((isEligible, i) => (isRiskless[i] === 1 ? 0 : isEligible));
  const leftNames = context.identifiers.filter((_, i) => context.eligible[i] === 1 && isRiskless[i] === 1);
  if (leftNames.length > 0)
    context.warn(
      `${leftNames.length} of ${context.identifiers.length} securities have a variance of 0, and therefore no risk budget and no weight: ${formatKeys(leftNames)}.`,
      budgets === null ? '' : '.budgets',
    );
  const shares =
    budgets === null
      ? Float64Array.from(eligibleFlags, (isEligible) => isEligible)
      : computeShares(budgets, budget_field, { ...context, eligible: eligibleFlags });
  const total = shares.reduce((sum, share) => sum + share, 0);
  return total > 0 ? shares.map((share) => share / total) : shares;
}

function computeShares(budgets: Readonly<Record<string, number>>, field: string, context: GoalContext): Float64Array {
  const { identifiers, eligible, warn } = context;
  const positionByIdentifier = new Map(identifiers.map((identifier, i): [string, number] => [identifier, i]));
  const shares = new Float64Array(identifiers.length);
  const groups = Object.keys(budgets).some((key) => !positionByIdentifier.has(key)) ? context.categories(field) : [];
  const lostNames: string[] = [];
  for (const [key, share] of Object.entries(budgets)) {
    const position = positionByIdentifier.get(key);
    const members =
      position === undefined
        ? Array.from(eligible.keys()).filter((i) => groups[i] === key && budgets[identifiers[i]!] === undefined)
        : [position];
    const eligibleMembers = members.filter((i) => eligible[i] === 1);
    for (const i of eligibleMembers) shares[i]! += share / eligibleMembers.length;
    if (eligibleMembers.length === 0) lostNames.push(key);
  }
  if (lostNames.length === Object.keys(budgets).length) throw refuseUnusableBudgets(lostNames, field);
  if (lostNames.length > 0)
    warn(
      `No security that may be held has the budget of ${lostNames.join(', ')}; it is distributed over the other budgets in proportion.`,
      '.budgets',
    );
  const identifiersWithoutBudget = identifiers.filter((_, i) => eligible[i] === 1 && shares[i] === 0);
  if (identifiersWithoutBudget.length > 0)
    warn(
      `${identifiersWithoutBudget.length} of ${identifiers.length} securities have no risk budget and no weight: ${formatKeys(identifiersWithoutBudget)}.`,
      '.budgets',
    );
  return shares;
}

/** Maximum number of identifiers or groups listed in a message. */
const KEYS_MAX = 5;

function formatKeys(keys: readonly string[]): string {
  return `${keys.slice(0, KEYS_MAX).join(', ')}${keys.length > KEYS_MAX ? ', ...' : ''}`;
}

function refuseUnusableBudgets(keys: readonly string[], field: string): Refusal {
  const message = `None of the ${keys.length} budgets (${formatKeys(keys)}) belongs to a security that may be held, or to a ${field} of one.`;
  return new Refusal('VALIDATION_FAILED', message, {
    findings: [{ severity: 'error', code: 'UNKNOWN_IDENTIFIER', path: 'objective.budgets', message }],
  });
}
