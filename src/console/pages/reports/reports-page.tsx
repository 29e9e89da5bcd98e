import './reports.css';
import { useState } from 'preact/hooks';
import type {
  JobStatus,
  RenderCollection,
  RenderResult,
  ReportTemplateCollection,
} from '#clients/typescript/divisor.js';
import { ActionButton, Download } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { Answered, EmptyState } from '../../components/feedback.js';
import { JobTable } from '../../components/jobs.js';
import { keepWordsWhole } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { type OnRefusal, start } from '../../state/actions.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { formatIndexAddress, formatTemplateAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatJobId } from '../../words/jobs.js';
import { countValues, formatBytes, formatCount } from '../../words/numbers.js';
import { BuiltInTemplate, FirstPage, formatContents, formatExtent, TemplatePicture } from './pictures.js';
import { formatRendering, RenderProgress, ReportActions, ReportPages, usePdf, useReport } from './render.js';
import {
  listReportedIndices,
  ReportBadge,
  ReportFigures,
  ReportStates,
  ReportWarnings,
  type RunsByIndex,
  useRuns,
} from './report-states.js';
import { createCoverLines, formatFileName, formatReportTitle, listReportIndices } from './report-words.js';

/** Number of reports that are shown at first. */
const SHOWN = 12;

interface CoversProps {
  readonly renders: readonly RenderResult[];
  /** Latest runs by index. */
  readonly runs: RunsByIndex;
}

/** Renders finished reports, newest first, each with its first page and its state. */
function Covers({ renders, runs }: CoversProps) {
  const [areAllShown, showAll] = useState(false);
  return (
    <>
      <ul class="templates-made" aria-label="Rendered reports">
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
          fileName={formatFileName(render)}
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

/** Page of the reports, or of the report in the address. */
export function ReportsPage() {
  const openRender = getParameter('render');
  return openRender === null ? <AllReports /> : <OpenReport key={openRender} ident={openRender} />;
}

/** Renders a form for a new report, earlier reports and the templates. */
function AllReports() {
  const templates = useResource('templates', (signal) => service.value.call('listTemplates', { signal }));
  const jobs = useResource('jobs render', (signal) =>
    service.value.call('listJobs', { query: { kind: ['render'], limit: LISTED_MAX }, signal }),
  );
  const renders = useResource('renders', (signal) =>
    service.value.call('listRenders', { query: { limit: LISTED_MAX }, signal }),
  );
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
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
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
    const job = await start(() => service.value.call('renderReport', { body }), onRefusal);
    if (job !== undefined) setParameters({ render: formatJobId(job) });
  };
  return (
    <section class="report-new" aria-label="New report">
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
  const list = useResource(`runs ${index}`, (signal) =>
    service.value.call('listRuns', { params: { index_id: index }, signal }),
  );
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
  const runs = useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));
  const index = getParameter('index') ?? runs.data?.backtests[0]?.index_id;
  const findNewest = (id: string) => renders.find(({ template_id: one }) => one === id)?.render_id;
  return (
    <Section title="Templates" aside={<GuideLink page="reports">How to write a template</GuideLink>}>
      <ul class="templates-made">
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
        const job = await start(() => service.value.call('renderReport', { body }), onRefusal);
        if (job !== undefined) setParameters({ render: formatJobId(job) });
      }}
    >
      Render
    </ActionButton>
  );
