import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type {
  BacktestRecordCollection,
  JobStatus,
  RenderResult,
  ReportTemplateDocument,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Badge, type BadgeKind, Banner } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { useIntersection } from '../../components/layout/viewport.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { type OnRefusal, runIndex, submitJob, tryAction } from '../../state/actions.js';
import { addQuery, formatAddress, setParameters } from '../../state/location.js';
import { may, service, useAnswer, useList } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { formatJobId } from '../../words/jobs.js';
import { countValues, formatBytes, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { countFigureColumns, listReportIndices } from './report-words.js';

type Block = ReportTemplateDocument['blocks'][number];
type Paper = ReportTemplateDocument['page'];

/** Width of a page. The height depends on the paper size. */
const THUMBNAIL_WIDTH = 72;
const MARGIN = 6;
const GAP = 3;

/** Height of a page as a multiple of its width. */
const RATIOS: Readonly<Record<string, number>> = { A4: 297 / 210, LETTER: 11 / 8.5 };

/** Heights of some kinds of blocks in an outline. All other kinds are as high as a chart. */
const HEIGHTS: Readonly<Record<string, number>> = { header: 5, text: 8, stat_grid: 7 };
const CHART_HEIGHT = 13;
/** Height of a table row or a bar. */
const ROW_HEIGHT = 2.4;
const ROWS_MAX = 8;

/**
 * Returns the height of a block in an outline. It depends on the kind of the block, and for some kinds on other
 * members.
 */
const computeHeight = ({ kind, ...block }: Block): number => {
  const { limit = null, height = null } = block as { readonly limit?: number | null; readonly height?: number | null };
  if (kind === 'table' || kind === 'bar_chart') return 2 + ROW_HEIGHT * Math.min(limit ?? ROWS_MAX, ROWS_MAX);
  return kind === 'chart' && height !== null ? height / 12 : (HEIGHTS[kind] ?? CHART_HEIGHT);
};

const describeShape = (block: Block): Pick<ShapeProps, 'kind' | 'columns'> => ({
  kind: block.kind,
  columns: countFigureColumns(block as unknown as JsonObject), // a block is plain JSON
});

const isHalf = (block: Block): boolean => 'width' in block && block.width === 'half';

/**
 * Renders the outline of a template's first page. Blocks of half width are side by side, and each block has its own
 * shape.
 */
function Thumbnail({ blocks, page }: { readonly blocks: readonly Block[]; readonly page: Paper | undefined }) {
  const ratio = RATIOS[page?.size ?? 'A4'] ?? RATIOS['A4']!;
  const isWide = page?.orientation === 'landscape';
  const [width, height] = isWide
    ? [THUMBNAIL_WIDTH * ratio, THUMBNAIL_WIDTH]
    : [THUMBNAIL_WIDTH, THUMBNAIL_WIDTH * ratio];
  const shapes: ShapeProps[] = [];
  const fullWidth = width - 2 * MARGIN;
  let y = MARGIN;
  for (let k = 0; k < blocks.length && y < height - MARGIN - 3; k++) {
    const row = isHalf(blocks[k]!) && blocks[k + 1] !== undefined && isHalf(blocks[k + 1]!) ? [k, ++k] : [k];
    const w = isHalf(blocks[k]!) ? (fullWidth - GAP) / 2 : fullWidth;
    const h = Math.min(Math.max(...row.map((at) => computeHeight(blocks[at]!))), height - MARGIN - y);
    shapes.push(...row.map((at, place) => ({ ...describeShape(blocks[at]!), x: MARGIN + place * (w + GAP), y, w, h })));
    y += h + GAP;
  }
  return (
    <svg class="template-page" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <rect class="paper" x="0.5" y="0.5" width={width - 1} height={height - 1} rx="2" />
      {shapes.map((shape, k) => (
        <Shape key={k} {...shape} />
      ))}
    </svg>
  );
}

interface ShapeProps {
  readonly kind: string;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly columns?: number;
}

export function Shape({ kind, x, y, w, h, columns = 1 }: ShapeProps) {
  switch (kind) {
    case 'header':
      return <rect class="ink" x={x} y={y} width={w * 0.6} height={h} />;
    case 'text':
      return (
        <path class="rule" d={drawLines(h, (k, count) => `M${x} ${y + 1 + 2 * k}h${k === count - 1 ? w / 2 : w}`)} />
      );
    case 'table':
      return (
        <>
          <path class="small second table-head" d={`M${x} ${y + 1}h${w}`} />
          <path
            class="rule"
            d={drawLines(
              h - 3,
              (k) =>
                `M${x} ${y + 4 + 2 * k}h${w * 0.45}M${x + w * 0.6} ${y + 4 + 2 * k}h${w * 0.14}M${x + w * 0.86} ${y + 4 + 2 * k}h${w * 0.14}`,
            )}
          />
        </>
      );
    case 'stat_grid':
      return (
        <path
          class="rule"
          d={Array.from(
            { length: columns },
            (_, k) => `M${x + (k * w) / columns} ${y}h${w / columns - 2}v${h}h${2 - w / columns}z`,
          ).join('')}
        />
      );
    case 'bar_chart':
      return (
        <path
          class="bar-rows"
          d={[0, 1, 2, 3].map((k) => `M${x} ${y + 2 + (k * h) / 4}h${w * (1 - k / 5)}`).join('')}
        />
      );
    default:
      return (
        <>
          <path class="rule" d={`M${x} ${y}v${h}h${w}`} />
          <path
            class="curve"
            d={`M${x} ${y + h * 0.9}${CURVE_STEPS.map(([right, up]) => `l${w * right} ${-h * up}`).join('')}`}
          />
        </>
      );
  }
}

/** Steps of the line of a chart to the right and upwards, as shares of its width and height. */
const CURVE_STEPS = [
  [0.12, 0.1],
  [0.1, 0.22],
  [0.12, -0.12],
  [0.16, 0.28],
  [0.14, 0.06],
  [0.12, -0.18],
  [0.24, 0.44],
] as const;

/** Returns lines of text or of a table, two units apart. */
function drawLines(height: number, drawLine: (k: number, count: number) => string): string {
  const count = Math.max(1, Math.ceil(height / 2));
  return Array.from({ length: count }, (_, k) => drawLine(k, count)).join('');
}

/** Width of a picture in CSS pixels, as in the style sheet. */
const WIDTH = 106;

/** Distance from the window within which pictures are drawn, in per cent of its height. */
const NEAR_PERCENT = 50;

/** Maximum number of pictures that are kept. Each has about 130 kB on a display with two pixels per CSS pixel. */
const PICTURES_MAX = 60;

const pictures = new Map<string, Promise<HTMLCanvasElement>>();

/** Ends when the last requested picture is drawn. Pictures are drawn one after the other, because each has a worker. */
let lastDrawing: Promise<unknown> = Promise.resolve();

interface FirstPageProps {
  /** Id of a finished report. */
  readonly id: string;
  /** Id of its template, whose outline is shown until the page is drawn, and if the browser cannot draw it. */
  readonly template: string;
}

/** Renders a small picture of the first page of a report. It is drawn when it is near the window. */
export function FirstPage({ id, template }: FirstPageProps) {
  const frame = useRef<HTMLSpanElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [state, setState] = useState<'waiting' | 'drawn' | 'failed'>('waiting');
  const isNear = useIntersection(frame, `${NEAR_PERCENT}%`);
  useEffect(() => {
    if (!isNear) return undefined;
    let isRemoved = false;
    readPicture(id).then(
      (picture) => {
        if (isRemoved) return;
        copyPicture(picture, canvas.current!); // the element is in the document until the component is removed
        setState('drawn');
      },
      () => isRemoved || setState('failed'),
    );
    return () => {
      isRemoved = true;
    };
  }, [id, isNear]);
  return (
    <span ref={frame} class="report-cover" data-state={state}>
      {state !== 'drawn' && <TemplateOutline id={template} />}
      <canvas ref={canvas} hidden={state !== 'drawn'} aria-hidden="true" />
    </span>
  );
}

/** Returns the picture of the first page of a report. */
function readPicture(id: string): Promise<HTMLCanvasElement> {
  const known = pictures.get(id);
  if (known !== undefined) return known;
  const drawing = lastDrawing.then(() => drawPicture(id));
  pictures.set(id, drawing);
  lastDrawing = drawing.catch(() => pictures.delete(id)); // the caller handles the error
  if (pictures.size > PICTURES_MAX) pictures.delete(pictures.keys().next().value!);
  return drawing;
}

async function drawPicture(id: string): Promise<HTMLCanvasElement> {
  const bytes = await service.value.call('getRender', { params: { render_id: id } });
  const { openPdf } = await import('./pdf.js');
  const pdf = await openPdf(bytes);
  try {
    const picture = document.createElement('canvas');
    await pdf.drawPage({ number: 1, width: WIDTH, canvas: picture, signal: new AbortController().signal });
    return picture;
  } finally {
    pdf.close();
  }
}

function copyPicture(picture: HTMLCanvasElement, canvas: HTMLCanvasElement): void {
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext('2d')!.drawImage(picture, 0, 0); // browsers provide this context
}

function TemplateOutline({ id }: { readonly id: string }) {
  const template = useAnswer('getTemplate', { params: { template_id: id } }, { follows: false });
  const { blocks = [], page } = template.data ?? {};
  return <Thumbnail blocks={blocks} page={page} />;
}

interface BuiltInTemplateProps {
  readonly id: string;
  /** Index of the new template; null for the first index that has a run. */
  readonly index: string | null;
  /** Newest report of the template, whose first page is shown. Default: the outline of the template. */
  readonly report?: string | undefined;
  /** Button that renders the template. If present, a link to edit a copy is next to it. */
  readonly action?: ComponentChildren;
}

/** Renders a built-in template. It can be copied to a new template. */
export function BuiltInTemplate({ id, index, report, action }: BuiltInTemplateProps) {
  const template = useAnswer('getTemplate', { params: { template_id: id } }, { follows: false });
  const address = formatAddress('/console/reports/templates/new', { from: id, index });
  return (
    <li class={action === undefined ? undefined : 'report-made'}>
      <a href={address}>
        <TemplatePicture id={id} report={report} blocks={template.data?.blocks ?? []} page={template.data?.page} />
        <span>
          <strong>{id}</strong>
          {template.data !== undefined && (
            <>
              <span class="quiet">{template.data.name}, built in</span>
              <span class="quiet">{formatExtent(template.data)}</span>
              <span class="quiet template-blocks">{formatContents(template.data)}</span>
            </>
          )}
        </span>
      </a>
      {action !== undefined && (
        <div class="report-acts">
          {action}
          {may('write') && (
            <a href={address} aria-label={`Edit a copy of ${id}`}>
              Edit a copy
            </a>
          )}
        </div>
      )}
    </li>
  );
}

interface TemplatePictureProps extends Pick<BuiltInTemplateProps, 'id' | 'report'> {
  readonly blocks: ReportTemplateDocument['blocks'];
  readonly page: ReportTemplateDocument['page'] | undefined;
}

/** Renders the first page of the newest report of a template. Default: the outline of the template. */
export const TemplatePicture = ({ id, report, blocks, page }: TemplatePictureProps) =>
  report === undefined ? <Thumbnail blocks={blocks} page={page} /> : <FirstPage id={report} template={id} />;

/** Formats the size of a template, for example `13 blocks, A4 portrait`. */
export const formatExtent = ({ blocks, page }: Pick<ReportTemplateDocument, 'blocks' | 'page'>): string =>
  `${countValues(blocks.length, 'block')}, ${page.size} ${page.orientation}`;

/** Formats the titles of the first blocks, for example `Performance, Largest constituents, ...`. */
export const formatContents = ({ blocks }: Pick<ReportTemplateDocument, 'blocks'>): string =>
  blocks
    .flatMap((block) => ('title' in block && typeof block.title === 'string' && block.title !== '' ? block.title : []))
    .slice(0, TITLES_SHOWN)
    .join(', ');

const TITLES_SHOWN = 4;

type Run = BacktestRecordCollection['backtests'][number];

export type RunsByIndex = ReadonlyMap<string, Run>;

/** An index with a stored run and its newest report. */
interface ReportedIndex {
  readonly run: Run;
  readonly report: RenderResult | undefined;
}

export function useRuns(): RunsByIndex {
  const runs = useList('backtests');
  return useMemo(() => new Map((runs.data?.backtests ?? []).map((run) => [run.index_id, run])), [runs.data]);
}

/**
 * Returns the indices with a stored run, each with its newest report.
 * @param renders finished reports, newest first
 */
export const listReportedIndices = (runs: RunsByIndex, renders: readonly RenderResult[]): readonly ReportedIndex[] =>
  [...runs.values()].map((run) => ({
    run,
    report: renders.find((report) => listReportIndices(report).includes(run.index_id)),
  }));

interface ReportStatesProps {
  readonly rows: readonly ReportedIndex[];
  /** Template of new reports. */
  readonly template: string | undefined;
}

/** Shows for each index with a run whether its newest report is of that run. */
export function ReportStates({ rows, template }: ReportStatesProps) {
  if (rows.length === 0) return null;
  return (
    <Section title="Reports by index" aside="the newest report of each index, against its latest run">
      <Table
        label="reports by index"
        name="states"
        columns={createColumns(template)}
        rows={rows}
        getKey={({ run }) => run.index_id}
        sort={{ column: 'state', direction: 'asc' }}
        height={300}
      />
    </Section>
  );
}

interface ReportFiguresProps {
  readonly rows: readonly ReportedIndex[];
  /** Finished reports, newest first. */
  readonly renders: readonly RenderResult[];
  /** Number of all stored reports. */
  readonly total: number;
}

export function ReportFigures({ rows, renders, total }: ReportFiguresProps) {
  if (rows.length === 0) return null;
  const countOf = (state: ReportState) => rows.filter((row) => findState(row) === state).length;
  const [newest] = renders;
  const outdatedCount = countOf('out of date');
  return (
    <Metrics
      label="Figures of the reports"
      metrics={[
        {
          term: 'Reports',
          value: formatCount(total),
          note: formatBytes(renders.reduce((sum, one) => sum + one.bytes, 0)),
        },
        {
          term: 'Current',
          value: formatCount(countOf('current')),
          note: `of ${formatCount(rows.length)} indices and strategies`,
        },
        {
          term: 'Indices out of date',
          value: formatCount(outdatedCount),
          kind: outdatedCount > 0 ? 'warning' : '',
          note: 'older than the latest run, or the run is out of date',
        },
        { term: 'Without a report', value: formatCount(countOf('none')) },
        {
          term: 'Newest',
          ...(newest === undefined ? { value: MISSING_TEXT } : createMomentFigure(newest.rendered_at)),
        },
      ]}
    />
  );
}

interface ReportWarningsProps {
  readonly report: RenderResult;
  /** Another reason why the report is out of date, for example a newer version of its template. */
  readonly otherReason?: string | null;
}

/** Renders why a report is out of date, with a button that makes it current. */
export function ReportWarnings({ report, otherReason = null }: ReportWarningsProps) {
  const outdated = listOutdated(report, useRuns());
  const reasons = [...(otherReason === null ? [] : [otherReason]), ...outdated.map(({ reason }) => reason)];
  const staleIds = outdated.flatMap(({ run }) => (run.stale === null ? [] : [run.index_id]));
  if (reasons.length === 0) return null;
  return (
    <Banner
      kind="warning"
      title="This report is out of date"
      action={
        may('run') && (
          <ActionButton kind="main" act={(onRefusal) => updateReport(report, staleIds, onRefusal)}>
            {staleIds.length === 0 ? 'Render again' : 'Run and render again'}
          </ActionButton>
        )
      }
    >
      <span>{reasons.join(' ')}</span>
    </Banner>
  );
}

/** Runs the indices whose latest runs are out of date, one after the other, then renders the report again. */
async function updateReport(report: RenderResult, staleIds: readonly string[], onRefusal: OnRefusal): Promise<void> {
  for (const id of staleIds) if (!(await hasRun(id, onRefusal))) return;
  await renderAgain(report, onRefusal);
}

/** Runs an index with the terms of its latest run, and waits for the end of the job. */
async function hasRun(id: string, onRefusal: OnRefusal): Promise<boolean> {
  let job: Pick<JobStatus, 'job_id' | 'status'> | undefined = await runIndex(id, { if_stale: true }, onRefusal);
  while (job?.status === 'pending' || job?.status === 'running') {
    const { job_id: jobId } = job;
    const request = { params: { job_id: jobId }, query: { wait: WAIT_SECONDS } };
    job = await tryAction(() => service.value.call('getJob', request), onRefusal);
  }
  return job?.status === 'succeeded';
}

/** Time in seconds after which an unfinished job is requested again. */
const WAIT_SECONDS = 20;

async function renderAgain(report: RenderResult, onRefusal: OnRefusal): Promise<void> {
  const [first, ...others] = listReportIndices(report);
  const indices =
    first === undefined ? {} : others.length === 0 ? { index_id: first } : { index_ids: [first, ...others] };
  const body = { template_id: report.template_id, ...indices };
  const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
  if (job !== undefined) setParameters({ render: formatJobId(job) });
}

type ReportState = 'out of date' | 'current' | 'none';

const STATE_KINDS: Readonly<Record<ReportState, BadgeKind>> = {
  'out of date': 'warning',
  current: 'good',
  none: 'plain',
};

/** Order of the states. Reports that are out of date come first, then the other indices with a report. */
const STATES = Object.keys(STATE_KINDS);

/** Returns the runs of the indices of a report that make it out of date, each with the reason. */
const listOutdated = (report: RenderResult, runs: RunsByIndex) =>
  listReportIndices(report).flatMap((id) => {
    const run = runs.get(id);
    const reason = run === undefined ? null : findReason(report, run);
    return run === undefined || reason === null ? [] : [{ run, reason }];
  });

/** Returns the reason why a report is out of date; null if it is current. */
function findReason(report: RenderResult, { index_id: id, run_at: runAt, stale }: Run): string | null {
  if (stale !== null) return `The latest run of ${id} is out of date. ${stale.reasons.join(' ')}`;
  return runAt !== null && report.rendered_at < runAt ? `It is older than the latest run of ${id}.` : null;
}

const findState = ({ run, report }: ReportedIndex): ReportState =>
  report === undefined ? 'none' : findReason(report, run) === null ? 'current' : 'out of date';

/** Renders the state of a report, with the reason as its tooltip. Renders nothing if no index of the report has a run. */
export function ReportBadge({ report, runs }: { readonly report: RenderResult; readonly runs: RunsByIndex }) {
  if (!listReportIndices(report).some((id) => runs.has(id))) return null;
  const reasons = listOutdated(report, runs).map(({ reason }) => reason);
  const state = reasons.length === 0 ? 'current' : 'out of date';
  return (
    <Badge kind={STATE_KINDS[state]} title={reasons.length === 0 ? undefined : reasons.join(' ')}>
      {state}
    </Badge>
  );
}

/** @param template template of new reports; undefined if there is none */
const createColumns = (template: string | undefined): readonly Column<ReportedIndex>[] => [
  {
    id: 'id',
    title: 'Index or strategy',
    width: 124,
    grow: 2,
    value: ({ run }) => run.index_id,
    show: ({ run: { index_id: id } }) => <a href={formatIndexAddress(id)}>{id}</a>,
  },
  {
    id: 'state',
    title: 'Report',
    help: 'Newest report, compared with the latest run of the index',
    width: 136,
    value: (row) => STATES.indexOf(findState(row)),
    copy: findState,
    show: ({ run, report }) =>
      report === undefined ? (
        <Badge>none</Badge>
      ) : (
        <ReportBadge report={report} runs={new Map([[run.index_id, run]])} />
      ),
  },
  {
    id: 'run',
    title: 'Latest run',
    width: 166,
    priority: 3,
    value: ({ run }) => run.run_at ?? '',
    show: ({ run }) => formatMoment(run.run_at),
  },
  {
    id: 'rendered',
    title: 'Rendered',
    width: 166,
    priority: 2,
    value: ({ report }) => report?.rendered_at ?? '',
    show: ({ report }) =>
      report === undefined ? (
        MISSING_TEXT
      ) : (
        <a href={addQuery({ render: report.render_id })}>{formatMoment(report.rendered_at)}</a>
      ),
  },
  {
    id: 'name',
    title: 'Title',
    width: 120,
    grow: 2,
    priority: 4,
    value: ({ report }) => report?.name ?? '',
  },
  {
    id: 'pages',
    title: 'Pages',
    width: 64,
    align: 'right',
    priority: 5,
    value: ({ report }) => report?.pages ?? null,
  },
  {
    id: 'render',
    title: '',
    width: 84,
    value: () => null,
    show: ({ run: { index_id: id }, report }) =>
      may('run') &&
      template !== undefined && (
        <ActionButton
          kind="bare"
          aria-label={`Render ${id}`}
          title={`Template ${report?.template_id ?? template}`}
          act={async (onRefusal) => {
            const body = { template_id: report?.template_id ?? template, index_id: id };
            const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
            if (job !== undefined) setParameters({ render: formatJobId(job) });
          }}
        >
          Render
        </ActionButton>
      ),
  },
];
