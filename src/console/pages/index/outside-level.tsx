import {
  type DatedLevel,
  DECIMAL_WORDS,
  type LevelFile,
  type LevelMapping,
  openLevelFile,
  ORDER_WORDS,
  proposeLevelMapping,
  readLevelFile,
  type ReadLevels,
  type UnsureMember,
} from '#base/level-file.js';
import type { DifferenceCause, DifferencesView, JobStatus } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { TableExport } from '../../components/controls/menu.js';
import { Answered, Banner } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { JobState } from '../../components/jobs.js';
import { Facts } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column, readCell } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { type OnRefusal, submitJob, tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getJob } from '../../state/live.js';
import { formatAddress, navigate } from '../../state/location.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { may, service, useResource } from '../../state/service.js';
import { findStoreOfDocument, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress, formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { moveReviews, type ReviewMove } from '../../words/changes.js';
import { formatMoment, subtractMonths } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatCount, formatDecimal, formatFigure } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { listHints } from '../../words/statistics.js';
import { type CellValue, formatCommaSeparated } from '../../words/tables.js';
import { offerFiles } from '../data/dropped-files.js';
import { patchDraft, keepDraft, readDraft } from '../designer/draft.js';
import { readNewestRun } from './run-settings.js';
import type { RunPartProps } from './run-tabs.js';

type Variant = 'price' | 'total' | 'net';

/** File that the user chose. */
interface ChosenFile {
  readonly name: string;
  readonly file: LevelFile;
}

const VARIANTS = [
  { value: '', text: 'Found from the levels' },
  { value: 'price', text: 'Price return' },
  { value: 'total', text: 'Total return' },
  { value: 'net', text: 'Net return' },
] as const;

/** Maximum number of jobs in a response. */
const LISTED_MAX = 500;

/** Last comparison of an index: its job, and the explanation if the job succeeded. */
interface LastComparison {
  readonly job: JobStatus;
  readonly view: DifferencesView | null;
}

/** Returns the last comparison of an index; null if there is none. The service stores only the last one. */
async function readLastComparison(id: string, signal: AbortSignal): Promise<LastComparison | null> {
  const { jobs } = await service.value.call('listJobs', {
    query: { kind: ['differences'], limit: LISTED_MAX },
    signal,
  });
  if (!jobs.some(({ job_id: job }) => job === `differences:${id}`)) return null;
  const job = await service.value.call('getJob', { params: { job_id: `differences:${id}` }, signal });
  if (job.status !== 'succeeded') return { job, view: null };
  return { job, view: await service.value.call('getDifference', { params: { index_id: id }, signal }) };
}

/** Tab that explains why a level from outside differs from the run. */
export function OutsideLevel({ id, run }: RunPartProps) {
  const { start: from, end: to } = run;
  const last = useResource(`outside level ${id}`, (signal) => readLastComparison(id, signal));
  const [chosen, setChosen] = useState<ChosenFile | null>(null);
  const [answers, setAnswers] = useState<Partial<LevelMapping>>({});
  const [variant, setVariant] = useState<Variant | ''>('');
  // The last result is that of another file until the chosen one is compared.
  const [isOfOther, setIsOfOther] = useState(false);
  const reading = useMemo(() => (chosen === null ? null : readFile(chosen.file, answers)), [chosen, answers]);
  if (!may('run')) return <MayNot scope="run" what="compare levels" />;
  const choose = async (file: File): Promise<void> => {
    setChosen({ name: file.name, file: openLevelFile(await file.text()) });
    setAnswers({});
    setIsOfOther(true);
  };
  const answer = (mapping: Partial<LevelMapping>): void => {
    setAnswers(mapping);
    setIsOfOther(true);
  };
  const submit = (onRefusal: OnRefusal): Promise<unknown> =>
    submitJob(
      () =>
        service.value.call('explainDifference', {
          params: { index_id: id },
          query: readShownRun(),
          body: {
            name: chosen?.name.slice(0, NAME_MAX),
            levels: [...(reading?.read?.levels ?? [])],
            variant: variant === '' ? null : variant,
          },
        }),
      onRefusal,
    ).then((job) => {
      if (job !== undefined) setIsOfOther(false);
      return last.reload();
    });
  return (
    <>
      <Section title="Compare with a published level">
        <p class="quiet">
          A CSV file with dates and levels. Only dates from {from} to {to} are compared.
        </p>
        <FileChoice label="File of levels" onChoose={choose}>
          Choose a file
        </FileChoice>
        {chosen !== null && reading !== null && (
          <ReadFile chosen={chosen} reading={reading} answers={answers} onAnswer={answer} />
        )}
        {reading?.read != null && <Hints id={id} read={reading.read} />}
        <Choice<Variant | ''>
          label="Return variant"
          options={VARIANTS}
          value={variant}
          onChoose={(value) => setVariant(value)}
        />
        <div>
          <ActionButton kind="main" act={submit} disabled={reading?.read == null}>
            Explain the difference
          </ActionButton>
        </div>
      </Section>
      {!isOfOther && (
        <Answered resource={last} what="the last comparison">
          {(comparison) => {
            if (comparison === null) return null;
            const { job, view } = comparison;
            return view === null ? (
              <JobState job={{ ...job, ...getJob(job.job_id) }} />
            ) : (
              <>
                <OtherRun id={id} view={view}>
                  {reading?.read == null ? (
                    <FileChoice label="File of levels to compare again" onChoose={choose}>
                      Choose the file again
                    </FileChoice>
                  ) : (
                    <ActionButton act={submit}>Compare again</ActionButton>
                  )}
                </OtherRun>
                <Explanation id={id} view={view} store={run.store_id} at={job.finished_at} />
              </>
            );
          }}
        </Answered>
      )}
    </>
  );
}

