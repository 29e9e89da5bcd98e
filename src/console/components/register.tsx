import type { ComponentChildren, FunctionComponent } from 'preact';
import { getParameter, setParameters } from '../state/location.js';
import { may, type Resource } from '../state/service.js';
import { formatCount } from '../words/numbers.js';
import { Select } from './controls/choice.js';
import { DateInput } from './controls/range.js';
import { Answered, EmptyState } from './feedback.js';
import { SidePanel } from './layout/dialog.js';
import { type Fact, Facts, type LabelledFigure, Metrics } from './layout/facts.js';
import { Page, type PageFrameProps, Section } from './layout/page.js';
import { MayNot } from './permission.js';
import { type Column, compareValues, readCell, type Sort, type TableProps } from './table/model.js';
import { Table } from './table/table.js';

export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/**
 * Declaration of a list of documents or of a register: where its rows come from, and what its page shows. The page is
 * one table, whose rows link to their pages or open to a panel. Members that get rows are also called for an empty list.
 */
export interface Register<R> {
  readonly title: string;
  readonly name: string;
  /** Name of the rows for screen readers, and while they are loading. */
  readonly label: string;
  /** Parent pages. */
  readonly above?: PageFrameProps['above'];
  /** Renders the line below the title. `rows` is undefined while they are loading. */
  subtitle?(rows: readonly R[] | undefined): ComponentChildren;
  /** Renders the buttons of the page. `rows` is undefined while they are loading. */
  actions?(rows: readonly R[] | undefined, range: DayRange): ComponentChildren;
  /**
   * Reads the rows. It is a hook.
   * @param range ignored unless `hasRange` is true
   */
  useRows(range: DayRange): Resource<readonly R[]>;
  /** True if the rows are read for a range of days. */
  readonly hasRange?: boolean;
  /** Scope required to read the register. Default: `read`. */
  readonly scope?: 'audit';
  /** Default: none, for a register with a custom table. */
  readonly columns?: readonly Column<R>[];
  /** Returns the columns that the rows need. Default: all columns. */
  listColumns?(rows: readonly R[]): readonly Column<R>[];
  /** Default: the order of the service. */
  readonly sort?: Sort;
  /** Height in pixels above which the rows scroll; null for a table without a limit. Default: `HEIGHT`. */
  readonly height?: number | null;
  readonly empty?: {
    readonly title: string;
    readonly text: ComponentChildren;
    readonly action?: () => ComponentChildren;
  };
  getKey(row: R): string;
  /** Returns the text of a row that is searched. Default: the table has no search. */
  searchIn?(row: R): string;
  /** Number of rows above which the table has a search. Default: 0. */
  readonly searchMin?: number;
  /** Returns the address of the page of a row. Default: a row opens to its panel. */
  formatAddress?(row: R): string;
  /** Name of the open row in the address. Default: `entry`. */
  readonly parameter?: string;
  /** Returns the key of the open row. Default: the row of the address. */
  findOpenKey?(rows: readonly R[]): string | null;
  /** Renders the panel of an open row, whether or not it is listed. Default: the facts and texts of a listed row, if it has facts. */
  renderPanel?(key: string, onClose: () => void): ComponentChildren;
  listFacts?(row: R): readonly Fact[];
  listTexts?(row: R): readonly (readonly [title: string, text: string | null])[];
  /** Noun for a row in the title of its panel. */
  readonly noun?: string;
  /** Returns the number of a row in the title of its panel. Default: the key. */
  formatName?(row: R): string;
  /** True if the newest row is shown below the table until the user opens another row. */
  readonly isNewestShown?: boolean;
  /** Returns the kind of a row. The table can be filtered by it. */
  formatGroup?(row: R): string;
  readonly groupLabel?: string;
  /** Figures of all rows. */
  summarise?(rows: readonly R[]): readonly LabelledFigure[];
  /** Renders the table. Default: a `RegisterTable`. */
  renderTable?(rows: readonly R[]): ComponentChildren;
  /** Content above the rows, also while they are loading. */
  renderHead?(): ComponentChildren;
  /** Content between the figures and the table. */
  renderAbove?(rows: readonly R[]): ComponentChildren;
  renderBelow?(rows: readonly R[]): ComponentChildren;
  /** Content at the end of the page, also while the rows are loading. */
  renderFoot?(): ComponentChildren;
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

export const createRegisterPage =
  <R,>(register: Register<R>): FunctionComponent =>
  () => <RegisterPage register={register} />;

interface RegisterProps<R> {
  readonly register: Register<R>;
}

/** Page of one register. Without the scope that it needs, the page states this. */
function RegisterPage<R>({ register }: RegisterProps<R>) {
  const { title, above = [], subtitle, scope, label } = register;
  if (scope === undefined || may(scope)) return <OpenRegister register={register} />;
  return (
    <Page title={title} above={above} subtitle={subtitle?.(undefined)}>
      <MayNot scope={scope} what={`read the ${label}`} />
    </Page>
  );
}

/** Length of the default range in days. */
const LISTED_DAYS = 7;
const DAY_MS = 86_400_000;
const formatDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

const getChosenRange = (): DayRange => ({
  from: getParameter('from') ?? formatDay(Date.now() - LISTED_DAYS * DAY_MS),
  to: getParameter('to') ?? formatDay(Date.now()),
});

function OpenRegister<R>({ register }: RegisterProps<R>) {
  const { title, above = [], label, hasRange = false, formatGroup, groupLabel = 'Kind' } = register;
  const range = getChosenRange();
  const rows = register.useRows(range);
  const openKey = getParameter(getPanelParameter(register));
  const renderKinds = (all: readonly R[] = []) =>
    formatGroup !== undefined &&
    all.length > 0 && <Kinds label={groupLabel} kinds={all.map(formatGroup)} chosen={getParameter('kind')} />;
  return (
    <Page
      title={title}
      above={above}
      subtitle={register.subtitle?.(rows.data)}
      actions={register.actions?.(rows.data, range)}
    >
      {register.renderHead?.()}
      {hasRange && (
        <div class="flow gap-3 filter-bar">
          <RangeInputs {...range} />
          {renderKinds(rows.data)}
        </div>
      )}
      <Answered resource={rows} what={`the ${label}`}>
        {(all) => (
          <>
            {register.summarise !== undefined && (
              <Metrics label={`Figures of ${label}`} metrics={register.summarise(all)} />
            )}
            {register.renderAbove?.(all)}
            {!hasRange && renderKinds(all)}
            {register.renderTable?.(all) ?? <ListedRows register={register} rows={all} />}
            {register.isNewestShown === true && !hasRow(register, all, openKey) && (
              <Newest register={register} rows={all} />
            )}
            {register.renderBelow?.(all)}
            {register.renderPanel === undefined && register.listFacts !== undefined && openKey !== null && (
              <EntryPanel register={register} row={all.find((row) => register.getKey(row) === openKey)} />
            )}
          </>
        )}
      </Answered>
      {register.renderFoot?.()}
      {openKey !== null && register.renderPanel?.(openKey, () => closePanel(register))}
    </Page>
  );
}

const getPanelParameter = <R,>({ parameter = 'entry' }: Register<R>): string => parameter;

const closePanel = <R,>(register: Register<R>): void => setParameters({ [getPanelParameter(register)]: null });

const hasRow = <R,>({ getKey }: Register<R>, rows: readonly R[], key: string | null): boolean =>
  rows.some((row) => getKey(row) === key);

const RangeInputs = ({ from, to }: DayRange) => (
  <div class="inline-line gap-1 range-dates">
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

interface RowsProps<R> extends RegisterProps<R> {
  readonly rows: readonly R[];
}

/** Renders the rows of the chosen kind, or the reason why there is none. */
function ListedRows<R>({ register, rows }: RowsProps<R>) {
  const { empty, formatGroup } = register;
  const kind = getParameter('kind');
  if (rows.length === 0)
    return (
      <EmptyState title={empty?.title ?? 'No entries'} action={empty?.action?.()}>
        {empty?.text}
      </EmptyState>
    );
  return (
    <RegisterTable
      register={register}
      rows={formatGroup === undefined || kind === null ? rows : rows.filter((row) => formatGroup(row) === kind)}
      columns={register.listColumns?.(rows) ?? register.columns ?? []}
    />
  );
}

/** Height in pixels above which the rows of a register scroll. */
const HEIGHT = 620;

/** Renders the table of a register. Further properties take precedence over those of the register. */
export function RegisterTable<R>({ register, rows, ...others }: RowsProps<R> & Partial<TableProps<R>>) {
  const {
    label,
    name,
    columns = [],
    sort,
    height = HEIGHT,
    empty,
    getKey,
    searchIn,
    searchMin = 0,
    formatAddress,
  } = register;
  const parameter = getPanelParameter(register);
  return (
    <Table
      label={label}
      name={name}
      columns={columns}
      rows={rows}
      getKey={getKey}
      {...(searchIn && rows.length > searchMin && { searchIn })}
      {...(sort && { sort })}
      {...(height !== null && { height })}
      {...(empty && { empty: `${empty.title}.` })}
      openKey={register.findOpenKey?.(rows) ?? getParameter(parameter)}
      {...(formatAddress === undefined
        ? { onOpen: (row: R) => setParameters({ [parameter]: getKey(row) }) }
        : { formatAddress })}
      {...others}
    />
  );
}

const formatRowName = <R,>({ getKey, formatName = getKey }: Register<R>, row: R): string => formatName(row);

/** Renders the newest row of a register with all its facts. */
function Newest<R>({ register, rows }: RowsProps<R>) {
  const by = register.columns?.find(({ id }) => id === register.sort?.column);
  const newest = by && rows.toSorted((a, b) => compareValues(readCell(by, b) ?? '', readCell(by, a) ?? ''))[0];
  if (newest === undefined) return null;
  return (
    <Section
      title={`Newest ${(register.noun ?? 'entry').toLowerCase()}`}
      aside={`No. ${formatRowName(register, newest)}`}
    >
      <div class="pile gap-5 side-by-side">
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

function EntryPanel<R>({ register, row }: RegisterProps<R> & { readonly row: R | undefined }) {
  if (row === undefined) return null;
  return (
    <SidePanel
      title={`${register.noun ?? 'Entry'} ${formatRowName(register, row)}`}
      onClose={() => closePanel(register)}
    >
      <Facts facts={register.listFacts?.(row) ?? []} />
      <Texts texts={register.listTexts?.(row) ?? []} />
    </SidePanel>
  );
}

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
