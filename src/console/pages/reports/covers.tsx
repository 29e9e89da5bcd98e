import type { JobStatus, RenderResult } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { withQuery } from '../../state/place.js';
import { moment } from '../../words/dates.js';
import { jobIdent } from '../../words/jobs.js';
import { countValues } from '../../words/numbers.js';
import { usePdfAddress } from './pdf-address.js';
import { Thumbnail } from './thumbnail.js';

/** Reports whose first page is shown: a row on a wide screen. */
const COVERS_MAX = 4;

/** The newest reports by their first page. */
export function Covers({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const done = jobs.filter(({ status, result }) => status === 'succeeded' && result !== null).slice(0, COVERS_MAX);
  if (done.length === 0) return null;
  return (
    <ul class="templates-made" aria-label="Newest reports">
      {done.map((job) => {
        const result = job.result as RenderResult; // Jobs of this kind return it.
        return (
          <li key={job.job_id}>
            <a href={withQuery({ render: jobIdent(job) })}>
              {navigator.pdfViewerEnabled ? (
                <FirstPage id={result.render_id} />
              ) : (
                <Outline template={result.template_id} />
              )}
              <span>
                <strong>{result.index_id ?? result.name}</strong>
                <span class="quiet">{result.template_id}</span>
                <span class="quiet">{moment(result.rendered_at)}</span>
                <span class="quiet">{countValues(result.pages, 'page')}</span>
              </span>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** The first page, drawn by the viewer of the browser without its controls. */
function FirstPage({ id }: { readonly id: string }) {
  const pdf = useResource(
    `pdf ${id}`,
    (signal) => service.value.call('getRender', { params: { render_id: id }, signal }),
    { follows: false, isLater: true },
  );
  const address = usePdfAddress(pdf.data);
  return (
    <span class="report-cover">
      {address !== null && (
        <iframe
          src={`${address}#toolbar=0&navpanes=0&scrollbar=0&view=Fit`}
          title="First page"
          tabIndex={-1}
          aria-hidden="true"
        />
      )}
    </span>
  );
}

/** The template of a report in outline, for browsers without a viewer. */
function Outline({ template: id }: { readonly template: string }) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  const { blocks = [], page } = template.data ?? {};
  return <Thumbnail blocks={blocks} isWide={page?.orientation === 'landscape'} />;
}
