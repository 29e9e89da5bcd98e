import type { IndexDocument } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** The definition in words, and as it is stored. */
export function Methodology({ index }: { readonly index: IndexDocument }) {
  const { id } = index;
  const words = useResource(`methodology ${id}`, (signal) =>
    service.value.call('getMethodology', { params: { index_id: id }, signal }),
  );
  return (
    <div class="index-part">
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
      <Section title="Definition">
        <pre class="document" tabIndex={0} aria-label="Definition as JSON">
          {JSON.stringify(index, null, 2)}
        </pre>
      </Section>
    </div>
  );
}
