import type { DeliveryRecord } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { Entries, type Entry } from '../../components/entries.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';

type SentDelivery = DeliveryRecord['files'][number] & { readonly client: string };

interface DeliveriesProps {
  readonly records: readonly DeliveryRecord[];
  /** Text shown if there are no files. */
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
