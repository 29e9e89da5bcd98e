import './statement.css';
import './governance.css';
import { type ComponentChildren, Fragment } from 'preact';
import type {
  BenchmarkStatement,
  GovernanceOverview,
  IndexCollection,
  ListedClient,
  Procedure,
} from '#clients/typescript/divisor.js';
import { Button, type IconName, LinkButton } from '../../components/controls/button.js';
import {
  Answered,
  Badge,
  Banner,
  EmptyState,
  createLazyComponent,
  FiguresSkeleton,
} from '../../components/feedback.js';
import { Entries, type Entry, Facts, type LinkCard, LinkCards, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { Sentences, WrittenTable } from '../../components/versions/change-table.js';
import { tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { formatAddress, type PageProps, getParameter } from '../../state/location.js';
import { usePlainSentences } from '../../state/market.js';
import { may, type Resource, service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { PRICE_BASIS } from '../../words/datapoints.js';
import { createMomentFigure, formatMoment, formatToday } from '../../words/dates.js';
import { countValues, formatCount, formatFigure, MISSING_TEXT } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { ACTION_WORDS, usePendingApprovals } from '../approvals/requests.js';
import { formatCheck, Deliveries } from '../schedules/steps.js';
import {
  getClientState,
  hasUnpublishedVersion,
  isIncomplete,
  KIND_TEXTS,
  listMissingParts,
  listMissingKinds,
  listOverdue,
} from './open-work.js';
import { isPublished, PublishedThrough, useGovernance } from './published-logs.js';
import { DECISION_WORDS, ERROR_KINDS, REGISTERS } from './registers.js';
import { DocumentEditor, type EditedDocument, type EditedKind, IdField } from '../../components/editor.js';
import { KindList, listRows } from '../../components/form/row-list.js';
import { SchemaForm, type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { ReadOnly } from '../../components/permission.js';
import { getScope, listVersions } from '../../components/versions/history.js';
import type { Json, JsonObject } from '../../words/paths.js';

/** Maximum number of errors in a statement; the register contains all of them. */
const ERRORS_MAX = 50;

/** Renders the counts of the published closes, restatements, errors and procedures. */
function StatementFigures({ statement }: { readonly statement: BenchmarkStatement }) {
  const { version, calendar, publication } = statement;
  return (
    <Metrics
      label="Figures of the statement"
      metrics={[
        {
          term: 'Published closes',
          value: publication === null ? 'none' : formatCount(publication.closes),
          note: publication === null ? undefined : `${publication.first} to ${publication.through}`,
        },
        {
          term: 'Restated closes',
          value: publication === null ? MISSING_TEXT : formatCount(publication.restatements),
          note: publication === null ? undefined : 'published again after an error',
        },
        {
          term: 'Errors',
          value: formatCount(statement.errors.length),
          note: describeErrorCount(statement.errors.length),
        },
        {
          term: 'Procedures',
          value: formatCount(statement.procedures.length),
          note: `${new Set(statement.procedures.map(({ kind }) => kind)).size} of ${Object.keys(KIND_TEXTS).length} kinds`,
        },
        { term: 'Definition', value: `version ${version}` },
        { term: 'Calendar', value: calendar.code, note: `sessions known to ${calendar.covered_to}` },
      ]}
    />
  );
}

/** Describes the number of errors. An error can concern many closes, all of which are restated. */
function describeErrorCount(count: number): string {
  if (count === 0) return 'in published closes';
  return count < ERRORS_MAX ? 'each of one or more closes' : `the newest ${ERRORS_MAX}`;
}

const MARKDOWN = 'text/markdown';

/** Page of the benchmark statement of an index, which can be printed or saved. */
function StatementPage({ id }: { readonly id: string }) {
  const params = { index_id: id };
  const statement = useAnswer('getStatement', { params });
  return (
    <Page
      title={`Statement of ${id}`}
      above={[{ address: '/console/governance', text: 'Governance' }]}
      subtitle={statement.data && `generated ${formatMoment(statement.data.generated_at)}`}
      actions={
        <>
          <Button onClick={() => print()}>Print or save as PDF</Button>
          <Button onClick={() => void tryAction(() => saveMarkdown(id))}>Download as Markdown</Button>
        </>
      }
    >
      <Answered resource={statement} what="the statement">
        {(found) => (
          <div class="pile gap-5 statement">
            <div>
              <Statement statement={found} />
            </div>
            <Contents />
          </div>
        )}
      </Answered>
    </Page>
  );
}

const PARTS = [
  'Purpose',
  'Methodology',
  'Inputs',
  'Discretion',
  'Limitations',
  'Changes and reviews',
  'Errors',
  'Procedures',
] as const;

/** Renders links to the sections of the statement. */
const Contents = () => (
  <nav class="pile statement-contents" aria-label="Contents">
    {PARTS.map((part) => (
      <button
        key={part}
        type="button"
        onClick={() => document.querySelector(`section[aria-label="${part}"]`)?.scrollIntoView()}
      >
        {part}
      </button>
    ))}
  </nav>
);

async function saveMarkdown(id: string): Promise<void> {
  const bytes = await service.value.download('getStatement', MARKDOWN, { params: { index_id: id } });
  saveFile(`${id}-statement.md`, bytes);
}

function Statement({ statement }: { readonly statement: BenchmarkStatement }) {
  const { index_id: id, name, purpose, methodology, inputs, limitations } = statement;
  const formatSentence = usePlainSentences();
  return (
    <>
      <StatementFigures statement={statement} />
      <UnpublishedVersion statement={statement} />
      <Section title="Purpose">
        <p>
          {purpose ?? (
            <>
              To be completed: <a href={`${formatIndexAddress(id)}/edit`}>the description of {name}</a> states no
              purpose.
            </>
          )}{' '}
          <a href={formatIndexAddress(id)}>Open {name}</a>
        </p>
      </Section>
      <SentenceList title="Methodology" sentences={methodology.map(formatSentence)} isOrdered />
      <Section title="Inputs">
        <Facts
          facts={[
            ['Underlying indices', inputs.indices.length === 0 ? null : inputs.indices.join(', ')],
            ['Price basis', inputs.adjustment && PRICE_BASIS[inputs.adjustment]],
          ]}
        />
        <List items={inputs.hierarchy} isOrdered />
      </Section>
      <Discretion {...statement.discretion} />
      <SentenceList title="Limitations" sentences={limitations} />
      <Changes statement={statement} />
      <Errors errors={statement.errors} />
      <Section title="Procedures">
        <List
          none={
            <>
              To be completed: no procedure applies to the index.{' '}
              <a href={formatGovernanceAddress('procedures', 'new')}>Write a procedure</a>
            </>
          }
          items={statement.procedures.map(({ procedure_id: procedureId, name: title, kind }) => (
            <>
              <a href={formatGovernanceAddress('procedures', procedureId)}>{title}</a>
              {title.toLowerCase() !== kind && <span class="quiet"> {kind}</span>}
            </>
          ))}
        />
      </Section>
    </>
  );
}

/** Warns if a newer version of the definition than the described version is not published. */
function UnpublishedVersion({ statement }: { readonly statement: BenchmarkStatement }) {
  const { index_id: id, version, latest_version: latest } = statement;
  if (version === latest) return null;
  const query = { tab: 'versions', version: String(latest), against: String(version) };
  return (
    <Banner
      kind="warning"
      title={`Version ${latest} of the definition is not published`}
      action={
        <>
          <LinkButton href={formatAddress(formatIndexAddress(id), query)}>
            Compare versions {version} and {latest}
          </LinkButton>
          {may('publish') && (
            <LinkButton href={formatAddress(formatIndexAddress(id), { tab: 'publication' })}>Publish</LinkButton>
          )}
        </>
      }
    >
      <span>This statement describes version {version}, which the published closes follow.</span>
    </Banner>
  );
}

interface ListProps {
  readonly items: readonly ComponentChildren[];
  readonly isOrdered?: boolean;
  /** Sentence in place of an empty list. */
  readonly none?: ComponentChildren;
}

function List({ items, isOrdered = false, none = 'None.' }: ListProps) {
  if (items.length === 0) return <p class="quiet">{none}</p>;
  const rows = items.map((item, k) => <li key={k}>{item}</li>);
  return isOrdered ? <ol class="pile gap-2 methodology">{rows}</ol> : <ul>{rows}</ul>;
}

interface SentenceListProps {
  readonly title: string;
  readonly sentences: readonly string[];
  readonly isOrdered?: boolean;
}

const SentenceList = ({ title, sentences, isOrdered = false }: SentenceListProps) => (
  <Section title={title}>
    <List items={sentences} isOrdered={isOrdered} />
  </Section>
);

function Discretion({ approvals, judgements, overrides }: BenchmarkStatement['discretion']) {
  return (
    <Section title="Discretion" aside={<a href={formatGovernanceAddress('judgements')}>all judgements</a>}>
      <List
        none={`No change needs the approval of a second person.${judgements.length + overrides.length === 0 ? ' No judgement and no price override is recorded.' : ''}`}
        items={approvals.map(({ action, persons }) => `${ACTION_WORDS[action]}: ${persons} persons`)}
      />
      {judgements.length > 0 && (
        <Rows
          label="Judgements"
          heads={['Session', 'Decision', 'By', 'Reason']}
          rows={judgements.map(({ date, action, check, author, approved_by: approvers, reason, findings }) => [
            date,
            check === null ? DECISION_WORDS[action] : `accepted: ${formatCheck(check)}`,
            formatPersons(author, approvers),
            [reason, ...findings.map(({ index_id: index, message }) => `${index}: ${message}`)].join(' '),
          ])}
        />
      )}
      {overrides.length > 0 && (
        <Rows
          label="Price overrides"
          heads={['Session', 'Security', 'Price', 'By', 'Reason']}
          rows={overrides.map(({ date, identifier, price, author, approved_by: approvers, reason }) => [
            date,
            identifier,
            formatFigure(price),
            formatPersons(author, approvers),
            reason,
          ])}
        />
      )}
    </Section>
  );
}

/** Formats the author and the approvers, for example `ada, approved by ben`. */
const formatPersons = (author: string, approvers: readonly string[]): string =>
  approvers.length === 0 ? author : `${author}, approved by ${approvers.join(' and ')}`;

function Changes({ statement: { changes, amendments, review } }: { readonly statement: BenchmarkStatement }) {
  const formatSentence = usePlainSentences();
  return (
    <Section title="Changes and reviews">
      <Facts
        facts={[
          ['Reviews', review.frequency],
          ['Coming', review.upcoming.length === 0 ? null : <Dates dates={review.upcoming} />],
        ]}
      />
      {amendments.length > 0 && (
        <Rows
          label="Amendments"
          heads={['Effective from', 'Announced', 'Reason']}
          rows={amendments.map(({ effective_from: from, announced, reason }) => [from, announced, reason])}
        />
      )}
      <Rows
        label="Versions of the definition"
        heads={['Version', 'Written', 'What changed']}
        rows={changes.map(({ version, at, author, note, removed, added }) => [
          version,
          <>
            {formatMoment(at)} by {author}
          </>,
          <>
            {note && <p class="quiet">Reason: {note}</p>}
            {removed.length + added.length === 0 && (
              <span class="quiet">{version === 1 ? 'Created.' : ' The methodology did not change.'}</span>
            )}
            <Sentences removed={removed.map(formatSentence)} added={added.map(formatSentence)} />
          </>,
        ])}
      />
    </Section>
  );
}

/** Renders dates, none of which is broken over two lines. */
const Dates = ({ dates }: { readonly dates: readonly string[] }) => (
  <>
    {dates.map((date, k) => (
      <Fragment key={date}>
        {k > 0 && ' '}
        <span class="whole">
          {date}
          {k < dates.length - 1 && ','}
        </span>
      </Fragment>
    ))}
  </>
);

function Errors({ errors }: Pick<BenchmarkStatement, 'errors'>) {
  return (
    <Section title="Errors" aside={<a href={formatGovernanceAddress('errors')}>register of errors</a>}>
      {errors.length === 0 ? (
        <p class="quiet">No error in published closes.</p>
      ) : (
        <Rows
          label="Differences from published closes"
          heads={['Dates', 'Decision', 'Largest change', 'Notice']}
          rows={errors.map(({ first, last, decision, largest, notice }) => [
            first === last ? first : `${first} to ${last}`,
            decision,
            largest && formatLevelChange(largest.change_bps),
            notice,
          ])}
        />
      )}
    </Section>
  );
}

interface RowsProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}

const Rows = ({ label, heads, rows }: RowsProps) => (
  <>
    <h3>{label}</h3>
    <WrittenTable label={label} heads={heads}>
      {rows.map((cells, k) => (
        <tr key={k}>
          {cells.map((cell, at) => (
            <td key={at}>{cell ?? '–'}</td>
          ))}
        </tr>
      ))}
    </WrittenTable>
  </>
);

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
  const { List } = (id === undefined ? REGISTERS[part as Part] : undefined) ?? {};
  if (List === undefined)
    return (
      <Page title="Governance">
        <EmptyState title="There is no such register">
          <a href="/console/governance">All registers</a>
        </EmptyState>
      </Page>
    );
  return <List key={part} />;
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
interface GovernancePageStatement {
  readonly index: IndexCollection['indices'][number];
  readonly state: GovernanceOverview['statements'][number] | undefined;
}

function Overview() {
  const indices = useList('indices');
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
              columns={createColumns([...stateByIndex.values()].some((state) => listMissingParts(state).length > 1))}
              rows={rows.map((index): GovernancePageStatement => ({ index, state: stateByIndex.get(index.id) }))}
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
    <div class="pile gap-5 side-by-side">
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
function StatementState({ state }: { readonly state: NonNullable<GovernancePageStatement['state']> }) {
  const gaps = listMissingParts(state);
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
const createColumns = (hasTwoGaps: boolean): readonly Column<GovernancePageStatement>[] =>
  COLUMNS.toSpliced(STATE_POSITION, 0, {
    id: 'state',
    title: 'Statement',
    help: 'Open work on the statement: a newer version of the definition, and empty sections',
    width: hasTwoGaps ? 320 : 190,
    value: ({ state }) => (state === undefined ? '' : listMissingParts(state).join(', ') || 'complete'),
    show: ({ state }) => state && <StatementState state={state} />,
  });

const COLUMNS: readonly Column<GovernancePageStatement>[] = [
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
  {
    id: 'version',
    title: 'Version',
    help: 'Version of the definition that the statement describes',
    width: 76,
    priority: 5,
    below: 'nothing',
    value: ({ state }: GovernancePageStatement) => state?.published_version ?? state?.version ?? null,
    write: formatCount,
  },
  {
    id: 'entries',
    title: 'Log entries',
    help: 'Published closes and restatements',
    width: 90,
    priority: 3,
    below: 'nothing',
    value: ({ state }: GovernancePageStatement) => state?.entries ?? null,
    write: formatCount,
  },
  {
    id: 'errors',
    title: 'Errors',
    help: 'Entries of the register of errors',
    width: 70,
    value: ({ state }: GovernancePageStatement) => state?.errors ?? null,
    write: formatCount,
  },
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

/** Family of documents whose forms are generated from their schemas. */
interface Family extends EditedKind {
  readonly kind: 'client' | 'procedure';
  readonly schema: string;
  /** Members that list objects of different kinds, shown after the other fields. */
  readonly lists: readonly { readonly name: string; readonly what: string; readonly brief: string }[];
  readonly fresh: JsonObject;
}

const FAMILIES: Readonly<Record<string, Family>> = {
  clients: {
    kind: 'client',
    derived: ['updated_at', 'secrets', 'problems'],
    defaults: { entitlements: [] },
    list: formatGovernanceAddress('clients'),
    formatAddress: (id) => formatGovernanceAddress('clients', id),
    schema: 'ClientBody',
    lists: [{ name: 'targets', what: 'target', brief: 'Folders, buckets and servers that receive the files.' }],
    fresh: { client_id: '', name: '', entitlements: [], targets: [] },
  },
  procedures: {
    kind: 'procedure',
    derived: ['updated_at', 'version'],
    list: formatGovernanceAddress('procedures'),
    formatAddress: (id) => formatGovernanceAddress('procedures', id),
    schema: 'ProcedureDocument',
    lists: [],
    fresh: { procedure_id: '', name: '', kind: 'cessation', text: '' },
  },
};

interface ProcedureInForceProps {
  readonly id: string;
  /** The stored procedure. */
  readonly document: JsonObject;
}

/** Renders the version, author, statements and review date of a stored procedure. */
function ProcedureInForce({ id, document }: ProcedureInForceProps) {
  const versions = useResource(`versions procedure ${id}`, (signal) => listVersions({ kind: 'procedure', id }, signal));
  const newest = versions.data?.versions[0];
  return (
    <p>
      {newest !== undefined &&
        `Version ${newest.version}, ${newest.action} ${formatMoment(newest.at)} by ${newest.author} · `}
      <Statements indices={document['indices']} />
      <ReviewDate date={document['review_by']} />
    </p>
  );
}

/** Maximum number of indices that are named. If there are more, their number is shown. */
const NAMED_MAX = 3;

function Statements({ indices }: { readonly indices: unknown }) {
  const overview = useGovernance();
  if (overview.data === undefined) return null;
  const published = overview.data.statements.filter(isPublished).map(({ index_id: id }) => id);
  const coveredIds = published.filter((id) => !Array.isArray(indices) || indices.includes(id));
  if (coveredIds.length === 0) return <>in no statement of a published index · </>;
  return (
    <>
      in {coveredIds.length === 1 ? 'the statement' : 'the statements'} of{' '}
      {coveredIds.length <= NAMED_MAX &&
        coveredIds.map((id, k) => (
          <span key={id}>
            {k > 0 && ', '}
            <a href={formatGovernanceAddress('statements', id)}>{id}</a>
          </span>
        ))}
      {coveredIds.length < published.length || coveredIds.length > NAMED_MAX
        ? ` (${formatCount(coveredIds.length)} of ${countValues(published.length, 'published index', 'published indices')})`
        : ''}
      {' · '}
    </>
  );
}

/** Renders the date of the next review. A date in the past or a missing date is marked. */
function ReviewDate({ date }: { readonly date: unknown }) {
  if (typeof date !== 'string') return <Badge kind="warning">no review date</Badge>;
  return date < formatToday() ? <Badge kind="bad">review was due on {date}</Badge> : <>review by {date}</>;
}

interface DocumentPageProps {
  /** Register that lists the document. */
  readonly part: keyof typeof REGISTERS;
  readonly family: Family;
  /** Id of the document; null for a new document. */
  readonly id: string | null;
}

/** Page of one document of a register. Its form is generated from its schema. */
function DocumentPage({ part, family, id }: DocumentPageProps) {
  const { kind, fresh } = family;
  return (
    <DocumentEditor of={family} id={id} origin={[getParameter('kind')]} create={(signal) => createFresh(fresh, signal)}>
      {({ document }) => ({
        ...(id !== null && { title: String(document['name']), subject: id }),
        subtitle: kind === 'procedure' && id !== null && <ProcedureInForce id={id} document={document} />,
        above: [
          { address: '/console/governance', text: 'Governance' },
          { address: family.list, text: REGISTERS[part].title },
        ],
        required: document['text'] === undefined ? [] : ['text'],
        children: (edited) => (
          <>
            {kind === 'client' && id !== null && <Delivered client={id} document={edited.document} />}
            <div class={edited.document['text'] === undefined ? 'client-form' : 'pile gap-5 side-by-side'}>
              <ReadOnly unless={getScope(kind)}>
                <Form
                  edited={edited}
                  family={family}
                  isStored={id !== null}
                  hasListsFirst={id !== null && family.lists.some(({ name }) => listRows(document[name]).length === 0)}
                />
              </ReadOnly>
              <Preview text={edited.document['text']} />
            </div>
            {kind === 'client' && id !== null && <LatestDeliveries client={id} />}
          </>
        ),
      })}
    </DocumentEditor>
  );
}

/** Returns a new document. A procedure has the kind in the address, otherwise the first kind without a procedure. */
async function createFresh(fresh: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  if (fresh['kind'] === undefined) return fresh;
  const chosenKind = getParameter('kind');
  if (chosenKind !== null) return { ...fresh, kind: chosenKind };
  const { procedures } = await service.value.call('listProcedures', { signal });
  return { ...fresh, kind: listMissingKinds(procedures)[0] ?? fresh['kind'] };
}

const Markdown = createLazyComponent('the preview', async () => (await import('./markdown.js')).Markdown);

const Preview = ({ text }: { readonly text: unknown }) =>
  typeof text !== 'string' ? null : (
    <Section title="Preview">
      {text === '' ? (
        <p class="quiet">The text is shown here as in the benchmark statement.</p>
      ) : (
        <Markdown text={text} />
      )}
    </Section>
  );

/** Returns the names of the exported tables and of the rendered reports. */
const listTables = (schemas: Schemas | undefined): readonly string[] => [
  ...(schemas?.['ExportedFileInput']?.properties?.['table']?.enum ?? []),
  'report',
];

/** Maximum number of indices that are shown as choices. If there are more, ids are typed. */
const CHOICES_MAX = 40;

interface FormProps {
  readonly edited: EditedDocument;
  readonly family: Family;
  readonly isStored: boolean;
  /** True if the lists of the document are above its other fields. */
  readonly hasListsFirst: boolean;
}

function Form({ edited, family, isStored, hasListsFirst }: FormProps) {
  const { document, findings, set } = edited;
  const { schema, lists } = family;
  const indices = useList('indices');
  const ids = (indices.data?.indices ?? []).map(({ id }) => id);
  const tables = listTables(useSchemas().data);
  const choice = ids.length > 0 && ids.length <= CHOICES_MAX ? { kind: 'choices' as const, choices: ids } : {};
  return (
    <div class="form-card">
      {hasListsFirst && <Lists edited={edited} family={family} />}
      <div class="pile field-grid is-joined">
        <SchemaForm schema={schema} names={['name']} value={document} findings={findings} onChange={set} />
        <IdField edited={edited} member={`${family.kind}_id`} isFixed={isStored} />
        <SchemaForm
          schema={schema}
          except={['name', ...lists.map(({ name }) => name)]}
          changes={{
            description: { rows: 2, help: null },
            enabled: { help: 'Files are delivered only to enabled clients.' },
            indices: { ...choice, isWide: true, every: 'every index' },
            entitlements: {
              help:
                listRows(document['entitlements']).length === 0
                  ? 'The client receives nothing yet. Add the indices and tables of its files.'
                  : 'The client receives the files that one of these entries covers.',
            },
            'entitlements.indices': { ...choice, isWide: true, every: 'every index', help: null },
            'entitlements.tables': {
              kind: 'choices',
              choices: tables,
              isWide: true,
              every: 'every table',
              help: '`report` is a rendered report.',
            },
            kind: { help: KIND_TEXTS[document['kind'] as keyof typeof KIND_TEXTS] },
            text: { isWide: true, rows: 12 },
          }}
          value={document}
          findings={findings}
          onChange={set}
        />
      </div>
      {!hasListsFirst && <Lists edited={edited} family={family} />}
    </div>
  );
}

/** Renders the lists of a document, such as the targets of a client, each with a form for every entry. */
function Lists({ edited, family: { schema, lists } }: Pick<FormProps, 'edited' | 'family'>) {
  const { document, findings, set } = edited;
  return (
    <>
      {lists.map(({ name, what, brief }) => (
        <fieldset key={name} class="pile frame gap-2 field-group">
          <legend>{`${what.charAt(0).toUpperCase()}${what.slice(1)}s`}</legend>
          <p class="small field-help">
            {brief}{' '}
            {what === 'target' && listRows(document[name]).length === 0 && (
              <span class="field-warning">Without a target, the client receives no file.</span>
            )}
          </p>
          <KindList
            what={what}
            rows={listRows(document[name])}
            member="type"
            selectSchema={(schemas) => schemas[schema]?.properties?.[name]?.items ?? {}}
            path={[name]}
            findings={findings}
            rare={RARE_FIELDS}
            listFieldChanges={() => FIELD_CHANGES}
            fresh={() => ({})}
            onChange={(rows) => set({ ...document, [name]: rows })}
          />
        </fieldset>
      ))}
    </>
  );
}

/** Fields that only few delivery targets need. */
const RARE_FIELDS = ['tables', 'path', 'checksum', 'region', 'endpoint'];

const FIELD_CHANGES = { url: { label: 'Address', isWide: true } };

/** Formats a list. If the list is missing or empty, it means all values. */
const formatList = (values: Json | undefined, all: string): readonly string[] =>
  Array.isArray(values) && values.length > 0 ? values.map(String) : [all];

const useDeliveries = (client: string) => useAnswer('listDeliveries', { params: { client_id: client } });

/** Renders what was delivered to a client, what the client may receive, and its targets. */
function Delivered({ client, document }: { readonly client: string; readonly document: JsonObject }) {
  const { data } = useDeliveries(client);
  if (data === undefined) return <FiguresSkeleton />;
  const files = data.deliveries.flatMap(({ files: sent }) => sent);
  const deliveredCount = files.filter(({ state }) => state === 'delivered').length;
  const last = data.deliveries.reduce<string | null>(
    (latest, { date }) => (date > (latest ?? '') ? date : latest),
    null,
  );
  const entitlements = listRows(document['entitlements']);
  const entitledIndices = entitlements.flatMap(({ indices }) => formatList(indices, 'every index'));
  const tables = entitlements.flatMap((row) => formatList(row['tables'], 'every table'));
  const targets = listRows(document['targets']);
  const state = getClientState({ enabled: document['enabled'] !== false, entitlements, targets });
  return (
    <Metrics
      label={`Figures of ${client}`}
      metrics={[
        {
          term: 'Delivery',
          value: state.kind === 'warning' ? <Badge kind="warning">{state.text}</Badge> : state.text,
          note: state.kind === 'warning' ? 'nothing can be delivered' : formatTargets(targets),
        },
        { term: 'Latest delivery', value: last ?? 'none yet', note: last === null ? '' : 'session of the files' },
        { term: 'Delivered files', value: formatCount(deliveredCount), note: 'of the latest sessions' },
        {
          term: 'Open files',
          value: formatCount(files.length - deliveredCount),
          note: 'not delivered yet',
          kind: files.length > deliveredCount ? 'down' : '',
        },
        {
          term: 'Entitled to',
          value:
            entitledIndices.length === 0
              ? 'nothing'
              : [...new Set(entitledIndices)].map((id) => <div key={id}>{id}</div>),
          note: [...new Set(tables)].join(', ') || undefined,
          isLong: true,
        },
      ]}
    />
  );
}

/** Formats the names and types of delivery targets, for example `to house (folder)`; undefined if there are none. */
const formatTargets = (targets: readonly JsonObject[]): string | undefined =>
  targets.length === 0
    ? undefined
    : `to ${targets.map(({ name, type }) => `${String(name)} (${String(type ?? 'folder')})`).join(', ')}`;

function LatestDeliveries({ client }: { readonly client: string }) {
  const clientDeliveries = useDeliveries(client);
  return (
    <Section title="Latest deliveries">
      <Answered resource={clientDeliveries} what="the deliveries">
        {({ deliveries }) => <Deliveries records={deliveries} empty="This client has received no file." />}
      </Answered>
    </Section>
  );
}
