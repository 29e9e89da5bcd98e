import type { DeliveryRecord, Schedule, ScheduleDay } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { DAY_KINDS, INDEX_KINDS, indexStates, type IndexState } from './day-states.js';

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
            <h3>Indices</h3>
            <Table
              label="indices"
              name="day-indices"
              columns={INDICES}
              rows={indexStates(found, schedule.indices)}
              keyOf={({ index }) => index}
              addressOf={({ index }) => indexAddress(index)}
            />
            <h3>Steps</h3>
            <Table
              label="steps"
              name="day-steps"
              columns={STEPS}
              rows={stepsOf(found)}
              keyOf={({ no }) => String(no)}
            />
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
        ['Reason', day.reason],
        ['Due', moment(day.due_at)],
        ['Ended', day.finished_at === null ? null : moment(day.finished_at)],
        ['Next look', day.next_attempt_at === null ? null : moment(day.next_attempt_at)],
        ['Author', day.author],
      ]}
    />
  );
}

const INDICES: readonly Column<IndexState>[] = [
  { id: 'index', title: 'Index', width: 120, grow: 1, value: ({ index }) => index },
  {
    id: 'state',
    title: 'State',
    width: 88,
    value: ({ state }) => state,
    show: ({ state }) => <Badge kind={INDEX_KINDS[state]}>{state}</Badge>,
  },
  { id: 'step', title: 'Step', width: 80, value: ({ step }) => step },
  { id: 'reason', title: 'Reason', width: 160, grow: 3, value: ({ reason }) => reason },
];

type Step = ScheduleDay['steps'][number] & { readonly no: number };
const stepsOf = ({ steps }: ScheduleDay): readonly Step[] => steps.map((step, k) => ({ ...step, no: k + 1 }));

const STEPS: readonly Column<Step>[] = [
  { id: 'no', title: 'No.', width: 52, align: 'right', value: ({ no }) => no },
  { id: 'type', title: 'Step', width: 84, value: ({ type }) => type },
  { id: 'state', title: 'State', width: 84, value: ({ state }) => state },
  { id: 'attempts', title: 'Attempts', width: 84, align: 'right', value: ({ attempts }) => attempts },
  { id: 'message', title: 'Result', width: 160, grow: 3, value: ({ message }) => message },
];

type Sent = DeliveryRecord['files'][number] & { readonly client: string };

function Deliveries({ records }: { readonly records: readonly DeliveryRecord[] }) {
  const rows = records.flatMap(({ client_id: client, files }) => files.map((file): Sent => ({ ...file, client })));
  if (rows.length === 0)
    return <EmptyState title="Nothing was delivered">No client has a file of this day.</EmptyState>;
  const log = records.flatMap(({ client_id: client, log: lines }) => lines.map((line) => ({ ...line, client })));
  return (
    <>
      <Table
        label="deliveries"
        name="day-deliveries"
        columns={SENT}
        rows={rows}
        keyOf={({ client, target, path }) => `${client} ${target} ${path}`}
      />
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

const SENT: readonly Column<Sent>[] = [
  { id: 'client', title: 'Client', width: 88, value: ({ client }) => client },
  { id: 'target', title: 'Target', width: 88, value: ({ target }) => target },
  { id: 'path', title: 'File', width: 160, grow: 2, value: ({ path }) => path },
  {
    id: 'state',
    title: 'State',
    width: 92,
    value: ({ state }) => state,
    show: ({ state }) => (
      <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'warning'}>{state}</Badge>
    ),
  },
  { id: 'attempts', title: 'Attempts', width: 84, align: 'right', value: ({ attempts }) => attempts },
];
