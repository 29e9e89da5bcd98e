import type { IndexDocument, RuleTypes, StoredRun } from '#clients/typescript/divisor.js';
import { EmptyState } from '../../components/empty-state.js';
import { createFields } from '../../components/form/schema-fields.js';
import { MayNot } from '../../components/may-not.js';
import { Page } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { getParameter } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { findLastVisit } from '../../state/recent.js';
import { useResource } from '../../state/resource.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { readNewestRun, getTerms } from '../index/run-terms.js';
import { measureRunTime } from './run-time.js';
import { SweepForm, TERMS_SCHEMA } from './sweep-form.js';

/** Page with the form of a new sweep. */
export function NewSweepPage() {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const types = useResource('rule types', (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  return (
    <Page
      title="New sweep"
      above={[{ address: '/console/sweeps', text: 'Sweeps' }]}
      subtitle="Runs an index with every combination of the values and ranks the variants"
    >
      {may('run') ? (
        <Answered resource={indices} what="the indices">
          {({ indices: all }) => (
            <Answered resource={types} what="the rule classes">
              {(classes) => (
                <NewSweep ids={all.filter(({ kind }) => kind === 'rule').map(({ id }) => id)} types={classes} />
              )}
            </Answered>
          )}
        </Answered>
      ) : (
        <MayNot scope="run" what="run sweeps" />
      )}
    </Page>
  );
}

function NewSweep({ ids, types }: { readonly ids: readonly string[]; readonly types: RuleTypes }) {
  const id = getParameter('index') ?? findLastVisit(ids);
  const basis = useResource(id === undefined ? null : `basis of a sweep of ${id}`, (signal) =>
    readBasis(id ?? '', signal),
  );
  const schemas = useSchemas();
  if (id === undefined) return <EmptyState title="No index yet">A sweep varies an index. Create one first.</EmptyState>;
  return (
    <Answered resource={basis} what="the definition">
      {({ index, run, time }) => (
        <Answered resource={schemas} what="the terms of a sweep">
          {(all) => (
            <SweepForm
              key={index.id}
              ids={ids}
              index={index}
              types={types}
              terms={parseTerms(run, all)}
              end={run?.end ?? null}
              time={time}
            />
          )}
        </Answered>
      )}
    </Answered>
  );
}

/** Number of latest jobs from which the time of a variant is measured. */
const MEASURED_MAX = 100;

/** Reads the definition, the newest run, and the time that a variant takes. */
async function readBasis(id: string, signal: AbortSignal) {
  const [index, run, { jobs }] = await Promise.all([
    service.value.call('getIndex', { params: { index_id: id }, signal }) as Promise<IndexDocument>,
    readNewestRun(id, signal),
    service.value.call('listJobs', {
      query: { kind: ['sweep', 'backtest'], status: ['succeeded'], limit: MEASURED_MAX },
      signal,
    }),
  ]);
  return { index, run, time: measureRunTime(id, jobs) };
}

/** Returns the terms of the latest run that a sweep supports. These are all terms except the benchmark. */
function parseTerms(run: StoredRun | null, schemas: Schemas): JsonObject {
  const termNames = new Set(createFields(schemas, TERMS_SCHEMA).map(({ name }) => name));
  return Object.fromEntries(Object.entries(run === null ? {} : getTerms(run)).filter(([name]) => termNames.has(name)));
}
