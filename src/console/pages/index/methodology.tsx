import type { IndexDocument, StoredStrategy } from '#clients/typescript/divisor.js';
import { JsonDocument } from '../../components/json-document.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { parameter } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Renders the definition in words, and as it is stored. */
export function Methodology({ index }: { readonly index: IndexDocument }) {
  const { id } = index;
  const words = useResource(`methodology ${id}`, (signal) =>
    service.value.call('getMethodology', { params: { index_id: id }, signal }),
  );
  return (
    <div class="index-part">
      {parameter('run_id') !== null && <p class="quiet">The current definition, independent of the selected run.</p>}
      <Answered resource={words} what="the methodology">
        {({ sentences }) => (
          <ol class="methodology">
            {sentences.map(({ number, text }) => (
              <li key={number} value={number}>
                {text}
              </li>
            ))}
          </ol>
        )}
      </Answered>
      <details class="designer-part">
        <summary>
          <h2>Definition as JSON</h2>
        </summary>
        <JsonDocument label="Definition as JSON" value={index} />
      </details>
    </div>
  );
}

/** Renders the terms of a strategy, as they are stored. */
export function Terms({ strategy }: { readonly strategy: StoredStrategy['strategy'] }) {
  return (
    <div class="index-part">
      <Section title="Definition">
        <JsonDocument label="Definition as JSON" value={strategy} />
      </Section>
    </div>
  );
}
