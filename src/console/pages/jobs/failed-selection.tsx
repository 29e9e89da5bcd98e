import type { JobStatus, PreviewStep } from '#clients/typescript/divisor.js';
import { Funnel } from '../../components/funnel.js';
import { Section } from '../../components/page.js';
import { Wait } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatJobId } from '../../words/jobs.js';

/** Details of a refused backtest of an index with rules. */
interface SelectionDetail {
  readonly as_of?: string;
  readonly steps?: readonly Omit<PreviewStep, 'excluded'>[];
}

/** Renders the number of securities that each rule left on the reference date of a failed backtest. */
export function FailedSelection({ job }: { readonly job: JobStatus }) {
  const { as_of: asOf, steps } = (job.error?.detail ?? {}) as SelectionDetail;
  if (steps === undefined || asOf === undefined) return <PreviewedSelection id={formatJobId(job)} />;
  return (
    <Section title="Selection of constituents" aside={`on ${asOf}`}>
      <Funnel steps={steps.map((step) => ({ ...step, excluded: [] }))} assets={[]} />
    </Section>
  );
}

/** Renders the selection by the current definition. For errors of earlier versions, which contain no counts. */
function PreviewedSelection({ id }: { readonly id: string }) {
  const preview = useResource(`preview ${id}`, (signal) =>
    service.value.call('previewIndex', { params: { index_id: id }, body: {}, signal }),
  );
  if (preview.isLoading) return <Wait what="the selection" />;
  const { steps, resolved_date: date, assets } = preview.data ?? {};
  if (steps == null || assets === undefined) return null; // the preview is refused for the same reason, or the index is deleted
  return (
    <Section title="Selection of constituents" aside={`by the current definition, on ${date}`}>
      <Funnel steps={steps} assets={assets} />
    </Section>
  );
}