/** Maximum number of characters of a name of levels. */
const NAME_MAX = 200;

interface FileReading {
  readonly mapping: LevelMapping;
  /** Members that the user must choose. */
  readonly unsure: readonly UnsureMember[];
  readonly problem: string | null;
  readonly read: ReadLevels | null;
}

/** Reads a file unless a member of its mapping is unsure. */
function readFile(file: LevelFile, answers: Partial<LevelMapping>): FileReading {
  const { mapping, unsure } = proposeLevelMapping(file, answers);
  if (unsure.length > 0) return { mapping, unsure, problem: null, read: null };
  const read = readLevelFile(file, mapping);
  return 'problem' in read
    ? { mapping, unsure, problem: read.problem, read: null }
    : { mapping, unsure, problem: null, read };
}

interface ReadFileProps {
  readonly chosen: ChosenFile;
  readonly reading: FileReading;
  readonly answers: Partial<LevelMapping>;
  onAnswer(answers: Partial<LevelMapping>): void;
}

/** Number of rows that are shown as they were read. */
const SHOWN_ROWS = 3;

/** Renders how a file was read, its first rows, and a form for what the file does not determine. */
function ReadFile({ chosen: { name, file }, reading, answers, onAnswer }: ReadFileProps) {
  const { mapping, unsure, problem, read } = reading;
  const columns = file.columns.map((column, k) => (column === '' ? `Column ${k + 1}` : column));
  return (
    <>
      {problem !== null && <Banner kind="bad" title={`${name}: ${problem}`} />}
      {unsure.length > 0 && <Banner kind="warning" title={`${name} can be read in several ways.`} />}
      {read !== null && (
        <p>
          <strong>{name}</strong>: {countValues(read.levels.length, 'level')}, {read.levels[0]!.date} to{' '}
          {read.levels.at(-1)!.date}
        </p>
      )}
      <details open={unsure.length + Object.keys(answers).length > 0}>
        <summary>Columns, dates and numbers</summary>
        <MappingForm {...{ columns, mapping, unsure, answers, onAnswer }} />
      </details>
      {read === null ? (
        <WrittenTable label="First rows of the file" heads={columns}>
          {file.lines.slice(0, SHOWN_ROWS).map(({ line, cells }) => (
            <tr key={line}>
              {columns.map((column, k) => (
                <td key={`${k} ${column}`}>{cells[k]}</td>
              ))}
            </tr>
          ))}
        </WrittenTable>
      ) : (
        <WrittenTable
          label="First rows as read"
          heads={[
            `${columns[mapping.date]} (${ORDER_WORDS[mapping.order]})`,
            `${columns[mapping.value]} (${DECIMAL_WORDS[mapping.decimal]})`,
          ]}
        >
          {read.levels.slice(0, SHOWN_ROWS).map(({ date, value }: DatedLevel) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              <td>{value}</td>
            </tr>
          ))}
        </WrittenTable>
      )}
    </>
  );
}

