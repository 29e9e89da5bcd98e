import type { Operations, ScheduleDay } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Select } from '../../components/choice.js';
import { CommentInput, findComment } from '../../components/comment-input.js';
import { LinkButton } from '../../components/button.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { addQuery } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { findFirstDecision, findOwnReason } from './day-states.js';
import { checkWords } from './step-words.js';

type Waiver = Operations['waiveScheduleCheck']['request']['body'];

/** Sends a decision, and shows a message when it was accepted. */
type DecisionHandler = (call: () => Promise<unknown>, done: string) => (onRefusal: OnRefusal) => Promise<unknown>;

/** Renders the decisions about an unfinished day: run it again, accept the findings of a check, or skip the day. */
export function DayDecision({ day }: { readonly day: ScheduleDay }) {
  const [reason, setReason] = useState('');
  if (day.state === 'done' || day.state === 'skipped' || day.state === 'running') return null;
  const params = { schedule_id: day.schedule_id, date: day.date };
  const decide: DecisionHandler = (call, done) => (onRefusal) =>
    attempt(async () => {
      await call();
      showToast('good', done);
      setReason('');
      notifyChange();
    }, onRefusal);
  const hasReason = reason.trim() !== '';
  const run = () => service.value.call('runScheduleDay', { params, body: { reason: findComment(reason) } });
  const skip = () => service.value.call('skipScheduleDay', { params, body: { reason } });
  const waive = (body: Omit<Waiver, 'reason'>) => () =>
    service.value.call('waiveScheduleCheck', { params, body: { ...body, reason } });
  if (!may('run') && !may('publish')) return null;
  const first = findFirstDecision(day);
  const isWaiting = day.state === 'waiting' && findOwnReason(day) !== null;
  // No action is expected for a day that waits or whose findings require a decision.
  const findings = listBlockedDays(day);
  const isMain = first === undefined && !isWaiting && findings.length === 0;
  return (
    <>
      {first !== undefined && (
        <div class="form-actions">
          <LinkButton kind="main" href={addQuery({ day: first })}>
            Decide about {first}
          </LinkButton>
          <span class="quiet">Its findings hold indices back on this day, too.</span>
        </div>
      )}
      <h3>Decision</h3>
      <CommentInput
        label={`Reason, required to ${findings.length > 0 && may('publish') ? 'accept findings or ' : ''}skip the day`}
        value={reason}
        onChange={setReason}
      />
      {may('publish') &&
        findings.map((blocked) => (
          <Acceptance key={blocked.check} blocked={blocked} isReady={hasReason} decide={decide} waive={waive} />
        ))}
      {may('run') && (
        <div class="form-actions">
          <ActionButton kind={isMain ? 'main' : 'plain'} act={decide(run, `${day.date} is being performed.`)}>
            Perform now
          </ActionButton>
          <ActionButton kind="danger" disabled={!hasReason} act={decide(skip, `${day.date} is skipped.`)}>
            Skip the day
          </ActionButton>
        </div>
      )}
    </>
  );
}

/** A check with the indices that its findings block. */
interface BlockedDay {
  readonly check: string;
  readonly indices: readonly string[];
}

/** Choice value for all indices. Index ids cannot contain this character. */
const ALL_INDICES = '*';

interface AcceptanceProps {
  readonly blocked: BlockedDay;
  /** True if a reason was entered. */
  readonly isReady: boolean;
  readonly decide: DecisionHandler;
  readonly waive: (body: Omit<Waiver, 'reason'>) => () => Promise<unknown>;
}

/**
 * Renders a button that accepts the findings of a check, for one index and the indices derived from it, or for all
 * blocked indices.
 */
function Acceptance({ blocked: { check, indices }, isReady, decide, waive }: AcceptanceProps) {
  const [chosen, setChosen] = useState('');
  const index = indices.length === 1 ? indices[0]! : chosen; // there is one index
  const body = { check: check as Waiver['check'], index_id: index === ALL_INDICES ? null : index }; // the service reported the check
  const indexText = index === ALL_INDICES ? 'every index' : index;
  return (
    <div class="acceptance" role="group" aria-label={`Findings of ${checkWords(check)}`}>
      {indices.length > 1 && (
        <Select
          label={`Index of ${checkWords(check)}`}
          options={[
            { value: '', text: 'Choose an index' },
            ...indices.map((value) => ({ value, text: value })),
            { value: ALL_INDICES, text: `Every index (${indices.length} held back)` },
          ]}
          value={chosen}
          onChoose={setChosen}
        />
      )}
      <ActionButton
        disabled={!isReady || index === ''}
        act={decide(waive(body), `The findings of ${checkWords(check)} are accepted for ${indexText}.`)}
      >
        Accept: {checkWords(check)}
        {index === '' ? '' : ` for ${indexText}`}
      </ActionButton>
    </div>
  );
}

/** Returns the checks that block indices, each with these indices. */
function listBlockedDays({ steps }: ScheduleDay): readonly BlockedDay[] {
  const byCheck = new Map<string, Set<string>>();
  for (const { state, detail, index_id: index } of steps.flatMap(({ items }) => items)) {
    const check = detail?.['check'];
    if (state !== 'blocked' || typeof check !== 'string' || index === null) continue;
    byCheck.set(check, (byCheck.get(check) ?? new Set()).add(index));
  }
  return [...byCheck].map(([check, indices]) => ({ check, indices: [...indices].toSorted() }));
}
