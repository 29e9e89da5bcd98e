import type { Operations, ScheduleDay } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { commentOf, CommentInput } from '../../components/comment-input.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { checkWords } from './step-words.js';

type Waiver = Operations['waiveScheduleCheck']['request']['body'];

/** Decisions about an unfinished day: perform it again, accept the findings of a check, or skip it. */
export function DayDecision({ day }: { readonly day: ScheduleDay }) {
  const [reason, setReason] = useState('');
  if (day.state === 'done' || day.state === 'skipped' || day.state === 'running') return null;
  const params = { schedule_id: day.schedule_id, date: day.date };
  const decide = (call: () => Promise<unknown>, done: string) => (onRefusal: OnRefusal) =>
    attempt(async () => {
      await call();
      say('good', done);
      setReason('');
      notifyChange();
    }, onRefusal);
  const hasReason = reason.trim() !== '';
  const run = () => service.value.call('runScheduleDay', { params, body: { reason: commentOf(reason) } });
  const skip = () => service.value.call('skipScheduleDay', { params, body: { reason } });
  const waive = (check: string) => () =>
    service.value.call('waiveScheduleCheck', { params, body: { check: check as Waiver['check'], reason } }); // The service named it.
  return (
    <>
      <CommentInput label="Reason" value={reason} onChange={setReason} />
      <div class="form-actions">
        {may('run') && (
          <ActionButton kind="main" act={decide(run, `${day.date} is performed again.`)}>
            Perform again
          </ActionButton>
        )}
        {may('publish') &&
          checksOf(day).map((check) => (
            <ActionButton
              key={check}
              disabled={!hasReason}
              act={decide(waive(check), `The findings of ${checkWords(check)} are accepted.`)}
            >
              Accept: {checkWords(check)}
            </ActionButton>
          ))}
        {may('run') && (
          <ActionButton kind="danger" disabled={!hasReason} act={decide(skip, `${day.date} is skipped.`)}>
            Skip the day
          </ActionButton>
        )}
      </div>
      <p class="quiet">A reason is required to accept findings or to skip the day. It is kept in the register.</p>
    </>
  );
}

/** Checks that hold indices back. */
function checksOf({ steps }: ScheduleDay): readonly string[] {
  const checks = steps.flatMap(({ items }) =>
    items.flatMap(({ state, detail }) => (state === 'blocked' ? [detail?.['check']] : [])),
  );
  return [...new Set(checks.filter((check) => typeof check === 'string'))];
}
