import { readReference } from '../../market/market-data.js';
import type { ReturnWindow } from '../return-panel.js';

/** Label of securities without a sector. */
const UNCLASSIFIED = 'UNCLASSIFIED';

/** Returns the sector of a security as known on the last session of a window. */
export function findSector({ sm, to }: Pick<ReturnWindow, 'sm' | 'to'>, column: number): string {
  const sector = readReference(sm.market.reference, sm.identifiers[column]!, 'SECTOR', sm.sessions[to]!);
  return typeof sector === 'string' && sector !== '' ? sector : UNCLASSIFIED;
}
