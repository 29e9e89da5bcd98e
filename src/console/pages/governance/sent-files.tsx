import type { ListedClient } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import { Deliveries } from '../schedules/deliveries.js';

type SentFile = NonNullable<ListedClient['latest_delivery']>;

/** Renders the files of the latest session with files for a client. */
export function SentFiles({ clients }: { readonly clients: readonly ListedClient[] }) {
  const [latest] = clients
    .flatMap(({ latest_delivery: sent }) => sent ?? [])
    .toSorted((a, b) => (a.date < b.date ? 1 : -1));
  return latest === undefined ? null : <Files latest={latest} />;
}

function Files({ latest: { schedule_id: schedule, date } }: { readonly latest: SentFile }) {
  const params = { schedule_id: schedule, date };
  const dayDeliveries = useResource(`files of ${schedule} ${date}`, (signal) =>
    service.value.call('listDayDeliveries', { params, signal }),
  );
  return (
    <Section
      title={`Files of ${date}`}
      aside={<a href={formatAddress(formatScheduleAddress(schedule), { day: date })}>Day of {schedule}</a>}
    >
      <Answered resource={dayDeliveries} what="the files">
        {({ deliveries }) => <Deliveries records={deliveries} empty="No client has received a file." isBrief />}
      </Answered>
    </Section>
  );
}
