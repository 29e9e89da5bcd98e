import { createHash } from 'node:crypto';
import type { Approval, ApprovalAction, ApprovalRules, ApprovalState } from '#domain/approvals/approval-document.js';
import type { ApprovalFacts } from '#domain/approvals/approval-facts.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { isWithin } from '#domain/documents/reach.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { refuseOutside } from '#store/reach/guarded-store.js';
import { runUnrestricted, findCurrentReach } from '#store/reach/reach-context.js';
import { formatTimestamp } from '#store/timestamp.js';
import { applyDecision, createStep, type ApprovalDecision, type Decider } from './decide.js';
import { createStoredApprovals } from './stored-approvals.js';

/** Change that may need a second person. */
export interface ProposedChange {
  readonly action: ApprovalAction;
  /** Id of the index or schedule. */
  readonly subject: string;
  /** Complete content of the change. An approval applies to this content only. */
  readonly content: unknown;
  readonly summary: string;
  /** Facts for the persons who decide. */
  readonly facts: ApprovalFacts;
  /**
   * Day of the schedule that requests the change, and the number of that day's earlier request. If a person rejected
   * the earlier request, the change is not requested again.
   */
  readonly day?: (NonNullable<Approval['schedule_day']> & { readonly asked?: number | undefined }) | null;
}

/** Approval of a change, for its record. */
export interface ApprovalAgreement {
  /** Number of the approval; null for a change that needs no approval. */
  readonly approval_id: number | null;
  /** Names of the persons who approved the change. */
  readonly approved_by: string[];
}

/**
 * Admission of changes by an approval gate. It admits `undefined` (no change), a change that requires no approval, and
 * an approved change.
 */
export interface Admission {
  /** Admits a change inside the transaction that makes the change. The approval can then not be used again. */
  admit(tx: DocumentTransaction, proposedChange: ProposedChange | undefined): Promise<ApprovalAgreement>;
  /** Checks the approval before the work that precedes the transaction. The approval can still be used afterwards. */
  foresee(reader: Pick<DocumentReader, 'get'>, proposedChange: ProposedChange | undefined): Promise<void>;
}

/** Gate that holds back changes that need a second person. */
export interface ApprovalGate {
  /** Returns the rule of an action; undefined if the action requires no approval. */
  getRule(action: ApprovalAction): ApprovalRules[ApprovalAction];
  /**
   * Runs `work` in a transaction that needs admission. If the change has no approval, the method refuses it and stores
   * a request for approval.
   * @throws Refusal APPROVAL_REQUIRED with the number of the request
   */
  guarded<T>(by: Authorship | undefined, work: (admission: Admission) => Promise<T>): Promise<T>;
}

