import type { BatchLot, BatchTrade } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { setParameters } from '../../state/location.js';
import { formatBps, formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';
import {
  formatConflict,
  hasSolution,
  isRounded,
  formatRule,
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
                  <li key={rule}>{formatConflict(account, rule)}</li>
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
          ['Gap', formatBps(account.certificate?.gap)],
          ['Value', formatDecimal(account.value)],
          ['Cash after trading', formatDecimal(account.cash)],
          ['Costs', formatDecimal(account.costs)],
          ['Forecast tracking error', formatPercent(account.tracking_error, 3)],
          ['Forecast tracking error before', formatPercent(account.tracking_error_before, 3)],
          ['Short-term gains', formatDecimal(account.short_gain)],
          ['Long-term gains', formatDecimal(account.long_gain)],
          ...((account.disallowed_loss ?? 0) > 0
            ? [['Disallowed losses', formatDecimal(account.disallowed_loss)] as [string, string]]
            : []),
          ['Tax of the year', formatDecimal(account.tax)],
          ['Tax saved', formatDecimal(account.tax_saved)],
          ['One more basis point saves', formatDecimal(account.one_more_bp_saves)],
          ...(prices !== undefined && prices.tracking_error_bp > PRICE_MIN
            ? [['A basis point of the limit costs', formatDecimal(prices.tracking_error_bp)] as [string, string]]
            : []),
          ...Object.entries(prices?.rows ?? {})
            .filter(([, price]) => Math.abs(price) > PRICE_MIN)
            .map(([row, price]): [string, string] => [
              `Price of ${formatRule(row).toLowerCase()}`,
              formatDecimal(price),
            ]),
          ...Object.entries(deviations?.variance_by_reason ?? {}).map(([reason, share]): [string, string] => [
            `Deviation by ${reason.replaceAll('_', ' ')}`,
            formatPercent(share),
          ]),
        ]}
      />
      <h3>Trades</h3>
      <Table
        label="trades"
        columns={TRADE_COLUMNS}
        rows={trades}
        sort={{ column: 'side', direction: 'desc' }}
        getKey={(trade) => `${trade.side} ${trade.identifier} ${trade.lot ?? ''} ${trade.gain ?? ''}`}
      />
      <h3>Lots after trading</h3>
      {lots === null || lots === undefined ? (
        <p class="quiet">Lots are listed for accounts of at most 500.</p>
      ) : (
        <Table
          label="lots"
          columns={LOT_COLUMNS}
          rows={lots}
          getKey={(lot) => `${lot.lot ?? 'bought'} ${lot.identifier} ${lot.cost} ${lot.acquired}`}
        />
      )}
      <h3>Largest deviations from the parent</h3>
      <Table
        label="deviations"
        columns={DEVIATION_COLUMNS}
        rows={deviations?.largest ?? []}
        getKey={({ identifier }) => identifier}
      />
    </>
  );
}

const TRADE_COLUMNS: readonly Column<BatchTrade>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  { id: 'side', title: 'Side', width: 50, value: ({ side }) => side },
  createNumericColumn({
    id: 'shares',
    title: 'Shares',
    width: 80,
    of: ({ shares }: BatchTrade) => shares,
    write: formatFigure,
  }),
  { id: 'acquired', title: 'Bought', width: 96, priority: 2, value: ({ acquired }) => acquired ?? null },
  createNumericColumn({
    id: 'cost',
    title: 'Basis',
    width: 80,
    priority: 3,
    of: ({ cost }: BatchTrade) => cost ?? null,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'gain',
    title: 'Gain',
    width: 80,
    of: ({ gain }: BatchTrade) => gain ?? null,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'disallowed',
    title: 'Disallowed loss',
    width: 110,
    of: ({ disallowed_loss: loss }: BatchTrade) => loss ?? null,
    write: formatDecimal,
  }),
  { id: 'term', title: 'Term', width: 60, priority: 4, value: ({ term }) => term ?? null },
];

const LOT_COLUMNS: readonly Column<BatchLot>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  createNumericColumn({
    id: 'shares',
    title: 'Shares',
    width: 80,
    of: ({ shares }: BatchLot) => shares,
    write: formatFigure,
  }),
  { id: 'acquired', title: 'Bought', width: 96, value: ({ acquired }) => acquired },
  createNumericColumn({
    id: 'cost',
    title: 'Basis',
    width: 80,
    of: ({ cost }: BatchLot) => cost,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'gain',
    title: 'Unrealised',
    width: 90,
    adds: true,
    of: ({ unrealised_gain: gain }: BatchLot) => gain,
    write: formatDecimal,
  }),
];

const DEVIATION_COLUMNS: readonly Column<Deviation>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  createNumericColumn({
    id: 'active',
    title: 'Active weight',
    width: 100,
    of: ({ active_weight: active }: Deviation) => active,
    write: (value) => formatPercent(value, 3),
  }),
  createNumericColumn({
    id: 'share',
    title: 'Of variance',
    width: 90,
    of: ({ variance_share: share }: Deviation) => share,
    write: formatPercent,
  }),
  { id: 'reason', title: 'Reason', width: 96, value: ({ reason }) => reason.replaceAll('_', ' ') },
];
