import type { RenderResult } from '#clients/typescript/divisor.js';
import { Page } from '../../components/page.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatRendering, RenderProgress, ReportActions, ReportPages, usePdf, useReport } from './render.js';
import { formatReportTitle, listReportIndices } from './report-names.js';
import { ReportWarnings } from './report-states.js';

const PARENTS = [{ address: '/console/reports', text: 'Reports' }];

/** Page of a report, whose title is that of the page. */
export function OpenReport({ ident }: { readonly ident: string }) {
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
