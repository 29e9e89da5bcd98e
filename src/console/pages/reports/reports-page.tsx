import './reports.css';
import '../data/data.css';
import '../designer/designer.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type {
  Finding,
  JobStatus,
  RenderCollection,
  RenderResult,
  ReportTemplateCollection,
  ReportTemplateDocument,
} from '#clients/typescript/divisor.js';
import { ActionButton, Download } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { DocumentEditor, type EditedDocument, type EditedKind, IdField } from '../../components/editor.js';
import { Answered, createLazyComponent, EmptyState } from '../../components/feedback.js';
import { KindList } from '../../components/form/row-list.js';
import { SchemaForm, type Schemas } from '../../components/form/schema-form.js';
import { JobState, JobTable } from '../../components/jobs.js';
import { keepWordsWhole } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { ReadOnly } from '../../components/permission.js';
import { listVersions } from '../../components/versions/history.js';
import { tryAction, type OnRefusal, submitJob } from '../../state/actions.js';
import { addQuery, formatAddress, getParameter, type PageProps, setParameters } from '../../state/location.js';
import { may, notifyChange, type Resource, service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatIndexAddress, formatScheduleAddress, formatTemplateAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { findFreeId } from '../../words/form-fields.js';
import { formatJobId } from '../../words/jobs.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import {
  BuiltInTemplate,
  FirstPage,
  formatContents,
  formatExtent,
  listReportedIndices,
  ReportBadge,
  ReportFigures,
  ReportStates,
  ReportWarnings,
  type RunsByIndex,
  Shape,
  TemplatePicture,
  useRuns,
} from './pictures.js';
import {
  countFigureColumns,
  createCoverLines,
  formatBlockKind,
  formatBlockSummary,
  formatBlockTitle,
  formatReportName,
  formatReportTitle,
  listFigures,
  listReportIndices,
} from './report-words.js';
import { DeleteButton } from '../../components/layout/dialog.js';
import { getJob } from '../../state/live.js';

/** Number of reports that are shown at first. */
const SHOWN = 12;

interface CoversProps {
  readonly renders: readonly RenderResult[];
  readonly runs: RunsByIndex;
}

/** Renders finished reports, newest first, each with its first page and its state. */
function Covers({ renders, runs }: CoversProps) {
  const [areAllShown, showAll] = useState(false);
  return (
    <>
      <ul class="pile gap-3 templates-made" aria-label="Rendered reports">
        {renders.slice(0, areAllShown ? renders.length : SHOWN).map((render) => (
          <li key={render.render_id} class="report-made">
            <Cover render={render} runs={runs} />
          </li>
        ))}
      </ul>
      {renders.length > SHOWN && !areAllShown && (
        <div>
          <Button onClick={() => showAll(true)}>Show all {formatCount(renders.length)} reports</Button>
        </div>
      )}
    </>
  );
}

function Cover({ render, runs }: { readonly render: RenderResult; readonly runs: RunsByIndex }) {
  const { render_id: id, template_id: template, pages, bytes: size, rendered_at: renderedAt } = render;
  const { title, lines } = createCoverLines(render);
  return (
    <>
      <a href={addQuery({ render: id })}>
        <FirstPage id={id} template={template} />
        <span>
          <strong>{title}</strong>
          <ReportBadge report={render} runs={runs} />
          {lines.map((line) => (
            <span key={line} class="quiet">
              {keepWordsWhole(line)}
            </span>
          ))}
          <span class="quiet">Rendered {formatMoment(renderedAt)}</span>
          <span class="quiet">
            {countValues(pages, 'page')}, {formatBytes(size)}
          </span>
        </span>
      </a>
      <div class="report-acts">
        <a
          href={addQuery({ render: id })}
          aria-label={`Open ${formatReportTitle(render)}, rendered ${formatMoment(renderedAt)}`}
        >
          Open
        </a>
        <Download
          address={`/reports/renders/${id}`}
          fileName={formatReportName(render)}
          label={`Download ${formatReportTitle(render)}, rendered ${formatMoment(renderedAt)}`}
          read={() => service.value.call('getRender', { params: { render_id: id } })}
        >
          Download
        </Download>
      </div>
    </>
  );
}