interface MappingFormProps
  extends Pick<ReadFileProps, 'answers' | 'onAnswer'>, Pick<FileReading, 'mapping' | 'unsure'> {
  readonly columns: readonly string[];
}

/** Renders the columns, the dates and the numbers of a file of levels. An unsure member has no value until it is chosen. */
function MappingForm({ columns, mapping, unsure, answers, onAnswer }: MappingFormProps) {
  const positions = Object.fromEntries(columns.map((column, k) => [String(k), column]));
  const specs: readonly FieldSpec[] = [
    { name: 'date', label: 'Column of the dates', kind: 'choice', choices: Object.keys(positions), words: positions },
    { name: 'value', label: 'Column of the levels', kind: 'choice', choices: Object.keys(positions), words: positions },
    { name: 'order', label: 'Dates', kind: 'choice', choices: Object.keys(ORDER_WORDS), words: ORDER_WORDS },
    { name: 'decimal', label: 'Numbers', kind: 'choice', choices: Object.keys(DECIMAL_WORDS), words: DECIMAL_WORDS },
  ];
  return (
    <FieldGrid>
      {specs.map((spec) => {
        const member = spec.name as keyof LevelMapping;
        const questions = unsure.filter((one) => one.member === member).map(({ question }) => question);
        return (
          <Field
            key={member}
            spec={{ ...spec, isRequired: true }}
            value={questions.length > 0 ? undefined : String(mapping[member])}
            notes={questions}
            findings={[]}
            onChange={(value) => {
              const chosen = member === 'date' || member === 'value' ? Number(value) : value;
              onAnswer({ ...answers, [member]: chosen });
            }}
          />
        );
      })}
    </FieldGrid>
  );
}

/** Renders what the user should know before the comparison. */
function Hints({ id, read }: { readonly id: string; readonly read: ReadLevels }) {
  const own = useResource(`levels to compare ${formatRunKey(id)}`, (signal) =>
    service.value.call('getLevels', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  const hints = useMemo(() => (own.data === undefined ? [] : listHints(read, own.data.levels)), [read, own.data]);
  return (
    <>
      {hints.map(({ kind, text }) => (
        <Banner key={text} kind={kind} title={text} />
      ))}
    </>
  );
}

interface OtherRunProps {
  readonly id: string;
  readonly view: DifferencesView;
  /** Control that compares the levels with the run on this page. */
  readonly children: ComponentChildren;
}

/** Renders a note if the comparison is of another run than the one on this page. */
function OtherRun({ id, view, children }: OtherRunProps) {
  const { run_id: named } = readShownRun();
  const newest = useResource(named === undefined ? `newest run ${id} to compare` : null, (signal) =>
    readNewestRun(id, signal),
  );
  const shown = named ?? newest.data?.run_id;
  if (shown === undefined || shown === view.run_id) return null;
  return (
    <Banner
      kind="warning"
      title={
        named === undefined
          ? `This comparison is of an earlier run of ${id}.`
          : `This comparison is of another run of ${id} than the one on this page.`
      }
      action={children}
    >
      <p>Its levels and causes can differ from those of the run on this page.</p>
    </Banner>
  );
}

interface FileChoiceProps {
  readonly label: string;
  readonly children: string;
  onChoose(file: File): Promise<void>;
}

function FileChoice({ label, children, onChoose }: FileChoiceProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <input
        ref={input}
        hidden
        type="file"
        aria-label={label}
        accept=".csv,.txt"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) void onChoose(file);
          currentTarget.value = '';
        }}
      />
      <Button onClick={() => input.current?.click()}>{children}</Button>
    </div>
  );
}

/** Causes that only together explain a session, or one cause. */
interface Step {
  readonly causes: readonly DifferenceCause[];
  /** Number of causes of this step and those before it. */
  readonly end: number;
  readonly sentence: string;
  readonly sessions: number;
  readonly effect: number;
}

