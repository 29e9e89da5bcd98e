import type { BatchLot, BatchTrade } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { setParameters } from '../../state/place.js';
import { bps, decimal, figure, percent } from '../../words/numbers.js';
import {
  conflictText,
  hasSolution,
  isRounded,
  ruleText,
  formatStatus,
  type Account,
  type Deviation,
} from './account-result.js';

/** Minimum shadow price of a binding limit. */
const PRICE_MIN = 1e-6;

/** Renders an account: its figures, trades, lots and deviations. */
export function AccountPanel({ account }: { readonly account: Account }) {
  const { account_id: id, findings, conflicts = [] } = account;
  return (
    <SidePanel title={`Account ${id}`} onClose={() => setParameters({ account: null })}>
      {findings.length > 0 && (
        <Banner kind="bad" title="Refused">
          {findings.map(({ message }) => (
            <p key={message}>{message}</p>
          ))}
        </Banner>
      )}
      {account.status === 'infeasible' && (
        <Banner kind="bad" title="No trades satisfy all limits of this account.">
          {conflicts.length > 0 && (
            <>
              <p>These limits conflict. An amount is how much one limit has to give if all others stay.</p>
              <ul>
                {conflicts.map((rule) => (
                  <li key={rule}>{conflictText(account, rule)}</li>
                ))}
              </ul>
            </>
          )}
          <p>
            {isRounded(account) && 'Rounding found no trades; a few more shares or smaller trades may exist. '}
            Relax one of the limits and submit the account again. There is nothing to trade.
          </p>
        </Banner>
      )}
      {hasSolution(account) && <Solution account={account} />}
    </SidePanel>
  );
}

/** Renders the figures and trades of an account that has a solution. */
function Solution({ account }: { readonly account: Account }) {
  const { trades = [], shadow_prices: prices, deviations, lots_after: lots } = account;
  return (
    <>
      <Facts
        facts={[
          ['Status', formatStatus(account)],
          ['Gap', bps(account.certificate?.gap)],
          ['Value', decimal(account.value)],
          ['Cash after trading', decimal(account.cash)],
          ['Costs', decimal(account.costs)],
          ['Tracking error', percent(account.tracking_error, 3)],
          ['Tracking error before', percent(account.tracking_error_before, 3)],
          ['Short-term gains', decimal(account.short_gain)],
          ['Long-term gains', decimal(account.long_gain)],
          ['Tax of the year', decimal(account.tax)],
          ['Tax saved', decimal(account.tax_saved)],
          ['One more basis point saves', decimal(account.one_more_bp_saves)],
          ...(prices !== undefined && prices.tracking_error_bp > PRICE_MIN
            ? [['A basis point of the limit costs', decimal(prices.tracking_error_bp)] as [string, string]]
            : []),
          ...Object.entries(prices?.rows ?? {})
            .filter(([, price]) => Math.abs(price) > PRICE_MIN)
            .map(([row, price]): [string, string] => [`Price of ${ruleText(row).toLowerCase()}`, decimal(price)]),
          ...Object.entries(deviations?.variance_by_reason ?? {}).map(([reason, share]): [string, string] => [
            `Deviation by ${reason.replaceAll('_', ' ')}`,
            percent(share),
          ]),
        ]}
      />
      <h3>Trades</h3>
      <Table
        label="trades"
        columns={TRADES}
        rows={trades}
        sort={{ column: 'side', direction: 'desc' }}
        keyOf={(trade) => `${trade.side} ${trade.identifier} ${trade.lot ?? ''} ${trade.gain ?? ''}`}
      />
      <h3>Lots after trading</h3>
      {lots === null || lots === undefined ? (
        <p class="quiet">Lots are listed for accounts of at most 500.</p>
      ) : (
        <Table label="lots" columns={LOTS} rows={lots} keyOf={(lot) => `${lot.lot ?? 'bought'} ${lot.identifier}`} />
      )}
      <h3>Largest deviations from the parent</h3>
      <Table
        label="deviations"
        columns={DEVIATIONS}
        rows={deviations?.largest ?? []}
        keyOf={({ identifier }) => identifier}
      />
    </>
  );
}

const TRADES: readonly Column<BatchTrade>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  { id: 'side', title: 'Side', width: 50, value: ({ side }) => side },
  numeric({ id: 'shares', title: 'Shares', width: 80, of: ({ shares }: BatchTrade) => shares, write: figure }),
  { id: 'acquired', title: 'Bought', width: 96, priority: 2, value: ({ acquired }) => acquired ?? null },
  numeric({
    id: 'cost',
    title: 'Basis',
    width: 80,
    priority: 3,
    of: ({ cost }: BatchTrade) => cost ?? null,
    write: decimal,
  }),
  numeric({ id: 'gain', title: 'Gain', width: 80, of: ({ gain }: BatchTrade) => gain ?? null, write: decimal }),
  { id: 'term', title: 'Term', width: 60, priority: 4, value: ({ term }) => term ?? null },
];

const LOTS: readonly Column<BatchLot>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  numeric({ id: 'shares', title: 'Shares', width: 80, of: ({ shares }: BatchLot) => shares, write: figure }),
  { id: 'acquired', title: 'Bought', width: 96, value: ({ acquired }) => acquired },
  numeric({ id: 'cost', title: 'Basis', width: 80, of: ({ cost }: BatchLot) => cost, write: decimal }),
  numeric({
    id: 'gain',
    title: 'Unrealised',
    width: 90,
    adds: true,
    of: ({ unrealised_gain: gain }: BatchLot) => gain,
    write: decimal,
  }),
];

const DEVIATIONS: readonly Column<Deviation>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  numeric({
    id: 'active',
    title: 'Active weight',
    width: 100,
    of: ({ active_weight: active }: Deviation) => active,
    write: (value) => percent(value, 3),
  }),
  numeric({
    id: 'share',
    title: 'Of variance',
    width: 90,
    of: ({ variance_share: share }: Deviation) => share,
    write: percent,
  }),
  { id: 'reason', title: 'Reason', width: 96, value: ({ reason }) => reason.replaceAll('_', ' ') },
];
