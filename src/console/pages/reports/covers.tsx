import type { RenderResult } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { keepWordsWhole } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { addQuery } from '../../state/location.js';
import { formatMoment } from '../../words/dates.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';
import { usePdfAddress } from './pdf-address.js';
import { createCoverLines, formatFileName, formatReportTitle } from './report-names.js';
import { Thumbnail } from './thumbnail.js';

/** Number of reports that are shown at first, and number of them that show their own first page. */
const SHOWN = 12;
const FIRST_PAGES_MAX = 4;

/** Renders finished reports, newest first, each with its first page. */
export function Covers({ renders }: { readonly renders: readonly RenderResult[] }) {
  const [areAllShown, showAll] = useState(false);
  return (
    <>
      <ul class="templates-made" aria-label="Rendered reports">
        {renders.slice(0, areAllShown ? renders.length : SHOWN).map((render, k) => (
          <li key={render.render_id} class="report-made">
            <Cover render={render} hasFirstPage={k < FIRST_PAGES_MAX} />
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

function Cover({ render, hasFirstPage }: { readonly render: RenderResult; readonly hasFirstPage: boolean }) {
  const { render_id: id, template_id: template, pages, bytes: size, rendered_at: renderedAt } = render;
  const { title, subtitle } = createCoverLines(render);
  return (
    <>
      <a href={addQuery({ render: id })}>
        {hasFirstPage && navigator.pdfViewerEnabled ? <FirstPage id={id} /> : <Outline template={template} />}
        <span>
          <strong>{title}</strong>
          <span class="quiet">{keepWordsWhole(subtitle)}</span>
          {title !== render.name && <span class="quiet">{template}</span>}
          <span class="quiet">{formatMoment(renderedAt)}</span>
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

/** Renders the first page in the PDF viewer of the browser. The controls of the viewer are hidden. */
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

/** Renders an outline of a report's template. For browsers without a PDF viewer. */
function Outline({ template: id }: { readonly template: string }) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  const { blocks = [], page } = template.data ?? {};
  return <Thumbnail blocks={blocks} page={page} />;
}
