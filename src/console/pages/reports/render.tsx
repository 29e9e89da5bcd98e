import type { JobStatus, RenderResult } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Confirm } from '../../components/confirm.js';
import { Download } from '../../components/download.js';
import { JobState } from '../../components/job-state.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { attempt } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { formatBytes, countValues } from '../../words/numbers.js';
import { Outline, formatFileName } from './covers.js';
import { usePdfAddress } from './pdf-address.js';

/** Renders the progress of a report, and then the PDF. */
export function Render({ ident }: { readonly ident: string }) {
  const id = `render:${ident}`;
  const job = useResource(`job ${id}`, (signal) => service.value.call('getJob', { params: { job_id: id }, signal }));
  return (
    <Answered resource={job} what="the report">
      {(stored) => {
        const { status, result } = stored;
        return status === 'succeeded' && result !== null ? (
          <Pdf result={result as RenderResult} /> // the kind of the job determines the type of its result
        ) : (
          <JobState job={(getJob(id) ?? stored) as JobStatus} />
        );
      }}
    </Answered>
  );
}

function Pdf({ result }: { readonly result: RenderResult }) {
  const { render_id: id, index_id: index, name, pages, bytes: size, rendered_at: renderedAt } = result;
  const pdf = useResource(
    `pdf ${id}`,
    (signal) => service.value.call('getRender', { params: { render_id: id }, signal }),
    {
      follows: false,
    },
  );
  const address = usePdfAddress(pdf.data);
  const [isAsking, setAsking] = useState(false);
  const fileName = formatFileName(result);
  const remove = () =>
    attempt(async () => {
      await service.value.call('deleteRender', { params: { render_id: id } });
      setParameters({ render: null });
      notifyChange();
    });
  return (
    <Section
      title={name}
      aside={
        <>
          <span>
            {index !== null && `${index}, `}
            {countValues(pages, 'page')}, {formatBytes(size)}, {formatMoment(renderedAt)}
          </span>
          {address !== null && (
            <a class="button plain" href={address} target="_blank" rel="noreferrer">
              Open
            </a>
          )}
          <Download
            class="button plain"
            address={`/reports/renders/${id}`}
            fileName={fileName}
            read={() => service.value.call('getRender', { params: { render_id: id } })}
          >
            Download
          </Download>
          {may('write') && <Button onClick={() => setAsking(true)}>Delete</Button>}
        </>
      }
    >
      <Answered resource={pdf} what="the PDF">
        {() =>
          address !== null &&
          (navigator.pdfViewerEnabled ? (
            <iframe class="report-pdf" src={`${address}#navpanes=0&view=FitH`} title={`${name}, as PDF`} />
          ) : (
            <ReportCard result={result} />
          ))
        }
      </Answered>
      {isAsking && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>It can be rendered again later from the stored run.</p>
        </Confirm>
      )}
    </Section>
  );
}

/** Renders a report in a browser that cannot embed PDF files. */
function ReportCard({ result }: { readonly result: RenderResult }) {
  const { template_id: template } = result;
  return (
    <div class="report-card">
      <Outline template={template} />
      <div>
        <strong>{formatFileName(result)}</strong>
        <p class="quiet">This browser cannot display PDF files in a page. Another app opens the file.</p>
      </div>
    </div>
  );
}
