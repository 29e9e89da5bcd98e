import { Badge } from '../../components/badge.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { countValues, NONE } from '../../words/numbers.js';

/** Renders the latest session with files for a client, and whether all files were delivered. */
export function LatestDelivery({ client }: { readonly client: string }) {
  const sent = useResource(
    `latest delivery ${client}`,
    (signal) => service.value.call('listDeliveries', { params: { client_id: client }, query: { limit: 1 }, signal }),
    { isLater: true },
  );
  if (sent.data === undefined) return <></>;
  const [latest] = sent.data.deliveries;
  if (latest === undefined) return <>{NONE}</>;
  const { date, files } = latest;
  const open = files.filter(({ state }) => state !== 'delivered').length;
  return (
    <>
      {date}{' '}
      {open === 0 ? (
        <Badge kind="good">{countValues(files.length, 'file')}</Badge>
      ) : (
        <Badge kind="bad" title="Files that were not delivered">
          {open} of {countValues(files.length, 'file')} open
        </Badge>
      )}
    </>
  );
}
