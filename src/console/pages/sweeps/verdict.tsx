import type { SweepOverfitting, SweepView } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/feedback.js';
import { formatCount, formatPercent } from '../../words/numbers.js';

type Rating = NonNullable<SweepOverfitting['rating']>;

interface RatingLabel {
  /** Short form for a table. */
  readonly badge: string;
  readonly title: string;
  readonly kind: 'good' | 'warning' | 'bad';
}

export const RATINGS: Readonly<Record<Rating, RatingLabel>> = {
  better_than_chance: { badge: 'better than chance', title: 'The ranking is better than chance', kind: 'good' },
  near_chance: { badge: 'near chance', title: 'The ranking is hardly better than chance', kind: 'warning' },
  overfit: { badge: 'overfit', title: 'Do not choose by this ranking', kind: 'bad' },
};

/** Formats the chance level next to the probability of overfitting. Sweeps of earlier versions have none. */
export const formatChance = ({ chance_level: level }: SweepOverfitting): string =>
  level === undefined ? '' : `chance ${formatPercent(level, 1)}`;

/** Renders the conclusion of a sweep: a comparison of its ranking with a random choice. */
export function SweepVerdict({ view: { overfitting } }: { readonly view: SweepView }) {
  if (overfitting?.rating === undefined) return null;
  const { kind, title } = RATINGS[overfitting.rating];
  return (
    <Banner kind={kind === 'bad' ? 'warning' : kind} title={title}>
      <p>
        In {formatPercent(overfitting.probability, 1)} of {formatCount(overfitting.combinations)} splits of the history,
        the best variant of one half ranked no better than the median in the other. A random choice would do so in{' '}
        {formatPercent(overfitting.chance_level, 1)} of them.
      </p>
    </Banner>
  );
}
