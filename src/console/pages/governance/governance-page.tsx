import type { IndexCollection } from '#clients/typescript/divisor.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import type { IconName } from '../../components/icon.js';
import { LinkCards, type LinkCard } from '../../components/link-cards.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import type { PageProps } from '../../state/page-props.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { governanceAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { count } from '../../words/numbers.js';
import { DocumentPage } from './document-page.js';
import { FAMILIES } from './documents.js';
import type { Register } from './register.js';
import { RegisterPage } from './register-page.js';
import { REGISTERS } from './registers.js';
import { StatementPage } from './statement-page.js';

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
  judgements: 'approvals',
  audit: 'key',
};

/** Registers with counted entries; few requests suffice to read them. */
const COUNTED: ReadonlySet<Part> = new Set(['clients', 'procedures', 'judgements']);

const CARDS: readonly LinkCard[] = (Object.keys(REGISTERS) as Part[]).map((part) => ({
  icon: ICONS[part],
  title: REGISTERS[part].title,
  ...(COUNTED.has(part) ? { figure: <Entries part={part} /> } : {}),
  text: REGISTERS[part].brief,
  address: governanceAddress(part),
}));

const NO_RANGE = { from: '', to: '' };

/** Renders the number of entries of a register. */
function Entries({ part }: { readonly part: Part }) {
  const register: Register<unknown> = REGISTERS[part];
  const rows = useResource(`register ${part}`, (signal) => register.read(NO_RANGE, signal), { isLater: true });
  return <>{rows.data === undefined ? '' : count(rows.data.length)}</>;
}

function Overview() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  return (
    <Page
      title="Governance"
      subtitle={<GuideLink page="governance">What Divisor offers for each IOSCO principle</GuideLink>}
    >
      <LinkCards label="Registers" cards={CARDS} />
      <Section title="Benchmark statements" aside="generated from the definition and the registers">
        <Answered resource={indices} what="the indices">
          {({ indices: rows }) => (
            <Table
              label="benchmark statements"
              name="statements"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => id}
              addressOf={({ id }) => governanceAddress('statements', id)}
              searchIn={({ id, name }) => `${id} ${name}`}
              sort={{ column: 'id', direction: 'asc' }}
              height={420}
              empty="No index yet."
            />
          )}
        </Answered>
      </Section>
    </Page>
  );
}

const COLUMNS: readonly Column<IndexCollection['indices'][number]>[] = [
  { id: 'id', title: 'Index', width: 120, grow: 1, value: ({ id }) => id },
  { id: 'name', title: 'Name', width: 160, grow: 3, value: ({ name }) => name },
  { id: 'kind', title: 'Kind', width: 96, priority: 2, value: ({ kind }) => kind },
  { id: 'calendar', title: 'Calendar', width: 90, priority: 4, value: ({ calendar }) => calendar },
  { id: 'base', title: 'Base date', width: 104, priority: 4, value: (row) => row.base_date },
  {
    id: 'run',
    title: 'Latest run',
    width: 166,
    priority: 3,
    value: (row) => row.run_at,
    show: (row) => moment(row.run_at),
  },
];
