import type { DeliveryRecord, ScheduleDay } from '#clients/typescript/divisor.js';
import { Badge, EmptyState } from '../../components/feedback.js';
import { Entries, type Entry } from '../../components/layout/facts.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';

type SentDelivery = DeliveryRecord['files'][number] & { readonly client: string };

interface DeliveriesProps {
  readonly records: readonly DeliveryRecord[];
  readonly empty: string;
  /** True if the log of attempts is omitted. */
  readonly isBrief?: boolean;
}

/** Renders the delivered files by client and target, and the log of attempts. */
export function Deliveries({ records, empty, isBrief = false }: DeliveriesProps) {
  const rows = records.flatMap(({ client_id: client, files }) =>
    files.map((file): SentDelivery => ({ ...file, client })),
  );
  if (rows.length === 0) return <EmptyState title="Nothing was delivered">{empty}</EmptyState>;
  const entries = <Entries label="Deliveries" entries={rows.map(createSentEntry)} />;
  if (isBrief) return entries;
  const log = records.flatMap(({ client_id: client, log: lines }) => lines.map((line) => ({ ...line, client })));
  return (
    <>
      {entries}
      <h3>Log</h3>
      <ul>
        {log.map(({ at, client, target, path, message }) => (
          <li key={`${at} ${client} ${target} ${path}`}>
            {formatMoment(at)} {client}/{target} {path}: {message}
          </li>
        ))}
      </ul>
    </>
  );
}

const createSentEntry = ({ client, target, path, state, attempts }: SentDelivery): Entry => ({
  key: `${client} ${target} ${path}`,
  title: path,
  badge: <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'warning'}>{state}</Badge>,
  aside: countValues(attempts, 'attempt'),
  text: `${client}, ${target}`,
});

type StepType = ScheduleDay['steps'][number]['type'];

const STEP_WORDS: Readonly<Record<StepType, string>> = {
  refresh: 'Refresh data',
  checks: 'Check',
  run: 'Run',
  compare: 'Compare',
  publish: 'Publish',
  export: 'Write files',
  render: 'Render reports',
  deliver: 'Deliver',
};

export const stepWords = (type: string): string => STEP_WORDS[type as StepType] ?? type;

export const CHECK_WORDS: Readonly<Record<string, string>> = {
  coverage: 'Coverage',
  staleness: 'Repeated prices',
  moves: 'Unexplained moves',
  history: 'Restated history',
  actions: 'Action dates',
  confirmed_actions: 'Unconfirmed actions',
  weights: 'Weights',
  divisor: 'Divisor',
  limits: 'Limits',
  second_source: 'Second source',
  published: 'Published closes',
};

export const formatCheck = (name: string): string => CHECK_WORDS[name] ?? name;
