import type { ComponentChildren } from 'preact';
import type { RenderResult } from '#clients/typescript/divisor.js';
import { Page } from '../../components/page.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatRendering, RenderProgress, ReportActions, ReportPages, usePdf, useReport } from './render.js';
import { formatReportTitle, listReportIndices } from './report-names.js';
import { ReportWarnings } from './report-states.js';

const PARENTS = [{ address: '/console/reports', text: 'Reports' }];

interface OpenReportProps {
  readonly ident: string;
  /** Content below the report. */
  readonly children: ComponentChildren;
}

/** Page of a report. The report has the title of the page; other reports are below it. */
export function OpenReport({ ident, children }: OpenReportProps) {
  const { job, report } = useReport(ident);
  if (report === null)
    return (
      <Page title="Report" above={PARENTS}>
        <RenderProgress job={job} />
        {children}
      </Page>
    );
  return <FinishedReport report={report}>{children}</FinishedReport>;
}

interface FinishedReportProps extends Pick<OpenReportProps, 'children'> {
  readonly report: RenderResult;
}

function FinishedReport({ report, children }: FinishedReportProps) {
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
      {children}
    </Page>
  );
}

function Subtitle({ report }: { readonly report: RenderResult }) {
  return (
    <>
      {listReportIndices(report).map((id) => (
        <a key={id} href={formatIndexAddress(id)}>
          {id}
        </a>
      ))}
      <span>{formatRendering(report)}</span>
    </>
  );
}
