import { useEffect, useState } from 'preact/hooks';
import type { JobStatus, RenderResult } from '#clients/typescript/divisor.js';
import { Download } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { Answered, createLazyComponent } from '../../components/feedback.js';
import { JobState } from '../../components/jobs.js';
import { Confirm } from '../../components/layout/dialog.js';
import { Section } from '../../components/layout/page.js';
import { attempt } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { setParameters } from '../../state/location.js';
import { may, notifyChange, type Resource, service, useResource } from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { countValues, formatBytes } from '../../words/numbers.js';
import { formatReportName, formatReportTitle } from './report-words.js';

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
const PdfPages = createLazyComponent('the pages', async () => (await import('./pdf-pages.js')).PdfPages);

/** Returns the job of a report, and the report after the job has succeeded. */
export function useReport(ident: string): {
  readonly job: Resource<JobStatus>;
  readonly report: RenderResult | null;
} {
  const id = `render:${ident}`;
  const job = useResource(`job ${id}`, (signal) => service.value.call('getJob', { params: { job_id: id }, signal }));
  const { status, result } = job.data ?? {};
  return { job, report: status === 'succeeded' ? ((result ?? null) as RenderResult | null) : null }; // the kind of the job determines the type of its result
}

/** Renders the progress of a report, and then its pages under their title. */
export function Render({ ident }: { readonly ident: string }) {
  const { job, report } = useReport(ident);
  return report === null ? <RenderProgress job={job} /> : <ReportSection report={report} />;
}

/** Renders a report of a template under its title. A report is deleted on its own page. */
export function ReportSection({ report }: { readonly report: RenderResult }) {
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

export function RenderProgress({ job }: { readonly job: Resource<JobStatus> }) {
  return (
    <Answered resource={job} what="the report">
      {(stored) => <JobState job={(getJob(stored.job_id) ?? stored) as JobStatus} />}
    </Answered>
  );
}

/** Formats the extent of a report and the time of its rendering. */
export const formatRendering = ({ pages, bytes, rendered_at: renderedAt }: RenderResult): string =>
  `${countValues(pages, 'page')}, ${formatBytes(bytes)}, rendered ${formatMoment(renderedAt)}`;

const readPdf = (id: string, signal?: AbortSignal): Promise<Uint8Array> =>
  service.value.call('getRender', { params: { render_id: id }, signal });

/** Reads the PDF of a report. */
export const usePdf = ({ render_id: id }: RenderResult): Resource<Uint8Array> =>
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

/** Renders buttons that open, download and delete a report. */
export function ReportActions({ report, pdf }: ReportProps) {
  const [isAsking, setAsking] = useState(false);
  const remove = () =>
    attempt(async () => {
      await service.value.call('deleteRender', { params: { render_id: report.render_id } });
      setParameters({ render: null });
      notifyChange();
    });
  return (
    <>
      <ReportLinks report={report} pdf={pdf} />
      {may('write') && (
        <Button kind="danger" onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={`Delete ${formatReportTitle(report)}?`}
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>It can be rendered again later from the stored run.</p>
        </Confirm>
      )}
    </>
  );
}

/** Renders the pages of a report, in the PDF viewer of the browser if it has one. */
export function ReportPages({ report, pdf }: ReportProps) {
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
