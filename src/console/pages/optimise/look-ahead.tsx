import type { RiskModelRequest } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { JobState } from '../../components/job-state.js';
import { start, type OnRefusal } from '../../state/actions.js';
import { getJob } from '../../state/live.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { isObject, type Json } from '../../words/paths.js';

interface LookAheadProps {
  readonly message: string;
  /** Detail of the error: `model_id` and `decision_date`. */
  readonly detail: Readonly<Record<string, unknown>> | null;
  readonly indexId: string;
  /** Called with the id of the new model after it was estimated. */
  onModel(id: string): void;
}

/**
 * Renders the error that a risk model uses returns after the decision date. A button estimates a new model that ends on
 * that date.
 */
export function LookAhead({ message, detail, indexId, onModel }: LookAheadProps) {
  const [asked, setAsked] = useState<string | null>(null);
  const job = asked === null ? undefined : getJob(`risk:${asked}`);
  const isDone = job?.status === 'succeeded';
  useEffect(() => {
    if (isDone && asked !== null) onModel(asked);
  }, [isDone]);
  const modelId = String(detail?.['model_id']);
  const date = String(detail?.['decision_date']);
  const id = formatIdUpTo(modelId, date);
  const estimate = async (onRefusal: OnRefusal) => {
    const body = await requestUpTo(modelId, date, indexId);
    const params = { model_id: id };
    const startedJob = await start(() => service.value.call('estimateRiskModel', { params, body }), onRefusal);
    if (startedJob !== undefined) setAsked(id);
  };
  const formAddress = formatAddress('/console/risk-models', {
    id,
    estimate: JSON.stringify({ index_id: indexId, end: date }),
  });
  return (
    <Banner
      kind="bad"
      title={message}
      action={may('run') && <ActionButton act={estimate}>{`Estimate up to ${date}`}</ActionButton>}
    >
      <p>
        A decision must not use returns after its date. The model {id} has the settings of {modelId} and ends on {date};{' '}
        <a href={formAddress}>other settings</a>.
      </p>
      {job !== undefined && <JobState job={job} />}
    </Banner>
  );
}

/** Maximum length of a document id. */
const ID_MAX = 64;

const formatIdUpTo = (model: string, date: string): string => `${model.slice(0, ID_MAX - date.length - 1)}-${date}`;

/**
 * Returns the request of the model with another end date. If the model was deleted, the securities come from the index.
 */
async function requestUpTo(model: string, end: string, indexId: string): Promise<RiskModelRequest> {
  const job = await service.value.call('getJob', { params: { job_id: `risk:${model}` } }).catch(() => null);
  const request = job?.request as Json | undefined;
  const storedRequest = isObject(request) ? request : { index_id: indexId };
  return { ...storedRequest, end } as unknown as RiskModelRequest; // the service validates the request
}
