import { FACTS_LISTED_MAX } from '#domain/approvals/approval-facts.js';
import type { DayDocument, Waiver } from '#domain/daily-plans/day-document.js';
import type { AcceptedFinding } from '#domain/daily-plans/judgement-document.js';
import type { StepType } from '#domain/daily-plans/step-catalogue.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { ProposedChange } from '../approvals/approvals.js';
import type { FindingDetail } from './steps/checks.js';

/** Findings to accept. */
export type WaiverRequest = Pick<Waiver, 'check' | 'index_id' | 'identifier' | 'reason'>;

/** Returns the request for approval before findings are accepted. */
export function createWaiverRequest(day: DayDocument, waived: WaiverRequest): ProposedChange {
  const { schedule_id: scheduleId, date } = day;
  const { check, index_id: index, identifier } = waived;
  const of = [identifier, index].filter((name) => name !== null).join(' in ');
  const summary = `Accept findings of ${check}${of === '' ? '' : ` of ${of}`} on ${date} in ${scheduleId}.`;
  const findings = selectFindings(day, waived);
  return {
    action: 'waive',
    subject: scheduleId,
    content: { date, ...waived },
    summary,
    facts: {
      kind: 'waive',
      schedule_id: scheduleId,
      date,
      ...waived,
      findings: findings.slice(0, FACTS_LISTED_MAX),
      total: findings.length,
    },
    day: { schedule_id: scheduleId, date },
  };
}

/** Returns the findings of a day that a waiver names. */
function selectFindings(
  { steps }: DayDocument,
  { check, index_id: index, identifier }: WaiverRequest,
): AcceptedFinding[] {
  return steps.flatMap(({ items }) =>
    items.flatMap(({ index_id: of, message, detail }) => {
      const found = detail as Partial<FindingDetail> | null; // the step of checks wrote the detail
      if (of === null || found?.check !== check || (index !== null && index !== of)) return [];
      if (identifier !== null && identifier !== found.identifier) return [];
      return [{ index_id: of, identifier: found.identifier ?? null, message, measure: found.measure ?? null }];
    }),
  );
}

/**
 * Refuses to accept findings that the checks did not report. Before and during the checks, any finding may be accepted.
 * @throws Refusal VALIDATION_FAILED
 */
export function assertFindingExists(day: DayDocument, waived: WaiverRequest): void {
  const { check, index_id: index, identifier } = waived;
  const { date, plan, state, steps, schedule_id: scheduleId } = day;
  const refuse = (code: Finding['code'], path: string, message: string, value: string): never => {
    throw refuseWithFindings('request', [{ severity: 'error', code, path, message, value }]);
  };
  if (index !== null && !plan.indices.includes(index))
    refuse('UNKNOWN_INDEX', 'index_id', `${index} is no index of the schedule ${scheduleId}.`, index);
  const isChecked = steps.some((step) => CHECKING.has(step.type) && step.state === 'done');
  if (state === 'running' || !isChecked || selectFindings(day, waived).length > 0) return;
  const others = selectFindings(day, { ...waived, identifier: null });
  // Only the first findings of a check are listed by security.
  if (identifier !== null && others.some((finding) => finding.identifier === null)) return;
  const all = selectFindings(day, { ...waived, index_id: null, identifier: null });
  // Findings are in the order in which the indices were checked.
  const formatNames = (of: readonly (string | null)[]): string =>
    [...new Set(of)].toSorted().slice(0, NAMED_MAX).join(', ');
  if (all.length === 0) refuse('NOT_IN_CHOICES', 'check', `The check ${check} has no finding on ${date}.`, check);
  const where = index === null ? '' : ` in ${index}`;
  if (index !== null && others.length === 0) {
    const message = `The check ${check} has no finding in ${index} on ${date}, but in ${formatNames(all.map((one) => one.index_id))}.`;
    refuse('NOT_IN_CHOICES', 'index_id', message, index);
  }
  const message = `The check ${check} has no finding of ${identifier}${where} on ${date}, but of ${formatNames(others.map((one) => one.identifier))}.`;
  refuse('NOT_IN_CHOICES', 'identifier', message, String(identifier));
}

/** Steps with findings of checks. */
const CHECKING: ReadonlySet<StepType> = new Set(['checks', 'compare']);
/** Maximum number of names that a sentence lists. */
const NAMED_MAX = 5;
