import { Banner } from '../../components/banner.js';
import { LinkButton } from '../../components/button.js';
import { addQuery } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service, type Trouble } from '../../state/service.js';
import { readShownRun } from '../../state/shown-run.js';
import { formatMoment } from '../../words/dates.js';
import type { Json } from '../../words/paths.js';
import { formatTerms } from './run-terms.js';

interface OtherRunProps {
  readonly id: string;
  /** Error because of which the run cannot be shown; null if there is none. */
  readonly trouble: Trouble | null;
}

/** Renders a note if the page shows a run that is not the latest. */
export function OtherRun({ id, trouble }: OtherRunProps) {
  const list = useResource(`runs ${id}`, (signal) =>
    service.value.call('listRuns', { params: { index_id: id }, signal }),
  );
  const schemas = useSchemas();
  const { run_id: shown = null } = readShownRun();
  const run = list.data?.runs.find(({ run_id: one }) => one === shown);
  const newest = <LinkButton href={addQuery({ run_id: null })}>Show the newest</LinkButton>;
  if (trouble !== null) return <Banner kind="bad" title={trouble.message} action={newest} />;
  if (run === undefined) return null;
  return (
    <Banner kind="info" title={`The run of ${formatMoment(run.run_at)} is shown, not the newest.`} action={newest}>
      <p>
        {formatTerms(run.request as Json, 'BacktestRequest', schemas.data)}
        {run.index_version !== null && ` · version ${run.index_version} of the definition`} ·{' '}
        <a href={addQuery({ tab: 'runs', run_id: null, run_from: shown, run_to: list.data?.runs[0]?.run_id ?? null })}>
          compare with the newest
        </a>
      </p>
    </Banner>
  );
}
