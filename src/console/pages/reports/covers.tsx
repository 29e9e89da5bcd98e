import type { RenderResult } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { keepWordsWhole } from '../../components/metrics.js';
import { service } from '../../state/service.js';
import { addQuery } from '../../state/location.js';
import { formatMoment } from '../../words/dates.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';
import { FirstPage } from './first-page.js';
import { createCoverLines, formatFileName, formatReportTitle } from './report-names.js';
import { ReportBadge, type RunsByIndex } from './report-states.js';

/** Number of reports that are shown at first. */
const SHOWN = 12;

interface CoversProps {
  readonly renders: readonly RenderResult[];
  /** Latest runs by index. */
  readonly runs: RunsByIndex;
}

/** Renders finished reports, newest first, each with its first page and its state. */
export function Covers({ renders, runs }: CoversProps) {
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
