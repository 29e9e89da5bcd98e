import type { DataStore } from '#clients/typescript/divisor.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button } from '../../components/controls/button.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import type { Trouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { submitGeneration, MARKET_WORDS, createMarket } from './generate-market.js';
import '../../components/dialog.css';

/** Settings that a first market requires; all other settings have defaults. */
const FIRST_FIELDS = ['store_id', 'name', 'assets', 'start', 'end', 'seed'];

export interface GenerateDialogProps {
  readonly stores: readonly DataStore[];
  /** True if the service serves the market after its generation. */
  readonly activate: boolean;
  onClose(): void;
}

/** Renders the settings of a generated market, each with a default value. */
export function GenerateDialog({ stores, activate, onClose }: GenerateDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [settings, setSettings] = useState<JsonObject>(() => createMarket(stores));
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const form = {
    schema: 'GenerateSyntheticRequest',
    value: settings,
    findings: trouble?.findings ?? [],
    onChange(next: JsonObject) {
      setTrouble(null);
      setSettings(next);
    },
  };
  return (
    <dialog ref={dialog} class="pile raised gap-3 dialog is-wide" aria-label="Generate a market" onClose={onClose}>
      <h2>Generate a market</h2>
      <p class="quiet">{MARKET_WORDS}</p>
      <SchemaForm {...form} names={FIRST_FIELDS} />
      <details>
        <summary>Calendar, returns and events</summary>
        <SchemaForm {...form} except={[...FIRST_FIELDS, 'activate']} />
      </details>
      {trouble !== null && trouble.findings.length === 0 && (
        <p class="down" role="alert">
          {trouble.message}
        </p>
      )}
      <div class="gap-2 dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <ActionButton
          kind="main"
          act={async (onRefusal) => {
            const refusal: { trouble: Trouble | null } = { trouble: null };
            const job = await submitGeneration({ ...settings, activate }, (jobProgress) => {
              refusal.trouble = jobProgress;
            });
            if (job !== undefined) onClose();
            else if (refusal.trouble !== null && refusal.trouble.findings.length > 0) setTrouble(refusal.trouble);
            else if (refusal.trouble !== null) onRefusal(refusal.trouble);
          }}
        >
          Generate the market
        </ActionButton>
      </div>
    </dialog>
  );
}
