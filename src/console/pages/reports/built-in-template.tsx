import type { ReportTemplateDocument } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { countValues } from '../../words/numbers.js';
import { FirstPage } from './first-page.js';
import { Thumbnail } from './thumbnail.js';

interface BuiltInTemplateProps {
  readonly id: string;
  /** Index of the new template; null for the first index that has a run. */
  readonly index: string | null;
  /** Newest report of the template, whose first page is shown. Default: the outline of the template. */
  readonly report?: string | undefined;
  /** Button that renders the template. If present, a link to edit a copy is next to it. */
  readonly action?: ComponentChildren;
}

/** Renders a built-in template. It can be copied to a new template. */
export function BuiltInTemplate({ id, index, report, action }: BuiltInTemplateProps) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  const address = formatAddress('/console/reports/templates/new', { from: id, index });
  return (
    <li class={action === undefined ? undefined : 'report-made'}>
      <a href={address}>
        <TemplatePicture id={id} report={report} blocks={template.data?.blocks ?? []} page={template.data?.page} />
        <span>
          <strong>{id}</strong>
          {template.data !== undefined && (
            <>
              <span class="quiet">{template.data.name}, built in</span>
              <span class="quiet">{formatExtent(template.data)}</span>
              <span class="quiet template-blocks">{formatContents(template.data)}</span>
            </>
          )}
        </span>
      </a>
      {action !== undefined && (
        <div class="report-acts">
          {action}
          {may('write') && (
            <a href={address} aria-label={`Edit a copy of ${id}`}>
              Edit a copy
            </a>
          )}
        </div>
      )}
    </li>
  );
}

interface TemplatePictureProps extends Pick<BuiltInTemplateProps, 'id' | 'report'> {
  readonly blocks: ReportTemplateDocument['blocks'];
  readonly page: ReportTemplateDocument['page'] | undefined;
}

/** Renders the first page of the newest report of a template. Default: the outline of the template. */
export const TemplatePicture = ({ id, report, blocks, page }: TemplatePictureProps) =>
  report === undefined ? <Thumbnail blocks={blocks} page={page} /> : <FirstPage id={report} template={id} />;

/** Formats the size of a template, for example `13 blocks, A4 portrait`. */
export const formatExtent = ({ blocks, page }: Pick<ReportTemplateDocument, 'blocks' | 'page'>): string =>
  `${countValues(blocks.length, 'block')}, ${page.size} ${page.orientation}`;

/** Formats the titles of the first blocks, for example `Performance, Largest constituents, ...`. */
export const formatContents = ({ blocks }: Pick<ReportTemplateDocument, 'blocks'>): string =>
  blocks
    .flatMap((block) => ('title' in block && typeof block.title === 'string' && block.title !== '' ? block.title : []))
    .slice(0, TITLES_SHOWN)
    .join(', ');

const TITLES_SHOWN = 4;
