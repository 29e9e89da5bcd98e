import type { MethodologyTemplateSummary } from '#clients/typescript/divisor.js';
import { Popover } from '../../components/popover.js';

interface LackingProps {
  readonly template: MethodologyTemplateSummary;
}

/** Renders which data the store lacks. */
export function Missing({ template, id }: LackingProps & { readonly id: string }) {
  const meanings = [
    ...listMissing(template).map(({ meaning }) => meaning.replace(/\.$/, '')),
    ...template.missing_rates.map((pair) => `Exchange rate ${pair}`),
  ];
  return (
    <div class="template-reason" id={id}>
      {meanings.length === 0 ? 'The store lacks data of the template.' : 'Data that the store lacks:'}
      <ul>
        {meanings.map((meaning) => (
          <li key={meaning}>{meaning}</li>
        ))}
      </ul>
    </div>
  );
}

/** Renders a button that lists the names of the columns, series, universes and exchange rates that the store lacks. */
export function Details({ template }: LackingProps) {
  const missing = listMissing(template);
  const rates = template.missing_rates;
  if (missing.length + rates.length === 0) return null;
  return (
    <Popover label={`Details of the data that the store lacks for ${template.title}`} title="Details" kind="bare">
      {() => (
        <ul>
          {missing.map(({ name, kind, meaning }) => (
            <li key={name}>
              {kind} <code>{name}</code>: {meaning}
            </li>
          ))}
          {rates.map((pair) => (
            <li key={pair}>
              series <code>{pair}</code>: Price of one {pair.slice(0, 3)} in {pair.slice(3)}.
            </li>
          ))}
        </ul>
      )}
    </Popover>
  );
}

const listMissing = ({ needs }: MethodologyTemplateSummary) => needs.filter(({ missing }) => missing);