const listSteps = ({ causes, steps }: DifferencesView): readonly Step[] =>
  steps.map((step) => ({
    causes: step.causes.map((k) => causes[k]!),
    end: step.causes.at(-1)! + 1,
    sentence: step.sentence,
    sessions: step.sessions,
    effect: step.effect_bps,
  }));

const formatBasisPoints = (value: number): string => `${formatDecimal(value, 4)} bps`;

interface ExplanationProps {
  readonly id: string;
  readonly view: DifferencesView;
  /** Store of the run; null if it is unknown. */
  readonly store: string | null;
  /** Time of the computation. */
  readonly at: string | null;
}

function Explanation({ id, view, store, at }: ExplanationProps) {
  const { sessions, largest, shapes, reproduced, outside, returns } = view;
  const steps = listSteps(view);
  const columns = createColumns(store);
  const largestFirst = sessions.unexplained.toSorted((a, b) => Math.abs(b.difference_bps) - Math.abs(a.difference_bps));
  const currency = view.causes.find(({ subject, manner }) => subject === 'currency' && manner === 'value')?.identifier;
  const save = (): void =>
    saveFile(`differences-${id}.json`, new TextEncoder().encode(`${JSON.stringify(view, null, 2)}\n`));
  return (
    <>
      <Section title="Difference" aside={<Button onClick={save}>Download as JSON</Button>}>
        <Facts
          facts={[
            [
              'Levels',
              outside &&
                `${outside.name ?? 'without a name'}: ${countValues(outside.count, 'level')}, ${outside.first} to ${outside.last}`,
            ],
            ['Computed', at && formatMoment(at, true)],
            ['Return variant', view.variant],
            ['Currency', currency ?? 'that of the index'],
            ['Decimals', view.decimals === null ? 'not rounded' : String(view.decimals)],
            ['Scale', view.scale === 1 ? null : String(view.scale), 'Outside level over own level at the start'],
            ['Common sessions', formatCount(sessions.common)],
            ['Levels on no session of the run', sessions.unmatched ? formatCount(sessions.unmatched) : null],
            ['Equal within rounding', countValues(sessions.equal, 'session')],
            ['Equal with all causes', countValues(sessions.explained, 'session')],
            [
              'Largest difference',
              `${formatBasisPoints(largest.difference_bps)} on ${largest.date}: ${formatFigure(largest.own)}, outside ${formatFigure(largest.outside)}`,
            ],
            [
              'Equal returns',
              returns &&
                `${formatCount(returns.equal)} of ${formatCount(returns.count)}${returns.correlation === null ? '' : `, correlation ${returns.correlation.toFixed(4)}`}`,
              'Returns between common sessions that agree within rounding, before any cause',
            ],
            ['Mean absolute difference', formatBasisPoints(view.mean_absolute_bps)],
            ['Course', shapes.join(', '), 'Shape of the difference over the sessions'],
          ]}
        />
        {returns?.sentence !== undefined && <Banner kind="warning" title={returns.sentence} />}
        <Banner
          kind={reproduced ? 'good' : 'warning'}
          title={
            reproduced
              ? 'With all causes, the run equals the outside level on every common session.'
              : `${countValues(sessions.unexplained.length, 'session')} without an explanation.`
          }
        />
        <Remaining view={view} steps={steps} />
      </Section>
      <Section
        title="Causes"
        aside={
          <TableExport
            label="causes"
            fileName={`differences-${id}`}
            listCells={() => ({
              header: [...columns.map(({ title }) => title), 'Difference (bps)'],
              rows: [
                ...steps.map((step) => [...columns.map((column) => readCell(column, step)), null]),
                ...sessions.unexplained.map((session) => listUnexplainedCells(columns, session)),
              ],
            })}
          />
        }
      >
        {steps.length === 0 ? (
          <p class="quiet">There is no cause.</p>
        ) : (
          <>
            <Table
              label="causes of the difference"
              name={`differences-${id}`}
              columns={columns}
              rows={steps}
              getKey={({ end }) => String(end)}
            />
            <p class="quiet">
              Sessions: levels that agree only with this cause. Effect: of this cause alone on the last common level, in
              basis points. Ties: other causes that explain the same sessions equally well. Causes that only together
              explain a session are one row.
            </p>
            <h3>Next steps, and the change of each cause</h3>
          </>
        )}
        {steps.map((step) => (
          <StepDetails key={step.end} id={id} step={step} steps={steps} store={store} />
        ))}
        {sessions.unexplained.length > 0 && (
          <WrittenTable
            label="Sessions without an explanation"
            heads={['Session', 'Outside less own, largest first', 'What it shows']}
          >
            {largestFirst.map(({ date, difference_bps: size, sentence }) => (
              <tr key={date}>
                <th scope="row">{date}</th>
                <td>{formatBasisPoints(size)}</td>
                <td>{sentence}</td>
              </tr>
            ))}
          </WrittenTable>
        )}
      </Section>
    </>
  );
}

