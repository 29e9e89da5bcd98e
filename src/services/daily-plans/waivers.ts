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

/** Returns the request for approval that must be stored before findings are accepted. */
export function createWaiverRequest(day: DayDocument, waiverRequest: WaiverRequest): ProposedChange {
  const { schedule_id: scheduleId, date } = day;
  const { check, index_id: index, identifier } = waiverRequest;
  const subject = [identifier, index].filter((name) => name !== null).join(' in ');
  const summary = `Accept findings of ${check}${subject === '' ? '' : ` of ${subject}`} on ${date} in ${scheduleId}.`;
  const findings = selectFindings(day, waiverRequest);
  return {
    action: 'waive',
    subject: scheduleId,
    content: { date, ...waiverRequest },
    summary,
    facts: {
      kind: 'waive',
      schedule_id: scheduleId,
      date,
      ...waiverRequest,
      findings: findings.slice(0, FACTS_LISTED_MAX),
      total: findings.length,
    },
    day: { schedule_id: scheduleId, date },
  };
}

/** Returns the findings of a day that a waiver refers to. */
function selectFindings(
  { steps }: DayDocument,
  { check, index_id: index, identifier }: WaiverRequest,
): AcceptedFinding[] {
  return steps.flatMap(({ items }) =>
    items.flatMap(({ index_id: indexId, message, detail }) => {
      const findingDetail = detail as Partial<FindingDetail> | null; // the step of checks wrote the detail
      if (indexId === null || findingDetail?.check !== check || (index !== null && index !== indexId)) return [];
      if (identifier !== null && identifier !== findingDetail.identifier) return [];
      return [
        {
          index_id: indexId,
          identifier: findingDetail.identifier ?? null,
          message,
          measure: findingDetail.measure ?? null,
        },
      ];
    }),
  );
}

/**
 * Refuses a waiver for findings that the checks did not report. Before and during the checks, any finding may be
 * accepted.
 * @throws Refusal VALIDATION_FAILED
 */
export function assertFindingExists(day: DayDocument, waiverRequest: WaiverRequest): void {
  const { check, index_id: index, identifier } = waiverRequest;
  const { date, plan, state, steps, schedule_id: scheduleId } = day;
  const refuseWaiver = (code: Finding['code'], path: string, message: string, value: string): never => {
    throw refuseWithFindings('request', [{ severity: 'error', code, path, message, value }]);
  };
  if (index !== null && !plan.indices.includes(index))
    refuseWaiver('UNKNOWN_INDEX', 'index_id', `${index} is not an index of the schedule ${scheduleId}.`, index);
  const isChecked = steps.some((step) => CHECK_STEPS.has(step.type) && step.state === 'done');
  if (state === 'running' || !isChecked || selectFindings(day, waiverRequest).length > 0) return;
  const otherFindings = selectFindings(day, { ...waiverRequest, identifier: null });
  // A check lists only its first findings with their securities.
  if (identifier !== null && otherFindings.some((finding) => finding.identifier === null)) return;
  const familyFindings = selectFindings(day, { ...waiverRequest, index_id: null, identifier: null });
  // Sorts the names, because findings have the order in which the indices were checked.
  const formatNames = (names: readonly (string | null)[]): string =>
    [...new Set(names)].toSorted().slice(0, NAMED_MAX).join(', ');
  if (familyFindings.length === 0)
    refuseWaiver('NOT_IN_CHOICES', 'check', `The check ${check} has no finding on ${date}.`, check);
  const indexText = index === null ? '' : ` in ${index}`;
  if (index !== null && otherFindings.length === 0) {
    const message = `The check ${check} has no finding in ${index} on ${date}. It has findings in ${formatNames(familyFindings.map((finding) => finding.index_id))}.`;
    refuseWaiver('NOT_IN_CHOICES', 'index_id', message, index);
  }
  const message = `The check ${check} has no finding of ${identifier}${indexText} on ${date}. It has findings of ${formatNames(otherFindings.map((finding) => finding.identifier))}.`;
  refuseWaiver('NOT_IN_CHOICES', 'identifier', message, String(identifier));
}

/** Steps with findings of checks. */
const CHECK_STEPS: ReadonlySet<StepType> = new Set(['checks', 'compare']);
/** Maximum number of names that a sentence lists. */
const NAMED_MAX = 5;
