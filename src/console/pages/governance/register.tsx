import type { ComponentChildren } from 'preact';
import { Select } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Answered, EmptyState } from '../../components/feedback.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { type Fact, Facts, type Metric, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column, compareValues, type Sort } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may, useResource } from '../../state/service.js';
import { formatCount } from '../../words/numbers.js';

/** A range of days. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

/** Description of a register or of a list of documents. It is shown as one table. */
export interface Register<R> {
  readonly title: string;
  /** Short description of the contents. */
  readonly brief: string;
  /** Page of the guide about the register. */
  readonly guide: string;
  /** Noun for a row in the title of its panel. */
  readonly noun?: string;
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  /** Returns the columns that the rows need. Default: all columns. */
  listColumns?(rows: readonly R[]): readonly Column<R>[];
  readonly sort: Sort;
  /** Title and text shown if the register is empty. */
  readonly empty: readonly [title: string, text: string];
  /** Returns the kind of a row. The table can be filtered by it. */
  formatGroup?(row: R): string;
  readonly groupLabel?: string;
  /** Figures of all rows. */
  summarise?(rows: readonly R[]): readonly Metric[];
  /** True if the newest row is shown below the table until the user opens another row. */
  readonly isNewestShown?: boolean;
  /** Content between the figures and the table. */
  above?(rows: readonly R[]): ComponentChildren;
  /** Content below the table. */
  below?(rows: readonly R[]): ComponentChildren;
  getKey(row: R): string;
  /** Returns the number of a row in the title of its panel. Default: the key. */
  formatName?(row: R): string;
  searchIn(row: R): string;
  /**
   * Reads the rows.
   * @param range ignored unless `hasRange` is true
   */
  read(range: Range, signal: AbortSignal): Promise<readonly R[]>;
  /** True if the rows are read for a range of days. */
  readonly hasRange?: boolean;
  /** Returns the address of the page of a row. Default: a row opens to its facts. */
  formatAddress?(row: R): string;
  /** Returns the facts of a row. */
  listFacts?(row: R): readonly Fact[];
  listTexts?(row: R): readonly (readonly [title: string, text: string | null])[];
  /** Renders the buttons of the page. */
  actions?(range: Range): ComponentChildren;
  /** Scope required to read the register. Default: `read`. */
  readonly scope?: 'audit';
}

/** Maximum number of requests at the same time, for a register of all indices or schedules. */
const READ_CONCURRENCY = 8;

/** Collects the rows of several documents, in the order of the documents. */
export async function collectRows<T, R>(
  entries: readonly T[],
  read: (one: T) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const rows: R[] = [];
  for (let begin = 0; begin < entries.length; begin += READ_CONCURRENCY)
    rows.push(...(await Promise.all(entries.slice(begin, begin + READ_CONCURRENCY).map(read))).flat());
  return rows;
}

interface RegisterPageProps<R> {
  /** Name of the register in addresses. */
  readonly name: string;
  readonly register: Register<R>;
}

/** Page of one register. It is a table whose rows open to their facts or link to their pages. */
export function RegisterPage<R>({ name, register }: RegisterPageProps<R>) {
  const { title, brief, guide, actions, scope } = register;
  const range = getChosenRange();
  const isAllowed = scope === undefined || may(scope);
  return (
    <Page
      title={title}
      above={[{ address: '/console/governance', text: 'Governance' }]}
      subtitle={
        <p>
          {brief} <GuideLink page={guide}>More</GuideLink>
        </p>
      }
      actions={isAllowed && actions?.(range)}
    >
      {isAllowed ? (
        <Rows name={name} register={register} range={range} />
      ) : (
        <MayNot scope="audit" what="read the audit log" />
      )}
    </Page>
  );
}

/** Length of the default range in days. */
const LISTED_DAYS = 7;
const DAY_MS = 86_400_000;
const formatDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

const getChosenRange = (): Range => ({
  from: getParameter('from') ?? formatDay(Date.now() - LISTED_DAYS * DAY_MS),
  to: getParameter('to') ?? formatDay(Date.now()),
});

const RangeInputs = ({ from, to }: Range) => (
  <div class="range-dates">
    <DateInput
      label="From"
      value={from}
      least="1970-01-01"
      most={to}
      onChange={(date) => setParameters({ from: date })}
    />
    <span class="quiet" aria-hidden="true">
      –
    </span>
    <DateInput label="To" value={to} least={from} most="2999-12-31" onChange={(date) => setParameters({ to: date })} />
  </div>
);