const PARENTS = [{ address: '/console/reports', text: 'Reports' }];

/** Page of a report, whose title is that of the page. */
function OpenReport({ ident }: { readonly ident: string }) {
  const { job, report } = useReport(ident);
  if (report === null)
    return (
      <Page title="Report" above={PARENTS}>
        <RenderProgress job={job} />
      </Page>
    );
  return <FinishedReport report={report} />;
}

function FinishedReport({ report }: { readonly report: RenderResult }) {
  const pdf = usePdf(report);
  return (
    <Page
      title={formatReportTitle(report)}
      above={PARENTS}
      subtitle={<Subtitle report={report} />}
      actions={<ReportActions report={report} pdf={pdf} />}
    >
      <ReportWarnings report={report} />
      <ReportPages report={report} pdf={pdf} />
    </Page>
  );
}

function Subtitle({ report }: { readonly report: RenderResult }) {
  return (
    <>
      <span>Template {report.template_id}</span>
      {listReportIndices(report).map((id) => (
        <a key={id} href={formatIndexAddress(id)}>
          {id}
        </a>
      ))}
      <span>{formatRendering(report)}</span>
    </>
  );
}

/** Maximum number of listed reports. */
const LISTED_MAX = 200;

export function ReportsPage() {
  const openRender = getParameter('render');
  return openRender === null ? <AllReports /> : <OpenReport key={openRender} ident={openRender} />;
}

/** Renders a form for a new report, earlier reports and the templates. */
function AllReports() {
  const templates = useList('templates');
  const jobs = useAnswer('listJobs', { query: { kind: ['render'], limit: LISTED_MAX } });
  const renders = useAnswer('listRenders', { query: { limit: LISTED_MAX } });
  return (
    <Page
      title="Reports"
      subtitle="Rendered as PDF from stored runs"
      actions={may('write') && <LinkButton href="/console/reports/templates/new">New template</LinkButton>}
    >
      <Answered resource={templates} what="the templates">
        {(all) => (
          <>
            {may('run') && <NewReport templates={all} />}
            <Answered resource={jobs} what="the reports">
              {(listed) => <Renders jobs={listed.jobs} renders={renders.data} template={all.built_in[0]} />}
            </Answered>
            <Templates templates={all} renders={renders.data?.renders ?? []} />
          </>
        )}
      </Answered>
    </Page>
  );
}

interface NewReportProps {
  readonly templates: ReportTemplateCollection;
}

function NewReport({ templates: { templates, built_in: builtIn } }: NewReportProps) {
  const runs = useList('backtests');
  const ids = (runs.data?.backtests ?? []).map(({ index_id: id }) => id);
  const template = getParameter('template') ?? builtIn[0] ?? templates[0]?.template_id;
  const isBuiltIn = template !== undefined && builtIn.includes(template);
  const requestedIndex = getParameter('index');
  const index = requestedIndex !== null && ids.includes(requestedIndex) ? requestedIndex : ids[0];
  const run = isBuiltIn && requestedIndex === index ? getParameter('run_id') : null;
  const otherIndices = isBuiltIn ? listOtherIndices(ids, index) : [];
  if (template === undefined) return null;
  if (runs.data !== undefined && ids.length === 0)
    return (
      <EmptyState title="No run yet">
        A report is made from the stored run of an index. <a href="/">All indices</a>
      </EmptyState>
    );
  const render = async (onRefusal: OnRefusal) => {
    const body = {
      template_id: template,
      ...(isBuiltIn && index !== undefined ? createIndices(index, otherIndices) : {}),
      ...(run === null || index === undefined ? {} : { run_ids: { [index]: run } }),
    };
    const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
    if (job !== undefined) setParameters({ render: formatJobId(job) });
  };
  return (
    <section class="flow frame raised report-new" aria-label="New report">
      <Select
        label="Template"
        isLabelShown
        options={[
          ...builtIn.map((id) => ({ value: id, text: id })),
          ...templates.map(({ template_id: id, name }) => ({ value: id, text: `${id} ${name}` })),
        ]}
        value={template}
        onChoose={(chosen) => setParameters({ template: chosen })}
      />
      {isBuiltIn && index !== undefined && (
        <Select
          label="Index"
          isLabelShown
          options={ids.map((id) => ({ value: id, text: id }))}
          value={index}
          onChoose={(chosen) => setParameters({ index: chosen, run_id: null })}
        />
      )}
      {isBuiltIn && index !== undefined && ids.length > 1 && (
        <OtherTemplates others={otherIndices} free={ids.filter((id) => id !== index && !otherIndices.includes(id))} />
      )}
      <ActionButton kind="main" disabled={isBuiltIn && index === undefined} act={render}>
        Render
      </ActionButton>
      {run !== null && index !== undefined && <RunReports index={index} run={run} />}
    </section>
  );
}