type UnexplainedSession = DifferencesView['sessions']['unexplained'][number];

/** Returns the cells of a session without an explanation, in the columns of the causes and one with its difference. */
function listUnexplainedCells(
  columns: readonly Column<Step>[],
  { date, difference_bps: size, sentence = '' }: UnexplainedSession,
): readonly CellValue[] {
  const own: Readonly<Record<string, string>> = { date, subject: 'Unexplained', sentence };
  return [...columns.map(({ id }) => own[id] ?? null), size];
}

const joinDifferent = (texts: readonly string[]): string => [...new Set(texts)].join(', ');

/** Subjects whose identifier is no security. */
const WITHOUT_SECURITY: ReadonlySet<DifferenceCause['subject']> = new Set(['tax', 'currency']);

/** Months before and after a cause that the page of its security shows. */
const SHOWN_MONTHS = 3;

/** Returns the address of the prices and events of a security around the date of a cause. */
function formatCauseAddress({ identifier, date }: DifferenceCause, store: string | null): string {
  const address = formatSecurityAddress(identifier!);
  if (date === null) return formatAddress(address, { store });
  return formatAddress(address, {
    store,
    from: subtractMonths(date, SHOWN_MONTHS),
    to: subtractMonths(date, -SHOWN_MONTHS),
  });
}

const isOfSecurity = ({ identifier, subject }: DifferenceCause): boolean =>
  identifier !== null && !WITHOUT_SECURITY.has(subject);

const createColumns = (store: string | null): readonly Column<Step>[] => [
  {
    id: 'date',
    title: 'Date',
    help: 'Ex-date, session or effective date',
    width: 96,
    value: ({ causes: [first] }) => first!.date ?? 'from the start',
  },
  {
    id: 'subject',
    title: 'Subject',
    help: 'Event, price, rule or convention that differs',
    width: 110,
    value: ({ causes }) => joinDifferent(causes.map(({ subject }) => formatLabel(subject))),
  },
  {
    id: 'manner',
    title: 'Manner',
    help: 'What the outside level did, compared with the run',
    width: 80,
    value: ({ causes }) => joinDifferent(causes.map(({ manner }) => manner)),
  },
  {
    id: 'identifier',
    title: 'Security',
    help: 'Security, exchange rate or country',
    width: 100,
    value: ({ causes }) => joinDifferent(causes.map(({ identifier }) => identifier ?? '')),
    show: ({ causes }) =>
      causes.map((cause, k) => (
        <>
          {k > 0 && ', '}
          {isOfSecurity(cause) ? <a href={formatCauseAddress(cause, store)}>{cause.identifier}</a> : cause.identifier}
        </>
      )),
  },
  { id: 'sentence', title: 'Cause', width: 220, grow: 3, lines: 2 },
  { id: 'sessions', title: 'Sessions', help: 'Levels that agree only with this cause', width: 80, write: formatCount },
  {
    id: 'effect',
    title: 'Effect (bps)',
    help: 'Effect of the cause alone on the last common level',
    width: 100,
    write: (effect) => formatDecimal(effect, 4),
  },
  {
    id: 'ties',
    title: 'Ties',
    help: 'Other causes that explain the same sessions equally well',
    width: 60,
    value: ({ causes }) => causes.reduce((count, { ties }) => count + ties.length, 0),
    write: formatCount,
  },
];

interface StepDetailsProps {
  readonly id: string;
  readonly step: Step;
  readonly steps: readonly Step[];
  readonly store: string | null;
}

