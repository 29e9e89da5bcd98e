import type { WhatIfResponse } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Findings } from '../../components/findings.js';
import { Metrics } from '../../components/metrics.js';
import { formatChange, formatCount, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import { listHeadroom, SHOWN } from './preview.js';

const CALLS = {
  schedule: 'the schedule',
  breach: 'a breach',
  replacement: 'a constituent that left',
  fast_entry: 'a new security',
  fast_exit: 'a constituent ranked too low',
} as const;

const formatCause = (cause: keyof typeof CALLS | null): string => (cause === null ? 'nothing' : CALLS[cause]);

/** Renders how the draft changes the weights of the stored definition. */
export function WhatIf({
  change: { before, after, added, removed, changed, turnover, findings },
}: {
  readonly change: WhatIfResponse;
}) {
  const moves = [...added, ...removed, ...changed].toSorted((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return (
    <>
      <Metrics
        label="Effect of the change"
        metrics={[
          { term: 'Turnover', value: formatPercent(turnover), help: 'One-way, from the stored definition to this one' },
          {
            term: 'Constituents',
            value: formatCount(after.constituents),
            note: `before ${formatCount(before.constituents)}`,
          },
          { term: 'Largest', value: formatPercent(after.largest), note: `before ${formatPercent(before.largest)}` },
          {
            term: 'Effective',
            value: formatDecimal(after.effective_assets, 1),
            note: `before ${formatDecimal(before.effective_assets, 1)}`,
          },
          ...(before.cause === null && after.cause === null
            ? []
            : [
                {
                  term: 'Cause',
                  value: formatCause(after.cause),
                  help: 'Cause of a rebalance that is decided on this date',
                  ...(before.cause === after.cause ? {} : { note: `before ${formatCause(before.cause)}` }),
                },
              ]),
          ...listHeadroom(after.limits, before.limits),
        ]}
      />
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      {moves.length === 0 ? (
        <p class="quiet">No changes on this date.</p>
      ) : (
        <table class="moves">
          <thead>
            <tr>
              <th scope="col">Security</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {moves.slice(0, 2 * SHOWN).map(({ identifier, before: from, after: to, change: by }) => (
              <tr key={identifier}>
                <th scope="row">
                  {identifier} {from === 0 && <Badge kind="good">in</Badge>}
                  {to === 0 && <Badge kind="bad">out</Badge>}
                </th>
                <td>{formatPercent(from)}</td>
                <td>{formatPercent(to)}</td>
                <td class={getSignClass(by)}>{formatChange(by)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {moves.length > 2 * SHOWN && <p class="quiet">and {formatCount(moves.length - 2 * SHOWN)} smaller changes</p>}
    </>
  );
}