function Rows<R>({ name, register, range }: RegisterPageProps<R> & { readonly range: Range }) {
  const { label, sort, empty, getKey, searchIn, read, formatAddress, hasRange = false } = register;
  const { formatGroup, groupLabel = 'Kind', summarise, isNewestShown = false, below } = register;
  const key = `register ${name}${hasRange ? ` ${range.from} ${range.to}` : ''}`;
  // A log with a range is not reloaded automatically, because the service records every time that the log is read.
  const rows = useResource(key, (signal) => read(range, signal), { follows: !hasRange });
  const openEntry = getParameter('entry');
  const kind = getParameter('kind');
  const renderKinds = (all: readonly R[]) =>
    formatGroup !== undefined &&
    all.length > 0 && <Kinds label={groupLabel} kinds={all.map(formatGroup)} chosen={kind} />;
  return (
    <>
      {hasRange && (
        <div class="filter-bar">
          <RangeInputs {...range} />
          {rows.data && renderKinds(rows.data)}
        </div>
      )}
      <Answered resource={rows} what={label}>
        {(all) => {
          const row = all.find((one) => getKey(one) === openEntry);
          return (
            <>
              {summarise !== undefined && <Metrics label={`Figures of ${label}`} metrics={summarise(all)} />}
              {register.above?.(all)}
              {!hasRange && renderKinds(all)}
              {all.length === 0 ? (
                <EmptyState title={empty[0]}>{empty[1]}</EmptyState>
              ) : (
                <Table
                  label={label}
                  name={name}
                  columns={register.listColumns?.(all) ?? register.columns}
                  rows={
                    formatGroup === undefined || kind === null ? all : all.filter((one) => formatGroup(one) === kind)
                  }
                  getKey={getKey}
                  searchIn={searchIn}
                  sort={sort}
                  height={620}
                  empty={`${empty[0]}.`}
                  openKey={openEntry}
                  {...(formatAddress === undefined
                    ? { onOpen: (one: R) => setParameters({ entry: getKey(one) }) }
                    : { formatAddress })}
                />
              )}
              {isNewestShown && row === undefined && <Newest register={register} rows={all} />}
              {below?.(all)}
              {row !== undefined && <EntryPanel register={register} row={row} />}
            </>
          );
        }}
      </Answered>
    </>
  );
}

const formatRowName = <R,>({ getKey, formatName = getKey }: Register<R>, row: R): string => formatName(row);

interface NewestProps<R> {
  readonly register: Register<R>;
  readonly rows: readonly R[];
}

/** Renders the newest row of a register with all its facts. */
function Newest<R>({ register, rows }: NewestProps<R>) {
  const by = register.columns.find(({ id }) => id === register.sort.column);
  const newest = by && rows.toSorted((a, b) => compareValues(by.value(b) ?? '', by.value(a) ?? ''))[0];
  if (newest === undefined) return null;
  return (
    <Section
      title={`Newest ${(register.noun ?? 'entry').toLowerCase()}`}
      aside={`No. ${formatRowName(register, newest)}`}
    >
      <div class="side-by-side">
        <Facts facts={register.listFacts?.(newest) ?? []} />
        <div>
          <Texts texts={register.listTexts?.(newest) ?? []} />
        </div>
      </div>
    </Section>
  );
}

interface KindsProps {
  readonly label: string;
  readonly kinds: readonly string[];
  readonly chosen: string | null;
}

/** Renders a filter of the rows by kind. */
const Kinds = ({ label, kinds, chosen }: KindsProps) => (
  <Select
    label={label}
    isLabelShown
    options={[
      { value: '', text: 'all' },
      ...[...new Set(chosen === null ? kinds : [...kinds, chosen])]
        .toSorted()
        .map((value) => ({ value, text: `${value} (${formatCount(kinds.filter((kind) => kind === value).length)})` })),
    ]}
    value={chosen ?? ''}
    onChoose={(value) => setParameters({ kind: value === '' ? null : value, entry: null })}
  />
);

function EntryPanel<R>({ register, row }: { readonly register: Register<R>; readonly row: R }) {
  return (
    <SidePanel
      title={`${register.noun ?? 'Entry'} ${formatRowName(register, row)}`}
      onClose={() => setParameters({ entry: null })}
    >
      <Facts facts={register.listFacts?.(row) ?? []} />
      <Texts texts={register.listTexts?.(row) ?? []} />
    </SidePanel>
  );
}

/** Renders sentences under their titles. */
const Texts = ({ texts }: { readonly texts: readonly (readonly [title: string, text: string | null])[] }) => (
  <>
    {texts.map(
      ([title, text], k) =>
        text !== null && (
          <div key={k}>
            <h3>{title}</h3>
            <p>{text}</p>
          </div>
        ),
    )}
  </>
);
