import type { approvalRoutes } from '#contract/approvals.js';
import type { QueryOf } from '#contract/route.js';
import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/base/json.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import {
  Approval,
  APPROVAL_ACTIONS,
  type ApprovalAction,
  type ApprovalFacts,
  type ApprovalRules,
  type ApprovalState,
  type ApprovalStep,
  OpenApprovals,
} from '#domain/definition/approvals.js';
import { isIdWithin } from '#domain/definition/reach.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  formatNumberedId,
  formatTimestamp,
  parseStored,
} from '#store/port.js';
import { findCurrentReach, refuseOutside, runUnrestricted } from '#store/reach.js';

type ApprovalDecision = 'approve' | 'reject' | 'withdraw' | 'comment';

/** Person or key that decides. */
interface Decider {
  readonly by: Authorship;
  /** Names by which a list of approvers can refer to the person or the key. */
  readonly names: readonly string[];
  readonly scopes: ReadonlySet<string>;
}

const isOpen = ({ state }: Pick<Approval, 'state'>): boolean => state === 'pending' || state === 'approved';

function createStep(
  action: ApprovalStep['action'],
  { author, keyId = null }: Authorship,
  details: Pick<ApprovalStep, 'at' | 'comment'>,
): ApprovalStep {
  return { ...details, action, author, key_id: keyId };
}

interface DecisionTerms {
  readonly comment: string | null;
  readonly decider: Decider;
  readonly at: string;
  readonly rules: ApprovalRules;
}

/** Returns an approval after a decision. @throws Refusal APPROVAL_CLOSED, APPROVAL_FORBIDDEN */
function applyDecision(approval: Approval, decision: ApprovalDecision, terms: DecisionTerms): Approval {
  const { comment, decider, at } = terms;
  const add = (action: ApprovalStep['action'], change: Partial<Approval> = {}): Approval => ({
    ...approval,
    ...change,
    history: [...approval.history, createStep(action, decider.by, { at, comment })],
  });
  const { approval_id, state } = approval;
  if (decision === 'comment') return add('commented');
  if (!isOpen(approval))
    throw new Refusal('APPROVAL_CLOSED', `Approval ${approval_id} is ${state}.`, { approval_id, state });
  if (decision === 'withdraw') {
    if (!isSamePerson(approval.history[0]!, decider.by) && !decider.scopes.has('admin'))
      throw createForbiddenRefusal(approval, `Only ${approval.requested_by}, who requested it, may withdraw it.`);
    return add('withdrawn', { state: 'withdrawn' });
  }
  assertMayDecide(approval, decision, terms);
  if (decision === 'reject' && comment === null)
    throw refuseWithFindings('request', [
      { severity: 'error', code: 'REQUIRED', path: 'comment', message: 'A rejection needs a comment that says why.' },
    ]);
  if (decision === 'reject') return add('rejected', { state: 'rejected' });
  if (state === 'approved')
    throw new Refusal('APPROVAL_CLOSED', `Approval ${approval_id} is approved already.`, { approval_id, state });
  const missingCount = approval.missing - 1;
  return add('approved', { missing: missingCount, ...(missingCount === 0 && { state: 'approved' }) });
}

/**
 * Refuses a decision by a person who requested the change or is not an approver, and a second approval by one person.
 * @throws Refusal APPROVAL_FORBIDDEN
 */
function assertMayDecide(approval: Approval, decision: ApprovalDecision, { decider, rules }: DecisionTerms): void {
  const { by, names, scopes } = decider;
  if (by.keyId == null)
    throw createForbiddenRefusal(approval, 'Without keys the service cannot distinguish persons: create keys.');
  const previousStep = approval.history.find(
    (step) => (step.action === 'requested' || step.action === 'approved') && isSamePerson(step, by),
  );
  if (previousStep?.action === 'requested')
    throw createForbiddenRefusal(approval, `${by.author} requested it: another person decides.`);
  if (previousStep !== undefined && decision === 'approve')
    throw createForbiddenRefusal(approval, `${by.author} has approved it: another person decides.`);
  const { scope } = APPROVAL_ACTIONS[approval.action];
  if (!scopes.has(scope) && !scopes.has('admin'))
    throw createForbiddenRefusal(approval, `The key lacks the scope ${scope}, which ${approval.action} requires.`);
  const approvers = rules[approval.action]?.approvers ?? null;
  if (approvers !== null && !names.some((name) => approvers.includes(name)))
    throw createForbiddenRefusal(
      approval,
      `${by.author} is no approver of ${approval.action}: ${approvers.join(', ')}.`,
    );
}

/**
 * Returns true if the same person took the step and wrote the change. Two keys with the same name belong to one person.
 */
const isSamePerson = (step: ApprovalStep, { author, keyId = null }: Authorship): boolean =>
  step.key_id === keyId || step.author === author;

const createForbiddenRefusal = ({ approval_id }: Approval, message: string): Refusal =>
  new Refusal('APPROVAL_FORBIDDEN', message, { approval_id });

const OWNER = 'approval';
const formatKey = (approvalId: number): string => formatNumberedId(OWNER, approvalId);

