import type { Finding } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Button } from '../../components/button.js';
import { createFields } from '../../components/form/schema-fields.js';
import { SchemaForm, type Changes } from '../../components/form/schema-form.js';
import type { OnRefusal } from '../../state/actions.js';
import { usePhone } from '../../components/use-phone.js';
import { formatRunSubject } from '../../state/refusals.js';
import { useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { readShownRun } from '../../state/shown-run.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import type { JsonObject } from '../../words/paths.js';
import { OMITTED_MEMBERS } from './run-change.js';
import { RUN_SCHEMA, TERM_CHANGES } from './run-terms.js';

interface TermsFormProps {
  readonly id: string;
  /** Data store of the index; null for the served store. */
  readonly store: string | null;
  readonly isOpen: boolean;
  /** True if the terms differ from those of the latest run. */
  readonly isOther: boolean;
  readonly isRunning: boolean;
  /** Terms of the next run. */
  readonly asked: JsonObject;
  readonly findings: readonly Finding[];
  onChange(terms: JsonObject): void;
  onRun(onRefusal: OnRefusal): Promise<void>;
  onDiscard(): void;
}

/** Terms that most runs change. The other terms are folded unless they are set or refused. */
const MAIN_TERMS = ['benchmark', 'transaction_cost_bps', 'start', 'end'];
/** Terms that are not folded on a phone. */
const PHONE_TERMS = MAIN_TERMS.slice(0, 2);

/** Renders the form for the terms of the next run, and a button that starts it. */
export function TermsForm(props: TermsFormProps) {
  const { id, store, isOpen, isOther, isRunning, asked, findings, onChange, onRun, onDiscard } = props;
  const changes = useFieldChanges(id, isOpen);
  const mainTerms = usePhone() ? PHONE_TERMS : MAIN_TERMS;
  const isMain = (path: string) =>
    [...mainTerms, ...OMITTED_MEMBERS].some((name) => path === name || path.startsWith(`${name}.`));
  const form = { schema: RUN_SCHEMA, changes, value: asked, findings, onChange };
  const schemas = useSchemas({ isLater: true }).data;
  const fields = schemas === undefined ? [] : createFields(schemas, RUN_SCHEMA);
  const isMoreUsed =
    fields.some(({ name, otherwise }) => !isMain(name) && asked[name] != null && asked[name] !== otherwise) ||
    findings.some(({ path }) => !isMain(path));
  const [isMoreOpen, setMoreOpen] = useState(false);
  const isStoreMissing = isUnregistered(useStores(store !== null).data?.stores, store);
  return (
    <div class="section">
      <SchemaForm {...form} names={mainTerms} />
      <details
        class="field-more"
        open={isMoreOpen || isMoreUsed}
        onToggle={({ currentTarget }) => {
          // Terms with a value open the fold, which closes again when they are removed.
          if (!isMoreUsed) setMoreOpen(currentTarget.open);
        }}
      >
        <summary>More terms</summary>
        <SchemaForm {...form} except={[...mainTerms, ...OMITTED_MEMBERS]} />
      </details>
      <div class="form-actions">
        {!isStoreMissing && (
          <ActionButton kind={isOther ? 'main' : 'plain'} about={formatRunSubject(id)} disabled={isRunning} act={onRun}>
            Run with these terms
          </ActionButton>
        )}
        {isOther && (
          <Button kind="bare" onClick={onDiscard}>
            Discard
          </Button>
        )}
        {isOther && readShownRun().run_id === undefined && (
          <p class="quiet">Until then, all figures of this page are of the latest run.</p>
        )}
      </div>
    </div>
  );
}

/** Returns the help and the suggested values of fields. They are loaded when the form is open. */
function useFieldChanges(id: string, isOpen: boolean): Changes {
  const series = useResource(isOpen ? 'series' : null, (signal) => service.value.call('listSeries', { signal }));
  const indices = useResource(isOpen ? 'indices' : null, (signal) => service.value.call('listIndices', { signal }));
  const stores = useStores(isOpen);
  return {
    ...TERM_CHANGES,
    benchmark: {
      help: 'Index, security or series.',
      suggestions: [
        ...(indices.data?.indices ?? []).filter((index) => index.id !== id).map((index) => `index:${index.id}`),
        ...(series.data?.series ?? []).map(({ identifier }) => `identifier:${identifier}`),
      ],
    },
    store_id: { otherwise: 'served store', suggestions: (stores.data?.stores ?? []).map(({ store_id: one }) => one) },
  };
}
