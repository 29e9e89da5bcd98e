import './governance.css';
import type { ComponentChildren } from 'preact';
import type { GovernanceOverview, IndexCollection, ListedClient, Procedure } from '#clients/typescript/divisor.js';
import type { IconName } from '../../components/controls/button.js';
import { Answered, Badge, EmptyState } from '../../components/feedback.js';
import { Entries, type Entry, type LinkCard, LinkCards } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatAddress, type PageProps } from '../../state/location.js';
import { type Resource, service, useResource } from '../../state/service.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment, formatToday } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { usePendingApprovals } from '../approvals/requests.js';
import { DocumentPage, FAMILIES } from './document-page.js';
import {
  getClientState,
  hasUnpublishedVersion,
  isIncomplete,
  listGaps,
  listMissingKinds,
  listOverdue,
} from './open-work.js';
import { countOrNone, isPublished, PublishedThrough, useGovernance } from './published-logs.js';
import { type Register, RegisterPage } from './register.js';
import { DECISION_WORDS, ERROR_KINDS, REGISTERS } from './registers.js';
import { StatementPage } from './statement-page.js';

type OpenWorkStatement = GovernanceOverview['statements'][number];

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
function OpenWork({ overview }: { readonly overview: Resource<GovernanceOverview> }) {
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
  statements: readonly OpenWorkStatement[],
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

const isBehind = ({ sessions_behind: behind }: OpenWorkStatement): boolean => (behind ?? 0) > 0;

const isEmptyInPart = ({ to_complete: sections }: OpenWorkStatement): boolean => sections.length > 0;

const listPending = (count: number): readonly OpenItem[] =>
  count === 0 ? [] : [{ text: 'Decide', address: '/console/approvals' }];

const createVersionItem = ({ index_id: id, version, published_version: published }: OpenWorkStatement): OpenItem => ({
  text: id,
  address: formatGovernanceAddress('statements', id),
  note: `version ${version}, published ${published}`,
});

const createBehindItem = ({ index_id: id, sessions_behind: behind }: OpenWorkStatement): OpenItem => ({
  text: id,
  address: formatAddress(formatIndexAddress(id), { tab: 'publication' }),
  note: countValues(behind ?? 0, 'session'),
});

const createSectionItem = ({ index_id: id, to_complete: sections }: OpenWorkStatement): OpenItem => ({
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

type Part = keyof typeof REGISTERS;

/** Page of the registers, the administrator's documents and the benchmark statements. */
export function GovernancePage({ params }: PageProps) {
  const { part, id } = params;
  if (part === undefined) return <Overview />;
  if (part === 'statements' && id !== undefined) return <StatementPage key={id} id={id} />;
  const family = FAMILIES[part];
  if (family !== undefined && id !== undefined)
    return (
      <DocumentPage
        key={`${part} ${id}`}
        part={part as Part} // every family is a register
        family={family}
        id={id === 'new' ? null : id}
      />
    );
  const register: Register<unknown> | undefined = id === undefined ? REGISTERS[part as Part] : undefined;
  if (register === undefined)
    return (
      <Page title="Governance">
        <EmptyState title="There is no such register">
          <a href="/console/governance">All registers</a>
        </EmptyState>
      </Page>
    );
  return <RegisterPage key={part} name={part} register={register} />;
}

const ICONS: Readonly<Record<Part, IconName>> = {
  clients: 'upload',
  procedures: 'reports',
  errors: 'health',
  judgements: 'edit',
  audit: 'link',
};

/** Contents of the registers, on one line of a card. */
const CARD_TEXTS: Readonly<Record<Part, string>> = {
  clients: 'Receivers of files',
  procedures: 'Rules in writing',
  errors: 'In published closes',
  judgements: 'With reasons',
  audit: 'Signed chain',
};

/** Returns one card per register, with the number of its entries, and a card for the approvals. */
const createCards = (
  registers: GovernanceOverview['registers'] | undefined,
  pending: number | undefined,
): readonly LinkCard[] => [
  ...(Object.keys(REGISTERS) as Part[]).map((part) => ({
    icon: ICONS[part],
    title: REGISTERS[part].title,
    figure: registers?.[part] == null ? '' : formatCount(registers[part]),
    text: CARD_TEXTS[part],
    address: formatGovernanceAddress(part),
  })),
  {
    icon: 'approvals',
    title: 'Approvals',
    figure: pending === undefined ? '' : formatCount(pending),
    text: 'Pending and decided',
    address: '/console/approvals',
  },
];

/** An index with the state of its statement. */
interface Statement {
  readonly index: IndexCollection['indices'][number];
  readonly state: GovernanceOverview['statements'][number] | undefined;
}

function Overview() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const overview = useGovernance();
  const pending = usePendingApprovals();
  const stateByIndex = new Map(overview.data?.statements.map((state) => [state.index_id, state]));
  const behind = [...stateByIndex.values()].filter((state) => (state.sessions_behind ?? 0) > 0).length;
  const publishedCount = [...stateByIndex.values()].filter(isPublished).length;
  return (
    <Page
      title="Governance"
      subtitle={<GuideLink page="governance">What Divisor offers for each IOSCO principle</GuideLink>}
    >
      <OpenWork overview={overview} />
      <div class="governance-cards">
        <LinkCards label="Registers" cards={createCards(overview.data?.registers, pending.data?.approvals.length)} />
      </div>
      <Section
        title="Benchmark statements"
        aside={
          overview.data !== undefined &&
          `${formatCount(publishedCount)} of ${countValues(stateByIndex.size, 'index', 'indices')} published, ${formatCount(behind)} behind the data`
        }
      >
        <Answered resource={indices} what="the indices">
          {({ indices: rows }) => (
            <Table
              label="benchmark statements"
              name="statements"
              columns={createColumns([...stateByIndex.values()].some((state) => listGaps(state).length > 1))}
              rows={rows.map((index): Statement => ({ index, state: stateByIndex.get(index.id) }))}
              getKey={({ index: { id } }) => id}
              formatAddress={({ index: { id } }) => formatGovernanceAddress('statements', id)}
              searchIn={({ index: { id, name } }) => `${id} ${name}`}
              sort={{ column: 'through', direction: 'desc' }}
              height={620}
              empty="No index yet."
            />
          )}
        </Answered>
      </Section>
      {overview.data !== undefined && <LatestDecisions {...overview.data} />}
    </Page>
  );
}

/** Renders the newest judgements and errors. */
function LatestDecisions({ latest_errors: errors, latest_judgements: judgements }: GovernanceOverview) {
  if (errors.length + judgements.length === 0) return null;
  return (
    <div class="side-by-side">
      {judgements.length > 0 && (
        <Section
          title="Latest judgements with a reason"
          aside={<a href={formatGovernanceAddress('judgements')}>All</a>}
        >
          <Entries label="Latest judgements" entries={judgements.map(createJudgementEntry)} />
        </Section>
      )}
      {errors.length > 0 && (
        <Section title="Latest errors" aside={<a href={formatGovernanceAddress('errors')}>All</a>}>
          <Entries label="Latest errors" entries={errors.map(createErrorEntry)} />
        </Section>
      )}
    </div>
  );
}

const createJudgementEntry = (row: GovernanceOverview['latest_judgements'][number]): Entry => ({
  key: `${row.schedule_id} ${row.seq}`,
  title: (
    <a href={formatAddress(formatGovernanceAddress('judgements'), { entry: `${row.schedule_id} ${row.seq}` })}>
      {row.schedule_id}, {row.date}
    </a>
  ),
  badge: <Badge>{DECISION_WORDS[row.action]}</Badge>,
  aside: `${row.author}, ${createMomentFigure(row.at).value}`,
  text: row.reason ?? '',
});

const createErrorEntry = (row: GovernanceOverview['latest_errors'][number]): Entry => ({
  key: `${row.index_id} ${row.seq}`,
  title: (
    <a href={formatAddress(formatGovernanceAddress('errors'), { entry: `${row.index_id} ${row.seq}` })}>
      {row.index_id}, {row.first === row.last ? row.first : `${row.first} to ${row.last}`}
    </a>
  ),
  badge: <Badge kind={ERROR_KINDS[row.decision]}>{row.decision}</Badge>,
  aside: [
    ...(row.largest === null
      ? []
      : [`${row.largest.variant} return level ${formatLevelChange(row.largest.change_bps)}`]),
    `${row.decision} ${createMomentFigure(row.at).value}`,
  ].join(', '),
  text: row.reason,
});

/** Renders what a statement lacks. Gaps are flagged as open work only if the index is published. */
function StatementState({ state }: { readonly state: NonNullable<Statement['state']> }) {
  const gaps = listGaps(state);
  if (gaps.length === 0) return <Badge kind="good">complete</Badge>;
  return (
    <>
      {gaps.map((gap, k) => (
        <span key={gap}>
          {k > 0 && ' '}
          {isPublished(state) ? (
            <Badge kind="warning" title={state.to_complete.join(', ')}>
              {gap}
            </Badge>
          ) : (
            <span class="quiet" title={state.to_complete.join(', ')}>
              {gap}
            </span>
          )}
        </span>
      ))}
    </>
  );
}

/** Position of the column of gaps, after the last published date. */
const STATE_POSITION = 3;

/** @param hasTwoGaps true if a statement has two gaps, for which their column is wider */
const createColumns = (hasTwoGaps: boolean): readonly Column<Statement>[] =>
  COLUMNS.toSpliced(STATE_POSITION, 0, {
    id: 'state',
    title: 'Statement',
    help: 'Open work on the statement: a newer version of the definition, and empty sections',
    width: hasTwoGaps ? 320 : 190,
    value: ({ state }) => (state === undefined ? '' : listGaps(state).join(', ') || 'complete'),
    show: ({ state }) => state && <StatementState state={state} />,
  });

const COLUMNS: readonly Column<Statement>[] = [
  {
    id: 'id',
    title: 'Index',
    width: 110,
    ideal: 170,
    value: ({ index }) => index.id,
    show: ({ index }) => <strong>{index.id}</strong>,
  },
  { id: 'name', title: 'Name', width: 130, grow: 3, priority: 2, below: 'nothing', value: ({ index }) => index.name },
  {
    id: 'through',
    title: 'Published through',
    help: 'With the sessions of its data that follow',
    width: 176,
    value: ({ state }) => state?.published_through ?? '',
    show: ({ state }) => state && <PublishedThrough state={state} />,
  },
  createNumericColumn({
    id: 'version',
    title: 'Version',
    help: 'Version of the definition that the statement describes',
    width: 76,
    priority: 5,
    below: 'nothing',
    of: ({ state }: Statement) => state?.published_version ?? state?.version ?? null,
    write: countOrNone,
  }),
  createNumericColumn({
    id: 'entries',
    title: 'Log entries',
    help: 'Published closes and restatements',
    width: 90,
    priority: 3,
    below: 'nothing',
    of: ({ state }: Statement) => state?.entries ?? null,
    write: countOrNone,
  }),
  createNumericColumn({
    id: 'errors',
    title: 'Errors',
    help: 'Entries of the register of errors',
    width: 70,
    of: ({ state }: Statement) => state?.errors ?? null,
    write: countOrNone,
  }),
  { id: 'kind', title: 'Kind', width: 76, priority: 5, below: 'nothing', value: ({ index }) => index.kind },
  {
    id: 'run',
    title: 'Latest run',
    width: 166,
    priority: 3,
    below: 'nothing',
    value: ({ index }) => index.run_at,
    show: ({ index }) => formatMoment(index.run_at),
  },
];
