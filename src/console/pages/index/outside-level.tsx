import type { DifferenceCause, DifferencesView, JobStatus } from '#clients/typescript/divisor.js';
import { useRef, useState } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { TableExport } from '../../components/controls/menu.js';
import { Answered, Banner } from '../../components/feedback.js';
import { JobState } from '../../components/jobs.js';
import { Facts } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { type Column, readCell } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { type OnRefusal, submitJob } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getJob } from '../../state/live.js';
import { readShownRun } from '../../state/runs.js';
import { may, service, useResource } from '../../state/service.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatCount, formatDecimal, formatFigure } from '../../words/numbers.js';
import type { RunPartProps } from './run-tabs.js';

type Variant = 'price' | 'total' | 'net';

/** Levels that the user chose. */
interface ChosenLevels {
  readonly name: string;
  readonly levels: readonly { readonly date: string; readonly value: number }[];
}

const VARIANTS = [
  { value: '', text: 'Found from the levels' },
  { value: 'price', text: 'Price return' },
  { value: 'total', text: 'Total return' },
  { value: 'net', text: 'Net return' },
] as const;

/** Maximum number of jobs in a response. */
const LISTED_MAX = 500;

/** Returns the last explanation of an index; null if there is none. The service stores only the last one. */
async function readLastExplanation(id: string, signal: AbortSignal): Promise<JobStatus | null> {
  const { jobs } = await service.value.call('listJobs', {
    query: { kind: ['differences'], limit: LISTED_MAX },
    signal,
  });
  const isListed = jobs.some(({ job_id: job }) => job === `differences:${id}`);
  return isListed ? service.value.call('getJob', { params: { job_id: `differences:${id}` }, signal }) : null;
}

/** Names of the column of levels in a file; otherwise it is the first column that is not the date. */
const LEVEL_NAMES = ['value', 'level', 'close'];

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Dates of spreadsheets: 28.6.2024, and 6/28/2024 or 28/6/2024. */
const DOTTED_DATE = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/;
const SLASHED_DATE = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/;

