import type { Finding } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Choice } from '../../components/choice.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

interface AccountProps {
  readonly account: JsonObject;
  readonly findings: readonly Finding[];
  readonly at: number;
  readonly currency: string;
  onChange(account: JsonObject | null): void;
}

/** Quantity in which holdings are entered. */
type HoldingUnit = 'shares' | 'value';

const HOLDING_PHRASES: Readonly<Record<HoldingUnit, string>> = {
  shares: 'the shares',
  value: 'the value at the close',
};

/** Renders the form of an account: its cash, and shares or values by security. */
export function Account({ account, findings, at, currency, onChange }: AccountProps) {
  const path = ['accounts', at];
  const name = String(account['name'] ?? '');
  const holdingRows = Array.isArray(account['holdings']) ? (account['holdings'] as readonly JsonObject[]) : [];
  const [by, setBy] = useState<HoldingUnit>(holdingRows.some((one) => 'value' in one) ? 'value' : 'shares');
  const numbers = Object.fromEntries(holdingRows.map((one) => [String(one['identifier']), one[by]]));
  const put = (value: Json | undefined, how: HoldingUnit) => {
    const pairs = Object.entries(isObject(value) ? value : {});
    const holdings = pairs.map(([identifier, own]) => ({ identifier, [how]: own ?? null }));
    onChange({ ...account, holdings });
  };
  return (
    <section class="form-card" aria-label={name}>
      <SchemaForm
        schema="PackAccount"
        names={['name', 'cash']}
        value={account}
        findings={findings}
        path={path}
        onChange={onChange}
      />
      <FieldGrid>
        <Field
          spec={{
            name: 'holdings',
            label: 'Holdings',
            kind: 'numbers',
            help: `Identifiers, and ${HOLDING_PHRASES[by]} of each.`,
          }}
          value={numbers}
          findings={findings.filter((finding) => finding.path.startsWith(`accounts[${at}].holdings`))}
          onChange={(value) => put(value, by)}
        />
        <Choice
          label={`Holdings of ${name} by`}
          options={[
            { value: 'shares', text: 'Shares' },
            { value: 'value', text: `Value, ${currency}` },
          ]}
          value={by}
          onChoose={(how) => {
            setBy(how);
            put(numbers, how);
          }}
        />
      </FieldGrid>
      <div class="form-actions">
        <Button aria-label={`Remove ${name}`} onClick={() => onChange(null)}>
          Remove
        </Button>
      </div>
    </section>
  );
}
