import './approvals.css';
import { useMemo, useState } from 'preact/hooks';
import type {
  AcceptedFinding,
  Approval,
  ApprovalCollection,
  ApprovalDecisionRequest,
  ChangedField,
  DefinitionChange,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { LinkButton } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { CommentInput, DecideMany, findComment } from '../../components/controls/comment.js';
import { Answered, Badge, Banner, EmptyState } from '../../components/feedback.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Entries, type Fact, Facts, JsonDocument, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { createRegisterPage, type Register, RegisterTable } from '../../components/register.js';
import type { Column } from '../../components/table/model.js';
import { ChangeTable, Sentences, WrittenTable } from '../../components/versions/change-table.js';
import { tryAction, type OnRefusal } from '../../state/actions.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { useNames } from '../../state/market.js';
import { mapResource, may, notifyChange, principal, service, useAnswer } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatActionValue, formatType } from '../../words/actions.js';
import {
  formatApprovalAddress,
  formatIndexAddress,
  formatScheduleAddress,
  formatSecurityAddress,
} from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import {
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  formatMoney,
  formatPercent,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { Effects, Sources } from '../actions/action-facts.js';
import { formatCheck } from '../schedules/steps.js';
import { ACTION_WORDS, formatSubjectAddress, selectLastLevels, STATE_KINDS } from './requests.js';

type RequestFacts = NonNullable<Approval['facts']>;
type FactsOf<K extends RequestFacts['kind']> = Extract<RequestFacts, { readonly kind: K }>;

/** Renders the values that a request would change, before and after the change. */
function RequestFactsView({ facts }: { readonly facts: RequestFacts }) {
  switch (facts.kind) {
    case 'publish':
      return <PublicationFacts facts={facts} />;
    case 'restate':
      return <RestatementFacts facts={facts} />;
    case 'amend':
      return <AmendmentFacts facts={facts} />;
    case 'action':
      return <Action facts={facts} />;
    case 'override':
      return <Overridden facts={facts} />;
    case 'waive':
      return <WaiverFacts facts={facts} />;
  }
}

const VARIANTS = ['price', 'total', 'net'] as const;

const formatSpan = (closes: number, first: string, last: string): string =>
  first === last ? `${formatCount(closes)}, ${first}` : `${formatCount(closes)}, ${first} to ${last}`;

function PublicationFacts({
  facts: { published, first, last, close, previous },
}: {
  readonly facts: FactsOf<'publish'>;
}) {
  const levels = VARIANTS.flatMap((variant): readonly Fact[] => {
    const [value, before] = [close[variant], previous?.[variant] ?? null];
    if (value === null) return [];
    const moveText = before === null ? '' : `, ${formatChange(value / before - 1)} since ${previous?.date}`;
    return [[`Level (${variant})`, `${formatDecimal(value, 4)}${moveText}`]];
  });
  return <Facts facts={[['New closes', formatSpan(published, first, last)], ...levels]} />;
}

function RestatementFacts({ facts }: { readonly facts: FactsOf<'restate'> }) {
  const { restated, published, first, last, levels_changed: changed, latest, largest, reason } = facts;
  return (
    <>
      <Facts
        facts={[
          ['Restated closes', published === 0 ? formatSpan(restated, first, last) : formatCount(restated)],
          ['New closes', published === 0 ? null : formatCount(published)],
          ['Dates', published === 0 ? null : `${first} to ${last}`],
          ['Closes with another level', formatCount(changed)],
          ['Largest change', largest && `${formatDecimal(largest.change_bps)} bp on ${largest.date}`],
          [
            'Its level',
            largest && `${largest.variant} ${formatDecimal(largest.published, 4)} → ${formatDecimal(largest.run, 4)}`,
          ],
          ['Reason', reason],
        ]}
      />
      <WrittenTable label={`Levels of ${latest.date}`} heads={[latest.date, 'Published', 'New', 'Change']}>
        {VARIANTS.map((variant) => {
          const [before, after] = [latest.before[variant], latest.after[variant]];
          return (
            (before !== null || after !== null) && (
              <tr key={variant}>
                <th scope="row">{variant}</th>
                <td>{formatDecimal(before, 4)}</td>
                <td>{formatDecimal(after, 4)}</td>
                <td>{before === null || after === null ? '–' : formatChange(after / before - 1, 4)}</td>
              </tr>
            )
          );
        })}
      </WrittenTable>
    </>
  );
}

const AmendmentFacts = ({ facts: { index_id: index, deletes, changes } }: { readonly facts: FactsOf<'amend'> }) =>
  deletes ? (
    <Banner kind="warning" title={`${index} is deleted. Its published log is kept.`} />
  ) : (
    <>
      {changes.map((one) => (
        <DefinitionChanged key={one.effective_from ?? ''} changed={one} />
      ))}
    </>
  );

function DefinitionChanged({ changed }: { readonly changed: DefinitionChange }) {
  const { effective_from: from, announced, reason, rebalance, fields, removed, added } = changed;
  return (
    <>
      {from === null ? (
        <Banner kind="warning" title="The whole history changes: published closes that differ have to be restated." />
      ) : (
        <Facts
          facts={[
            ['Effective from', from],
            ['Announced', announced],
            ['Rebalances at once', rebalance ? 'yes' : null],
            ['Reason', reason],
          ]}
        />
      )}
      <ChangeTable
        label={from === null ? 'Changed fields' : `Changed fields from ${from}`}
        changes={fields.map(asChange)}
      />
      <Sentences removed={removed} added={added} />
    </>
  );
}

const asChange = ({ path, before, after }: ChangedField) => ({ path, op: 'replace' as const, before, after });

function Action({ facts }: { readonly facts: FactsOf<'action'> }) {
  const { decision, terms, sources, effects } = facts;
  const { type, identifier, value, ex_date: date, pay_date: paid, cash, related } = terms;
  const currency = useNames([identifier], date).get(identifier)?.currency ?? null;
  return (
    <>
      <Facts
        facts={[
          ['Decision', decision],
          ['Action', `${formatType(type)} of ${identifier}`],
          ['Terms', formatActionValue(type, value, currency)],
          ['Cash per share', cash === null ? null : formatMoney(formatFigure(cash), currency)],
          ['Ex-date', date],
          ['Pay date', paid],
          ['Related security', related],
        ]}
      />
      {sources.length > 0 && <Sources terms={terms} sources={sources} currency={currency} />}
      <Effects effects={effects} />
    </>
  );
}

const Overridden = ({ facts }: { readonly facts: FactsOf<'override'> }) => (
  <Facts
    facts={[
      ['Security', <a href={formatSecurityAddress(facts.identifier)}>{facts.identifier}</a>],
      ['Session', facts.date],
      ['Price now', facts.before === null ? null : formatFigure(facts.before)],
      ['Price requested', facts.price === null ? 'that of the source' : formatFigure(facts.price)],
      ['Move', facts.change === null ? null : formatChange(facts.change)],
      ['Reason', facts.reason],
    ]}
  />
);

function WaiverFacts({ facts }: { readonly facts: FactsOf<'waive'> }) {
  const { check, index_id: index, identifier, date, reason, findings, total } = facts;
  return (
    <>
      <Facts
        facts={[
          ['Check', formatCheck(check)],
          ['Index', index ?? 'every index of the schedule'],
          ['Security', identifier],
          ['Session', date],
          ['Reason', reason],
        ]}
      />
      {findings.length > 0 && (
        <Entries
          label="Findings"
          entries={findings.map((finding) => ({
            key: `${finding.index_id} ${finding.identifier}`,
            title:
              finding.identifier === null ? (
                <a href={formatIndexAddress(finding.index_id)}>{finding.index_id}</a>
              ) : (
                <a href={formatSecurityAddress(finding.identifier)}>{finding.identifier}</a>
              ),
            badge: finding.identifier !== null && index === null && <Badge>{finding.index_id}</Badge>,
            aside: measureText(finding, check),
            text: check === 'moves' && finding.measure !== null ? undefined : finding.message,
          }))}
        />
      )}
      {total > findings.length && <p class="quiet">And {formatCount(total - findings.length)} more.</p>}
    </>
  );
}

/** Formats the value that a check measured and its limit, for example `+905.54%, limit 25.00%` for a price move. */
function measureText({ measure }: AcceptedFinding, check: string): string {
  if (measure === null) return '';
  const write = (value: number) =>
    measure.unit === 'fraction'
      ? formatPercent(value)
      : `${measure.unit === 'bp' ? formatDecimal(value) : formatFigure(value)} ${measure.unit}`;
  return `${check === 'moves' ? formatChange(measure.value) : write(measure.value)}, limit ${write(measure.limit)}`;
}

interface ApprovalPanelProps {
  readonly id: number;
  onClose(): void;
}

function ApprovalPanel({ id, onClose }: ApprovalPanelProps) {
  const approval = useAnswer('getApproval', { params: { approval_id: id } });
  return (
    <SidePanel title={`Approval ${id}`} onClose={onClose}>
      <Answered resource={approval} what="the approval">
        {(found) => (
          <>
            <ApprovalFacts approval={found} />
            {found.facts !== null && (
              <>
                <h3>What changes</h3>
                <RequestFactsView facts={found.facts} />
              </>
            )}
            <Decision approval={found} />
            <History approval={found} />
            <details>
              <summary>Details</summary>
              <JsonDocument label="Details as JSON" value={found.facts ?? found.detail} />
            </details>
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

function ApprovalFacts({ approval }: { readonly approval: Approval }) {
  const { action, subject, state, summary, requested_by: by, requested_at: requestedAt, expires_at: until } = approval;
  const day = approval.schedule_day;
  const address = formatSubjectAddress(approval);
  return (
    <>
      <p>{summary}</p>
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ['Change', ACTION_WORDS[action]],
          ['Concerns', <a href={address}>{subject}</a>],
          [
            'Day',
            day && (
              <a href={formatAddress(formatScheduleAddress(day.schedule_id), { day: day.date })}>
                {day.schedule_id}, {day.date}
              </a>
            ),
          ],
          ['Requested', `${formatMoment(requestedAt)} by ${by}`],
          ['Approved', findApprover(approval)],
          ['Expires', state === 'pending' || state === 'approved' ? formatMoment(until) : null],
          ['Missing', state === 'pending' ? `${approval.missing} of ${approval.persons} persons` : null],
        ]}
      />
    </>
  );
}

/** Returns the persons who agreed and when the last of them agreed. Returns null if nobody has agreed. */
function findApprover({ history }: Approval): string | null {
  const approvals = history.filter(({ action }) => action === 'approved');
  const last = approvals.at(-1);
  return last === undefined ? null : `${formatMoment(last.at)} by ${approvals.map(({ author }) => author).join(', ')}`;
}

function Decision({ approval: { approval_id: id, state, history } }: { readonly approval: Approval }) {
  const [comment, setComment] = useState('');
  if (!may('publish')) return <MayNot scope="publish" what="decide" />;
  const decide = (decision: ApprovalDecisionRequest['decision'], done: string) => (onRefusal: OnRefusal) =>
    tryAction(async () => {
      const body = { decision, comment: findComment(comment) };
      await service.value.call('decideApproval', { params: { approval_id: id }, body });
      showToast('good', `Approval ${id} ${done}.`);
      setComment('');
      notifyChange();
      document.querySelector<HTMLElement>('.side-panel')?.focus(); // The focused button is removed after the decision, so the focus moves to the panel.
    }, onRefusal);
  const isOpen = state === 'pending' || state === 'approved';
  const isOwn = principal.value?.key_id === history[0]?.key_id;
  return (
    <>
      <CommentInput value={comment} onChange={setComment} />
      <div class="flow gap-3 form-actions">
        {state === 'pending' && !isOwn && (
          <ActionButton kind="main" act={decide('approve', 'has your agreement')}>
            Approve
          </ActionButton>
        )}
        {isOpen && !isOwn && (
          <ActionButton kind="danger" disabled={comment.trim() === ''} act={decide('reject', 'was rejected')}>
            Reject
          </ActionButton>
        )}
        {isOpen && isOwn && <ActionButton act={decide('withdraw', 'was withdrawn')}>Withdraw</ActionButton>}
        <ActionButton disabled={comment.trim() === ''} act={decide('comment', 'has your comment')}>
          Comment
        </ActionButton>
      </div>
    </>
  );
}

function History({ approval: { history } }: { readonly approval: Approval }) {
  return (
    <>
      <h3>History</h3>
      <ul>
        {history.map(({ at, author, action, comment }) => (
          <li key={`${at} ${author} ${action}`}>
            {formatMoment(at)}: {author} {action}
            {comment !== null && `: ${comment}`}
          </li>
        ))}
      </ul>
    </>
  );
}

type State = Approval['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

/** Maximum number of approvals that are loaded and counted. */
const LISTED_MAX = 500;

const useApprovals = () => useAnswer('listApprovals', { query: { limit: LISTED_MAX } });

/** Renders what would be changed by the pending request that expires first. */
function FirstPending({ approvals }: { readonly approvals: readonly Approval[] }) {
  const [first] = approvals
    .filter(({ state }) => state === 'pending')
    .toSorted((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
  const id = first?.approval_id;
  const approval = useAnswer('getApproval', id === undefined ? null : { params: { approval_id: id } });
  if (id === undefined || approval.data?.facts == null) return null;
  return (
    <Section
      title={`Expires first: request ${id}`}
      aside={
        <LinkButton kind="main" href={formatApprovalAddress(id)}>
          Decide
        </LinkButton>
      }
    >
      <p>{approval.data.summary}</p>
      <RequestFactsView facts={approval.data.facts} />
    </Section>
  );
}

/** Returns the state of the approvals that are listed: all states if the open request is decided; otherwise pending. */
const chooseState = (approvals: readonly Approval[], open: string | null): string =>
  approvals.some(({ approval_id: id, state }) => String(id) === open && state !== 'pending') ? 'all' : 'pending';

function Counts({ approvals }: { readonly approvals: readonly Approval[] }) {
  const formatStateCount = (...states: State[]) =>
    formatCount(approvals.filter(({ state }) => states.includes(state)).length);
  const next = approvals
    .filter(({ state }) => state === 'pending')
    .map(({ expires_at: expiresAt }) => expiresAt)
    .toSorted()[0];
  return (
    <Metrics
      label="Approvals by state"
      metrics={[
        { term: 'Pending', value: formatStateCount('pending'), note: 'wait for a person' },
        { term: 'Approved', value: formatStateCount('approved'), note: 'to be sent again' },
        { term: 'Used', value: formatStateCount('used') },
        { term: 'Rejected', value: formatStateCount('rejected') },
        { term: 'Withdrawn or expired', value: formatStateCount('withdrawn', 'expired') },
        { term: 'Next to expire', ...(next === undefined ? { value: MISSING_TEXT } : createMomentFigure(next)) },
      ]}
    />
  );
}

/** Formats a state with the number of its requests, for example `pending 2`. */
function formatStateText(state: string, approvals: readonly Approval[]): string {
  const count = approvals.filter((approval) => approval.state === state).length;
  return count === 0 ? state : `${state} ${formatCount(count)}`;
}

/** Renders the approvals of the chosen state, which can be decided together. */
function ApprovalList({ approvals }: { readonly approvals: readonly Approval[] }) {
  const open = getParameter('approval');
  const hasRules = (useApprovals().data?.rules.length ?? 0) > 0;
  const requestedState = getParameter('state');
  // If a request is decided while it is open, the list does not change.
  const chosenState = useMemo(() => requestedState ?? chooseState(approvals, open), [requestedState, open]);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = chosenState === 'all' ? approvals : approvals.filter(({ state }) => state === chosenState);
  const ownKeyId = principal.value?.key_id;
  const decidable = rows.filter(({ state, history }) => state === 'pending' && history[0]?.key_id !== ownKeyId);
  const keys = selected.filter((key) => decidable.some(({ approval_id: id }) => String(id) === key));
  return (
    <>
      <Choice
        label="State"
        options={['all', ...STATES].map((value) => ({ value, text: formatStateText(value, approvals) }))}
        value={chosenState}
        onChoose={(value) => setParameters({ state: value === 'pending' ? null : value, approval: null })}
      />
      {rows.length === 0 ? (
        <EmptyState title={chosenState === 'pending' ? 'Nothing waits for approval' : 'No approval'}>
          {hasRules
            ? 'A change that needs approval is held back and listed here until a second person has decided.'
            : 'On this service, one person can make every change. The operator sets the changes that need a second person.'}
        </EmptyState>
      ) : (
        <RegisterTable
          register={approvalRegister}
          rows={rows}
          columns={rows.some((row) => selectLastLevels(row).level !== null) ? COLUMNS : WITHOUT_LEVELS}
          // The oldest pending request expires first.
          sort={{ column: 'id', direction: chosenState === 'pending' ? 'asc' : 'desc' }}
          {...(may('publish') && decidable.length > 0 ? { selection: { keys, onChange: setSelected } } : {})}
        />
      )}
      {keys.length > 0 && (
        <DecideMany
          keys={keys}
          noun="request"
          decisions={DECISIONS}
          decide={(key, decision, comment) =>
            service.value.call('decideApproval', { params: { approval_id: Number(key) }, body: { decision, comment } })
          }
          onDone={setSelected}
        />
      )}
    </>
  );
}

const DECISIONS = [
  { decision: 'approve', text: 'Approve', done: 'approved', kind: 'main' },
  { decision: 'reject', text: 'Reject', done: 'rejected', kind: 'danger', needsComment: true },
] as const;

type Rule = ApprovalCollection['rules'][number];

/** Renders the kinds of changes that need approval, and the kinds that do not. */
function Rules() {
  const rules: readonly Rule[] = useApprovals().data?.rules ?? [];
  return (
    <Section title="Rules" aside="set by the operator">
      <div class="approval-rules">
        <Entries
          label="Changes that need approval"
          entries={(Object.keys(ACTION_WORDS) as Approval['action'][]).map((action) => {
            const rule = rules.find((one) => one.action === action);
            return {
              key: action,
              title: ACTION_WORDS[action],
              badge: rule === undefined ? <Badge>one person</Badge> : <Badge kind="info">{rule.persons} persons</Badge>,
              aside: rule?.approvers == null ? '' : `approved by ${rule.approvers.join(', ')}`,
            };
          })}
        />
      </div>
    </Section>
  );
}

const COLUMNS: readonly Column<Approval>[] = [
  { id: 'id', title: 'No.', width: 64, align: 'right', value: (row) => row.approval_id },
  { id: 'state', title: 'State', width: 96, show: ({ state }) => <Badge kind={STATE_KINDS[state]}>{state}</Badge> },
  { id: 'subject', title: 'Concerns', width: 110 },
  {
    id: 'action',
    title: 'Kind',
    width: 170,
    priority: 7,
    below: 'nothing',
    value: ({ action }) => ACTION_WORDS[action],
  },
  {
    id: 'summary',
    title: 'Change',
    width: 340,
    ideal: 520,
    grow: 5,
    priority: 2,
    show: ({ summary }) => <span title={summary}>{summary}</span>,
  },
  {
    id: 'level',
    title: 'Last level',
    help: 'Price return level of the last close that is published, otherwise the total return level',
    width: 104,
    priority: 3,
    below: 'nothing',
    value: (row) => selectLastLevels(row).level,
    write: (value) => formatDecimal(value, 4),
  },
  {
    id: 'move',
    title: 'Last move',
    help: 'Change of this level since the close before it',
    width: 88,
    priority: 3,
    below: 'nothing',
    value: (row) => selectLastLevels(row).move,
    write: formatChange,
  },
  { id: 'by', title: 'Requested by', width: 104, priority: 3, value: (row) => row.requested_by },
  {
    id: 'at',
    title: 'Requested',
    width: 172,
    priority: 6,
    below: 'nothing',
    value: (row) => row.requested_at,
    show: (row) => formatMoment(row.requested_at),
  },
  {
    id: 'until',
    title: 'Expires',
    width: 172,
    priority: 4,
    below: 'nothing',
    value: (row) => row.expires_at,
    show: (row) => (row.state === 'pending' || row.state === 'approved' ? formatMoment(row.expires_at) : '–'),
  },
  {
    id: 'missing',
    title: 'Agreed',
    help: 'Persons who have agreed, including the requester, and the required number',
    width: 80,
    align: 'right',
    priority: 5,
    below: 'nothing',
    value: (row) => row.persons - row.missing,
    show: (row) => `${row.persons - row.missing} of ${row.persons}`,
  },
];

/** Columns without the level. For lists that contain no publication. */
const WITHOUT_LEVELS = COLUMNS.filter(({ id }) => id !== 'level' && id !== 'move');

/** Changes that need approval. Each request opens to its figures and the decision. */
const approvalRegister: Register<Approval> = {
  title: 'Approvals',
  name: 'approvals',
  label: 'approvals',
  subtitle: () => <GuideLink page="approvals">How approvals work</GuideLink>,
  useRows: () => mapResource(useApprovals(), ({ approvals }) => approvals),
  columns: COLUMNS,
  parameter: 'approval',
  getKey: ({ approval_id: id }) => String(id),
  searchIn: ({ subject, summary, requested_by: by, schedule_day: day }) =>
    `${subject} ${summary} ${by} ${day?.schedule_id ?? ''} ${day?.date ?? ''}`,
  renderAbove: (approvals) => approvals.length > 0 && <Counts approvals={approvals} />,
  renderTable: (approvals) => <ApprovalList approvals={approvals} />,
  renderBelow: (approvals) => (
    <>
      {getParameter('approval') === null && <FirstPending approvals={approvals} />}
      <Rules />
    </>
  ),
  renderPanel: (key, onClose) => <ApprovalPanel key={key} id={Number(key)} onClose={onClose} />,
};

export const ApprovalsPage = createRegisterPage(approvalRegister);