/** Renders the next steps after a cause, the change that reproduces the outside level, and the causes that explain it as well. */
function StepDetails({ id, step, steps, store }: StepDetailsProps) {
  const { causes, sentence } = step;
  const ties = causes.flatMap((cause) => cause.ties);
  const changes = causes.map(({ change }) => change);
  return (
    <details>
      <summary>{sentence}</summary>
      <NextSteps id={id} step={step} steps={steps} store={store} />
      {causes.length > 1 && (
        <ul aria-label="Causes of this step, each alone">
          {causes.map((cause) => (
            <li key={cause.sentence}>
              {cause.sentence} Alone: {formatBasisPoints(cause.effect_bps)}.
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>Change as JSON</summary>
        <pre>{JSON.stringify(changes.length === 1 ? changes[0] : changes, null, 2)}</pre>
      </details>
      {ties.length > 0 && (
        <>
          <p class="quiet">Instead of it, one of these explains the sessions equally well:</p>
          <ul aria-label="Causes that explain the sessions equally well">
            {ties.map((tie) => (
              <li key={tie.sentence}>{tie.sentence}</li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}

/** Maximum number of prices of a cause that are linked. */
const PRICES_MAX = 5;

/** Renders links to the security and the events of a cause, and to the pages that store its change. */
function NextSteps({ id, step: { causes, end }, steps, store }: StepDetailsProps) {
  const data = causes.flatMap(({ change }) => change.data);
  const prices = data.filter(({ table, field, value }) => table === 'market' && field === 'CLOSE' && value !== null);
  const events = data.filter(({ table }) => table === 'corporate_actions');
  const rows = causes.flatMap(listAddedRows);
  const ofDocument = causes.flatMap(({ change }) => change.document);
  const before = steps.filter((one) => one.end <= end).flatMap((one) => one.causes);
  const count = before.reduce((sum, { change }) => sum + change.document.length, 0);
  return (
    <ul aria-label="Next steps">
      {causes.filter(isOfSecurity).map((cause) => (
        <li key={cause.sentence}>
          <a href={formatCauseAddress(cause, store)}>
            Prices and events of {cause.identifier}
            {cause.date !== null && ` around ${cause.date}`}
          </a>
        </li>
      ))}
      {events.length > 0 && (
        <li>
          <a href={formatAddress('/console/actions', { store, scope: 'all', from: events[0]!.date })}>
            Corporate actions of the store from {events[0]!.date}
          </a>
        </li>
      )}
      {store !== null && rows.length > 0 && <AddedRows store={store} rows={rows} />}
      {store !== null &&
        prices.slice(0, PRICES_MAX).map(({ identifier, date, value }) => (
          <li key={`${identifier} ${date}`}>
            <a
              href={formatAddress(storeAddress(store), {
                tab: 'overrides',
                security: identifier,
                date,
                price: String(value),
              })}
            >
              Store {String(value)} as a correction of the price of {identifier} on {date}
            </a>
          </li>
        ))}
      {prices.length > PRICES_MAX && (
        <li>{formatCount(prices.length - PRICES_MAX)} further prices are in the change.</li>
      )}
      {ofDocument.length > 0 && (
        <li>
          <ActionButton act={() => openVersion(id, before)}>Open in the designer as a new version</ActionButton>
          {count > ofDocument.length && ' with the changes of the causes before'}
        </li>
      )}
    </ul>
  );
}

/** Row of the table of corporate actions. */
type ActionRow = Readonly<Record<string, CellValue>>;

/** Returns the rows that a cause adds to the corporate actions; none if it also removes or changes a row. */
function listAddedRows({ change: { data } }: DifferenceCause): readonly ActionRow[] {
  return data.every(({ table, added }) => table === 'corporate_actions' && added === true)
    ? data.map(({ value }) => value as ActionRow)
    : [];
}

const ACTIONS_FILE = 'corporate_actions.csv';

/** First columns of the file, which it requires. */
const ACTION_COLUMNS = ['identifier', 'type', 'value', 'ex_date'];

/** Returns rows as a file of corporate actions that an import reads. */
function formatActionsFile(rows: readonly ActionRow[]): Uint8Array<ArrayBuffer> {
  const header = [...new Set([...ACTION_COLUMNS, ...rows.flatMap(Object.keys)])];
  return new TextEncoder().encode(
    formatCommaSeparated({ header, rows: rows.map((row) => header.map((name) => row[name] ?? null)) }),
  );
}

interface AddedRowsProps {
  readonly store: string;
  readonly rows: readonly ActionRow[];
}

/** Renders how the rows of an event that the store lacks are stored. Rows are imported only into an imported store. */
function AddedRows({ store, rows }: AddedRowsProps) {
  const kind = findStoreOfDocument(useStores().data?.stores, store)?.kind;
  const what = rows.length === 1 ? 'the row' : `the ${rows.length} rows`;
  const bytes = formatActionsFile(rows);
  const bring = (): void => {
    offerFiles([new File([bytes], ACTIONS_FILE, { type: 'text/csv' })]);
    navigate(formatAddress('/console/data/import', { store_id: store }));
  };
  return (
    <li>
      {kind === 'imported' && may('data') && (
        <Button onClick={bring}>
          Import {what} into {store}
        </Button>
      )}{' '}
      <Button onClick={() => saveFile(ACTIONS_FILE, bytes)}>
        Download {what} as {ACTIONS_FILE}
      </Button>
      {kind !== undefined && kind !== 'imported' && ` Add ${what} to the source of ${store}, and refresh the store.`}
    </li>
  );
}

/** Returns the reviews that causes move or leave out. */
const listMoves = (causes: readonly DifferenceCause[]): readonly ReviewMove[] =>
  causes.flatMap(({ subject, manner, date }) =>
    subject === 'rebalance' && date !== null && (manner === 'ignored' || manner === 'early' || manner === 'late')
      ? [{ date, manner }]
      : [],
  );

/**
 * Opens the designer with a changed definition, to be saved as a new version. A moved review is an amendment; where it
 * cannot be one, a message says that the dates of all reviews replace the schedule.
 */
const openVersion = (id: string, causes: readonly DifferenceCause[]): Promise<unknown> =>
  tryAction(async () => {
    const operations = causes.flatMap(({ change }) => change.document);
    const read = async (index: string): Promise<JsonObject> =>
      (await service.value.call('getIndex', { params: { index_id: index } })) as unknown as JsonObject; // plain JSON
    const own = await read(id);
    // Changes of the index beneath an overlay begin with its id.
    const source = String(own['source_index_id'] ?? '');
    const isBeneath = source !== '' && operations.every(({ path }) => path.startsWith(`/${source}/`));
    const target = isBeneath ? source : id;
    if (readDraft(target) !== null)
      throw new Error(`The designer has unsaved changes of ${target}. Save or discard them first.`);
    const changes = isBeneath
      ? operations.map((one) => ({ ...one, path: one.path.slice(source.length + 1) }))
      : operations;
    const stored = isBeneath ? await read(source) : own;
    const patched = patchDraft(stored, changes);
    const draft = moveReviews(stored, patched, listMoves(causes)) ?? patched;
    const [rule, dated] = [stored, draft].map((one) => one['rebalance'] as JsonObject | undefined);
    if (dated?.['frequency'] === 'custom' && rule?.['frequency'] !== 'custom')
      showToast(
        'info',
        `The draft replaces the schedule of ${target} by the dates of the compared reviews. There are no reviews after the last one.`,
      );
    keepDraft(target, draft);
    navigate(`${formatIndexAddress(target)}/edit`);
  });

interface RemainingProps {
  readonly view: DifferencesView;
  readonly steps: readonly Step[];
}

/** Renders the difference by session, without the causes one step after another. */
function Remaining({ view: { remaining }, steps }: RemainingProps) {
  if (steps.length === 0) return null;
  const name = ({ causes }: Step): string =>
    joinDifferent(causes.map(({ identifier, subject }) => identifier ?? formatLabel(subject).toLowerCase()));
  const lines: readonly Line[] = [
    { id: '0', label: 'Difference', values: remaining.bps[0]!, colour: 1 },
    ...steps.map((step, k) => ({
      id: String(step.end),
      label: `${k === 0 ? 'without' : 'and without'} ${name(step)}`,
      values: remaining.bps[step.end]!,
      colour: ((k + 1) % 8) + 1,
    })),
  ];
  return (
    <Chart
      label="Difference in basis points, causes removed one after another"
      dates={remaining.dates}
      lines={lines}
      hasZero
      hasLegend
    />
  );
}