/** Returns the other indices of the report in the address: all except the first. */
function listOtherIndices(ids: readonly string[], first: string | undefined): readonly string[] {
  const namedIds = getParameter('and')?.split(',') ?? [];
  return [...new Set(namedIds)].filter((id) => id !== first && ids.includes(id));
}

const createIndices = (first: string, others: readonly string[]) =>
  others.length === 0 ? { index_id: first } : { index_ids: [first, ...others] };

interface OtherTemplatesProps {
  readonly others: readonly string[];
  /** Indices that can be added. */
  readonly free: readonly string[];
}

/** Renders the selection of further indices for the same report. Each index starts on a new page. */
function OtherTemplates({ others, free }: OtherTemplatesProps) {
  const put = (next: readonly string[]) => setParameters({ and: next.length === 0 ? null : next.join() });
  return (
    <>
      {others.map((id) => (
        <Button key={id} aria-label={`Remove ${id}`} onClick={() => put(others.filter((one) => one !== id))}>
          {id} <Icon name="close" />
        </Button>
      ))}
      {free.length > 0 && (
        <Select
          label="Another index"
          options={[{ value: '', text: '+ Another index' }, ...free.map((id) => ({ value: id, text: id }))]}
          value=""
          onChoose={(id) => id !== '' && put([...others, id])}
        />
      )}
    </>
  );
}

/** Renders a note if the report shows a run that is not the latest. */
function RunReports({ index, run }: { readonly index: string; readonly run: string }) {
  const list = useAnswer('listRuns', { params: { index_id: index } });
  const runAt = list.data?.runs.find(({ run_id: one }) => one === run)?.run_at ?? null;
  return (
    <p class="quiet">
      Of the run {runAt === null ? run : `of ${formatMoment(runAt)}`}, not the newest.{' '}
      <a href={addQuery({ run_id: null })}>Of the newest</a>
    </p>
  );
}

interface RendersProps {
  readonly jobs: readonly JobStatus[];
  /** Finished reports, newest first; undefined while they are loading. */
  readonly renders: RenderCollection | undefined;
  /** Template of new reports. */
  readonly template: string | undefined;
}

/** Renders figures, reports that are not finished, finished reports, and the state of the reports of each index. */
function Renders({ jobs, renders, template }: RendersProps) {
  const runs = useRuns();
  const unfinishedJobs = jobs.filter(({ status }) => status !== 'succeeded' && status !== 'cancelled');
  const finished = renders?.renders ?? [];
  const rows = listReportedIndices(runs, finished);
  return (
    <>
      {renders !== undefined && <ReportFigures rows={rows} renders={finished} total={renders.total} />}
      {(renders !== undefined || unfinishedJobs.length > 0) && (
        <Finished unfinished={unfinishedJobs} finished={finished} runs={runs} />
      )}
      {renders !== undefined && <ReportStates rows={rows} template={template} />}
    </>
  );
}

interface FinishedProps {
  readonly unfinished: readonly JobStatus[];
  readonly finished: readonly RenderResult[];
  readonly runs: RunsByIndex;
}

function Finished({ unfinished, finished, runs }: FinishedProps) {
  if (unfinished.length + finished.length === 0)
    return <p class="quiet">No report yet. Choose a template and an index above; each report is kept here as a PDF.</p>;
  return (
    <Section title="Rendered" aside="the newest first">
      {unfinished.length > 0 && (
        <JobTable
          jobs={unfinished}
          label="unfinished reports"
          name="reports"
          isOneKind
          height={360}
          onOpen={(id) => setParameters({ render: id.slice('render:'.length) })}
        />
      )}
      <Covers renders={finished} runs={runs} />
    </Section>
  );
}

