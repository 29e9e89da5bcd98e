import { powerOf } from '#kernels/power.js';
import { z } from 'zod';
import { normalProbability } from '#kernels/weighting/normal-probability.js';
import { zScores } from '../../datapoints/transforms.js';
import { numeric } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { named, valuesOf } from '../verdicts.js';
import { weighed, weightingClass } from '../weighting-class.js';

/** Largest z-score that counts, either way. */
const WINSORISED_AT = 3;

export const tiltWeight = weightingClass({
  type: 'TiltWeight',
  label: 'Tilted weight',
  help: 'Base weights tilted towards one end of a datapoint.',
  params: z.strictObject({
    base: z
      .enum(['MarketCapWeight', 'EqualWeight'])
      .default('MarketCapWeight')
      .meta({ label: 'Base', help: 'Weights that are tilted; market capitalisation counts the free float.' }),
    field: parameters.field,
    strength: z
      .number()
      .min(0)
      .max(100)
      .default(1)
      .meta({ label: 'Strength', help: 'Exponent of the tilt; 0 leaves the base weights.' }),
    direction: z
      .enum(['high', 'low'])
      .default('high')
      .meta({ label: 'Direction', help: 'End of the datapoint that gains.' }),
  }),
  example: {
    type: 'TiltWeight',
    params: { base: 'MarketCapWeight', field: 'DIVIDEND_YIELD', strength: 1, direction: 'high' },
  },
  behaviour({ base, field, strength, direction }) {
    const value = numeric(field, 'field');
    const size = base === 'MarketCapWeight' ? numeric('FREE_FLOAT_MARKET_CAP') : null;
    const sign = direction === 'high' ? 1 : -1;
    return {
      reads: [...(size === null ? [] : [size]), value],
      sentence: `Start from ${size === null ? 'equal weights' : 'free-float market capitalisation weights'} and tilt them to ${direction} ${named(value)}: times the normal probability of its z-score, winsorised at ${WINSORISED_AT}, to the power of ${strength}.`,
      formula: 'base * normal probability(z)^strength',
      weigh(scope) {
        const sizes = size === null ? new Float64Array(scope.columns.length).fill(1) : valuesOf(scope, size);
        const z = zScores(valuesOf(scope, value)).map(
          (score) => sign * Math.min(WINSORISED_AT, Math.max(-WINSORISED_AT, score)),
        );
        return weighed(
          sizes.map((base, i) => base * powerOf(normalProbability(z[i]!), strength)),
          (position) => ({ base: sizes[position]!, z: Number.isNaN(z[position]!) ? null : z[position]!, strength }),
        );
      },
    };
  },
});