/** Stored approvals, and the list of open requests. Open requests are found by the digest of their content. */
function createStoredApprovals(documents: DocumentStore, now: () => number) {
  /** Returns an approval with its current state, which is `expired` after its deadline. */
  const updateState = (approval: Approval): Approval =>
    isOpen(approval) && Date.parse(approval.expires_at) <= now() ? { ...approval, state: 'expired' } : approval;

  async function findApproval(reader: Pick<DocumentReader, 'get'>, approvalId: number): Promise<Approval | undefined> {
    const storedDocument = await reader.get('approval', formatKey(approvalId));
    const read = parseStored(storedDocument, Approval);
    return read && updateState(read);
  }

  async function findOpenApproval(reader: Pick<DocumentReader, 'get'>, digest: string): Promise<Approval | undefined> {
    const openApproval = (await readOpenApprovals(reader)).find((open) => open.digest === digest);
    const approval = openApproval && (await findApproval(reader, openApproval.approval_id));
    return approval && isOpen(approval) ? approval : undefined;
  }

  async function saveApproval(tx: DocumentTransaction, approval: Approval): Promise<void> {
    await tx.put('approval', formatKey(approval.approval_id), approval);
    const openApprovals = await readOpenApprovals(tx);
    const otherApprovals = openApprovals.filter(({ approval_id: id }) => id !== approval.approval_id);
    const { approval_id, digest } = approval;
    const next = isOpen(approval) ? [...otherApprovals, { approval_id, digest }] : otherApprovals;
    if (next.length !== openApprovals.length)
      await tx.put('approval-state', OWNER, { open: next } satisfies OpenApprovals);
  }

  /** Removes expired requests from the list of open requests. @returns number of requests that remain open */
  async function removeExpired(tx: DocumentTransaction): Promise<number> {
    const openApprovals = await readOpenApprovals(tx);
    const keptApprovals = [];
    for (const openApproval of openApprovals) {
      const approval = await findApproval(tx, openApproval.approval_id);
      if (approval !== undefined && isOpen(approval)) keptApprovals.push(openApproval);
      else if (approval?.state === 'expired') await tx.put('approval', formatKey(openApproval.approval_id), approval);
    }
    if (keptApprovals.length !== openApprovals.length)
      await tx.put('approval-state', OWNER, { open: keptApprovals } satisfies OpenApprovals);
    return keptApprovals.length;
  }

  /**
   * Iterates over approvals with a lower number than `before`. For the states pending and approved, only the list of
   * open requests is searched.
   */
  async function* listNewestFirst(state: ApprovalState | undefined, before: number): AsyncGenerator<Approval> {
    const isOpenState = state === 'pending' || state === 'approved';
    const last = await readLastNumber(documents);
    const numbers = isOpenState
      ? (await readOpenApprovals(documents)).map(({ approval_id: id }) => id).toSorted((a, b) => b - a)
      : Array.from({ length: last }, (_, k) => last - k);
    for (const number of numbers) {
      if (number >= before) continue;
      const approval = await findApproval(documents, number);
      if (approval !== undefined) yield approval;
    }
  }

  const readLastNumber = (reader: Pick<DocumentReader, 'lastNumber'>): Promise<number> =>
    reader.lastNumber('approval', OWNER);

  return {
    find: findApproval,
    findOpen: findOpenApproval,
    save: saveApproval,
    dropExpired: removeExpired,
    lastNumber: readLastNumber,
    newestFirst: listNewestFirst,
  };
}

async function readOpenApprovals(reader: Pick<DocumentReader, 'get'>): Promise<OpenApprovals['open']> {
  const storedDocument = await reader.get('approval-state', OWNER);
  return parseStored(storedDocument, OpenApprovals)?.open ?? [];
}

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
export interface ChangeAdmission {
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
  guarded<T>(by: Authorship | undefined, work: (admission: ChangeAdmission) => Promise<T>): Promise<T>;
}

export type ApprovalQuery = QueryOf<typeof approvalRoutes.listApprovals>;

export interface Approvals extends ApprovalGate {
  readonly rules: ApprovalRules;
  list(query: ApprovalQuery): Promise<readonly Approval[]>;
  /** Returns an approval. @throws Refusal APPROVAL_NOT_FOUND */
  get(approvalId: number): Promise<Approval>;
  /** Records the decision of a person. @throws Refusal APPROVAL_NOT_FOUND, APPROVAL_CLOSED, APPROVAL_FORBIDDEN */
  decide(approvalId: number, decision: ApprovalDecision, comment: string | null, decider: Decider): Promise<Approval>;
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

/**
 * @param rules changes that need a second person
 * @param hours hours until a request expires
 * @param now returns the time in ms since 1970
 */
export function createApprovals(
  documents: DocumentStore,
  { rules, hours, now }: { readonly rules: ApprovalRules; readonly hours: number; readonly now: () => number },
): Approvals {
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
        const requestedAt = now();
        const at = formatTimestamp(requestedAt);
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
          requested_at: at,
          requested_by: authorship.author,
          expires_at: formatTimestamp(requestedAt + hours * 3_600_000),
          persons,
          missing: persons - 1,
          history: [createStep('requested', authorship, { at, comment: authorship.note })],
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

  const createAdmission = (authorship: Authorship): ChangeAdmission => ({
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
      if (reach !== undefined && !isIdWithin(reach, subject)) throw refuseOutside(reach, 'index', subject);
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
