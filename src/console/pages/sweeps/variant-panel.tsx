import type { IndexDocumentBody, SweepRow } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { SidePanel } from '../../components/side-panel.js';
import { attempt, runIndex, type OnRefusal } from '../../state/actions.js';
import { go } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { indexAddress } from '../../words/addresses.js';
import { change, decimal, percent } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { patchBase } from './patch.js';
import { withUnit, type ParameterLabels } from './values.js';

interface VariantPanelProps {
  readonly row: SweepRow;
  readonly indexId: string;
  /** Terms of the backtests. */
  readonly request: JsonObject;
  readonly told: ParameterLabels;
  onClose(): void;
}

/** Renders a variant: its changes and figures, and a button that creates an index from it. */
export function VariantPanel({ row, indexId, request, told, onClose }: VariantPanelProps) {
  const { variant, patch, metrics, error, start, end, total_costs: costs } = row;
  return (
    <SidePanel title={`Variant ${variant}`} onClose={onClose}>
      {error !== null && (
        <Banner kind="bad" title={error.message}>
          <code>{error.code}</code>
        </Banner>
      )}
      {metrics !== null && (
        <Metrics
          label={`Figures of variant ${variant}`}
          metrics={[
            { term: 'Annualised return', value: change(metrics.annualised_return) },
            { term: 'Volatility', value: percent(metrics.volatility) },
            { term: 'Sharpe ratio', value: decimal(metrics.sharpe_ratio) },
            { term: 'Max drawdown', value: percent(metrics.max_drawdown) },
            { term: 'Total return', value: change(metrics.total_return) },
            { term: 'Costs', value: percent(costs) },
          ]}
        />
      )}
      <Facts
        facts={[
          ...Object.entries(patch).map(([pointer, value]): [string, string] => {
            const { label, unit } = told(pointer);
            return [label, withUnit(value as Json, unit)]; // patch values are plain JSON
          }),
          ['Rank', row.rank === null ? 'refused' : String(row.rank)],
          ['Dates', start === null ? null : `${start} to ${end}`],
        ]}
      />
      {error === null && may('write') && <SaveAs {...{ row, indexId, request }} />}
    </SidePanel>
  );
}

function SaveAs({ row: { variant, patch }, indexId, request }: Pick<VariantPanelProps, 'row' | 'indexId' | 'request'>) {
  const [id, setId] = useState(`${indexId}-V${variant}`);
  const save = (onRefusal: OnRefusal) =>
    attempt(async () => {
      const document = await service.value.call('getIndex', { params: { index_id: indexId } });
      const made = patchBase({ document: document as unknown as JsonObject, request }, patch as JsonObject); // the responses are plain JSON
      const body = { ...made.document, id, name: `${document.name}, variant ${variant}` };
      await service.value.call('createIndex', { body: body as unknown as IndexDocumentBody }); // the service created the document
      notifyChange();
      say('good', `The index ${id} was saved.`);
      if (may('run')) await runIndex(id, made.request as Parameters<typeof runIndex>[1], onRefusal);
      go(indexAddress(id));
    }, onRefusal);
  return (
    <section class="variant-save" aria-label="Save as an index">
      <label class="select">
        <span class="quiet">Id</span>
        <input
          class="control"
          aria-label="Id of the index"
          value={id}
          maxLength={64}
          onInput={(event) => setId(event.currentTarget.value)}
        />
      </label>
      <ActionButton kind="main" disabled={id.trim() === ''} act={save}>
        Save as an index
      </ActionButton>
    </section>
  );
}
