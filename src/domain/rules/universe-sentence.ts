import type { UniverseSpec } from '../documents/index-document.js';

/** Where selection begins, as a sentence of a methodology. */
export function universeSentence(universe: UniverseSpec | undefined): string {
  return `The universe is ${universeText(universe)}.`;
}

function universeText(universe: UniverseSpec | undefined): string {
  const parts = (universe?.of ?? []).map((part) =>
    part.kind === 'index' ? `the constituents of the index ${part.id} as it was last decided` : universeText(part),
  );
  switch (universe?.kind ?? 'all') {
    case 'all':
      return 'every name that can be priced on the decision date';
    case 'named':
      return `the membership of ${universe!.id} as of the decision date`;
    case 'list':
      return (universe!.identifiers ?? []).join(', ');
    case 'watchlist':
      return `the names of the watchlist ${universe!.watchlist_id} as it is when the index is computed`;
    case 'index':
      return `the constituents of the index ${universe!.id} at its latest rebalance on or before the decision date`;
    case 'union':
      return `what is in any of (${parts.join('; ')})`;
    case 'intersection':
      return `what is in each of (${parts.join('; ')})`;
    case 'difference':
      return `what is in (${parts[0]}) and in none of (${parts.slice(1).join('; ')})`;
  }
}