interface TemplatesProps extends NewReportProps {
  readonly renders: readonly RenderResult[];
}

/** Renders the templates, each with the first page of its newest report. Default: its outline. */
function Templates({ templates: { templates, built_in: builtIn }, renders }: TemplatesProps) {
  const runs = useList('backtests');
  const index = getParameter('index') ?? runs.data?.backtests[0]?.index_id;
  const findNewest = (id: string) => renders.find(({ template_id: one }) => one === id)?.render_id;
  return (
    <Section title="Templates" aside={<GuideLink page="reports">How to write a template</GuideLink>}>
      <ul class="pile gap-3 templates-made">
        {builtIn.map((id) => (
          <BuiltInTemplate
            key={id}
            id={id}
            index={getParameter('index')}
            report={findNewest(id)}
            action={index !== undefined && <RenderTemplate template={id} index={index} />}
          />
        ))}
        {templates.map(({ template_id: id, name, blocks, page }) => (
          <li key={id} class="report-made">
            <a href={formatTemplateAddress(id)}>
              <TemplatePicture id={id} report={findNewest(id)} blocks={blocks} page={page} />
              <span>
                <strong>{id}</strong>
                <span class="quiet">{name}</span>
                <span class="quiet">{formatExtent({ blocks, page })}</span>
                <span class="quiet template-blocks">{formatContents({ blocks })}</span>
              </span>
            </a>
            <div class="report-acts">
              <RenderTemplate template={id} />
              {may('write') && (
                <a href={formatTemplateAddress(id)} aria-label={`Edit ${id}`}>
                  Edit
                </a>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface RenderTemplateProps {
  readonly template: string;
  /** Index of a built-in template. The blocks of other templates name their indices. */
  readonly index?: string;
}

/** Renders a button that renders a template and opens the report. */
const RenderTemplate = ({ template, index }: RenderTemplateProps) =>
  may('run') && (
    <ActionButton
      kind="bare"
      aria-label={index === undefined ? `Render ${template}` : `Render ${template} of ${index}`}
      act={async (onRefusal) => {
        const body = { template_id: template, ...(index === undefined ? {} : { index_id: index }) };
        const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
        if (job !== undefined) setParameters({ render: formatJobId(job) });
      }}
    >
      Render
    </ActionButton>
  );

interface BlockListProps {
  readonly blocks: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(blocks: readonly JsonObject[]): void;
}

/** Renders the blocks of a template in order. Each has the form of its kind. */
function BlockList({ blocks, findings, onChange }: BlockListProps) {
  const runs = useList('backtests');
  const ids = (runs.data?.backtests ?? []).map(({ index_id: id }) => id);
  return (
    <KindList
      what="block"
      rows={blocks}
      member="kind"
      formatName={formatBlockKind}
      formatSummary={(block) => formatBlockSummary(block, new Set(blocks.map(({ index_id: id }) => id)).size > 1)}
      selectSchema={getBlockSchema}
      path={['blocks']}
      findings={findings}
      hidden={listLiteralMembers}
      rare={RARE_FIELDS}
      listFieldChanges={({ index_id: blockIndex }) => {
        const choices = typeof blockIndex === 'string' && !ids.includes(blockIndex) ? [blockIndex, ...ids] : ids;
        return { index_id: { kind: 'choice', choices } };
      }}
      fresh={() => ({ index_id: blocks.at(-1)?.['index_id'] ?? ids[0] ?? null })}
      onChange={onChange}
    />
  );
}

const getBlockSchema = (schemas: Schemas) => schemas['ReportBlock'] ?? {};

/** Members that only few reports need. */
const RARE_FIELDS = ['aum', 'scenarios', 'rule', 'fallback_rule', 'height', 'new_page'];

/** Members that contain the data of a block if the data is in the template itself. */
const LITERAL_MEMBERS = ['values', 'frame'];

/** Returns the members of a block that are hidden because its data is not in the template itself. */
const listLiteralMembers = ({ source }: JsonObject, names: readonly string[]): readonly string[] =>
  source === 'literal' || !names.includes('source') ? [] : LITERAL_MEMBERS;

/** Heights of some kinds of blocks in the outline. All other kinds are as high as a chart. */
const HEIGHTS: Readonly<Record<string, number>> = { header: 14, text: 22, table: 46 };
const CHART_HEIGHT = 42;
const WIDTH = 100;
/** Height of a text line in the outline. */
const LINE_HEIGHT = 7;

interface PageOutlineProps {
  readonly blocks: readonly JsonObject[];
  readonly size: string;
  readonly orientation: string;
}

/** Renders where the blocks of a template are on the page. Blocks of half width are side by side. */
function PageOutline({ blocks, size, orientation }: PageOutlineProps) {
  return (
    <aside class="pile gap-2 template-outline" aria-label="Outline of the report" tabIndex={0}>
      <p class="quiet">
        Outline, {size}, {orientation}. Preview renders the PDF with its values.
      </p>
      <ol class="template-sheet" data-paper={`${size} ${orientation}`}>
        {blocks.length === 0 && <li class="is-full">An empty page. Each block appears here in its place.</li>}
        {blocks.map((block, at) => (
          <li key={at} class={block['width'] === 'half' ? '' : 'is-full'}>
            <span>
              {at + 1}. {formatBlockTitle(block) || formatBlockKind(String(block['kind']))}
            </span>
            {block['kind'] === 'stat_grid' ? (
              <FigureOutline block={block} />
            ) : (
              <BlockOutline kind={String(block['kind'])} isHalf={block['width'] === 'half'} />
            )}
          </li>
        ))}
      </ol>
    </aside>
  );
}

function FigureOutline({ block }: { readonly block: JsonObject }) {
  return (
    <div
      class="pile gap-1 outline-figures"
      style={{ gridTemplateColumns: `repeat(${countFigureColumns(block)}, minmax(0, 1fr))` }}
    >
      {listFigures(block).map((label) => (
        <span key={label} title={label}>
          {label}
        </span>
      ))}
    </div>
  );
}

function BlockOutline({ kind, isHalf }: { readonly kind: string; readonly isHalf: boolean }) {
  const h = HEIGHTS[kind] ?? CHART_HEIGHT;
  const w = isHalf ? WIDTH : 2 * WIDTH;
  return (
    <svg class="template-page" viewBox={`0 0 ${w} ${h}`} preserveAspectRatio="none" height={h} aria-hidden="true">
      {kind === 'table' || kind === 'text' ? (
        <path
          class="rule"
          d={Array.from(
            { length: Math.floor(h / LINE_HEIGHT) },
            (_, k) => `M0 ${k * LINE_HEIGHT + LINE_HEIGHT / 2}h${w}`,
          ).join('')}
        />
      ) : (
        <Shape kind={kind} x={0} y={1} w={w} h={h - 2} />
      )}
    </svg>
  );
}

interface ReportSchedulesProps {
  readonly templateId: string;
  /** Index of the template, for which a new schedule is proposed. */
  readonly index: string | null;
}

/** Renders the schedules that render a report template, and a link to a new schedule. */
function ReportSchedules({ templateId, index }: ReportSchedulesProps) {
  const schedules = useList('schedules');
  const address = formatAddress('/console/schedules/new', {
    template: templateId,
    ...(index === null ? {} : { index }),
  });
  return (
    <Section title="Schedules" aside={may('write') && <a href={address}>Schedule this report</a>}>
      <Answered resource={schedules} what="the schedules">
        {({ schedules: all }) => {
          const rendering = all.filter(({ steps }) =>
            steps.some((step) => step.type === 'render' && step.template_id === templateId),
          );
          if (rendering.length === 0) return <p class="quiet">No schedule renders this report.</p>;
          return (
            <ul aria-label="Schedules of this report">
              {rendering.map(({ schedule_id: id, name, at, calendar, enabled }) => (
                <li key={id}>
                  <a href={formatScheduleAddress(id)}>{name}</a>{' '}
                  <span class="quiet">{enabled ? `after each session of ${calendar}, at ${at}` : 'disabled'}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Answered>
    </Section>
  );
}

const TEMPLATES: EditedKind = {
  kind: 'template',
  hasId: true,
  list: '/console/reports',
  formatAddress: formatTemplateAddress,
};

/** Page of a report template: its page format and blocks, and a preview as PDF. */
export function TemplatePage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const [from, index] = [getParameter('from'), getParameter('index')];
  return (
    <DocumentEditor
      of={TEMPLATES}
      id={id}
      origin={[from, index]}
      create={(signal) => createTemplate(from, index, signal)}
    >
      {() => ({
        ...(id !== null && { title: id }),
        above: [{ address: '/console/reports', text: 'Reports' }],
        required: ['blocks'],
        actions: (edited) => may('run') && <Preview edited={edited} />,
        children: (edited) => (
          <div class="pile gap-5 designer">
            <div class="designer-forms">
              <ReadOnly unless="write">
                <Form edited={edited} isStored={id !== null} />
              </ReadOnly>
              {id !== null && <ReportSchedules templateId={id} index={findFirstIndex(edited.document)} />}
            </div>
            <PagePreview edited={edited} storedId={id} />
          </div>
        ),
      })}
    </DocumentEditor>
  );
}

const listBlocks = ({ blocks }: JsonObject): readonly JsonObject[] =>
  Array.isArray(blocks) ? (blocks as readonly Json[]).filter(isObject) : [];

/** Returns the index of the first block that names one. */
const findFirstIndex = (document: JsonObject): string | null =>
  listBlocks(document)
    .map(({ index_id: id }) => id)
    .find((id) => typeof id === 'string') ?? null;

/** Returns the page format of a template. Default: A4, portrait. */
function getPaper({ page }: JsonObject): { readonly size: string; readonly orientation: string } {
  const { size, orientation } = isObject(page) ? page : {};
  return { size: String(size ?? 'A4'), orientation: String(orientation ?? 'portrait') };
}

/** The service validates the document. */
const createBody = (document: JsonObject): ReportTemplateDocument => document as unknown as ReportTemplateDocument;

/** Returns an empty template, or a copy of a built-in template for the run of an index. */
async function createTemplate(from: string | null, index: string | null, signal: AbortSignal): Promise<JsonObject> {
  if (from === null) {
    const { templates } = await service.value.call('listTemplates', { signal });
    const takenIds = new Set(templates.map((template) => template.template_id));
    const id = findFreeId({ id: 'MONTHLY', index_ids: ['MONTHLY'] }, takenIds);
    return { template_id: id, name: 'Monthly report', blocks: [] };
  }
  const template = await service.value.call('getTemplate', { params: { template_id: from }, signal });
  const { backtests } = await service.value.call('listBacktests', { signal });
  const shownIndex = index ?? backtests[0]?.index_id ?? null;
  const blocks = template.blocks.map((block) => ({ ...block, index_id: shownIndex })) as unknown as Json[]; // the response is plain JSON
  return { ...(template as unknown as JsonObject), template_id: `MY-${from}`, blocks };
}

/** Renders a button that renders the draft without saving it. A new preview replaces the earlier one. */
function Preview({ edited: { document } }: { readonly edited: EditedDocument }) {
  const render = async (onRefusal: OnRefusal) => {
    const body = { template_id: String(document['template_id']), template: createBody(document) };
    const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
    if (job === undefined) return;
    const earlierPreview = getParameter('render');
    setParameters({ render: formatJobId(job), outline: null });
    if (earlierPreview !== null && may('write')) await removeRender(earlierPreview);
  };
  return (
    <ActionButton act={render} disabled={listBlocks(document).length === 0}>
      Preview
    </ActionButton>
  );
}

/** Deletes a preview. Does nothing if it was deleted already, or if its rendering failed. */
async function removeRender(id: string): Promise<void> {
  await service.value.call('deleteRender', { params: { render_id: id } }).catch(() => {});
}

interface PagePreviewProps {
  readonly edited: EditedDocument;
  /** Id of the stored template. Null for a new template. */
  readonly storedId: string | null;
}

/**
 * Renders the pages of the last preview. Default: the newest report of the template; without a report, the outline of
 * its blocks.
 */
function PagePreview({ edited: { document, isChanged }, storedId }: PagePreviewProps) {
  const preview = getParameter('render');
  const outline = <PageOutline blocks={listBlocks(document)} {...getPaper(document)} />;
  if (getParameter('outline') !== null) return outline;
  if (preview === null)
    return storedId === null ? outline : <NewestReport id={storedId} isChanged={isChanged} outline={outline} />;
  return (
    <aside class="stack gap-3 template-report" aria-label="Preview">
      <a href={addQuery({ outline: 'true' })}>Show the outline</a>
      <Render key={preview} ident={preview} />
    </aside>
  );
}

interface NewestReportProps {
  readonly id: string;
  readonly isChanged: boolean;
  /** Outline of the blocks, which is shown if the template has no report. */
  readonly outline: ComponentChildren;
}

/** Renders the newest report of a template. */
function NewestReport({ id, isChanged, outline }: NewestReportProps) {
  const renders = useAnswer('listRenders', { query: { template_id: id, limit: 1 } });
  const versions = useResource(`versions template ${id}`, (signal) => listVersions({ kind: 'template', id }, signal));
  const savedAt = versions.data?.versions[0]?.at;
  return (
    <Answered resource={renders} what="the newest report">
      {({ renders: [report] }) =>
        report === undefined ? (
          outline
        ) : (
          <aside class="stack gap-3 template-report" aria-label="Newest report">
            <p class="quiet">
              {isChanged ? 'Rendered before your changes; Preview shows them.' : 'Newest report of this template.'}{' '}
              <a href={addQuery({ outline: 'true' })}>Show the outline</a>
            </p>
            {!isChanged && (
              <ReportWarnings
                report={report}
                otherReason={
                  savedAt !== undefined && savedAt > report.rendered_at
                    ? 'This template was saved after the report was rendered.'
                    : null
                }
              />
            )}
            <ReportSection report={report} />
          </aside>
        )
      }
    </Answered>
  );
}

/** Renders the built-in templates from which a new template can be started. */
function Beginnings() {
  const templates = useList('templates');
  const index = getParameter('index');
  return (
    <Answered resource={templates} what="the templates">
      {({ built_in: ids }) => (
        <>
          <p class="quiet">Begin with the blocks of a built-in template, or add the first block below.</p>
          <ul class="pile gap-3 templates-made" aria-label="Built-in templates">
            {ids.map((id) => (
              <BuiltInTemplate key={id} id={id} index={index} />
            ))}
          </ul>
        </>
      )}
    </Answered>
  );
}

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const { page, blocks } = document;
  return (
    <>
      <div class="form-card">
        <div class="pile field-grid is-joined">
          <SchemaForm
            schema="ReportTemplateDocument"
            names={['name']}
            changes={{ name: { help: 'Title of what is rendered.' } }}
            value={document}
            findings={findings}
            onChange={set}
          />
          <IdField edited={edited} member="template_id" isFixed={isStored} />
        </div>
        <SchemaForm
          schema="ReportPage"
          value={isObject(page) ? page : {}}
          findings={findings}
          path={['page']}
          onChange={(own) => set({ ...document, page: own })}
        />
      </div>
      <Section title="Blocks" aside="drawn from top to bottom">
        {!isStored && Array.isArray(blocks) && blocks.length === 0 && <Beginnings />}
        <BlockList
          blocks={listBlocks(document)}
          findings={findings}
          onChange={(next) => set({ ...document, blocks: next })}
        />
      </Section>
    </>
  );
}

/** Returns an object URL of a PDF. It is revoked when the component is removed. */
function usePdfAddress(pdf: Uint8Array | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (pdf === undefined) return undefined;
    const createdUrl = URL.createObjectURL(new Blob([pdf as Uint8Array<ArrayBuffer>], { type: 'application/pdf' })); // the client returns an ArrayBuffer that is not shared
    setAddress(createdUrl);
    return () => URL.revokeObjectURL(createdUrl);
  }, [pdf]);
  return address;
}

/** Pages as pictures, for browsers without a PDF viewer. */
const PdfPages = createLazyComponent('the pages', async () => (await import('./pdf.js')).PdfPages);

/** Returns the job of a report, and the report after the job has succeeded. */
function useReport(ident: string): {
  readonly job: Resource<JobStatus>;
  readonly report: RenderResult | null;
} {
  const id = `render:${ident}`;
  const job = useAnswer('getJob', { params: { job_id: id } });
  const { status, result } = job.data ?? {};
  return { job, report: status === 'succeeded' ? ((result ?? null) as RenderResult | null) : null }; // the kind of the job determines the type of its result
}

/** Renders the progress of a report, and then its pages under their title. */
function Render({ ident }: { readonly ident: string }) {
  const { job, report } = useReport(ident);
  return report === null ? <RenderProgress job={job} /> : <ReportSection report={report} />;
}

/** Renders a report of a template under its title. A report is deleted on its own page. */
function ReportSection({ report }: { readonly report: RenderResult }) {
  const pdf = usePdf(report);
  return (
    <Section
      title={formatReportTitle(report)}
      aside={
        <>
          <span>{formatRendering(report)}</span>
          <ReportLinks report={report} pdf={pdf} />
        </>
      }
    >
      <ReportPages report={report} pdf={pdf} />
    </Section>
  );
}

function RenderProgress({ job }: { readonly job: Resource<JobStatus> }) {
  return (
    <Answered resource={job} what="the report">
      {(stored) => <JobState job={(getJob(stored.job_id) ?? stored) as JobStatus} />}
    </Answered>
  );
}

/** Formats the extent of a report and the time of its rendering. */
const formatRendering = ({ pages, bytes, rendered_at: renderedAt }: RenderResult): string =>
  `${countValues(pages, 'page')}, ${formatBytes(bytes)}, rendered ${formatMoment(renderedAt)}`;

const readPdf = (id: string, signal?: AbortSignal): Promise<Uint8Array> =>
  service.value.call('getRender', { params: { render_id: id }, signal });

const usePdf = ({ render_id: id }: RenderResult): Resource<Uint8Array> =>
  useResource(`pdf ${id}`, (signal) => readPdf(id, signal), { follows: false });

interface ReportProps {
  readonly report: RenderResult;
  readonly pdf: Resource<Uint8Array>;
}

/** Renders buttons that open and download a report. */
function ReportLinks({ report, pdf }: ReportProps) {
  const { render_id: id } = report;
  const address = usePdfAddress(pdf.data);
  return (
    <>
      {address !== null && (
        <a class="inline-line raised one-line button plain" href={address} target="_blank" rel="noreferrer">
          Open
        </a>
      )}
      <Download
        class="inline-line raised one-line button plain"
        address={`/reports/renders/${id}`}
        fileName={formatReportName(report)}
        read={() => readPdf(id)}
      >
        Download
      </Download>
    </>
  );
}

function ReportActions({ report, pdf }: ReportProps) {
  const remove = () =>
    tryAction(async () => {
      await service.value.call('deleteRender', { params: { render_id: report.render_id } });
      setParameters({ render: null });
      notifyChange();
    });
  return (
    <>
      <ReportLinks report={report} pdf={pdf} />
      {may('write') && (
        <DeleteButton subject={formatReportTitle(report)} onConfirm={() => void remove()}>
          <p>It can be rendered again later from the stored run.</p>
        </DeleteButton>
      )}
    </>
  );
}

/** Renders the pages of a report, in the PDF viewer of the browser if it has one. */
function ReportPages({ report, pdf }: ReportProps) {
  const title = formatReportTitle(report);
  const address = usePdfAddress(pdf.data);
  return (
    <Answered resource={pdf} what="the PDF">
      {(bytes) =>
        !navigator.pdfViewerEnabled ? (
          <PdfPages bytes={bytes} title={title} />
        ) : (
          address !== null && (
            <iframe class="frame report-pdf" src={`${address}#navpanes=0&view=FitH`} title={`${title}, as PDF`} />
          )
        )
      }
    </Answered>
  );
}
