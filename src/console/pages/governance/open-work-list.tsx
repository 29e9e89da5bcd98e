import type { GovernanceOverview, ListedClient, Procedure } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Badge } from '../../components/badge.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { usePendingApprovals } from '../../state/pending-approvals.js';
import { useResource, type Resource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { formatToday } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { getClientState, hasUnpublishedVersion, isIncomplete, listMissingKinds, listOverdue } from './open-work.js';
import { isPublished } from './published-logs.js';

type Statement = GovernanceOverview['statements'][number];

/** Documents with open work. */
interface Documents {
  readonly clients: readonly ListedClient[];
  readonly procedures: readonly Procedure[];
  readonly pendingCount: number;
}

/** Item of an entry, with a link to the page on which it is done. */
interface OpenItem {
  readonly text: string;
  readonly address: string;
  /** Detail in a quiet colour, for example `no target`. */
  readonly note?: string;
}

/** Renders the open work of the administrator. Each item links to the page on which it is done. */
export function OpenWork({ overview }: { readonly overview: Resource<GovernanceOverview> }) {
  const clients = useResource(
    'register clients',
    async (signal) => (await service.value.call('listClients', { signal })).clients,
  );
  const procedures = useResource(
    'register procedures',
    async (signal) => (await service.value.call('listProcedures', { signal })).procedures,
  );
  const approvals = usePendingApprovals();
  const isKnown = [clients, procedures, approvals].every(({ data, trouble }) => data !== undefined || trouble !== null);
  return (
    <Section title="Open work">
      <Answered resource={isKnown ? overview : { ...overview, data: undefined }} what="the open work">
        {({ statements }) => {
          const entries = listEntries(statements, {
            clients: clients.data ?? [],
            procedures: procedures.data ?? [],
            pendingCount: approvals.data?.approvals.length ?? 0,
          });
          return entries.length === 0 ? (
            <p class="quiet">Nothing is open.</p>
          ) : (
            <div class="open-work">
              <Entries label="Open work" entries={entries} />
            </div>
          );
        }}
      </Answered>
    </Section>
  );
}

function listEntries(
  statements: readonly Statement[],
  { clients, procedures, pendingCount }: Documents,
): readonly Entry[] {
  const published = statements.filter(isPublished);
  return [
    createEntry('Requests that wait for approval', listPending(pendingCount), pendingCount),
    createEntry('Versions that are not published', published.filter(hasUnpublishedVersion).map(createVersionItem)),
    createEntry('Indices behind their data', published.filter(isBehind).map(createBehindItem)),
    createEntry('Statements to complete', published.filter(isEmptyInPart).map(createSectionItem)),
    createEntry('Clients that receive nothing', clients.filter(isIncomplete).map(createClientItem)),
    createEntry('Procedures due for review', listOverdue(procedures, formatToday()).map(createReviewItem)),
    createEntry('Kinds without a procedure', listMissingKinds(procedures).map(createKindItem)),
  ].flat();
}

const isBehind = ({ sessions_behind: behind }: Statement): boolean => (behind ?? 0) > 0;

const isEmptyInPart = ({ to_complete: sections }: Statement): boolean => sections.length > 0;

const listPending = (count: number): readonly OpenItem[] =>
  count === 0 ? [] : [{ text: 'Decide', address: '/console/approvals' }];

const createVersionItem = ({ index_id: id, version, published_version: published }: Statement): OpenItem => ({
  text: id,
  address: formatGovernanceAddress('statements', id),
  note: `version ${version}, published ${published}`,
});

const createBehindItem = ({ index_id: id, sessions_behind: behind }: Statement): OpenItem => ({
  text: id,
  address: formatAddress(formatIndexAddress(id), { tab: 'publication' }),
  note: countValues(behind ?? 0, 'session'),
});

const createSectionItem = ({ index_id: id, to_complete: sections }: Statement): OpenItem => ({
  text: id,
  address: formatGovernanceAddress('statements', id),
  note: sections.join(', '),
});

const createClientItem = (client: ListedClient): OpenItem => ({
  text: client.name,
  address: formatGovernanceAddress('clients', client.client_id),
  note: getClientState(client).text,
});

const createReviewItem = ({ procedure_id: id, name, review_by: date }: Procedure): OpenItem => ({
  text: name,
  address: formatGovernanceAddress('procedures', id),
  note: `due ${date}`,
});

const createKindItem = (kind: Procedure['kind']): OpenItem => ({
  text: kind,
  address: formatAddress(formatGovernanceAddress('procedures', 'new'), { kind }),
});

/** Maximum number of items that an entry lists. The number next to the title counts all of them. */
const LISTED_MAX = 9;

/** Returns an entry for open items; none if there are no items. */
function createEntry(title: string, items: readonly OpenItem[], count = items.length): readonly Entry[] {
  if (items.length === 0) return [];
  const rest = items.length - LISTED_MAX;
  const links = items.slice(0, LISTED_MAX).map((item): ComponentChildren => (
    <span key={item.address}>
      <a href={item.address}>{item.text}</a>
      {item.note !== undefined && <span class="quiet"> {item.note}</span>}
    </span>
  ));
  return [
    {
      key: title,
      title,
      badge: <Badge kind="warning">{formatCount(count)}</Badge>,
      text: (
        <>
          {links}
          {rest > 0 && <span class="quiet">and {countValues(rest, 'other')}</span>}
        </>
      ),
    },
  ];
}
