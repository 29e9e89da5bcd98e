import type { IndexDocumentBody, SweepRow } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { SidePanel } from '../../components/side-panel.js';
import { attempt, runIndex, type OnRefusal } from '../../state/actions.js';
import { navigate } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatChange, formatDecimal, formatPercent } from '../../words/numbers.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { getPatchBase } from './patch.js';
import { createCostFigure, describeVariant, formatWithUnit, nameVariant, type ParameterLabels } from './values.js';

interface VariantPanelProps {
  readonly row: SweepRow;
  readonly indexId: string;
  /** Terms of the backtests. */
  readonly request: JsonObject;
  readonly told: ParameterLabels;
  onClose(): void;
}

/** Renders a variant with its changes and figures. A button creates an index from it. */
export function VariantPanel({ row, indexId, request, told, onClose }: VariantPanelProps) {
  const { patch, metrics, error, start, end, total_costs: costs } = row;
  return (
    <SidePanel title={nameVariant(patch, told)} onClose={onClose}>
      {error !== null && (
        <Banner kind="bad" title={error.message}>
          <details>
            <summary>Details</summary>
            <code>{error.code}</code>
          </details>
        </Banner>
      )}
      {metrics !== null && (
        <Metrics
          label="Figures of the variant"
          metrics={[
            { term: 'Annualised return', value: formatChange(metrics.annualised_return) },
            { term: 'Volatility', value: formatPercent(metrics.volatility) },
            { term: 'Sharpe ratio', value: formatDecimal(metrics.sharpe_ratio) },
            { term: 'Max drawdown', value: formatPercent(metrics.max_drawdown) },
            { term: 'Total return', value: formatChange(metrics.total_return) },
            createCostFigure(costs, request),
          ]}
        />
      )}
      <Facts
        facts={[
          ...Object.entries(patch).map(([pointer, value]): [string, string] => {
            const { label, unit } = told(pointer);
            return [label, formatWithUnit(value as Json, unit)]; // patch values are plain JSON
          }),
          ['Rank', row.rank === null ? 'refused' : String(row.rank)],
          ['Dates', start === null ? null : `${start} to ${end}`],
        ]}
      />
      {error === null && may('write') && <SaveAs {...{ row, indexId, request, told }} />}
    </SidePanel>
  );
}

function SaveAs({ row: { variant, patch }, indexId, request, told }: Omit<VariantPanelProps, 'onClose'>) {
  const [id, setId] = useState(`${indexId}-V${variant}`);
  const save = (onRefusal: OnRefusal) =>
    attempt(async () => {
      const document = await service.value.call('getIndex', { params: { index_id: indexId } });
      const base = getPatchBase({ document: document as unknown as JsonObject, request }, patch as JsonObject); // the responses are plain JSON
      const name = `${document.name}, variant ${variant}`;
      const body = { ...base.document, id, name, description: describeVariant(indexId, patch, told) };
      await service.value.call('createIndex', { body: body as unknown as IndexDocumentBody }); // the service created the document
      notifyChange();
      showToast('good', `The index ${id} was saved.`);
      if (may('run')) await runIndex(id, base.request as Parameters<typeof runIndex>[1], onRefusal);
      navigate(formatIndexAddress(id));
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
