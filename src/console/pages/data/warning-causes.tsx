import type { DataDoubt } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Entries } from '../../components/entries.js';
import { setParameters } from '../../state/location.js';
import { formatCount, countValues } from '../../words/numbers.js';

type WarningKind = DataDoubt['kind'];

interface WarningCause {
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
  /** Recommended action for a store whose prices cannot be overridden. Default: `action`. */
  readonly managed?: string;
}

const COMPARISON_STEPS = {
  action: 'Compare the price with another source, and override it if it is wrong.',
  managed: 'Compare the price with another source, and import the right one if it is wrong.',
};

/** Causes of data warnings, with the meaning and the recommended action. */
export const CAUSES: Readonly<Record<WarningKind, WarningCause>> = {
  unexplained_jump: {
    title: 'Unexplained jump',
    meaning: 'The close moves far more than usual, and no corporate action explains it.',
    ...COMPARISON_STEPS,
  },
  missed_split: {
    title: 'Missing split',
    meaning: 'The price steps by the ratio of a split that the corporate actions do not contain, or date differently.',
    action: 'Apply the repair, which adds or corrects the split.',
  },
  currency_flip: {
    title: 'Wrong unit',
    meaning: 'Prices of some days are in another unit of the currency, such as pence instead of pounds.',
    action: 'Apply the repair, which scales these prices.',
  },
  duplicate_bar: {
    title: 'Repeated bars',
    meaning: 'A bar equals that of the day before, including its volume.',
    action: 'Apply the repair, which removes the copy.',
  },
  stale_tail: {
    title: 'Stale prices at the end',
    meaning: 'The last closes are all equal: the security has probably been delisted.',
    action: 'Add the delisting to the corporate actions, or apply the repair.',
  },
  volume_without_trade: {
    title: 'Volume without price',
    meaning: 'Shares were traded, but the close is missing.',
    action: 'Add the close from another source.',
  },
  exchange_rate: {
    title: 'Exchange rate of 0 or less',
    meaning: 'Computations that need this rate are refused.',
    action: 'Correct the rate in the source, and refresh the store.',
  },
  unknown_currency: {
    title: 'Unknown currency',
    meaning: 'No exchange rate is stored for the currency of the security.',
    action: 'Add the rate, or correct the currency of the security.',
  },
  action_terms: {
    title: 'Terms of a corporate action',
    meaning: 'The terms of an action are contradictory or improbable.',
    action: 'Correct the action in the source, and refresh the store.',
  },
  dividend_size: {
    title: 'Size of a dividend',
    meaning: 'The price did not fall by an amount that fits the dividend.',
    action: 'Compare the dividend with another source, or apply the repair.',
  },
  dividend_duplicate: {
    title: 'Duplicate dividend',
    meaning: 'Two similar dividends are a few days apart, and the price fell only once.',
    action: 'Apply the repair, which removes one of them.',
  },
  dividend_not_adjusted: {
    title: 'Dividend not reflected in prices',
    meaning: 'Adjusted prices do not step by the dividend.',
    action: 'Apply the repair, which scales the earlier adjusted prices.',
  },
};

/** Returns the recommended action. If a price can be repaired, it need not be overridden or imported. */
function getAction(kind: WarningKind, isManaged: boolean, hasRepair: boolean): string {
  const { action, managed = action } = CAUSES[kind];
  if (managed !== action && hasRepair)
    return 'Compare the price with another source, and apply the repair if it is wrong.';
  return isManaged ? managed : action;
}

interface WarningCausesProps {
  readonly warnings: readonly DataDoubt[];
  /** Cause whose warnings are listed; null for all. */
  readonly chosen: WarningKind | null;
  /** True for a store that keeps imported or generated prices. These cannot be overridden. */
  readonly isManaged: boolean;
}

/** Renders the causes of the data warnings, the most frequent cause first. A cause opens its warnings. */
export function WarningCauses({ warnings, chosen, isManaged }: WarningCausesProps) {
  const kinds = [...new Set(warnings.map(({ kind }) => kind))].map((kind) => {
    const kindWarnings = warnings.filter((warning) => warning.kind === kind);
    return {
      kind,
      found: kindWarnings.length,
      repairable: kindWarnings.filter(({ repair }) => repair !== null).length,
    };
  });
  const entries = kinds
    .toSorted((a, b) => b.found - a.found)
    .map(({ kind, found, repairable }) => ({
      key: kind,
      title: CAUSES[kind].title,
      badge: <Badge kind="warning">{formatCount(found)}</Badge>,
      aside:
        kinds.length > 1 ? (
          <Button
            aria-pressed={chosen === kind}
            onClick={() => setParameters({ cause: chosen === kind ? null : kind, doubt: null })}
          >
            {chosen === kind ? 'Show all causes' : `Show ${countValues(found, 'warning')}`}
          </Button>
        ) : undefined,
      text: (
        <>
          {CAUSES[kind].meaning} {getAction(kind, isManaged, repairable > 0)}{' '}
          <span class="quiet">
            {repairable === 0 ? 'No repair is proposed.' : `${formatCount(repairable)} with a repair.`}
          </span>
        </>
      ),
    }));
  return <Entries label="Causes" entries={entries} />;
}