export interface ApprovalQuery {
  readonly state?: ApprovalState | undefined;
  readonly action?: ApprovalAction | undefined;
  readonly subject?: string | undefined;
  /** Lists only requests that the days of this schedule made, and only those for this session. */
  readonly schedule_id?: string | undefined;
  readonly date?: string | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface Approvals extends ApprovalGate {
  readonly rules: ApprovalRules;
  /** Lists approvals, newest first. */
  list(query: ApprovalQuery): Promise<readonly Approval[]>;
  /** Returns an approval. @throws Refusal APPROVAL_NOT_FOUND */
  get(approvalId: number): Promise<Approval>;
  /** Records the decision of a person. @throws Refusal APPROVAL_NOT_FOUND, APPROVAL_CLOSED, APPROVAL_FORBIDDEN */
  decide(approvalId: number, decision: ApprovalDecision, comment: string | null, decider: Decider): Promise<Approval>;
}

export interface ApprovalsDependencies {
  readonly documents: DocumentStore;
  readonly rules: ApprovalRules;
  /** Hours until a request expires. */
  readonly hours: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Maximum number of open requests. It is larger than the number of indices that a service has in all families. */
const OPEN_MAX = 5000;

/** Thrown for a change without the required approval; caught by `guarded`. */
class UnapprovedChange extends Error {
  readonly requested: ProposedChange;
  constructor(proposedChange: ProposedChange) {
    super(proposedChange.summary);
    this.requested = proposedChange;
  }
}

export function createApprovals({ documents, rules, hours, now }: ApprovalsDependencies): Approvals {
  const formatTime = (): string => formatTimestamp(now());
  const storedApprovals = createStoredApprovals(documents, now);
  const { find, findOpen, save } = storedApprovals;

  async function get(approvalId: number): Promise<Approval> {
    const approval = await find(documents, approvalId);
    if (approval !== undefined) return approval;
    throw new Refusal('APPROVAL_NOT_FOUND', `There is no approval ${approvalId}.`, { approval_id: approvalId });
  }

  /** Stores the request for a change, unless an open request for it exists. */
  async function requestApproval(proposedChange: ProposedChange, authorship: Authorship): Promise<Approval> {
    const digest = computeDigest(proposedChange);
    const earlierApproval = await findOpen(documents, digest);
    if (earlierApproval !== undefined) return earlierApproval;
    const { asked, ...day } = proposedChange.day ?? {};
    if (asked !== undefined) assertNotRejected(await find(documents, asked), digest);
    return documents.transaction(
      async (tx) => {
        const openApproval = await findOpen(tx, digest);
        if (openApproval !== undefined) return openApproval;
        if ((await storedApprovals.dropExpired(tx)) >= OPEN_MAX)
          throw new Refusal('OVERLOADED', `${OPEN_MAX} requests wait for approval.`);
        const { persons } = rules[proposedChange.action]!; // the error is thrown only for changes with a rule
        const approval: Approval = {
          approval_id: (await storedApprovals.lastNumber(tx)) + 1,
          action: proposedChange.action,
          subject: proposedChange.subject,
          state: 'pending',
          summary: proposedChange.summary,
          facts: proposedChange.facts,
          detail: createDetail(proposedChange.facts),
          schedule_day: 'schedule_id' in day ? day : null,
          digest,
          requested_at: formatTime(),
          requested_by: authorship.author,
          expires_at: formatTimestamp(now() + hours * 3_600_000),
          persons,
          missing: persons - 1,
          history: [createStep('requested', authorship, { at: formatTime(), comment: authorship.note })],
        };
        await save(tx, approval);
        return approval;
      },
      { by: authorship },
    );
  }

  /** Returns the approval of a change; undefined if the change needs no approval. @throws UnapprovedChange */
  async function readApproval(
    reader: Pick<DocumentReader, 'get'>,
    proposedChange: ProposedChange | undefined,
  ): Promise<Approval | undefined> {
    if (proposedChange === undefined || rules[proposedChange.action] === undefined) return undefined;
    const approval = await findOpen(reader, computeDigest(proposedChange));
    if (approval?.state !== 'approved') throw new UnapprovedChange(proposedChange);
    return approval;
  }

  const createAdmission = (authorship: Authorship): Admission => ({
    async admit(tx, proposedChange) {
      const approval = await readApproval(tx, proposedChange);
      if (approval === undefined) return { approval_id: null, approved_by: [] };
      const usedStep = createStep('used', authorship, { at: formatTime(), comment: null });
      await save(tx, { ...approval, state: 'used', history: [...approval.history, usedStep] });
      const approvalSteps = approval.history.filter(({ action }) => action === 'approved');
      return { approval_id: approval.approval_id, approved_by: approvalSteps.map(({ author }) => author) };
    },
    foresee: async (reader, proposedChange) => void (await readApproval(reader, proposedChange)),
  });

  return {
    rules,
    getRule: (action) => rules[action],
    async guarded(authorship = SYSTEM_AUTHORSHIP, work) {
      try {
        return await work(createAdmission(authorship));
      } catch (failure) {
        if (!(failure instanceof UnapprovedChange)) throw failure;
        // A request of another client counts as existing, even if the current client may not read it.
        throw createUnapprovedRefusal(await runUnrestricted(() => requestApproval(failure.requested, authorship)));
      }
    },
    async list(query) {
      const { state, before = Infinity, limit } = query;
      const foundApprovals: Approval[] = [];
      for await (const approval of storedApprovals.newestFirst(state, before)) {
        if (matchesQuery(approval, query)) foundApprovals.push(approval);
        if (foundApprovals.length === limit) break;
      }
      return foundApprovals;
    },
    get,
    async decide(approvalId, decision, comment, decider) {
      const { subject } = await get(approvalId);
      const reach = findCurrentReach();
      if (reach !== undefined && !isWithin(reach, subject)) throw refuseOutside(reach, 'index', subject);
      return documents.transaction(
        async (tx) => {
          const approval = (await find(tx, approvalId))!; // Approvals are not deleted.
          const decidedApproval = applyDecision(approval, decision, { comment, decider, at: formatTime(), rules });
          await save(tx, decidedApproval);
          // A schedule that waits for this approval continues at once: it publishes, or reports the rejection.
          if (decidedApproval.state === 'approved' || decidedApproval.state === 'rejected')
            tx.publish({ type: 'approval-given', approval_id: approvalId });
          return decidedApproval;
        },
        { by: { ...decider.by, note: comment ?? decider.by.note } },
      );
    },
  };
}

/** Author of work without an author. */
const SYSTEM_AUTHORSHIP: Authorship = { author: 'local', note: null, requestId: '' };

const computeDigest = ({ action, subject, content }: ProposedChange): string =>
  createHash('sha256').update(toCanonicalJson({ action, subject, content })).digest('hex');

/** Refuses a change if a person rejected an earlier request for the same content. @throws Refusal APPROVAL_CLOSED */
function assertNotRejected(previousApproval: Approval | undefined, digest: string): void {
  if (previousApproval?.state !== 'rejected' || previousApproval.digest !== digest) return;
  const { author, comment } = previousApproval.history.findLast(({ action }) => action === 'rejected')!; // the earlier request was rejected
  const message = `${previousApproval.summary} ${author} rejected it (approval ${previousApproval.approval_id}): ${comment ?? ''}`;
  throw new Refusal('APPROVAL_CLOSED', message, {
    approval_id: previousApproval.approval_id,
    state: previousApproval.state,
  });
}

const matchesQuery = (
  approval: Approval,
  { state, action, subject, schedule_id: schedule, date }: ApprovalQuery,
): boolean =>
  (state === undefined || approval.state === state) &&
  (action === undefined || approval.action === action) &&
  (subject === undefined || approval.subject === subject) &&
  (schedule === undefined || approval.schedule_day?.schedule_id === schedule) &&
  (date === undefined || approval.schedule_day?.date === date);

/** Converts approval facts to `detail`, for clients that do not support the member `facts`. */
function createDetail({ kind, ...members }: ApprovalFacts): Record<string, unknown> {
  if (kind !== 'amend' || !('changes' in members)) return members;
  const changes = members.changes.flatMap(({ fields }) => fields.map((field) => ({ op: 'replace', ...field })));
  return { ...members, changes };
}

function createUnapprovedRefusal({
  approval_id,
  state,
  action,
  subject,
  missing,
  expires_at,
  summary,
}: Approval): Refusal {
  const personsText = missing === 1 ? 'one more person' : `${missing} more persons`;
  const nextStep = state === 'approved' ? 'It was approved meanwhile; repeat it.' : `It waits for ${personsText}.`;
  const message = `${summary} This needs approval ${approval_id}. ${nextStep}`;
  return new Refusal('APPROVAL_REQUIRED', message, { approval_id, action, subject, missing, expires_at });
}