const toDate = (year: string, month: string, day: string): string =>
  `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;

/** Returns a function that writes a date of a column as 2024-06-28. A part above 12 is a day; otherwise a date with / has the month first. */
function createDateReader(dates: readonly string[]): (date: string) => string {
  const isDayFirst = dates.some((date) => Number(SLASHED_DATE.exec(date)?.[1]) > 12);
  return (date) => {
    const dotted = DOTTED_DATE.exec(date);
    if (dotted !== null) return toDate(dotted[3]!, dotted[2]!, dotted[1]!);
    const slashed = SLASHED_DATE.exec(date);
    if (slashed === null) return date;
    const [first, second, year] = slashed.slice(1) as [string, string, string];
    return isDayFirst ? toDate(year, second, first) : toDate(year, first, second);
  };
}

/** Returns the text of a number with a decimal point. In a file whose cells are not separated by a comma, a comma is one. */
const readNumberText = (cell: string, separator: string): string =>
  separator !== ',' && cell.includes(',') ? cell.replaceAll('.', '').replace(',', '.') : cell;

type ParsedLevels =
  | { readonly levels: readonly { readonly date: string; readonly value: number }[] }
  | { readonly problem: string };

/** Reads levels from the text of a CSV file with a header. Rows without a level are left out. */
function parseLevels(text: string): ParsedLevels {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const separator = lines[0]?.includes(';') ? ';' : lines[0]?.includes('\t') ? '\t' : ',';
  const rows = lines.map((line) => line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1')));
  const [header = [], ...body] = rows;
  const names = header.map((name) => name.toLowerCase());
  const dateAt = Math.max(0, names.indexOf('date'));
  const named = names.findIndex((name) => LEVEL_NAMES.includes(name));
  const valueAt = named >= 0 ? named : dateAt === 0 ? 1 : 0;
  const levels: { date: string; value: number }[] = [];
  const readDate = createDateReader(body.map((cells) => cells[dateAt] ?? ''));
  for (const [k, cells] of body.entries()) {
    const [date, cell = ''] = [readDate(cells[dateAt] ?? ''), cells[valueAt]];
    if (cell === '') continue;
    const value = Number(readNumberText(cell, separator));
    if (!DATE.test(date))
      return {
        problem: `line ${k + 2} has the date ${date}; dates are written as 2024-06-28, 6/28/2024 or 28.6.2024.`,
      };
    if (!(value > 0)) return { problem: `line ${k + 2} has the level ${cell}, which is not a number above 0.` };
    levels.push({ date, value });
  }
  if (levels.length < 2) return { problem: `has ${levels.length} levels; a comparison needs at least 2.` };
  return { levels: levels.toSorted((a, b) => (a.date < b.date ? -1 : 1)) };
}

/** Tab that explains why a level from outside differs from the run. */
export function OutsideLevel({ id, run: { start: from, end: to } }: RunPartProps) {
  const last = useResource(`outside level ${id}`, (signal) => readLastExplanation(id, signal));
  const [chosen, setChosen] = useState<ChosenLevels | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const [variant, setVariant] = useState<Variant | ''>('');
  // The last result is that of another file until the chosen one is compared.
  const [isOfOther, setIsOfOther] = useState(false);
  if (!may('run')) return <MayNot scope="run" what="compare levels" />;
  const choose = async (file: File): Promise<void> => {
    const parsed = parseLevels(await file.text());
    setRefused('problem' in parsed ? `${file.name}: ${parsed.problem}` : null);
    setChosen('problem' in parsed ? null : { name: file.name, levels: parsed.levels });
    setIsOfOther(true);
  };
  const submit = (onRefusal: OnRefusal): Promise<unknown> =>
    submitJob(
      () =>
        service.value.call('explainDifference', {
          params: { index_id: id },
          query: readShownRun(),
          body: { levels: [...(chosen?.levels ?? [])], variant: variant === '' ? null : variant },
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
          A CSV file with a header and the columns date and value (or level, or close). Only dates from {from} to {to}{' '}
          are compared.
        </p>
        <FileChoice onChoose={choose} />
        {refused !== null && <Banner kind="bad" title={refused} />}
        {chosen !== null && (
          <p>
            <strong>{chosen.name}</strong>: {countValues(chosen.levels.length, 'level')}, {chosen.levels[0]!.date} to{' '}
            {chosen.levels.at(-1)!.date}
          </p>
        )}
        <Choice<Variant | ''>
          label="Return variant"
          options={VARIANTS}
          value={variant}
          onChoose={(value) => setVariant(value)}
        />
        <div>
          <ActionButton kind="main" act={submit} disabled={chosen === null}>
            Explain the difference
          </ActionButton>
        </div>
      </Section>
      {!isOfOther && (
        <Answered resource={last} what="the last comparison">
          {(stored) => {
            if (stored === null) return null;
            const job = { ...stored, ...getJob(stored.job_id), result: stored.result };
            const result = job.result as DifferencesView | null; // the kind of the job determines the type of its result
            return result === null ? <JobState job={job} /> : <Explanation id={id} view={result} />;
          }}
        </Answered>
      )}
    </>
  );
}

interface FileChoiceProps {
  onChoose(file: File): Promise<void>;
}

function FileChoice({ onChoose }: FileChoiceProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <input
        ref={input}
        hidden
        type="file"
        aria-label="File of levels"
        accept=".csv,.txt"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) void onChoose(file);
          currentTarget.value = '';
        }}
      />
      <Button onClick={() => input.current?.click()}>Choose a file</Button>
    </div>
  );
}

interface ExplanationProps {
  readonly id: string;
  readonly view: DifferencesView;
}

function Explanation({ id, view }: ExplanationProps) {
  const { sessions, causes, largest, shapes, reproduced } = view;
  const largestFirst = sessions.unexplained.toSorted((a, b) => Math.abs(b.difference_bps) - Math.abs(a.difference_bps));
  const save = (): void =>
    saveFile(`differences-${id}.json`, new TextEncoder().encode(`${JSON.stringify(view, null, 2)}\n`));
  return (
    <>
      <Section title="Difference" aside={<Button onClick={save}>Download as JSON</Button>}>
        <Facts
          facts={[
            ['Common sessions', formatCount(sessions.common)],
            ['Levels on no session of the run', sessions.unmatched ? formatCount(sessions.unmatched) : null],
            ['Equal within rounding', formatCount(sessions.equal)],
            ['Equal with all causes', formatCount(sessions.explained)],
            [
              'Largest difference',
              `${formatDecimal(largest.difference_bps, 4)} bp on ${largest.date}: ${formatFigure(largest.own)}, outside ${formatFigure(largest.outside)}`,
            ],
            ['Mean absolute difference', `${formatDecimal(view.mean_absolute_bps, 4)} bp`],
            ['Course', shapes.join(', ')],
            ['Return variant', view.variant],
            ['Scale', view.scale === 1 ? null : String(view.scale)],
          ]}
        />
        <Banner
          kind={reproduced ? 'good' : 'warning'}
          title={
            reproduced
              ? 'With all causes, the run equals the outside level on every common session.'
              : `${countValues(sessions.unexplained.length, 'session')} without an explanation.`
          }
        />
        <Remaining view={view} />
      </Section>
      <Section
        title="Causes"
        aside={
          <TableExport
            label="causes"
            fileName={`differences-${id}`}
            listCells={() => ({
              header: COLUMNS.map(({ title }) => title),
              rows: causes.map((cause) => COLUMNS.map((column) => readCell(column, cause))),
            })}
          />
        }
      >
        {causes.length === 0 ? (
          <p class="quiet">There is no cause.</p>
        ) : (
          <Table
            label="causes of the difference"
            name={`differences-${id}`}
            columns={COLUMNS}
            rows={causes}
            getKey={(cause) => `${causes.indexOf(cause)}`}
          />
        )}
        {causes.map((cause, k) => (
          <Change key={k} cause={cause} />
        ))}
        {sessions.unexplained.length > 0 && (
          <WrittenTable label="Sessions without an explanation" heads={['Session', 'Difference (bp), largest first']}>
            {largestFirst.map(({ date, difference_bps: size }) => (
              <tr key={date}>
                <th scope="row">{date}</th>
                <td>{formatDecimal(size, 4)}</td>
              </tr>
            ))}
          </WrittenTable>
        )}
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<DifferenceCause>[] = [
  { id: 'date', title: 'Date', width: 96, value: ({ date }) => date ?? 'from the start' },
  { id: 'subject', title: 'Subject', width: 110, value: ({ subject }) => formatLabel(subject) },
  { id: 'manner', title: 'Manner', width: 80 },
  { id: 'identifier', title: 'Security', width: 100 },
  { id: 'sentence', title: 'Cause', width: 220, grow: 3, lines: 2 },
  { id: 'sessions', title: 'Sessions', width: 80, write: formatCount },
  {
    id: 'effect',
    title: 'Effect (bp)',
    help: 'Effect of the cause alone on the last common level',
    width: 90,
    value: ({ effect_bps: effect }: DifferenceCause) => effect,
    write: (effect) => formatDecimal(effect, 4),
  },
  {
    id: 'ties',
    title: 'Ties',
    help: 'Other causes that explain the same sessions equally well',
    width: 60,
    value: ({ ties }: DifferenceCause) => ties.length,
    write: formatCount,
  },
];

/** Renders the change that reproduces the outside level, and the causes that explain it as well. */
function Change({ cause: { sentence, change, ties } }: { readonly cause: DifferenceCause }) {
  return (
    <details>
      <summary>{sentence}</summary>
      <pre>{JSON.stringify(change, null, 2)}</pre>
      {ties.length > 0 && (
        <ul aria-label="Causes that explain the sessions equally well">
          {ties.map((tie) => (
            <li key={tie.sentence}>{tie.sentence}</li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** Renders the difference by session, without the causes one after another. */
function Remaining({ view: { remaining, causes } }: Pick<ExplanationProps, 'view'>) {
  if (causes.length === 0) return null;
  const lines: readonly Line[] = remaining.bps.map((values, k) => ({
    id: String(k),
    label: k === 0 ? 'Difference' : `without ${k === 1 ? 'the first cause' : `the first ${k} causes`}`,
    values,
    colour: (k % 8) + 1,
  }));
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
