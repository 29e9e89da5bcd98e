import type { DeliveryRecord, Schedule, ScheduleDay } from '#clients/typescript/divisor.js';
import { Badge, type Kind } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { duration, moment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { DayDecision } from './day-decision.js';
import { DAY_KINDS, INDEX_KINDS, indexStates, type IndexState } from './day-states.js';
import { checkWords, stepWords } from './step-words.js';

interface DayPanelProps {
  readonly schedule: Schedule;
  readonly date: string;
  onClose(): void;
}

/** One day: its indices, its steps, and the files that clients received. */
export function DayPanel({ schedule, date, onClose }: DayPanelProps) {
  const params = { schedule_id: schedule.schedule_id, date };
  const key = `${schedule.schedule_id} ${date}`;
  const day = useResource(`day ${key}`, (signal) => service.value.call('getScheduleDay', { params, signal }));
  const sent = useResource(`sent ${key}`, (signal) => service.value.call('listDayDeliveries', { params, signal }));
  return (
    <SidePanel title={`${schedule.schedule_id}, ${date}`} onClose={onClose}>
      <Answered resource={day} what="the day">
        {(found) => (
          <>
            <Described day={found} />
            <DayDecision day={found} />
            <h3>Indices</h3>
            <Entries label="Indices" entries={indexStates(found, schedule.indices).map(indexEntry)} />
            <h3>Steps</h3>
            <Entries label="Steps" entries={found.steps.map(stepEntry)} />
          </>
        )}
      </Answered>
      <h3>Deliveries</h3>
      <Answered resource={sent} what="the deliveries">
        {({ deliveries }) => <Deliveries records={deliveries} />}
      </Answered>
    </SidePanel>
  );
}

function Described({ day }: { readonly day: ScheduleDay }) {
  return (
    <Facts
      facts={[
        ['State', <Badge kind={DAY_KINDS[day.state]}>{day.state}</Badge>],
        // Reasons of indices are next to them.
        ['Reason', day.held.length > 0 ? null : day.reason],
        ['Held back', day.held.length === 0 ? null : countValues(day.held.length, 'index', 'indices')],
        ['Due', moment(day.due_at)],
        ['Ended', day.finished_at === null ? null : moment(day.finished_at)],
        ['Next attempt', day.next_attempt_at === null ? null : moment(day.next_attempt_at)],
        ['Author', day.author],
        ['Accepted', day.waivers.length === 0 ? null : day.waivers.map(({ check }) => checkWords(check)).join(', ')],
      ]}
    />
  );
}

const indexEntry = ({ index, state, step, reason }: IndexState): Entry => ({
  key: index,
  title: <a href={indexAddress(index)}>{index}</a>,
  badge: <Badge kind={INDEX_KINDS[state]}>{state}</Badge>,
  aside: step === '' ? '' : stepWords(step),
  text: reason,
});

type Step = ScheduleDay['steps'][number];

const STEP_KINDS: Readonly<Record<Step['state'], Kind>> = {
  pending: 'plain',
  running: 'info',
  waiting: 'warning',
  failed: 'bad',
  done: 'good',
};

function stepEntry({ type, state, attempts, duration_ms: ms, message, log }: Step, at: number): Entry {
  return {
    key: `${at} ${type}`,
    title: `${at + 1}. ${stepWords(type)}`,
    badge: <Badge kind={STEP_KINDS[state]}>{state}</Badge>,
    aside: `${countValues(attempts, 'attempt')}, ${duration(ms / 1000)}`,
    text: (
      <>
        {message}
        {log.length > 0 && (
          <details>
            <summary>Log</summary>
            <ul>
              {log.map(({ at: time, message: line }, k) => (
                <li key={k}>
                  {moment(time)} {line}
                </li>
              ))}
            </ul>
          </details>
        )}
      </>
    ),
  };
}

type Sent = DeliveryRecord['files'][number] & { readonly client: string };

function Deliveries({ records }: { readonly records: readonly DeliveryRecord[] }) {
  const rows = records.flatMap(({ client_id: client, files }) => files.map((file): Sent => ({ ...file, client })));
  if (rows.length === 0)
    return <EmptyState title="Nothing was delivered">No client has a file of this day.</EmptyState>;
  const log = records.flatMap(({ client_id: client, log: lines }) => lines.map((line) => ({ ...line, client })));
  return (
    <>
      <Entries label="Deliveries" entries={rows.map(sentEntry)} />
      <h3>Log</h3>
      <ul>
        {log.map(({ at, client, target, path, message }) => (
          <li key={`${at} ${client} ${target} ${path}`}>
            {moment(at)} {client}/{target} {path}: {message}
          </li>
        ))}
      </ul>
    </>
  );
}

const sentEntry = ({ client, target, path, state, attempts }: Sent): Entry => ({
  key: `${client} ${target} ${path}`,
  title: path,
  badge: <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'warning'}>{state}</Badge>,
  aside: countValues(attempts, 'attempt'),
  text: `${client}, ${target}`,
});
