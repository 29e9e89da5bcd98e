import type { GovernanceOverview, IndexCollection } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { Entries, type Entry } from '../../components/entries.js';
import { GuideLink } from '../../components/guide-link.js';
import type { IconName } from '../../components/icon.js';
import { LinkCards, type LinkCard } from '../../components/link-cards.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { formatAddress } from '../../state/location.js';
import { usePendingApprovals } from '../../state/pending-approvals.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatGovernanceAddress } from '../../words/addresses.js';
import { formatMoment, createMomentFigure } from '../../words/dates.js';
import { formatCount, countValues } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { DocumentPage } from './document-page.js';
import { FAMILIES } from './documents.js';
import { listGaps } from './open-work.js';
import { OpenWork } from './open-work-list.js';
import { countOrNone, isPublished, PublishedThrough, useGovernance } from './published-logs.js';
import type { Register } from './register.js';
import { RegisterPage } from './register-page.js';
import { DECISION_WORDS, ERROR_KINDS, REGISTERS } from './registers.js';
import { StatementPage } from './statement-page.js';
import './governance.css';

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
