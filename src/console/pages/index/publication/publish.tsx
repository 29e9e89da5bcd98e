import type { OverviewView, PublishRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Banner } from '../../../components/banner.js';
import { Button } from '../../../components/button.js';
import { SchemaForm } from '../../../components/form/schema-form.js';
import { Problem } from '../../../components/problem.js';
import { Section } from '../../../components/page.js';
import { changed } from '../../../state/resource.js';
import { service, troubleOf, type Trouble } from '../../../state/service.js';
import { say } from '../../../state/toasts.js';
import { counted } from '../../../words/numbers.js';
import type { JsonObject } from '../../../words/paths.js';

interface PublishProps {
  readonly id: string;
  readonly run: OverviewView;
  /** Last published date; null where nothing is. */
  readonly last: string | null;
}

/** Appends closes of the run to the log; where published ones differ, they are told, and restated only with a reason. */
export function Publish({ id, run, last }: PublishProps) {
  const [asked, setAsked] = useState<JsonObject>({});
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isRestated = trouble?.code === 'RESTATEMENT';
  const isPartial = trouble?.code === 'PARTIAL_CLOSES' || asked['allow_partial'] === true;
  const publish = async (body: JsonObject) => {
    setBusy(true);
    setTrouble(null);
    try {
      const { published, restated, through } = await service.value.call('publishIndex', {
        params: { index_id: id },
        body: body as PublishRequest, // The service says what is wrong with it.
      });
      const again = restated === 0 ? '' : `, ${restated} again`;
      say('good', `${counted(published, 'close')} published${again}; through ${through}.`);
      setAsked({});
      changed();
    } catch (thrown) {
      setTrouble(troubleOf(thrown));
    }
    setBusy(false);
  };
  const isDone = last !== null && last >= run.end && !isRestated;
  return (
    <Section title="Publish" aside={isDone && 'every close of the run is published'}>
      {run.stale !== null && (
        <p class="quiet">The stored run is stale: what is published is the run as it is stored.</p>
      )}
      {isRestated && <Differs trouble={trouble} />}
      {trouble !== null && !isRestated && <Problem trouble={trouble} />}
      <SchemaForm
        schema="PublishRequest"
        names={['through', ...(isPartial ? ['allow_partial'] : []), ...(isRestated || isPartial ? ['reason'] : [])]}
        changes={{
          through: { label: 'Through', kind: 'date', otherwise: run.end },
          reason: { label: 'Why', isRequired: isRestated },
          allow_partial: { label: 'Publish what lacks bars' },
        }}
        value={asked}
        findings={trouble?.findings ?? []}
        onChange={setAsked}
      />
      <div class="form-actions">
        {isRestated ? (
          <Button
            kind="danger"
            disabled={isBusy || asked['reason'] === undefined}
            onClick={() => void publish({ ...asked, restate: true })}
          >
            Restate
          </Button>
        ) : (
          <Button kind="main" disabled={isBusy} onClick={() => void publish({ ...asked, restate: false })}>
            Publish
          </Button>
        )}
      </div>
    </Section>
  );
}

/** Dates of the log that the run disagrees with. */
function Differs({ trouble: { message, detail } }: { readonly trouble: Trouble }) {
  const dates = (Array.isArray(detail?.['dates']) ? detail['dates'] : []) as readonly string[];
  const total = Number(detail?.['total'] ?? dates.length);
  return (
    <Banner kind="warning" title={message}>
      <p>
        Nothing was published. {dates.join(', ')}
        {total > dates.length && ` and ${total - dates.length} more`}
      </p>
      <p>A restatement is appended beside what stands, with its reason; it removes nothing.</p>
    </Banner>
  );
}
