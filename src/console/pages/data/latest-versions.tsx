import type { DataStore, DataVersions } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';

/** Number of versions shown. */
const SHOWN = 4;

/** Renders the newest versions of the data of a store, and the rows that each version changed. */
export function LatestVersions({ store: { store_id: id } }: { readonly store: DataStore }) {
  const list = useResource(`data versions ${id}`, (signal) =>
    service.value.call('listDataVersions', { params: { store_id: id }, signal }),
  );
  return (
    <Section title="Latest versions" aside={<a href={`${storeAddress(id)}?tab=versions`}>All versions</a>}>
      <Answered resource={list} what="the versions of the data">
        {({ versions }) =>
          versions.length === 0 ? (
            <p class="quiet">No versions yet. A version is added when the store is served.</p>
          ) : (
            <Entries
              label={`Latest versions of ${id}`}
              entries={versions.slice(0, SHOWN).map((version) => createVersionEntry(id, version))}
            />
          )
        }
      </Answered>
    </Section>
  );
}

function createVersionEntry(store: string, version: DataVersions['versions'][number]): Entry {
  const { version: number, source, author, known_at: at, note } = version;
  const { rows_added: added, rows_changed: changed, rows_removed: removed } = version;
  return {
    key: String(number),
    title: <a href={`${storeAddress(store)}?tab=versions&version=${number}`}>Version {number}</a>,
    badge: <Badge>{source.replaceAll('_', ' ')}</Badge>,
    aside: formatMoment(at),
    text: `${formatCount(added)} rows added, ${formatCount(changed)} changed, ${formatCount(removed)} removed by ${author}.${note === null ? '' : ` ${note}`}`,
  };
}
