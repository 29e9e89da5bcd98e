import type { RenderResult } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { addQuery } from '../../state/place.js';
import { formatMoment } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { usePdfAddress } from './pdf-address.js';
import { Thumbnail } from './thumbnail.js';

/** Number of reports with a visible first page: one row on a wide screen. */
const COVERS_MAX = 4;

export const useNewest = () =>
  useResource('newest reports', (signal) =>
    service.value.call('listRenders', { query: { limit: COVERS_MAX }, signal }),
  );

/** Renders the newest reports by their first pages. */
export function Covers({ newest }: { readonly newest: readonly RenderResult[] }) {
  if (newest.length === 0) return null;
  return (
    <ul class="templates-made" aria-label="Newest reports">
      {newest.map((render) => (
        <li key={render.render_id}>
          <Cover render={render} />
        </li>
      ))}
    </ul>
  );
}

function Cover({ render }: { readonly render: RenderResult }) {
  const { render_id: id, template_id: template, index_id: index, name, pages, rendered_at: at } = render;
  return (
    <a href={addQuery({ render: id })}>
      {navigator.pdfViewerEnabled ? <FirstPage id={id} /> : <Outline template={template} />}
      <span>
        <strong>{index ?? name}</strong>
        <span class="quiet">{template}</span>
        <span class="quiet">{formatMoment(at)}</span>
        <span class="quiet">{countValues(pages, 'page')}</span>
      </span>
    </a>
  );
}

/** Renders the first page in the PDF viewer of the browser, without its controls. */
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

/** Renders the outline of a report's template, for browsers without a PDF viewer. */
export function Outline({ template: id }: { readonly template: string }) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  const { blocks = [], page } = template.data ?? {};
  return <Thumbnail blocks={blocks} page={page} />;
}
