import type { Block } from './block.js';
import { byDate, byElement, ready } from './parts.js';

/** Of an overlay, which is run whole: see `BookOverlay`. */
export const drift: Block<'f64'> = {
  type: 'f64',
  axes: ['dates'],
  meaning: 'growth that turns weights into what those of the close before grew to; absent where that is `gross`',
  compare: byDate(21),
  upgrade: 'absent',
  whole: ({ run }) => (run.portfolio.overlay ? ready(run.portfolio.overlay.drift) : null),
  added: () => null,
};

/** Of an overlay: a value of each of the header's parts, date by date. */
export const ownParts: Block<'f64'> = {
  type: 'f64',
  axes: ['dates', 'numbers'],
  meaning:
    'contributions of what is no name to the return of each session, in the order of the header; absent without any',
  compare: byElement(7),
  upgrade: 'absent',
  whole({ run: { portfolio } }) {
    const parts = portfolio.overlay?.parts ?? [];
    if (parts.length === 0) return null;
    const values = new Float64Array(portfolio.length * parts.length);
    parts.forEach(({ contributions }, p) => {
      for (let t = 0; t < portfolio.length; t++) values[t * parts.length + p] = contributions[t]!;
    });
    return ready(values);
  },
  added: () => null,
};
