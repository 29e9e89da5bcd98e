import type { ReportTemplateDocument } from '#clients/typescript/divisor.js';
import { formatAddress } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { countValues } from '../../words/numbers.js';
import { Thumbnail } from './thumbnail.js';

interface BuiltInTemplateProps {
  readonly id: string;
  /** Index of the new template; null for the first index that has a run. */
  readonly index: string | null;
}

/** Renders a built-in template. It can be copied to a new template. */
export function BuiltInTemplate({ id, index }: BuiltInTemplateProps) {
  const template = useResource(
    `built-in template ${id}`,
    (signal) => service.value.call('getTemplate', { params: { template_id: id }, signal }),
    { follows: false },
  );
  return (
    <li>
      <a href={formatAddress('/console/reports/templates/new', { from: id, index })}>
        <Thumbnail blocks={template.data?.blocks ?? []} page={template.data?.page} />
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
    </li>
  );
}

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
